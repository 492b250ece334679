//! Packets on their way to a link.

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

/// Packets on their way to a link; those of each hop are in order. Packets that wait in a long queue before the link are
/// not looked through in every span.
pub struct Inbox<E> {
    /// Packets that arrive before `horizon`.
    soon: Vec<InTransit<E>>,
    /// Once there were others.
    later: Option<Box<Later<E>>>,
    horizon: u64,
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
        Inbox { soon: Vec::new(), later: None, horizon: 0, earliest: NEVER }
    }

    #[inline(always)]
    pub fn push(&mut self, packet: InTransit<E>) {
        self.earliest = self.earliest.min(packet.at);
        if packet.at < self.horizon {
            self.soon.push(packet);
        } else {
            let later =
                self.later.get_or_insert_with(|| Box::new(Later { packets: Vec::new(), earliest: NEVER }));
            later.earliest = later.earliest.min(packet.at);
            later.packets.push(packet);
        }
    }

    pub fn len(&self) -> usize {
        self.soon.len() + self.later.as_ref().map_or(0, |later| later.packets.len())
    }

    pub fn packets(&self) -> impl Iterator<Item = &InTransit<E>> {
        self.soon.iter().chain(self.later.iter().flat_map(|later| &later.packets))
    }

    /// Takes out all packets that arrive before `until`, at the end of a span of `span_ns`, and some that arrive later.
    pub fn take_soon(&mut self, until: u64, span_ns: u64) -> Vec<InTransit<E>> {
        self.look_ahead(until, span_ns);
        std::mem::take(&mut self.soon)
    }

    /// Puts back what [`Inbox::take_soon`] took out and arrives at `until` or later, the first at `earliest`.
    pub fn put_back(&mut self, mut packets: Vec<InTransit<E>>, until: u64, earliest: u64) {
        if earliest == NEVER {
            packets.clear();
        } else {
            packets.retain(|packet| packet.at >= until);
        }
        self.soon = packets;
        self.earliest = earliest.min(self.later.as_ref().map_or(NEVER, |later| later.earliest));
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
