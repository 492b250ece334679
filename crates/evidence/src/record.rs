//! A record of the packets of connections, for those who replay them: bounded, and made only when it was asked for.

use crate::segment::{ACK, ECE, RST, SYN, Segment};

/// Packets of a connection, at most: 56 bytes each.
const MOST_OF_ONE: usize = 400_000;

/// A packet of a connection, of data or of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Time since the connection's first packet.
    pub time_ns: u64,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number, 0 without one.
    pub ack: u32,
    /// Bytes of payload.
    pub len: u32,
    /// Window, not scaled.
    pub window: u16,
    /// It travels with the data of the end that sent more, and not against it.
    pub is_forward: bool,
    /// SYN.
    pub syn: bool,
    /// It echoes congestion (ECE).
    pub ece: bool,
    /// It is marked (CE of the IP header).
    pub marked: bool,
    /// Timestamp and echo.
    pub timestamps: Option<(u32, u32)>,
    /// First of its SACK blocks in the record, and how many it has.
    pub(crate) sacks: (u32, u8),
}

/// Packets of a connection so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    start_ns: u64,
    pub packets: Vec<Packet>,
    pub sacks: Vec<(u32, u32)>,
    /// Packets were left out.
    pub is_cut: bool,
}

impl Record {
    /// Takes a segment of the end `from`, if there is room: returns true if it was taken.
    pub fn take(&mut self, s: &Segment, from: u8, has_room: bool) -> bool {
        if s.has(RST) {
            return false;
        }
        if !has_room || self.packets.len() >= MOST_OF_ONE {
            self.is_cut = true;
            return false;
        }
        if self.packets.is_empty() {
            self.start_ns = s.time_ns;
        }
        let last = self.packets.last().map_or(0, |packet| packet.time_ns);
        let sacks = (self.sacks.len() as u32, s.sack_count as u8);
        self.sacks.extend(&s.sacks[..s.sack_count]);
        self.packets.push(Packet {
            time_ns: s.time_ns.saturating_sub(self.start_ns).max(last),
            seq: s.seq,
            ack: if s.has(ACK) { s.ack } else { 0 },
            len: s.len,
            window: s.window,
            is_forward: from == 0,
            syn: s.has(SYN),
            ece: s.has(ECE),
            marked: s.marked,
            timestamps: s.timestamps,
            sacks,
        });
        true
    }
}
