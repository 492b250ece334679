//! Counts of shards and links, as the rows of `net/measure`.

pub mod looks;
pub mod results;
