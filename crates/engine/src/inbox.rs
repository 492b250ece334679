//! Packets on their way to a link.

use crate::memory::ring::Ring;
use crate::tcp::packet::Segment;
use crate::time::NEVER;

/// For this many spans what arrives at a link is set apart from what arrives later.
const SPANS_AHEAD: u64 = 32;

/// A packet that arrives at hop `hop`.
#[derive(Clone, Copy)]
pub struct InTransit<E> {
    pub at: u64,
    pub exact: E,
    pub segment: Segment,
    /// The link that sent it has been sending without a pause since then.
    pub busy_since: u64,
    pub hop: u32,
}

/// Packets on their way to a link; those of each hop are in order. Where one link alone leads to this one, each packet arrives
/// later than the packet before: they form a line, which needs no sorting. Otherwise a span examines all packets except those
/// that arrive many spans later.
pub struct Inbox<E> {
    line: Ring<InTransit<E>>,
    /// When the last of the line arrives; NEVER: there is no line.
    line_end: u64,
    /// Without a line: packets that arrive before `horizon`.
    soon: Vec<InTransit<E>>,
    horizon: u64,
    /// Once there were others.
    later: Option<Box<Later<E>>>,
    /// When the first of all arrives, or NEVER.
    pub earliest: u64,
}

struct Later<E> {
    packets: Vec<InTransit<E>>,
    /// When the first of them arrives, or NEVER.
    earliest: u64,
}

impl<E: Copy> Inbox<E> {
    pub fn new() -> Inbox<E> {
        Inbox {
            line: Ring::new(),
            line_end: 0,
            soon: Vec::new(),
            horizon: NEVER,
            later: None,
            earliest: NEVER,
        }
    }

    #[inline(always)]
    pub fn push(&mut self, packet: InTransit<E>) {
        self.earliest = self.earliest.min(packet.at);
        if packet.at > self.line_end {
            self.line_end = packet.at;
            self.line.push_back(packet);
        } else {
            if self.line_end != NEVER {
                self.end_line();
            }
            if packet.at < self.horizon {
                self.soon.push(packet);
            } else {
                self.push_later(packet);
            }
        }
    }

    fn push_later(&mut self, packet: InTransit<E>) {
        let later =
            self.later.get_or_insert_with(|| Box::new(Later { packets: Vec::new(), earliest: NEVER }));
        later.earliest = later.earliest.min(packet.at);
        later.packets.push(packet);
    }

    /// A packet arrives before another that came sooner.
    #[cold]
    fn end_line(&mut self) {
        self.soon.extend(self.line.iter());
        self.line.skip(self.line.len());
        self.line_end = NEVER;
    }

    pub fn len(&self) -> usize {
        self.line.len() + self.soon.len() + self.later.as_ref().map_or(0, |later| later.packets.len())
    }

    pub fn packets(&self) -> impl Iterator<Item = &InTransit<E>> {
        let later = self.later.iter().flat_map(|later| &later.packets);
        self.line.iter().chain(&self.soon).chain(later)
    }

    /// Takes out the line, if there is one.
    #[inline]
    pub fn take_line(&mut self) -> Option<Ring<InTransit<E>>> {
        (self.line_end != NEVER).then(|| std::mem::take(&mut self.line))
    }

    /// Puts back what is left of what [`Inbox::take_line`] took out.
    #[inline]
    pub fn put_back_line(&mut self, line: Ring<InTransit<E>>) {
        self.earliest = line.front().map_or(NEVER, |packet| packet.at);
        self.line = line;
    }

    /// Takes out all packets that arrive before `until`, at the end of a span of `span_ns`, and some that arrive later.
    pub fn take_soon(&mut self, until: u64, span_ns: u64) -> Vec<InTransit<E>> {
        if self.line_end != NEVER {
            self.end_line();
        }
        self.look_ahead(until, span_ns);
        std::mem::take(&mut self.soon)
    }

    /// Puts back what [`Inbox::take_soon`] took out and arrives at `until` or later, the first at `earliest`.
    pub fn put_back(&mut self, mut packets: Vec<InTransit<E>>, until: u64, span_ns: u64, earliest: u64) {
        let taken = packets.len();
        if earliest == NEVER {
            packets.clear();
        } else {
            packets.retain(|packet| packet.at >= until);
        }
        self.soon = packets;
        self.earliest = earliest.min(self.later.as_ref().map_or(NEVER, |later| later.earliest));
        if self.earliest == NEVER {
            (self.line_end, self.horizon) = (0, NEVER);
        } else if self.horizon == NEVER && self.soon.len() > taken / 2 {
            self.look_no_farther(until.saturating_add(SPANS_AHEAD * span_ns));
        }
    }

    /// Most packets have yet to wait: those from `horizon` on are set apart.
    #[cold]
    fn look_no_farther(&mut self, horizon: u64) {
        let far: Vec<_> = self.soon.extract_if(.., |packet| packet.at >= horizon).collect();
        far.into_iter().for_each(|packet| self.push_later(packet));
        self.horizon = horizon;
    }

    fn look_ahead(&mut self, until: u64, span_ns: u64) {
        let Some(later) = self.later.as_mut().filter(|later| later.earliest < until) else { return };
        let horizon = until.saturating_add(SPANS_AHEAD * span_ns);
        self.horizon = horizon;
        // The fewer are copied.
        if self.soon.is_empty() {
            std::mem::swap(&mut self.soon, &mut later.packets);
            later.packets.extend(self.soon.extract_if(.., |packet| packet.at >= horizon));
        } else {
            self.soon.extend(later.packets.extract_if(.., |packet| packet.at < horizon));
        }
        later.earliest = later.packets.iter().map(|packet| packet.at).min().unwrap_or(NEVER);
    }
}
