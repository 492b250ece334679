//! Round-trip times: the retransmission timeout and the distribution of the samples.

use crate::memory::sum::Sum;
use crate::variants::{MillisecondTimer, fine_timeout_ns};
use cwnd_scenario::Stack;

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

/// What the timeout is calculated from, besides the smoothed RTT.
enum Estimator {
    Nanoseconds { rttvar_ns: u64 },
    Milliseconds(MillisecondTimer),
}

impl Rto {
    pub fn new(stack: &Stack) -> Rto {
        Rto {
            estimator: if stack.recovery.choices().habits.times_in_milliseconds {
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
        let srtt_ns = if self.srtt_ns == 0 { rtt_ns } else { (7 * self.srtt_ns + rtt_ns) / 8 };
        self.rto_ns = match &mut self.estimator {
            Estimator::Milliseconds(timer) => timer.sample(now, rtt_ns).max(self.min_ns),
            Estimator::Nanoseconds { rttvar_ns } => {
                *rttvar_ns = match self.srtt_ns {
                    0 => rtt_ns / 2,
                    before => (3 * *rttvar_ns + before.abs_diff(rtt_ns)) / 4,
                };
                srtt_ns + (4 * *rttvar_ns).max(self.min_ns)
            }
        };
        self.srtt_ns = srtt_ns;
    }

    /// At `now` an ACK does not move the left edge: a millisecond timer takes a sample of it, too.
    pub fn sample_duplicate(&mut self, now: u64) {
        if let Estimator::Milliseconds(timer) = &mut self.estimator {
            self.rto_ns = timer.sample_again(now).max(self.min_ns);
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

/// Counts values in buckets of less than 1 % width: 128 to an octave.
pub struct Distribution {
    /// From bucket `first` on: the buckets between the least and the most value, and a few beyond.
    counts: Box<[u64]>,
    sum: Sum,
    first: u32,
    least: u64,
    most: u64,
}

impl Distribution {
    pub fn new() -> Distribution {
        Distribution { counts: Box::default(), first: 0, sum: Sum::default(), least: u64::MAX, most: 0 }
    }

    #[inline]
    pub fn add(&mut self, value: u64) {
        let value = value.max(128);
        let octave = value.ilog2() - 7;
        let bucket = 128 * octave as usize + (value >> octave) as usize - 128;
        match self.counts.get_mut(bucket.wrapping_sub(self.first as usize)) {
            Some(count) => *count += 1,
            None => self.add_beyond(bucket),
        }
        self.sum.add(u128::from(value));
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Adds all values of another distribution.
    pub fn add_all(&mut self, other: &Distribution) {
        for (bucket, &count) in
            (other.first as usize..).zip(other.counts.iter()).filter(|(_, count)| **count > 0)
        {
            if self.counts.get(bucket.wrapping_sub(self.first as usize)).is_none() {
                self.add_beyond(bucket);
                self.counts[bucket - self.first as usize] -= 1;
            }
            self.counts[bucket - self.first as usize] += count;
        }
        self.sum.add(other.sum.get());
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// A value outside the buckets that have counts: their number grows by half at least.
    #[cold]
    fn add_beyond(&mut self, bucket: usize) {
        if self.counts.is_empty() {
            self.first = bucket as u32;
        }
        let old = self.first as usize;
        let (old, more) = (old..old + self.counts.len(), (self.counts.len() / 2).max(2));
        let first = if bucket < old.start { bucket.min(old.start.saturating_sub(more)) } else { old.start };
        let end = if bucket >= old.end { (bucket + 1).max(old.end + more) } else { old.end };
        let mut counts = vec![0; end - first].into_boxed_slice();
        counts[old.start - first..old.end - first].copy_from_slice(&self.counts);
        counts[bucket - first] += 1;
        (self.counts, self.first) = (counts, first as u32);
    }

    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum.get() as f64 / count as f64)
    }

    /// The middle of the bucket below whose end lies the share `q` of the values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let wanted = (q * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, n) in (self.first as usize..).zip(self.counts.iter()) {
            seen += n;
            if seen >= wanted {
                let middle = (128.5 + (bucket % 128) as f64) * 2f64.powi((bucket / 128) as i32);
                return Some(middle.clamp(self.least as f64, self.most as f64));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut distribution = Distribution::new();
        (1..=100_000u64).for_each(|i| distribution.add(i * 1000));
        let p95 = distribution.quantile(0.95).unwrap();
        assert!((p95 / 95_000_000.0 - 1.0).abs() < 0.01, "{p95}");
        assert_eq!(distribution.mean(), Some(50_000_500.0));
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

    proptest! {
        #[test]
        fn a_quantile_is_the_middle_of_the_bucket_that_a_sorted_list_shows(
            values in prop::collection::vec((0u64..2000, 0u32..40), 1..300),
            q in 0.0..1.0_f64,
        ) {
            let mut distribution = Distribution::new();
            let mut buckets = BTreeMap::new();
            for &(value, shift) in &values {
                let value = (value << shift).max(128);
                distribution.add(value);
                // The width of a bucket is the power of two with which 128 to 255 of them reach the value.
                let width = 1 << (63 - 7 - value.leading_zeros());
                *buckets.entry((value / width * width, width)).or_insert(0) += 1;
            }
            let all = || values.iter().map(|&(value, shift)| (value << shift).max(128));
            let mut wanted = ((q * values.len() as f64).ceil() as i64).max(1);
            let ((from, width), _) = buckets
                .into_iter()
                .find(|(_, count)| {
                    wanted -= count;
                    wanted <= 0
                })
                .unwrap();
            let middle = from as f64 + width as f64 / 2.0;
            let (least, most) = (all().min().unwrap() as f64, all().max().unwrap() as f64);
            prop_assert_eq!(distribution.quantile(q), Some(middle.clamp(least, most)));
            let sum: u128 = all().map(u128::from).sum();
            prop_assert_eq!(distribution.mean(), Some(sum as f64 / values.len() as f64));
        }
    }
}
