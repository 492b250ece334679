//! A record of the packets of connections, for those who replay them: bounded, and made only when it was asked for.

use crate::error::Error;
use crate::report::{ConnectionReport, Explanation, explain_into};
use crate::segment::{ACK, ECE, RST, SYN, Segment};
use crate::table::Table;
use std::io::Read;

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
    sacks: (u32, u8),
}

/// A connection with its packets.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What limited it.
    pub report: ConnectionReport,
    /// Packets in the order of the capture, the first of them if there are more than the limit.
    pub packets: Vec<Packet>,
    /// Packets were left out behind these.
    pub is_cut: bool,
    /// Part of the RTT on the sender's side of the capture: from an ACK to the data that it releases; 0 if unknown.
    pub release_us: u32,
    sacks: Vec<(u32, u32)>,
}

impl Recorded {
    /// SACK blocks of `packet`.
    pub fn sacks(&self, packet: &Packet) -> &[(u32, u32)] {
        let from = packet.sacks.0 as usize;
        self.sacks.get(from..from + usize::from(packet.sacks.1)).unwrap_or_default()
    }
}

/// Packets of a connection so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    start_ns: u64,
    packets: Vec<Packet>,
    sacks: Vec<(u32, u32)>,
    is_cut: bool,
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

/// Explains a capture as [`explain`](crate::explain) does, and keeps up to `most` packets of its connections. The reports are
/// in the second part of the answer, and not in the first.
///
/// # Errors
/// The input is no capture.
pub fn record(reader: Box<dyn Read>, most: usize) -> Result<(Explanation, Vec<Recorded>), Error> {
    let mut table = Table::recording(most);
    let (mut explanation, order) = explain_into(reader, &mut table)?;
    let reports = std::mem::take(&mut explanation.connections);
    let recorded = reports.into_iter().zip(order).map(|(report, at)| {
        let connection = &mut table.connections[at];
        let sender = connection.sender();
        let release_ns = connection.release_ns();
        let mut record = connection.record.take().unwrap_or_default();
        if sender == 1 {
            for packet in &mut record.packets {
                packet.is_forward = !packet.is_forward;
            }
        }
        Recorded {
            report,
            packets: record.packets,
            is_cut: record.is_cut,
            release_us: (release_ns / 1000) as u32,
            sacks: record.sacks,
        }
    });
    Ok((explanation, recorded.collect()))
}
