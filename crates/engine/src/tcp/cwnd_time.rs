//! The mean of the congestion window, and how long the first slow start lasts.

use crate::memory::sum::Sum;
use cwnd_algorithms::SSTHRESH_INFINITE;

/// The time integral of cwnd.
pub(super) struct CwndTime {
    sum: Sum,
    since_ns: u64,
    pub(super) cwnd: u32,
    /// When the first slow start ended, in milliseconds of the run, or u32::MAX.
    pub(super) slow_start_end_ms: u32,
}

impl CwndTime {
    pub(super) fn new(since_ns: u64, cwnd: u32) -> CwndTime {
        CwndTime { sum: Sum::default(), since_ns, cwnd, slow_start_end_ms: u32::MAX }
    }

    /// The integral is that from `now` on.
    pub(super) fn begin_measuring(&mut self, now: u64) {
        (self.sum, self.since_ns) = (Sum::default(), now);
    }

    /// In segments times nanoseconds.
    pub(super) fn until(&self, now: u64) -> u128 {
        self.sum.get() + u128::from(now.saturating_sub(self.since_ns)) * u128::from(self.cwnd)
    }

    #[inline]
    pub(super) fn changed(&mut self, now: u64, cwnd: u32, ssthresh: u32) {
        if self.slow_start_end_ms == u32::MAX && ssthresh < SSTHRESH_INFINITE {
            self.slow_start_end_ms = (now / 1_000_000) as u32;
        }
        self.sum.add(u128::from(now - self.since_ns) * u128::from(self.cwnd));
        self.since_ns = now;
        self.cwnd = cwnd;
    }
}
