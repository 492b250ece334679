//! What travels between the two ends: segments one way, ACKs the other.

use std::num::NonZeroU64;
use std::ops::Range;

/// A data packet as it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    pub tag: Tag,
    pub sent_ns: u64,
}

/// A sequence number, and flags in its lowest bits: [`RETRANSMISSION`], [`CONGESTION`], [`CWR`], [`SYN`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(u64);

pub const RETRANSMISSION: u8 = 1;
/// A queue marked the packet (RFC 3168, CE).
pub const CONGESTION: u8 = 2;
/// The sender has reduced its window (RFC 3168).
pub const CWR: u8 = 4;
/// The first segment of a connection with a handshake; sent again, it is an ordinary one.
pub const SYN: u8 = 8;

impl Tag {
    #[inline]
    pub fn new(seq: u64, flags: u8) -> Tag {
        Tag(seq << 4 | u64::from(flags))
    }

    #[inline]
    pub fn seq(self) -> u64 {
        self.0 >> 4
    }

    /// Whether the packet has one of `flags`.
    #[inline]
    pub fn has(self, flags: u8) -> bool {
        self.0 & u64::from(flags) != 0
    }

    pub fn with(self, flags: u8) -> Tag {
        Tag(self.0 | u64::from(flags))
    }
}

/// An ACK as it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Everything before this segment has arrived.
    pub next: u64,
    /// The segment beyond `next` that caused this ACK.
    pub sacked: Option<NonZeroU64>,
    /// When the segment that caused it was sent.
    pub sent_ns: u64,
    /// When the first segment that waited for it was sent (RFC 7323, 4.3).
    pub echo_ns: u64,
    pub retransmission: bool,
    /// The ACK echoes congestion experienced (RFC 3168).
    pub ece: bool,
}

/// Consecutive segments.
pub type Block = Range<u64>;

/// SACK blocks in an ACK; a receiver like TCPSink/Sack1 remembers no more of them.
pub const BLOCKS_MAX: usize = 3;
