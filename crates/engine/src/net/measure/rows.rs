//! The rows of the results of a run: of a flow, a link, a transfer.

use crate::net::group::Group;
use crate::net::link::accounting::Totals;
use crate::net::link::managed::ManagedLink;
use crate::net::measure::counts::Counts;
use crate::tcp::sender::Sender;
use crate::tcp::source::TransferRow;
use crate::time::Tick;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowResult, LinkResult, Transfers, mbps};
use cwnd_scenario::{Flow, Scenario};

/// Counts of a link.
#[derive(Clone, Copy, Default)]
pub struct LinkCounts {
    pub totals: Totals,
    pub delivered: u64,
    pub marked: u64,
    /// Packets of a link that only delays whose waits were looked at.
    pub looks: u64,
}

impl LinkCounts {
    /// The counts of `link` at `now_ns`, which has `delivered` packets.
    pub fn new<T: Tick>(link: &ManagedLink<T>, delivered: u64, now_ns: u64) -> LinkCounts {
        let (totals, marked) = (link.totals(now_ns), link.marked_pkts);
        LinkCounts { totals, delivered, marked, ..LinkCounts::default() }
    }

    /// The row of the link `name`, `span_ns` after it had counted `before`.
    pub fn row_since(&self, before: &LinkCounts, name: &str, span_ns: u64) -> LinkResult {
        let span_ns = span_ns as f64;
        // A link that only delays has no memory of when its packets came.
        let was_idle = self.totals.held_ns <= before.totals.held_ns;
        let unseen = self.looks > 0 && self.looks == before.looks;
        let mut row = LinkResult::default();
        row.link = name.to_owned();
        row.delivered_pkts = self.delivered - before.delivered;
        row.dropped_pkts = self.totals.dropped - before.totals.dropped;
        row.error_pkts = self.totals.corrupted - before.totals.corrupted;
        row.mean_queue_pkts = (self.totals.held_ns - before.totals.held_ns) / span_ns;
        row.max_queue_pkts = if was_idle { 0 } else { self.totals.max_queue };
        row.utilization = self.totals.utilization_since(&before.totals);
        row.marked_pkts = self.marked - before.marked;
        row.p95_queue_ms = self.totals.p95_wait_ns.filter(|_| !was_idle && !unseen).map(|ns| ns * 1e-6);
        row
    }
}

/// Returns the row of the flow with number `id` in the scenario, whose sender has `counts` at `end_ns`. `measured`: from when on,
/// and when the flow stops.
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
    let mut row = counted(counts, stop_ns - from_ns);
    row.flow = id;
    row.cca = flow.cca.name.clone();
    row.start_s = *start_ns as f64 / 1e9;
    row.stop_s = stop_ns as f64 / 1e9;
    row.mean_rtt_ms = rtts.mean().map(|ns| ns * 1e-6);
    row.p95_rtt_ms = rtts.quantile(0.95).map(|ns| ns * 1e-6);
    row.mean_cwnd_pkts = if *started { sender.mean_cwnd(from_ns, stop_ns) } else { 0.0 };
    row.fct_ms = mean_fct_ms(rows.filter(|row| row.start_ns >= from_ns));
    row.slow_start_s = started.then(|| sender.slow_start_s(stop_ns)).flatten();
    row
}

/// The columns that follow from the counts over `span_ns`, with no others.
pub fn counted(counts: Counts, span_ns: u64) -> FlowResult {
    let Counts { sent, retransmissions, timeouts, lost, received } = counts;
    let mut row = FlowResult::default();
    row.sent_pkts = sent;
    row.retransmitted_pkts = retransmissions;
    row.delivered_pkts = received.pkts;
    row.lost_pkts = lost;
    row.timeouts = timeouts;
    row.throughput_mbps = mbps(received.bytes * 8, span_ns);
    row.goodput_mbps = mbps(received.delivered_bytes * 8, span_ns);
    row.marked_pkts = received.marked_pkts;
    row.with_loss_ratio()
}

/// Returns the row of a flow with arrivals, which has `counts` at `end_ns`: the sums over its transfers.
pub fn group_row(group: &Group, counts: Counts, warmup_ns: u64, end_ns: u64) -> FlowResult {
    let (totals, stop_ns) = (&group.totals, group.flow.stop_ns.min(end_ns));
    let from_ns = group.start_ns.max(warmup_ns).min(stop_ns);
    let rows = totals.rows.iter().map(|(_, row)| *row);
    let mut row = counted(counts, stop_ns - from_ns);
    row.flow = group.id;
    row.cca = group.flow.cca.name.clone();
    row.start_s = group.start_ns as f64 / 1e9;
    row.stop_s = stop_ns as f64 / 1e9;
    row.mean_rtt_ms = totals.rtts.mean().map(|ns| ns * 1e-6);
    row.p95_rtt_ms = totals.rtts.quantile(0.95).map(|ns| ns * 1e-6);
    row.mean_cwnd_pkts = if totals.busy_ns > 0 { totals.cwnd_ns as f64 / totals.busy_ns as f64 } else { 0.0 };
    row.fct_ms = mean_fct_ms(rows.filter(|row| row.start_ns >= from_ns));
    row
}

/// Returns the row of the flow without congestion control with number `id` in the scenario, which has `counts` at `end_ns`.
/// `began`: when the flow started, and from when on it is measured.
pub fn datagrams_row(id: u32, flow: &Flow, counts: Counts, began: (u64, u64), end_ns: u64) -> FlowResult {
    let stop_ns = flow.stop_ns.min(end_ns);
    let mut row = counted(counts, stop_ns - began.1.min(stop_ns));
    row.flow = id;
    row.cca = flow.cca.name.clone();
    row.start_s = began.0 as f64 / 1e9;
    row.stop_s = stop_ns as f64 / 1e9;
    row
}

/// Returns the mean completion time of the transfers that finished.
fn mean_fct_ms(rows: impl Iterator<Item = TransferRow>) -> Option<f64> {
    let (mut sum_ns, mut count) = (0_u128, 0_u32);
    for (start_ns, end_ns) in rows.filter_map(|row| Some((row.start_ns, row.end_ns?))) {
        sum_ns += u128::from(end_ns - start_ns);
        count += 1;
    }
    (count > 0).then(|| sum_ns as f64 / f64::from(count) * 1e-6)
}

/// Every transfer of flows with sizes, in the order of their starts. `rows`: of each when it began, its flow, its number there and
/// what became of it.
pub fn transfer_rows(scenario: &Scenario, mut rows: Vec<(u64, u32, u64, TransferRow)>) -> Transfers {
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
