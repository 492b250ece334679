//! The order of events.
//!
//! Time goes on in spans. A packet that has yet to enter the last link of its path when a span begins is not at the
//! receiver, and so is no ACK of it at the sender, before the span ends. So the ends of each flow go through the span by
//! themselves; then each link takes in what has arrived at it, sorted by time, link after link in the order of the paths.
//! The result is the same as event by event, which are spans of a nanosecond.

use crate::agenda::Agenda;
use crate::connection::Connection;
use crate::control::{Control, Unfinished};
use crate::memory::ring::Ring;
use crate::network::{Network, PACKETS_MAX, PACKETS_PER_LOOK};
use crate::observe::{Observation, Sampler, observe};
use crate::path::queue::discipline::Disciplines;
use crate::path::timing::Timing;
use crate::random::random_stream;
use crate::results::{
    LinkCounts, flow_result, group_result, link_counts, link_results, transfers, udp_result,
};
use crate::time::NEVER;
use crate::traffic::group::Group;
use crate::traffic::source::{Sizes, Source};
use crate::traffic::udp::Udp;
use chacha20::rand_core::Rng;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{Run, World};
use cwnd_scenario::Scenario;
use std::sync::atomic::Ordering::Relaxed;

/// No span is longer: what is sorted in it fits in 32 bits.
pub const LONGEST_SPAN_NS: u64 = u32::MAX as u64;
/// Spans are as long as it takes this many packets to arrive at links, and this many more per flow: what lies between two
/// stages stays in a cache, and each stage has enough to do.
const PACKETS_PER_SPAN: usize = 1024;
const PACKETS_PER_FLOW_AND_SPAN: usize = 4;
/// The packets in flight are counted once in this many full spans.
const SPANS_PER_COUNT: usize = 16;
/// Rows of samples by change; they take less than 2 GB.
const ROWS_MAX: usize = 10_000_000;
/// Transfers of a flow with arrivals at one time; their connections take less than 1 GB.
const TRANSFERS_MAX: usize = 100_000;
/// What is on its way to this many flows is asked for ahead, the way there twice as far and their state three times.
const FLOWS_AHEAD: usize = 2;

/// A run under way, of one kind of algorithm and timing.
pub struct Schedule<'a, C, T: Timing> {
    scenario: &'a Scenario,
    seed: u64,
    control: &'a Control,
    network: Network<'a, T>,
    /// Those of the scenario, in its order, and further ones of flows with arrivals.
    flows: Vec<Connection<'a, C>>,
    groups: Vec<Group<'a>>,
    udps: Vec<Udp<'a>>,
    /// Makes the algorithm of a connection of a flow.
    make: Box<dyn FnMut(usize) -> C + 'a>,
    /// When the next transfer of a group begins, or NEVER.
    next_transfer_ns: u64,
    /// When the warmup ends, or NEVER.
    warmup_end_ns: u64,
    /// What the links had done by then.
    links_before: Option<Vec<LinkCounts>>,
    sampler: Sampler,
    longest_span_ns: u64,
    span_ns: u64,
    /// That have arrived at links since packets in flight were counted; a short span counts as a quarter of a full one.
    uncounted_pkts: usize,
    /// Simulated time that [`Control`] knows of.
    reported_ns: u64,
}

/// A run under way, whatever its algorithms and timing.
pub trait Advance {
    /// Simulates all that happens up to `until_ns`, included.
    fn advance(&mut self, until_ns: u64) -> Result<(), Unfinished>;

    /// The run at `now_ns`, which it has been advanced to.
    fn observe(&mut self, now_ns: u64) -> Observation;

    /// The results at the end of the duration, which the run has been advanced to.
    fn finish(self: Box<Self>) -> Run;
}

impl<'a, C: CongestionControl, T: Timing> Schedule<'a, C, T> {
    /// No span is longer than `longest_span_ns`.
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        disciplines: Disciplines,
        mut make: Box<dyn FnMut(usize) -> C + 'a>,
        control: &'a Control,
        longest_span_ns: u64,
    ) -> Schedule<'a, C, T> {
        let mut network = Network::<T>::new(scenario, disciplines, seed, control);
        let mut flows = Vec::with_capacity(scenario.flows.len());
        let (mut groups, mut udps) = (Vec::new(), Vec::new());
        for (id, flow) in (0..).zip(&scenario.flows) {
            let cc = make(id as usize);
            let start_ns = flow.start_ns + start_jitter_ns(flow, id, seed);
            let route = network.topology.route(id, id);
            if let Some(group) = Group::new(id, flow, start_ns, seed) {
                groups.push(group);
                flows.push(Connection::idle(id, flow, cc, route));
            } else if flow.cca.is_udp() {
                udps.push(Udp::new(id, flow, start_ns, route.first_hop, scenario.warmup_ns));
                flows.push(Connection::idle(id, flow, cc, route));
            } else {
                let (sizes, rtt_ns) = (Sizes::new(flow, id, seed), scenario.rtt_ns(id as usize));
                let source = Source::new(flow, &id.to_string(), sizes, start_ns, rtt_ns, seed);
                flows.push(Connection::new(id, flow, cc, start_ns, route, source, scenario.warmup_ns));
            }
        }
        network.agenda = Agenda::new(flows.iter().map(|flow| flow.timers_at).collect());
        for udp in &udps {
            network.agenda.hasten(udp.id, udp.next_ns());
        }
        let lookahead_ns = network.topology.lookahead_ns(T::slack_ns).unwrap_or(NEVER);
        Schedule {
            scenario,
            seed,
            control,
            network,
            flows,
            next_transfer_ns: groups.iter().map(|group| group.next_ns).min().unwrap_or(NEVER),
            groups,
            udps,
            make,
            warmup_end_ns: if scenario.warmup_ns > 0 { scenario.warmup_ns } else { NEVER },
            links_before: None,
            sampler: Sampler::new(scenario),
            longest_span_ns: lookahead_ns.min(longest_span_ns).max(1),
            span_ns: 1,
            uncounted_pkts: 0,
            reported_ns: 0,
        }
    }

    /// Simulates all that happens from `from` on and before `until`; returns how many packets arrived at links that flows
    /// share.
    fn run_span(&mut self, from: u64, until: u64) -> usize {
        let due = self.network.agenda.take(until);
        for (place, &flow) in due.iter().enumerate() {
            if let Some(&ahead) = due.get(place + 3 * FLOWS_AHEAD) {
                self.flows[ahead as usize].prefetch();
            }
            if let Some(&ahead) = due.get(place + 2 * FLOWS_AHEAD) {
                self.network.prefetch_path(ahead, self.flows[ahead as usize].first_hop);
            }
            if let Some(&ahead) = due.get(place + FLOWS_AHEAD) {
                self.network.prefetch_ends(ahead, self.flows[ahead as usize].first_hop);
            }
            let next = self.run_ends(flow as usize, until);
            self.network.agenda.set(flow, next);
            if next == NEVER {
                self.rest(flow);
            }
        }
        self.network.agenda.settle(due, until);
        let mut arrived = 0;
        for place in 0..self.network.served.len() {
            arrived += self.network.serve(self.network.served[place] as usize, from, until);
        }
        arrived
    }

    /// The flow `id` has nothing to do, unless a packet is still on its way to the receiver. One that is over keeps its counts.
    #[cold]
    fn rest(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        if flow.is_over(&self.network) {
            flow.forget();
            self.network.to_receiver[id as usize] = Ring::new();
        }
        let group = self.network.ranks[id as usize].0;
        if let Ok(place) = self.groups.binary_search_by_key(&group, |group| group.id) {
            self.groups[place].resting.insert(id);
        }
    }

    /// Simulates the two ends of a flow before `until`; returns when they have something to do then. Many packets are gone
    /// through in parts, to look in between whether the run goes on.
    fn run_ends(&mut self, id: usize, until: u64) -> u64 {
        if let Ok(place) = self.udps.binary_search_by_key(&id, |udp| udp.id as usize) {
            return self.udps[place].advance(until, &mut self.network);
        }
        let mut due = self.network.agenda.due_ns(id as u32);
        loop {
            let flow = &mut self.flows[id];
            let part = self.network.to_receiver[id]
                .get(PACKETS_PER_LOOK)
                .map_or(until, |packet| flow.way_back.ack_arrival_ns(packet.at).max(due + 1).min(until));
            let sampler = &mut self.sampler;
            due = flow.advance(part, &mut self.network, |now, flow| {
                if sampler.by_change {
                    sampler.sample_change(now, flow);
                }
            });
            if part == until || self.network.must_end() {
                return due;
            }
        }
    }

    /// The transfers that are due at `now`, when a span begins, begin.
    fn begin_transfers(&mut self, now: u64) -> Result<(), Unfinished> {
        for group in &mut self.groups {
            while group.next_ns <= now {
                let flow = group.id;
                let cc = (self.make)(flow as usize);
                let free = group.free_slot(&self.flows, &self.network);
                let slot = match free {
                    Some(slot) => slot,
                    None if group.slots.len() == TRANSFERS_MAX => {
                        return Err(Unfinished::TooManyTransfers {
                            transfers_max: TRANSFERS_MAX,
                            at_ns: now,
                        });
                    }
                    None => self.network.add_connection(flow),
                };
                let number = group.begin();
                let name = format!("{flow}-{number}");
                let mut source = Source::of_one(group.flow, &name, group.sizes.draw(), now, self.seed);
                let route = self.network.topology.route(slot, flow);
                if let Some(source) = &mut source {
                    source.lost_before = self.network.topology.lost_pkts(route.first_hop);
                }
                let warmup_ns = self.scenario.warmup_ns;
                let connection = Connection::new(slot, group.flow, cc, now, route, source, warmup_ns);
                self.network.copies.remove(&slot);
                if free.is_some() {
                    let ended = std::mem::replace(&mut self.flows[slot as usize], connection);
                    group.totals.add(
                        &ended,
                        &self.network.topology,
                        self.network.ranks[slot as usize].1,
                        now,
                    );
                    group.resting.remove(&slot);
                } else {
                    group.slots.push(slot);
                    self.flows.push(connection);
                }
                self.network.ranks[slot as usize] = (flow, number);
                self.network.agenda.hasten(slot, now);
            }
        }
        self.next_transfer_ns = self.groups.iter().map(|group| group.next_ns).min().unwrap_or(NEVER);
        Ok(())
    }

    /// The warmup is over, and all that happens by its end has happened.
    #[cold]
    fn begin_measuring(&mut self) {
        let now = std::mem::replace(&mut self.warmup_end_ns, NEVER);
        let topology = &self.network.topology;
        self.flows.iter_mut().for_each(|flow| flow.begin_measuring(now, topology));
        self.groups.iter_mut().for_each(|group| group.totals.begin_measuring());
        self.udps.iter_mut().for_each(|udp| udp.begin_measuring(topology));
        self.links_before = Some(link_counts(&mut self.network, now));
        self.network.begin_measuring(now);
    }

    /// Why the run cannot go on at `now`.
    fn check(&mut self, now: u64) -> Result<(), Unfinished> {
        if self.uncounted_pkts >= SPANS_PER_COUNT * self.packets_per_span() {
            self.uncounted_pkts = 0;
            self.network.count_packets();
        }
        if self.network.crowded {
            return Err(Unfinished::Crowded { packets_max: PACKETS_MAX, at_ns: now });
        }
        if self.control.stop.load(Relaxed) {
            return Err(Unfinished::Stopped);
        }
        if self.sampler.flow_samples.flow.len() > ROWS_MAX && self.sampler.by_change {
            return Err(Unfinished::TooManyRows { rows_max: ROWS_MAX, at_ns: now });
        }
        Ok(())
    }

    /// A span is as long as it takes this many packets to arrive at links.
    fn packets_per_span(&self) -> usize {
        PACKETS_PER_SPAN + PACKETS_PER_FLOW_AND_SPAN * self.flows.len()
    }

    fn report(&mut self, now: u64) {
        self.control.simulated_ns.fetch_add(now - self.reported_ns, Relaxed);
        self.reported_ns = now;
    }
}

impl<C: CongestionControl, T: Timing> Advance for Schedule<'_, C, T> {
    fn advance(&mut self, until_ns: u64) -> Result<(), Unfinished> {
        let end = until_ns.min(self.scenario.duration_ns);
        loop {
            let wanted = self.packets_per_span();
            let now = self
                .network
                .next_event_ns()
                .min(self.sampler.due_ns)
                .min(self.next_transfer_ns)
                .min(self.warmup_end_ns);
            self.check(now)?;
            self.report(now.min(end));
            if now > end {
                return Ok(());
            }
            if self.next_transfer_ns <= now {
                self.begin_transfers(now)?;
            }
            let until = now
                .saturating_add(self.span_ns)
                .min(self.sampler.due_ns.saturating_add(1))
                .min(self.next_transfer_ns)
                .min(self.warmup_end_ns.saturating_add(1))
                .min(end + 1);
            let packets = self.run_span(now, until);
            self.uncounted_pkts += packets.max(wanted / 4);
            if until > self.warmup_end_ns {
                self.begin_measuring();
            }
            if until > self.sampler.due_ns {
                self.sampler.sample(&self.flows, &mut self.network);
            }
            if packets < wanted {
                self.span_ns = (2 * self.span_ns).min(self.longest_span_ns);
            } else if packets > 2 * wanted {
                self.span_ns = (self.span_ns / 2).max(1);
            }
        }
    }

    fn observe(&mut self, now_ns: u64) -> Observation {
        observe(now_ns, &self.flows, &self.groups, &self.udps, &mut self.network)
    }

    fn finish(mut self: Box<Self>) -> Run {
        let end = self.scenario.duration_ns;
        let warmup_ns = self.scenario.warmup_ns;
        let links = link_results(&mut self.network, self.links_before.as_deref(), warmup_ns, end);
        self.network.inboxes = Vec::new();
        for (flow, packets) in self.flows.iter_mut().zip(std::mem::take(&mut self.network.to_receiver)) {
            let arrived = packets.iter().take_while(|packet| packet.at <= end);
            if let Ok(place) = self.udps.binary_search_by_key(&flow.id, |udp| udp.id) {
                arrived.for_each(|packet| self.udps[place].receive(packet.at));
                continue;
            }
            for packet in arrived {
                flow.note_arrival(packet.at);
                flow.note_bytes(packet.at, packet.segment);
                if flow.receiver.receive_next(packet.segment).is_none() {
                    flow.receiver.receive(packet.at, packet.segment);
                }
            }
        }
        for group in &mut self.groups {
            for &slot in &group.slots {
                let number = self.network.ranks[slot as usize].1;
                group.totals.add(&self.flows[slot as usize], &self.network.topology, number, end);
            }
        }
        let arrivals = self.flows.iter().map(|flow| flow.last_arrival_ns);
        let arrivals = arrivals.chain(self.udps.iter().map(|udp| udp.last_arrival_ns));
        let last_arrival_ns =
            arrivals.chain(self.groups.iter().map(|group| group.totals.last_arrival_ns)).max().unwrap_or(0);
        let transfers = transfers(self.scenario, &self.flows, &self.groups, end);
        let mut groups = self.groups.iter().peekable();
        let mut udps = self.udps.iter().peekable();
        let result = |flow: &Connection<C>| {
            if let Some(group) = groups.next_if(|group| group.id == flow.id) {
                group_result(group, warmup_ns, end)
            } else if let Some(udp) = udps.next_if(|udp| udp.id == flow.id) {
                udp_result(udp, &self.network.topology, end)
            } else {
                flow_result(flow, &self.network.topology, end)
            }
        };
        let mut flows: Vec<_> = self.flows[..self.scenario.flows.len()].iter().map(result).collect();
        transfers.set_quantiles(&mut flows, warmup_ns);
        if self.sampler.by_change {
            self.sampler.flow_samples.sort();
        }
        Run {
            world: World::Sim,
            seed: self.seed,
            packets: flows.iter().map(|flow| flow.sent_pkts).sum(),
            last_arrival_ns,
            notes: Vec::new(),
            flows,
            links,
            flow_samples: self.sampler.flow_samples,
            link_samples: self.sampler.link_samples,
            transfers,
        }
    }
}

/// How much later than its start the flow starts.
pub fn start_jitter_ns(flow: &cwnd_scenario::Flow, id: u32, seed: u64) -> u64 {
    if flow.start_jitter_ns == 0 {
        return 0;
    }
    let draw = random_stream(seed, &format!("start-{id}")).next_u64();
    ((u128::from(draw) * u128::from(flow.start_jitter_ns)) >> 64) as u64
}
