//! Tests of the identification, on captures of simulated flows.

mod flows;
mod simulate;
