//! Time: whole nanoseconds from the beginning of the run, and the finer ticks that links may count in.

/// A time at which nothing happens.
pub const NEVER: u64 = u64::MAX;

/// A stretch of time that is simulated together: `from` is in it, `until` is not.
#[derive(Clone, Copy)]
pub struct Span {
    pub from: u64,
    pub until: u64,
    /// How long spans are, unless something cuts them short.
    pub usual_ns: u64,
}

/// The unit in which links count time.
pub trait Tick {
    /// How many of them are in a nanosecond, as a power of two.
    const BITS: u32;

    #[inline(always)]
    fn count(ns: u64) -> u64 {
        ns << Self::BITS
    }

    /// The first whole nanosecond when `ticks` are over.
    #[inline(always)]
    fn ns_after(ticks: u64) -> u64 {
        (ticks + ((1 << Self::BITS) - 1)) >> Self::BITS
    }

    /// Ticks as nanoseconds, as exact as a count of whole nanoseconds would be.
    fn as_ns(ticks: u128) -> f64 {
        ticks as f64 / Self::count(1) as f64
    }
}

/// Whole nanoseconds.
pub struct Nanosecond;

impl Tick for Nanosecond {
    const BITS: u32 = 0;
}

pub struct Fraction;

impl Tick for Fraction {
    const BITS: u32 = 12;
}

impl Fraction {
    /// How long `link` is busy with a packet of `bytes`, or a part of a tick longer.
    pub fn sending_ticks(link: &cwnd_scenario::Link, bytes: u32) -> u64 {
        let bit_ticks = u128::from(bytes) * 8 * u128::from(Self::count(1_000_000_000));
        bit_ticks.div_ceil(u128::from(link.rate_bps.max(1))) as u64
    }
}
