//! What lies between the two ends.

pub mod link;
