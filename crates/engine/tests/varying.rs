//! Links that vary, police and impair.

mod common;

use common::{
    Hook, answer, answer_by_events, answer_scenario, read, read_with_trace, times_us, watch_scenario,
};
use cwnd_engine::{Control, Observation, Simulation};
use cwnd_results::Run;
use cwnd_scenario::{Link, Scenario};
use proptest::prelude::*;

/// Full packets have 1500 bytes.
fn one_link(keys: &str, cca: &str) -> String {
    format!(
        "duration = '60 s'\n[[chain]]\nbuffer = 'unlimited'\n{keys}\n[[flows]]\ncca = {cca}\n\
         packet = '1434 bytes'\nstack = {{ ack_every = 1, receive_window = 20000 }}\n"
    )
}

const PACED_40_MBPS: &str = "{ name = 'paced', window = 20000, rate = 5000000 }";

fn observe(scenario: &Scenario) -> (Observation, Run) {
    let control = Control::default();
    let mut simulation = Simulation::new(scenario, scenario.seed, &common::custom, &control);
    simulation.advance(scenario.duration_ns).unwrap();
    (simulation.observe(), simulation.finish().unwrap())
}

#[test]
fn a_trace_delivers_at_its_opportunities() {
    let text = one_link(
        "rate = { trace = 'x' }\ndelay = '10 ms'",
        "{ name = 'overshoot', window = 6, after_loss = 6 }",
    );
    // Six packets wait at 0: two of the opportunities of 5 ms are for two of them, and the trace begins anew at 9 ms.
    let scenario = read_with_trace(&text, "2\n5\n5\n9\n");
    let (_, seen) = watch_scenario(&scenario);
    let back_us = (scenario.flows[0].return_delay_ns + 10_000_000) / 1000;
    let sent_us: Vec<u64> = times_us(&seen, Hook::Acked).iter().take(6).map(|at| at - back_us).collect();
    assert_eq!(sent_us, [2000, 5000, 5000, 9000, 11_000, 14_000]);
}

#[test]
fn a_trace_that_is_not_repeated_delivers_no_more_than_its_opportunities() {
    let text = one_link("rate = { trace = 'x', repeat = false }\ndelay = '10 ms'", "'reno'");
    let scenario = read_with_trace(&text, "2\n5\n5\n900\n");
    let run = answer_scenario(&scenario);
    assert_eq!((run.flows[0].delivered_pkts, run.links[0].delivered_pkts), (4, 4));
    assert!(run == answer_by_events(&scenario));
}

#[test]
fn cubic_over_a_constant_trace_is_cubic_over_the_fixed_link() {
    let keys = |rate: &str| {
        one_link(&format!("rate = {rate}\ndelay = '20 ms'"), "'cubic'").replace("'unlimited'", "100")
    };
    // One opportunity of 1500 bytes in each millisecond is 12 Mbps.
    let traced = read_with_trace(&keys("{ trace = 'x' }"), "1\n");
    let fixed = read(&keys("'12 Mbps'"));
    assert_eq!(traced.links[0].rate_bps, fixed.links[0].rate_bps);
    let [traced, fixed] = [traced, fixed].map(|scenario| answer_scenario(&scenario));
    let ratio = traced.flows[0].throughput_mbps / fixed.flows[0].throughput_mbps;
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    assert!(fixed.flows[0].throughput_mbps > 11.5);
    assert!(traced.links[0].utilization > 0.95 && traced.links[0].utilization <= 1.0, "{traced:?}");
}

#[test]
fn steps_of_the_rate_and_an_outage_carry_the_integral_of_the_rate() {
    let keys =
        "rate = { steps = [['0 s', '50 Mbps'], ['20 s', '0 bps'], ['22 s', '5 Mbps']] }\ndelay = '20 ms'";
    let run = answer(&one_link(keys, "{ name = 'fixed', window = 3000 }"));
    // 20 s of 50 Mbps and 38 s of 5 Mbps are 99,166.7 packets; those of the last 20 ms are under way.
    let sent = run.links[0].delivered_pkts as i64;
    assert!((sent - (99_166 - 9)).abs() <= 1, "{sent}");
    assert!(run.links[0].utilization > 0.9999 && run.links[0].utilization <= 1.0);
}

#[test]
fn a_step_of_the_delay_down_reorders_the_packets_under_way() {
    let keys = "rate = '12 Mbps'\ndelay = { steps = [['0 s', '30 ms'], ['10 s', '20 ms']] }";
    let text = one_link(keys, "{ name = 'paced', window = 1000, rate = 750000 }");
    let stepped = read(&text.replace("60 s", "11 s"));
    let steady = read(&text.replace("60 s", "11 s").replace("20 ms", "30 ms"));
    let delivered = |scenario: &Scenario| {
        let control = Control::default();
        let mut simulation = Simulation::new(scenario, 1, &common::custom, &control);
        simulation.advance(10_030_500_000).unwrap();
        simulation.observe().flows[0].delivered_pkts
    };
    // A packet each 1.9 ms: those of the first 10 ms after the step arrive beside those of the last 10 ms before it.
    let more = delivered(&stepped) - delivered(&steady);
    assert!((5..=6).contains(&more), "{more}");
    let run = answer_scenario(&stepped);
    assert!(run == answer_by_events(&stepped));
    assert_eq!(run.flows[0].lost_pkts, 0);
}

#[test]
fn a_policer_passes_its_rate_and_its_burst() {
    let keys = "rate = '1 Gbps'\ndelay = '20 ms'\npolicer = { rate = '10 Mbps', burst = '150000 bytes' }";
    let scenario = read(&one_link(keys, PACED_40_MBPS));
    let run = answer_scenario(&scenario);
    let passed_mbps = run.links[0].delivered_pkts as f64 * 12_000.0 / 60e6;
    assert!((passed_mbps - 10.0 - 100.0 * 12_000.0 / 60e6).abs() < 0.005, "{passed_mbps}");
}
