//! What a run shows: samples while it goes on, and results at its end.

use crate::acks::AckCounts;
use crate::connection::Connection;
use crate::network::Network;
use crate::path::accounting::Totals;
use crate::path::link::PathLink;
use crate::path::timing::Timing;
use crate::path::wire::WireCounts;
use crate::tcp::packet::Segment;
use crate::tcp::sender::Sender;
use crate::time::{NEVER, Tick};
use crate::topology::{DelayOnlyLink, Topology};
use crate::traffic::group::Group;
use crate::traffic::source::Row;
use crate::traffic::udp::Udp;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowResult, FlowSamples, LinkResult, LinkSamples, Transfers};
use cwnd_scenario::{Samples, Scenario};

/// A run at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub now_ns: u64,
    /// In the order of the scenario.
    pub flows: Vec<FlowObservation>,
    pub links: Vec<LinkObservation>,
}

/// Of a flow with arrivals, the sums over its connections: windows and packets in flight of those that are open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowObservation {
    pub cwnd_pkts: u32,
    pub ssthresh_pkts: u32,
    pub in_flight_pkts: u64,
    /// Smoothed (RFC 6298); 0: no sample yet.
    pub srtt_ns: u64,
    pub sent_pkts: u64,
    /// Packets that have arrived at the receiver, duplicates included.
    pub delivered_pkts: u64,
    /// None: its ACKs cross no links.
    pub acks: Option<AckCounts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkObservation {
    /// The packet being sent included.
    pub queue_pkts: u64,
    /// None: no discipline manages its queue.
    pub wire: Option<WireCounts>,
}

/// Takes the time series that a scenario asks for.
pub struct Sampler {
    /// None: no samples at intervals.
    interval_ns: Option<u64>,
    pub by_change: bool,
    /// When the next sample is due, or NEVER.
    pub due_ns: u64,
    /// By flow, if there are to be samples.
    sampled: Vec<Sampled>,
    pub flow_samples: FlowSamples,
    pub link_samples: LinkSamples,
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

impl Sampler {
    pub fn new(scenario: &Scenario) -> Sampler {
        let interval_ns = match scenario.samples {
            Samples::Interval { interval_ns } => Some(interval_ns),
            Samples::Off | Samples::Change => None,
        };
        let sampled = if scenario.samples == Samples::Off { 0 } else { scenario.flows.len() };
        Sampler {
            interval_ns,
            by_change: scenario.samples == Samples::Change,
            due_ns: interval_ns.map_or(NEVER, |_| 0),
            sampled: vec![Sampled::default(); sampled],
            flow_samples: FlowSamples::default(),
            link_samples: LinkSamples::default(),
        }
    }

    /// A sample is due now.
    #[inline(never)]
    pub fn sample<C: CongestionControl, T: Timing>(
        &mut self,
        flows: &[Connection<C>],
        network: &mut Network<T>,
    ) {
        let (now, Some(interval_ns)) = (self.due_ns, self.interval_ns) else { return };
        self.due_ns = now + interval_ns;
        for (flow, sampled) in flows.iter().zip(&mut self.sampled) {
            // A flow of many connections has no time series.
            if !flow.sender.started || now > flow.stop_ns || flow.sender.flow.arrivals().is_some() {
                continue;
            }
            let arrivals = arrivals(flow, network, now);
            let packet_bytes = flow.sender.flow.packet_bytes();
            let bits = (arrivals - sampled.arrivals) * 8 * u64::from(packet_bytes);
            let span_ns = now - sampled.at_ns.max(flow.sender.start_ns);
            record(&mut self.flow_samples, now, flow.id, &flow.sender, mbps(bits, span_ns));
            (sampled.arrivals, sampled.at_ns) = (arrivals, now);
        }
        for (id, queue_pkts) in (0..).zip(queues(network, now)) {
            self.link_samples.time_s.push(now as f64 / 1e9);
            self.link_samples.link.push(id);
            self.link_samples.queue_pkts.push(queue_pkts as u32);
        }
    }

    /// Records a flow at `now`, if its window changed.
    #[inline(never)]
    pub fn sample_change<C: CongestionControl>(&mut self, now: u64, flow: &Connection<C>) {
        if flow.sender.flow.arrivals().is_some() {
            return;
        }
        let sampled = &mut self.sampled[flow.id as usize];
        let window = (flow.sender.cwnd(), flow.sender.ssthresh());
        if window != sampled.window || flow.sender.closed && !sampled.stopped {
            (sampled.window, sampled.stopped) = (window, flow.sender.closed);
            record(&mut self.flow_samples, now, flow.id, &flow.sender, 0.0);
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

/// All that happens by `now` has happened.
pub fn observe<C: CongestionControl, T: Timing>(
    now: u64,
    flows: &[Connection<C>],
    groups: &[Group],
    udps: &[Udp],
    network: &mut Network<T>,
) -> Observation {
    let queues = queues(network, now);
    let wire = |id| network.managed.get(&id).map(|link| link.wire.counts);
    let links = (0..).zip(queues).map(|(id, queue_pkts)| LinkObservation { queue_pkts, wire: wire(id) });
    let links = links.collect();
    let observed = |flow: &Connection<C>| FlowObservation {
        cwnd_pkts: flow.sender.cwnd(),
        ssthresh_pkts: flow.sender.ssthresh(),
        in_flight_pkts: flow.sender.in_flight(),
        srtt_ns: flow.sender.srtt_ns(),
        sent_pkts: flow.sender.sent,
        delivered_pkts: arrivals(flow, network, now),
        acks: flow.first_back_hop.map(|_| network.acks[flow.id as usize].counts),
    };
    let own = flows.iter().take_while(|flow| network.ranks[flow.id as usize].0 == flow.id);
    let mut all: Vec<FlowObservation> = own.map(observed).collect();
    for udp in udps {
        let on_the_way = arrivals(&flows[udp.id as usize], network, now);
        let (sent_pkts, delivered_pkts) = (udp.sent, udp.arrived + on_the_way);
        all[udp.id as usize] = FlowObservation { sent_pkts, delivered_pkts, ..FlowObservation::default() };
    }
    for group in groups {
        let (sent_pkts, delivered_pkts) = (group.totals.sent, group.totals.arrived);
        let mut sum = FlowObservation { sent_pkts, delivered_pkts, ..FlowObservation::default() };
        for flow in group.slots.iter().map(|&slot| &flows[slot as usize]) {
            let one = observed(flow);
            sum.sent_pkts += one.sent_pkts;
            sum.delivered_pkts += one.delivered_pkts;
            if !flow.sender.closed {
                sum.cwnd_pkts += one.cwnd_pkts;
                sum.in_flight_pkts += one.in_flight_pkts;
            }
        }
        all[group.id as usize] = sum;
    }
    Observation { now_ns: now, flows: all, links }
}

/// Packets that have arrived at a flow's receiver by `now`, though the ACKs of some have not.
fn arrivals<C: CongestionControl, T: Timing>(flow: &Connection<C>, network: &Network<T>, now: u64) -> u64 {
    let packets = &network.to_receiver[flow.id as usize];
    flow.receiver.arrived() + packets.partition_point(|packet| packet.at <= now) as u64
}

/// Of each link: packets that it holds at `now`.
fn queues<T: Timing>(network: &mut Network<T>, now: u64) -> Vec<u64> {
    let mut queues: Vec<u64> = network.links.iter_mut().map(|link| link.held_pkts(now)).collect();
    for (&id, link) in &network.managed {
        queues[id as usize] = link.held_pkts(now);
    }
    for delay_only in &network.topology.delay_only {
        queues[delay_only.link as usize] = u64::from(sends(network, delay_only, now));
    }
    queues
}

/// Whether a delay-only link is sending at `now`.
fn sends<T: Timing>(network: &Network<T>, link: &DelayOnlyLink, now: u64) -> bool {
    let topology = &network.topology;
    let hop = &topology.hops[link.hop as usize];
    let delay_ns = topology.link(link.link).delay_ns;
    let full = topology.delay_only_times(link, hop.bytes);
    // When the link has sent a packet that arrives at `at`, and how long that takes.
    let sending = |at: u64, segment: Segment| {
        let bytes = segment.tag.bytes();
        let times = if bytes == hop.bytes { full } else { topology.delay_only_times(link, bytes) };
        (at.saturating_sub(delay_ns + times.rest_ns), times.tx_ns)
    };
    let sends = |at: u64, segment: Segment| {
        let (sent_at, tx_ns) = sending(at, segment);
        (sent_at.saturating_sub(tx_ns)..sent_at).contains(&now)
    };
    match hop.next {
        Some(next) => {
            let mut packets = network.inboxes[next as usize].packets();
            packets.any(|packet| packet.hop == link.hop + 1 && sends(packet.at, packet.segment))
        }
        None => {
            let packets = &network.to_receiver[hop.flow as usize];
            let next = packets.partition_point(|packet| sending(packet.at, packet.segment).0 <= now);
            packets.get(next).is_some_and(|packet| sends(packet.at, packet.segment))
        }
    }
}

/// What has become of the packets of a delay-only link.
#[derive(Clone)]
struct Tally {
    entered: u64,
    /// Of packets that wait before the link for longer than the run, too, until these are taken away.
    sent_ticks: u128,
    left: u64,
    under_way_ns: u64,
}

/// Of each link, at the `end` of the run.
pub fn link_results<T: Timing>(network: &mut Network<T>, end: u64) -> Vec<LinkResult> {
    let mut totals: Vec<Totals> = network.links.iter_mut().map(|link| link.totals(end)).collect();
    for (&id, link) in &network.managed {
        totals[id as usize] = link.totals(end);
    }
    let topology = &network.topology;
    // Packets that a link delivers, less those that have yet to be at its far end.
    let mut delivered = vec![0; totals.len()];
    for hop in &topology.hops {
        delivered[hop.link as usize] += hop.passed;
    }
    let full = topology
        .delay_only
        .iter()
        .map(|link| topology.delay_only_times(link, topology.hops[link.hop as usize].bytes));
    let full: Vec<_> = full.collect();
    let mut tallies: Vec<Tally> = Vec::with_capacity(full.len());
    for (link, full) in topology.delay_only.iter().zip(&full) {
        let entered = topology.hops[link.hop as usize].passed;
        let mut sent_ticks = u128::from(entered) * u128::from(full.tx_ticks);
        for (&(_, bytes), count) in network.other_sizes.range((link.hop, 0)..(link.hop + 1, 0)) {
            let (count, times) = (u128::from(*count), topology.delay_only_times(link, bytes));
            sent_ticks = sent_ticks - count * u128::from(full.tx_ticks) + count * u128::from(times.tx_ticks);
        }
        tallies.push(Tally { entered, sent_ticks, left: entered, under_way_ns: 0 });
    }
    network.between_hops(|hop_id, at, segment| {
        let hop = &topology.hops[hop_id as usize];
        let bytes = segment.tag.bytes();
        let onward_ns = topology.times(hop_id, bytes).1;
        // Where links add up seconds, what is added here may have been rounded to more than all of it: then it is early.
        let there = at.saturating_sub(onward_ns - topology.link(hop.link).delay_ns);
        delivered[hop.link as usize] -= u64::from(there > end);
        let first = topology.delay_only.partition_point(|link| link.hop < hop_id);
        let behind = topology.delay_only.iter().zip(&full).zip(&mut tallies).skip(first);
        for ((link, full), tally) in behind.take_while(|((link, _), _)| link.hop == hop_id) {
            let times = if bytes == hop.bytes { *full } else { topology.delay_only_times(link, bytes) };
            let out = at.saturating_sub(times.rest_ns);
            let sent = out.saturating_sub(topology.link(link.link).delay_ns);
            tally.left -= u64::from(out > end);
            tally.entered -= u64::from(sent.saturating_sub(times.tx_ns) > end);
            if sent > end {
                tally.sent_ticks -= u128::from(times.tx_ticks);
                tally.under_way_ns += (end + times.tx_ns).saturating_sub(sent);
            }
        }
    });
    for (link, tally) in topology.delay_only.iter().zip(&tallies) {
        let busy_ticks = tally.sent_ticks + u128::from(T::Tick::count(tally.under_way_ns));
        let busy_ns = T::Tick::as_ns(busy_ticks.min(T::Tick::count(end).into()));
        let max_queue = tally.entered.min(1);
        totals[link.link as usize] =
            Totals { dropped: 0, corrupted: 0, busy_ns, held_ns: busy_ns, max_queue };
        delivered[link.link as usize] = tally.left;
    }
    let links = (0..).zip(totals.iter().zip(delivered));
    links
        .map(|(id, (totals, delivered))| LinkResult {
            link: topology.link(id).name.clone(),
            delivered_pkts: delivered,
            dropped_pkts: totals.dropped,
            error_pkts: totals.corrupted,
            mean_queue_pkts: totals.held_ns / end as f64,
            max_queue_pkts: totals.max_queue,
            utilization: totals.busy_ns / end as f64,
            marked_pkts: network.marked[id as usize],
        })
        .collect()
}

/// Of a flow, at the `end` of the run. All that arrives by then has arrived.
pub fn flow_result<C: CongestionControl, T: Tick>(
    connection: &Connection<C>,
    topology: &Topology<T>,
    end: u64,
) -> FlowResult {
    let Sender { flow, start_ns, sent, retransmissions, timeouts, rtts, source, .. } = &connection.sender;
    let (arrived, in_order) = connection.received_until_stop();
    let finished_ns = source.as_ref().and_then(|source| source.finished_ns);
    let stop_ns = finished_ns.unwrap_or(connection.stop_ns).min(end);
    let lost = connection.lost(topology);
    let (arrived_bytes, delivered_bytes) = match source {
        Some(source) => (source.arrived_bytes, source.delivered_bytes(in_order)),
        None => (arrived * u64::from(flow.packet_bytes()), in_order * u64::from(flow.payload_bytes)),
    };
    let rows = source.iter().flat_map(|source| source.all_rows(end, *retransmissions));
    let span_ns = stop_ns - start_ns;
    let mean_cwnd_pkts = if connection.sender.started { connection.sender.mean_cwnd(stop_ns) } else { 0.0 };
    FlowResult {
        flow: connection.id,
        cca: flow.cca.name.clone(),
        start_s: *start_ns as f64 / 1e9,
        stop_s: stop_ns as f64 / 1e9,
        sent_pkts: *sent,
        retransmitted_pkts: *retransmissions,
        delivered_pkts: connection.receiver.arrived(),
        lost_pkts: lost,
        timeouts: *timeouts,
        throughput_mbps: mbps(arrived_bytes * 8, span_ns),
        goodput_mbps: mbps(delivered_bytes * 8, span_ns),
        loss_ratio: if *sent > 0 { lost as f64 / *sent as f64 } else { 0.0 },
        mean_rtt_ms: rtts.mean().map(|ns| ns * 1e-6),
        p95_rtt_ms: rtts.quantile(0.95).map(|ns| ns * 1e-6),
        mean_cwnd_pkts,
        marked_pkts: connection.receiver.marked_pkts(),
        fct_ms: mean_fct_ms(rows),
    }
}

/// Of a flow with arrivals: the sums over its transfers.
pub fn group_result<C: CongestionControl, T: Tick>(
    group: &Group,
    connections: &[Connection<C>],
    topology: &Topology<T>,
    end: u64,
) -> FlowResult {
    let (totals, stop_ns) = (&group.totals, group.flow.stop_ns.min(end));
    let span_ns = stop_ns - group.start_ns;
    let slots = group.slots.iter().map(|&slot| &connections[slot as usize]);
    let lost = slots.map(|slot| topology.lost_pkts(slot.first_hop)).sum();
    FlowResult {
        flow: group.id,
        cca: group.flow.cca.name.clone(),
        start_s: group.start_ns as f64 / 1e9,
        stop_s: stop_ns as f64 / 1e9,
        sent_pkts: totals.sent,
        retransmitted_pkts: totals.retransmissions,
        delivered_pkts: totals.arrived,
        lost_pkts: lost,
        timeouts: totals.timeouts,
        throughput_mbps: mbps(totals.arrived_bytes * 8, span_ns),
        goodput_mbps: mbps(totals.delivered_bytes * 8, span_ns),
        loss_ratio: if totals.sent > 0 { lost as f64 / totals.sent as f64 } else { 0.0 },
        mean_rtt_ms: totals.rtts.mean().map(|ns| ns * 1e-6),
        p95_rtt_ms: totals.rtts.quantile(0.95).map(|ns| ns * 1e-6),
        mean_cwnd_pkts: if totals.busy_ns > 0.0 { totals.cwnd_ns / totals.busy_ns } else { 0.0 },
        marked_pkts: totals.marked,
        fct_ms: mean_fct_ms(totals.rows.iter().map(|(_, row)| *row)),
    }
}

/// Of a flow without congestion control; `connection` is idle in its place.
pub fn udp_result<C: CongestionControl, T: Tick>(
    udp: &Udp,
    connection: &Connection<C>,
    topology: &Topology<T>,
    end: u64,
) -> FlowResult {
    let (flow, lost) = (connection.sender.flow, connection.lost(topology));
    let stop_ns = flow.stop_ns.min(end);
    let span_ns = stop_ns - udp.start_ns;
    FlowResult {
        flow: udp.id,
        cca: flow.cca.name.clone(),
        start_s: udp.start_ns as f64 / 1e9,
        stop_s: stop_ns as f64 / 1e9,
        sent_pkts: udp.sent,
        delivered_pkts: udp.arrived,
        lost_pkts: lost,
        throughput_mbps: mbps(udp.arrived_until_stop * 8 * u64::from(flow.packet_bytes()), span_ns),
        goodput_mbps: mbps(udp.arrived_until_stop * 8 * u64::from(flow.payload_bytes), span_ns),
        loss_ratio: if udp.sent > 0 { lost as f64 / udp.sent as f64 } else { 0.0 },
        ..FlowResult::default()
    }
}

/// Of the transfers that finished.
fn mean_fct_ms(rows: impl Iterator<Item = Row>) -> Option<f64> {
    let (mut sum_ns, mut count) = (0_u128, 0_u32);
    for (start_ns, end_ns) in rows.filter_map(|row| Some((row.start_ns, row.end_ns?))) {
        sum_ns += u128::from(end_ns - start_ns);
        count += 1;
    }
    (count > 0).then(|| sum_ns as f64 / f64::from(count) * 1e-6)
}

/// Every transfer of flows with sizes, in the order of their starts.
pub fn transfers<C: CongestionControl>(
    scenario: &Scenario,
    flows: &[Connection<C>],
    groups: &[Group],
    end: u64,
) -> Transfers {
    let mut rows: Vec<(u64, u32, u64, Row)> = Vec::new();
    for flow in flows.iter().filter(|flow| flow.sender.flow.arrivals().is_none()) {
        for source in flow.sender.source.iter().filter(|_| flow.sender.started) {
            let own = source.all_rows(end, flow.sender.retransmissions).zip(0..);
            rows.extend(own.map(|(row, number)| (row.start_ns, flow.id, number, row)));
        }
    }
    for group in groups {
        rows.extend(group.totals.rows.iter().map(|&(number, row)| (row.start_ns, group.id, number, row)));
    }
    rows.sort_by_key(|&(start_ns, flow, number, _)| (start_ns, flow, number));
    let mut transfers = Transfers::default();
    for (start_ns, flow, _, row) in rows {
        let fct_ns = row.end_ns.map_or(f64::NAN, |end_ns| (end_ns - start_ns) as f64);
        transfers.flow.push(flow);
        transfers.start_s.push(start_ns as f64 / 1e9);
        transfers.size_bytes.push(row.bytes);
        transfers.fct_ms.push(fct_ns * 1e-6);
        // Of a link whose rate varies, the rate at the beginning may be exceeded. NaN stays NaN.
        let slowdown = fct_ns / scenario.ideal_fct_ns(flow as usize, row.bytes);
        transfers.slowdown.push(if slowdown < 1.0 { 1.0 } else { slowdown });
        transfers.retransmitted_pkts.push(row.retransmitted_pkts);
    }
    transfers
}

fn mbps(bits: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { bits as f64 * 1e3 / span_ns as f64 }
}
