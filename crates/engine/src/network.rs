//! Where the packets are between the two ends of the flows, and what each link does with them.

use crate::acks::Acks;
use crate::agenda::Agenda;
use crate::control::Control;
use crate::inbox::{InTransit, Inbox};
use crate::memory::ring::{Ring, prefetch, prefetch_all};
use crate::path::link::PathLink;
use crate::path::managed::{Departure, ManagedLink};
use crate::path::queue::discipline::Disciplines;
use crate::path::timing::{Crossing, Timing};
use crate::tcp::packet::{CONGESTION, Segment, Tag};
use crate::time::NEVER;
use crate::topology::{Hop, Topology};
use cwnd_scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// Between two looks at whether the run goes on, at most this many packets are sent by one flow, or arrive at one link.
pub const PACKETS_PER_LOOK: usize = 1 << 16;
/// Packets under way at one time; they take less than 2 GB.
pub const PACKETS_MAX: usize = 20_000_000;

/// The state of this many flows stays in a cache by itself; that of more is asked for some packets ahead.
const FEW_FLOWS: usize = 64;
const PACKETS_AHEAD: usize = 8;

pub struct Network<'a, T: Timing> {
    control: &'a Control,
    /// More packets are under way than may be.
    pub crowded: bool,
    pub agenda: Agenda,
    pub topology: Topology<'a, T::Tick>,
    pub links: Vec<T::Link>,
    /// Links whose queue a discipline manages.
    pub managed: BTreeMap<u32, ManagedLink<T::Exact, T::Tick>>,
    /// By link: packets on their way to it.
    pub inboxes: Vec<Inbox<T::Exact>>,
    /// The links that packets reach through an inbox. A flow's own first link needs none.
    pub served: Vec<u32>,
    /// By flow: packets on their way to its receiver, in order, until an ACK that each causes is at the sender.
    pub to_receiver: Vec<Ring<Arrival<T::Exact>>>,
    /// By link: packets that it marked, and sent.
    pub marked: Vec<u64>,
    /// By flow, of flows whose ACKs cross links; empty if there is none.
    pub acks: Vec<Acks>,
    /// How many packets of another size than the hop's passed it, by hop and size.
    pub other_sizes: BTreeMap<(u32, u32), u64>,
    /// By connection: how often a wire delivered a packet once more, if it did.
    pub copies: BTreeMap<u32, u64>,
    pub timing: T,
    /// By connection: its flow in the scenario, and the number of the transfer that it has.
    pub ranks: Vec<(u32, u64)>,
    /// What arrives at a link in a span: when, counted from the span's beginning, and its place in the inbox. Empty between
    /// links.
    order: Vec<u64>,
}

/// A packet that arrives at its receiver.
#[derive(Clone, Copy, Default)]
pub struct Arrival<E> {
    pub at: u64,
    pub exact: E,
    pub segment: Segment,
}

impl<'a, T: Timing> Network<'a, T> {
    pub fn new(
        scenario: &'a Scenario,
        disciplines: Disciplines,
        seed: u64,
        control: &'a Control,
    ) -> Network<'a, T> {
        let managed = (0..)
            .zip(&scenario.links)
            .filter_map(|(id, link)| Some((id, ManagedLink::new(disciplines(link, seed)?, link, seed))));
        let managed: BTreeMap<_, _> = managed.collect();
        let topology = Topology::new(scenario, |link| managed.contains_key(&link));
        let back = scenario.flows.iter().any(|flow| !flow.reverse_path.is_empty());
        let acks = if back { scenario.flows.len() } else { 0 };
        let timing = T::new(scenario, &topology);
        Network {
            control,
            crowded: false,
            agenda: Agenda::new(vec![NEVER; scenario.flows.len()]),
            served: topology.links_with_inbox(),
            topology,
            links: scenario.links.iter().map(|link| T::new_link(link, seed)).collect(),
            managed,
            inboxes: scenario.links.iter().map(|_| Inbox::new()).collect(),
            to_receiver: scenario.flows.iter().map(|_| Ring::new()).collect(),
            marked: vec![0; scenario.links.len()],
            acks: std::iter::repeat_with(Acks::default).take(acks).collect(),
            other_sizes: BTreeMap::new(),
            copies: BTreeMap::new(),
            timing,
            ranks: (0..scenario.flows.len() as u32).map(|flow| (flow, 0)).collect(),
            order: Vec::new(),
        }
    }

    /// One more connection of `flow`; returns its index.
    pub fn add_connection(&mut self, flow: u32) -> u32 {
        let id = self.agenda.len() as u32;
        self.agenda.push();
        self.to_receiver.push(Ring::new());
        if !self.acks.is_empty() {
            self.acks.push(Acks::default());
        }
        self.ranks.push((flow, 0));
        self.topology.add_route(id, flow);
        id
    }

    /// Packets that `link` has dropped or lost.
    pub fn lost_pkts(&self, link: u32) -> u64 {
        let managed = self.managed.get(&link).map(ManagedLink::lost_pkts);
        managed.unwrap_or_else(|| self.links[link as usize].lost_pkts())
    }

    /// What links show of the most packets held and of waits is that from `now` on.
    pub fn begin_measuring(&mut self, now: u64) {
        self.links.iter_mut().for_each(|link| link.begin_measuring(now));
        self.managed.values_mut().for_each(|link| link.begin_measuring(now));
    }

    pub fn count_packets(&mut self) {
        let to_links: usize = self.inboxes.iter().map(Inbox::len).sum();
        let to_receivers: usize = self.to_receiver.iter().map(Ring::len).sum();
        let to_senders: usize = self.acks.iter().map(Acks::len).sum();
        let waiting: usize = self.managed.values().map(ManagedLink::waiting_pkts).sum();
        self.crowded = to_links + to_receivers + to_senders + waiting > PACKETS_MAX;
    }

    /// Whether the run must stop.
    #[cold]
    pub fn must_end(&mut self) -> bool {
        self.count_packets();
        self.crowded || self.control.stop.load(Relaxed)
    }

    /// When the next thing happens.
    pub fn next_event_ns(&self) -> u64 {
        let arrivals = self.served.iter().map(|&link| self.inboxes[link as usize].earliest);
        let arrivals = arrivals.min().unwrap_or(NEVER);
        let departures = self.managed.values().map(ManagedLink::next_departure_ns).min().unwrap_or(NEVER);
        arrivals.min(departures).min(self.agenda.earliest_ns())
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
        for (id, hop) in (0..).zip(hops).filter(|(_, hop)| hop.next.is_none()) {
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
        prefetch_all(&self.links[self.topology.hops[first as usize].link as usize]);
    }

    /// A flow sends `segment` at `now`; `hop` is its first.
    #[inline(always)]
    pub fn enter(&mut self, hop: u32, now: u64, segment: Segment) {
        let first = &self.topology.hops[hop as usize];
        if first.through_inbox {
            let exact = self.timing.now();
            self.inboxes[first.link as usize].push(InTransit { at: now, exact, segment, busy_since: 0, hop });
        } else {
            self.cross(hop, now, segment);
        }
    }

    /// The receiver of `flow` sends an ACK at `now`, which `make` gives; `hop` is the first on its way back.
    #[inline(always)]
    pub fn enter_ack(&mut self, hop: u32, now: u64, flow: u32, make: impl FnOnce(&mut Acks) -> Segment) {
        let ack = make(&mut self.acks[flow as usize]);
        let tag = ack.tag.sized(self.topology.hops[hop as usize].bytes);
        self.enter(hop, now, Segment { tag, ..ack });
    }

    /// `segment` was dropped or lost at `hop`.
    #[cold]
    fn lose(&mut self, hop: u32, segment: Segment) {
        let hop = &mut self.topology.hops[hop as usize];
        hop.lost += 1;
        if hop.back {
            self.acks[hop.flow as usize].lose(segment);
        }
    }

    /// What arrives at `link` before `until`, from `from` on, crosses it; returns how many packets.
    #[inline(always)]
    pub fn serve(&mut self, link: usize, from: u64, until: u64) -> usize {
        if !self.managed.is_empty() && self.managed.contains_key(&(link as u32)) {
            self.serve_managed(link, from, until)
        } else if self.inboxes[link].earliest < until {
            self.serve_closed_form(link, from, until)
        } else {
            0
        }
    }

    /// Serves a link where a packet's departure is known when it arrives.
    fn serve_closed_form(&mut self, link: usize, from: u64, until: u64) -> usize {
        if let Some(line) = self.inboxes[link].take_line() {
            return self.serve_line(link, line, until);
        }
        let mut order = std::mem::take(&mut self.order);
        let (packets, earliest) = self.take_soon(link, from, until, &mut order);
        for part in order.chunks(PACKETS_PER_LOOK).take_while(|_| !self.control.stop.load(Relaxed)) {
            for (next, &place) in part.iter().enumerate() {
                if self.agenda.len() > FEW_FLOWS {
                    self.prefetch(|ahead| {
                        part.get(next + ahead).map(|&place| &packets[place as u32 as usize])
                    });
                }
                let packet = packets[place as u32 as usize];
                self.timing.set_now(packet.exact);
                self.cross(packet.hop, packet.at, packet.segment);
            }
        }
        let arrived = order.len();
        order.clear();
        self.order = order;
        self.inboxes[link].put_back(packets, until, until - from, earliest);
        arrived
    }

    /// Serves a link whose packets stand in a `line`.
    #[inline(always)]
    fn serve_line(&mut self, link: usize, mut line: Ring<InTransit<T::Exact>>, until: u64) -> usize {
        let mut arrived = 0;
        'parts: for part in line.parts().take_while(|_| !self.control.stop.load(Relaxed)) {
            for (next, packet) in part.iter().enumerate() {
                if packet.at >= until {
                    break 'parts;
                }
                if self.agenda.len() > FEW_FLOWS {
                    self.prefetch(|ahead| part.get(next + ahead));
                }
                self.timing.set_now(packet.exact);
                self.cross(packet.hop, packet.at, packet.segment);
                arrived += 1;
            }
        }
        line.skip(arrived);
        self.inboxes[link].put_back_line(line);
        arrived
    }

    /// Takes out what arrives at `link` before `until`, and fills `order`, sorted. The packets that arrive later, the first when
    /// the answer says, go back into the inbox afterwards.
    #[inline(always)]
    fn take_soon(
        &mut self,
        link: usize,
        from: u64,
        until: u64,
        order: &mut Vec<u64>,
    ) -> (Vec<InTransit<T::Exact>>, u64) {
        let packets = self.inboxes[link].take_soon(until, until - from);
        let mut earliest = NEVER;
        let (mut instant_end, mut in_order) = (0, true);
        for (place, packet) in packets.iter().enumerate() {
            if packet.at < until {
                let at_and_place = packet.at.saturating_sub(from) << 32 | place as u64;
                in_order &= at_and_place > instant_end;
                instant_end = at_and_place | u64::from(u32::MAX);
                order.push(at_and_place);
            } else {
                earliest = earliest.min(packet.at);
            }
        }
        if !in_order {
            order.sort();
            let mut rest = order.as_mut_slice();
            while let Some(first) = rest.windows(2).position(|pair| pair[0] >> 32 == pair[1] >> 32) {
                let instant = rest[first] >> 32;
                let tied = rest[first..].partition_point(|at_and_place| at_and_place >> 32 == instant);
                let (tied, later) = rest[first..].split_at_mut(tied);
                self.sort_tied(tied, &packets);
                rest = later;
            }
        }
        (packets, earliest)
    }

    /// Asks for what the packets need that come next; `packet` is the one so many places ahead.
    #[inline(always)]
    fn prefetch<'b>(&self, packet: impl Fn(usize) -> Option<&'b InTransit<T::Exact>>)
    where
        T::Exact: 'b,
    {
        let hop = |packet: &InTransit<T::Exact>| &self.topology.hops[packet.hop as usize];
        if let Some(packet) = packet(4 * PACKETS_AHEAD) {
            prefetch(packet);
        }
        if let Some(packet) = packet(3 * PACKETS_AHEAD) {
            prefetch(hop(packet));
        }
        if let Some(packet) = packet(2 * PACKETS_AHEAD) {
            prefetch(&raw const self.to_receiver[hop(packet).flow as usize]);
        }
        if let Some(packet) = packet(PACKETS_AHEAD) {
            self.to_receiver[hop(packet).flow as usize].prefetch_back();
        }
    }

    /// Packets that arrive at the same instant: first those that flows send just then, then the one whose last link began
    /// sending without a pause latest, then the lower flow and the earlier of its transfers. In a simulator that runs simultaneous events in the order in
    /// which they were scheduled this is the order, too; and no flow wins every time. Those of a hop stay in their order: a
    /// link with jitter may deliver several at once.
    #[cold]
    fn sort_tied(&self, places: &mut [u64], packets: &[InTransit<T::Exact>]) {
        places.sort_by_key(|&place| {
            let packet = &packets[place as u32 as usize];
            let hop = &self.topology.hops[packet.hop as usize];
            let rank = (!hop.through_inbox).then(|| T::rank(packet.exact, packet.busy_since));
            (rank, self.ranks[hop.flow as usize])
        });
        let hop = |place: u64| packets[place as u32 as usize].hop;
        let mut by_hop = places.to_vec();
        by_hop.sort_unstable_by_key(|&place| (hop(place), place));
        let mut taken = vec![0; by_hop.len()];
        for place in places {
            let first = by_hop.partition_point(|&other| hop(other) < hop(*place));
            *place = by_hop[first + taken[first]];
            taken[first] += 1;
        }
    }

    /// `segment` arrives at the link of hop `hop` at `now`, and what becomes of it is known.
    #[inline(always)]
    fn cross(&mut self, hop: u32, now: u64, segment: Segment) {
        let to = &self.topology.hops[hop as usize];
        if segment.tag.bytes() == to.bytes {
            self.cross_in(hop, now, segment, (to.tx_ticks, to.onward_ns));
        } else {
            self.cross_other(hop, now, segment);
        }
    }

    /// Passes a segment of another size than most through the link of `hop`.
    #[cold]
    #[inline(never)]
    fn cross_other(&mut self, hop: u32, now: u64, segment: Segment) {
        let times = self.topology.times(hop, segment.tag.bytes());
        if self.cross_in(hop, now, segment, times) {
            self.note_other_size(hop, segment);
        }
    }

    /// A segment of another size than most has passed `hop`.
    fn note_other_size(&mut self, hop: u32, segment: Segment) {
        *self.other_sizes.entry((hop, segment.tag.bytes())).or_default() += 1;
    }

    /// Passes `segment` through the link of `hop`, which is busy with it for `tx_ticks`; it is `onward_ns` from its departure
    /// to the next hop or the receiver. False: dropped or lost.
    #[inline(always)]
    fn cross_in(
        &mut self,
        hop: u32,
        now: u64,
        mut segment: Segment,
        (tx_ticks, onward_ns): (u64, u64),
    ) -> bool {
        let to = &mut self.topology.hops[hop as usize];
        let link = &mut self.links[to.link as usize];
        let crossing = Crossing { now_ns: now, hop, bytes: segment.tag.bytes(), tx_ticks, onward_ns };
        let Some((at, exact)) = self.timing.cross(link, crossing) else {
            self.lose(hop, segment);
            return false;
        };
        if to.codepoint.is_ect() && link.marks(now) {
            count_mark(&mut self.marked, to.link);
            segment.tag = segment.tag.with(CONGESTION);
        }
        let busy_since = link.busy_since_ns();
        to.passed += 1;
        if let Some(next) = to.next {
            let packet = InTransit { at, exact, segment, busy_since, hop: hop + 1 };
            self.inboxes[next as usize].push(packet);
        } else if to.back {
            let flow = to.flow;
            self.arrive_at_sender(flow, at, segment);
        } else {
            let packets = &mut self.to_receiver[to.flow as usize];
            packets.push_back(Arrival { at, exact, segment });
            if packets.len() == 1 {
                self.agenda.hasten(to.flow, at + to.after_ns);
            }
        }
        true
    }

    /// `packet` has crossed the link of hop `from`.
    #[inline(always)]
    fn go_on(&mut self, from: u32, packet: InTransit<T::Exact>) {
        let hop = &mut self.topology.hops[from as usize];
        hop.passed += 1;
        match hop.next {
            Some(next) => self.inboxes[next as usize].push(packet),
            None => self.arrive(from, packet),
        }
    }

    /// `packet` is on its way from hop `from`, the last, to the receiver or the sender.
    #[inline(always)]
    fn arrive(&mut self, from: u32, InTransit { at, exact, segment, .. }: InTransit<T::Exact>) {
        let from = &self.topology.hops[from as usize];
        if from.back {
            let flow = from.flow;
            return self.arrive_at_sender(flow, at, segment);
        }
        let packets = &mut self.to_receiver[from.flow as usize];
        packets.push_back(Arrival { at, exact, segment });
        if packets.len() == 1 {
            self.agenda.hasten(from.flow, at + from.after_ns);
        }
    }

    #[inline(never)]
    fn arrive_at_sender(&mut self, flow: u32, at: u64, ack: Segment) {
        self.acks[flow as usize].arrive(at, ack);
        self.agenda.hasten(flow, at);
    }

    /// Serves a link whose queue a discipline manages: arrivals and departures in the order of time.
    fn serve_managed(&mut self, link: usize, from: u64, until: u64) -> usize {
        let mut managed = self.managed.remove(&(link as u32)).expect("it was there");
        let mut order = std::mem::take(&mut self.order);
        let (packets, earliest) = self.take_soon(link, from, until, &mut order);
        let mut arrivals = order.iter().map(|&place| &packets[place as u32 as usize]).peekable();
        let mut events = 0;
        while events % PACKETS_PER_LOOK != 0 || !self.control.stop.load(Relaxed) {
            events += 1;
            if let Some(packet) = arrivals.next_if(|packet| managed.precedes_departure(packet.at)) {
                let to = &self.topology.hops[packet.hop as usize];
                managed.accept(packet, to.flow, to.codepoint);
            } else if managed.next_departure_ns() < until {
                let departure = managed.depart(|hop, bytes| self.topology.times(hop, bytes));
                if let Some(departure) = departure {
                    self.leave(departure, managed.reorders());
                }
            } else {
                break;
            }
            if managed.has_dropped() {
                managed.take_dropped().for_each(|(hop, segment)| self.lose(hop, segment));
            }
        }
        let arrived = order.len();
        order.clear();
        self.order = order;
        self.inboxes[link].put_back(packets, until, until - from, earliest);
        self.managed.insert(link as u32, managed);
        arrived
    }

    /// A managed link starts to send a packet.
    #[inline(always)]
    fn leave(&mut self, departure: Departure, reorders: bool) {
        let Departure { hop, mut segment, marked, busy_since_ns, passage } = departure;
        if passage.copies == 0 {
            return self.lose(hop, segment);
        }
        let to = &self.topology.hops[hop as usize];
        if marked {
            count_mark(&mut self.marked, to.link);
            segment.tag = segment.tag.with(CONGESTION);
        }
        let (bytes, at) = (segment.tag.bytes(), passage.at_ns);
        let onward =
            InTransit { at, exact: T::from_ns(at), segment, busy_since: busy_since_ns, hop: hop + 1 };
        if passage.copies == 1 && bytes == to.bytes && !reorders {
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
        if from.next.is_some() || from.back {
            return;
        }
        let packets = &mut self.to_receiver[from.flow as usize];
        let Some(&mut Arrival { at, .. }) = packets.back_mut() else { return };
        if packets.settle_back(|before| before.at > at) == 0 {
            self.agenda.hasten(from.flow, at + from.after_ns);
        }
    }
}

#[cold]
fn count_mark(marked: &mut [u64], link: u32) {
    marked[link as usize] += 1;
}
