//! The results of a run, from what its shards and links have counted.

use crate::fast::ends::connection::Connection;
use crate::fast::ends::udp::Udp;
use crate::fast::link::fifo::PathLink;
use crate::fast::link::timing::Timing;
use crate::fast::network::Network;
use crate::fast::shard::{Numbering, Shard};
use crate::fast::shared::links::Links;
use crate::fast::topology::Topology;
use crate::net::endpoints::Endpoints;
use crate::net::group::Group;
use crate::net::link::accounting::Totals;
use crate::net::link::waits::PKTS_PER_LOOK;
use crate::net::measure::counts::Counts;
use crate::net::measure::rows::{LinkCounts, group_row, sender_row, transfer_rows};
use crate::tcp::source::TransferRow;
use crate::time::Tick;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowResult, LinkResult, Transfers};
use cwnd_scenario::Scenario;
use std::collections::BTreeMap;

/// Counts of the packets of a delay-only link.
#[derive(Clone)]
struct Tally {
    entered: u64,
    /// Time to send the packets. Packets that wait before the link for longer than the run count, too, until they are subtracted.
    sent_ticks: u128,
    left: u64,
    under_way_ns: u64,
}

/// Returns the counts of each link, at `end`; all that happens by then has happened.
pub fn link_counts<C: CongestionControl, T: Timing>(
    shards: &mut [Shard<C, T>],
    links: &mut Links<T>,
    end: u64,
) -> Vec<LinkCounts> {
    let mut of_links = links.look_at_each(
        shards,
        |link| {
            let (totals, marked) = (link.state.totals(end), link.marked_pkts(end));
            LinkCounts { totals, marked, ..LinkCounts::default() }
        },
        |_, link| LinkCounts::new(link, 0, end),
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

/// Returns the results of each link, from `from` to the `end` of the run. `before`: its counts at `from`, if that is not the
/// beginning.
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
    /// Returns the losses since the warmup of the flow with number `id` in the scenario. `known`: the losses known since then.
    fn lost(&self, id: u32, known: u64) -> u64 {
        let late = |of_flows: &LateLossesByFlow| of_flows.get(&id).copied().unwrap_or(0);
        known + late(&self.late_before) - late(&self.late)
    }
}

/// Returns the result of the flow with number `id` in the scenario.
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

/// Returns the result of a flow with arrivals: the sums over its transfers.
pub fn group_result(group: &Group, warmup_ns: u64, at: &End) -> FlowResult {
    let measured = group.totals.measured;
    group_row(group, Counts { lost: at.lost(group.id, measured.lost), ..measured }, warmup_ns, at.ns)
}

/// Returns the result of a flow without congestion control, with number `id` in the scenario.
pub fn udp_result<T: Tick>(id: u32, udp: &Udp, topology: &Topology<T>, at: &End) -> FlowResult {
    let counts = udp.measured(topology);
    let counts = Counts { lost: at.lost(id, counts.lost), ..counts };
    udp.ends.row(id, counts, udp.measured_from_ns, at.ns)
}

/// Every transfer of flows with sizes, in the order of their starts.
pub fn transfers<C: CongestionControl, T: Timing>(
    scenario: &Scenario,
    numbering: Numbering,
    shards: &[Shard<C, T>],
    groups: &[Group],
    end: u64,
) -> Transfers {
    let mut rows: Vec<(u64, u32, u64, TransferRow)> = Vec::new();
    for (shard, Shard { flows, .. }) in shards.iter().enumerate() {
        for flow in flows.iter().flatten().filter(|flow| flow.sender.flow.arrivals().is_none()) {
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
