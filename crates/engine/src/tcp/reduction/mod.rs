//! How the window comes down: each file calculates how much may be in flight after an ACK.

pub mod cut;
pub mod prr;
pub mod rate_halving;
