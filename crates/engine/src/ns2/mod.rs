//! What only ns-2 does.

pub mod clock;
