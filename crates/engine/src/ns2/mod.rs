//! What only ns-2 does.

mod link;
pub mod retransmissions;
pub mod timer;
pub mod timing;
