//! Packets that are under way, and what the emulator looks at in them.

use crate::FIRST_PORT;
use cwnd_engine::Codepoint;
use cwnd_scenario::Scenario;
use std::fs::File;
use std::io::Read;

pub struct Packet {
    pub data: Vec<u8>,
    pub length: usize,
    pub flow: usize,
    /// From a receiver.
    pub back: bool,
    /// On the emulated wire, if it carries data.
    pub wire_bytes: Option<u32>,
    pub codepoint: Codepoint,
    /// Under way; more than one if a link duplicates.
    pub copies: u32,
}

impl Packet {
    pub fn bytes(&self) -> &[u8] {
        &self.data[..self.length]
    }
}

/// Packets by number, whose room is used again.
pub struct Pool {
    pub packets: Vec<Packet>,
    free: Vec<usize>,
    mtu: usize,
}

impl Pool {
    pub fn new(mtu: u32) -> Pool {
        Pool { packets: Vec::new(), free: Vec::new(), mtu: mtu as usize }
    }

    /// The next packet of a flow; `back`: from a receiver.
    pub fn read(&mut self, scenario: &Scenario, device: &mut File, back: bool) -> Option<usize> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Packet {
                data: vec![0; self.mtu],
                length: 0,
                flow: 0,
                back,
                wire_bytes: None,
                codepoint: Codepoint::NotEct,
                copies: 0,
            });
            self.packets.len() - 1
        });
        loop {
            let packet = &mut self.packets[place];
            let Ok(length) = device.read(&mut packet.data) else {
                self.free.push(place);
                return None;
            };
            let Some(seen) = Seen::of(&packet.data[..length], back) else { continue };
            let flow = usize::from(seen.port.wrapping_sub(FIRST_PORT));
            let Some(described) = scenario.flows.get(flow) else { continue };
            let header_bytes = described.stack.header_bytes;
            (packet.length, packet.flow, packet.back, packet.copies) = (length, flow, back, 1);
            packet.wire_bytes = (seen.payload_bytes > 0).then(|| seen.payload_bytes + header_bytes);
            packet.codepoint = seen.codepoint;
            return Some(place);
        }
    }

    /// One copy less.
    pub fn release(&mut self, place: usize) {
        let copies = &mut self.packets[place].copies;
        *copies -= 1;
        if *copies == 0 {
            self.free.push(place);
        }
    }
}

/// Fields of a packet that the emulator reads.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Port of the receiver.
    port: u16,
    payload_bytes: u32,
    codepoint: Codepoint,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Seen {
    /// `back`: from a receiver. None: neither TCP nor UDP over IPv4.
    fn of(packet: &[u8], back: bool) -> Option<Seen> {
        let first = *packet.first()?;
        let ip_bytes = usize::from(first & 15) * 4;
        let rest = packet.get(ip_bytes..)?;
        let header_bytes = match *packet.get(9)? {
            _ if first >> 4 != 4 => return None,
            TCP => usize::from(rest.get(12)? >> 4) * 4,
            UDP => 8,
            _ => return None,
        };
        let at = if back { 0 } else { 2 };
        Some(Seen {
            port: u16::from_be_bytes([*rest.get(at)?, *rest.get(at + 1)?]),
            payload_bytes: rest.len().checked_sub(header_bytes)? as u32,
            codepoint: match packet[1] & 3 {
                0 => Codepoint::NotEct,
                1 => Codepoint::Ect1,
                _ => Codepoint::Ect0,
            },
        })
    }
}

/// Sets CE in an IPv4 header, and its checksum (RFC 3168, RFC 1071).
pub fn mark(packet: &mut [u8]) {
    packet[1] |= 3;
    packet[10..12].fill(0);
    let header = &packet[..usize::from(packet[0] & 15) * 4];
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of RFC 1071's kind of example, whose checksum 0xb861 is widely published.
    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut packet = HEADER;
        mark(&mut packet);
        // 3 more in the sum is 3 less in its complement.
        assert_eq!(packet[1], 3);
        assert_eq!(packet[10..12], [0xb8, 0x5e]);
    }

    #[test]
    fn payload_and_port_are_read_from_the_headers() {
        let mut packet = HEADER.to_vec();
        packet.extend([0x80, 0x00, 0x9c, 0x41, 0, 108, 0, 0]);
        packet.extend([0; 100]);
        let seen = Seen { port: 40_001, payload_bytes: 100, codepoint: Codepoint::NotEct };
        assert_eq!(Seen::of(&packet, false), Some(seen));
        assert_eq!(Seen::of(&packet, true).unwrap().port, 0x8000);
        assert_eq!(Seen::of(&packet[..24], false), None);
        assert_eq!(Seen::of(&[], false), None);
    }
}
