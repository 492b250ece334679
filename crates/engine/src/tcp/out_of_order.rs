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
