//! Round-trip times: the retransmission timeout.

use crate::tcp::ns2::timer::{MillisecondTimer, fine_timeout_ns};
use cwnd_scenario::Stack;

/// A tick of the timestamps that segments carry (RFC 7323).
pub const TIMESTAMP_NS: u64 = 1_000_000;

/// The RTT that the timestamps of an ACK show, in whole ticks: one at least.
pub fn rtt_by_timestamps_ns(now: u64, echo_ns: u64) -> u64 {
    (now / TIMESTAMP_NS - echo_ns / TIMESTAMP_NS).max(1) * TIMESTAMP_NS
}

/// RFC 6298, with Linux's reading of the minimum: it bounds the variance term, so that the timeout is never
/// closer to the smoothed RTT than `min_rto_ns`. With a millisecond timer it bounds the timeout itself.
pub struct Rto {
    estimator: Estimator,
    srtt_ns: u64,
    rto_ns: u64,
    backoff: u32,
    min_ns: u64,
    max_ns: u64,
}

/// Inputs of the timeout besides the smoothed RTT.
enum Estimator {
    Nanoseconds { rttvar_ns: u64 },
    Milliseconds(MillisecondTimer),
}

impl Rto {
    pub fn new(stack: &Stack) -> Rto {
        Rto {
            estimator: if stack.recovery.choices().quirks.times_in_milliseconds {
                Estimator::Milliseconds(MillisecondTimer::default())
            } else {
                Estimator::Nanoseconds { rttvar_ns: 0 }
            },
            srtt_ns: 0,
            rto_ns: stack.initial_rto_ns,
            backoff: 0,
            min_ns: stack.min_rto_ns,
            max_ns: stack.max_rto_ns,
        }
    }

    /// At `now` an ACK moves the left edge.
    #[inline]
    pub fn sample(&mut self, now: u64, rtt_ns: u64) {
        self.backoff = 0;
        let before_ns = if self.srtt_ns == 0 { self.begin(rtt_ns) } else { self.srtt_ns };
        self.srtt_ns = (7 * before_ns + rtt_ns) / 8;
        self.rto_ns = match &mut self.estimator {
            Estimator::Milliseconds(timer) => timer.sample(now, rtt_ns).max(self.min_ns),
            Estimator::Nanoseconds { rttvar_ns } => {
                *rttvar_ns = (3 * *rttvar_ns + before_ns.abs_diff(rtt_ns)) / 4;
                self.srtt_ns + (4 * *rttvar_ns).max(self.min_ns)
            }
        };
    }

    /// The first sample: its half becomes the variation, of which three quarters are kept. Returns the smoothed RTT.
    #[cold]
    fn begin(&mut self, rtt_ns: u64) -> u64 {
        if let Estimator::Nanoseconds { rttvar_ns } = &mut self.estimator {
            *rttvar_ns = (4 * (rtt_ns / 2)).div_ceil(3);
        }
        rtt_ns
    }

    /// At `now` an ACK does not move the left edge, caused by a segment sent at `sent_ns`: a millisecond timer takes a sample of
    /// it, too.
    pub fn sample_duplicate(&mut self, now: u64, sent_ns: u64) {
        if let Estimator::Milliseconds(timer) = &mut self.estimator {
            self.rto_ns = timer.sample_again(now, sent_ns).max(self.min_ns);
        }
    }

    /// A timeout fired: the next one waits twice as long.
    pub fn back_off(&mut self) {
        if self.backoff == 0 || self.timeout_ns() < self.max_ns {
            self.backoff += 1;
        }
    }

    /// How long after the last ACK a probe of the tail goes out (RFC 8985, 7.2; the receiver may delay the ACK
    /// of a segment that is `alone`). None: no probe, for the RTT is unknown or a timeout was not repaired yet.
    #[inline]
    pub fn probe_ns(&self, alone: bool) -> Option<u64> {
        let known = self.srtt_ns > 0 && self.backoff == 0;
        known.then(|| 2 * self.srtt_ns + if alone { self.min_ns } else { 2_000_000 })
    }

    /// The shorter timeout after which a duplicate ACK makes Vegas retransmit.
    pub fn fine_ns(&self) -> u64 {
        let rttvar_ns = match self.estimator {
            Estimator::Nanoseconds { rttvar_ns } => rttvar_ns,
            Estimator::Milliseconds(_) => 0,
        };
        fine_timeout_ns(self.srtt_ns, rttvar_ns)
    }

    pub fn srtt_ns(&self) -> u64 {
        self.srtt_ns
    }

    #[inline]
    pub fn timeout_ns(&self) -> u64 {
        (self.rto_ns << self.backoff).min(self.max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_count_the_ticks_that_pass_and_one_where_none_does() {
        assert_eq!(rtt_by_timestamps_ns(22_999_999, 1_000_000), 21_000_000);
        assert_eq!(rtt_by_timestamps_ns(23_000_000, 999_999), 23_000_000);
        assert_eq!(rtt_by_timestamps_ns(1_400_000, 1_100_000), 1_000_000);
    }

    #[test]
    fn the_minimum_bounds_the_timeout_of_a_millisecond_timer_and_the_variance_of_others() {
        let timeouts_ms = |recovery: &str| {
            let scenario = format!(
                "duration = '1 s'\nstack.recovery = '{recovery}'\n[[chain]]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 5\n[[flows]]\ncca = 'reno'"
            );
            let scenario = cwnd_scenario::Scenario::from_toml(&scenario, "", &[]).unwrap();
            let mut rto = Rto::new(&scenario.flows[0].stack);
            [29, 300].map(|ms| {
                rto.sample(1_000_000_000, ms * 1_000_000);
                rto.timeout_ns() / 1_000_000
            })
        };
        // Eight times srtt and four times rttvar are 232 and 58, then 232 + 300 - 29 and 58 + 271 - 14.
        assert_eq!(timeouts_ms("rate-halving"), [200, 503 / 8 + 315]);
        // Four times rttvar is 58; then srtt is 62.875 and rttvar (3 * 14.5 + 271) / 4.
        assert_eq!(timeouts_ms("prr"), [29 + 200, 377]);
    }

    #[test]
    fn no_timeout_exceeds_the_maximum_however_long_the_rtt_and_often_it_fires() {
        const S: u64 = 1_000_000_000;
        let text = "stack.max_rto = '60 min'\n[[chain]]\nrate = '1 bps'\ndelay = '0 s'\nbuffer = 1\n[[flows]]\ncca = 'reno'";
        let scenario = cwnd_scenario::Scenario::from_toml(text, "a.toml", &[]).unwrap();
        for (rtt_s, timeouts_s) in [(1, vec![3, 6, 12, 24, 48]), (864_000, vec![3600; 70])] {
            let mut rto = Rto::new(&scenario.flows[0].stack);
            rto.sample(0, rtt_s * S);
            for timeout_s in timeouts_s {
                assert_eq!(rto.timeout_ns(), timeout_s * S);
                rto.back_off();
            }
        }
    }
}
