//! What only ns-2 does.

pub mod clock;
pub mod retransmissions;
pub mod timer;
