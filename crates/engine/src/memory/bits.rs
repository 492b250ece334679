//! A set of sequence numbers within a sliding range, one bit each.

/// Bits indexed by absolute sequence number, over the range last reserved; asking beyond it gives another
/// number's answer. Work is per 64 numbers, whatever the range. A short range needs no memory elsewhere.
#[derive(Clone, Debug, Default)]
pub struct BitRing {
    few: [u64; 2],
    /// If more are needed, a power of two of them; else none.
    many: Box<[u64]>,
}

impl BitRing {
    #[inline]
    fn words(&self) -> &[u64] {
        if self.many.is_empty() { &self.few } else { &self.many }
    }

    #[inline]
    fn word_mut(&mut self, seq: u64) -> &mut u64 {
        let words: &mut [u64] = if self.many.is_empty() { &mut self.few } else { &mut self.many };
        &mut words[(seq / 64) as usize & (words.len() - 1)]
    }

    #[inline]
    fn word(&self, seq: u64) -> u64 {
        let words = self.words();
        words[(seq / 64) as usize & (words.len() - 1)]
    }

    /// Makes room for the numbers `from..=to`; those in use are among them.
    #[inline]
    pub fn reserve(&mut self, from: u64, to: u64) {
        if (to / 64 - from / 64) as usize >= self.words().len() {
            self.grow(from, to);
        }
    }

    #[cold]
    fn grow(&mut self, from: u64, to: u64) {
        let needed = (to / 64 - from / 64 + 1) as usize;
        let many = vec![0; needed.next_power_of_two()].into_boxed_slice();
        let old = std::mem::replace(self, BitRing { few: [0; 2], many });
        for word in from / 64..from / 64 + old.words().len() as u64 {
            *self.word_mut(word * 64) |= old.word(word * 64);
        }
    }

    pub fn contains(&self, seq: u64) -> bool {
        self.word(seq) >> (seq % 64) & 1 == 1
    }

    pub fn insert(&mut self, seq: u64) {
        *self.word_mut(seq) |= 1 << (seq % 64);
    }

    pub fn remove(&mut self, seq: u64) {
        *self.word_mut(seq) &= !(1 << (seq % 64));
    }

    /// How many of `from..to` are in the set.
    pub fn count(&self, from: u64, to: u64) -> u64 {
        masks(from, to).map(|(seq, mask)| u64::from((self.word(seq) & mask).count_ones())).sum()
    }

    /// Takes `from..to` out of the set; says how many there were.
    pub fn take(&mut self, from: u64, to: u64) -> u64 {
        masks(from, to)
            .map(|(seq, mask)| {
                let word = self.word_mut(seq);
                let taken = *word & mask;
                *word &= !mask;
                u64::from(taken.count_ones())
            })
            .sum()
    }

    /// The first number of `from..to` that is not in the set.
    pub fn first_absent_in(&self, from: u64, to: u64) -> Option<u64> {
        self.first_in_neither(&BitRing::default(), from, to)
    }

    /// The first number of `from..to` that is neither in this set nor in `other`.
    pub fn first_in_neither(&self, other: &BitRing, from: u64, to: u64) -> Option<u64> {
        masks(from, to).find_map(|(seq, mask)| {
            let free = !(self.word(seq) | other.word(seq)) & mask;
            (free != 0).then(|| seq / 64 * 64 + u64::from(free.trailing_zeros()))
        })
    }

    /// The first number of the run that `last` ends, if none before `least` counts.
    pub fn first_of_run(&self, last: u64, least: u64) -> u64 {
        let mut seq = last;
        loop {
            // Those above `seq` in its word do not count.
            let absent = !(self.word(seq) << (63 - seq % 64));
            let run = u64::from(absent.leading_zeros());
            if seq - least < run {
                return least;
            }
            if run <= seq % 64 {
                return seq + 1 - run;
            }
            seq -= run;
        }
    }

    /// The first number from `from` on that is not in the set.
    pub fn first_absent(&self, from: u64) -> u64 {
        let mut seq = from;
        loop {
            let rest = !self.word(seq) >> (seq % 64);
            if rest != 0 {
                return seq + u64::from(rest.trailing_zeros());
            }
            seq = (seq / 64 + 1) * 64;
        }
    }
}

/// The words that `from..to` touches: a number in each and the mask of the range in it.
fn masks(from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
    let words = if from < to { from / 64..(to - 1) / 64 + 1 } else { 0..0 };
    words.map(move |word| {
        let first = from.max(word * 64);
        let last = (to - 1).min(word * 64 + 63);
        (first, (u64::MAX >> (63 - (last - first))) << (first % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_bit_ring_is_a_set_of_numbers_in_a_sliding_range(
            start in 0u64..1000,
            steps in prop::collection::vec((0u8..5, 0u64..500, 0u64..500), 1..100),
        ) {
            let (mut ring, mut set, mut from) = (BitRing::default(), BTreeSet::new(), start);
            for (what, a, b) in steps {
                let (x, y) = (from + a.min(b), from + a.max(b));
                if what == 0 || !set.is_empty() {
                    ring.reserve(from, y);
                }
                match what {
                    0 => { ring.insert(x); set.insert(x); }
                    1 => { ring.remove(x); set.remove(&x); }
                    2 => {
                        let taken = set.range(from..x).count() as u64;
                        prop_assert_eq!(ring.take(from, x), taken);
                        set = set.split_off(&x);
                        from = x;
                    }
                    3 => prop_assert_eq!(ring.count(x, y), set.range(x..y).count() as u64),
                    _ => {
                        let free = (x..y).find(|n| !set.contains(n));
                        prop_assert_eq!(ring.first_absent_in(x, y), free);
                    }
                }
                prop_assert_eq!(ring.contains(x), set.contains(&x));
                if set.contains(&x) {
                    let first = (from..=x).rev().take_while(|n| set.contains(n)).last();
                    prop_assert_eq!(Some(ring.first_of_run(x, from)), first);
                }
            }
        }
    }
}
