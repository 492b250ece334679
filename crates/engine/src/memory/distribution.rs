//! The distribution of many values, without a list of them.

use crate::memory::sum::Sum;

/// Counts values in buckets of less than 1 % width: 128 to an octave.
pub struct Distribution {
    /// From bucket `first` on: the buckets between the least and the most value, and a few beyond.
    counts: Box<[u64]>,
    sum: Sum,
    first: u32,
    least: u64,
    most: u64,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution::new()
    }
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

    /// Of all values.
    pub fn sum(&self) -> u128 {
        self.sum.get()
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

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum.get() as f64 / count as f64)
    }

    /// The middle of the bucket below whose end lies the share `q` of the values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.at_rank((q * self.count() as f64).ceil().max(1.0) as u64)
    }

    /// The middle of the bucket of the value that is the `rank`th from below, from 1 on.
    pub fn at_rank(&self, rank: u64) -> Option<f64> {
        let mut seen = 0;
        for (bucket, n) in (self.first as usize..).zip(self.counts.iter()) {
            seen += n;
            if seen >= rank {
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
