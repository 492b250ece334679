//! Links that flows share: what arrives in a span waits in an inbox, is sorted, and passes on.

pub mod arrivals;
pub mod inbox;
pub mod links;
mod merge;
mod outcomes;
mod runs;
