//! What happens next: a tournament tree over a fixed set of sources.

/// A source that has nothing to come.
pub const NEVER: u64 = u64::MAX;

/// Holds one time per source and finds the earliest; among equals, the lowest source.
pub struct Scheduler {
    /// Node 1 is the root, node `n` has children `2n` and `2n + 1`; the leaves begin at half the length, a power
    /// of two. Each inner node has the earlier time of its children.
    times: Box<[u64]>,
}

impl Scheduler {
    pub fn new(sources: usize) -> Scheduler {
        Scheduler { times: vec![NEVER; 2 * sources.next_power_of_two()].into() }
    }

    /// The earliest time.
    #[inline]
    pub fn next(&self) -> u64 {
        self.times[1]
    }

    /// The source that is due then.
    #[inline]
    pub fn next_source(&self) -> u32 {
        let (mut node, leaves) = (1, self.times.len() / 2);
        let time = self.times[1];
        while node < leaves {
            // SAFETY: the children of an inner node are below the length.
            let left = unsafe { *self.times.get_unchecked(2 * node) };
            node = 2 * node + usize::from(left != time);
        }
        (node - leaves) as u32
    }

    /// Source `source` is next due at `time`.
    #[inline]
    pub fn set(&mut self, source: u32, time: u64) {
        let mut node = self.times.len() / 2 + source as usize;
        self.times[node] = time;
        let mut earliest = time;
        while node > 1 {
            // SAFETY: node is below the length, which is even, and only falls.
            earliest = earliest.min(unsafe { *self.times.get_unchecked(node ^ 1) });
            node >>= 1;
            // SAFETY: as above.
            let parent = unsafe { self.times.get_unchecked_mut(node) };
            if *parent == earliest {
                // Nothing above can change.
                return;
            }
            *parent = earliest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_next_source_is_the_earliest_and_then_the_lowest(
            sources in 1usize..40,
            updates in prop::collection::vec((0usize..40, 0u64..20), 1..200),
        ) {
            let mut scheduler = Scheduler::new(sources);
            let mut times = vec![NEVER; sources];
            for (source, time) in updates {
                let source = source % sources;
                times[source] = time;
                scheduler.set(source as u32, time);
                let expected = times.iter().enumerate().min_by_key(|(i, t)| (**t, *i)).unwrap();
                prop_assert_eq!((scheduler.next(), scheduler.next_source()), (*expected.1, expected.0 as u32));
            }
        }
    }
}
