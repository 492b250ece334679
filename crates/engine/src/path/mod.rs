//! What lies between the two ends.

pub mod accounting;
pub mod delayed;
pub mod emulated;
pub mod link;
pub mod managed;
pub mod passing;
pub mod policer;
pub mod queue;
pub mod rate;
pub mod reverse;
pub mod timing;
pub mod waits;
pub mod wire;
