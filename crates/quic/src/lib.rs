//! The congestion control algorithms of cwnd in QUIC stacks.

mod bridge;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(feature = "s2n-quic")]
pub mod s2n;
mod setup;

pub use bridge::{Bridge, Sent};
pub use setup::{Error, Setup, Stack};
