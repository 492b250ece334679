//! Measuring: what is counted, sampled and answered. The definition of each column is its code.

pub mod counts;
pub mod observe;
pub mod rows;
mod run;
pub mod samples;
