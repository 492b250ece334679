//! The ends of flows, which go through a span by themselves.

pub mod acks;
pub mod agenda;
pub mod connection;
mod noted;
mod train;
pub mod udp;
