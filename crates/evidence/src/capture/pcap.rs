//! pcap: a header of 24 bytes, then a header of 16 bytes before each packet.

use crate::capture::bytes::{Bytes, Filled, LARGEST, Order};
use crate::capture::packet::{Outcome, Raw};

/// The header of a pcap file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pcap {
    order: Order,
    nanoseconds: bool,
    link: u16,
}

impl Pcap {
    /// Bytes of the file's header.
    pub const HEADER: usize = 24;

    /// Reads the header, if its magic is one of the four.
    pub fn begin(header: &[u8]) -> Option<Self> {
        let (big, nanoseconds) = match *header.first_chunk()? {
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, false),
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, false),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, true),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, true),
            _ => return None,
        };
        let order = Order { big };
        // The upper bits of the link type are about the frame check sequence.
        let link = order.u32(header, 20) as u16;
        Some(Pcap { order, nanoseconds, link })
    }

    /// Reads a packet.
    pub fn next<'a>(&self, bytes: &'a mut Bytes) -> Outcome<'a> {
        if bytes.fill(16) == Filled::Short {
            return if bytes.ahead().is_empty() { Outcome::End } else { Outcome::Truncated };
        }
        let head = bytes.ahead();
        let (seconds, fraction) = (self.order.u32(head, 0), self.order.u32(head, 4));
        let (kept, wire) = (self.order.u32(head, 8) as usize, self.order.u32(head, 12));
        let unit = if self.nanoseconds { 1 } else { 1000 };
        if kept > LARGEST || u64::from(fraction) * unit > 2_000_000_000 {
            return Outcome::Damaged;
        }
        if bytes.fill(16 + kept) == Filled::Short {
            return Outcome::Truncated;
        }
        let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit;
        Outcome::Packet(Raw { time_ns, link: self.link, wire, data: &bytes.take(16 + kept)[16..] })
    }
}
