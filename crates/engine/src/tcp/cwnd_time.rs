//! The window over time: its integral, its range, the end of the first slow start.

use crate::memory::sum::Sum;
use cwnd_algorithms::SSTHRESH_INFINITE;

/// The course of cwnd over time.
pub(super) struct CwndTime {
    /// The integral until the last change.
    sum: Sum,
    since_ns: u64,
    pub(super) cwnd: u32,
    /// The range since the flow's last row of samples.
    min: u32,
    max: u32,
    /// When the first slow start ended, in milliseconds of the run, or u32::MAX.
    pub(super) slow_start_end_ms: u32,
}

impl CwndTime {
    pub(super) fn new(now: u64, cwnd: u32) -> CwndTime {
        CwndTime {
            sum: Sum::default(),
            since_ns: now,
            cwnd,
            min: cwnd,
            max: cwnd,
            slow_start_end_ms: u32::MAX,
        }
    }

    /// The window is `cwnd` from `now` on.
    #[inline]
    pub(super) fn changed(&mut self, now: u64, cwnd: u32, ssthresh: u32) {
        if self.slow_start_end_ms == u32::MAX && ssthresh < SSTHRESH_INFINITE {
            self.slow_start_end_ms = (now / 1_000_000) as u32;
        }
        self.sum.add(u128::from(now - self.since_ns) * u128::from(self.cwnd));
        self.since_ns = now;
        self.cwnd = cwnd;
        self.min = self.min.min(cwnd);
        self.max = self.max.max(cwnd);
    }

    /// The integral begins at `now`.
    pub(super) fn begin_measuring(&mut self, now: u64) {
        (self.sum, self.since_ns) = (Sum::default(), now);
    }

    /// Until `now`.
    pub(super) fn integral(&self, now: u64) -> u128 {
        self.sum.get() + u128::from(now.saturating_sub(self.since_ns)) * u128::from(self.cwnd)
    }

    /// The least and the greatest since the last call, then and now included; it is `cwnd` now.
    pub(super) fn take_range(&mut self, cwnd: u32) -> (u32, u32) {
        let range = (self.min.min(cwnd), self.max.max(cwnd));
        (self.min, self.max) = (cwnd, cwnd);
        range
    }
}
