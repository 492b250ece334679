//! What only ns-2 does.

mod link;
pub mod timing;
