//! Segments that arrive before a missing one, and the SACK blocks that report them.

use crate::memory::bits::BitRing;
use crate::tcp::packet::{BLOCKS_MAX, Block, Segment};

/// SACKs that wait to be sent together, as Linux does it since 4.18.
#[derive(Clone, Default)]
pub(super) struct CompressedAcks {
    /// How many ACKs of the same left edge were sent because a segment beyond it arrived, up to [`DUPLICATES`].
    duplicates: u32,
    /// The left edge of those.
    next: u64,
    /// Segments that no ACK has reported; 0: the fields below are stale.
    pub(super) pkts: u32,
    /// The blocks that they are in.
    blocks: u32,
    pub(super) due_ns: u64,
    pub(super) first_sent_ns: u64,
    /// The one that was sent last.
    pub(super) last: Segment,
}

impl CompressedAcks {
    /// None waits any more; whether some did.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.pkts) > 0
    }
}

/// As many as a sender may need to find a loss are sent at once.
const DUPLICATES: u32 = 3;
/// No more SACKs wait together: tcp_comp_sack_nr.
const COMPRESSED_MAX: u32 = 44;

/// The segments that have arrived beyond the next one expected.
#[derive(Clone, Default)]
pub(super) struct OutOfOrder {
    pub(super) compressed: CompressedAcks,
    pub(super) segments: BitRing,
    /// The SACK blocks, the one that grew last first; the rest are empty.
    pub(super) blocks: [Block; BLOCKS_MAX],
}

impl OutOfOrder {
    pub(super) fn contains(&self, seq: u64) -> bool {
        self.segments.contains(seq)
    }

    /// Segment `seq` has arrived again: its block comes first (RFC 2018, 4).
    pub(super) fn lead(&mut self, seq: u64, next: u64) {
        match self.blocks.iter().position(|block| block.contains(&seq)) {
            Some(place) => self.blocks[..=place].rotate_right(1),
            None => self.add(seq, next),
        }
    }

    /// Segment `seq` is new: its block comes first, and the blocks that it now covers go.
    pub(super) fn add(&mut self, seq: u64, next: u64) {
        let mut block = seq..seq + 1;
        if seq - 1 > next && self.segments.contains(seq - 1) {
            let reported = self.blocks.iter().find(|block| block.end == seq);
            block.start =
                reported.map_or_else(|| self.segments.first_of_run(seq - 1, next + 1), |block| block.start);
        }
        if self.segments.contains(seq + 1) {
            let reported = self.blocks.iter().find(|block| block.start == seq + 1);
            block.end = reported.map_or_else(|| self.segments.first_absent(seq + 1), |block| block.end);
        }
        let others = std::mem::take(&mut self.blocks).into_iter();
        let apart = others.filter(|other| other.end <= block.start || other.start >= block.end);
        let mut blocks = std::iter::once(block.clone()).chain(apart);
        self.blocks = std::array::from_fn(|_| blocks.next().unwrap_or_default());
    }

    /// Returns true if the SACK of `segment`, which has just become part of the first block, waits for others. With `is_new_block`
    /// no segment that waits is in that block.
    pub(super) fn compresses(
        &mut self,
        now: u64,
        delay_ns: u64,
        segment: Segment,
        next: u64,
        is_new_block: bool,
    ) -> bool {
        let compressed = &mut self.compressed;
        if compressed.next != next {
            *compressed = CompressedAcks { next, ..CompressedAcks::default() };
        }
        if compressed.duplicates < DUPLICATES {
            compressed.duplicates += 1;
            return false;
        }
        if compressed.pkts == 0 {
            *compressed = CompressedAcks {
                due_ns: now + delay_ns,
                first_sent_ns: segment.sent_ns,
                last: segment,
                blocks: 0,
                ..*compressed
            };
        }
        if segment.sent_ns >= compressed.last.sent_ns {
            compressed.last = segment;
        }
        compressed.blocks += u32::from(compressed.pkts == 0 || is_new_block);
        compressed.pkts += 1;
        // An ACK reports at most this many blocks.
        compressed.pkts < COMPRESSED_MAX && compressed.blocks < BLOCKS_MAX as u32
    }

    /// All segments before `next` have arrived.
    pub(super) fn forget(&mut self, next: u64) {
        let mut rest = std::mem::take(&mut self.blocks).into_iter().filter(|block| block.end > next);
        self.blocks = std::array::from_fn(|_| rest.next().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::receiver::tests::{receiver, segment};

    #[test]
    fn acks_report_the_three_blocks_that_grew_last_and_an_older_one_is_forgotten() {
        let mut receiver = receiver(1, 0, "off");
        let mut blocks_after = |seq| {
            receiver.receive(0, segment(seq));
            receiver.blocks().collect::<Vec<_>>()
        };
        for seq in [2, 4, 6] {
            blocks_after(seq);
        }
        assert_eq!(blocks_after(8), [8..9, 6..7, 4..5], "2 is reported no more");
        assert_eq!(blocks_after(6), [6..7, 8..9, 4..5], "a block leads when its segment comes again");
        assert_eq!(blocks_after(2), [2..3, 6..7, 8..9]);
        assert_eq!(blocks_after(3), [2..5, 6..7, 8..9], "or when it grows");
        assert_eq!(blocks_after(7), [6..9, 2..5]);
        assert_eq!(blocks_after(0), [6..9, 2..5]);
        assert_eq!(blocks_after(1).as_slice(), std::slice::from_ref(&(6..9)));
    }

    /// Linux's numbers: three at once, then one for all of a millisecond, at most 44 segments and three blocks in one.
    #[test]
    fn sacks_after_the_third_wait_to_be_sent_together() {
        let mut receiver = receiver(1, 0, "off");
        receiver.delay_sacks(1000);
        assert!((1..=3).all(|seq| receiver.receive(0, segment(seq)).is_some()), "a sender may need these");
        assert!(receiver.receive(50, segment(4)).is_none());
        assert!(receiver.receive(60, segment(5)).is_none());
        assert_eq!(receiver.ack_due_ns(), Some(1050));
        let ack = receiver.acknowledge_waiting().unwrap();
        assert!(
            ack.gathered && ack.sacked.is_none() && ack.next == 0 && ack.sent_ns == 50 && ack.echo_ns == 40
        );
        assert_eq!(receiver.first_blocks()[0], 1..6);
        assert_eq!(receiver.ack_due_ns(), None);
        let waiting = (6..).take_while(|&seq| receiver.receive(70, segment(seq)).is_none()).count();
        assert_eq!(waiting, 43, "the 44th does not wait");
        let waiting =
            (60..).step_by(2).take_while(|&seq| receiver.receive(80, segment(seq)).is_none()).count();
        assert_eq!(waiting, 2, "an ACK reports at most three blocks");
        assert!(receiver.receive(90, segment(200)).is_none());
        let ack = receiver.receive(91, segment(0)).unwrap();
        assert!(
            ack.gathered && ack.next == 50,
            "the ACK of a segment in order reports the SACKs that waited"
        );
        assert!(receiver.receive(92, segment(202)).is_some(), "the left edge has moved");
    }

    /// Linux acknowledges each segment while its receive window grows. Segments out of order let it grow, too.
    #[test]
    fn no_sack_waits_while_segments_are_acknowledged_one_by_one() {
        let mut receiver = receiver(2, 40, "off");
        receiver.delay_sacks(1000);
        receiver.acknowledge_one_by_one(8);
        assert!(receiver.receive(0, segment(0)).is_some());
        assert!(
            (2..=8).all(|seq| receiver.receive(0, segment(seq)).is_some()),
            "eight segments are acknowledged as they arrive"
        );
        assert!(
            (9..=11).all(|seq| receiver.receive(0, segment(seq)).is_some()),
            "a sender may need three more to find a loss"
        );
        assert!(receiver.receive(0, segment(12)).is_none());
        receiver.acknowledge_one_by_one(1);
        let ack = receiver.receive(0, segment(13)).unwrap();
        assert!(ack.gathered, "this ACK reports segment 12, too");
        assert_eq!(receiver.ack_due_ns(), None);
    }

    #[test]
    fn the_ack_of_a_segment_that_arrives_again_reports_the_sacks_that_waited() {
        let mut receiver = receiver(1, 0, "off");
        receiver.delay_sacks(1000);
        (0..2).for_each(|seq| assert!(receiver.receive(0, segment(seq)).is_some()));
        (3..=5).for_each(|seq| assert!(receiver.receive(0, segment(seq)).is_some()));
        assert!(receiver.receive(10, segment(6)).is_none());
        let ack = receiver.receive(20, segment(1)).unwrap();
        assert!(ack.duplicate && ack.gathered && ack.next == 2);
        assert_eq!((receiver.first_blocks()[0].clone(), receiver.ack_due_ns()), (3..7, None));
    }
}
