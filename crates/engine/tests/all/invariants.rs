//! Invariants of every run, whatever its keys: a table.

use crate::common::answer_scenario;
use crate::scenarios::{Kind, each};
use cwnd_results::{FlowResult, LinkResult, Metrics, Run};
use cwnd_scenario::{Clock, Samples, Scenario};

/// A share may exceed its whole by the rounding of a few sums.
const ROUNDING: f64 = 1.0 + 1e-9;

fn holds(condition: bool, what: &str, row: &impl std::fmt::Debug) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("{what}: {row:?}")) }
}

fn in_order(values: &[Option<f64>]) -> bool {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    (known.is_empty() || known.len() == values.len())
        && known.is_sorted()
        && known.iter().all(|value| *value >= 0.0)
}

fn check_flow(scenario: &Scenario, row: &FlowResult) -> Result<(), String> {
    let flow = &scenario.flows[row.flow as usize];
    let holds = |condition, what| holds(condition, what, row);
    holds((0.0..=1.0).contains(&row.loss_ratio), "a share of losses")?;
    holds(row.goodput_mbps >= 0.0 && row.goodput_mbps <= row.throughput_mbps * ROUNDING, "goodput")?;
    // At most the payload of the packets that arrived.
    let payload = f64::from(flow.payload_bytes) / f64::from(flow.packet_bytes());
    holds(row.goodput_mbps <= row.throughput_mbps * payload.max(0.0) * ROUNDING, "goodput of full packets")?;
    holds(row.retransmitted_pkts <= row.sent_pkts, "retransmissions")?;
    holds(row.marked_pkts <= row.delivered_pkts, "marks")?;
    let copies =
        scenario.links.iter().any(|link| link.impairments.as_ref().is_some_and(|all| all.duplicate > 0.0));
    if scenario.warmup_ns == 0 && !copies {
        holds(row.delivered_pkts + row.lost_pkts <= row.sent_pkts, "packets that were sent")?;
    }
    holds(row.mean_rtt_ms.is_some() == row.p95_rtt_ms.is_some(), "both RTTs or none")?;
    holds(!flow.cca.is_udp() || row.mean_rtt_ms.is_none(), "datagrams have no RTT")?;
    holds(row.mean_rtt_ms.is_none_or(|rtt| rtt > 0.0), "no RTT is not one of 0")?;
    holds(in_order(&[row.fct_p50_ms, row.fct_p95_ms, row.fct_p99_ms]), "completion times")?;
    holds(in_order(&[row.slowdown_p50, row.slowdown_p99]), "slowdowns")?;
    holds(row.slowdown_p50.is_none_or(|slowdown| slowdown >= 1.0), "no transfer is faster than alone")?;
    holds(row.start_s <= row.stop_s, "start and stop")?;
    holds(row.mean_cwnd_pkts.is_finite() && row.mean_cwnd_pkts >= 0.0, "cwnd")
}

fn check_link(scenario: &Scenario, index: usize, row: &LinkResult) -> Result<(), String> {
    let link = &scenario.links[index];
    let holds = |condition, what| holds(condition, what, row);
    holds((0.0..=1.0).contains(&row.utilization), "utilization")?;
    holds(
        row.mean_queue_pkts >= 0.0 && row.mean_queue_pkts <= row.max_queue_pkts as f64 + 1e-9,
        "mean queue",
    )?;
    // A discipline does not count the packet that is being sent.
    let sending = u64::from(link.queue.is_some());
    holds(link.buffer_pkts.is_none_or(|pkts| row.max_queue_pkts <= u64::from(pkts) + sending), "buffer")?;
    holds(row.p95_queue_ms.is_none_or(|wait| wait >= 0.0), "wait")?;
    holds(row.p95_queue_ms.is_none() || row.max_queue_pkts > 0, "no wait without a packet")
}

/// Checks the summary of a run against its flows.
fn check_summary(scenario: &Scenario, run: &Run) -> Result<(), String> {
    let metrics = Metrics::of(scenario, &run.flows, &run.links);
    let holds = |condition, what| holds(condition, what, &metrics);
    for share in [metrics.loss_ratio, metrics.jain_fairness, metrics.rtt_fairness, metrics.utilization] {
        holds((0.0..=1.0).contains(&share), "shares")?;
    }
    holds(metrics.goodput_mbps <= metrics.throughput_mbps * ROUNDING, "goodput")?;
    for (all, of_flow) in [
        (metrics.mean_rtt_ms, (|row| row.mean_rtt_ms) as fn(&FlowResult) -> Option<f64>),
        (metrics.p95_rtt_ms, |row| row.p95_rtt_ms),
    ] {
        let weighted = run.flows.iter().filter(|row| row.throughput_mbps > 0.0);
        let known: Vec<f64> = weighted.filter_map(of_flow).collect();
        let least = known.iter().copied().fold(f64::INFINITY, f64::min);
        let most = known.iter().copied().fold(0.0, f64::max);
        holds(known.is_empty() == all.is_nan(), "an RTT, if a flow has one")?;
        holds(all.is_nan() || (all >= least * 0.999_999 && all <= most * 1.000_001), "a mean of its flows")?;
    }
    for (all, of_flow) in [
        (metrics.fct_p50_ms, (|row| row.fct_p50_ms) as fn(&FlowResult) -> Option<f64>),
        (metrics.slowdown_p99, |row| row.slowdown_p99),
    ] {
        holds(run.flows.iter().all(|row| of_flow(row).is_none()) == all.is_nan(), "transfers")?;
    }
    Ok(())
}

/// The spans between samples add up to the run.
fn check_samples(scenario: &Scenario, run: &Run) -> Result<(), String> {
    let Samples::Interval { interval_ns } = scenario.samples else { return Ok(()) };
    let links = &run.link_samples;
    for (index, (row, link)) in run.links.iter().zip(&scenario.links).enumerate() {
        let rows = || (0..links.link.len()).filter(|&row| links.link[row] == index as u32);
        let most = rows().map(|row| u64::from(links.queue_pkts[row])).max().unwrap_or(0);
        let sums = rows().fold((0, 0), |(dropped, marked), row| {
            (dropped + links.dropped_pkts[row], marked + links.marked_pkts[row])
        });
        if scenario.warmup_ns > 0
            || !scenario.duration_ns.is_multiple_of(interval_ns)
            || rows().next().is_none()
        {
            continue;
        }
        holds(sums == (row.dropped_pkts + row.error_pkts, row.marked_pkts), "sums of samples", &(sums, row))?;
        // Samples are taken after the departures of their instant, and a copy of a packet that leaves then is held no more.
        holds(most <= row.max_queue_pkts, "the longest queue", &(link, most, row))?;
    }
    let flows = &run.flow_samples;
    for row in run.flows.iter().filter(|_| scenario.warmup_ns == 0) {
        let flow = &scenario.flows[row.flow as usize];
        let rows: Vec<usize> = (0..flows.flow.len()).filter(|&k| flows.flow[k] == row.flow).collect();
        let Some(&last) = rows.last() else { continue };
        let mut before_s = row.start_s;
        let mut megabits = 0.0;
        for &sample in &rows {
            megabits += flows.throughput_mbps[sample] * (flows.time_s[sample] - before_s).max(0.0);
            before_s = flows.time_s[sample];
            let (least, most) = (flows.min_cwnd_pkts[sample], flows.max_cwnd_pkts[sample]);
            holds((least..=most).contains(&flows.cwnd_pkts[sample]), "the range of cwnd", row)?;
        }
        let all = row.throughput_mbps * (row.stop_s - row.start_s);
        let ends_there = (flows.time_s[last] - row.stop_s).abs() < 1e-12 && flow.size().is_none();
        let packet = f64::from(flow.packet_bytes()) * 8e-6;
        let near = if ends_there {
            (megabits - all).abs() < 1e-9 * all + 1e-9
        } else {
            megabits <= all + packet + 1e-9
        };
        holds(near, "the bits of samples", &(megabits, all, row))?;
    }
    Ok(())
}

/// A run and what came before its warmup add up to the whole.
fn check_spans(scenario: &Scenario, run: &Run) -> Result<(), String> {
    let warmup_ns = scenario.warmup_ns;
    let all_began = scenario.flows.iter().all(|flow| flow.start_ns + flow.start_jitter_ns < warmup_ns);
    // By ns-2's clock a packet may arrive in the nanosecond after the end.
    if warmup_ns == 0 || !all_began || scenario.clock == Clock::Ns2 {
        return Ok(());
    }
    let whole = answer_scenario(&scenario.clone().with(|scenario| scenario.warmup_ns = 0));
    let mut before =
        scenario.clone().with(|scenario| (scenario.warmup_ns, scenario.duration_ns) = (0, warmup_ns));
    before.flows.iter_mut().for_each(|flow| flow.stop_ns = flow.stop_ns.min(warmup_ns));
    let before = answer_scenario(&before);
    for ((one, first), all) in run.flows.iter().zip(&before.flows).zip(&whole.flows) {
        let counts = |row: &FlowResult| {
            [
                row.sent_pkts,
                row.retransmitted_pkts,
                row.delivered_pkts,
                row.lost_pkts,
                row.timeouts,
                row.marked_pkts,
            ]
        };
        let (measured, first_counts, all_counts) = (counts(one), counts(first), counts(all));
        let adds_up = (0..6).all(|place| measured[place] + first_counts[place] == all_counts[place]);
        holds(adds_up, "counts of spans", &(one, first, all))?;
        let warmup_s = warmup_ns as f64 / 1e9;
        let bits = |row: &FlowResult, from_s: f64| {
            let span_s = (row.stop_s - row.start_s.max(from_s)).max(0.0);
            [row.throughput_mbps * span_s, row.goodput_mbps * span_s]
        };
        let (measured, first_bits, all_bits) = (bits(one, warmup_s), bits(first, 0.0), bits(all, 0.0));
        let [bits, payload] = [0, 1].map(|place| measured[place] + first_bits[place]);
        holds((bits - all_bits[0]).abs() < 1e-9 * bits + 1e-9, "bits of spans", &(one, first, all))?;
        // What arrived before the warmup beyond a missing segment is of neither part's goodput.
        holds(payload <= all_bits[1] * ROUNDING + 1e-9, "payload of spans", &(one, first, all))?;
    }
    for ((one, first), all) in run.links.iter().zip(&before.links).zip(&whole.links) {
        let counts =
            |row: &LinkResult| [row.delivered_pkts, row.dropped_pkts, row.error_pkts, row.marked_pkts];
        let (measured, first_counts, all_counts) = (counts(one), counts(first), counts(all));
        let adds_up = (0..4).all(|place| measured[place] + first_counts[place] == all_counts[place]);
        holds(adds_up, "counts of spans", &(one, first, all))?;
        let (warmup, duration) = (warmup_ns as f64, scenario.duration_ns as f64);
        let sum = one.mean_queue_pkts * (duration - warmup) + first.mean_queue_pkts * warmup;
        let whole = all.mean_queue_pkts * duration;
        holds((sum - whole).abs() < 1e-6 * whole + 10.0, "queues of spans", &(one, first, all))?;
        holds(
            one.max_queue_pkts.max(first.max_queue_pkts) == all.max_queue_pkts,
            "longest queues",
            &(one, first, all),
        )?;
    }
    Ok(())
}

fn check(scenario: &Scenario) -> Result<(), String> {
    let run = answer_scenario(scenario);
    run.flows.iter().try_for_each(|row| check_flow(scenario, row))?;
    run.links.iter().enumerate().try_for_each(|(index, row)| check_link(scenario, index, row))?;
    check_summary(scenario, &run)?;
    check_samples(scenario, &run)?;
    check_spans(scenario, &run)
}

#[test]
fn the_table_of_invariants_holds() {
    each(Kind::Any, 300, |_, scenario| check(scenario));
}

#[test]
#[ignore = "slow"]
fn the_table_of_invariants_holds_in_5000_scenarios() {
    each(Kind::Any, 5000, |_, scenario| check(scenario));
}
