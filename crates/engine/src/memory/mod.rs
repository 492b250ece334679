//! Containers that allocate little and grow seldom.

pub mod bits;
pub mod distribution;
pub mod prefetch;
pub mod radix;
pub mod ring;
pub mod sum;
