//! Containers that allocate little and grow seldom.

pub mod bits;
pub mod distribution;
pub mod ring;
pub mod sum;
