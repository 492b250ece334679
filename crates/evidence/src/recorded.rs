//! A capture explained, with the packets of its connections.

use crate::error::Error;
use crate::record::Packet;
use crate::report::{ConnectionReport, Explanation, explain_into};
use crate::series::Wanted;
use crate::table::Table;
use std::io::Read;

/// A connection with its packets.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The answer about it.
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

/// Explains a capture as [`explain`](crate::explain) does, and keeps up to `most` packets of its connections. The reports are
/// in the second part of the answer, and not in the first.
///
/// # Errors
/// The input is no capture.
pub fn record(reader: Box<dyn Read>, most: usize) -> Result<(Explanation, Vec<Recorded>), Error> {
    let mut table = Table::recording(most);
    let (mut explanation, order) = explain_into(reader, &mut table, Wanted::Nothing)?;
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
