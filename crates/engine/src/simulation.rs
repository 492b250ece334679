//! Flows, links and the order of events.

use crate::clock::{Clock, Ns2Time};
use crate::link::{Link, Totals, random_stream};
use crate::receiver::{CONGESTION, Receiver, SYN, Segment, Tag};
use crate::results::{FlowResult, FlowSamples, LinkResult, LinkSamples, Run};
use crate::ring::Ring;
use crate::rtt::Distribution;
use crate::scheduler::{Key, NEVER, Scheduler};
use crate::sender::{Ack, Sender};
use crate::{Control, Stopped};
use chacha20::rand_core::Rng;
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::{Handshake, Samples, Scenario};
use std::sync::atomic::Ordering::Relaxed;

/// The control is looked at once in so many events.
const EVENTS_PER_LOOK: u32 = 1 << 14;

pub struct Simulation<'a, C, T: Clock> {
    scenario: &'a Scenario,
    seed: u64,
    network: Network<T>,
    /// What each source of the scheduler stands for.
    sources: Vec<Source>,
    flows: Vec<Flow<C>>,
    /// Links that are no event: a packet never waits there.
    passed_through: Vec<Passed>,
    flow_samples: FlowSamples,
    link_samples: LinkSamples,
    /// Packets that arrive at the same instant; empty between events.
    tied: Vec<(Packet<T::Stamp>, usize)>,
    by_change: bool,
}

#[derive(Clone, Copy)]
enum Source {
    /// Start, stop, retransmission timeout, delayed ACK.
    Timers {
        flow: u32,
    },
    /// The head of a hop's line arrives at the flow's next hop, which has the next index.
    Hop {
        hop: u32,
    },
    /// The head of the last hop's line arrives at the receiver; if every segment is acknowledged, that ACK at the
    /// sender.
    Receiver {
        flow: u32,
    },
    /// The head of the ACKs arrives at the sender.
    Sender {
        flow: u32,
    },
    Sampler,
}

/// Where the packets are, and what comes next.
struct Network<T: Clock> {
    scheduler: Scheduler<T::Key>,
    links: Vec<Link>,
    /// Flow by flow, in the order of the path.
    hops: Vec<Hop<T::Stamp>>,
    ns2: Ns2Time,
}

/// One link of a flow's path where packets may wait.
struct Hop<S> {
    /// Packets that left it, in order.
    line: Ring<Packet<S>>,
    link: u32,
    /// Of the scheduler, for the head of the line.
    source: u32,
    tx_ns: u64,
    /// From the departure to the arrival at the next hop or the receiver.
    onward_ns: u64,
    /// `tx_ns` and `onward_ns` of a SYN, which has no payload.
    syn_tx_ns: u64,
    syn_onward_ns: u64,
    /// From the arrival at the receiver to the event: the ACK's way back, if every segment has one.
    after_ns: u64,
    /// The flow understands congestion marks.
    ecn: bool,
    /// Dropped by the link or lost on its wire.
    lost: u64,
    /// A SYN is among those that passed.
    syn_passed: bool,
    /// Packets that the link took and will deliver.
    passed: u64,
}

/// A link that only one flow crosses, behind one that is no faster: packets come at least as far apart as it
/// takes to send them, so none ever waits or is dropped, and the link is a fixed delay.
struct Passed {
    link: u32,
    /// The hop in whose line packets cross it.
    hop: u32,
    tx_ns: u64,
    /// From its far end to the end of the line.
    rest_ns: u64,
    /// Both for a SYN.
    syn_tx_ns: u64,
    syn_rest_ns: u64,
}

impl Passed {
    /// `tx_ns` and `rest_ns` of this packet.
    fn times<S>(&self, packet: &Packet<S>) -> (u64, u64) {
        if packet.is_syn() { (self.syn_tx_ns, self.syn_rest_ns) } else { (self.tx_ns, self.rest_ns) }
    }
}

/// A data packet on its way: to be somewhere at a time.
#[derive(Clone, Copy, Default)]
struct Packet<S> {
    at: u64,
    segment: Segment,
    stamp: S,
}

struct Flow<C> {
    id: u32,
    sender: Option<Sender<C>>,
    cc: Option<Box<C>>,
    receiver: Receiver,
    first_hop: usize,
    last_hop: usize,
    acks: Ring<(u64, Ack)>,
    return_delay_ns: u64,
    every_segment_acked: bool,
    /// The first segment is a SYN.
    syn: bool,
    /// Its first source; the others follow.
    source: u32,
    start_ns: u64,
    stop_ns: u64,
    /// Filled in when the flow stops: arrived and in order by then.
    at_stop: Option<(u64, u64)>,
    /// Arrived by the last sample.
    sampled_arrivals: u64,
    sampled_ns: u64,
    /// The window in its last row, when samples are by change.
    recorded: (u32, u32),
    recorded_stop: bool,
    /// What the scheduler has for the flow's timers.
    timers_at: u64,
}

impl<'a, C: CongestionControl, T: Clock> Simulation<'a, C, T> {
    pub fn new(scenario: &'a Scenario, seed: u64, ccs: Vec<C>) -> Simulation<'a, C, T> {
        let mut users = vec![0u32; scenario.links.len()];
        for &link in scenario.flows.iter().flat_map(|flow| &flow.path) {
            users[link as usize] += 1;
        }
        let mut sources = Vec::with_capacity(self::sources(scenario));
        let mut hops = Vec::new();
        let mut flows = Vec::with_capacity(scenario.flows.len());
        let mut passed_through = Vec::new();
        for (id, (flow, cc)) in scenario.flows.iter().zip(ccs).enumerate() {
            let id = id as u32;
            let start_ns = flow.start_ns + start_jitter_ns(flow, id, seed);
            let first_hop = hops.len();
            add_hops::<T>(scenario, flow, &users, &mut hops, &mut passed_through);
            let last_hop = hops.len() - 1;
            let first = sources.len() as u32;
            sources.push(Source::Timers { flow: id });
            for (index, hop) in hops.iter_mut().enumerate().skip(first_hop) {
                hop.source = sources.len() as u32;
                let last = index == last_hop;
                sources.push(if last {
                    Source::Receiver { flow: id }
                } else {
                    Source::Hop { hop: index as u32 }
                });
            }
            if flow.stack.ack_every_pkts > 1 {
                sources.push(Source::Sender { flow: id });
            }
            flows.push(Flow {
                id,
                sender: None,
                cc: Some(Box::new(cc)),
                receiver: Receiver::new(
                    flow.stack.ack_every_pkts,
                    // The SYN is acknowledged at once.
                    u64::from(flow.stack.quick_acks_pkts)
                        .max(u64::from(flow.stack.handshake == Handshake::First)),
                    flow.stack.ack_delay_ns,
                ),
                first_hop,
                last_hop,
                acks: Ring::new(),
                return_delay_ns: flow.return_delay_ns,
                every_segment_acked: flow.stack.ack_every_pkts == 1,
                syn: flow.stack.handshake != Handshake::Off,
                source: first,
                start_ns,
                stop_ns: flow.stop_ns,
                at_stop: None,
                sampled_arrivals: 0,
                sampled_ns: start_ns,
                recorded: (0, 0),
                recorded_stop: false,
                timers_at: start_ns,
            });
        }
        sources.push(Source::Sampler);
        hops.shrink_to_fit();
        let mut scheduler = Scheduler::new(sources.len());
        for flow in &flows {
            scheduler.set(flow.source, flow.start_ns);
        }
        if let Samples::Interval { .. } = scenario.samples {
            scheduler.set(sources.len() as u32 - 1, 0);
        }
        let links = scenario.links.iter().map(|link| Link::new(link, seed)).collect();
        let ns2 = if T::NS2 { Ns2Time::new(scenario) } else { Ns2Time::default() };
        Simulation {
            scenario,
            seed,
            network: Network { scheduler, links, hops, ns2 },
            sources,
            flows,
            passed_through,
            flow_samples: FlowSamples::default(),
            link_samples: LinkSamples::default(),
            tied: Vec::new(),
            by_change: scenario.samples == Samples::Change,
        }
    }

    pub fn run(mut self, control: &Control) -> Result<Run, Stopped> {
        let end = self.scenario.duration_ns;
        let mut reported_ns = 0;
        'run: loop {
            for _ in 0..EVENTS_PER_LOOK {
                let (now, source) = self.network.scheduler.next();
                if now > end {
                    break 'run;
                }
                if let Source::Hop { hop } = self.sources[source as usize] {
                    self.on_hop(now, hop as usize);
                } else {
                    self.on_event(now, source);
                }
            }
            if control.stop.load(Relaxed) {
                return Err(Stopped);
            }
            let now = self.network.scheduler.next().0.min(end);
            control.simulated_ns.fetch_add(now - reported_ns, Relaxed);
            reported_ns = now;
        }
        if control.stop.load(Relaxed) {
            return Err(Stopped);
        }
        control.simulated_ns.fetch_add(end - reported_ns, Relaxed);
        Ok(self.finish(end))
    }

    /// Something comes that is not the arrival at a hop.
    #[inline(always)]
    fn on_event(&mut self, now: u64, source: u32) {
        match self.sources[source as usize] {
            Source::Hop { .. } => unreachable!(),
            Source::Receiver { flow } => self.flows[flow as usize].on_arrival(now, &mut self.network),
            Source::Sender { flow } => self.on_ack(flow as usize, source),
            Source::Timers { flow } => self.on_timers(now, flow as usize),
            Source::Sampler => self.sample(now, source),
        }
        if self.by_change {
            self.sample_change(now, source);
        }
    }

    /// The head of the line behind `hop` arrives at the next hop.
    #[inline(always)]
    fn on_hop(&mut self, now: u64, hop: usize) {
        let network = &mut self.network;
        let Hop { line, source, .. } = &mut network.hops[hop];
        network.scheduler.set(*source, line.second().map_or(NEVER, |next| next.at));
        if network.scheduler.next().0 == now {
            return self.on_simultaneous_hops(now, hop);
        }
        let packet = line.pop_front().expect("a line that is due is not empty");
        network.forward(hop + 1, packet);
    }

    /// Packets that arrive at the same instant: the one whose last link began sending without a pause latest
    /// goes first, then the lower flow. In a simulator that runs simultaneous events in the order in which
    /// they were scheduled, as ns-2 does, it comes out so; and no flow wins every time. What else happens at that
    /// instant comes before them, but for the sampler.
    #[inline(never)]
    fn on_simultaneous_hops(&mut self, now: u64, hop: usize) {
        let mut tied = std::mem::take(&mut self.tied);
        tied.push((self.network.take_head(hop), hop));
        while let (at, source) = self.network.scheduler.next()
            && at == now
        {
            match self.sources[source as usize] {
                Source::Hop { hop } => tied.push((self.network.take_head(hop as usize), hop as usize)),
                Source::Sampler => break,
                _ => self.on_event(now, source),
            }
        }
        tied.sort_by_key(|(packet, ..)| T::rank(packet.stamp));
        for (packet, hop) in tied.drain(..) {
            self.network.forward(hop + 1, packet);
        }
        self.tied = tied;
    }

    #[inline(never)]
    fn on_ack(&mut self, id: usize, source: u32) {
        let flow = &mut self.flows[id];
        let (at, ack) = flow.acks.pop_front().expect("an ACK that is due is there");
        self.network.scheduler.set(source, flow.acks.front().map_or(NEVER, |next| next.0));
        if T::NS2 {
            self.network.ns2.set(at);
        }
        let sender = flow.sender.as_mut().expect("an ACK answers a started flow");
        if sender.is_usual(&ack) {
            flow.deliver_usual(at, ack.next, ack.sent_ns, ack.echo_ns, &mut self.network);
        } else {
            flow.deliver(at, ack, &mut self.network);
        }
    }

    #[inline(never)]
    fn on_timers(&mut self, now: u64, id: usize) {
        if T::NS2 {
            self.network.ns2.set(now);
        }
        let flow = &mut self.flows[id];
        if let Some(cc) = flow.cc.take() {
            flow.sender = Some(Sender::new(*cc, &self.scenario.flows[id], now));
            flow.transmit(now, &mut self.network);
        }
        let sender = flow.sender.as_mut().expect("a started flow has a sender");
        if flow.stop_ns <= now && flow.at_stop.is_none() {
            sender.close();
            flow.at_stop = Some(flow.received_by(now, &self.network.hops));
        } else if sender.timer_at() <= now {
            if let Some(segment) = sender.on_timer(now) {
                flow.send(now, segment, &mut self.network);
            }
            flow.transmit(now, &mut self.network);
        }
        if flow.receiver.ack_due_ns().is_some_and(|due| due <= now)
            && let Some(ack) = flow.receiver.acknowledge_waiting()
        {
            flow.send_ack(now, ack, &mut self.network.scheduler);
        }
        flow.set_timers(&mut self.network.scheduler);
    }

    #[inline(never)]
    fn sample(&mut self, now: u64, source: u32) {
        let Samples::Interval { interval_ns } = self.scenario.samples else { return };
        self.network.scheduler.set(source, now + interval_ns);
        let time_s = now as f64 / 1e9;
        for (id, flow) in self.flows.iter_mut().enumerate() {
            let Some(sender) = &flow.sender else { continue };
            if now > flow.stop_ns {
                continue;
            }
            let arrivals = flow.receiver.arrived() + flow.arrived_unprocessed(now, &self.network.hops);
            let bits =
                (arrivals - flow.sampled_arrivals) * 8 * u64::from(self.scenario.flows[id].packet_bytes());
            let span_ns = now - flow.sampled_ns;
            self.flow_samples.push(now, id as u32, sender, mbps(bits, span_ns));
            flow.sampled_arrivals = arrivals;
            flow.sampled_ns = now;
        }
        let first = self.link_samples.queue_pkts.len();
        for (id, link) in self.network.links.iter_mut().enumerate() {
            self.link_samples.time_s.push(time_s);
            self.link_samples.link.push(id as u32);
            self.link_samples.queue_pkts.push(link.queue(now) as u32);
        }
        for passed in &self.passed_through {
            let delay_ns = self.scenario.links[passed.link as usize].delay_ns;
            let sent_at = |packet: &Packet<T::Stamp>| packet.at - delay_ns - passed.times(packet).1;
            let line = &self.network.hops[passed.hop as usize].line;
            let next = line.get(line.partition_point(|packet| sent_at(packet) <= now));
            let sending = next.is_some_and(|packet| sent_at(packet) - passed.times(packet).0 <= now);
            self.link_samples.queue_pkts[first + passed.link as usize] = u32::from(sending);
        }
    }

    /// Records the flow that the event concerned, if its window changed.
    #[inline(never)]
    fn sample_change(&mut self, now: u64, source: u32) {
        let id = match self.sources[source as usize] {
            Source::Timers { flow } | Source::Receiver { flow } | Source::Sender { flow } => flow,
            Source::Hop { .. } | Source::Sampler => return,
        };
        let flow = &mut self.flows[id as usize];
        let Some(sender) = &flow.sender else { return };
        let window = (sender.cwnd(), sender.ssthresh());
        if window != flow.recorded || flow.at_stop.is_some() && !flow.recorded_stop {
            flow.recorded = window;
            flow.recorded_stop = flow.at_stop.is_some();
            self.flow_samples.push(now, id, sender, 0.0);
        }
    }

    fn finish(mut self, end: u64) -> Run {
        let mut totals: Vec<Totals> = self.network.links.iter_mut().map(|link| link.totals(end)).collect();
        // Packets that a link has sent, less those still on the way to its far end.
        let mut delivered: Vec<u64> = totals.iter().map(|t| t.sent - t.corrupted_sent).collect();
        for hop in &self.network.hops {
            let onward_ns = self.scenario.links[hop.link as usize].delay_ns;
            let departure =
                |p: &Packet<T::Stamp>| p.at - if p.is_syn() { hop.syn_onward_ns } else { hop.onward_ns };
            let departed = |p: &&Packet<T::Stamp>| departure(p) <= end;
            let there = |p: &&Packet<T::Stamp>| departure(p) + onward_ns <= end;
            delivered[hop.link as usize] -=
                hop.line.iter().filter(departed).filter(|p| !there(p)).count() as u64;
        }
        for passed in &self.passed_through {
            let hop = &self.network.hops[passed.hop as usize];
            let link = passed.link as usize;
            let delay_ns = self.scenario.links[link].delay_ns;
            let mut entered = hop.passed;
            let (mut left, mut sent) = (entered, entered);
            let mut syn_sent = hop.syn_passed;
            let mut under_way_ns = 0;
            for packet in hop.line.iter() {
                let (tx_ns, rest_ns) = passed.times(packet);
                let out = packet.at - rest_ns;
                left -= u64::from(out > end);
                sent -= u64::from(out - delay_ns > end);
                entered -= u64::from(out - delay_ns - tx_ns > end);
                if out - delay_ns > end {
                    syn_sent &= !packet.is_syn();
                    under_way_ns += (end + tx_ns + delay_ns).saturating_sub(out);
                }
            }
            let saved_ns = if syn_sent { passed.tx_ns - passed.syn_tx_ns } else { 0 };
            let busy_ns = sent * passed.tx_ns + under_way_ns - saved_ns;
            totals[link] = Totals {
                sent,
                dropped: 0,
                corrupted: 0,
                corrupted_sent: 0,
                busy_ns,
                held_ns: u128::from(busy_ns),
                max_queue: entered.min(1),
            };
            delivered[link] = left;
        }
        let links = self
            .scenario
            .links
            .iter()
            .zip(totals.iter().zip(delivered))
            .map(|(link, (totals, delivered))| LinkResult {
                link: link.name.clone(),
                delivered_pkts: delivered,
                dropped_pkts: totals.dropped,
                error_pkts: totals.corrupted,
                mean_queue_pkts: totals.held_ns as f64 / end as f64,
                max_queue_pkts: totals.max_queue,
                utilization: totals.busy_ns as f64 / end as f64,
            })
            .collect();
        let mut packets = 0;
        let flows = self
            .flows
            .iter_mut()
            .enumerate()
            .map(|(id, flow)| {
                let result = flow.result(id as u32, self.scenario, &self.network.hops, end);
                packets += result.sent_pkts;
                result
            })
            .collect();
        Run {
            seed: self.seed,
            flows,
            links,
            flow_samples: self.flow_samples,
            link_samples: self.link_samples,
            packets,
        }
    }
}

/// How much later than said the flow starts.
fn start_jitter_ns(flow: &cwnd_scenario::Flow, id: u32, seed: u64) -> u64 {
    if flow.start_jitter_ns == 0 {
        return 0;
    }
    let draw = random_stream(seed, &format!("start-{id}")).next_u64();
    ((u128::from(draw) * u128::from(flow.start_jitter_ns)) >> 64) as u64
}

/// No run of `scenario` has more sources.
pub fn sources(scenario: &Scenario) -> usize {
    scenario.flows.iter().map(|flow| flow.path.len() + 2).sum::<usize>() + 1
}

/// The links of the flow's path where its packets may wait go to `hops`, the others to `passed_through`.
fn add_hops<T: Clock>(
    scenario: &Scenario,
    flow: &cwnd_scenario::Flow,
    users: &[u32],
    hops: &mut Vec<Hop<T::Stamp>>,
    passed_through: &mut Vec<Passed>,
) {
    let (first_hop, first_passed) = (hops.len(), passed_through.len());
    let mut slowest_tx_ns = 0;
    for &index in &flow.path {
        let link = &scenario.links[index as usize];
        let tx_ns = link.sending_ns(flow.packet_bytes());
        let syn_tx_ns = link.sending_ns(flow.stack.ack_bytes);
        // A packet may come as the one before it is leaving: then two are there.
        let holds_two = link.buffer_pkts.is_none_or(|pkts| pkts >= 2)
            && link.ecn_threshold_pkts.is_none_or(|pkts| pkts >= 2);
        let alone = users[index as usize] == 1 && link.per == 0.0;
        let passes = !T::NS2 && alone && tx_ns <= slowest_tx_ns && holds_two;
        if let Some(hop) = hops[first_hop..].last_mut()
            && passes
        {
            hop.onward_ns += tx_ns + link.delay_ns;
            hop.syn_onward_ns += syn_tx_ns + link.delay_ns;
            let hop = hops.len() as u32 - 1;
            for earlier in passed_through[first_passed..].iter_mut().filter(|p| p.hop == hop) {
                earlier.rest_ns += tx_ns + link.delay_ns;
                earlier.syn_rest_ns += syn_tx_ns + link.delay_ns;
            }
            passed_through.push(Passed { link: index, hop, tx_ns, rest_ns: 0, syn_tx_ns, syn_rest_ns: 0 });
        } else {
            hops.push(Hop {
                line: Ring::new(),
                link: index,
                source: 0,
                tx_ns,
                onward_ns: link.delay_ns,
                after_ns: 0,
                lost: 0,
                ecn: flow.stack.ecn,
                syn_tx_ns,
                syn_onward_ns: link.delay_ns,
                syn_passed: false,
                passed: 0,
            });
            slowest_tx_ns = tx_ns;
        }
    }
    if let Some(last) = hops.last_mut()
        && flow.stack.ack_every_pkts == 1
    {
        last.after_ns = flow.return_delay_ns;
    }
}

impl<S> Packet<S> {
    #[inline]
    fn is_syn(&self) -> bool {
        self.segment.tag.has(SYN)
    }
}

impl<T: Clock> Network<T> {
    /// The head of the line behind `hop` leaves it; the one behind is next.
    #[inline(always)]
    fn take_head(&mut self, hop: usize) -> Packet<T::Stamp> {
        let Hop { line, source, after_ns, .. } = &mut self.hops[hop];
        let packet = line.pop_front().expect("a line that is due is not empty");
        self.scheduler.set(*source, line.front().map_or(NEVER, |next| next.at + *after_ns));
        packet
    }

    /// `packet` arrives at hop `hop`.
    #[inline(always)]
    fn forward(&mut self, hop: usize, packet: Packet<T::Stamp>) {
        if T::NS2 {
            self.ns2.now_s = T::clock_s(packet.stamp);
        }
        if packet.is_syn() {
            self.enter_syn(hop, packet.at, packet.segment);
        } else {
            self.enter(hop, packet.at, packet.segment);
        }
    }

    /// `segment`, which is no SYN, arrives at hop `hop` at `now`.
    #[inline(always)]
    fn enter(&mut self, hop: usize, now: u64, segment: Segment) {
        self.enter_as::<false>(hop, now, segment);
    }

    #[cold]
    fn enter_syn(&mut self, hop: usize, now: u64, segment: Segment) {
        self.enter_as::<true>(hop, now, segment);
    }

    #[inline(always)]
    fn enter_as<const IS_SYN: bool>(&mut self, hop: usize, now: u64, mut segment: Segment) {
        let to = &mut self.hops[hop];
        let (tx_ns, onward_ns) =
            if IS_SYN { (to.syn_tx_ns, to.syn_onward_ns) } else { (to.tx_ns, to.onward_ns) };
        let link = &mut self.links[to.link as usize];
        let arrival = if T::NS2 {
            self.ns2.accept(link, (hop, to.link), now, tx_ns, IS_SYN)
        } else {
            link.accept(now, tx_ns).map(|departure| (departure + onward_ns, 0.0))
        };
        let Some((at, clock_s)) = arrival else {
            to.lost += 1;
            return;
        };
        if to.ecn && link.marks(now) {
            segment.tag = segment.tag.with(CONGESTION);
        }
        to.passed += 1;
        to.syn_passed |= IS_SYN;
        to.line.push_back(Packet { at, segment, stamp: T::stamp(clock_s, link.busy_since()) });
        if to.line.len() == 1 {
            self.scheduler.set(to.source, at + to.after_ns);
        }
    }
}

impl<C: CongestionControl> Flow<C> {
    /// The head of the last line arrives at the receiver, or its ACK at the sender.
    #[inline(always)]
    fn on_arrival<T: Clock>(&mut self, now: u64, network: &mut Network<T>) {
        let Packet { at, segment, stamp } = network.take_head(self.last_hop);
        let sender = self.sender.as_ref().expect("a packet comes from a started flow");
        if sender.expects_usual_ack()
            && let Some(next) = self.receiver.receive_next(segment)
        {
            let now = if T::NS2 { network.ns2.acknowledge(self.id, T::clock_s(stamp), 0) } else { now };
            self.deliver_usual(now, next, segment.sent_ns, segment.sent_ns, network);
        } else {
            self.on_other_arrival(at, segment, T::clock_s(stamp), network);
        }
    }

    #[inline(never)]
    fn on_other_arrival<T: Clock>(
        &mut self,
        at: u64,
        segment: Segment,
        clock_s: f64,
        network: &mut Network<T>,
    ) {
        let ack = self.receiver.receive(at, segment);
        if self.every_segment_acked {
            let ack = ack.expect("every segment is acknowledged");
            let now = if T::NS2 {
                network.ns2.acknowledge(self.id, clock_s, self.receiver.early_blocks())
            } else {
                at + self.return_delay_ns
            };
            self.deliver(now, ack, network);
        } else {
            if let Some(ack) = ack {
                self.send_ack(at, ack, &mut network.scheduler);
            }
            self.set_timers(&mut network.scheduler);
        }
    }

    /// An ACK arrives at the sender, and it is one as expected.
    #[inline(always)]
    fn deliver_usual<T: Clock>(
        &mut self,
        now: u64,
        next: u64,
        sent_ns: u64,
        echo_ns: u64,
        network: &mut Network<T>,
    ) {
        let sender = self.sender.as_mut().expect("an ACK answers a started flow");
        sender.on_usual_ack(now, next, sent_ns, echo_ns);
        while let Some(tag) = sender.next_usual_segment(now) {
            network.enter(self.first_hop, now, Segment { tag, sent_ns: now });
        }
        self.hasten_timers(&mut network.scheduler);
    }

    /// An ACK arrives at the sender.
    fn deliver<T: Clock>(&mut self, now: u64, ack: Ack, network: &mut Network<T>) {
        let sender = self.sender.as_mut().expect("an ACK answers a started flow");
        sender.on_ack(now, ack);
        self.transmit(now, network);
    }

    /// Sends what the window allows.
    #[inline(never)]
    fn transmit<T: Clock>(&mut self, now: u64, network: &mut Network<T>) {
        while let Some(tag) = self.sender.as_mut().and_then(|sender| sender.next_segment(now)) {
            self.send(now, tag, network);
        }
        self.hasten_timers(&mut network.scheduler);
    }

    /// The retransmission timer moves with every ACK: when its old time comes, it is looked at again.
    #[inline(always)]
    fn hasten_timers<K: Key>(&mut self, scheduler: &mut Scheduler<K>) {
        if self.sender.as_ref().is_some_and(|sender| sender.timer_at() < self.timers_at) {
            self.set_timers(scheduler);
        }
    }

    #[inline]
    fn send<T: Clock>(&mut self, now: u64, tag: Tag, network: &mut Network<T>) {
        if self.syn && tag == Tag::new(0, 0) {
            network.enter_syn(self.first_hop, now, Segment { tag: tag.with(SYN), sent_ns: now });
        } else {
            network.enter(self.first_hop, now, Segment { tag, sent_ns: now });
        }
    }

    fn send_ack<K: Key>(&mut self, now: u64, ack: Ack, scheduler: &mut Scheduler<K>) {
        let at = now + self.return_delay_ns;
        self.acks.push_back((at, ack));
        if self.acks.len() == 1 {
            // The source behind those of the timers and the hops.
            let hops = self.last_hop - self.first_hop + 1;
            scheduler.set(self.source + 1 + hops as u32, at);
        }
    }

    /// The earliest of the flow's timers.
    #[inline(never)]
    fn set_timers<K: Key>(&mut self, scheduler: &mut Scheduler<K>) {
        let stop = if self.at_stop.is_some() { NEVER } else { self.stop_ns };
        let rto = self.sender.as_ref().map_or(NEVER, Sender::timer_at);
        let ack = self.receiver.ack_due_ns().unwrap_or(NEVER);
        self.timers_at = stop.min(rto).min(ack);
        scheduler.set(self.source, self.timers_at);
    }

    /// Packets that have arrived by `now` in the last line, whose ACKs have not.
    fn arrived_unprocessed<S: Copy + Default>(&self, now: u64, hops: &[Hop<S>]) -> u64 {
        hops[self.last_hop].line.partition_point(|packet| packet.at <= now) as u64
    }

    /// Packets that arrived by `now`, and segments in order.
    fn received_by<S: Copy + Default>(&self, now: u64, hops: &[Hop<S>]) -> (u64, u64) {
        let mut receiver = self.receiver.clone();
        for packet in hops[self.last_hop].line.iter().take_while(|packet| packet.at <= now) {
            receiver.receive(packet.at, packet.segment);
        }
        (receiver.arrived(), receiver.in_order())
    }

    fn result<S: Copy + Default>(
        &mut self,
        id: u32,
        scenario: &Scenario,
        hops: &[Hop<S>],
        end: u64,
    ) -> FlowResult {
        let flow = &scenario.flows[id as usize];
        let (delivered, _) = self.received_by(end, hops);
        let (arrived, in_order) = self.at_stop.unwrap_or_else(|| self.received_by(end, hops));
        let lost: u64 = hops[self.first_hop..=self.last_hop].iter().map(|hop| hop.lost).sum();
        let span_ns = self.stop_ns.min(end) - self.start_ns;
        let (sent, retransmitted, timeouts, mean_cwnd) = self.sender.as_ref().map_or((0, 0, 0, 0.0), |s| {
            (s.sent, s.retransmissions, s.timeouts, s.mean_cwnd(self.start_ns, self.stop_ns.min(end)))
        });
        let rtts = self.sender.as_ref().map(|sender| &sender.rtts);
        FlowResult {
            flow: id,
            cca: flow.cca.name.clone(),
            start_s: self.start_ns as f64 / 1e9,
            stop_s: self.stop_ns as f64 / 1e9,
            sent_pkts: sent,
            retransmitted_pkts: retransmitted,
            delivered_pkts: delivered,
            lost_pkts: lost,
            timeouts,
            throughput_mbps: mbps(arrived * 8 * u64::from(flow.packet_bytes()), span_ns),
            goodput_mbps: mbps(in_order * 8 * u64::from(flow.payload_bytes), span_ns),
            loss_ratio: if sent > 0 { lost as f64 / sent as f64 } else { 0.0 },
            mean_rtt_ms: rtts.and_then(Distribution::mean).map(|ns| ns * 1e-6),
            p95_rtt_ms: rtts.and_then(|rtts| rtts.quantile(0.95)).map(|ns| ns * 1e-6),
            mean_cwnd_pkts: mean_cwnd,
        }
    }
}

impl FlowSamples {
    fn push<C: CongestionControl>(&mut self, now: u64, flow: u32, sender: &Sender<C>, throughput_mbps: f64) {
        self.time_s.push(now as f64 / 1e9);
        self.flow.push(flow);
        self.cwnd_pkts.push(sender.cwnd());
        self.ssthresh_pkts.push(sender.ssthresh());
        self.in_flight_pkts.push(sender.in_flight() as u32);
        self.rtt_ms.push(sender.srtt_ns() as f64 * 1e-6);
        self.throughput_mbps.push(throughput_mbps);
    }
}

fn mbps(bits: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { bits as f64 * 1e3 / span_ns as f64 }
}
