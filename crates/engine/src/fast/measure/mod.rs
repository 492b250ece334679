//! What shards and links have counted, as the rows of `net/measure`.

pub mod looks;
pub mod results;
