//! What happens next: a tournament tree over a fixed set of sources.

/// A source that has nothing to come.
pub const NEVER: u64 = u64::MAX;

/// Holds one time per source and finds the earliest; among equals, the lowest source.
///
/// Each inner node keeps its winner's time and source, so an update touches one cache line per level.
pub struct Scheduler {
    /// Node 1 is the root, node `n` has children `2n` and `2n + 1`; the leaves begin at `leaves`.
    nodes: Vec<(u64, u32)>,
    leaves: usize,
}

impl Scheduler {
    pub fn new(sources: usize) -> Scheduler {
        let leaves = sources.next_power_of_two();
        let mut nodes = vec![(NEVER, 0); 2 * leaves];
        for (source, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.1 = source as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Scheduler { nodes, leaves }
    }

    /// The earliest time and its source.
    #[inline]
    pub fn next(&self) -> (u64, u32) {
        self.nodes[1]
    }

    /// Source `source` is next due at `time`.
    #[inline]
    pub fn set(&mut self, source: u32, time: u64) {
        let mut node = self.leaves + source as usize;
        assert!(node < self.nodes.len());
        self.nodes[node].0 = time;
        while node > 1 {
            // SAFETY: node is below the length, which is even, and only falls.
            let (left, right) =
                unsafe { (*self.nodes.get_unchecked(node & !1), *self.nodes.get_unchecked(node | 1)) };
            let winner = if right.0 < left.0 { right } else { left };
            node >>= 1;
            // SAFETY: as above.
            let parent = unsafe { self.nodes.get_unchecked_mut(node) };
            if *parent == winner {
                // Nothing above can change: it saw this winner already.
                return;
            }
            *parent = winner;
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
                prop_assert_eq!(scheduler.next(), (*expected.1, expected.0 as u32));
            }
        }
    }
}
