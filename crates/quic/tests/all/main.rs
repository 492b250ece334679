//! The tests of the algorithms in QUIC stacks, in one program.

mod bridge;
mod common;
mod example;
mod noq;
mod quinn;
mod s2n;
