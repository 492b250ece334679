//! A stream of bytes with a look ahead, over a reader that may fail or end anywhere.

use crate::error::Error;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use std::io::{Cursor, Read};

/// Bytes that one read asks for.
const CHUNK: usize = 1 << 18;

/// Memory that a capture in xz may ask for: twice that of `xz -9`. A hostile header may ask for 4 GB.
const XZ_KIB: u32 = 128 << 10;

/// The largest record of a capture: a packet of 2^24 bytes with its options. Larger lengths are damage.
pub(crate) const LARGEST: usize = (1 << 24) + (1 << 16);

/// How a request for bytes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    Whole,
    /// Fewer bytes were left.
    Short,
}

/// A reader with a buffer, from which records are taken without copies.
pub(crate) struct Bytes {
    reader: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The reader's error, which ends the stream.
    pub failed: Option<String>,
}

impl Bytes {
    /// Opens `reader`; gzip, xz and zstd are recognised by their first bytes.
    pub fn open(mut reader: Box<dyn Read>) -> Result<Self, Error> {
        let mut head = Vec::new();
        if let Err(failed) = reader.by_ref().take(6).read_to_end(&mut head) {
            return Err(Error(failed.to_string()));
        }
        let whole = Box::new(Cursor::new(head.clone()).chain(reader));
        let reader: Box<dyn Read> = match head.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Box::new(XzReader::new_mem_limit(whole, true, XZ_KIB)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => match StreamingDecoder::new(whole) {
                Ok(decoder) => Box::new(decoder),
                Err(failed) => return Err(Error(format!("zstd: {failed}"))),
            },
            _ => whole,
        };
        Ok(Bytes { reader, buffer: vec![0; CHUNK], start: 0, end: 0, failed: None })
    }

    /// Makes `n` bytes available, if there are as many.
    pub fn fill(&mut self, n: usize) -> Filled {
        while self.end - self.start < n && self.failed.is_none() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.buffer.len() < n.max(CHUNK) {
                self.buffer.resize(n.max(CHUNK), 0);
            }
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(failed) if failed.kind() == std::io::ErrorKind::Interrupted => {}
                Err(failed) => self.failed = Some(failed.to_string()),
            }
        }
        if self.end - self.start < n { Filled::Short } else { Filled::Whole }
    }

    /// The bytes that are available.
    pub fn ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Drops `n` available bytes.
    pub fn skip(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
    }

    /// Takes `n` available bytes.
    pub fn take(&mut self, n: usize) -> &[u8] {
        let from = self.start;
        self.skip(n);
        &self.buffer[from..self.start]
    }
}

/// Integers of a byte order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub big: bool,
}

impl Order {
    /// The 16 bits at `at`, or 0 beyond the end.
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let Some(two) = bytes.get(at..at + 2).and_then(|two| two.try_into().ok()) else { return 0 };
        if self.big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
    }

    /// The 32 bits at `at`, or 0 beyond the end.
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let Some(four) = bytes.get(at..at + 4).and_then(|four| four.try_into().ok()) else { return 0 };
        if self.big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    }
}
