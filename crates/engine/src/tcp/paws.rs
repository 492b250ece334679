//! Segments that are older than one that has arrived.

use crate::tcp::packet::Segment;

/// Protection against wrapped sequence numbers (RFC 7323, 5): a segment with an older timestamp than one that arrived in
/// order is discarded.
#[derive(Clone, Default)]
pub struct Paws {
    /// TS.Recent, which counts milliseconds, to the nanosecond.
    pub recent_ns: u64,
    /// Last.ACK.sent.
    pub acknowledged: u64,
}

impl Paws {
    /// Returns true if a segment is accepted.
    pub fn accepts(&mut self, segment: Segment) -> bool {
        if segment.sent_ns / 1_000_000 < self.recent_ns / 1_000_000 {
            return false;
        }
        if segment.tag.seq() <= self.acknowledged {
            self.recent_ns = segment.sent_ns;
        }
        true
    }
}
