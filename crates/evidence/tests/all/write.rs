//! Writers of captures, independent of the readers.

use std::io::Cursor;

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

/// A TCP segment with all that the tests vary.
#[derive(Clone)]
pub struct Tcp {
    pub time_us: u64,
    /// From the client, 10.1.0.1:1000, to the server, 10.1.0.2:80; else back.
    pub up: bool,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub len: usize,
    pub options: Vec<u8>,
}

impl Tcp {
    pub fn new(time_us: u64, up: bool, seq: u32, ack: u32, flags: u8, len: usize) -> Self {
        Tcp { time_us, up, seq, ack, flags, window: 60_000, len, options: Vec::new() }
    }

    /// The TCP header and payload.
    fn tcp(&self) -> Vec<u8> {
        let (from, to) = if self.up { (1000u16, 80u16) } else { (80, 1000) };
        let mut bytes = [from.to_be_bytes(), to.to_be_bytes()].concat();
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 1);
        bytes.extend([(5 + options.len() as u8 / 4) << 4, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        bytes.extend(vec![0; self.len]);
        bytes
    }

    /// The IPv4 packet, with `extra` words of IP options.
    pub fn v4(&self, extra: u8) -> Vec<u8> {
        let tcp = self.tcp();
        let total = 20 + 4 * u16::from(extra) + tcp.len() as u16;
        let mut ip = vec![0x45 + extra, 0];
        ip.extend(total.to_be_bytes());
        ip.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        let ends = if self.up { [1, 2] } else { [2, 1] };
        ip.extend([10, 1, 0, ends[0], 10, 1, 0, ends[1]]);
        ip.extend(vec![1; 4 * usize::from(extra)]);
        ip.extend(tcp);
        ip
    }

    /// The IPv6 packet, behind a header of destination options.
    pub fn v6(&self) -> Vec<u8> {
        let tcp = self.tcp();
        let mut ip = vec![0x60, 0, 0, 0];
        ip.extend((8 + tcp.len() as u16).to_be_bytes());
        ip.extend([60, 64]);
        for last in if self.up { [1, 2] } else { [2, 1] } {
            ip.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        }
        ip.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        ip.extend(tcp);
        ip
    }
}

/// Ethernet with these bytes before the EtherType's payload.
pub fn ethernet(kind: &[u8], ip: &[u8]) -> Vec<u8> {
    [&[2; 12], kind, ip].concat()
}

/// A packet: time in nanoseconds, bytes.
pub type Packet = (u64, Vec<u8>);

/// A pcap file: byte order, nanoseconds, link type, snap length.
pub fn pcap(big: bool, nano: bool, link: u32, snap: usize, packets: &[Packet]) -> Vec<u8> {
    let u32s = |values: &[u32]| -> Vec<u8> {
        let bytes = |value: &u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        values.iter().flat_map(bytes).collect()
    };
    let version = if big { 0x0002_0004 } else { 0x0004_0002 };
    let mut file = u32s(&[if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }, version, 0, 0, snap as u32, link]);
    for (ns, data) in packets {
        let fraction = ns % 1_000_000_000 / if nano { 1 } else { 1000 };
        let kept = data.len().min(snap);
        file.extend(u32s(&[(ns / 1_000_000_000) as u32, fraction as u32, kept as u32, data.len() as u32]));
        file.extend(&data[..kept]);
    }
    file
}

/// A block of a pcapng file.
pub fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (padded as u32 + 12).to_le_bytes();
    let mut block = [kind.to_le_bytes(), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

/// A pcapng file with an Ethernet interface in microseconds, a raw one in units of 2^-20 s, and drops. Packets go to the
/// interfaces in turn, as Ethernet and raw IP.
pub fn pcapng(packets: &[Tcp]) -> Vec<u8> {
    let mut section = 0x1a2b_3c4du32.to_le_bytes().to_vec();
    section.extend([1, 0, 0, 0]);
    section.extend([0xff; 8]);
    let mut file = block(0x0a0d_0d0a, &section);
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 0, 0]));
    file.extend(block(1, &[101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 0x80 | 20, 0, 0, 0, 0, 0, 0, 0]));
    for (at, packet) in packets.iter().enumerate() {
        let raw = at % 2;
        let data = if raw == 1 { packet.v4(0) } else { ethernet(&[8, 0], &packet.v4(0)) };
        let ticks = if raw == 1 { (packet.time_us << 20) / 1_000_000 } else { packet.time_us };
        let length = data.len() as u32;
        let words = [raw as u32, (ticks >> 32) as u32, ticks as u32, length, length];
        let body = [words.map(u32::to_le_bytes).concat(), data].concat();
        file.extend(block(6, &body));
    }
    // Statistics of the first interface: isb_ifdrop is 7.
    let mut statistics = vec![0; 12];
    statistics.extend([5, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(block(5, &statistics));
    file
}

/// The packets as Ethernet with IPv4.
pub fn plain(packets: &[Tcp]) -> Vec<Packet> {
    packets.iter().map(|packet| (packet.time_us * 1000, ethernet(&[8, 0], &packet.v4(0)))).collect()
}

pub fn explain(bytes: Vec<u8>) -> cwnd_evidence::Explanation {
    cwnd_evidence::explain(Box::new(Cursor::new(bytes))).unwrap_or_else(|refused| panic!("{refused}"))
}

/// A path for [`windowed`]: segments of 1000 bytes, captured at the sender.
pub struct Path {
    pub rtt_us: u64,
    /// Segments that the receiver's window holds.
    pub window: u16,
    pub rounds: u32,
    /// A segment of this round is lost, and sent again an RTT later.
    pub lost: Option<u32>,
}

/// A connection that a window limits: each round of an RTT sends it whole, spread evenly, and each segment is acknowledged an RTT
/// after it left.
pub fn windowed(path: &Path) -> Vec<Tcp> {
    let (rtt, window) = (path.rtt_us, u64::from(path.window));
    let isn = u32::MAX - 5000; // the sequence numbers wrap
    let field = path.window * 1000;
    let mss = vec![2, 4, 3, 232];
    let mut packets = vec![
        Tcp { options: mss.clone(), ..Tcp::new(0, true, isn, 0, SYN, 0) },
        Tcp { options: mss, window: field, ..Tcp::new(rtt, false, 99, isn.wrapping_add(1), SYN | ACK, 0) },
        Tcp::new(rtt + 10, true, isn.wrapping_add(1), 100, ACK, 0),
    ];
    let first = isn.wrapping_add(1);
    let mut timed = Vec::new();
    for at in 0..u64::from(path.rounds) * window {
        let sent = rtt + 20 + at / window * (rtt + 1) + at % window * (rtt / window);
        let seq = first.wrapping_add(1000 * at as u32);
        timed.push(Tcp::new(sent, true, seq, 100, ACK, 1000));
        let ack = Tcp::new(sent + rtt, false, 100, seq.wrapping_add(1000), ACK, 0);
        timed.push(Tcp { window: field, ..ack });
    }
    if let Some(round) = path.lost {
        // Its ACK and those behind it ask for it, until it arrives an RTT after it was sent again.
        let lost = first.wrapping_add(1000 * round * u32::from(path.window));
        let sent = rtt + 20 + u64::from(round) * (rtt + 1);
        let arrives = sent + 2 * rtt + rtt / 2;
        for packet in timed.iter_mut().filter(|packet| !packet.up) {
            let behind = packet.ack.wrapping_sub(lost) as i32;
            if behind > 0 && packet.time_us < arrives {
                packet.ack = lost;
            }
        }
        timed.retain(|packet| packet.up || packet.time_us != sent + rtt);
        timed.push(Tcp::new(sent + rtt + rtt / 2, true, lost, 100, ACK, 1000));
    }
    timed.sort_by_key(|packet| packet.time_us);
    packets.extend(timed);
    packets
}
