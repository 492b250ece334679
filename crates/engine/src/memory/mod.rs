//! Containers that allocate little and grow seldom.

pub mod bits;
pub mod ring;
pub mod sum;
