//! TCP segments out of packets: link, IP and TCP headers.

use crate::capture::packet::Raw;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct End {
    pub address: IpAddr,
    pub port: u16,
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const PSH: u8 = 8;
pub(crate) const ACK: u8 = 16;
pub(crate) const ECE: u8 = 64;

/// The headers of a TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub time_ns: u64,
    pub from: End,
    pub to: End,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    /// Bytes of payload on the wire, by the IP header.
    pub len: u32,
    /// CE of the IP header.
    pub marked: bool,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack_permitted: bool,
    /// Timestamp and echo.
    pub timestamps: Option<(u32, u32)>,
    pub sacks: [(u32, u32); 4],
    pub sack_count: usize,
}

impl Segment {
    /// The bits of `mask` in the flags.
    pub fn has(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }
}

/// A packet's content, as far as it matters here.
#[derive(Debug)]
pub(crate) enum Content {
    Tcp(Segment),
    /// A fragment behind the first.
    Fragment,
    /// Another protocol.
    Other,
    /// A TCP packet whose headers are cut off or damaged.
    Cut,
    /// A link type that is not read.
    UnknownLink(u16),
}

/// Reads the headers of a packet.
pub(crate) fn read(raw: &Raw<'_>) -> Content {
    match ip_of(raw) {
        Ok(Some((start, version))) => read_ip(raw, start, version),
        Ok(None) => Content::Other,
        Err(link) => Content::UnknownLink(link),
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The offset of the IP header, and its version by the link's header; the link type, if it is not known.
fn ip_of(raw: &Raw<'_>) -> Result<Option<(usize, u8)>, u16> {
    let data = raw.data;
    let by_version = |start: usize| match data.get(start).map(|byte| byte >> 4) {
        Some(version @ (4 | 6)) => Some((start, version)),
        _ => None,
    };
    Ok(match raw.link {
        0 | 108 => by_version(4), // BSD loopback: the family has the capturing machine's byte order
        1 => by_ether_type(data, 12),
        9 => match data {
            [0xff, 0x03, 0x00, 0x21 | 0x57, ..] => by_version(4),
            [0x00, 0x21 | 0x57, ..] => by_version(2),
            [0x21 | 0x57, ..] => by_version(1),
            _ => None,
        },
        12 | 14 | 101 | 228 | 229 => by_version(0),
        113 => by_ether_type(data, 14),
        276 => match be16(data, 0) {
            Some(0x8100 | 0x88a8) => by_ether_type(data, 18).or_else(|| by_version(20)),
            Some(0x0800 | 0x86dd) => by_version(20),
            _ => None,
        },
        link => return Err(link),
    })
}

/// The offset and version behind the EtherType at `at` and VLAN tags.
fn by_ether_type(data: &[u8], mut at: usize) -> Option<(usize, u8)> {
    for _ in 0..4 {
        match be16(data, at)? {
            0x0800 => return Some((at + 2, 4)),
            0x86dd => return Some((at + 2, 6)),
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            0x8864 => {
                // PPPoE: six bytes, then the protocol of PPP.
                return match be16(data, at + 8)? {
                    0x0021 => Some((at + 10, 4)),
                    0x0057 => Some((at + 10, 6)),
                    _ => None,
                };
            }
            _ => return None,
        }
    }
    None
}

fn read_ip(raw: &Raw<'_>, start: usize, version: u8) -> Content {
    let Some(ip) = raw.data.get(start..) else { return Content::Other };
    let parsed = if version == 4 { read_v4(ip) } else { read_v6(ip) };
    let Some((from, to, protocol, at, total, first, marked)) = parsed else { return Content::Cut };
    if protocol != 6 {
        return Content::Other;
    }
    if !first {
        return Content::Fragment;
    }
    // A length of 0 is of a packet larger than 64 KiB that an offload cuts: the frame has its length.
    let total = if total == 0 { (raw.wire as usize).saturating_sub(start) } else { total };
    read_tcp(raw.time_ns, &ip[at.min(ip.len())..], from, to, total.saturating_sub(at), marked)
        .map_or(Content::Cut, Content::Tcp)
}

/// Addresses, protocol, offset of what follows, total length or 0, first fragment, CE.
type Ip = (IpAddr, IpAddr, u8, usize, usize, bool, bool);

fn read_v4(ip: &[u8]) -> Option<Ip> {
    let header = usize::from(ip.first()? & 15) * 4;
    if header < 20 {
        return None;
    }
    let address = |at| Some(IpAddr::V4(Ipv4Addr::from(be32(ip, at)?)));
    let first = be16(ip, 6)? & 0x1fff == 0;
    Some((address(12)?, address(16)?, ip[9], header, usize::from(be16(ip, 2)?), first, ip[1] & 3 == 3))
}

fn read_v6(ip: &[u8]) -> Option<Ip> {
    let address = |at: usize| {
        let octets: [u8; 16] = ip.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::V6(Ipv6Addr::from(octets)))
    };
    let payload = usize::from(be16(ip, 4)?);
    let marked = (ip[1] >> 4) & 3 == 3;
    let (from, to) = (address(8)?, address(24)?);
    let (mut protocol, mut at, mut first) = (ip[6], 40, true);
    for _ in 0..16 {
        let length = match protocol {
            0 | 43 | 60 | 135 => 8 * (usize::from(*ip.get(at + 1)?) + 1),
            44 => {
                first &= be16(ip, at + 2)? & 0xfff8 == 0;
                8
            }
            51 => 4 * (usize::from(*ip.get(at + 1)?) + 2),
            _ => break,
        };
        protocol = *ip.get(at)?;
        at += length;
        if !first {
            break;
        }
    }
    // A payload of 0 is of a jumbogram or of an offload.
    Some((from, to, protocol, at, if payload == 0 { 0 } else { 40 + payload }, first, marked))
}

fn read_tcp(
    time_ns: u64,
    tcp: &[u8],
    from: IpAddr,
    to: IpAddr,
    length: usize,
    marked: bool,
) -> Option<Segment> {
    let header = usize::from(tcp.get(12)? >> 4) * 4;
    if header < 20 || header > length {
        return None;
    }
    let mut segment = Segment {
        time_ns,
        from: End { address: from, port: be16(tcp, 0)? },
        to: End { address: to, port: be16(tcp, 2)? },
        seq: be32(tcp, 4)?,
        ack: be32(tcp, 8)?,
        flags: *tcp.get(13)?,
        window: be16(tcp, 14)?,
        len: (length - header) as u32,
        marked,
        mss: None,
        scale: None,
        sack_permitted: false,
        timestamps: None,
        sacks: [(0, 0); 4],
        sack_count: 0,
    };
    read_options(&mut segment, tcp.get(20..header.min(tcp.len())).unwrap_or_default());
    Some(segment)
}

fn read_options(segment: &mut Segment, mut rest: &[u8]) {
    while let [kind, tail @ ..] = rest {
        let length = match (kind, tail) {
            (0, _) => return,
            (1, _) => 1,
            (_, [length, ..]) if *length >= 2 => usize::from(*length),
            _ => return,
        };
        let Some(value) = rest.get(2.min(length)..length) else { return };
        match (kind, value.len()) {
            (2, 2) => segment.mss = be16(value, 0),
            (3, 1) => segment.scale = Some(value[0].min(14)),
            (4, 0) => segment.sack_permitted = true,
            (5, _) => {
                for (at, block) in value.chunks_exact(8).take(4).enumerate() {
                    if let (Some(start), Some(end)) = (be32(block, 0), be32(block, 4)) {
                        segment.sacks[at] = (start, end);
                        segment.sack_count = at + 1;
                    }
                }
            }
            (8, 8) => segment.timestamps = be32(value, 0).zip(be32(value, 4)),
            _ => {}
        }
        rest = &rest[length..];
    }
}
