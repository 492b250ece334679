//! A connection: two directions, and its handshake.

use crate::half::Half;
use crate::record::Record;
use crate::segment::{ACK, End, FIN, RST, SYN, Segment};

/// A connection. Times are nanoseconds since its first packet.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// The client, if the handshake was seen; the sender of the first packet otherwise.
    pub ends: [End; 2],
    pub halves: [Half; 2],
    pub start_ns: u64,
    pub last_ns: u64,
    pub handshake: bool,
    pub reset: bool,
    /// The ACK that ends the handshake.
    pub opened_ns: Option<u64>,
    /// Packets, if they were asked for.
    pub record: Option<Box<Record>>,
}

impl Connection {
    /// Begins with its first segment.
    pub fn new(s: &Segment) -> Self {
        let answer = s.has(SYN) && s.has(ACK);
        Connection {
            ends: if answer { [s.to, s.from] } else { [s.from, s.to] },
            halves: [Half::new(), Half::new()],
            start_ns: s.time_ns,
            last_ns: 0,
            handshake: s.has(SYN),
            reset: false,
            opened_ns: None,
            record: None,
        }
    }

    /// Returns true if `s` opens another connection between the same ends.
    pub fn is_over_for(&self, s: &Segment) -> bool {
        let over = self.reset || self.halves.iter().any(|half| half.finished);
        s.has(SYN) && !s.has(ACK) && (over || self.halves[0].bytes + self.halves[1].bytes > 0)
    }

    /// Takes a segment of the connection.
    pub fn take(&mut self, s: &Segment) {
        // A capture of several interfaces may go back by a little.
        let now = s.time_ns.saturating_sub(self.start_ns).max(self.last_ns);
        self.last_ns = now;
        let from = usize::from(s.from != self.ends[0]);
        self.reset |= s.has(RST);
        if s.has(RST) {
            return;
        }
        if self.opened_ns.is_none()
            && from == 0
            && s.has(ACK)
            && self.halves[1].syn_ns.is_some()
            && !s.has(SYN | FIN)
        {
            self.opened_ns = Some(now);
        }
        let scale = self.scale_of(from);
        let mss = [self.segment(0), self.segment(1)];
        self.halves[1 - from].acknowledge(s, now, scale, mss[1 - from]);
        self.halves[from].send(s, now, mss[from]);
    }

    /// The scale of the windows that `end` advertises; `None` if the handshake was not seen.
    pub fn scale_of(&self, end: usize) -> Option<u8> {
        let (own, other) = (&self.halves[end], &self.halves[1 - end]);
        match (own.syn_ns, other.syn_ns) {
            (Some(_), Some(_)) => Some(own.scale.filter(|_| other.scale.is_some()).unwrap_or(0)),
            _ => None,
        }
    }

    /// Bytes of a full segment of `end`.
    pub fn segment(&self, end: usize) -> u32 {
        self.halves[end].segment(self.halves[1 - end].mss)
    }

    /// The end that sent more data.
    pub fn sender(&self) -> usize {
        usize::from(self.halves[1].bytes > self.halves[0].bytes)
    }

    /// RTTs of the handshake on the responder's and on the client's side of the capture.
    pub fn handshake_ns(&self) -> (Option<u64>, Option<u64>) {
        let (syn, answer) = (self.halves[0].syn_ns, self.halves[1].syn_ns);
        let part = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        (part(syn, answer), part(answer, self.opened_ns))
    }

    /// The part of the RTT on the sender's side of the capture, at least; 0 if it is not known.
    pub fn release_ns(&self) -> u64 {
        let sender = self.sender();
        let (responder, client) = self.handshake_ns();
        let handshake = if sender == 0 { client } else { responder };
        let sampled = self.halves[sender].release_min_us;
        let sampled = (sampled != u32::MAX).then(|| u64::from(sampled) * 1000);
        handshake.into_iter().chain(sampled).min().unwrap_or(0)
    }
}
