//! Counts of packets, such as those lost: known when a packet arrives, they include it once it begins to be sent.

use crate::memory::ring::Ring;

/// A count of packets, each from a time on that may have yet to come. Packets come in the order of these times.
#[derive(Default)]
pub struct Delayed {
    counted: u64,
    /// When the others count.
    later_ns: Ring<u64>,
}

impl Delayed {
    /// One more, from `at_ns` on; it is `now_ns`.
    #[cold]
    pub fn add(&mut self, now_ns: u64, at_ns: u64) {
        self.count_by(now_ns);
        if at_ns > now_ns {
            self.later_ns.push_back(at_ns);
        } else {
            self.counted += 1;
        }
    }

    /// How many count by `now_ns`, which is not before that of an earlier call.
    pub fn count_by(&mut self, now_ns: u64) -> u64 {
        while self.later_ns.front().is_some_and(|&at_ns| at_ns <= now_ns) {
            self.later_ns.pop_front();
            self.counted += 1;
        }
        self.counted
    }
}
