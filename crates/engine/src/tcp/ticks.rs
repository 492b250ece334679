//! The timers of RACK and of the probe of the tail count in ticks, as Linux's.

use crate::random::random_number;
use cwnd_scenario::Scenario;

/// At 250 Hz, as most distributions build their kernels.
const TICK_NS: u64 = 4_000_000;

/// The ticks of the senders' host.
#[derive(Clone, Copy, Default)]
pub struct Ticks {
    /// The first, below [`TICK_NS`].
    first_ns: u64,
}

impl Ticks {
    /// Their phase comes from the seed: the time to the first flow's start.
    pub fn new(scenario: &Scenario, seed: u64) -> Ticks {
        let begin_ns = scenario.flows.iter().map(|flow| flow.start_ns).min().unwrap_or(0);
        Ticks { first_ns: (random_number(seed, "ticks") % TICK_NS + begin_ns) % TICK_NS }
    }

    /// The timers of one tick are served one after the other: that of a connection which began at `start_ns` is later by what that is
    /// more than whole microseconds.
    pub fn of_connection(self, start_ns: u64) -> Ticks {
        Ticks { first_ns: (self.first_ns + start_ns % 1000) % TICK_NS }
    }

    /// When a timer fires that is set at `now` for `wait_ns`: whole ticks, from the end of the one under way, so that it is not
    /// early.
    pub fn after(self, now: u64, wait_ns: u64) -> u64 {
        let next = (now + TICK_NS - self.first_ns) / TICK_NS;
        (next + wait_ns.div_ceil(TICK_NS)) * TICK_NS + self.first_ns
    }

    pub fn is_one(self, now: u64) -> bool {
        now % TICK_NS == self.first_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_at_the_tick_after_its_whole_ticks() {
        // Ticks at 3, 7, 11, 15 ms: 4.6 ms are two of them, from the next one on.
        let ticks = Ticks { first_ns: 3_000_000 };
        let fires_ms = |now_us: u64| ticks.after(now_us * 1000, 4_600_000) / 1_000_000;
        assert_eq!([3_000, 6_999, 7_000].map(fires_ms), [15, 15, 19]);
        assert_eq!([3_000_000, 15_000_000, 15_000_001].map(|now| ticks.is_one(now)), [true, true, false]);
    }
}
