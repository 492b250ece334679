//! Packet captures in, the congestion control algorithm of each connection out.
//!
//! A connection's ACKs, losses, RTTs and rates are fed to every header through the driver, as its sender saw them; the
//! window that a header has is compared with the flight that was seen, in the round trips where the window was the limit.

mod candidates;
mod replay;
mod report;
mod rounds;
mod score;
mod sender;

pub use report::{Candidacy, Identification, Identified, identify};
