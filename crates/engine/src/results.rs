//! The results of a run: a row for each flow, link and transfer.

use crate::connection::Connection;
use crate::counts::Counts;
use crate::links::Links;
use crate::network::Network;
use crate::path::accounting::Totals;
use crate::path::link::PathLink;
use crate::path::timing::Timing;
use crate::path::waits::PKTS_PER_LOOK;
use crate::shard::{Numbering, Shard};
use crate::tcp::sender::Sender;
use crate::time::Tick;
use crate::topology::Topology;
use crate::traffic::group::Group;
use crate::traffic::source::Row;
use crate::traffic::udp::Udp;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowResult, LinkResult, Transfers, mbps};
use cwnd_scenario::{Flow, Scenario};
use std::collections::BTreeMap;

/// What has become of the packets of a delay-only link.
#[derive(Clone)]
struct Tally {
    entered: u64,
    /// Of packets that wait before the link for longer than the run, too, until these are taken away.
    sent_ticks: u128,
    left: u64,
    under_way_ns: u64,
}

/// What a link has done.
#[derive(Clone, Copy, Default)]
pub struct LinkCounts {
    pub totals: Totals,
    pub delivered: u64,
    pub marked: u64,
    /// Packets of a link that only delays whose waits were looked at.
    pub looks: u64,
}

impl LinkCounts {
    /// The row of the link `name`, `span_ns` after it had counted `before`.
    pub fn row_since(&self, before: &LinkCounts, name: &str, span_ns: u64) -> LinkResult {
        let span_ns = span_ns as f64;
        // A link that only delays has no memory of when its packets came.
        let was_idle = self.totals.held_ns <= before.totals.held_ns;
        let unseen = self.looks > 0 && self.looks == before.looks;
        LinkResult {
            link: name.to_owned(),
            delivered_pkts: self.delivered - before.delivered,
            dropped_pkts: self.totals.dropped - before.totals.dropped,
            error_pkts: self.totals.corrupted - before.totals.corrupted,
            mean_queue_pkts: (self.totals.held_ns - before.totals.held_ns) / span_ns,
            max_queue_pkts: if was_idle { 0 } else { self.totals.max_queue },
            utilization: self.totals.utilization_since(&before.totals),
            marked_pkts: self.marked - before.marked,
            p95_queue_ms: self.totals.p95_wait_ns.filter(|_| !was_idle && !unseen).map(|ns| ns * 1e-6),
        }
    }
}

/// Of each link, at `end`; all that happens by then has happened.
pub fn link_counts<C: CongestionControl, T: Timing>(
    shards: &mut [Shard<C, T>],
    links: &mut Links<T>,
    end: u64,
) -> Vec<LinkCounts> {
    let counts = |totals, marked| LinkCounts { totals, marked, ..LinkCounts::default() };
    let mut of_links = links.look_at_each(
        shards,
        |link| counts(link.state.totals(end), link.marked_pkts(end)),
        |_, link| counts(link.totals(end), link.marked_pkts),
    );
    for shard in shards {
        count_delivered(&shard.network, &mut of_links, end);
    }
    of_links
}

/// Adds the packets that links delivered on the routes of a shard, and what its delay-only links did.
fn count_delivered<T: Timing>(network: &Network<T>, counts: &mut [LinkCounts], end: u64) {
    let topology = &network.topology;
    // Packets that a link delivers, less those that have yet to be at its far end.
    for hop in &topology.hops {
        counts[hop.link as usize].delivered += hop.passed;
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
        counts[hop.link as usize].delivered -= u64::from(there > end);
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
        let offered = u128::from(T::Tick::count(end));
        let sent = busy_ticks.min(offered);
        let count = &mut counts[link.link as usize];
        count.totals = Totals {
            sent,
            offered,
            held_ns: T::Tick::as_ns(sent),
            max_queue: tally.entered.min(1),
            p95_wait_ns: (tally.entered > 0).then_some(0.0),
            ..Totals::default()
        };
        count.delivered = tally.left;
        count.looks = tally.entered.div_ceil(PKTS_PER_LOOK.into());
    }
}

/// Of each link, from `from` to the `end` of the run. `before`: its counts at `from`, if that is not the beginning.
pub fn link_results<C: CongestionControl, T: Timing>(
    shards: &mut [Shard<C, T>],
    links: &mut Links<T>,
    before: Option<&[LinkCounts]>,
    from: u64,
    end: u64,
) -> Vec<LinkResult> {
    let counts = link_counts(shards, links, end);
    let scenario_links = shards[0].network.topology.links();
    let nothing = LinkCounts::default();
    let row = |(id, now): (usize, LinkCounts)| {
        let before = before.map_or(nothing, |before| before[id]);
        now.row_since(&before, &scenario_links[id].name, end - from)
    };
    counts.into_iter().enumerate().map(row).collect()
}

/// How many losses of each flow do not count yet at one time, the end of the warmup or of the run.
pub type LateLossesByFlow = BTreeMap<u32, u64>;

/// At `now`.
pub fn late_losses<C, T: Timing>(shards: &[Shard<C, T>], now: u64) -> LateLossesByFlow {
    let mut of_flows = LateLossesByFlow::new();
    for Shard { network, .. } in shards {
        let hops = network.late_losses.after(now).map(|hop| &network.topology.hops[hop as usize]);
        for hop in hops.filter(|hop| !hop.back) {
            *of_flows.entry(network.ranks[hop.flow as usize].0).or_default() += 1;
        }
    }
    of_flows
}

/// The end of a run. All that arrives by then has arrived.
pub struct End {
    pub ns: u64,
    pub late_before: LateLossesByFlow,
    pub late: LateLossesByFlow,
}

impl End {
    /// What the flow with number `id` in the scenario has lost since the warmup. `known`: the losses known since then.
    fn lost(&self, id: u32, known: u64) -> u64 {
        let late = |of_flows: &LateLossesByFlow| of_flows.get(&id).copied().unwrap_or(0);
        known + late(&self.late_before) - late(&self.late)
    }
}

/// Of the flow with number `id` in the scenario.
pub fn flow_result<C: CongestionControl, T: Tick>(
    id: u32,
    connection: &Connection<C>,
    topology: &Topology<T>,
    at: &End,
) -> FlowResult {
    let counts = connection.measured(topology);
    let counts = Counts { lost: at.lost(id, counts.lost), ..counts };
    let measured = (connection.measured_from_ns(), connection.stop_ns);
    sender_row(id, &connection.sender, counts, measured, at.ns)
}

/// Of the flow with number `id` in the scenario, whose sender has `counts` at `end_ns`. `measured`: from when on, and when the
/// flow stops.
pub fn sender_row<C: CongestionControl>(
    id: u32,
    sender: &Sender<C>,
    counts: Counts,
    measured: (u64, u64),
    end_ns: u64,
) -> FlowResult {
    let Sender { flow, start_ns, retransmissions, rtts, source, started, .. } = sender;
    let finished_ns = source.as_ref().and_then(|source| source.finished_ns);
    let stop_ns = finished_ns.unwrap_or(measured.1).min(end_ns);
    let from_ns = measured.0.min(stop_ns);
    let rows = source.iter().flat_map(|source| source.all_rows(end_ns, *retransmissions));
    FlowResult {
        flow: id,
        cca: flow.cca.name.clone(),
        start_s: *start_ns as f64 / 1e9,
        stop_s: stop_ns as f64 / 1e9,
        mean_rtt_ms: rtts.mean().map(|ns| ns * 1e-6),
        p95_rtt_ms: rtts.quantile(0.95).map(|ns| ns * 1e-6),
        mean_cwnd_pkts: if *started { sender.mean_cwnd(from_ns, stop_ns) } else { 0.0 },
        fct_ms: mean_fct_ms(rows.filter(|row| row.start_ns >= from_ns)),
        slow_start_s: started.then(|| sender.slow_start_s(stop_ns)).flatten(),
        ..counted(counts, stop_ns - from_ns)
    }
}

/// The columns that follow from the counts over `span_ns`.
fn counted(counts: Counts, span_ns: u64) -> FlowResult {
    let Counts { sent, retransmissions, timeouts, lost, received } = counts;
    FlowResult {
        sent_pkts: sent,
        retransmitted_pkts: retransmissions,
        delivered_pkts: received.pkts,
        lost_pkts: lost,
        timeouts,
        throughput_mbps: mbps(received.bytes * 8, span_ns),
        goodput_mbps: mbps(received.delivered_bytes * 8, span_ns),
        marked_pkts: received.marked_pkts,
        ..FlowResult::default()
    }
    .with_loss_ratio()
}

/// Of a flow with arrivals: the sums over its transfers.
pub fn group_result(group: &Group, warmup_ns: u64, at: &End) -> FlowResult {
    let measured = group.totals.measured;
    group_row(group, Counts { lost: at.lost(group.id, measured.lost), ..measured }, warmup_ns, at.ns)
}

/// The same, which has `counts` at `end_ns`.
pub fn group_row(group: &Group, counts: Counts, warmup_ns: u64, end_ns: u64) -> FlowResult {
    let (totals, stop_ns) = (&group.totals, group.flow.stop_ns.min(end_ns));
    let from_ns = group.start_ns.max(warmup_ns).min(stop_ns);
    let rows = totals.rows.iter().map(|(_, row)| *row);
    FlowResult {
        flow: group.id,
        cca: group.flow.cca.name.clone(),
        start_s: group.start_ns as f64 / 1e9,
        stop_s: stop_ns as f64 / 1e9,
        mean_rtt_ms: totals.rtts.mean().map(|ns| ns * 1e-6),
        p95_rtt_ms: totals.rtts.quantile(0.95).map(|ns| ns * 1e-6),
        mean_cwnd_pkts: if totals.busy_ns > 0 { totals.cwnd_ns as f64 / totals.busy_ns as f64 } else { 0.0 },
        fct_ms: mean_fct_ms(rows.filter(|row| row.start_ns >= from_ns)),
        ..counted(counts, stop_ns - from_ns)
    }
}

/// Of a flow without congestion control, with number `id` in the scenario.
pub fn udp_result<T: Tick>(id: u32, udp: &Udp, topology: &Topology<T>, at: &End) -> FlowResult {
    let counts = udp.measured(topology);
    let counts = Counts { lost: at.lost(id, counts.lost), ..counts };
    datagrams_row(id, udp.flow, counts, (udp.start_ns, udp.measured_from_ns()), at.ns)
}

/// The same, which has `counts` at `end_ns`. `began`: when the flow started, and from when on it is measured.
pub fn datagrams_row(id: u32, flow: &Flow, counts: Counts, began: (u64, u64), end_ns: u64) -> FlowResult {
    let stop_ns = flow.stop_ns.min(end_ns);
    FlowResult {
        flow: id,
        cca: flow.cca.name.clone(),
        start_s: began.0 as f64 / 1e9,
        stop_s: stop_ns as f64 / 1e9,
        ..counted(counts, stop_ns - began.1.min(stop_ns))
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
pub fn transfers<C: CongestionControl, T: Timing>(
    scenario: &Scenario,
    numbering: Numbering,
    shards: &[Shard<C, T>],
    groups: &[Group],
    end: u64,
) -> Transfers {
    let mut rows: Vec<(u64, u32, u64, Row)> = Vec::new();
    for (shard, Shard { flows, .. }) in shards.iter().enumerate() {
        for flow in flows.iter().filter(|flow| flow.sender.flow.arrivals().is_none()) {
            for source in flow.sender.source.iter().filter(|_| flow.sender.started) {
                let (id, retransmissions) = (numbering.id(shard, flow.id), flow.sender.retransmissions);
                let own = source.all_rows(end, retransmissions).zip(0..);
                rows.extend(own.map(|(row, number)| (row.start_ns, id, number, row)));
            }
        }
    }
    for group in groups {
        rows.extend(group.totals.rows.iter().map(|&(number, row)| (row.start_ns, group.id, number, row)));
    }
    transfer_rows(scenario, rows)
}

/// `rows`: of each transfer when it began, its flow, its number there and what became of it.
pub fn transfer_rows(scenario: &Scenario, mut rows: Vec<(u64, u32, u64, Row)>) -> Transfers {
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
