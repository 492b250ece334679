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

#[cfg(test)]
mod tests {
    use crate::tcp::packet::{Segment, Tag};
    use crate::tcp::receiver::tests::receiver;

    #[test]
    fn a_segment_with_an_old_timestamp_is_discarded() {
        let mut receiver = receiver(1, 40, "off");
        let sent_at = |seq, ms: u64| Segment { tag: Tag::new(seq, 0), sent_ns: ms * 1_000_000 };
        receiver.receive(0, sent_at(0, 1));
        receiver.receive(0, sent_at(1, 9)).unwrap();
        let ack = receiver.receive(0, sent_at(2, 8)).unwrap();
        assert_eq!(
            (ack.next, ack.sacked, receiver.arrived()),
            (2, None, 3),
            "it was sent before segment 1 (RFC 7323, 5)"
        );
        assert_eq!(receiver.receive(0, sent_at(2, 9)).unwrap().next, 3);
    }
}
