//! A deterministic packet-level simulation of TCP flows over FIFO links.
//!
//! [`run`] answers one scenario with one seed. It reads no clock, file, thread or environment.

pub mod results;
