//! Readers of captures, packet by packet.
//!
//! They are written here because `pcap-parser` and `pcap-file` end a damaged capture with an error of their own, where an
//! answer about the packets before the damage is wanted, and these are 250 lines.

pub(crate) mod bytes;
pub(crate) mod packet;
mod pcap;
mod pcapng;

use crate::error::Error;
use bytes::Bytes;
use packet::{Outcome, Raw};
use pcap::Pcap;
use pcapng::PcapNg;
use std::io::Read;

enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// A capture of either format.
pub(crate) struct Capture {
    bytes: Bytes,
    format: Format,
    /// The reason for which the capture ended before its end.
    pub ended: Option<String>,
}

impl Capture {
    /// Opens a capture, compressed or not.
    pub fn open(reader: Box<dyn Read>) -> Result<Self, Error> {
        let mut bytes = Bytes::open(reader)?;
        let _ = bytes.fill(Pcap::HEADER);
        if let Some(failed) = &bytes.failed {
            return Err(Error(format!("cannot be decompressed: {failed}")));
        }
        let head = bytes.ahead();
        if head.is_empty() {
            return Err(Error("empty; a capture is pcap or pcapng, as it is or in gzip, xz or zstd".into()));
        }
        let format = if let Some(pcap) = Pcap::begin(head) {
            if head.len() < Pcap::HEADER {
                return Err(Error("ends within its header".into()));
            }
            bytes.skip(Pcap::HEADER);
            Format::Pcap(pcap)
        } else if head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            match PcapNg::begin(head) {
                Some(section) => Format::PcapNg(section),
                None if head.len() < 12 => return Err(Error("ends within its header".into())),
                None => return Err(Error("a pcapng file without a byte order".into())),
            }
        } else {
            return Err(Error(
                "not a capture; one is pcap or pcapng, as it is or in gzip, xz or zstd".into(),
            ));
        };
        Ok(Capture { bytes, format, ended: None })
    }

    /// The name of the format.
    pub fn format(&self) -> &'static str {
        match self.format {
            Format::Pcap(_) => "pcap",
            Format::PcapNg(_) => "pcapng",
        }
    }

    /// Packets that the capturing machine says it dropped.
    pub fn drops(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::PcapNg(section) => section.drops(),
        }
    }

    /// Packets without a time of their own.
    pub fn untimed(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::PcapNg(section) => section.untimed,
        }
    }

    /// Hands each packet to `each`, up to the end or the first damage.
    pub fn for_each(&mut self, mut each: impl FnMut(Raw<'_>)) {
        loop {
            let outcome = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.bytes),
                Format::PcapNg(section) => section.next(&mut self.bytes),
            };
            let why = match outcome {
                Outcome::Packet(raw) => {
                    each(raw);
                    continue;
                }
                Outcome::Other => continue,
                Outcome::End => None,
                Outcome::Truncated => Some("the capture ends within a packet".to_owned()),
                Outcome::Damaged => Some("a damaged record: nothing behind it is read".to_owned()),
            };
            self.ended = match &self.bytes.failed {
                Some(failed) => Some(format!("the compressed data end early: {failed}")),
                None => why,
            };
            return;
        }
    }
}
