//! Turns the report of a guest into the rows of a run.

use crate::Error;
use crate::plan::Plan;
use crate::probes::{Burst, Trip};
use crate::way;
use cwnd_results::{
    FlowResult, FlowRow, FlowSamples, GroupSamples, LinkResult, LinkSamples, Run, Transfers, time_series,
};
use cwnd_scenario::{Flow, Scenario};
use std::collections::BTreeMap;

/// Below this share of idle time the processor of the guest is the bottleneck.
const IDLE_MIN: f64 = 0.05;

/// How far the path may be from what the scenario asks.
const RATE_TOLERANCE: f64 = 0.01;
/// The times at which a burst's packets come are those at which the guest's processor takes them: as late as this while it is at
/// other work, at one instruction in a nanosecond.
const LATE_NS: f64 = 100_000.0;
/// A shaper forwards the first and the last of a few packets early or late, together by so much of a packet's time.
const SHAPED_PKTS: f64 = 0.25;
const RTT_TOLERANCE: f64 = 0.01;
/// The work of the kernel and of the wires for two short packets.
const RTT_TOLERANCE_MS: f64 = 0.5;

/// The rest of the lines that begin with `kind`, in numbers.
fn rows<'a>(lines: &'a [String], kind: &'a str) -> impl Iterator<Item = Vec<f64>> + 'a {
    lines.iter().filter_map(move |line| {
        let mut words = line.split(' ');
        (words.next() == Some(kind)).then(|| words.map(|word| word.parse().unwrap_or(f64::NAN)).collect())
    })
}

pub fn read(scenario: &Scenario, seed: u64, plan: &Plan, lines: &[String]) -> Result<Run, Error> {
    let flow_rows: Vec<Vec<f64>> = rows(lines, "flow").collect();
    let link_rows: Vec<Vec<f64>> = rows(lines, "link").collect();
    let complete =
        flow_rows.len() == scenario.flows.len() && link_rows.len() == plan.watched.len() + plan.wires.len();
    if !complete || flow_rows.iter().any(|row| row.len() != 13) || link_rows.iter().any(|row| row.len() != 8)
    {
        return Err(Error::Guest("the guest's report is not whole".to_owned()));
    }
    // By queues, and by wires.
    let dropped: f64 = link_rows.iter().map(|row| row[3]).sum();
    let mut transfers = Transfers::default();
    let mut flows: Vec<FlowResult> = flow_rows
        .iter()
        .enumerate()
        .map(|(i, row)| flow(scenario, plan, i, row, dropped, &mut transfers))
        .collect();
    transfers.set_quantiles(&mut flows, scenario.warmup_ns);
    let links = links(scenario, plan, &link_rows, &flows);
    let packets = flows.iter().map(|flow| flow.sent_pkts).sum();
    let (flow_samples, group_samples) = flow_samples(scenario, lines);
    let mut run = Run::new(plan.world, seed);
    run.links = links;
    run.flow_samples = flow_samples;
    run.group_samples = group_samples;
    run.link_samples = link_samples(scenario, plan, lines);
    run.transfers = transfers;
    run.packets = packets;
    run.last_arrival_ns = scenario.duration_ns;
    run.notes = notes(scenario, plan, lines);
    run.flows = flows;
    Ok(run)
}

fn notes(scenario: &Scenario, plan: &Plan, lines: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    let idle = rows(lines, "idle").next().map_or(1.0, |row| row[0]);
    if idle < IDLE_MIN {
        notes.push(format!(
            "not valid: the guest's processor was busy for {:.0} % of the time, so it was the bottleneck",
            100.0 * (1.0 - idle)
        ));
    }
    let short_of_memory = rows(lines, "short-of-memory").next().map_or(0.0, |row| row[0]);
    if short_of_memory > 0.0 {
        notes.push(format!("not valid: the guest was short of memory for TCP {short_of_memory} times"));
    }
    let wrong = |flow: usize, found: String| format!("not valid: the path of flow {flow} {found}");
    let mut trips = rows(lines, "trip");
    notes.extend(plan.trips.iter().filter_map(|trip| {
        let found = judge_trip(trip, &trips.next().unwrap_or_default())?;
        Some(wrong(trip.flow, found))
    }));
    let mut unmeasured = plan.unmeasured.clone();
    let mut bursts = rows(lines, "burst");
    for burst in &plan.bursts {
        let row = bursts.next().unwrap_or_default();
        notes.extend(judge_burst(burst, &row, plan.speed).map(|found| wrong(burst.flow, found)));
        if burst.limit_pkts.is_some() && row.last() == Some(&0.0) {
            unmeasured.push(format!("queue of {}", scenario.links[burst.link].name));
        }
    }
    if !unmeasured.is_empty() {
        notes.push(format!("not measured before the run: {}", unmeasured.join(", ")));
    }
    notes.extend(plan.quick_acks_pkts.iter().enumerate().filter_map(|(flow, pkts)| {
        let pkts = pkts.as_ref()?;
        Some(format!(
            "flow {flow}: with the memory for this path the receiver acknowledges about {pkts} segments one by one; \
             stack.quick_acks = {pkts} gives that in the simulator"
        ))
    }));
    if plan.speed > 1 {
        notes.push(format!(
            "the guest's processor does {} instructions in a nanosecond, for these rates",
            plan.speed
        ));
    }
    notes
}

const UNMEASURED: &str = "was not measured";

/// Describes what is wrong with a path's RTT, if anything is.
fn judge_trip(trip: &Trip, row: &[f64]) -> Option<String> {
    let [_, rtt_ns] = *row else { return Some(UNMEASURED.to_owned()) };
    let (rtt_ms, asked_ms, slack_ms) = (rtt_ns / 1e6, trip.rtt_ns as f64 / 1e6, trip.slack_ns as f64 / 1e6);
    if rtt_ms == 0.0 {
        return Some("let no packet through and back".to_owned());
    }
    let is_wrong = (rtt_ms - asked_ms).abs() > RTT_TOLERANCE * asked_ms + RTT_TOLERANCE_MS + slack_ms;
    is_wrong.then(|| format!("has an RTT of {rtt_ms:.2} ms instead of {asked_ms:.2} ms"))
}

/// Describes what is wrong with a path's rate or its queue, if anything is.
fn judge_burst(burst: &Burst, row: &[f64], speed: u32) -> Option<String> {
    let [_, arrived, took_ns, held, dropped] = *row else { return Some(UNMEASURED.to_owned()) };
    let way = if burst.is_back { " back" } else { "" };
    let asked_mbps = burst.rate_bps as f64 / 1e6;
    let packet_ns = f64::from(burst.packet_bytes) * 8e3 / asked_mbps;
    let asked_ns = (arrived - 1.0) * packet_ns;
    let shaped_ns = if burst.limit_pkts.is_none() { SHAPED_PKTS * packet_ns } else { 0.0 };
    let most_ns = RATE_TOLERANCE * asked_ns + LATE_NS / f64::from(speed) + shaped_ns;
    if arrived < 2.0 || (took_ns - asked_ns).abs() > most_ns {
        let mbps = asked_mbps * asked_ns.max(0.0) / took_ns.max(1.0);
        return Some(format!("carries {mbps:.2} Mbit/s{way} instead of {asked_mbps:.2}"));
    }
    let limit = burst
        .limit_pkts
        .filter(|&limit| held > f64::from(limit) || dropped > 0.0 && held < f64::from(limit))?;
    Some(format!("drops{way} when its queue holds {held} packets instead of {limit}"))
}

fn flow(
    scenario: &Scenario,
    plan: &Plan,
    index: usize,
    row: &[f64],
    dropped: f64,
    transfers: &mut Transfers,
) -> FlowResult {
    let asked = &scenario.flows[index];
    let start_ns = plan.starts_ns[index];
    let [
        _,
        sent,
        retransmitted,
        timeouts,
        delivered,
        received_bytes,
        marked,
        spurious,
        cwnd,
        srtt_us,
        high_us,
        slow_ns,
        done_ns,
    ] = row[..]
    else {
        unreachable!("counted");
    };
    let stop_ns = if done_ns > 0.0 { done_ns as u64 } else { asked.stop_ns };
    let own_s = stop_ns.saturating_sub(start_ns.max(scenario.warmup_ns)) as f64 / 1e9;
    // Of one flow the queues count the drops; of several the kernel does not know whose they are.
    let alone = scenario.flows.len() == 1;
    let lost = if alone { dropped } else { (retransmitted - spurious).max(0.0) };
    let per_s = |bytes: f64| if own_s > 0.0 { bytes * 8e-6 / own_s } else { 0.0 };
    let ms = |us: f64| (us > 0.0).then_some(us / 1000.0);
    let fct_ms = (done_ns > 0.0).then(|| (done_ns - start_ns as f64) / 1e6);
    if let Some(cwnd_scenario::Size::Fixed { bytes }) = asked.size() {
        transfers.flow.push(index as u32);
        transfers.start_s.push(start_ns as f64 / 1e9);
        transfers.size_bytes.push(*bytes);
        transfers.fct_ms.push(fct_ms.unwrap_or(f64::NAN));
        transfers
            .slowdown
            .push(fct_ms.map_or(f64::NAN, |ms| ms * 1e6 / scenario.ideal_fct_ns(index, *bytes)));
        transfers.retransmitted_pkts.push(retransmitted as u64);
    }
    let mut row = FlowResult::default();
    row.flow = index as u32;
    row.cca = asked.cca.name.clone();
    row.start_s = start_ns as f64 / 1e9;
    row.stop_s = stop_ns as f64 / 1e9;
    row.sent_pkts = sent as u64;
    row.retransmitted_pkts = retransmitted as u64;
    row.delivered_pkts = delivered as u64;
    row.lost_pkts = lost as u64;
    row.timeouts = timeouts as u64;
    row.throughput_mbps = per_s(delivered * f64::from(asked.packet_bytes()));
    row.goodput_mbps = per_s(received_bytes);
    row.mean_rtt_ms = ms(srtt_us);
    row.p95_rtt_ms = ms(high_us);
    row.mean_cwnd_pkts = cwnd;
    row.marked_pkts = marked as u64;
    row.fct_ms = fct_ms;
    row.slow_start_s =
        (!asked.cca.controls_window()).then_some(if slow_ns > 0.0 { slow_ns / 1e9 } else { own_s });
    row.with_loss_ratio()
}

fn links(scenario: &Scenario, plan: &Plan, rows: &[Vec<f64>], flows: &[FlowResult]) -> Vec<LinkResult> {
    let measured_s = scenario.duration_ns.saturating_sub(scenario.warmup_ns) as f64 / 1e9;
    let capacity_bytes = |index: usize| scenario.links[index].rate_bps as f64 / 8.0 * measured_s;
    let mut links: Vec<LinkResult> = (scenario.links.iter().enumerate())
        .map(|(index, link)| {
            let users =
                flows.iter().filter(|flow| scenario.flows[flow.flow as usize].path.contains(&(index as u32)));
            let (pkts, bytes) = users.fold((0, 0.0), |(pkts, bytes), flow| {
                let packet = scenario.flows[flow.flow as usize].packet_bytes();
                (pkts + flow.delivered_pkts, bytes + flow.delivered_pkts as f64 * f64::from(packet))
            });
            let utilization = (bytes / capacity_bytes(index)).min(1.0);
            let mut row = LinkResult::default();
            (row.link, row.delivered_pkts, row.utilization) = (link.name.clone(), pkts, utilization);
            row
        })
        .collect();
    for (&index, row) in plan.watched.iter().zip(rows) {
        let [_, pkts, bytes, dropped, marked, mean, most, high] = row[..] else { unreachable!("counted") };
        let overhead = scenario.flows.first().map_or(0, way::overhead_bytes);
        let wire_bytes = bytes + pkts * f64::from(overhead);
        let link = &mut links[index];
        link.delivered_pkts = pkts as u64;
        link.dropped_pkts = dropped as u64;
        link.marked_pkts = marked as u64;
        link.mean_queue_pkts = mean;
        link.max_queue_pkts = most as u64;
        link.utilization = (wire_bytes / capacity_bytes(index)).min(1.0);
        link.p95_queue_ms = Some(waiting_ms(scenario, index, high));
    }
    for (&index, row) in plan.wires.iter().zip(&rows[plan.watched.len()..]) {
        links[index].delivered_pkts = row[1] as u64;
        links[index].error_pkts = row[3] as u64;
        links[index].marked_pkts += row[4] as u64;
    }
    links
}

/// How long a packet waits behind this many.
fn waiting_ms(scenario: &Scenario, link: usize, pkts: f64) -> f64 {
    let packet = scenario.flows.first().map_or(0, Flow::packet_bytes);
    scenario.links[link].sending_ns(packet) as f64 * pkts / 1e6
}

fn flow_samples(scenario: &Scenario, lines: &[String]) -> (FlowSamples, GroupSamples) {
    let mut samples = Vec::new();
    let mut before = vec![(0.0, 0.0, 0.0); scenario.flows.len()];
    for row in rows(lines, "flow-row") {
        let [flow, at_ns, cwnd, min_cwnd, max_cwnd, ssthresh, in_flight, srtt_us, delivered, marked] =
            row[..]
        else {
            continue;
        };
        let before = &mut before[flow as usize];
        let packet = scenario.flows[flow as usize].packet_bytes();
        let row = FlowRow {
            cwnd_pkts: cwnd as u32,
            cwnd_range_pkts: (min_cwnd as u32, max_cwnd as u32),
            ssthresh_pkts: ssthresh as u32,
            in_flight_pkts: in_flight as u32,
            srtt_ns: (srtt_us * 1e3) as u64,
            bits: 8 * u64::from(packet) * (delivered - before.1) as u64,
            span_ns: (at_ns - before.0) as u64,
            marked_pkts: (marked - before.2) as u64,
        };
        samples.push((at_ns as u64, flow as u32, row));
        *before = (at_ns, delivered, marked);
    }
    time_series(samples, &scenario.sample_groups)
}

fn link_samples(scenario: &Scenario, plan: &Plan, lines: &[String]) -> LinkSamples {
    let mut samples = LinkSamples::default();
    let sampled = scenario.sampled_links();
    // Marks of the wires, by the link and the time.
    let mut of_wires = BTreeMap::new();
    for row in rows(lines, "link-row") {
        let [link, at_ns, .., marked] = row[..] else { continue };
        if let Some(wire) = (link as usize).checked_sub(plan.watched.len()) {
            of_wires.insert((plan.wires[wire], at_ns as u64), marked);
        }
    }
    // At the first row it counts what the probes have lost.
    let mut before = vec![None; plan.watched.len()];
    for row in rows(lines, "link-row") {
        let [link, at_ns, held, _, dropped, marked] = row[..] else { continue };
        let Some(&index) = plan.watched.get(link as usize) else { continue };
        let marked = marked + of_wires.get(&(index, at_ns as u64)).unwrap_or(&0.0);
        if sampled.binary_search(&(index as u32)).is_err() {
            continue;
        }
        let before = before[link as usize].get_or_insert((dropped, marked));
        samples.time_s.push(at_ns / 1e9);
        samples.link.push(index as u32);
        samples.queue_pkts.push(held as u32);
        samples.queue_ms.push(waiting_ms(scenario, index, held));
        samples.dropped_pkts.push((dropped - before.0) as u64);
        samples.marked_pkts.push((marked - before.1) as u64);
        *before = (dropped, marked);
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts of guests: how many came, in how many nanoseconds, the most held, and whether some were dropped.
    #[test]
    fn a_burst_may_be_late_by_a_tenth_of_a_millisecond_and_no_more() {
        let burst = |mbps: u64, limit_pkts| Burst {
            flow: 0,
            link: 0,
            is_back: false,
            rate_bps: mbps * 1_000_000,
            packet_bytes: 1514,
            limit_pkts,
            pkts: 200,
        };
        let judged = |burst: &Burst, arrived: f64, took_ns: f64| {
            judge_burst(burst, &[0.0, arrived, took_ns, 20.0, 1.0], 1)
        };
        // 23 packets take 4493.2 us at 62 Mbit/s, and one percent more at most, and 100 us.
        let filled = burst(62, Some(20));
        assert_eq!(judged(&filled, 24.0, 4_560_000.0), None);
        assert_eq!(judged(&filled, 24.0, 4_640_000.0).unwrap(), "carries 60.04 Mbit/s instead of 62.00");
        // Five take 890.6 us at 68 Mbit/s. At 58 Mbit/s they would take 1044 us.
        let few = burst(68, None);
        assert_eq!(judged(&few, 6.0, 989_000.0), None);
        assert_eq!(judged(&few, 6.0, 1_048_000.0).unwrap(), "carries 57.79 Mbit/s instead of 68.00");
        assert!(judged(&few, 1.0, 0.0).is_some());
        // A faster processor is late by less.
        assert!(judge_burst(&filled, &[0.0, 24.0, 4_560_000.0, 20.0, 1.0], 8).is_some());
    }
}
