//! What happens next: a tournament tree over a fixed set of sources.

/// A source that has nothing to come.
pub const NEVER: u64 = u64::MAX;

/// Holds one time per source and finds the earliest; among equals, the lowest source.
pub struct Scheduler<K> {
    /// Node 1 is the root, node `n` has children `2n` and `2n + 1`; the leaves begin at half the length, a power
    /// of two. Each inner node has the lesser key of its children.
    keys: Box<[K]>,
}

/// A time and a source in one number, which orders them.
pub trait Key: Copy + Ord {
    /// Later than any time that can be told apart.
    const LATER: u64;
    const SOURCES: usize;
    fn new(time: u64, source: u32) -> Self;
    fn time(self) -> u64;
    fn source(self) -> u32;
}

/// For most runs: one word for a million sources and four hours.
impl Key for u64 {
    const LATER: u64 = u64::MAX >> 20;
    const SOURCES: usize = 1 << 20;

    #[inline]
    fn new(time: u64, source: u32) -> u64 {
        time.min(Self::LATER) << 20 | u64::from(source)
    }

    #[inline]
    fn time(self) -> u64 {
        self >> 20
    }

    #[inline]
    fn source(self) -> u32 {
        self as u32 & (Self::SOURCES - 1) as u32
    }
}

/// For all.
impl Key for u128 {
    const LATER: u64 = u64::MAX;
    const SOURCES: usize = 1 << 32;

    #[inline]
    fn new(time: u64, source: u32) -> u128 {
        u128::from(time) << 64 | u128::from(source)
    }

    #[inline]
    fn time(self) -> u64 {
        (self >> 64) as u64
    }

    #[inline]
    fn source(self) -> u32 {
        self as u32
    }
}

impl<K: Key> Scheduler<K> {
    pub fn new(sources: usize) -> Scheduler<K> {
        assert!(sources <= K::SOURCES);
        let leaves = sources.next_power_of_two();
        let mut keys = vec![K::new(NEVER, 0); 2 * leaves].into_boxed_slice();
        for (source, leaf) in (0..sources as u32).zip(&mut keys[leaves..]) {
            *leaf = K::new(NEVER, source);
        }
        for node in (1..leaves).rev() {
            keys[node] = keys[2 * node].min(keys[2 * node + 1]);
        }
        Scheduler { keys }
    }

    /// The earliest time and its source; a time that cannot be told from later ones, if there is nothing to come.
    #[inline]
    pub fn next(&self) -> (u64, u32) {
        (self.keys[1].time(), self.keys[1].source())
    }

    /// Source `source` is next due at `time`.
    #[inline]
    pub fn set(&mut self, source: u32, time: u64) {
        let mut node = self.keys.len() / 2 + source as usize;
        let mut least = K::new(time, source);
        self.keys[node] = least;
        while node > 1 {
            // SAFETY: node is below the length, which is even, and only falls.
            least = least.min(unsafe { *self.keys.get_unchecked(node ^ 1) });
            node >>= 1;
            // SAFETY: as above.
            let parent = unsafe { self.keys.get_unchecked_mut(node) };
            if *parent == least {
                // Nothing above can change.
                return;
            }
            *parent = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<K: Key>(sources: usize, updates: &[(usize, u64)]) -> Result<(), TestCaseError> {
        let mut scheduler = Scheduler::<K>::new(sources);
        let mut times = vec![NEVER; sources];
        for &(source, time) in updates {
            let source = source % sources;
            times[source] = time;
            scheduler.set(source as u32, time);
            let expected = times.iter().enumerate().min_by_key(|(i, t)| (**t, *i)).unwrap();
            let (time, source) = scheduler.next();
            prop_assert_eq!((time, source), ((*expected.1).min(K::LATER), expected.0 as u32));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_next_source_is_the_earliest_and_then_the_lowest(
            sources in 1usize..40,
            updates in prop::collection::vec((0usize..40, prop_oneof![9 => 0u64..20, 1 => Just(NEVER)]), 1..200),
        ) {
            check::<u64>(sources, &updates)?;
            check::<u128>(sources, &updates)?;
        }
    }
}
