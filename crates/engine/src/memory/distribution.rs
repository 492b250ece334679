//! The distribution of many values, without a list of them.

use crate::memory::prefetch::prefetch;
use crate::memory::sum::Sum;
use std::collections::BTreeMap;

/// The runs that are set aside before they are counted together: the counts of thousands of distributions are in no cache, and
/// to wait for several at once takes no longer than for one.
const ASIDE: usize = 16;
/// Bits of a bucket's number: there are 57 octaves of 128.
const BUCKET_BITS: u32 = 13;
/// A longer run is counted at once.
const LONGEST_ASIDE: u64 = 1 << (u16::BITS - BUCKET_BITS);
/// The least number of counts that is added at a time: a cache line of them.
const LEAST_MORE_COUNTS: usize = 32;

/// As many as come between two looks at a flow.
const FEW_VALUES: usize = 4;

/// Counts values in buckets of less than 1 % width: 128 to an octave.
pub struct Distribution {
    /// Values often come one after another in one bucket. One from `from` to this much more is in the bucket of the last value,
    /// and neither the least nor the most of all.
    width: u32,
    last: u16,
    /// From bucket `first` on are `counts`.
    first: u16,
    from: u64,
    /// How many in a row came in the bucket of the last value.
    run: u64,
    sum: Sum,
    /// Number of runs in `aside`.
    aside_len: u32,
    least: u64,
    most: u64,
    /// Runs before the last that are not counted yet.
    aside: [Run; ASIDE],
    /// The buckets between the least and the most value, and some beyond: counts modulo 65,536.
    counts: Box<[u16]>,
    /// By bucket, how often its count passed 65,536.
    #[allow(clippy::box_collection)] // it is in every connection, and few need it
    passed: Option<Box<BTreeMap<u16, u64>>>,
}

/// At most [`LONGEST_ASIDE`] values in one bucket: in the lower bits the bucket, in the upper ones how many values follow the first.
#[derive(Clone, Copy)]
struct Run(u16);

impl Run {
    fn new(bucket: u16, values: u64) -> Run {
        debug_assert!(bucket >> BUCKET_BITS == 0 && (1..=LONGEST_ASIDE).contains(&values));
        Run(bucket | (values as u16 - 1) << BUCKET_BITS)
    }

    fn bucket(self) -> u16 {
        self.0 & ((1 << BUCKET_BITS) - 1)
    }

    fn values(self) -> u64 {
        u64::from(self.0 >> BUCKET_BITS) + 1
    }
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution::new()
    }
}

impl Distribution {
    /// A distribution without values.
    pub fn new() -> Distribution {
        Distribution {
            width: 0,
            last: 0,
            first: 0,
            from: u64::MAX,
            run: 0,
            sum: Sum::default(),
            aside_len: 0,
            least: u64::MAX,
            most: 0,
            aside: [Run(0); ASIDE],
            counts: Box::default(),
            passed: None,
        }
    }

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if value.wrapping_sub(self.from) <= u64::from(self.width) {
            self.run += 1;
            self.sum.add(u128::from(value));
        } else {
            self.begin_run(value.max(128));
        }
    }

    /// A few values will come soon: if those set aside will be counted then, their counts are asked for.
    #[inline(always)]
    pub fn prefetch(&self) {
        if self.aside_len as usize >= ASIDE - FEW_VALUES {
            self.prefetch_counts();
        }
    }

    #[inline(never)]
    fn prefetch_counts(&self) {
        self.counts.chunks(64 / size_of::<u16>()).take(ASIDE).for_each(|line| prefetch(line.as_ptr()));
    }

    /// A value that may be in another bucket than the one before, or the least or the most.
    #[inline(never)]
    fn begin_run(&mut self, value: u64) {
        if self.run > LONGEST_ASIDE {
            self.count_in(self.last, self.run);
        } else if self.run > 0 {
            self.set_aside(Run::new(self.last, self.run));
        }
        let octave = value.ilog2() - 7;
        let bucket = (128 * octave + (value >> octave) as u32 - 128) as u16;
        self.make_room(bucket);
        self.sum.add(u128::from(value));
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        let end = value | ((1 << octave) - 1);
        self.from = (value >> octave << octave).max(self.least);
        self.width = u32::try_from(end.min(self.most) - self.from).unwrap_or(u32::MAX);
        (self.last, self.run) = (bucket, 1);
    }

    #[inline]
    fn set_aside(&mut self, run: Run) {
        self.aside[self.aside_len as usize] = run;
        self.aside_len += 1;
        if self.aside_len as usize == ASIDE {
            self.aside_len = 0;
            self.aside.into_iter().for_each(|run| self.count_in(run.bucket(), run.values()));
        }
    }

    /// `values` more in `bucket`, for which there is a count.
    #[inline]
    fn count_in(&mut self, bucket: u16, values: u64) {
        let count = &mut self.counts[usize::from(bucket - self.first)];
        let sum = u64::from(*count) + values;
        *count = sum as u16;
        if sum > u64::from(u16::MAX) {
            *self.passed.get_or_insert_default().entry(bucket).or_default() += sum >> 16;
        }
    }

    /// Returns the sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum.get()
    }

    /// Adds all values of another distribution.
    pub fn add_all(&mut self, other: &Distribution) {
        for (bucket, count) in other.buckets().filter(|(_, count)| *count > 0) {
            self.make_room(bucket);
            self.count_in(bucket, count);
        }
        self.sum.add(other.sum.get());
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// There is a count for `bucket`. If there was none, their number grows by half, but by [`LEAST_MORE_COUNTS`] at least.
    #[inline]
    fn make_room(&mut self, bucket: u16) {
        if usize::from(bucket.wrapping_sub(self.first)) >= self.counts.len() {
            self.grow(bucket);
        }
    }

    #[cold]
    fn grow(&mut self, bucket: u16) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        let (old, bucket) = (usize::from(self.first), usize::from(bucket));
        let (old, more) = (old..old + self.counts.len(), (self.counts.len() / 2).max(LEAST_MORE_COUNTS));
        let first = if bucket < old.start { bucket.min(old.start.saturating_sub(more)) } else { old.start };
        let end = if bucket >= old.end { (bucket + 1).max(old.end + more) } else { old.end };
        let mut counts = vec![0; end - first].into_boxed_slice();
        counts[old.start - first..old.end - first].copy_from_slice(&self.counts);
        (self.counts, self.first) = (counts, first as u16);
    }

    /// How many values are in which bucket, beside `counts`.
    fn others(&self) -> impl Iterator<Item = (u16, u64)> {
        let aside = self.aside[..self.aside_len as usize].iter().map(|run| (run.bucket(), run.values()));
        let passed = self.passed.iter().flat_map(|passed| passed.iter());
        let passed = passed.map(|(&bucket, &times)| (bucket, times << 16));
        aside.chain(passed).chain((self.run > 0).then_some((self.last, self.run)))
    }

    /// The buckets for which there are counts, and how many values are in each.
    fn buckets(&self) -> impl Iterator<Item = (u16, u64)> {
        let mut counts: Vec<u64> = self.counts.iter().map(|&count| count.into()).collect();
        for (bucket, more) in self.others() {
            counts[usize::from(bucket - self.first)] += more;
        }
        (self.first..).zip(counts)
    }

    /// How many.
    pub fn count(&self) -> u64 {
        let counted: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        counted + self.others().map(|(_, values)| values).sum::<u64>()
    }

    /// The exact mean; None without values.
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
        for (bucket, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                let middle = (128.5 + f64::from(bucket % 128)) * (1_u64 << (bucket / 128)) as f64;
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
    fn no_value_of_many_is_lost_however_they_follow_one_another() {
        let mut distribution = Distribution::new();
        (0..300_000).for_each(|i| distribution.add([1000, 1000, 3000][i % 3]));
        (0..100_000).for_each(|_| distribution.add(2000));
        assert_eq!((distribution.count(), distribution.sum()), (400_000, 700_000_000));
        let ranks = [1, 200_000, 200_001, 300_000, 300_001, 400_000].map(|rank| distribution.at_rank(rank));
        let near = |value: f64, rank: Option<f64>| (rank.unwrap() / value - 1.0).abs() < 0.01;
        let values = [1000.0, 1000.0, 2000.0, 2000.0, 3000.0, 3000.0];
        assert!(std::iter::zip(values, ranks).all(|(value, rank)| near(value, rank)), "{ranks:?}");
        let mut twice = Distribution::new();
        (0..2).for_each(|_| twice.add_all(&distribution));
        assert_eq!((twice.count(), twice.sum()), (800_000, 1_400_000_000));
        assert_eq!(twice.at_rank(400_001), distribution.at_rank(200_001));
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
