//! Measures of a run, from its rows and time series alone, so that runs of every world are measured in one way.

use crate::path::Path;
use cwnd_results::{Run, mbps};
use cwnd_scenario::{Flow, Scenario};
use serde::{Deserialize, Serialize};

/// A window of at most this many packets counts as the minimum.
const PINNED_PKTS: u32 = 4;

/// A path whose share is shorter than this has no room for a larger window.
const ROOM_PKTS: f64 = 10.0;

/// A stall of 50 RTTs is no shorter than three seconds: a timeout of a second and its first doubling are none.
const STALL_RTT_MIN_S: f64 = 0.06;

/// A few of fewer segments are no share of them.
const COUNTED_MIN_PKTS: f64 = 400.0;

/// Windows of goodput that a swing is seen in, at least.
const WINDOWS_MIN: usize = 4;

/// Properties of one run that goals are about. They are of the first flow, the subject, unless they name another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Measures {
    /// The longest time without a delivery although the path carried and the application had data, in RTTs of at least 60 ms.
    pub stall_rtts: f64,
    /// The beginning of that time.
    pub stall_from_s: f64,
    /// The longest time with a window of at most 4 packets, without a loss or a mark, where the path has room for 10.
    pub pinned_rtts: f64,
    /// The beginning of that time.
    pub pinned_from_s: f64,
    /// After the warmup. Where the wire loses everything for a time, without that time and the timeout after it.
    pub goodput_mbps: f64,
    /// Payload that the path can deliver after the warmup, and the application writes; in the same time as the goodput.
    pub capacity_mbps: f64,
    /// At the bottleneck, after the warmup, less the longest time without a rate.
    pub queue_p95_ms: f64,
    /// Segments sent again / segments sent, after the warmup.
    pub retransmitted_share: f64,
    /// The part of them that is the sender's doing: losses in a queue and needless retransmissions / segments sent, or 400. Losses of the
    /// path's wires do not count, nor do needless retransmissions where packets may overtake each other.
    pub avoidable_share: f64,
    /// Largest over least goodput of 1-s windows in the last half; None where the path changes in it, the application pauses
    /// or fewer than four windows fit.
    pub swing: Option<f64>,
    /// The least share of a fair one over 100 RTTs with a full queue; None without a neighbour. Beside its own kind: the
    /// worse of both.
    pub least_share: Option<f64>,
    /// The beginning of that time.
    pub least_share_from_s: f64,
    /// Goodput of the neighbour after the warmup; None without one.
    pub neighbour_mbps: Option<f64>,
    /// Retransmission timeouts, after the warmup.
    pub timeouts: u64,
    /// Time average after the warmup.
    pub mean_cwnd_pkts: f64,
    /// Packets that the bottleneck dropped or its wire lost.
    pub lost_pkts: u64,
    /// Packets that entered the network.
    pub packets: u64,
}

/// Rows of a flow's time series.
#[derive(Default)]
struct Series {
    time_s: Vec<f64>,
    mbps: Vec<f64>,
    max_cwnd_pkts: Vec<u32>,
}

impl Measures {
    /// Measures a run of the scenario, which has samples at intervals. `own_kind`: the neighbour counts as a subject, too.
    pub fn new(scenario: &Scenario, run: &Run, own_kind: bool) -> Measures {
        let path = Path::new(scenario);
        let subject = series(run, 0);
        let flow = &scenario.flows[0];
        let neighbour = (1..scenario.flows.len()).find(|&other| !scenario.flows[other].cca.is_udp());
        let (stall, stall_from_s) = stall(&path, flow, &subject);
        let sharers = scenario.flows.iter().filter(|flow| !flow.cca.is_udp()).count();
        let room_pkts = ROOM_PKTS * sharers as f64;
        let (pinned_s, pinned_from_s) =
            pinned(&path, flow, &subject, &troubles(run, path.bottleneck), room_pkts);
        let row = &run.flows[0];
        let shared = neighbour.map(|other| {
            let worse = own_kind.then_some(());
            least_share(&path, scenario, [&subject, &series(run, other)], other, worse.is_some())
        });
        let link = run.links.get(path.bottleneck);
        let p95_queue_ms = link.and_then(|link| link.p95_queue_ms).unwrap_or(0.0);
        Measures {
            stall_rtts: stall / path.rtt_s().max(STALL_RTT_MIN_S),
            stall_from_s,
            pinned_rtts: pinned_s / path.rtt_s(),
            pinned_from_s,
            goodput_mbps: goodput_mbps(&path, scenario, run, &subject),
            capacity_mbps: capacity_mbps(&path, scenario, flow),
            queue_p95_ms: (p95_queue_ms - 1e3 * path.longest_outage_s()).max(0.0),
            retransmitted_share: row.retransmitted_pkts as f64 / (row.sent_pkts as f64).max(1.0),
            avoidable_share: avoidable_share(&path, scenario, run),
            swing: swing(&path, flow, &subject),
            least_share: shared.flatten().map(|(share, _)| share),
            least_share_from_s: shared.flatten().map_or(0.0, |(_, from_s)| from_s),
            neighbour_mbps: neighbour.map(|other| run.flows[other].goodput_mbps),
            timeouts: row.timeouts,
            mean_cwnd_pkts: row.mean_cwnd_pkts,
            lost_pkts: link.map_or(0, |link| link.dropped_pkts + link.error_pkts),
            packets: run.packets,
        }
    }
}

fn series(run: &Run, flow: usize) -> Series {
    let samples = &run.flow_samples;
    let mut series = Series::default();
    for (row, _) in samples.flow.iter().enumerate().filter(|(_, of)| **of as usize == flow) {
        series.time_s.push(samples.time_s[row]);
        series.mbps.push(samples.throughput_mbps[row]);
        series.max_cwnd_pkts.push(samples.max_cwnd_pkts[row]);
    }
    series
}

/// The times up to whose rows the link lost or marked packets.
fn troubles(run: &Run, link: usize) -> Vec<f64> {
    let samples = &run.link_samples;
    let of = |row: &usize| samples.link[*row] as usize == link;
    let in_trouble = |row: &usize| samples.dropped_pkts[*row] + samples.marked_pkts[*row] > 0;
    (0..samples.link.len()).filter(of).filter(in_trouble).map(|row| samples.time_s[row]).collect()
}

/// The longest sum of intervals in a row for which `holds(row, from_s, to_s)`, and its beginning, in seconds.
fn longest(times_s: &[f64], mut holds: impl FnMut(usize, f64, f64) -> bool) -> (f64, f64) {
    let (mut best, mut from_s) = ((0.0, 0.0), None);
    for row in 1..times_s.len() {
        let (begin, end) = (times_s[row - 1], times_s[row]);
        if !holds(row, begin, end) {
            from_s = None;
            continue;
        }
        let began = *from_s.get_or_insert(begin);
        if end - began > best.0 {
            best = (end - began, began);
        }
    }
    best
}

fn stall(path: &Path, flow: &Flow, series: &Series) -> (f64, f64) {
    longest(&series.time_s, |row, from_s, to_s| {
        series.mbps[row] == 0.0 && path.carries(from_s, to_s) && writes(flow, from_s, to_s)
    })
}

fn pinned(path: &Path, flow: &Flow, series: &Series, troubles: &[f64], room_pkts: f64) -> (f64, f64) {
    let mut troubles = troubles.iter().peekable();
    longest(&series.time_s, |row, from_s, to_s| {
        while troubles.next_if(|time| **time <= from_s).is_some() {}
        let in_peace = troubles.peek().is_none_or(|time| **time > to_s);
        in_peace
            && series.max_cwnd_pkts[row] <= PINNED_PKTS
            && path.bdp_pkts(from_s) >= room_pkts
            && flow.app_rate_bps.is_none()
            && writes(flow, from_s, to_s)
    })
}

/// Returns true if the application writes during all of the time, by its pattern of a constant period.
fn writes(flow: &Flow, from_s: f64, to_s: f64) -> bool {
    let Some((on_ns, off_ns)) = flow.on_off_ns else { return true };
    let (on_s, period_s) = (on_ns as f64 / 1e9, (on_ns + off_ns) as f64 / 1e9);
    let start_s = flow.start_ns as f64 / 1e9;
    let within = |time_s: f64| (time_s - start_s).rem_euclid(period_s);
    within(from_s) < on_s && within(from_s) + (to_s - from_s) <= on_s
}

fn goodput_mbps(path: &Path, scenario: &Scenario, run: &Run, series: &Series) -> f64 {
    let (row, flow) = (&run.flows[0], &scenario.flows[0]);
    let (from_s, to_s) = measured_s(scenario, flow);
    if path.counted_s(from_s, to_s) >= to_s - from_s {
        return row.goodput_mbps;
    }
    let (mut bits, mut counted_s) = (0.0, 0.0);
    for at in 1..series.time_s.len() {
        let (begin, end) = (series.time_s[at - 1].max(from_s), series.time_s[at]);
        if begin < end && path.counted_s(begin, end) > 0.5 * (end - begin) {
            bits += series.mbps[at] * (end - begin);
            counted_s += end - begin;
        }
    }
    // Nothing is left to judge by: neither is a capacity.
    if counted_s > 0.0 { bits / counted_s * path.payload_share } else { 0.0 }
}

/// From when to when a flow is measured, in seconds.
fn measured_s(scenario: &Scenario, flow: &Flow) -> (f64, f64) {
    ((scenario.warmup_ns.max(flow.start_ns)) as f64 / 1e9, flow.stop_ns as f64 / 1e9)
}

fn capacity_mbps(path: &Path, scenario: &Scenario, flow: &Flow) -> f64 {
    let (from_s, to_s) = measured_s(scenario, flow);
    let on = flow.on_off_ns.map_or(1.0, |(on, off)| on as f64 / (on + off) as f64);
    let written = flow.app_rate_bps.map_or(f64::INFINITY, |bps| bps as f64 / 1e6 * on);
    let counted_s = path.counted_s(from_s, to_s);
    let carried = if counted_s > 0.0 { path.capacity_bits(from_s, to_s) / counted_s / 1e6 } else { 0.0 };
    // Where the application pauses, its backlog may go on in the pause: the path is no bound then.
    carried.min(written) * if flow.app_rate_bps.is_none() { on } else { 1.0 }
}

/// Two counts bound it, each of which has other errors where the warmup and the run end: what was sent again beyond the losses of the
/// wires, and what queues dropped or arrived twice. A fall of the rate leaves packets without room that nobody can call back.
fn avoidable_share(path: &Path, scenario: &Scenario, run: &Run) -> f64 {
    let (flow, row) = (&scenario.flows[0], &run.flows[0]);
    // Those of others on the wire count, too: losses of the path are not to be taken for the sender's.
    let of_wires: u64 =
        flow.path.iter().filter_map(|&link| run.links.get(link as usize)).map(|link| link.error_pkts).sum();
    let span_s = (row.stop_s - row.start_s.max(scenario.warmup_ns as f64 / 1e9)).max(0.0);
    let in_order = (row.goodput_mbps * 1e6 * span_s / 8.0 / f64::from(flow.payload_bytes)) as u64;
    let again = row.retransmitted_pkts.saturating_sub(of_wires);
    let (from_s, to_s) = measured_s(scenario, flow);
    let stranded = path.stranded_pkts(from_s, to_s).ceil() as u64;
    let dropped = row.lost_pkts.saturating_sub(of_wires + stranded);
    let may_reorder = flow.path.iter().any(|&link| scenario.links[link as usize].may_reorder());
    let twice = if may_reorder { 0 } else { row.delivered_pkts.saturating_sub(in_order) };
    again.min(dropped + twice) as f64 / (row.sent_pkts as f64).max(COUNTED_MIN_PKTS)
}

fn swing(path: &Path, flow: &Flow, series: &Series) -> Option<f64> {
    let half_s = path.duration_s / 2.0;
    if path.settled_s() > half_s || flow.on_off_ns.is_some() || flow.app_rate_bps.is_some() {
        return None;
    }
    let window_s = (10.0 * path.rtt_s()).max(1.0);
    let windows = ((path.duration_s - half_s) / window_s) as usize;
    if windows < WINDOWS_MIN {
        return None;
    }
    let mut sums = vec![0.0; windows];
    for row in 1..series.time_s.len() {
        let from_s = series.time_s[row - 1];
        let window = (from_s - half_s) / window_s;
        if let Some(sum) = (window >= 0.0).then(|| sums.get_mut(window as usize)).flatten() {
            *sum += series.mbps[row] * (series.time_s[row] - from_s);
        }
    }
    let most = sums.iter().copied().fold(0.0, f64::max);
    let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
    // No less than one packet, so that a window without any has a ratio.
    Some(most / least.max(mbps(path.packet_bits as u64, 1_000)))
}

/// The least share over windows of 100 RTTs with a full queue, after both have begun for as long, and the beginning of its window.
fn least_share(
    path: &Path,
    scenario: &Scenario,
    series: [&Series; 2],
    other: usize,
    worse: bool,
) -> Option<(f64, f64)> {
    let window_s = 100.0 * (path.rtt_s() + path.drain_s);
    let start_s = scenario.flows[0].start_ns.max(scenario.flows[other].start_ns) as f64 / 1e9;
    let bits = |series: &Series| -> Vec<(f64, f64)> {
        let mut sum = 0.0;
        let row = |row: usize| {
            let span_s = if row == 0 { 0.0 } else { series.time_s[row] - series.time_s[row - 1] };
            sum += series.mbps[row] * span_s;
            (series.time_s[row], sum)
        };
        (0..series.time_s.len()).map(row).filter(|(time_s, _)| *time_s >= start_s).collect()
    };
    let sums = series.map(bits);
    let rows = sums[0].len().min(sums[1].len());
    let mut least: Option<(f64, f64)> = None;
    let mut first = 0;
    for last in 0..rows {
        while first < last && sums[0][last].0 - sums[0][first + 1].0 >= window_s {
            first += 1;
        }
        if sums[0][last].0 - sums[0][first].0 < window_s {
            continue;
        }
        let [own, others] = [0, 1].map(|flow| sums[flow][last].1 - sums[flow][first].1);
        let counted = if worse { own.min(others) } else { own };
        let share = counted / ((own + others) / 2.0).max(1e-9);
        if least.is_none_or(|(least, _)| share < least) {
            least = Some((share, sums[0][first].0));
        }
    }
    least
}
