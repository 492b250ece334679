//! With a warmup, results are those of the whole run less those of a run that ends with the warmup.

use crate::common;
use crate::common::{answer_by_events, answer_scenario, read};
use cwnd_results::{FlowResult, LinkResult, Run};
use cwnd_scenario::{Clock, End, Samples, Scenario, Sweep};
use std::path::Path;

fn assert_near(one: f64, other: f64, what: &str) {
    assert!((one - other).abs() <= 1e-6 * one.abs() + 1e-6, "{what}: {one} {other}");
}

/// Returns the counts of a flow, and the time integrals of its throughput, goodput and cwnd from `from_s` on.
fn of_flow(flow: &FlowResult, from_s: f64) -> ([u64; 5], [f64; 3]) {
    let span_s = (flow.stop_s - flow.start_s.max(from_s)).max(0.0);
    (
        [flow.sent_pkts, flow.retransmitted_pkts, flow.delivered_pkts, flow.lost_pkts, flow.timeouts],
        [flow.throughput_mbps, flow.goodput_mbps, flow.mean_cwnd_pkts].map(|mean| mean * span_s),
    )
}

fn of_link(link: &LinkResult, span_s: f64) -> ([u64; 4], [f64; 2]) {
    (
        [link.delivered_pkts, link.dropped_pkts, link.error_pkts, link.marked_pkts],
        [link.mean_queue_pkts * span_s, link.utilization * span_s],
    )
}

fn check(scenario: &Scenario, warmup_ns: u64, what: &str) {
    let whole = answer_scenario(scenario);
    let before = answer_scenario(&scenario.clone().with(|scenario| scenario.duration_ns = warmup_ns));
    let warm = scenario.clone().with(|scenario| scenario.warmup_ns = warmup_ns);
    let measured = answer_scenario(&warm);
    assert_eq!(measured.flow_samples, whole.flow_samples, "{what}");
    assert_eq!(measured.link_samples, whole.link_samples, "{what}");
    assert_eq!(format!("{measured:?}"), format!("{:?}", answer_by_events(&warm)), "{what}");
    let warmup_s = warmup_ns as f64 / 1e9;
    for ((one, all), start) in measured.flows.iter().zip(&whole.flows).zip(&before.flows) {
        let ((counts, sums), (all_counts, all_sums)) = (of_flow(one, warmup_s), of_flow(all, 0.0));
        // A flow that starts later has all of it.
        let (start_counts, start_sums) =
            if one.start_s < warmup_s { of_flow(start, 0.0) } else { Default::default() };
        for index in 0..5 {
            assert_eq!(counts[index] + start_counts[index], all_counts[index], "{what}: {one:?}");
        }
        // The mean cwnd of a flow with arrivals is that over the time of its connections.
        let sums_of_time = if scenario.flows[one.flow as usize].arrivals().is_some() { 2 } else { 3 };
        // What arrived before the warmup beyond a missing segment is of neither part's goodput.
        assert!(sums[1] + start_sums[1] <= all_sums[1] * (1.0 + 1e-9) + 1e-9, "{what}: {one:?}");
        assert!(sums[1] <= sums[0] * (1.0 + 1e-9), "{what}: {one:?}");
        for index in (0..sums_of_time).filter(|index| *index != 1) {
            assert_near(all_sums[index], sums[index] + start_sums[index], &format!("{what}: {one:?}"));
        }
    }
    let end_s = scenario.duration_ns as f64 / 1e9;
    for ((one, all), start) in measured.links.iter().zip(&whole.links).zip(&before.links) {
        let ((counts, sums), (all_counts, all_sums)) = (of_link(one, end_s - warmup_s), of_link(all, end_s));
        let (start_counts, start_sums) = of_link(start, warmup_s);
        for index in 0..4 {
            assert_eq!(counts[index] + start_counts[index], all_counts[index], "{what}: {one:?}");
        }
        for index in 0..2 {
            assert_near(all_sums[index], sums[index] + start_sums[index], &format!("{what}: {one:?}"));
        }
        assert!(one.max_queue_pkts <= all.max_queue_pkts, "{what}: {one:?}");
    }
}

#[test]
fn what_came_before_the_warmup_does_not_count() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut checked = 0;
    for file in ["algorithms", "applications", "chains", "stacks", "ns2", "random"] {
        let text = std::fs::read_to_string(folder.join(file).with_extension("toml")).unwrap();
        for point in Sweep::from_toml(&text, file, &[]).unwrap().points.into_iter().step_by(5) {
            let mut scenario = point.scenario;
            if scenario.end != End::Duration {
                continue;
            }
            if scenario.samples == Samples::Change && scenario.clock == Clock::Ns2 {
                scenario.samples = Samples::Off;
            }
            // Nothing happens at this very instant.
            let warmup_ns = scenario.duration_ns / 3 + 1;
            check(&scenario, warmup_ns, &format!("{file} {:?}", point.values));
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn nor_where_links_manage_their_queues_and_acks_cross_links() {
    for queue in ["codel", "fq-codel", "pie", "red", "dualpi2"] {
        let queue = match queue {
            "red" => "{ discipline = 'red', min = '10 packets', max = '30 packets', ecn = true }".to_owned(),
            "codel" => "{ discipline = 'codel', ecn = true }".to_owned(),
            name => format!("'{name}'"),
        };
        let scenario = read(&format!(
            "duration = '6 s'\nsamples = '50 ms'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = 60\n\
             queue = {queue}\nper = 1e-3\nreverse = {{ rate = '1 Mbps', buffer = 20 }}\n\
             [[flows]]\ncca = 'cubic'\nstack.ecn = 'classic'\n[[flows]]\ncca = 'reno'\nstart = '3 s'\n\
             [[flows]]\ncca = 'reno'\nstop = '1 s'\n[[flows]]\ncca = 'udp'\napp_rate = '1 Mbps'\n"
        ));
        check(&scenario, 2_000_000_007, &queue);
    }
}

const TRANSFERS: &str = r#"
    duration = "20 s"
    [dumbbell]
    rate = "10 Mbps"
    delay = "10 ms"
    buffer = 60
    per = 1e-3
    [[flows]]
    cca = "cubic"
    [[flows]]
    cca = "reno"
    size = { distribution = "pareto", alpha = 1.2, min = "1 KB", max = "1 MB" }
    arrivals = { process = "poisson", load = 0.3 }
    [[flows]]
    cca = "reno"
    size = "20 KB"
    requests = { count = 1000, think = "50 ms" }
"#;

#[test]
fn transfers_count_if_they_begin_after_the_warmup() {
    let scenario = read(TRANSFERS);
    check(&scenario, 5_000_000_003, "transfers");
    let warm = scenario.clone().with(|scenario| scenario.warmup_ns = 5_000_000_003);
    let run = answer_scenario(&warm);
    let transfers = |run: &Run| format!("{:?}", run.transfers);
    assert!(transfers(&run) == transfers(&answer_scenario(&scenario)));
    let mean = |flow: u32| {
        let rows = run.transfers.flow.iter().zip(&run.transfers.start_s).zip(&run.transfers.fct_ms);
        let own =
            rows.filter(|((of, start_s), fct)| **of == flow && **start_s >= 5.000000003 && !fct.is_nan());
        let fcts: Vec<f64> = own.map(|(_, fct)| *fct).collect();
        fcts.iter().sum::<f64>() / fcts.len() as f64
    };
    for flow in [1, 2] {
        assert_near(run.flows[flow].fct_ms.unwrap(), mean(flow as u32), "mean");
    }
    let mut all: Vec<f64> = run
        .transfers
        .fct_ms
        .iter()
        .zip(&run.transfers.start_s)
        .filter(|(fct, start_s)| !fct.is_nan() && **start_s >= 5.000000003)
        .map(|(fct, _)| *fct)
        .collect();
    all.sort_by(f64::total_cmp);
    let p95 = all[(0.95 * all.len() as f64).ceil() as usize - 1];
    assert_eq!((run.flows[1].fct_p95_ms, run.flows[2].fct_p95_ms), (Some(p95), Some(p95)));
    assert_eq!(run.flows[0].fct_p95_ms, None);
}

#[test]
fn the_steps_in_which_a_run_is_advanced_do_not_move_the_end_of_the_warmup() {
    let scenario = read(TRANSFERS).with(|scenario| scenario.warmup_ns = 5_000_000_003);
    let mut simulation = common::begin(&scenario);
    for step in 1..30 {
        simulation.advance(step * 700_000_001).unwrap();
    }
    let run: Run = simulation.finish().unwrap();
    assert_eq!(format!("{run:?}"), format!("{:?}", answer_scenario(&scenario)));
}

#[test]
fn the_first_slow_start_ends_when_ssthresh_is_set() {
    // 1,000 packets of BDP and buffer: ten doublings of 10 packets at most, an RTT of 100 ms each.
    let flow = "duration = '10 s'\n[[chain]]\nrate = '60 Mbps'\ndelay = '50 ms'\nbuffer = 500\n[[flows]]\ncca = 'reno'\n";
    let slow_start_s = answer_scenario(&read(flow)).flows[0].slow_start_s.unwrap();
    assert!((0.5..1.2).contains(&slow_start_s), "{slow_start_s}");
    let idle = format!("{flow}app_rate = '100 kbps'\n");
    assert_eq!(answer_scenario(&read(&idle)).flows[0].slow_start_s, Some(10.0), "it never ends");
    let bbr = flow.replace("reno", "bbr");
    assert_eq!(answer_scenario(&read(&bbr)).flows[0].slow_start_s, None);
}

#[test]
fn waits_are_those_of_a_queue_that_never_changes() {
    // 12 Mbps of datagrams into 6 Mbps with room for 21 packets of 2 ms each: an arrival finds 20 or fewer.
    let run = common::answer(
        "duration = '20 s'\nwarmup = '10 s'\n[dumbbell]\nrate = '6 Mbps'\ndelay = '1 ms'\nbuffer = 21\n\
         access = { rate = '1 Gbps' }\n[[flows]]\ncca = 'udp'\napp_rate = '12 Mbps'\npacket = '1434 bytes'\n",
    );
    let bottleneck = &run.links[1];
    let p95_queue_ms = bottleneck.p95_queue_ms.unwrap();
    assert!((38.0..=40.2).contains(&p95_queue_ms), "{p95_queue_ms}");
    assert_eq!(run.links[0].p95_queue_ms, Some(0.0));
}

#[test]
fn the_utilization_of_a_rate_that_varies_is_that_of_the_measured_time() {
    let run = |rate: &str, flow: &str| {
        let run = common::answer(&format!(
            "duration = '20 s'\nwarmup = '10 s'\n[dumbbell]\nrate = {rate}\ndelay = '10 ms'\nbuffer = 100\n[[flows]]\n{flow}\n"
        ));
        run.links[1].utilization
    };
    // 777 datagrams of 1514 bytes in 10 s of 10 Mbps.
    let up =
        run("{ steps = [['0 s', '1 Mbps'], ['10 s', '10 Mbps']] }", "cca = 'udp'\napp_rate = '0.9 Mbps'");
    assert!((up - 777.0 * 1514.0 * 8.0 / 1e8).abs() < 1e-4, "{up}");
    // Full from its first packet on, 11.2 ms after the start: the access link takes 1.2 ms.
    let down = run("{ steps = [['0 s', '10 Mbps'], ['10 s', '1 Mbps']] }", "cca = 'cubic'\nstart = '10 s'");
    assert!((0.995..=1.0).contains(&down), "{down}");
    // Twice the rate of the first half in the second: as full then as a link of one rate.
    let steps = "{ steps = [['0 s', '4 Mbps'], ['10 s', '8 Mbps']] }";
    let full = run(steps, "cca = 'udp'\napp_rate = '20 Mbps'");
    assert_eq!(full, 1.0, "no packet begins or ends with the warmup");
}
