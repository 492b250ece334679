//! The chance of algorithms comes from the seed, not from the clock.

use crate::common::answer;
use cwnd_results::Run;

/// Two flows of the algorithms that draw random numbers, which start `shift_us` later than they would, and stop.
fn two_flows(seed: u64, shift_us: u64, count: u32) -> Run {
    let flow = |cca: &str| {
        let stop_us = 40_000_000 + shift_us;
        format!(
            "[[flows]]\ncca = '{cca}'\ncount = {count}\nstart = '{shift_us} us'\nstop = '{stop_us} us'\nstack = {{ pacing = 'fq' }}\n"
        )
    };
    answer(&format!(
        "seed = {seed}\nduration = '41 s'\nsamples = 'off'\n[dumbbell]\nrate = '20 Mbps'\nrtt = '28 ms'\nbuffer = 50\n{}{}",
        flow("bbr"),
        flow("bbr3")
    ))
}

fn counts(run: &Run) -> Vec<(u64, u64, u64)> {
    run.flows.iter().map(|flow| (flow.sent_pkts, flow.retransmitted_pkts, flow.lost_pkts)).collect()
}

#[test]
fn a_run_that_starts_later_is_the_same_run() {
    let first = counts(&two_flows(1, 0, 1));
    for shift_us in [1, 3, 1000, 7000, 900_000] {
        assert_eq!(counts(&two_flows(1, shift_us, 1)), first, "{shift_us} us later");
    }
}

#[test]
fn another_seed_is_another_run() {
    let mut runs: Vec<_> = (1..=8).map(|seed| counts(&two_flows(seed, 0, 1))).collect();
    runs.sort();
    runs.dedup();
    assert_eq!(runs.len(), 8);
}

#[test]
fn equal_flows_draw_different_numbers() {
    let run = two_flows(1, 0, 2);
    assert_ne!(run.flows[0].sent_pkts, run.flows[1].sent_pkts);
    assert_ne!(run.flows[2].sent_pkts, run.flows[3].sent_pkts);
}
