//! How much of a stream has arrived in order.

use std::collections::BTreeMap;

/// Receives pieces of a stream, each byte once and in any order.
#[derive(Default)]
pub struct InOrder {
    bytes: u64,
    /// Beyond a hole: the beginning of a piece, and its end.
    beyond: BTreeMap<u64, u64>,
}

impl InOrder {
    /// The bytes from `from` to below `to`.
    pub fn add(&mut self, from: u64, to: u64) {
        if from > self.bytes {
            self.beyond.insert(from, to);
            return;
        }
        self.bytes = self.bytes.max(to);
        while let Some(entry) = self.beyond.first_entry().filter(|entry| *entry.key() <= self.bytes) {
            self.bytes = self.bytes.max(entry.remove());
        }
    }

    /// From the beginning up to the first hole.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_a_hole_counts_when_the_hole_is_filled() {
        let mut stream = InOrder::default();
        for (from, to, bytes) in [(0, 10, 10), (20, 30, 10), (40, 50, 10), (10, 20, 30), (30, 40, 50)] {
            stream.add(from, to);
            assert_eq!(stream.bytes(), bytes, "after {from} to {to}");
        }
    }
}
