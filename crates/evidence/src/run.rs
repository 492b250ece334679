//! Segments in flight, and their losses.

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub start: u64,
    pub end: u64,
    pub sent_ns: u64,
    pub resent: u8,
    pub sacked: bool,
    /// Counted out of the flight until it is sent again.
    pub lost: bool,
    /// Never seen: lost before the capture, or not captured.
    pub unseen: bool,
}

impl Run {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    pub fn in_flight(&self) -> u64 {
        if self.sacked || self.lost || self.unseen { 0 } else { self.len() }
    }
}

/// A kind of retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fast,
    Timeout,
    Probe,
}

/// A retransmission that is no probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pub at_ns: u64,
    /// The last RTT before it; 0 if there is none.
    pub rtt_us: u32,
    /// The largest RTT of the last RTT: of the segments that left beside the lost one.
    pub peak_us: u32,
    /// When the lost segment was first sent.
    pub sent_ns: u64,
}
