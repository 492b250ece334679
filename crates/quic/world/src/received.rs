//! Parts of a stream that the application has read, in any order.

use std::collections::BTreeMap;

/// Pieces of a stream, each byte once.
#[derive(Default)]
pub struct Received {
    bytes: u64,
    /// Neighbours are one: the beginning of a piece, and its end.
    pieces: BTreeMap<u64, u64>,
    /// When the first hole moved last.
    moved_ns: u64,
}

/// Payload before other payload, which the application has not got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    pub bytes: u64,
    pub holes: usize,
    /// When the first of the holes became the first.
    pub since_ns: u64,
}

impl Received {
    /// The bytes from `from` to below `to`.
    pub fn add(&mut self, now_ns: u64, from: u64, to: u64) {
        self.bytes += to - from;
        let first_end = self.first_end();
        let before = self.pieces.range(..=from).next_back().filter(|(_, end)| **end == from);
        let begin = before.map_or(from, |(begin, _)| *begin);
        let end = self.pieces.remove(&to).unwrap_or(to);
        self.pieces.insert(begin, end);
        if self.first_end() != first_end {
            self.moved_ns = now_ns;
        }
    }

    fn first_end(&self) -> u64 {
        self.pieces.get(&0).copied().unwrap_or(0)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the payload that is missing before the last piece.
    pub fn missing(&self) -> Option<Missing> {
        let (_, top) = self.pieces.last_key_value()?;
        let holes = self.pieces.len() - usize::from(self.pieces.contains_key(&0));
        (holes > 0).then_some(Missing { bytes: top - self.bytes, holes, since_ns: self.moved_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_counted_until_they_are_filled() {
        let mut stream = Received::default();
        let missing = |bytes, holes, since_ns| Some(Missing { bytes, holes, since_ns });
        for (now_ns, from, to, expected) in [
            (1, 0, 10, None),
            (2, 20, 30, missing(10, 1, 1)),
            (3, 45, 50, missing(25, 2, 1)),
            (4, 10, 20, missing(15, 1, 4)),
            (5, 30, 45, None),
        ] {
            stream.add(now_ns, from, to);
            assert_eq!(stream.missing(), expected, "after {from} to {to}");
        }
        assert_eq!(stream.bytes(), 50);
    }

    #[test]
    fn a_stream_may_begin_with_a_hole() {
        let mut stream = Received::default();
        stream.add(7, 5, 10);
        assert_eq!(stream.missing(), Some(Missing { bytes: 5, holes: 1, since_ns: 0 }));
    }
}
