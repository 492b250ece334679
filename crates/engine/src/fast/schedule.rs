//! The order of events.
//!
//! Time goes on in spans. A packet that has yet to enter the last link of its path when a span begins is not at the
//! receiver, and so is no ACK of it at the sender, before the span ends. So the ends of each flow go through the span by
//! themselves, those of several shards at once; then each link takes in what has arrived at it, sorted by time, link after
//! link in the order of the paths.
//! Where the last links of the paths are fast and short, as those of receivers are, that would make short spans. They take in
//! what arrives before the ends act, if that makes spans longer: then a packet that has yet to enter the link before the last one
//! when a span begins is not at the last one before the span ends.
//! The result is the same as event by event, which are spans of a nanosecond.

use crate::control::{Control, Unfinished};
use crate::fast::ends::connection::Connection;
use crate::fast::ends::udp::Udp;
use crate::fast::link::fifo::PathLink;
use crate::fast::link::timing::Timing;
use crate::fast::measure::looks::{observe, sample_flows, sample_links};
use crate::fast::measure::results::{
    End, LateLossesByFlow, flow_result, group_result, late_losses, link_counts, link_results, transfers,
    udp_result,
};
use crate::fast::network::{Network, PACKETS_MAX};
use crate::fast::shard::{Numbering, Shard};
use crate::fast::shared::links::Links;
use crate::fast::threads::{THREADS_MAX, Threads};
use crate::fast::topology::{LinkFacts, Topology};
use crate::net::datagrams::Datagrams;
use crate::net::group::Group;
use crate::net::lifetime::start_jitter_ns;
use crate::net::link::managed::ManagedLink;
use crate::net::link::queue::discipline::Disciplines;
use crate::net::measure::observe::{LinkSampler, Observation};
use crate::net::measure::rows::LinkCounts;
use crate::net::measure::samples::FlowSampler;
use crate::net::{Advance, WORLD};
use crate::tcp::source::{Sizes, Source};
use crate::tcp::ticks::Ticks;
use crate::time::{NEVER, Span};
use cwnd_algorithms::CongestionControl;
use cwnd_results::{GroupSamples, Run};
use cwnd_scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// No span is longer: what is sorted in it fits in 32 bits.
pub const LONGEST_SPAN_NS: u64 = u32::MAX as u64;
/// Spans are as long as it takes this many packets to arrive at links, and this many more per flow: what lies between two
/// stages stays in a cache, and each stage has enough to do.
const PACKETS_PER_SPAN: usize = 1024;
const PACKETS_PER_FLOW_AND_SPAN: usize = 4;
/// A span with fewer packets is over sooner than other threads have begun.
const PACKETS_PER_SPAN_OF_THREADS: usize = 2000;
/// The packets in flight are counted once in this many full spans.
const SPANS_PER_COUNT: usize = 16;
/// Rows of samples by change; they take less than 2 GB.
const ROWS_MAX: usize = 10_000_000;
/// Transfers of a flow with arrivals at one time; their connections take less than 2 GB.
const TRANSFERS_MAX: usize = 1_000_000;

/// A run under way, of one kind of algorithm and timing.
pub struct Schedule<'a, C, T: Timing> {
    scenario: &'a Scenario,
    seed: u64,
    ticks: Ticks,
    control: &'a Control,
    threads: Threads,
    numbering: Numbering,
    shards: Vec<Shard<'a, C, T>>,
    links: Links<T>,
    /// Number of connections of all shards: those of the scenario, and further ones of flows with arrivals.
    connections: u32,
    groups: Vec<Group<'a>>,
    /// By group: all slots with nothing to do, and maybe some that a packet has reached since.
    resting: Vec<BTreeSet<u32>>,
    /// Makes the algorithm of a connection of a flow.
    make: Box<dyn FnMut(usize) -> C + 'a>,
    /// When the next transfer of a group begins, or NEVER.
    next_transfer_ns: u64,
    /// True if a span must begin where a transfer does. Otherwise all transfers of a span get their connections when it begins;
    /// a connection that becomes free within the span is not among them. Only a queue that tells flows apart shows the difference.
    begins_with_transfer: bool,
    /// When the warmup ends, or NEVER.
    warmup_end_ns: u64,
    /// Counts of the links at the end of the warmup.
    links_before: Option<Vec<LinkCounts>>,
    late_before: LateLossesByFlow,
    sampler: LinkSampler,
    group_samples: GroupSamples,
    longest_span_ns: u64,
    span_ns: u64,
    /// That have arrived at links since packets in flight were counted; a short span counts as a quarter of a full one.
    uncounted_pkts: usize,
    /// Simulated time that [`Control`] knows of.
    reported_ns: u64,
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
        let ticks = Ticks::new(scenario, seed);
        let managed = (0..).zip(&scenario.links).filter_map(|(id, link)| {
            let discipline = disciplines(scenario, id, seed)?;
            Some((id, ManagedLink::new(discipline, link, scenario.ethernet_bytes(id), seed)))
        });
        let managed: BTreeMap<_, _> = managed.collect();
        let flows = scenario.flows.len() as u32;
        let shards = if T::TAKE_IN.is_some() { control.threads.clamp(1, THREADS_MAX) } else { 1 };
        let numbering = Numbering { shards: shards as u32 };
        let flows_of = |shard: usize| (shard as u32..flows).step_by(shards);
        let facts = Arc::new(LinkFacts::new(scenario, |link| managed.contains_key(&link)));
        let new_topology = |shard| Topology::new(scenario, flows_of(shard), facts.clone());
        let mut topologies: Vec<Topology<T::Tick>> = (0..shards).map(new_topology).collect();
        let mut shared: Vec<u32> = topologies.iter().flat_map(Topology::links_with_inbox).collect();
        shared.sort_unstable();
        shared.dedup();
        let places = facts.places(&shared);
        topologies.iter_mut().for_each(|topology| topology.place_links(shared.len(), places.clone()));
        let mut in_order = vec![scenario.links.iter().any(cwnd_scenario::Link::may_reorder); shared.len()];
        for place in topologies.iter().flat_map(Topology::leading_on) {
            in_order[place as usize] = true;
        }
        let lookahead_ns = |last: &[bool]| {
            let of_each = topologies.iter().enumerate().filter_map(|(shard, topology)| {
                let flow_of = |id| &scenario.flows[numbering.id(shard, id) as usize];
                topology.lookahead_ns(last, flow_of, T::slack_ns)
            });
            of_each.min().unwrap_or(NEVER)
        };
        let mut before_ends = vec![true; shared.len()];
        topologies.iter().for_each(|topology| topology.unmark_others_than_last(&mut before_ends));
        let [plain_ns, early_ns] = [&vec![false; shared.len()], &before_ends].map(|last| lookahead_ns(last));
        if early_ns <= plain_ns {
            before_ends.fill(false);
        }
        let lookahead_ns = plain_ns.max(early_ns);
        let new_shard = |(shard, topology)| Shard {
            network: Network::new(scenario, flows_of(shard), topology, seed, control),
            flows: Vec::with_capacity(flows_of(shard).len()),
            udps: BTreeMap::new(),
            sampler: FlowSampler::new(scenario, flows_of(shard)),
            resting: Vec::new(),
        };
        let mut shards: Vec<Shard<C, T>> = topologies.into_iter().enumerate().map(new_shard).collect();
        let mut groups = Vec::new();
        for (id, flow) in (0..).zip(&scenario.flows) {
            let Shard { network, flows, udps, .. } = &mut shards[numbering.shard(id)];
            let local = numbering.local(id);
            let start_ns = flow.start_ns + start_jitter_ns(flow, id, seed);
            let route = network.topology.route(local, id);
            if let Some(group) = Group::new(id, flow, start_ns, seed) {
                groups.push(group);
                flows.push(None);
                continue;
            }
            network.agenda.hasten(local, start_ns);
            if flow.cca.is_udp() {
                udps.insert(local, Udp::new(local, route.first_hop, Datagrams::new(flow, start_ns)));
                flows.push(None);
            } else {
                let sizes = Sizes::new(flow, id, seed);
                let source = Source::new(flow, id, sizes, start_ns, route.rtt_ns, seed);
                let cc = make(id as usize);
                let mut connection =
                    Connection::new(local, flow, cc, start_ns, route, source, scenario.warmup_ns);
                connection.sender.draw_chance(seed, ticks, id);
                flows.push(Some(connection));
            }
        }
        let begins_with_transfer = managed.values().any(ManagedLink::tells_flows_apart);
        Schedule {
            scenario,
            seed,
            ticks,
            control,
            threads: Threads::new(shards.len()),
            numbering,
            shards,
            links: Links::new(scenario, shared, in_order, &before_ends, managed, numbering, seed),
            connections: flows,
            next_transfer_ns: groups.iter().map(|group: &Group| group.next_ns).min().unwrap_or(NEVER),
            begins_with_transfer,
            resting: groups.iter().map(|group| BTreeSet::from([group.id])).collect(),
            groups,
            make,
            warmup_end_ns: if scenario.warmup_ns > 0 { scenario.warmup_ns } else { NEVER },
            links_before: None,
            late_before: LateLossesByFlow::new(),
            sampler: LinkSampler::new(scenario),
            group_samples: GroupSamples::default(),
            longest_span_ns: lookahead_ns.min(longest_span_ns).max(1),
            span_ns: 1,
            uncounted_pkts: 0,
            reported_ns: 0,
        }
    }

    /// Simulates all that happens in `span`; returns how many packets arrived at links that flows share.
    fn run_span(&mut self, span: Span) -> usize {
        let arrived_before = self.links.serve_before_ends(&mut self.shards, &self.threads, span);
        self.threads.for_each(&mut self.shards, |shard| shard.run_ends(span.until));
        self.note_resting();
        arrived_before + self.links.serve_after_ends(&mut self.shards, &self.threads, span)
    }

    /// Tells the groups which of their connections have nothing to do.
    fn note_resting(&mut self) {
        for (shard, Shard { network, resting, .. }) in self.shards.iter_mut().enumerate() {
            for local in resting.drain(..) {
                let flow = network.ranks[local as usize].0;
                if let Ok(place) = self.groups.binary_search_by_key(&flow, |group| group.id) {
                    self.resting[place].insert(self.numbering.id(shard, local));
                }
            }
        }
    }

    /// The transfers that are due before `until` have connections, which begin then.
    fn add_transfers(&mut self, until: u64) -> Result<(), Unfinished> {
        for (group, resting) in self.groups.iter_mut().zip(&mut self.resting) {
            while group.next_ns < until {
                let (flow, start_ns) = (group.id, group.next_ns);
                let cc = (self.make)(flow as usize);
                let free = free_slot(resting, self.numbering, &self.shards);
                if free.is_none() && group.slots.len() == TRANSFERS_MAX {
                    return Err(Unfinished::TooManyTransfers {
                        transfers_max: TRANSFERS_MAX,
                        at_ns: start_ns,
                    });
                }
                let slot = free.unwrap_or(self.connections);
                let Shard { network, flows, sampler, .. } = &mut self.shards[self.numbering.shard(slot)];
                let local = self.numbering.local(slot);
                if free.is_none() {
                    self.connections += 1;
                    network.add_connection(flow);
                    sampler.add_connection(flow);
                    group.slots.push(slot);
                    flows.push(None);
                }
                let number = group.begin();
                let name = format_args!("{flow}-{number}");
                let mut source = Source::of_one(group.flow, name, group.sizes.draw(), start_ns, self.seed);
                let route = network.topology.route(local, flow);
                if let Some(source) = &mut source {
                    source.lost_before = network.topology.lost_pkts(route.first_hop);
                }
                let warmup_ns = self.scenario.warmup_ns;
                let mut connection =
                    Connection::new(local, group.flow, cc, start_ns, route, source, warmup_ns);
                connection.sender.draw_chance(self.seed, self.ticks, name);
                network.copies.remove(&local);
                if let Some(ended) = flows[local as usize].replace(connection) {
                    let arrived_bytes = ended.sender.source.as_ref().map_or(0, |source| source.arrived_bytes);
                    sampler.end_connection(local, arrived_bytes, ended.receiver.marked_pkts());
                    let number = network.ranks[local as usize].1;
                    ended.add_to(&mut group.totals, &network.topology, number, start_ns);
                }
                resting.remove(&slot);
                network.ranks[local as usize] = (flow, number);
                network.agenda.hasten(local, start_ns);
            }
        }
        self.next_transfer_ns = self.groups.iter().map(|group| group.next_ns).min().unwrap_or(NEVER);
        Ok(())
    }

    /// The warmup is over, and all that happens by its end has happened.
    #[cold]
    fn begin_measuring(&mut self) {
        let now = std::mem::replace(&mut self.warmup_end_ns, NEVER);
        self.groups.iter_mut().for_each(|group| group.totals.begin_measuring());
        self.links_before = Some(link_counts(&mut self.shards, &mut self.links, now));
        self.late_before = late_losses(&self.shards, now);
        self.links.begin_measuring(now);
        for Shard { network, flows, udps, .. } in &mut self.shards {
            flows.iter_mut().flatten().for_each(|flow| flow.begin_measuring(now, &network.topology));
            udps.values_mut().for_each(|udp| udp.begin_measuring(now, network));
            network.own_links.iter_mut().for_each(|link| link.state.begin_measuring(now));
        }
    }

    /// Why the run cannot go on at `now`.
    fn check(&mut self, now: u64) -> Result<(), Unfinished> {
        let mut crowded = self.shards.iter().any(|shard| shard.network.crowded);
        if self.uncounted_pkts >= (SPANS_PER_COUNT * self.packets_per_span()).min(PACKETS_MAX / 2) {
            self.uncounted_pkts = 0;
            let between: usize = self.shards.iter().map(|shard| shard.network.count_packets()).sum();
            crowded |= between + self.links.waiting_pkts() > PACKETS_MAX;
        }
        if crowded {
            return Err(Unfinished::Crowded { packets_max: PACKETS_MAX, at_ns: now });
        }
        if self.control.stop.load(Relaxed) {
            return Err(Unfinished::Stopped);
        }
        let by_change = self.shards.iter().map(|shard| &shard.sampler).filter(|sampler| sampler.by_change);
        if by_change.map(|sampler| sampler.samples.flow.len()).sum::<usize>() > ROWS_MAX {
            return Err(Unfinished::TooManyRows { rows_max: ROWS_MAX, at_ns: now });
        }
        Ok(())
    }

    /// A span is as long as it takes this many packets to arrive at links.
    fn packets_per_span(&self) -> usize {
        PACKETS_PER_SPAN + PACKETS_PER_FLOW_AND_SPAN * self.connections as usize
    }

    /// A sample of the time series is due.
    fn sample(&mut self) {
        let now = self.sampler.due_ns;
        let sample = |Shard { sampler, flows, network, .. }: &mut Shard<C, T>| {
            sample_flows(sampler, now, flows, network);
        };
        self.threads.for_each(&mut self.shards, sample);
        let samplers = self.shards.iter_mut().map(|shard| &mut shard.sampler);
        let before = now.saturating_sub(self.sampler.interval_ns.unwrap_or(0));
        let groups = self.groups.iter();
        let lasting = groups.filter_map(|group| Some((group.id, group.lasting_ns(before, now)?)));
        FlowSampler::join_groups(now, samplers, lasting, &mut self.group_samples);
        sample_links(&mut self.sampler, &mut self.shards, &mut self.links);
    }

    /// When the next thing happens at an end or at a link, or NEVER.
    fn next_event_ns(&self) -> u64 {
        let at_shards = self.shards.iter().map(|shard| shard.network.next_event_ns()).min();
        at_shards.unwrap_or(NEVER).min(self.links.next_departure_ns())
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
            let now = (self.next_event_ns())
                .min(self.sampler.due_ns)
                .min(self.next_transfer_ns)
                .min(self.warmup_end_ns);
            self.check(now)?;
            self.report(now.min(end));
            if now > end {
                return Ok(());
            }
            let until = now
                .saturating_add(self.span_ns)
                .min(self.sampler.due_ns.saturating_add(1))
                .min(self.warmup_end_ns.saturating_add(1))
                .min(end + 1);
            let added_until = if self.begins_with_transfer { now + 1 } else { until };
            if self.next_transfer_ns < added_until {
                self.add_transfers(added_until)?;
            }
            let until = until.min(self.next_transfer_ns);
            let packets = self.run_span(Span { from: now, until, usual_ns: self.span_ns });
            self.threads.set_together(packets >= PACKETS_PER_SPAN_OF_THREADS);
            self.uncounted_pkts += packets.max(wanted / 4);
            // A packet that no wire delays may be at its end at the instant at which a link sends it.
            if until > self.warmup_end_ns && self.next_event_ns() > self.warmup_end_ns {
                self.begin_measuring();
            }
            if until > self.sampler.due_ns && self.next_event_ns() > self.sampler.due_ns {
                self.sample();
            }
            if packets < wanted {
                self.span_ns = (2 * self.span_ns).min(self.longest_span_ns);
            } else if packets > 2 * wanted {
                self.span_ns = (self.span_ns / 2).max(1);
            }
        }
    }

    fn observe(&mut self, now_ns: u64) -> Observation {
        let flows = self.scenario.flows.len() as u32;
        observe(now_ns, flows, &self.groups, self.numbering, &mut self.shards, &mut self.links)
    }

    fn finish(mut self: Box<Self>) -> Run {
        let end = self.scenario.duration_ns;
        let warmup_ns = self.scenario.warmup_ns;
        // Before the rows take memory.
        self.shards.iter_mut().for_each(|shard| shard.network.forget_arrivals());
        let before = self.links_before.as_deref();
        let links = link_results(&mut self.shards, &mut self.links, before, warmup_ns, end);
        let late_before = std::mem::take(&mut self.late_before);
        let at = End { ns: end, late_before, late: late_losses(&self.shards, end) };
        self.threads.for_each(&mut self.shards, |shard| shard.take_last_arrivals(end));
        for group in &mut self.groups {
            for &slot in &group.slots {
                let Shard { network, flows, .. } = &self.shards[self.numbering.shard(slot)];
                let local = self.numbering.local(slot) as usize;
                if let Some(flow) = &flows[local] {
                    flow.add_to(&mut group.totals, &network.topology, network.ranks[local].1, end);
                }
            }
        }
        let arrivals = self.shards.iter().map(Shard::last_arrival_ns);
        let last_arrival_ns =
            arrivals.chain(self.groups.iter().map(|group| group.totals.last_arrival_ns)).max().unwrap_or(0);
        let transfers = transfers(self.scenario, self.numbering, &self.shards, &self.groups, end);
        let mut groups = self.groups.iter().peekable();
        let result = |id: u32| {
            if let Some(group) = groups.next_if(|group| group.id == id) {
                return group_result(group, warmup_ns, &at);
            }
            let Shard { network, flows, udps, .. } = &self.shards[self.numbering.shard(id)];
            let local = self.numbering.local(id);
            match &flows[local as usize] {
                Some(flow) => flow_result(id, flow, &network.topology, &at),
                None => udp_result(id, &udps[&local], &network.topology, &at),
            }
        };
        let mut flows: Vec<_> = (0..self.scenario.flows.len() as u32).map(result).collect();
        transfers.set_quantiles(&mut flows, warmup_ns);
        let mut run = Run::new(WORLD, self.seed);
        run.packets = flows.iter().map(|flow| flow.sent_pkts).sum();
        run.last_arrival_ns = last_arrival_ns;
        run.flows = flows;
        run.links = links;
        run.flow_samples = FlowSampler::join(self.shards.into_iter().map(|shard| shard.sampler));
        run.group_samples = self.group_samples;
        run.link_samples = self.sampler.samples;
        run.transfers = transfers;
        run
    }
}

/// The first of the slots in `resting` without a connection, if there is one.
fn free_slot<C: CongestionControl, T: Timing>(
    resting: &BTreeSet<u32>,
    numbering: Numbering,
    shards: &[Shard<C, T>],
) -> Option<u32> {
    let is_free = |slot: &u32| {
        let (Shard { network, flows, .. }, local) = (&shards[numbering.shard(*slot)], numbering.local(*slot));
        network.agenda.due_ns(local) == NEVER
            && flows[local as usize].as_ref().is_none_or(|flow| flow.is_over(network))
    };
    resting.iter().copied().find(is_free)
}
