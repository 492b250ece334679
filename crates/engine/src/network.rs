//! Where the packets of some connections are between their two ends, and the links that one connection alone crosses.

use crate::acks::Acks;
use crate::agenda::Agenda;
use crate::arrivals::{Arrivals, Outcome};
use crate::control::Control;
use crate::inbox::{InTransit, Inbox};
use crate::memory::ring::{Ring, prefetch, prefetch_all};
use crate::path::managed::{Arriving, Departure};
use crate::path::passing::{Facts, Fate, Link, Passing};
use crate::path::timing::Timing;
use crate::tcp::packet::{CONGESTION, Segment, Tag};
use crate::time::{NEVER, Span};
use crate::topology::{Hop, NO_LINK, Topology};
use cwnd_scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// Between two looks at whether the run goes on, at most this many packets are sent by one flow, or arrive at one link.
pub const PACKETS_PER_LOOK: usize = 1 << 16;
/// Packets under way at one time; they take less than 2 GB.
pub const PACKETS_MAX: usize = 20_000_000;

/// The state of this many flows stays in a cache by itself; that of more is asked for some packets ahead.
const FEW_FLOWS: usize = 64;
/// The state of more flows than these is in no cache of a core.
const FLOWS_IN_CACHE: usize = 4000;
const PACKETS_AHEAD: usize = 8;

pub struct Network<'a, T: Timing> {
    pub control: &'a Control,
    /// More packets are under way than may be.
    pub crowded: bool,
    pub agenda: Agenda,
    pub topology: Topology<'a, T::Tick>,
    /// Those of [`Topology::own_links`].
    pub own_links: Vec<Link<T::Link>>,
    /// By shared link: packets on their way to it.
    pub inboxes: Vec<Inbox<T::Exact>>,
    /// By connection: packets on their way to its receiver, in order, until an ACK that each causes is at the sender.
    pub to_receiver: Vec<Ring<Arrival<T::Exact>>>,
    /// Whether the ACKs of any flow cross links.
    acks_cross_links: bool,
    /// By connection, if ACKs cross links.
    pub acks: Vec<Acks>,
    /// How many packets of another size than the hop's passed it, by hop and size.
    pub other_sizes: BTreeMap<(u32, u32), u64>,
    /// By connection: how often a wire delivered a packet once more, if it did.
    pub copies: BTreeMap<u32, u64>,
    pub timing: T,
    /// By connection: its flow in the scenario, and the number of the transfer that it has.
    pub ranks: Vec<(u32, u64)>,
    /// What arrives at the link that is served; stale between links.
    pub arrivals: Arrivals<T::Exact>,
    /// What that link has done with them.
    pub outcome: Outcome,
}

/// A packet that arrives at its receiver.
#[derive(Clone, Copy, Default)]
pub struct Arrival<E> {
    pub at: u64,
    pub exact: E,
    pub segment: Segment,
}

/// A link as a packet comes to it.
trait Way<'a, T: Timing> {
    /// The packet on its way to the next hop; None: dropped or lost.
    fn pass(self, network: &mut Network<'a, T>, passing: Passing) -> Option<InTransit<T::Exact>>;
}

/// One of [`Network::own_links`], by its place.
struct OwnLink(u32);

impl<'a, T: Timing> Way<'a, T> for OwnLink {
    #[inline(always)]
    fn pass(self, network: &mut Network<'a, T>, passing: Passing) -> Option<InTransit<T::Exact>> {
        network.own_links[self.0 as usize].pass(&mut network.timing, passing)
    }
}

struct SharedLink<'l, L>(&'l mut Link<L>);

impl<'a, T: Timing> Way<'a, T> for SharedLink<'_, T::Link> {
    #[inline(always)]
    fn pass(self, network: &mut Network<'a, T>, passing: Passing) -> Option<InTransit<T::Exact>> {
        self.0.pass(&mut network.timing, passing)
    }
}

impl<'a, T: Timing> Network<'a, T> {
    /// `flows`: that of each connection.
    pub fn new(
        scenario: &'a Scenario,
        flows: impl Iterator<Item = u32>,
        topology: Topology<'a, T::Tick>,
        seed: u64,
        control: &'a Control,
    ) -> Network<'a, T> {
        let ranks: Vec<(u32, u64)> = flows.map(|flow| (flow, 0)).collect();
        let acks_cross_links = scenario.flows.iter().any(|flow| !flow.reverse_path.is_empty());
        let acks = if acks_cross_links { ranks.len() } else { 0 };
        let own_links =
            topology.own_links.iter().map(|&link| Link::new(T::new_link(topology.link(link), seed)));
        Network {
            control,
            crowded: false,
            agenda: Agenda::new(vec![NEVER; ranks.len()]),
            own_links: own_links.collect(),
            inboxes: std::iter::repeat_with(Inbox::new).take(topology.shared_links).collect(),
            to_receiver: std::iter::repeat_with(Ring::new).take(ranks.len()).collect(),
            acks_cross_links,
            acks: std::iter::repeat_with(Acks::default).take(acks).collect(),
            other_sizes: BTreeMap::new(),
            copies: BTreeMap::new(),
            timing: T::new(scenario, &topology),
            topology,
            ranks,
            arrivals: Arrivals::default(),
            outcome: Outcome::default(),
        }
    }

    /// One more connection of `flow`.
    pub fn add_connection(&mut self, flow: u32) {
        let id = self.agenda.len() as u32;
        self.agenda.push();
        self.to_receiver.push(Ring::new());
        if self.acks_cross_links {
            self.acks.push(Acks::default());
        }
        self.ranks.push((flow, 0));
        self.topology.add_route(id, flow);
    }

    /// Packets between the ends, except those in the queues of managed links.
    pub fn count_packets(&self) -> usize {
        let to_links: usize = self.inboxes.iter().map(Inbox::len).sum();
        let to_receivers: usize = self.to_receiver.iter().map(Ring::len).sum();
        let to_senders: usize = self.acks.iter().map(Acks::len).sum();
        to_links + to_receivers + to_senders
    }

    /// Whether the run must stop.
    #[cold]
    pub fn must_end(&mut self) -> bool {
        self.crowded |= self.count_packets() > PACKETS_MAX;
        self.crowded || self.control.stop.load(Relaxed)
    }

    /// When the next thing happens to these connections, or one of their packets arrives at a link.
    pub fn next_event_ns(&self) -> u64 {
        let arrivals = self.inboxes.iter().map(|inbox| inbox.earliest).min();
        arrivals.unwrap_or(NEVER).min(self.agenda.earliest_ns())
    }

    /// Calls `see` with each packet that is on its way to the next hop or to the receiver: the hop that it is behind, and
    /// when it will be there.
    pub fn between_hops(&self, mut see: impl FnMut(u32, u64, Segment)) {
        let hops = &self.topology.hops;
        for packet in self.inboxes.iter().flat_map(Inbox::packets) {
            // A packet in the inbox of a flow's first hop has crossed no link yet.
            if !hops[packet.hop as usize].through_inbox {
                see(packet.hop - 1, packet.at, packet.segment);
            }
        }
        for (id, hop) in (0..).zip(hops).filter(|(_, hop)| hop.next == NO_LINK) {
            if hop.back {
                let tag = Tag::default().sized(hop.bytes);
                let acks = self.acks[hop.flow as usize].arrivals();
                acks.for_each(|at| see(id, at, Segment { tag, sent_ns: at }));
            } else {
                let packets = &self.to_receiver[hop.flow as usize];
                packets.iter().for_each(|packet| see(id, packet.at, packet.segment));
            }
        }
    }

    /// `flow`, whose first hop is `first`, will soon be gone through.
    #[inline(always)]
    pub fn prefetch_path(&self, flow: u32, first: u32) {
        prefetch(&raw const self.to_receiver[flow as usize]);
        prefetch(&raw const self.topology.hops[first as usize]);
    }

    /// The same, after [`Network::prefetch_path`]: what is at the ends of the flow's path.
    #[inline(always)]
    pub fn prefetch_ends(&self, flow: u32, first: u32) {
        self.to_receiver[flow as usize].prefetch_front();
        let first = &self.topology.hops[first as usize];
        if !first.through_inbox {
            prefetch_all(&self.own_links[first.place as usize]);
        }
    }

    /// A flow sends `segment` at `now`; `hop` is its first.
    #[inline(always)]
    pub fn enter(&mut self, hop: u32, now: u64, segment: Segment) {
        let first = &self.topology.hops[hop as usize];
        if first.through_inbox {
            let exact = self.timing.now();
            let packet = InTransit { at: now, exact, segment, busy_since: 0, hop };
            self.inboxes[first.place as usize].push(packet);
        } else {
            let link = OwnLink(first.place);
            self.cross_by(hop, now, segment, link);
        }
    }

    /// The receiver of `flow` sends an ACK at `now`, which `make` gives; `hop` is the first on its way back.
    #[inline(always)]
    pub fn enter_ack(&mut self, hop: u32, now: u64, flow: u32, make: impl FnOnce(&mut Acks) -> Segment) {
        let ack = make(&mut self.acks[flow as usize]);
        let tag = ack.tag.sized(self.topology.hops[hop as usize].bytes);
        self.enter(hop, now, Segment { tag, ..ack });
    }

    /// `packet` arrives at the shared `link`, and what becomes of it is known.
    #[inline(always)]
    pub fn cross(&mut self, link: &mut Link<T::Link>, packet: &InTransit<T::Exact>) {
        self.timing.set_now(packet.exact);
        self.cross_by(packet.hop, packet.at, packet.segment, SharedLink(link));
    }

    /// `segment` arrives at `link`, that of `hop`, at `now`.
    #[inline(always)]
    fn cross_by(&mut self, hop: u32, now: u64, segment: Segment, link: impl Way<'a, T>) {
        let to = &self.topology.hops[hop as usize];
        if segment.tag.bytes() == to.bytes {
            let times = (to.tx_ticks, to.onward_ns);
            let passing = Passing { hop, now, segment, times, codepoint: to.codepoint };
            self.cross_in(passing, link);
        } else {
            self.cross_other(hop, now, segment, link);
        }
    }

    /// A segment of another size than most arrives at a link.
    #[cold]
    #[inline(never)]
    fn cross_other(&mut self, hop: u32, now: u64, segment: Segment, link: impl Way<'a, T>) {
        let times = self.topology.times(hop, segment.tag.bytes());
        let passing =
            Passing { hop, now, segment, times, codepoint: self.topology.hops[hop as usize].codepoint };
        if self.cross_in(passing, link) {
            self.note_other_size(hop, segment);
        }
    }

    /// False: dropped or lost.
    #[inline(always)]
    fn cross_in(&mut self, passing: Passing, link: impl Way<'a, T>) -> bool {
        let Some(packet) = link.pass(self, passing) else {
            self.lose(passing.hop, passing.segment);
            return false;
        };
        self.go_on(passing.hop, packet);
        true
    }

    /// `segment` was dropped or lost at `hop`.
    #[cold]
    pub fn lose(&mut self, hop: u32, segment: Segment) {
        let hop = &mut self.topology.hops[hop as usize];
        hop.lost += 1;
        if hop.back {
            self.acks[hop.flow as usize].lose(segment);
        }
    }

    /// A segment of another size than most has passed `hop`.
    #[cold]
    fn note_other_size(&mut self, hop: u32, segment: Segment) {
        *self.other_sizes.entry((hop, segment.tag.bytes())).or_default() += 1;
    }

    /// Orders packets that arrive at a link at the same instant; the least is first. Packets that flows send at that instant
    /// precede the others. Of these the first is the one whose last link began latest to send without a pause, then the one of
    /// the lower flow, then of the earlier transfer. A simulator that runs simultaneous events in the order in which they were
    /// scheduled has the same order, and no flow wins every time.
    pub fn rank(&self, packet: &InTransit<T::Exact>) -> impl Ord + use<T> {
        let hop = &self.topology.hops[packet.hop as usize];
        let rank = (!hop.through_inbox).then(|| T::rank(packet.exact, packet.busy_since));
        (rank, self.ranks[hop.flow as usize])
    }

    /// Takes out what arrives at the shared link at `place` in `span`, in order. Returns whether some may
    /// arrive at the same instant. [`Network::put_back`] follows.
    #[inline(always)]
    fn take_arrivals(&mut self, place: usize, span: Span) -> bool {
        self.arrivals.packets = self.inboxes[place].take_soon(span.until);
        self.arrivals.set_order(span)
    }

    /// As [`Network::take_arrivals`], where no others come in between: those of an instant are in order, too.
    #[inline(always)]
    pub fn take_all_arrivals(&mut self, place: usize, span: Span) {
        if self.take_arrivals(place, span) {
            let mut arrivals = std::mem::take(&mut self.arrivals);
            arrivals.sort_ties(|packet| self.rank(packet));
            self.arrivals = arrivals;
        }
    }

    /// As [`Network::take_arrivals`]: what the link decides by. `marks`: that may be whether it may mark a packet.
    pub fn take_facts(&mut self, place: usize, span: Span, marks: bool) {
        self.take_arrivals(place, span);
        let mut facts = std::mem::take(&mut self.arrivals.facts);
        facts.clear();
        facts.extend(self.arrivals.order.iter().map(|&order| {
            let packet = self.arrivals.packet(order);
            let is_ect = marks && self.topology.hops[packet.hop as usize].codepoint.is_ect();
            Facts::new(packet.segment.tag.bytes(), is_ect)
        }));
        self.arrivals.facts = facts;
        self.outcome.fates.resize(self.arrivals.len(), Fate::LOST);
        self.outcome.busy_since_ns.resize(self.arrivals.len(), 0);
    }

    /// As [`Network::take_arrivals`], at a managed link that decides on all before anything is done.
    pub fn take_arriving(&mut self, place: usize, span: Span) {
        self.take_arrivals(place, span);
        let mut arriving = std::mem::take(&mut self.arrivals.arriving);
        arriving.clear();
        for (next, &order) in self.arrivals.order.iter().enumerate() {
            let packet = |order: u64| self.arrivals.packet(order);
            if let Some(&ahead) = self.arrivals.order.get(next + 2 * PACKETS_AHEAD) {
                prefetch(packet(ahead));
            }
            if let Some(&ahead) = self.arrivals.order.get(next + PACKETS_AHEAD) {
                prefetch(&raw const self.topology.hops[packet(ahead).hop as usize]);
            }
            arriving.push(self.arriving(packet(order)));
        }
        self.arrivals.arriving = arriving;
    }

    /// `packet` as it arrives at a managed link. Its label is its hop.
    #[inline(always)]
    pub fn arriving(&self, packet: &InTransit<T::Exact>) -> Arriving {
        let &InTransit { at: now_ns, segment, hop: label, .. } = packet;
        let &Hop { flow, codepoint, .. } = &self.topology.hops[label as usize];
        Arriving { now_ns, segment, label, flow, codepoint }
    }

    /// The packets that arrive after `span` go back into the inbox.
    #[inline(always)]
    pub fn put_back(&mut self, place: usize, span: Span) {
        let packets = std::mem::take(&mut self.arrivals.packets);
        self.inboxes[place].put_back(packets, span, self.arrivals.earliest);
    }

    /// What has been decided on the packets that arrived before `until` is done. `in_order`: in the
    /// order of their arrivals, else flow by flow.
    pub fn let_pass(&mut self, until: u64, in_order: bool) {
        let (arrivals, mut outcome) = (std::mem::take(&mut self.arrivals), std::mem::take(&mut self.outcome));
        let Outcome { fates, fates_by_packet, busy_since_ns, .. } = &mut outcome;
        let (packets, decided) = (&arrivals.packets, arrivals.order.iter().zip(&*fates));
        if in_order {
            for (next, ((&order, &fate), &busy_since_ns)) in decided.zip(&*busy_since_ns).enumerate() {
                self.prefetch(|ahead| Some(arrivals.packet(*arrivals.order.get(next + ahead)?).hop));
                self.pass_on(arrivals.packet(order), fate, busy_since_ns);
            }
        } else {
            fates_by_packet.resize(packets.len(), Fate::LOST);
            decided.for_each(|(&order, &fate)| fates_by_packet[order as u32 as usize] = fate);
            for (next, (packet, &fate)) in packets.iter().zip(&*fates_by_packet).enumerate() {
                if packet.at < until {
                    self.prefetch(|ahead| Some(packets.get(next + ahead)?.hop));
                    self.pass_on(packet, fate, 0);
                }
            }
        }
        (self.arrivals, self.outcome) = (arrivals, outcome);
    }

    /// What has been decided on `packet` is done.
    #[inline(always)]
    fn pass_on(&mut self, packet: &InTransit<T::Exact>, fate: Fate, busy_since: u64) {
        let &InTransit { hop, mut segment, .. } = packet;
        let Some((departure_ns, marked)) = fate.departure() else { return self.lose(hop, segment) };
        if marked {
            segment.tag = segment.tag.with(CONGESTION);
        }
        let bytes = segment.tag.bytes();
        let at = departure_ns + self.topology.times(hop, bytes).1;
        let exact = T::from_ns(at);
        self.go_on(hop, InTransit { at, exact, segment, busy_since, hop: hop + 1 });
        if bytes != self.topology.hops[hop as usize].bytes {
            self.note_other_size(hop, segment);
        }
    }

    /// What a managed link has done is done.
    pub fn let_depart(&mut self, reorders: bool) {
        let mut departures = std::mem::take(&mut self.outcome.departures);
        for (next, &departure) in departures.iter().enumerate() {
            if self.has_many_flows() {
                self.prefetch(|ahead| departures.get(next + ahead).map(|departure| departure.hop));
            }
            self.leave(departure, reorders);
        }
        departures.clear();
        self.outcome.departures = departures;
    }

    #[inline(always)]
    pub fn has_many_flows(&self) -> bool {
        self.agenda.len() > FEW_FLOWS
    }

    /// Whether it is a gain to go through the packets of a span flow by flow.
    #[inline(always)]
    pub fn outgrows_caches(&self) -> bool {
        self.agenda.len() > FLOWS_IN_CACHE
    }

    /// Asks for what the packets need that come next; `packet` is the one so many places ahead.
    #[inline(always)]
    pub fn prefetch_packets<'p>(&self, packet: impl Fn(usize) -> Option<&'p InTransit<T::Exact>>)
    where
        T::Exact: 'p,
    {
        if let Some(packet) = packet(4 * PACKETS_AHEAD) {
            prefetch(packet);
        }
        self.prefetch(|ahead| packet(ahead).map(|packet| packet.hop));
    }

    /// Asks for what the packets need that pass next. `hop` gives the hop of the one that many packets ahead.
    #[inline(always)]
    fn prefetch(&self, hop: impl Fn(usize) -> Option<u32>) {
        let hop = |ahead: usize| hop(ahead).map(|hop| &self.topology.hops[hop as usize]);
        if let Some(hop) = hop(3 * PACKETS_AHEAD) {
            prefetch(hop);
        }
        if let Some(hop) = hop(2 * PACKETS_AHEAD) {
            prefetch(&raw const self.to_receiver[hop.flow as usize]);
            self.agenda.prefetch(hop.flow);
        }
        if let Some(hop) = hop(PACKETS_AHEAD) {
            self.to_receiver[hop.flow as usize].prefetch_back();
        }
    }

    /// `packet` has crossed the link of hop `from`.
    #[inline(always)]
    fn go_on(&mut self, from: u32, packet: InTransit<T::Exact>) {
        let from = &mut self.topology.hops[from as usize];
        from.passed += 1;
        let InTransit { at, exact, segment, .. } = packet;
        if from.next != NO_LINK {
            self.inboxes[from.next as usize].push(packet);
        } else if from.back {
            let flow = from.flow;
            self.arrive_at_sender(flow, at, segment);
        } else {
            let packets = &mut self.to_receiver[from.flow as usize];
            packets.push_back(Arrival { at, exact, segment });
            if packets.len() == 1 {
                self.agenda.hasten(from.flow, at + from.after_ns);
            }
        }
    }

    #[inline(never)]
    fn arrive_at_sender(&mut self, flow: u32, at: u64, ack: Segment) {
        self.acks[flow as usize].arrive(at, ack);
        self.agenda.hasten(flow, at);
    }

    /// What a managed link has done with a packet, which it may have delivered more than once, or before others that it
    /// sent sooner if it `reorders`.
    #[inline(always)]
    pub fn leave(&mut self, departure: Departure, reorders: bool) {
        let Departure { hop, mut segment, marked, busy_since_ns, passage } = departure;
        if passage.copies == 0 {
            return self.lose(hop, segment);
        }
        if marked {
            segment.tag = segment.tag.with(CONGESTION);
        }
        let bytes = segment.tag.bytes();
        let at = passage.at_ns + self.topology.behind_ns(hop, bytes);
        let onward =
            InTransit { at, exact: T::from_ns(at), segment, busy_since: busy_since_ns, hop: hop + 1 };
        if passage.copies == 1 && bytes == self.topology.hops[hop as usize].bytes && !reorders {
            self.go_on(hop, onward);
        } else {
            self.leave_otherwise(hop, onward, passage.copies, reorders);
        }
    }

    /// A packet is delivered twice, or not in order, or of another size than most.
    fn leave_otherwise(&mut self, hop: u32, mut packet: InTransit<T::Exact>, copies: u32, reorders: bool) {
        let Hop { flow, back, bytes: usual_bytes, .. } = self.topology.hops[hop as usize];
        let bytes = packet.segment.tag.bytes();
        for copy in 0..copies {
            if copy > 0 && back {
                let copy = self.acks[flow as usize].copy(packet.segment);
                packet.segment = Segment { tag: copy.tag.sized(bytes), ..copy };
            } else if copy > 0 {
                *self.copies.entry(flow).or_default() += 1;
            }
            self.go_on(hop, packet);
            if reorders {
                self.settle_last(hop);
            }
            if bytes != usual_bytes {
                self.note_other_size(hop, packet.segment);
            }
        }
    }

    /// The packet that has crossed the link of `hop` last takes its place among those on their way to the receiver.
    fn settle_last(&mut self, hop: u32) {
        let from = &self.topology.hops[hop as usize];
        if from.next != NO_LINK || from.back {
            return;
        }
        let packets = &mut self.to_receiver[from.flow as usize];
        let Some(&mut Arrival { at, .. }) = packets.back_mut() else { return };
        if packets.settle_back(|before| before.at > at) == 0 {
            self.agenda.hasten(from.flow, at + from.after_ns);
        }
    }
}
