//! Packets that a scenario names: by their numbers on a wire, or by the time at which they are sent.

use cwnd_scenario::PacketSet;

/// A set of packets that is asked packet by packet, in the order in which they are sent.
pub struct Members {
    set: PacketSet,
    /// Packets that it was asked for.
    asked: u64,
    /// Ranges and spans that lie behind.
    numbers_passed: usize,
    spans_passed: usize,
}

impl Members {
    pub fn new(set: PacketSet) -> Members {
        Members { set, asked: 0, numbers_passed: 0, spans_passed: 0 }
    }

    /// Returns true if the next packet, whose last bit is sent at `sent_ns`, belongs to the set.
    pub fn next_is_one(&mut self, sent_ns: u64) -> bool {
        self.asked += 1;
        while self.set.numbers.get(self.numbers_passed).is_some_and(|[_, last]| *last < self.asked) {
            self.numbers_passed += 1;
        }
        while self.set.spans_ns.get(self.spans_passed).is_some_and(|[_, until_ns]| *until_ns <= sent_ns) {
            self.spans_passed += 1;
        }
        let by_number = self.set.numbers.get(self.numbers_passed);
        let by_time = self.set.spans_ns.get(self.spans_passed);
        by_number.is_some_and(|[first, _]| *first <= self.asked)
            || by_time.is_some_and(|[from_ns, _]| *from_ns <= sent_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_belong_by_number_and_by_the_time_at_which_they_are_sent() {
        let set = PacketSet::new(vec![[7, 7], [2, 3], [4, 4]], vec![[900, 1000], [1000, 1100], [950, 960]]);
        assert_eq!((&set.numbers[..], &set.spans_ns[..]), (&[[2, 4], [7, 7]][..], &[[900, 1100]][..]));
        let mut members = Members::new(set);
        // Number k is sent at 100 k: 2 to 4 and 7 by number, 9 and 10 by time, which ends just before 11.
        let found: Vec<u64> = (1..15).filter(|k| members.next_is_one(100 * k)).collect();
        assert_eq!(found, [2, 3, 4, 7, 9, 10]);
    }
}
