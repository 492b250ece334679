//! Packets of this machine's kernel, and what the emulator looks at in them.

use crate::FIRST_PORT;
use cwnd_engine::Codepoint;
use cwnd_engine::net::Side;
use cwnd_scenario::Scenario;
use std::fs::File;
use std::io::Read;

/// A packet as a device has it.
#[derive(Clone)]
pub struct Packet {
    pub data: Vec<u8>,
    pub flow: usize,
    /// The end that it goes to.
    pub to: Side,
    /// On the emulated wire.
    pub wire_bytes: u32,
    pub has_payload: bool,
    pub codepoint: Codepoint,
}

/// Reads the packets that the end `from` sends.
pub struct Reader<'a> {
    scenario: &'a Scenario,
    pub device: &'a File,
    from: Side,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub fn new(scenario: &'a Scenario, device: &'a File, from: Side, mtu: u32) -> Reader<'a> {
        Reader { scenario, device, from, buffer: vec![0; mtu as usize] }
    }

    /// The next packet of a flow; None: there is none now.
    pub fn next(&mut self) -> Option<Packet> {
        loop {
            let length = self.device.read(&mut self.buffer).ok()?;
            let data = &self.buffer[..length];
            let Some(seen) = Seen::of(data, self.from) else { continue };
            let flow = usize::from(seen.port.wrapping_sub(FIRST_PORT));
            let Some(described) = self.scenario.flows.get(flow) else { continue };
            let has_payload = seen.payload_bytes > 0;
            let wire_bytes = match seen.payload_bytes {
                0 => described.stack.ack_bytes,
                payload_bytes => payload_bytes + described.stack.header_bytes,
            };
            let (to, codepoint) = (self.from.other(), seen.codepoint);
            return Some(Packet { data: data.to_vec(), flow, to, wire_bytes, has_payload, codepoint });
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
    /// None: neither TCP nor UDP over IPv4.
    fn of(packet: &[u8], from: Side) -> Option<Seen> {
        let first = *packet.first()?;
        let ip_bytes = usize::from(first & 15) * 4;
        let rest = packet.get(ip_bytes..)?;
        let header_bytes = match *packet.get(9)? {
            _ if first >> 4 != 4 => return None,
            TCP => usize::from(rest.get(12)? >> 4) * 4,
            UDP => 8,
            _ => return None,
        };
        let at = if from == Side::Receiver { 0 } else { 2 };
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
        assert_eq!(Seen::of(&packet, Side::Sender), Some(seen));
        assert_eq!(Seen::of(&packet, Side::Receiver).unwrap().port, 0x8000);
        assert_eq!(Seen::of(&packet[..24], Side::Sender), None);
        assert_eq!(Seen::of(&[], Side::Sender), None);
    }
}
