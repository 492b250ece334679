//! A packet as a capture holds it.

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    pub time_ns: u64,
    /// The link type of the capture: LINKTYPE_ETHERNET is 1.
    pub link: u16,
    /// Bytes that crossed the link, of which `data` may be the first.
    pub wire: u32,
    pub data: &'a [u8],
}

/// The next thing of a capture.
#[derive(Debug)]
pub(crate) enum Outcome<'a> {
    Packet(Raw<'a>),
    /// A record without a packet.
    Other,
    End,
    /// The capture ends within a record.
    Truncated,
    /// A record that cannot be: nothing behind it can be found.
    Damaged,
}
