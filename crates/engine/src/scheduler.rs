//! Which flow has something to do next: a tournament tree.

/// A source that has nothing to come.
pub const NEVER: u64 = u64::MAX;

/// Holds one time per source and finds the earliest; among equals, the lowest source.
pub struct Scheduler {
    /// Node 1 is the root, node `n` has children `2n` and `2n + 1`; the leaves begin at half the length, a power
    /// of two. Each inner node has the lesser of its children. A time and a source in one number, which orders them.
    keys: Box<[u128]>,
}

fn key(source: u32, time: u64) -> u128 {
    u128::from(time) << 32 | u128::from(source)
}

fn time(key: u128) -> u64 {
    (key >> 32) as u64
}

impl Scheduler {
    pub fn new(sources: usize) -> Scheduler {
        let leaves = sources.next_power_of_two();
        let mut keys = vec![key(u32::MAX, NEVER); 2 * leaves].into_boxed_slice();
        for source in 0..sources {
            keys[leaves + source] = key(source as u32, NEVER);
        }
        for node in (1..leaves).rev() {
            keys[node] = keys[2 * node].min(keys[2 * node + 1]);
        }
        Scheduler { keys }
    }

    fn leaf(&self, source: u32) -> usize {
        self.keys.len() / 2 + source as usize
    }

    /// The earliest time and its source.
    pub fn next(&self) -> (u64, u32) {
        (time(self.keys[1]), self.keys[1] as u32)
    }

    /// Source `source` is next due at `time`.
    pub fn set(&mut self, source: u32, time: u64) {
        let mut node = self.leaf(source);
        let mut least = key(source, time);
        self.keys[node] = least;
        while node > 1 {
            least = least.min(self.keys[node ^ 1]);
            node >>= 1;
            if self.keys[node] == least {
                // Nothing above can change.
                return;
            }
            self.keys[node] = least;
        }
    }

    /// Source `source` is due at `time` at the latest.
    pub fn hasten(&mut self, source: u32, due: u64) {
        if due < time(self.keys[self.leaf(source)]) {
            self.set(source, due);
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
            updates in prop::collection::vec(
                (0usize..40, prop_oneof![9 => 0u64..20, 1 => Just(NEVER)], any::<bool>()), 1..200
            ),
        ) {
            let mut scheduler = Scheduler::new(sources);
            let mut times = vec![NEVER; sources];
            for (source, time, hasten) in updates {
                let source = source % sources;
                if hasten {
                    times[source] = times[source].min(time);
                    scheduler.hasten(source as u32, time);
                } else {
                    times[source] = time;
                    scheduler.set(source as u32, time);
                }
                let expected = times.iter().enumerate().min_by_key(|(i, t)| (**t, *i)).unwrap();
                prop_assert_eq!(scheduler.next(), (*expected.1, expected.0 as u32));
            }
        }
    }
}
