//! A link that real packets cross: the caller keeps the clock and the packets.

use crate::net::link::managed::{Arriving, ManagedLink};
use crate::net::link::queue::discipline::Codepoint;
use crate::net::link::queue::packet_by_packet;
use crate::net::measure::rows::LinkCounts;
use crate::tcp::packet::{CONGESTION, Segment, Tag};
use crate::time::{Fraction, NEVER};
use cwnd_results::LinkResult;
use cwnd_scenario::{ETHERNET_BYTES, Link, Scenario};

/// A packet's way over the link has come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Crossed {
    /// The number that it was given.
    pub packet: u64,
    /// When it is at the far end, and how often.
    pub at_ns: u64,
    /// 0: lost on the wire.
    pub copies: u32,
    /// With a mark of congestion.
    pub marked: bool,
}

/// A link of a scenario with its queue, discipline and wire. It is called in the order of time.
///
/// ```
/// use cwnd_engine::{Codepoint, EmulatedLink};
///
/// let text = "[[chain]]\nrate = '8 Mbps'\ndelay = '5 ms'\nbuffer = 2\n[[flows]]\ncca = 'reno'";
/// let scenario = cwnd_scenario::Scenario::from_toml(text, "example.toml", &[])?;
/// let mut link = EmulatedLink::new(&scenario, 0, 1);
/// // Three packets at once: one is being sent, one waits, one is dropped.
/// (0..3).for_each(|packet| link.accept(0, packet, 1000, 0, Codepoint::NotEct));
/// assert_eq!(link.take_dropped().collect::<Vec<_>>(), [2]);
/// assert_eq!(link.depart().unwrap().at_ns, 6_000_000);
/// assert_eq!(link.next_departure_ns(), Some(1_000_000));
/// assert_eq!(link.depart().unwrap().at_ns, 7_000_000);
/// # Ok::<(), cwnd_scenario::Error>(())
/// ```
pub struct EmulatedLink {
    link: ManagedLink<Fraction>,
    described: Link,
    delivered: u64,
    /// The end of the warmup, and the counts at that time.
    before: (u64, LinkCounts),
}

impl EmulatedLink {
    /// The link with number `id` in the scenario, before anything has arrived; `seed` is that of the run.
    pub fn new(scenario: &Scenario, id: u32, seed: u64) -> EmulatedLink {
        let link = &scenario.links[id as usize];
        EmulatedLink {
            link: ManagedLink::new(packet_by_packet(scenario, id, seed), link, ETHERNET_BYTES, seed),
            described: link.clone(),
            delivered: 0,
            before: (0, LinkCounts::default()),
        }
    }

    /// When [`EmulatedLink::depart`] is to be called next; None: not before the next arrival.
    pub fn next_departure_ns(&self) -> Option<u64> {
        Some(self.link.next_departure_ns()).filter(|&at_ns| at_ns != NEVER)
    }

    /// `packet` of `flow` arrives, with `bytes` on the wire.
    pub fn accept(&mut self, now_ns: u64, packet: u64, bytes: u32, flow: u32, codepoint: Codepoint) {
        let segment = Segment { tag: Tag::new(packet, 0).sized(bytes), sent_ns: now_ns };
        let tx_ticks = Fraction::sending_ticks(&self.described, bytes);
        self.link.accept(Arriving { now_ns, segment, label: 0, flow, codepoint }, tx_ticks);
    }

    /// A packet begins to be sent, at [`EmulatedLink::next_departure_ns`]; None: the discipline sends none then.
    pub fn depart(&mut self) -> Option<Crossed> {
        let departure = self.link.depart()?;
        let tag = departure.segment.tag;
        let marked = departure.marked || tag.has(CONGESTION);
        self.delivered += u64::from(departure.passage.copies);
        let (at_ns, copies) = (departure.passage.at_ns, departure.passage.copies);
        Some(Crossed { packet: tag.seq(), at_ns, copies, marked })
    }

    /// The packets that were dropped since they were taken last.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = u64> {
        self.link.take_dropped().map(|(_, segment)| segment.tag.seq())
    }

    /// Packets held, the one being sent included.
    pub fn held_pkts(&self, now_ns: u64) -> u64 {
        self.link.held_pkts(now_ns)
    }

    /// How long a packet that arrives now would wait; None: it would never be sent.
    pub fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        Some(self.link.wait_ns(now_ns)).filter(|&wait_ns| wait_ns != NEVER)
    }

    /// Packets that the queue dropped or the wire lost, and packets that were marked.
    pub fn lost_and_marked(&self) -> (u64, u64) {
        (self.link.lost_pkts(), self.link.marked_pkts)
    }

    /// Begins the counts of [`EmulatedLink::result`] at `now_ns`.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        self.link.begin_measuring(now_ns);
        self.before = (now_ns, LinkCounts::new(&self.link, self.delivered, now_ns));
    }

    /// The link's row at `end_ns`.
    pub fn result(&self, end_ns: u64) -> LinkResult {
        let (from_ns, before) = &self.before;
        let counts = LinkCounts::new(&self.link, self.delivered, end_ns);
        counts.row_since(before, &self.described.name, end_ns.saturating_sub(*from_ns).max(1))
    }
}
