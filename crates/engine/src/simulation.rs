//! Flows, links and the order of events.
//!
//! Time goes on in spans. A packet that has yet to enter the last link of its path when a span begins is not at the
//! receiver, and so is no ACK of it at the sender, before the span ends. So the ends of each flow go through the span by
//! themselves; then each link takes in what has come to it, sorted by time, link after link in the order of the paths.
//! What comes out is what comes out event by event, which are spans of a nanosecond.

use crate::control::{Control, Unfinished};
use crate::memory::ring::{Ring, prefetch};
use crate::ns2::clock::{Clock, Ns2Time};
use crate::path::link::{Link, Totals};
use crate::random::random_stream;
use crate::tcp::packet::{Ack, CONGESTION, SYN, Segment, Tag};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::time::{Fraction, NEVER, Tick};
use chacha20::rand_core::Rng;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowResult, FlowSamples, LinkResult, LinkSamples, Run};
use cwnd_scenario::{Handshake, Samples, Scenario};
use std::sync::atomic::Ordering::Relaxed;

/// No span is longer: what is sorted in it fits in 32 bits.
pub const LONGEST_SPAN_NS: u64 = u32::MAX as u64;
/// Spans are as long as it takes so many packets to come to links, and so many more per flow: what lies between two
/// stages stays in a cache, and each stage has enough to do.
const PACKETS_PER_SPAN: usize = 1024;
const PACKETS_PER_FLOW_AND_SPAN: usize = 4;
/// For so many spans what comes to a link is set apart from what comes later.
const SPANS_AHEAD: u64 = 32;

/// Between two looks at whether the run goes on, at most so many packets are sent by one flow, or come to one link.
const PACKETS_PER_LOOK: usize = 1 << 16;
/// In so many spans the packets in flight are counted once.
const SPANS_PER_COUNT: u64 = 16;
/// Under way at one time, and rows of samples by change: either takes less than 2 GB.
const PACKETS_MAX: usize = 20_000_000;
const ROWS_MAX: usize = 10_000_000;

/// What so many flows need stays in a cache by itself; that of more is asked for some flows or packets ahead.
const FEW_FLOWS: usize = 64;
const FLOWS_AHEAD: usize = 2;
const PACKETS_AHEAD: usize = 8;

pub struct Simulation<'a, C, T: Clock> {
    scenario: &'a Scenario,
    seed: u64,
    network: Network<'a, T>,
    flows: Vec<Flow<'a, C>>,
    /// By flow, if there are to be samples.
    sampled: Vec<Sampled>,
    /// Links where a packet never waits.
    passed_through: Vec<Passed>,
    flow_samples: FlowSamples,
    link_samples: LinkSamples,
    /// When the next sample is due.
    sample_at: u64,
    by_change: bool,
}

/// Where the packets are, and what comes next.
struct Network<'a, T: Clock> {
    control: &'a Control,
    /// More packets are under way than may be.
    crowded: bool,
    /// By flow: when it has something to do.
    due: Vec<u64>,
    /// None of them is sooner.
    earliest_due: u64,
    links: Vec<Link<T::Tick>>,
    /// Flow by flow, in the order of the path.
    hops: Vec<Hop>,
    /// By hop: `tx_ticks` and `onward_ns` of a SYN, which has no payload.
    syn_times: Vec<(u64, u64)>,
    /// By link: what is on its way to it.
    inboxes: Vec<Inbox<T::Exact>>,
    /// By flow: what is on its way to its receiver, in order, until an ACK that it causes is at the sender.
    lines: Vec<Ring<Arrival<T::Exact>>>,
    ns2: Ns2Time,
    /// What comes to a link in a span: when, counted from its beginning, and its place in the inbox. Empty between links.
    order: Vec<u64>,
}

/// One link of a flow's path where packets may wait.
#[repr(align(64))] // a cache line
struct Hop {
    link: u32,
    flow: u32,
    /// The link of the next hop; none: the receiver is next.
    next: Option<u32>,
    /// Its packets come through the inbox although it is the flow's first: other flows use the link, too.
    shared_first: bool,
    /// The flow understands congestion marks.
    ecn: bool,
    /// A SYN is among those that passed.
    syn_passed: bool,
    /// In what the link counts time in.
    tx_ticks: u64,
    /// From the departure to the arrival at the next hop or the receiver.
    onward_ns: u64,
    /// From the arrival at the receiver to the event: the way back.
    after_ns: u64,
    /// Dropped by the link or lost on its wire.
    lost: u64,
    /// Packets that the link took and will deliver.
    passed: u64,
}

/// Packets on their way to a link; those of each hop are in order. What waits in a long queue before the link is not looked
/// through in every span.
struct Inbox<E> {
    /// Those that arrive before `horizon`.
    soon: Vec<Coming<E>>,
    /// Once there were others.
    later: Option<Box<Later<E>>>,
    horizon: u64,
    /// When the first of all arrives, or NEVER.
    earliest: u64,
}

struct Later<E> {
    packets: Vec<Coming<E>>,
    /// When the first of them arrives, or NEVER.
    earliest: u64,
}

/// A packet that arrives at hop `hop`.
#[derive(Clone, Copy)]
struct Coming<E> {
    at: u64,
    exact: E,
    segment: Segment,
    /// The link that sent it has been sending without a pause since then.
    busy_since: u64,
    hop: u32,
}

/// A packet that arrives at its receiver.
#[derive(Clone, Copy, Default)]
struct Arrival<E> {
    at: u64,
    exact: E,
    segment: Segment,
}

/// A link that only one flow crosses, behind one that is no faster: packets come at least as far apart as it
/// takes to send them, so none ever waits or is dropped, and the link is a fixed delay.
pub struct Passed {
    pub link: u32,
    /// The hop in whose line packets cross it.
    hop: u32,
    tx_ns: u64,
    /// From its far end to the end of the line.
    rest_ns: u64,
    /// Both for a SYN.
    syn_tx_ns: u64,
    syn_rest_ns: u64,
    tx_ticks: u64,
    syn_tx_ticks: u64,
}

impl Passed {
    /// `tx_ns` and `rest_ns` of this packet.
    fn times(&self, segment: Segment) -> (u64, u64) {
        if segment.tag.has(SYN) { (self.syn_tx_ns, self.syn_rest_ns) } else { (self.tx_ns, self.rest_ns) }
    }

    /// How long the link has been sending by `end`.
    fn busy_ns<T: Tick>(&self, tally: &Tally, end: u64) -> f64 {
        let syns = u64::from(tally.syn_sent);
        let sent_ticks = (tally.sent - syns) * self.tx_ticks + syns * self.syn_tx_ticks;
        let under_way_ticks = T::count(tally.under_way_ns);
        T::as_ns((sent_ticks + under_way_ticks).min(T::count(end)).into())
    }
}

/// What has become of the packets of a [`Passed`] link.
#[derive(Clone)]
struct Tally {
    entered: u64,
    sent: u64,
    left: u64,
    syn_sent: bool,
    under_way_ns: u64,
}

#[repr(C, align(64))] // cache lines
struct Flow<'a, C> {
    /// When to look at the flow's timers: not after the first of them.
    timers_at: u64,
    return_delay_ns: u64,
    stop_ns: u64,
    id: u32,
    first_hop: u32,
    receiver: Receiver,
    sender: Sender<'a, C>,
    /// Arrived and in order when the flow stops, once more has arrived.
    at_stop: Option<Box<(u64, u64)>>,
    /// When the last packet arrived at the receiver.
    last_arrival_ns: u64,
}

/// A flow as it was when it was sampled last.
#[derive(Clone, Default)]
struct Sampled {
    arrivals: u64,
    /// 0: not yet.
    at_ns: u64,
    /// The window in its last row, when samples are by change.
    window: (u32, u32),
    stopped: bool,
}

impl<'a, C: CongestionControl, T: Clock> Simulation<'a, C, T> {
    /// `finer`: of each link, whether nanoseconds are too coarse for it.
    pub fn new(
        scenario: &'a Scenario,
        finer: &[bool],
        seed: u64,
        control: &'a Control,
        ccs: impl Iterator<Item = C>,
    ) -> Simulation<'a, C, T> {
        let users = count_users(scenario);
        let (mut hops, mut syn_times) = (Vec::new(), Vec::new());
        let mut flows = Vec::with_capacity(scenario.flows.len());
        let mut passed_through = Vec::new();
        for (id, (flow, cc)) in (0..).zip(scenario.flows.iter().zip(ccs)) {
            let start_ns = flow.start_ns + start_jitter_ns(flow, id, seed);
            let first_hop = hops.len() as u32;
            add_hops::<T::Tick>(
                scenario,
                id,
                (&users, finer),
                (&mut hops, &mut syn_times),
                &mut passed_through,
            );
            flows.push(Flow {
                timers_at: start_ns,
                return_delay_ns: flow.return_delay_ns,
                stop_ns: flow.stop_ns,
                id,
                first_hop,
                receiver: Receiver::new(
                    flow.stack.ack_every_pkts,
                    // The SYN is acknowledged at once.
                    flow.stack.quick_acks_pkts.max(u32::from(flow.stack.handshake == Handshake::First)),
                    flow.stack.ack_delay_ns,
                ),
                sender: Sender::new(cc, flow, start_ns),
                at_stop: None,
                last_arrival_ns: 0,
            });
        }
        hops.shrink_to_fit();
        syn_times.shrink_to_fit();
        let ns2 = if T::NS2 {
            let mut passed = &passed_through[..];
            Ns2Time::new(
                scenario,
                (0..).zip(&hops).map(|(id, hop)| {
                    let behind = passed.partition_point(|passed| passed.hop == id);
                    (hop.flow, hop.link, passed.split_off(..behind).expect("so many are there"))
                }),
            )
        } else {
            Ns2Time::default()
        };
        let inbox = || Inbox { soon: Vec::new(), later: None, horizon: 0, earliest: NEVER };
        let network = Network {
            control,
            crowded: false,
            due: flows.iter().map(|flow| flow.timers_at).collect(),
            earliest_due: 0,
            links: scenario.links.iter().map(|link| Link::new(link, seed)).collect(),
            hops,
            syn_times,
            inboxes: scenario.links.iter().map(|_| inbox()).collect(),
            lines: flows.iter().map(|_| Ring::new()).collect(),
            ns2,
            order: Vec::new(),
        };
        let sampled = if scenario.samples == Samples::Off { 0 } else { flows.len() };
        Simulation {
            scenario,
            seed,
            network,
            flows,
            sampled: vec![Sampled::default(); sampled],
            passed_through,
            flow_samples: FlowSamples::default(),
            link_samples: LinkSamples::default(),
            sample_at: if matches!(scenario.samples, Samples::Interval { .. }) { 0 } else { NEVER },
            by_change: scenario.samples == Samples::Change,
        }
    }

    /// No span is longer than `longest_span_ns`.
    pub fn run(mut self, longest_span_ns: u64) -> Result<Run, Unfinished> {
        let control = self.network.control;
        let end = self.scenario.duration_ns;
        let longest_span_ns = self.lookahead_ns().min(longest_span_ns).max(1);
        let wanted = PACKETS_PER_SPAN + PACKETS_PER_FLOW_AND_SPAN * self.flows.len();
        let mut span_ns = 1;
        let mut reported_ns = 0;
        let mut spans = 0_u64;
        loop {
            let now = self.network.next().min(self.sample_at);
            if spans.is_multiple_of(SPANS_PER_COUNT) {
                self.network.count_packets();
            }
            if self.network.crowded {
                return Err(Unfinished::Crowded { packets_max: PACKETS_MAX, at_ns: now });
            }
            if control.stop.load(Relaxed) {
                return Err(Unfinished::Stopped);
            }
            if self.flow_samples.flow.len() > ROWS_MAX && self.by_change {
                return Err(Unfinished::TooManyRows { rows_max: ROWS_MAX, at_ns: now });
            }
            spans += 1;
            control.simulated_ns.fetch_add(now.min(end) - reported_ns, Relaxed);
            reported_ns = now.min(end);
            if now > end {
                return Ok(self.finish(end));
            }
            let until = now.saturating_add(span_ns).min(self.sample_at.saturating_add(1)).min(end + 1);
            let packets = self.go_through(now, until);
            if until > self.sample_at {
                self.sample(self.sample_at);
            }
            if packets < wanted {
                span_ns = (2 * span_ns).min(longest_span_ns);
            } else if packets > 2 * wanted {
                span_ns = (span_ns / 2).max(1);
            }
        }
    }

    /// A packet that enters its last hop now is an event at one of its ends no sooner than after this time.
    fn lookahead_ns(&self) -> u64 {
        let to_the_end = |(hop, &(_, syn_onward_ns)): (&Hop, &(u64, u64))| {
            let (flow, link) =
                (&self.scenario.flows[hop.flow as usize], &self.scenario.links[hop.link as usize]);
            let tx_ns = link.sending_ns(flow.packet_bytes().min(flow.stack.ack_bytes));
            let ns = tx_ns + hop.onward_ns.min(syn_onward_ns) + hop.after_ns;
            let links = flow.path.len() as u64;
            // Two clocks differ by a rounding for each link, and at either end.
            ns.saturating_sub(if T::NS2 { links + 2 } else { 0 })
        };
        let hops = self.network.hops.iter().zip(&self.network.syn_times);
        hops.filter(|(hop, _)| hop.next.is_none()).map(to_the_end).min().unwrap_or(NEVER)
    }

    /// All that happens from `from` on and before `until`; how many packets came to links that flows share.
    fn go_through(&mut self, from: u64, until: u64) -> usize {
        if self.network.earliest_due < until {
            self.network.earliest_due = NEVER;
            for flow in 0..self.flows.len() {
                if let Some(line) = self.network.lines.get(flow + FLOWS_AHEAD) {
                    line.prefetch_front();
                }
                if self.network.due[flow] < until {
                    self.network.due[flow] = self.run_ends(flow, until);
                }
                self.network.earliest_due = self.network.earliest_due.min(self.network.due[flow]);
            }
        }
        (0..self.network.links.len()).map(|link| self.network.take_in(link, from, until)).sum()
    }

    /// What the two ends of a flow do before `until`; when they have something to do then. A long line is gone through in
    /// parts, to look in between whether the run goes on.
    fn run_ends(&mut self, id: usize, until: u64) -> u64 {
        let mut due = self.network.due[id];
        loop {
            let part = self.network.lines[id]
                .get(PACKETS_PER_LOOK)
                .map_or(until, |packet| (packet.at + self.flows[id].return_delay_ns).max(due + 1).min(until));
            due = self.run_ends_through(id, part);
            if part == until || self.network.must_end() {
                return due;
            }
        }
    }

    /// The same in one go.
    fn run_ends_through(&mut self, id: usize, until: u64) -> u64 {
        let flow = &mut self.flows[id];
        let network = &mut self.network;
        loop {
            // What the receiver does shows when an ACK of then is at the sender.
            let arrival = network.lines[id].front().map_or(NEVER, |next| next.at + flow.return_delay_ns);
            let due = flow.timers_at.min(arrival);
            if due >= until {
                return due;
            }
            if due == flow.timers_at {
                flow.on_timers(due, network);
            } else {
                flow.on_arrival(due, network);
            }
            if self.by_change {
                flow.sample_change(due, &mut self.sampled[id], &mut self.flow_samples);
            }
        }
    }

    #[inline(never)]
    fn sample(&mut self, now: u64) {
        let Samples::Interval { interval_ns } = self.scenario.samples else { return };
        self.sample_at = now + interval_ns;
        let time_s = now as f64 / 1e9;
        for (flow, (line, sampled)) in self.flows.iter().zip(self.network.lines.iter().zip(&mut self.sampled))
        {
            if !flow.sender.started || now > flow.stop_ns {
                continue;
            }
            // Those in line have arrived, though their ACKs have not.
            let arrivals = flow.receiver.arrived() + line.partition_point(|packet| packet.at <= now) as u64;
            let packet_bytes = flow.sender.flow.packet_bytes();
            let bits = (arrivals - sampled.arrivals) * 8 * u64::from(packet_bytes);
            let span_ns = now - sampled.at_ns.max(flow.sender.start_ns);
            record(&mut self.flow_samples, now, flow.id, &flow.sender, mbps(bits, span_ns));
            (sampled.arrivals, sampled.at_ns) = (arrivals, now);
        }
        let first = self.link_samples.queue_pkts.len();
        for (id, link) in self.network.links.iter_mut().enumerate() {
            self.link_samples.time_s.push(time_s);
            self.link_samples.link.push(id as u32);
            let ns2 = || self.network.ns2.departures(id, now).count() as u64;
            self.link_samples.queue_pkts.push(if T::NS2 { ns2() } else { link.queue(now) } as u32);
        }
        for passed in &self.passed_through {
            let delay_ns = self.scenario.links[passed.link as usize].delay_ns;
            let sent_at = |at: u64, segment| at.saturating_sub(delay_ns + passed.times(segment).1);
            let sends = |at, segment| {
                let sent_at = sent_at(at, segment);
                (sent_at.saturating_sub(passed.times(segment).0)..sent_at).contains(&now)
            };
            let hop = &self.network.hops[passed.hop as usize];
            let sending = match hop.next {
                Some(next) => {
                    let mut packets = self.network.inboxes[next as usize].packets();
                    packets.any(|p| p.hop == passed.hop + 1 && sends(p.at, p.segment))
                }
                None => {
                    let line = &self.network.lines[hop.flow as usize];
                    let next = line.get(line.partition_point(|p| sent_at(p.at, p.segment) <= now));
                    next.is_some_and(|p| sends(p.at, p.segment))
                }
            };
            self.link_samples.queue_pkts[first + passed.link as usize] = u32::from(sending);
        }
    }

    fn finish(mut self, end: u64) -> Run {
        if T::NS2 {
            for (id, link) in self.network.links.iter_mut().enumerate() {
                link.list(self.network.ns2.departures(id, end));
            }
        }
        let mut totals: Vec<Totals> = self.network.links.iter_mut().map(|link| link.totals(end)).collect();
        // Packets that a link delivers, less those that have yet to be at its far end.
        let mut delivered = vec![0; totals.len()];
        for hop in &self.network.hops {
            delivered[hop.link as usize] += hop.passed;
        }
        let passed_by = |passed: &Passed| self.network.hops[passed.hop as usize].passed;
        let mut tallies: Vec<Tally> = self
            .passed_through
            .iter()
            .map(|passed| {
                let (n, hop) = (passed_by(passed), &self.network.hops[passed.hop as usize]);
                Tally { entered: n, sent: n, left: n, syn_sent: hop.syn_passed, under_way_ns: 0 }
            })
            .collect();
        self.network.between_hops(|hop_id, at, segment| {
            let hop = &self.network.hops[hop_id as usize];
            let is_syn = segment.tag.has(SYN);
            let onward_ns = if is_syn { self.network.syn_times[hop_id as usize].1 } else { hop.onward_ns };
            // By ns-2's clock what is added here may have been rounded to more than all of it there: then it is early in a run.
            let there = at.saturating_sub(onward_ns - self.scenario.links[hop.link as usize].delay_ns);
            delivered[hop.link as usize] -= u64::from(there > end);
            let first = self.passed_through.partition_point(|passed| passed.hop < hop_id);
            for (passed, tally) in self.passed_through.iter().zip(&mut tallies).skip(first) {
                if passed.hop > hop_id {
                    break;
                }
                let (tx_ns, rest_ns) = passed.times(segment);
                let delay_ns = self.scenario.links[passed.link as usize].delay_ns;
                let out = at.saturating_sub(rest_ns);
                let sent = out.saturating_sub(delay_ns);
                tally.left -= u64::from(out > end);
                tally.sent -= u64::from(sent > end);
                tally.entered -= u64::from(sent.saturating_sub(tx_ns) > end);
                if sent > end {
                    tally.syn_sent &= !is_syn;
                    tally.under_way_ns += (end + tx_ns).saturating_sub(sent);
                }
            }
        });
        for (passed, tally) in self.passed_through.iter().zip(&tallies) {
            let busy_ns = passed.busy_ns::<T::Tick>(tally, end);
            let link = passed.link as usize;
            totals[link] = Totals {
                dropped: 0,
                corrupted: 0,
                busy_ns,
                held_ns: busy_ns,
                max_queue: tally.entered.min(1),
            };
            delivered[link] = tally.left;
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
                mean_queue_pkts: totals.held_ns / end as f64,
                max_queue_pkts: totals.max_queue,
                utilization: totals.busy_ns / end as f64,
            })
            .collect();
        drop((self.network.inboxes, self.network.order));
        for (flow, line) in self.flows.iter_mut().zip(self.network.lines) {
            for packet in line.iter().take_while(|packet| packet.at <= end) {
                flow.note_arrival(packet.at);
                flow.receiver.receive(packet.at, packet.segment);
            }
        }
        let last_arrival_ns = self.flows.iter().map(|flow| flow.last_arrival_ns).max().unwrap_or(0);
        let flows: Vec<_> = self.flows.into_iter().map(|flow| flow.result(&self.network.hops, end)).collect();
        if self.by_change {
            self.flow_samples.sort();
        }
        Run {
            seed: self.seed,
            packets: flows.iter().map(|flow| flow.sent_pkts).sum(),
            last_arrival_ns,
            flows,
            links,
            flow_samples: self.flow_samples,
            link_samples: self.link_samples,
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

/// How many flows cross each link.
fn count_users(scenario: &Scenario) -> Vec<u32> {
    let mut users = vec![0; scenario.links.len()];
    for &link in scenario.flows.iter().flat_map(|flow| &flow.path) {
        users[link as usize] += 1;
    }
    users
}

/// Of each link, whether nanoseconds are too coarse for it. They are not if to the nearest one its packets take as long as
/// its rate makes them, or longer by no more than a thousandth; or shorter by no more, where only one flow comes, whose
/// pace a slower link sets. With the clock of ns-2 they only count how long the link was busy.
pub fn finer_links(scenario: &Scenario) -> Vec<bool> {
    let users = count_users(scenario);
    let mut finer = vec![false; scenario.links.len()];
    for flow in &scenario.flows {
        let rate_bps = |index: &u32| scenario.links[*index as usize].rate_bps;
        let slowest_bps = flow.path.iter().map(rate_bps).min();
        for &index in &flow.path {
            let link = &scenario.links[index as usize];
            let paced = users[index as usize] == 1 && Some(link.rate_bps) > slowest_bps;
            let bit_ns = u128::from(flow.packet_bytes()) * 8_000_000_000;
            let rounded = u128::from(link.sending_ns(flow.packet_bytes())) * u128::from(link.rate_bps);
            let slow_enough = rounded >= bit_ns || paced || scenario.clock == cwnd_scenario::Clock::Ns2;
            finer[index as usize] |= !slow_enough || 1000 * rounded.abs_diff(bit_ns) > bit_ns;
        }
    }
    finer
}

/// The links of a flow's path where its packets may wait go to `hops`, the others to `passed_through`.
fn add_hops<T: Tick>(
    scenario: &Scenario,
    id: u32,
    (users, finer): (&[u32], &[bool]),
    (hops, syn_times): (&mut Vec<Hop>, &mut Vec<(u64, u64)>),
    passed_through: &mut Vec<Passed>,
) {
    let flow = &scenario.flows[id as usize];
    let (first_hop, first_passed) = (hops.len(), passed_through.len());
    // Between packets that the link before sends.
    let mut apart_ns = 0;
    for &index in &flow.path {
        let link = &scenario.links[index as usize];
        let sizes = [flow.packet_bytes(), flow.stack.ack_bytes];
        let [tx_ticks, syn_tx_ticks] = sizes.map(|bytes| match finer[index as usize] {
            true => Fraction::sending_ticks(link, bytes),
            false => T::count(link.sending_ns(bytes)),
        });
        let [tx_ns, syn_tx_ns] = [tx_ticks, syn_tx_ticks].map(T::ns_after);
        // A packet may come as the one before it is leaving: then two are there.
        let holds_two = link.buffer_pkts.is_none_or(|pkts| pkts >= 2)
            && link.ecn_threshold_pkts.is_none_or(|pkts| pkts >= 2);
        let alone = users[index as usize] == 1;
        // What follows a larger SYN may wait for it.
        let no_slower = tx_ns <= apart_ns && syn_tx_ns <= tx_ns;
        let passes = alone && link.per == 0.0 && no_slower && holds_two;
        let last = hops.len() as u32;
        if let Some(hop) = hops[first_hop..].last_mut() {
            if passes {
                hop.onward_ns += tx_ns + link.delay_ns;
                syn_times[last as usize - 1].1 += syn_tx_ns + link.delay_ns;
                for earlier in passed_through[first_passed..].iter_mut().filter(|p| p.hop == last - 1) {
                    earlier.rest_ns += tx_ns + link.delay_ns;
                    earlier.syn_rest_ns += syn_tx_ns + link.delay_ns;
                }
                let hop = last - 1;
                passed_through.push(Passed {
                    link: index,
                    hop,
                    tx_ns,
                    rest_ns: 0,
                    syn_tx_ns,
                    syn_rest_ns: 0,
                    tx_ticks,
                    syn_tx_ticks,
                });
                continue;
            }
            hop.next = Some(index);
        }
        hops.push(Hop {
            link: index,
            flow: id,
            next: None,
            shared_first: hops.len() == first_hop && !alone,
            ecn: flow.stack.ecn,
            syn_passed: false,
            tx_ticks,
            onward_ns: link.delay_ns,
            after_ns: 0,
            lost: 0,
            passed: 0,
        });
        syn_times.push((syn_tx_ticks, link.delay_ns));
        apart_ns = tx_ticks / T::count(1);
    }
    if let Some(last) = hops.last_mut() {
        last.after_ns = flow.return_delay_ns;
    }
}

impl<E: Copy> Inbox<E> {
    #[inline(always)]
    fn push(&mut self, packet: Coming<E>) {
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

    fn len(&self) -> usize {
        self.soon.len() + self.later.as_ref().map_or(0, |later| later.packets.len())
    }

    fn packets(&self) -> impl Iterator<Item = &Coming<E>> {
        self.soon.iter().chain(self.later.iter().flat_map(|later| &later.packets))
    }

    /// A span of `span_ns` ends at `until`.
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

impl<T: Clock> Network<'_, T> {
    fn count_packets(&mut self) {
        let on_links: usize = self.inboxes.iter().map(Inbox::len).sum();
        let in_lines: usize = self.lines.iter().map(Ring::len).sum();
        self.crowded = on_links + in_lines > PACKETS_MAX;
    }

    /// Whether the run does not go on.
    #[cold]
    fn must_end(&mut self) -> bool {
        self.count_packets();
        self.crowded || self.control.stop.load(Relaxed)
    }

    /// When the next thing happens.
    fn next(&self) -> u64 {
        let arrivals = self.inboxes.iter().map(|inbox| inbox.earliest).min().unwrap_or(NEVER);
        arrivals.min(self.earliest_due)
    }

    /// Calls `see` with each packet that is on its way to the next hop or to the receiver: the hop that it is behind, and
    /// when it will be there.
    fn between_hops(&self, mut see: impl FnMut(u32, u64, Segment)) {
        for packet in self.inboxes.iter().flat_map(Inbox::packets) {
            // By ns-2's clock an ACK may be later than its event, and what it lets go later than the end.
            if !self.hops[packet.hop as usize].shared_first {
                see(packet.hop - 1, packet.at, packet.segment);
            }
        }
        let mut hop = 0;
        for line in &self.lines {
            while self.hops[hop].next.is_some() {
                hop += 1;
            }
            line.iter().for_each(|packet| see(hop as u32, packet.at, packet.segment));
            hop += 1;
        }
    }

    /// A flow sends `segment` at `now`; `hop` is its first.
    #[inline(always)]
    fn enter<const IS_SYN: bool>(&mut self, hop: u32, now: u64, segment: Segment) {
        let to = &self.hops[hop as usize];
        if to.shared_first {
            let exact = T::exact(self.ns2.now_s);
            self.inboxes[to.link as usize].push(Coming { at: now, exact, segment, busy_since: 0, hop });
        } else {
            self.pass::<IS_SYN>(hop, now, segment);
        }
    }

    /// What comes to `link` before `until`, from `from` on; how many packets.
    fn take_in(&mut self, link: usize, from: u64, until: u64) -> usize {
        if self.inboxes[link].earliest >= until {
            return 0;
        }
        self.inboxes[link].look_ahead(until, until - from);
        let mut order = std::mem::take(&mut self.order);
        let mut packets = std::mem::take(&mut self.inboxes[link].soon);
        let mut earliest = NEVER;
        for (place, packet) in packets.iter().enumerate() {
            if packet.at < until {
                order.push(packet.at.saturating_sub(from) << 32 | place as u64);
            } else {
                earliest = earliest.min(packet.at);
            }
        }
        order.sort();
        let (mut next, mut in_order) = (0, 0);
        while next < order.len() && !self.control.stop.load(Relaxed) {
            let part = order.len().min(next + PACKETS_PER_LOOK);
            while next < part {
                if next == in_order {
                    let alike = |place: &u64| place >> 32 == order[next] >> 32;
                    in_order += order[next..].iter().take_while(|place| alike(place)).count();
                    if in_order - next > 1 {
                        self.sort_tied(&mut order[next..in_order], &packets);
                    }
                }
                if self.due.len() > FEW_FLOWS {
                    self.prefetch(&order[next..], &packets);
                }
                self.pass_any(packets[order[next] as u32 as usize]);
                next += 1;
            }
        }
        let came = order.len();
        order.clear();
        self.order = order;
        if came == packets.len() {
            packets.clear();
        } else {
            packets.retain(|packet| packet.at >= until);
        }
        let inbox = &mut self.inboxes[link];
        inbox.soon = packets;
        inbox.earliest = earliest.min(inbox.later.as_ref().map_or(NEVER, |later| later.earliest));
        came
    }

    /// The places of packets that come next: asks for what they need.
    #[inline(never)]
    fn prefetch(&self, places: &[u64], packets: &[Coming<T::Exact>]) {
        let packet = |ahead: usize| places.get(ahead).map(|&place| &packets[place as u32 as usize]);
        let line = |packet: &Coming<T::Exact>| &self.lines[self.hops[packet.hop as usize].flow as usize];
        if let Some(packet) = packet(4 * PACKETS_AHEAD) {
            prefetch(packet);
        }
        if let Some(packet) = packet(3 * PACKETS_AHEAD) {
            prefetch(&raw const self.hops[packet.hop as usize]);
        }
        if let Some(packet) = packet(2 * PACKETS_AHEAD) {
            prefetch(line(packet));
        }
        if let Some(packet) = packet(PACKETS_AHEAD) {
            line(packet).prefetch_back();
        }
    }

    /// Packets that arrive at the same instant: first those that flows send just then, then the one whose last link began
    /// sending without a pause latest, then the lower flow. In a simulator that runs simultaneous events in the order in
    /// which they were scheduled, as ns-2 does, it comes out so; and no flow wins every time.
    #[cold]
    fn sort_tied(&self, places: &mut [u64], packets: &[Coming<T::Exact>]) {
        places.sort_by_key(|&place| {
            let packet = &packets[place as u32 as usize];
            let sent_now = self.hops[packet.hop as usize].shared_first;
            ((!sent_now).then(|| T::rank(packet.exact, packet.busy_since)), packet.hop)
        });
    }

    #[inline(always)]
    fn pass_any(&mut self, packet: Coming<T::Exact>) {
        if T::NS2 {
            self.ns2.now_s = T::clock_s(packet.exact);
        }
        if packet.segment.tag.has(SYN) {
            self.pass_syn(packet.hop, packet.at, packet.segment);
        } else {
            self.pass::<false>(packet.hop, packet.at, packet.segment);
        }
    }

    #[cold]
    fn pass_syn(&mut self, hop: u32, now: u64, segment: Segment) {
        self.pass::<true>(hop, now, segment);
    }

    /// `segment` arrives at the link of hop `hop` at `now`, and what becomes of it is known.
    #[inline(always)]
    fn pass<const IS_SYN: bool>(&mut self, hop: u32, now: u64, mut segment: Segment) {
        let to = &mut self.hops[hop as usize];
        let (tx_ticks, onward_ns) =
            if IS_SYN { self.syn_times[hop as usize] } else { (to.tx_ticks, to.onward_ns) };
        let link = &mut self.links[to.link as usize];
        let arrival = if T::NS2 {
            self.ns2.accept(link, (hop, to.link), now, tx_ticks, IS_SYN)
        } else {
            link.accept(now, tx_ticks).map(|departure| (departure + onward_ns, 0.0))
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
        let exact = T::exact(clock_s);
        if let Some(next) = to.next {
            let busy_since = link.busy_since_ns();
            self.inboxes[next as usize].push(Coming { at, exact, segment, busy_since, hop: hop + 1 });
            return;
        }
        let line = &mut self.lines[to.flow as usize];
        line.push_back(Arrival { at, exact, segment });
        if line.len() == 1 {
            let due = &mut self.due[to.flow as usize];
            *due = (*due).min(at + to.after_ns);
            self.earliest_due = self.earliest_due.min(*due);
        }
    }
}

impl<C: CongestionControl> Flow<'_, C> {
    /// Start, stop, retransmission timeout, delayed ACK.
    #[inline(never)]
    fn on_timers<T: Clock>(&mut self, due: u64, network: &mut Network<T>) {
        let now = if T::NS2 { network.ns2.set(self.id, due) } else { due };
        if !self.sender.started {
            self.sender.start();
            self.transmit(now, network);
        }
        if self.stop_ns <= now && !self.sender.closed {
            self.sender.close();
        } else if self.sender.timer_at() <= now {
            if let Some(segment) = self.sender.on_timer(now) {
                self.send(now, segment, network);
            }
            self.transmit(now, network);
        }
        if self.ack_due() <= now
            && let Some(ack) = self.receiver.acknowledge_waiting()
        {
            self.on_ack(now, ack, network);
        }
        self.set_timers();
    }

    /// When a delayed ACK, if there is one, is at the sender, or NEVER.
    #[inline]
    fn ack_due(&self) -> u64 {
        self.receiver.ack_due_ns().map_or(NEVER, |due| due + self.return_delay_ns)
    }

    /// What the head of the line causes at the receiver is at the sender.
    #[inline(always)]
    fn on_arrival<T: Clock>(&mut self, now: u64, network: &mut Network<T>) {
        let line = &mut network.lines[self.id as usize];
        let Arrival { at, segment, exact } = line.pop_front().expect("a line that is due is not empty");
        self.note_arrival(at);
        if self.sender.is_on_fast_path()
            && let Some(next) = self.receiver.receive_next(segment)
        {
            let now = if T::NS2 { network.ns2.acknowledge(self.id, T::clock_s(exact), 0) } else { now };
            self.deliver_usual(now, next, segment.sent_ns, segment.sent_ns, network);
        } else {
            self.on_other_arrival(at, segment, T::clock_s(exact), network);
        }
    }

    /// A packet arrives at the receiver at `at`.
    #[inline(always)]
    fn note_arrival(&mut self, at: u64) {
        if at > self.stop_ns && self.at_stop.is_none() {
            self.at_stop = Some(Box::new(self.received()));
        }
        self.last_arrival_ns = at;
    }

    /// Packets that have arrived, and segments in order.
    fn received(&self) -> (u64, u64) {
        (self.receiver.arrived(), self.receiver.in_order())
    }

    #[inline(never)]
    fn on_other_arrival<T: Clock>(
        &mut self,
        at: u64,
        segment: Segment,
        clock_s: f64,
        network: &mut Network<T>,
    ) {
        if let Some(ack) = self.receiver.receive(at, segment) {
            let due = at + self.return_delay_ns;
            let now = match T::NS2 {
                true if self.receiver.acknowledges_each() => {
                    network.ns2.acknowledge(self.id, clock_s, self.receiver.blocks().count())
                }
                true => network.ns2.set(self.id, due),
                false => due,
            };
            self.on_ack(now, ack, network);
        }
        if self.ack_due() < self.timers_at {
            self.set_timers();
        }
    }

    /// An ACK arrives at the sender.
    #[inline(always)]
    fn on_ack<T: Clock>(&mut self, now: u64, ack: Ack, network: &mut Network<T>) {
        if self.sender.takes_fast_path(&ack) {
            self.deliver_usual(now, ack.next, ack.sent_ns, ack.echo_ns, network);
        } else {
            self.sender.on_ack(now, ack, &self.receiver);
            self.transmit(now, network);
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
        self.sender.on_fast_path_ack(now, next, sent_ns, echo_ns);
        let Some(segments) = self.sender.next_fast_path_segments(now, PACKETS_PER_LOOK as u64) else {
            return self.transmit(now, network);
        };
        for seq in segments {
            network.enter::<false>(self.first_hop, now, Segment { tag: Tag::new(seq, 0), sent_ns: now });
        }
        self.hasten_timers();
    }

    /// Sends what the window allows.
    #[inline(never)]
    fn transmit<T: Clock>(&mut self, now: u64, network: &mut Network<T>) {
        for _ in 0..PACKETS_PER_LOOK {
            let Some(tag) = self.sender.next_segment(now) else { return self.hasten_timers() };
            self.send(now, tag, network);
        }
        if network.must_end() {
            self.sender.close();
        } else {
            self.sender.wake_at(now);
        }
        self.hasten_timers();
    }

    /// The retransmission timer moves with every ACK: when its old time comes, it is looked at again.
    #[inline(always)]
    fn hasten_timers(&mut self) {
        if self.sender.timer_at() < self.timers_at {
            self.set_timers();
        }
    }

    #[inline]
    fn send<T: Clock>(&mut self, now: u64, tag: Tag, network: &mut Network<T>) {
        if tag == Tag::new(0, 0) && self.sender.flow.stack.handshake != Handshake::Off {
            network.enter::<true>(self.first_hop, now, Segment { tag: tag.with(SYN), sent_ns: now });
        } else {
            network.enter::<false>(self.first_hop, now, Segment { tag, sent_ns: now });
        }
    }

    /// The earliest of the flow's timers.
    #[inline(never)]
    fn set_timers(&mut self) {
        let stop = if self.sender.closed { NEVER } else { self.stop_ns };
        self.timers_at = stop.min(self.sender.timer_at()).min(self.ack_due());
    }

    /// Records the flow, if its window changed.
    #[inline(never)]
    fn sample_change(&self, now: u64, sampled: &mut Sampled, samples: &mut FlowSamples) {
        let window = (self.sender.cwnd(), self.sender.ssthresh());
        if window != sampled.window || self.sender.closed && !sampled.stopped {
            (sampled.window, sampled.stopped) = (window, self.sender.closed);
            record(samples, now, self.id, &self.sender, 0.0);
        }
    }

    /// All that arrives by `end` has arrived.
    fn result(self, hops: &[Hop], end: u64) -> FlowResult {
        let Sender { flow, start_ns, sent, retransmissions, timeouts, rtts, .. } = &self.sender;
        let (arrived, in_order) = self.at_stop.as_deref().copied().unwrap_or_else(|| self.received());
        let stop_ns = self.stop_ns.min(end);
        let hops = hops[self.first_hop as usize..].iter();
        let lost = hops.take_while(|hop| hop.flow == self.id).map(|hop| hop.lost).sum();
        let span_ns = stop_ns - start_ns;
        FlowResult {
            flow: self.id,
            cca: flow.cca.name.clone(),
            start_s: *start_ns as f64 / 1e9,
            stop_s: stop_ns as f64 / 1e9,
            sent_pkts: *sent,
            retransmitted_pkts: *retransmissions,
            delivered_pkts: self.receiver.arrived(),
            lost_pkts: lost,
            timeouts: *timeouts,
            throughput_mbps: mbps(arrived * 8 * u64::from(flow.packet_bytes()), span_ns),
            goodput_mbps: mbps(in_order * 8 * u64::from(flow.payload_bytes), span_ns),
            loss_ratio: if *sent > 0 { lost as f64 / *sent as f64 } else { 0.0 },
            mean_rtt_ms: rtts.mean().map(|ns| ns * 1e-6),
            p95_rtt_ms: rtts.quantile(0.95).map(|ns| ns * 1e-6),
            mean_cwnd_pkts: if self.sender.started { self.sender.mean_cwnd(stop_ns) } else { 0.0 },
        }
    }
}

/// Adds a row of a flow's time series.
fn record<C: CongestionControl>(
    samples: &mut FlowSamples,
    now: u64,
    flow: u32,
    sender: &Sender<'_, C>,
    throughput_mbps: f64,
) {
    samples.time_s.push(now as f64 / 1e9);
    samples.flow.push(flow);
    samples.cwnd_pkts.push(sender.cwnd());
    samples.ssthresh_pkts.push(sender.ssthresh());
    samples.in_flight_pkts.push(sender.in_flight() as u32);
    samples.rtt_ms.push(sender.srtt_ns() as f64 * 1e-6);
    samples.throughput_mbps.push(throughput_mbps);
}

fn mbps(bits: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { bits as f64 * 1e3 / span_ns as f64 }
}
