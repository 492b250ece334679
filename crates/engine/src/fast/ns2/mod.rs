//! The clock of ns-2.35: links add up seconds in doubles, and its rounding decides ties.

mod link;
pub mod timing;
