//! Packets between the two ends: segments one way, ACKs the other.

use std::num::NonZeroU64;
use std::ops::Range;

/// A data packet as it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// The segment's number with the sender's flags.
    pub tag: Tag,
    /// When it was sent.
    pub sent_ns: u64,
}

impl Segment {
    /// Returns this segment, with the mark of a queue if it has `marked` the packet.
    #[inline(always)]
    pub fn marked_if(self, marked: bool) -> Segment {
        Segment { tag: if marked { self.tag.with(CONGESTION) } else { self.tag }, ..self }
    }
}

/// A sequence number, the size of the packet, and flags: [`RETRANSMISSION`], [`CONGESTION`], [`CWR`], [`SYN`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(u64);

pub const RETRANSMISSION: u8 = 1;
/// A queue marked the packet (RFC 3168, CE).
pub const CONGESTION: u8 = 2;
/// The sender has reduced its window (RFC 3168).
pub const CWR: u8 = 4;
/// The first segment of a connection with a handshake; sent again, it is an ordinary one. [`LAST_OF_HANDSHAKE`] has the flag, too.
pub const SYN: u8 = 8;

/// The ACK of a SYN-ACK (RFC 9293, 3.5). It has no payload, and no number of its own.
pub const LAST_OF_HANDSHAKE: Tag = Tag(SYN as u64);

const FLAG_BITS: u32 = 4;
const SIZE_BITS: u32 = 17;
const SIZE_MASK: u64 = ((1 << SIZE_BITS) - 1) << FLAG_BITS;

impl Tag {
    /// Creates the tag of a packet that has no size yet.
    #[inline]
    pub fn new(seq: u64, flags: u8) -> Tag {
        Tag(seq << (FLAG_BITS + SIZE_BITS) | u64::from(flags))
    }

    /// Returns this tag, whose number is 0, for segment `seq`.
    #[inline]
    pub fn numbered(self, seq: u64) -> Tag {
        Tag(self.0 | seq << (FLAG_BITS + SIZE_BITS))
    }

    /// Returns this tag for the next segment.
    #[inline]
    pub fn following(self) -> Tag {
        Tag(self.0 + (1 << (FLAG_BITS + SIZE_BITS)))
    }

    /// Returns this tag for a packet of `bytes`, at most 131,071.
    #[inline]
    pub fn sized(self, bytes: u32) -> Tag {
        Tag(self.0 & !SIZE_MASK | u64::from(bytes) << FLAG_BITS)
    }

    /// Returns the segment's number.
    #[inline]
    pub fn seq(self) -> u64 {
        self.0 >> (FLAG_BITS + SIZE_BITS)
    }

    /// Returns the size of the packet on the wire.
    #[inline]
    pub fn bytes(self) -> u32 {
        ((self.0 & SIZE_MASK) >> FLAG_BITS) as u32
    }

    /// Returns true for the first segment, sent once and without a size yet, and for [`LAST_OF_HANDSHAKE`].
    #[inline]
    pub fn may_be_of_handshake(self) -> bool {
        self.0 & !u64::from(SYN) == 0
    }

    /// Returns true if it equals `other`, whatever their sizes.
    #[inline]
    pub fn is(self, other: Tag) -> bool {
        (self.0 ^ other.0) & !SIZE_MASK == 0
    }

    /// Returns true if the packet has one of `flags`.
    #[inline]
    pub fn has(self, flags: u8) -> bool {
        self.0 & u64::from(flags) != 0
    }

    /// Returns the tag with these flags, too.
    pub fn with(self, flags: u8) -> Tag {
        Tag(self.0 | u64::from(flags))
    }
}

/// An ACK as it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckPacket {
    /// Everything before this segment has arrived.
    pub next: u64,
    /// The segment beyond `next` that caused this ACK.
    pub sacked: Option<NonZeroU64>,
    /// The segment that caused it; of several, the one that was sent last.
    pub cause: u64,
    /// When the segment that caused it was sent.
    pub sent_ns: u64,
    /// When the first segment that waited for it was sent (RFC 7323, 4.3).
    pub echo_ns: u64,
    pub retransmission: bool,
    /// The ACK echoes congestion experienced (RFC 3168).
    pub ece: bool,
    /// The segment that caused it had arrived before (RFC 2883).
    pub duplicate: bool,
    /// It tells of several segments beyond `next`: its SACK blocks do, not `sacked`.
    pub gathered: bool,
    /// Marked packets that have arrived, if the receiver reports their number (RFC 9768); for the sender those among them
    /// that it has not heard of.
    pub marked_pkts: u32,
    /// When the receiver sent it.
    pub returned_ns: u64,
}

/// Consecutive segments.
pub type Block = Range<u64>;

/// SACK blocks in an ACK; a receiver like TCPSink/Sack1 remembers no more of them.
pub const BLOCKS_MAX: usize = 3;

/// An ACK with the SACK blocks that it carries, the one that grew last first; the rest are empty (RFC 2018).
#[derive(Clone, Debug, Default)]
pub struct SelectiveAck {
    /// The cumulative ACK.
    pub ack: AckPacket,
    /// SACK blocks; unused ones are empty.
    pub blocks: [Block; BLOCKS_MAX],
}

impl SelectiveAck {
    /// The size of the SACK option (RFC 2018, 3), aligned to words. A segment that had arrived before has a block of its own
    /// (RFC 2883).
    pub fn sack_bytes(&self) -> u32 {
        const HEAD_BYTES: u32 = 4;
        const BLOCK_BYTES: u32 = 8;
        let blocks = self.blocks.iter().filter(|block| !block.is_empty()).count();
        let count = (blocks + usize::from(self.ack.duplicate)).min(BLOCKS_MAX) as u32;
        if count > 0 { HEAD_BYTES + BLOCK_BYTES * count } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_keeps_its_number_size_and_flags_apart() {
        let tag = Tag::new((1 << 43) - 1, CWR).sized(131_071).with(CONGESTION);
        assert_eq!((tag.seq(), tag.bytes()), ((1 << 43) - 1, 131_071));
        assert!(tag.has(CWR) && tag.has(CONGESTION) && !tag.has(SYN | RETRANSMISSION));
        assert_eq!(tag.sized(40).bytes(), 40);
        assert!(tag.sized(40).is(tag) && !tag.is(Tag::new(1, 0)));
    }
}
