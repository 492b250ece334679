//! TCP segments as a pcapng file: Ethernet, IPv4, times in nanoseconds, right checksums.

use std::io::{self, Write};
use std::net::Ipv4Addr;

/// Bytes of a frame that are kept: all headers.
const SNAP: usize = 128;
const ETHERNET: usize = 14;
const IP: usize = 20;
const TCP: usize = 20;
/// The longest payload that an IPv4 packet with the longest TCP header has room for.
pub const PAYLOAD_MAX: u32 = 65_535 - 20 - 60;

/// A segment; its payload is zeros.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Address and port of the end that sent it.
    pub from: (Ipv4Addr, u16),
    /// Address and port of the other end.
    pub to: (Ipv4Addr, u16),
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags of TCP.
    pub flags: u8,
    /// The window as it stands in the header.
    pub window: u16,
    /// Options, whole words, at most 40 bytes; what is longer is left out.
    pub options: &'a [u8],
    /// Bytes of payload, at most [`PAYLOAD_MAX`].
    pub payload: u32,
    /// Codepoint of ECN.
    pub ecn: u8,
}

/// A pcapng file under way.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    ids: u16,
}

impl<W: Write> Writer<W> {
    /// Begins a file with one interface.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Writer { out, ids: 0 };
        let mut section = Vec::new();
        for word in [0x1A2B_3C4D_u32, 0x0000_0001, u32::MAX, u32::MAX] {
            section.extend(word.to_le_bytes());
        }
        writer.block(0x0A0D_0D0A, &section)?;
        let mut interface = vec![1, 0, 0, 0];
        interface.extend((SNAP as u32).to_le_bytes());
        // if_tsresol: nanoseconds; then the end of options.
        interface.extend([9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        writer.block(1, &interface)?;
        Ok(writer)
    }

    /// Adds a segment.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let options = frame.options.get(..frame.options.len().min(40) / 4 * 4).unwrap_or_default();
        let headers = ETHERNET + IP + TCP + options.len();
        let whole = headers as u32 + frame.payload.min(PAYLOAD_MAX);
        let mut bytes = Vec::with_capacity(SNAP);
        bytes.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        self.ids = self.ids.wrapping_add(1);
        let length = (whole - ETHERNET as u32) as u16;
        bytes.extend([0x45, frame.ecn & 3]);
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.ids.to_be_bytes());
        bytes.extend([0x40, 0, 64, 6, 0, 0]);
        bytes.extend(frame.from.0.octets());
        bytes.extend(frame.to.0.octets());
        let sum = checksum(sum_of(&bytes[ETHERNET..]));
        bytes[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
        let begin = ETHERNET + IP;
        bytes.extend(frame.from.1.to_be_bytes());
        bytes.extend(frame.to.1.to_be_bytes());
        bytes.extend(frame.seq.to_be_bytes());
        bytes.extend(frame.ack.to_be_bytes());
        bytes.extend([((TCP + options.len()) * 4) as u8, frame.flags]);
        bytes.extend(frame.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        // The pseudo-header; zeros of the payload add nothing.
        let pseudo = sum_of(&bytes[ETHERNET + 12..begin]) + 6 + u32::from(length) - IP as u32;
        let sum = checksum(pseudo + sum_of(&bytes[begin..]));
        bytes[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
        bytes.resize((whole as usize).min(SNAP), 0);
        let mut body = Vec::with_capacity(20 + SNAP);
        let high = (frame.time_ns >> 32) as u32;
        for word in [0, high, frame.time_ns as u32, bytes.len() as u32, whole] {
            body.extend(word.to_le_bytes());
        }
        body.extend(&bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        self.block(6, &body)
    }

    /// Hands all that was added to the file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(body)?;
        self.out.write_all(&length)
    }
}

/// The sum of words of 16 bits (RFC 1071), of an even count of bytes.
fn sum_of(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low))).sum()
}

fn checksum(sum: u32) -> u16 {
    let once = (sum & 0xFFFF) + (sum >> 16);
    !((once & 0xFFFF) + (once >> 16)) as u16
}
