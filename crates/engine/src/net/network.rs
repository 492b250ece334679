//! The events of a run: what happens at the ends of connections and at links, one after the other.

use crate::control::{Control, Unfinished};
use crate::instances::registered;
use crate::net::connection::Connection;
use crate::net::datagrams::Datagrams;
use crate::net::endpoints::{Endpoints, Packet, Side};
use crate::net::events::{AtLink, Event, Events, Order, Rank, sort_tied};
use crate::net::group::Group;
use crate::net::lifetime::start_jitter_ns;
use crate::net::link::Link;
use crate::net::link::managed::{Arriving, Departure};
use crate::net::link::queue::discipline::{Codepoint, codepoint};
use crate::net::measure::observe::LinkSampler;
use crate::net::measure::rows::LinkCounts;
use crate::net::measure::samples::FlowSampler;
use crate::net::parts::Parts;
use crate::net::tap::Tapped;
use crate::net::tcp::{Path, Tcp};
use crate::tcp::packet::{Segment, Tag};
use crate::tcp::source::{Sizes, Source};
use crate::tcp::ticks::Ticks;
use crate::time::{NEVER, Tick};
use cwnd_algorithms::CongestionControl;
use cwnd_results::GroupSamples;
use cwnd_scenario::{Flow, Scenario};
use std::cmp::Reverse;
use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;

/// Between two looks at whether the run goes on.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// A packet on its way, and how far it is.
#[derive(Clone)]
struct Transit {
    connection: u32,
    packet: Packet,
    /// Links of its route that it has crossed.
    crossed: usize,
    /// Since when the link that it crossed last had been sending without a pause.
    busy_since_ns: u64,
    /// Behind all links, where it takes its constant delay.
    is_past_links: bool,
}

pub struct Network<'a, T> {
    pub(super) scenario: &'a Scenario,
    pub(super) seed: u64,
    /// Those of the senders' host, in which RACK's timers count.
    ticks: Ticks,
    parts: Parts<'a>,
    control: &'a Control,
    /// Simulated time that [`Control`] knows of.
    reported_ns: u64,
    /// That have happened.
    event_count: u64,
    pub(super) events: Events,
    pub(super) links: Vec<Link<'a, T>>,
    /// By number; those of `vacant` are not under way.
    transits: Vec<Option<Transit>>,
    vacant: Vec<u32>,
    /// Those of the scenario's flows, then further ones of flows with arrivals. One that is over is used again for a later transfer
    /// of its flow.
    pub(super) connections: Vec<Connection<'a>>,
    pub(super) groups: Vec<Group<'a>>,
    /// Packets that an end sends, until they are on their way.
    out: Vec<Packet>,
    /// Packets that arrive at one link at one instant.
    tied: Vec<u32>,
    pub(super) links_before: Option<Vec<LinkCounts>>,
    pub(super) flow_sampler: FlowSampler,
    pub(super) link_sampler: LinkSampler,
    pub(super) group_samples: GroupSamples,
}

impl<'a, T: Tick> Network<'a, T> {
    pub fn new(
        scenario: &'a Scenario,
        finer: &[bool],
        seed: u64,
        parts: Parts<'a>,
        control: &'a Control,
    ) -> Network<'a, T> {
        let new_link = |(id, &is_finer): (u32, &bool)| {
            let discipline = (parts.disciplines)(scenario, id, seed);
            Link::new(scenario, id, discipline, is_finer, seed)
        };
        let links = (0..).zip(finer).map(new_link);
        let mut network = Network {
            scenario,
            seed,
            ticks: Ticks::new(scenario, seed),
            parts,
            control,
            reported_ns: 0,
            event_count: 0,
            events: Events::default(),
            links: links.collect(),
            transits: Vec::new(),
            vacant: Vec::new(),
            connections: Vec::new(),
            groups: Vec::new(),
            out: Vec::new(),
            tied: Vec::new(),
            links_before: None,
            flow_sampler: FlowSampler::new(scenario, 0..scenario.flows.len() as u32),
            link_sampler: LinkSampler::new(scenario),
            group_samples: GroupSamples::default(),
        };
        for (id, flow) in (0..).zip(&scenario.flows) {
            let start_ns = flow.start_ns + start_jitter_ns(flow, id, seed);
            let ends: Box<dyn Endpoints> = if let Some(ends) = (parts.transports)(id, start_ns) {
                ends
            } else if flow.cca.is_udp() {
                Box::new(Datagrams::new(flow, start_ns))
            } else if let Some(group) = Group::new(id, flow, start_ns, seed) {
                network.groups.push(group);
                Box::new(network.unused(id))
            } else {
                let sizes = Sizes::new(flow, id, seed);
                let source = Source::new(flow, id, sizes, start_ns, scenario.rtt_ns(id as usize), seed);
                Box::new(network.tcp(id, start_ns, source, id))
            };
            let ends = network.tapped(id, ends);
            network.connections.push(Connection::new(ends, id, 0));
            network.schedule_timer(id);
        }
        for place in 0..network.groups.len() {
            network.schedule_transfer(place);
        }
        if scenario.warmup_ns > 0 {
            network.events.schedule(T::count(scenario.warmup_ns), Order::Warmup, 0);
        }
        network.schedule_sample();
        network
    }

    /// A connection of `flow`, called `name` in the names of its random streams.
    fn tcp(&self, flow: u32, start_ns: u64, source: Option<Source<'a>>, name: impl Display) -> Tcp<'a> {
        let (described, id) = (&self.scenario.flows[flow as usize], flow as usize);
        let path = Path::of(self.scenario, id);
        let chance = (self.seed, self.ticks, name);
        Tcp::new(described, self.algorithm(described), start_ns, source, path, chance)
    }

    /// The ends of a connection of `flow`, with a tap where somebody looks.
    fn tapped(&self, flow: u32, ends: Box<dyn Endpoints<'a> + 'a>) -> Box<dyn Endpoints<'a> + 'a> {
        match (self.parts.taps)(flow, ends.start_ns()) {
            Some(tap) => Box::new(Tapped::new(ends, tap)),
            None => ends,
        }
    }

    fn algorithm(&self, flow: &'a Flow) -> Box<dyn CongestionControl> {
        (self.parts.algorithms)(&flow.cca).unwrap_or_else(|| Box::new(registered()(&flow.cca)))
    }

    /// A connection of `flow`, of which no transfer has begun.
    fn unused(&self, flow: u32) -> Tcp<'a> {
        let mut tcp = self.tcp(flow, NEVER, None, flow);
        tcp.close();
        tcp
    }

    /// All that happens up to `until_ns`, included.
    pub(super) fn run_events(&mut self, until_ns: u64) -> Result<(), Unfinished> {
        let end_ticks = T::count(until_ns);
        while let Some(Event { at_ticks, order, subject }) = self.events.next_by(end_ticks) {
            let now_ns = T::ns_after(at_ticks);
            match order {
                Order::Transfer(_) => self.begin_transfer(subject as usize, now_ns),
                Order::Timer => self.on_timer(subject, now_ns),
                Order::Ack | Order::Data => self.reach_end(subject, now_ns),
                Order::Link(link, AtLink::Arrival) => {
                    self.tied.push(subject);
                    self.tied.extend(std::iter::from_fn(|| self.events.next_tied(order)));
                    self.reach_link(link, now_ns);
                }
                Order::Link(link, AtLink::Opportunity | AtLink::Free) => self.depart(link, at_ticks),
                Order::Warmup => self.begin_measuring(now_ns),
                Order::Sample => {
                    self.sample(now_ns);
                    self.schedule_sample();
                }
            }
            self.event_count += 1;
            if self.event_count.is_multiple_of(EVENTS_PER_LOOK) {
                self.check(now_ns)?;
            }
        }
        self.check(until_ns)
    }

    /// Reports the time to those who watch, and why the run cannot go on.
    fn check(&mut self, now_ns: u64) -> Result<(), Unfinished> {
        let since_ns = now_ns - std::mem::replace(&mut self.reported_ns, now_ns);
        self.control.simulated_ns.fetch_add(since_ns, Relaxed);
        if self.control.stop.load(Relaxed) {
            return Err(Unfinished::Stopped);
        }
        if self.transits.len() - self.vacant.len() > self.parts.packets_max {
            return Err(Unfinished::Crowded { packets_max: self.parts.packets_max, at_ns: now_ns });
        }
        Ok(())
    }

    pub(super) fn schedule_timer(&mut self, connection: u32) {
        let owner = &mut self.connections[connection as usize];
        let due_ns = owner.ends.next_due_ns();
        if due_ns < owner.timer_event_ns {
            owner.timer_event_ns = due_ns;
            self.events.schedule(T::count(due_ns), Order::Timer, connection);
        }
    }

    fn on_timer(&mut self, connection: u32, now_ns: u64) {
        let owner = &mut self.connections[connection as usize];
        if owner.timer_event_ns == now_ns {
            owner.timer_event_ns = NEVER;
        }
        // Timers move: that of an event may run out later, or not at all.
        if owner.ends.next_due_ns() <= now_ns {
            owner.ends.on_timer(now_ns, &mut self.out);
            self.after_event_of(connection, now_ns);
        } else {
            self.schedule_timer(connection);
        }
    }

    /// An end of `connection` has acted: what it sends begins its way.
    fn after_event_of(&mut self, connection: u32, now_ns: u64) {
        let mut out = std::mem::take(&mut self.out);
        let flow = &self.scenario.flows[self.connections[connection as usize].flow as usize];
        for packet in out.drain(..) {
            self.connections[connection as usize].acks.sent += u64::from(packet.to() == Side::Sender);
            let transit = Transit { connection, packet, crossed: 0, busy_since_ns: 0, is_past_links: false };
            let number = self.put(transit);
            self.go_on(number, now_ns);
        }
        self.out = out;
        if flow.barrier().is_some() {
            self.pass_barrier(connection, now_ns);
        }
        self.schedule_timer(connection);
        if self.flow_sampler.by_change
            && let Some(sender) = self.connections[connection as usize].ends.sender()
        {
            self.flow_sampler.sample_change(now_ns, connection, sender);
        }
    }

    /// If `connection` was the last of those with the same barrier that others waited for, each of them sends its next request.
    fn pass_barrier(&mut self, connection: u32, now_ns: u64) {
        let is_there = |owner: &Connection| {
            owner.ends.sender().is_none_or(|sender| sender.closed || sender.waits_for_others())
        };
        if !is_there(&self.connections[connection as usize]) {
            return;
        }
        let barrier = self.scenario.flows[connection as usize].barrier();
        let flows = self.scenario.flows.iter();
        let members: Vec<u32> =
            (0..).zip(flows).filter(|(_, flow)| flow.barrier() == barrier).map(|(id, _)| id).collect();
        if members.iter().all(|id| is_there(&self.connections[*id as usize])) {
            for id in members {
                let sender = self.connections[id as usize].ends.sender_mut();
                if let Some(sender) = sender.filter(|sender| sender.waits_for_others()) {
                    sender.pass_barrier(now_ns);
                    self.schedule_timer(id);
                }
            }
        }
    }

    fn flow_of(&self, transit: &Transit) -> &'a Flow {
        &self.scenario.flows[self.connections[transit.connection as usize].flow as usize]
    }

    /// The links that a packet crosses.
    fn route(&self, transit: &Transit) -> &'a [u32] {
        let flow = self.flow_of(transit);
        match transit.packet.to() {
            Side::Receiver => &flow.path,
            Side::Sender => &flow.reverse_path,
        }
    }

    /// A packet is sent at `at_ns`, or is at the far end of a link then: it is at the next link, or at its end.
    fn go_on(&mut self, number: u32, at_ns: u64) {
        let transit = self.transit(number);
        let order = match self.route(transit).get(transit.crossed) {
            Some(&link) => Order::Link(link, AtLink::Arrival),
            None if transit.packet.to() == Side::Sender => Order::Ack,
            None => Order::Data,
        };
        self.events.schedule(T::count(at_ns), order, number);
    }

    fn transit(&self, number: u32) -> &Transit {
        self.transits[number as usize].as_ref().expect("it is under way")
    }

    /// A packet begins its way, and gets a number.
    fn put(&mut self, transit: Transit) -> u32 {
        let number = self.vacant.pop().unwrap_or(self.transits.len() as u32);
        if number as usize == self.transits.len() {
            self.transits.push(None);
        }
        self.connections[transit.connection as usize].under_way_pkts += 1;
        self.transits[number as usize] = Some(transit);
        number
    }

    /// A packet is at the end of its way.
    fn take(&mut self, number: u32) -> Transit {
        let transit = self.transits[number as usize].take().expect("it is under way");
        self.vacant.push(number);
        self.connections[transit.connection as usize].under_way_pkts -= 1;
        transit
    }

    /// A packet that has crossed links is at the far end of the last.
    fn note_delivery(&mut self, number: u32) {
        let transit = self.transit(number);
        if let Some(last) = transit.crossed.checked_sub(1) {
            let link = self.route(transit)[last];
            self.links[link as usize].delivered_pkts += 1;
        }
    }

    /// The constant delay between the last link and the end.
    fn delay_past_links_ns(&self, number: u32) -> u64 {
        let transit = self.transit(number);
        if transit.packet.to() == Side::Sender { self.flow_of(transit).return_delay_ns } else { 0 }
    }

    /// A packet is at its end, or behind the last link of its way.
    fn reach_end(&mut self, number: u32, now_ns: u64) {
        if !self.transit(number).is_past_links {
            self.note_delivery(number);
            let delay_ns = self.delay_past_links_ns(number);
            if delay_ns > 0 {
                self.transits[number as usize].as_mut().expect("it is under way").is_past_links = true;
                return self.events.schedule(T::count(now_ns + delay_ns), Order::Ack, number);
            }
        }
        let Transit { connection, packet, .. } = self.take(number);
        let Connection { ends, acks, .. } = &mut self.connections[connection as usize];
        acks.arrived += u64::from(packet.to() == Side::Sender);
        match packet {
            Packet::Data(segment) => ends.on_data(now_ns, segment, &mut self.out),
            Packet::Ack(ack) => ends.on_ack(now_ns, &ack, &mut self.out),
            Packet::Datagram(datagram) => ends.on_datagram(now_ns, *datagram, &mut self.out),
        }
        self.after_event_of(connection, now_ns);
    }

    /// The packets of `tied` arrive at `link`.
    fn reach_link(&mut self, link: u32, now_ns: u64) {
        let mut tied = std::mem::take(&mut self.tied);
        if tied.len() > 1 {
            let rank = |number: u32| -> Rank {
                let &Transit { connection, crossed, busy_since_ns, .. } = self.transit(number);
                let Connection { flow, transfer, .. } = self.connections[connection as usize];
                ((crossed > 0).then_some(Reverse(busy_since_ns)), flow, transfer)
            };
            let origin = |number: u32| {
                let transit = self.transit(number);
                let before = transit.crossed.checked_sub(1);
                (transit.connection, before.map(|last| self.route(transit)[last]))
            };
            sort_tied(&mut tied, rank, origin);
        }
        for number in tied.drain(..) {
            self.note_delivery(number);
            let arriving = self.arriving(number, now_ns);
            self.links[link as usize].accept(arriving);
            self.after_event_at(link);
        }
        self.tied = tied;
    }

    /// A packet as a link sees it.
    fn arriving(&self, number: u32, now_ns: u64) -> Arriving {
        let transit = self.transit(number);
        let (connection, flow) = (transit.connection, self.flow_of(transit));
        let (segment, codepoint) = match &transit.packet {
            Packet::Data(segment) => (*segment, codepoint(flow)),
            Packet::Ack(ack) => {
                let tag = Tag::new(0, 0).sized(self.connections[connection as usize].ends.ack_bytes(ack));
                (Segment { tag, sent_ns: now_ns }, Codepoint::NotEct)
            }
            Packet::Datagram(datagram) => {
                let tag = Tag::new(0, 0).sized(datagram.bytes);
                (Segment { tag, sent_ns: now_ns }, datagram.codepoint)
            }
        };
        Arriving { now_ns, segment, label: number, flow: connection, codepoint }
    }

    /// A packet may leave `link`, unless its next departure has moved.
    fn depart(&mut self, link: u32, at_ticks: u64) {
        let at = &mut self.links[link as usize];
        if at.link.next_departure_ticks() != at_ticks {
            return;
        }
        at.scheduled_ticks = NEVER;
        if let Some(Departure { label: number, segment, marked, busy_since_ns, passage }) = at.link.depart() {
            if let Some(transit) = &mut self.transits[number as usize] {
                transit.crossed += 1;
                transit.busy_since_ns = busy_since_ns;
                match &mut transit.packet {
                    Packet::Data(sent) => *sent = segment.marked_if(marked),
                    Packet::Ack(_) => {}
                    Packet::Datagram(datagram) => datagram.marked |= marked,
                }
            }
            for _ in 1..passage.copies {
                let copy = self.transit(number).clone();
                let is_back = copy.packet.to() == Side::Sender;
                self.connections[copy.connection as usize].acks.duplicated += u64::from(is_back);
                let copy = self.put(copy);
                self.go_on(copy, passage.at_ns);
            }
            match passage.copies {
                0 => self.lose(number),
                _ => self.go_on(number, passage.at_ns),
            }
        }
        self.after_event_at(link);
    }

    /// `link` has accepted or sent a packet: others may be dropped, and the next may leave at another time.
    fn after_event_at(&mut self, link: u32) {
        let at = &mut self.links[link as usize];
        let order = if at.link.takes_opportunities() { AtLink::Opportunity } else { AtLink::Free };
        let due_ticks = at.link.next_departure_ticks();
        if std::mem::replace(&mut at.scheduled_ticks, due_ticks) != due_ticks {
            self.events.schedule(due_ticks, Order::Link(link, order), 0);
        }
        if at.link.has_dropped() {
            let dropped: Vec<u32> = at.link.take_dropped().map(|(number, _)| number).collect();
            dropped.into_iter().for_each(|number| self.lose(number));
        }
    }

    /// A packet is dropped or lost.
    fn lose(&mut self, number: u32) {
        let Transit { connection, packet, .. } = self.take(number);
        let owner = &mut self.connections[connection as usize];
        match packet.to() {
            Side::Receiver => owner.lost_pkts += 1,
            Side::Sender => owner.acks.lost += 1,
        }
    }

    fn schedule_transfer(&mut self, place: usize) {
        let Group { id, next_ns, .. } = self.groups[place];
        if next_ns != NEVER {
            self.events.schedule(T::count(next_ns), Order::Transfer(id), place as u32);
        }
    }

    /// The next transfer of a flow with arrivals begins, on the first of its connections that is over, or on a further one.
    fn begin_transfer(&mut self, place: usize, now_ns: u64) {
        let flow = self.groups[place].id;
        let mut slots = self.groups[place].slots.clone();
        slots.sort_unstable();
        let free = slots.into_iter().find(|&slot| self.connections[slot as usize].is_over());
        let group = &mut self.groups[place];
        let number = group.begin();
        let name = format!("{flow}-{number}");
        let source = Source::of_one(group.flow, &name, group.sizes.draw(), now_ns, self.seed);
        let ends = self.tapped(flow, Box::new(self.tcp(flow, now_ns, source, name)));
        let connection = Connection::new(ends, flow, number);
        let slot = match free {
            Some(slot) => {
                let ended = std::mem::replace(&mut self.connections[slot as usize], connection);
                self.connections[slot as usize].acks = ended.acks;
                let source = ended.ends.sender().and_then(|sender| sender.source.as_ref());
                let arrived_bytes = source.map_or(0, |source| source.arrived_bytes);
                let marked_pkts = ended.ends.counts().received.marked_pkts;
                self.flow_sampler.end_connection(slot, arrived_bytes, marked_pkts);
                ended.add_to(&mut self.groups[place], now_ns);
                slot
            }
            None => {
                let slot = self.connections.len() as u32;
                self.connections.push(connection);
                self.flow_sampler.add_connection(flow);
                self.groups[place].slots.push(slot);
                slot
            }
        };
        self.schedule_timer(slot);
        self.schedule_transfer(place);
    }

    fn schedule_sample(&mut self) {
        if self.link_sampler.due_ns <= self.scenario.duration_ns {
            self.events.schedule(T::count(self.link_sampler.due_ns), Order::Sample, 0);
        }
    }
}
