//! Where the packets of some connections are between their two ends, and the links that one connection alone crosses.

use crate::control::Control;
use crate::fast::ends::acks::Acks;
use crate::fast::ends::agenda::Agenda;
use crate::fast::link::late_losses::LateLosses;
use crate::fast::link::passing::{Facts, Fate, Link};
use crate::fast::link::timing::{Crossing, Sending, Timing};
use crate::fast::onward::{Arrival, Crossed, Onward, cross_as_most};
use crate::fast::shared::arrivals::{Arrivals, Outcome, entry};
use crate::fast::shared::inbox::{InTransit, Inbox};
use crate::fast::topology::{Hop, Topology};
use crate::memory::prefetch::{prefetch_all, prefetch_at};
use crate::memory::ring::Ring;
use crate::net::link::managed::Arriving;
use crate::tcp::packet::{Segment, Tag};
use crate::time::{NEVER, Span};
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
/// Number of packets between two steps in which memory is prefetched for one of them.
const STEP: usize = 8;
/// Number of packets ahead whose hop is given to [`Network::prefetch`].
pub const HOPS_AHEAD: usize = 3 * STEP;
/// Number of packets ahead that are prefetched themselves, where they are far apart.
pub const PACKETS_AHEAD: usize = 4 * STEP;

/// Packets ahead for which memory is prefetched, in steps: the hop; the ring of packets to the receiver of its flow; the end of
/// that ring. A step reads what the one before has prefetched.
#[derive(Default)]
pub struct Ahead {
    slots: [Slot; STEP],
    next: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// That of the packet two steps ahead.
    hop: u32,
    /// That of the packet a step ahead.
    flow: u32,
}

pub struct Network<'a, T: Timing> {
    pub control: &'a Control,
    /// More packets are under way than may be.
    pub crowded: bool,
    pub agenda: Agenda,
    pub topology: Topology<'a, T::Tick>,
    /// Those of [`Topology::own_links`].
    pub own_links: Vec<Link<T::Link>>,
    /// By shared link: packets on their way to it.
    pub inboxes: Vec<Inbox<T::SubNanosecond>>,
    /// By connection: packets on their way to its receiver, in order, until an ACK that each causes is at the sender.
    pub to_receiver: Vec<Ring<Arrival<T::SubNanosecond>>>,
    /// True if the ACKs of any flow cross links.
    acks_cross_links: bool,
    /// By connection, if ACKs cross links.
    pub acks: Vec<Acks>,
    /// How many packets of another size than the hop's passed it, by hop and size.
    pub other_sizes: BTreeMap<(u32, u32), u64>,
    pub late_losses: LateLosses,
    /// By connection: how often a wire delivered a packet once more, if it did.
    pub copies: BTreeMap<u32, u64>,
    pub timing: T,
    /// By connection: its flow in the scenario, and the number of the transfer that it has.
    pub ranks: Vec<(u32, u64)>,
    /// Packets that arrive at the link that is served; stale between links.
    pub arrivals: Arrivals<T::SubNanosecond>,
    /// Outcome of these packets at that link.
    pub outcome: Outcome,
    /// When a train's segments are sent; stale between trains.
    pub sendings: Vec<Sending<T::SubNanosecond>>,
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
            agenda: Agenda::new(ranks.len()),
            own_links: own_links.collect(),
            inboxes: std::iter::repeat_with(Inbox::new).take(topology.shared_links).collect(),
            to_receiver: std::iter::repeat_with(Ring::new).take(ranks.len()).collect(),
            acks_cross_links,
            acks: std::iter::repeat_with(Acks::default).take(acks).collect(),
            other_sizes: BTreeMap::new(),
            late_losses: LateLosses::default(),
            copies: BTreeMap::new(),
            timing: T::new(scenario, &topology),
            topology,
            ranks,
            arrivals: Arrivals::default(),
            outcome: Outcome::default(),
            sendings: Vec::new(),
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

    /// No packet will arrive at a shared link: the room for those of a span goes.
    pub fn forget_arrivals(&mut self) {
        (self.arrivals, self.outcome) = (Arrivals::default(), Outcome::default());
    }

    /// Packets between the ends, except those in the queues of managed links.
    pub fn count_packets(&self) -> usize {
        let to_links: usize = self.inboxes.iter().map(Inbox::len).sum();
        let to_receivers: usize = self.to_receiver.iter().map(Ring::len).sum();
        let to_senders: usize = self.acks.iter().map(Acks::len).sum();
        to_links + to_receivers + to_senders
    }

    /// Returns true if the run must stop.
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
        for (id, hop) in (0..).zip(hops).filter(|(_, hop)| !hop.leads_to_link()) {
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
        prefetch_at(&self.to_receiver, flow as usize);
        prefetch_at(&self.topology.hops, first as usize);
    }

    /// Prefetches the ends of the flow's path, after [`Network::prefetch_path`].
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
        let sub_ns = self.timing.now();
        self.enter_all(hop, [(Sending { now, sub_ns }, segment)].into_iter());
    }

    /// A flow sends packets in the order of time; `hop` is its first.
    #[inline(always)]
    fn enter_all(&mut self, hop: u32, packets: impl Iterator<Item = (Sending<T::SubNanosecond>, Segment)>) {
        let &Hop { through_inbox, place, .. } = &self.topology.hops[hop as usize];
        if through_inbox {
            let inbox = &mut self.inboxes[place as usize];
            let mut packets = packets.peekable();
            packets.peek().iter().for_each(|(first, _)| inbox.announce(first.now));
            for (Sending { now, sub_ns }, segment) in packets {
                inbox.push_announced(InTransit { at: now, sub_ns, segment, busy_since: 0, hop });
            }
        } else {
            for (Sending { now, sub_ns }, segment) in packets {
                self.timing.set_now(sub_ns);
                self.cross_own(place, hop, now, segment);
            }
        }
    }

    /// The segments from `first` on, all of its size, enter as [`Network::sendings`] say; `hop` is the first of their flow.
    #[inline(never)]
    pub fn enter_train(&mut self, hop: u32, mut first: Tag) {
        let Network { own_links, topology, inboxes, timing, sendings, late_losses, .. } = self;
        let to = &mut topology.hops[hop as usize];
        // The link must be the flow's own, with another behind it, and mark nothing.
        if to.through_inbox || !to.leads_to_link() || to.codepoint.is_ect() || first.bytes() != to.bytes {
            return self.enter_one_by_one(hop, first);
        }
        let (link, inbox) = (&mut own_links[to.place as usize].state, &mut inboxes[to.next as usize]);
        let like = Crossing { now_ns: 0, hop, bytes: to.bytes, tx_ticks: to.tx_ticks };
        let (mut passed, mut lost) = (0, 0);
        timing.cross_all(link, like, to.onward_ns, sendings, |sent_ns, crossed, busy_since| {
            let segment = Segment { tag: first, sent_ns };
            first = first.following();
            let (at, sub_ns) = match crossed {
                Ok(crossed) => crossed,
                Err(lost_ns) => {
                    lost += 1;
                    late_losses.note(sent_ns, lost_ns, hop);
                    return;
                }
            };
            if passed == 0 {
                inbox.announce(at);
            }
            passed += 1;
            inbox.push_announced(InTransit { at, sub_ns, segment, busy_since, hop: hop + 1 });
        });
        to.passed += passed;
        to.lost += lost;
    }

    fn enter_one_by_one(&mut self, hop: u32, mut first: Tag) {
        let sendings = std::mem::take(&mut self.sendings);
        let next = |&sending: &Sending<_>| {
            let segment = Segment { tag: first, sent_ns: sending.now };
            first = first.following();
            (sending, segment)
        };
        self.enter_all(hop, sendings.iter().map(next));
        self.sendings = sendings;
    }

    /// The receiver of `flow` sends the ACK that `make` returns at `now`. `options_bytes` are its SACK option; `hop` is the first
    /// on its way back.
    #[inline(always)]
    pub fn enter_ack(
        &mut self,
        hop: u32,
        now: u64,
        flow: u32,
        options_bytes: u32,
        make: impl FnOnce(&mut Acks) -> Segment,
    ) {
        let ack = make(&mut self.acks[flow as usize]);
        let tag = ack.tag.sized(self.topology.hops[hop as usize].bytes + options_bytes);
        self.enter(hop, now, Segment { tag, ..ack });
    }

    /// `segment` arrives at the link at `place` among the connections' own, that of `hop`, at `now`.
    #[inline(always)]
    fn cross_own(&mut self, place: u32, hop: u32, now: u64, segment: Segment) {
        let Network { own_links, topology, timing, inboxes, to_receiver, acks, agenda, .. } = self;
        let (link, to) = (&mut own_links[place as usize], &mut topology.hops[hop as usize]);
        let onward = Onward { inboxes, to_receiver, acks, agenda };
        match cross_as_most(link, hop, now, &segment, to, timing, onward) {
            Crossed::Passed => (),
            Crossed::Lost(lost_ns) => self.lose_later(hop, segment, now, lost_ns),
            Crossed::IsOther => {
                let mut own_links = std::mem::take(&mut self.own_links);
                self.cross_other(&mut own_links[place as usize], hop, now, segment);
                self.own_links = own_links;
            }
        }
    }

    /// `packet` arrives at the shared `link`, and what becomes of it is known.
    #[inline(always)]
    pub fn cross(&mut self, link: &mut Link<T::Link>, packet: &InTransit<T::SubNanosecond>) {
        let InTransit { at, segment, hop, .. } = packet;
        self.timing.set_now(packet.sub_ns);
        let Network { topology, timing, inboxes, to_receiver, acks, agenda, .. } = self;
        let to = &mut topology.hops[*hop as usize];
        let onward = Onward { inboxes, to_receiver, acks, agenda };
        match cross_as_most(link, *hop, *at, segment, to, timing, onward) {
            Crossed::Passed => (),
            Crossed::Lost(lost_ns) => self.lose_later(*hop, *segment, *at, lost_ns),
            Crossed::IsOther => self.cross_other(link, *hop, *at, *segment),
        }
    }

    /// A segment of another size than most arrives at a link.
    #[cold]
    #[inline(never)]
    fn cross_other(&mut self, link: &mut Link<T::Link>, hop: u32, now: u64, segment: Segment) {
        let bytes = segment.tag.bytes();
        let (tx_ticks, onward_ns) = self.topology.times(hop, bytes);
        let codepoint = self.topology.hops[hop as usize].codepoint;
        let crossing = Crossing { now_ns: now, hop, bytes, tx_ticks };
        match link.pass(&mut self.timing, crossing, &segment, || (onward_ns, codepoint)) {
            Ok(packet) => {
                self.go_on(hop, packet);
                self.note_other_size(hop, segment);
            }
            Err(lost_ns) => self.lose_later(hop, segment, now, lost_ns),
        }
    }

    /// `segment`, which has arrived at `hop` at `now`, is dropped or lost there, which counts from `lost_ns` on.
    #[cold]
    pub fn lose_later(&mut self, hop: u32, segment: Segment, now: u64, lost_ns: u64) {
        self.late_losses.note(now, lost_ns, hop);
        self.lose(hop, segment);
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
    pub fn note_other_size(&mut self, hop: u32, segment: Segment) {
        *self.other_sizes.entry((hop, segment.tag.bytes())).or_default() += 1;
    }

    /// Orders packets that arrive at a link at the same instant; the least is first. Packets that flows send at that instant
    /// precede the others. Of these the first is the one whose last link began latest to send without a pause, then the one of
    /// the lower flow, then of the earlier transfer. A simulator that runs simultaneous events in the order in which they were
    /// scheduled has the same order, and no flow wins every time.
    pub fn rank(&self, packet: &InTransit<T::SubNanosecond>) -> impl Ord + use<T> {
        let hop = &self.topology.hops[packet.hop as usize];
        let rank = (!hop.through_inbox).then(|| T::rank(packet.sub_ns, packet.busy_since));
        (rank, self.ranks[hop.flow as usize])
    }

    /// Takes out what arrives at the shared link at `place` in `span`, and perhaps some that arrive later.
    #[inline(always)]
    pub fn take_soon(&mut self, place: usize, span: Span) {
        self.arrivals.packets = self.inboxes[place].take_soon(span.until);
    }

    /// Sorts what [`Network::take_soon`] took out. [`Network::put_back`] follows.
    #[inline(always)]
    pub fn sort_arrivals(&mut self, span: Span) {
        if self.arrivals.set_order(span, |_| {}) {
            self.sort_ties();
        }
    }

    /// Sorts the packets that arrive at the same instant.
    fn sort_ties(&mut self) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.sort_ties(|packet| self.rank(packet));
        self.arrivals = arrivals;
    }

    /// As [`Network::sort_arrivals`], at a link that decides on all before anything is done: what it decides by. `marks`: that may
    /// be whether it may mark a packet. `by_packet`: there is one shard, whose packets go on flow by flow.
    pub fn take_facts(&mut self, place: usize, span: Span, marks: bool, by_packet: bool) {
        self.take_soon(place, span);
        let (mut facts, mut stretches) =
            (std::mem::take(&mut self.arrivals.facts), std::mem::take(&mut self.arrivals.stretches));
        facts.clear();
        stretches.clear();
        let may_tie = self.arrivals.set_order(span, |packet| {
            let is_ect = marks && self.topology.hops[packet.hop as usize].codepoint.is_ect();
            facts.push(Facts::new(packet.segment.tag.bytes(), is_ect));
            match stretches.last_mut() {
                Some((hop, pkts)) if *hop == packet.hop => *pkts += 1,
                _ => stretches.push((packet.hop, 1)),
            }
        });
        self.arrivals.stretches = stretches;
        if by_packet && may_tie {
            self.sort_ties();
        }
        let Arrivals { order, facts_in_order, .. } = &mut self.arrivals;
        facts_in_order.clear();
        if !by_packet {
            facts_in_order.extend(order.iter().map(|&order| facts[entry(order).1]));
        }
        self.arrivals.facts = facts;
        let Outcome { fates, fates_by_packet, busy_since_ns, .. } = &mut self.outcome;
        fates_by_packet.resize(self.arrivals.packets.len(), Fate::LOST);
        if !by_packet {
            fates.resize(self.arrivals.len(), Fate::LOST);
            busy_since_ns.resize(self.arrivals.len(), 0);
        }
    }

    /// Takes out the packets that arrive at a managed link in `span`, in order. [`Network::put_back`] follows.
    pub fn take_arriving(&mut self, place: usize, span: Span) {
        self.take_soon(place, span);
        self.arrivals.set_order(span, |_| {});
        let mut arriving = std::mem::take(&mut self.arrivals.arriving);
        arriving.clear();
        for (next, &order) in self.arrivals.order.iter().enumerate() {
            let packet = |order: u64| self.arrivals.packet(order);
            if let Some(&ahead) = self.arrivals.order.get(next + 2 * STEP) {
                self.arrivals.prefetch(ahead);
            }
            if let Some(&ahead) = self.arrivals.order.get(next + STEP) {
                prefetch_at(&self.topology.hops, packet(ahead).hop as usize);
            }
            arriving.push(self.arriving(packet(order)));
        }
        self.arrivals.arriving = arriving;
    }

    /// `packet` as it arrives at a managed link. Its label is its hop.
    #[inline(always)]
    pub fn arriving(&self, packet: &InTransit<T::SubNanosecond>) -> Arriving {
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

    #[inline(always)]
    pub fn has_many_flows(&self) -> bool {
        self.agenda.len() > FEW_FLOWS
    }

    /// Returns true if it is a gain to go through the packets of a span flow by flow.
    #[inline(always)]
    pub fn outgrows_caches(&self) -> bool {
        self.agenda.len() > FLOWS_IN_CACHE
    }

    /// Prefetches memory for the packets that pass next. `hop` is the hop of the one [`HOPS_AHEAD`] places ahead, if there is one.
    #[inline(always)]
    pub fn prefetch(&self, ahead: &mut Ahead, hop: Option<u32>) {
        let Slot { hop: hop_before, flow: flow_before } = ahead.slots[ahead.next];
        self.to_receiver[flow_before as usize].prefetch_back();
        let flow = self.topology.hops[hop_before as usize].flow;
        prefetch_at(&self.to_receiver, flow as usize);
        self.agenda.prefetch(flow);
        let hop = hop.unwrap_or(hop_before);
        prefetch_at(&self.topology.hops, hop as usize);
        ahead.slots[ahead.next] = Slot { hop, flow };
        ahead.next = (ahead.next + 1) % STEP;
    }

    /// `packet` has crossed the link of hop `from`.
    #[inline(always)]
    pub fn go_on(&mut self, from: u32, packet: InTransit<T::SubNanosecond>) {
        let Network { topology, inboxes, to_receiver, acks, agenda, .. } = self;
        let from = &mut topology.hops[from as usize];
        Onward { inboxes, to_receiver, acks, agenda }.take(from, packet);
    }
}
