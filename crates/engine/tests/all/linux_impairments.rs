//! Impairments against Linux's netem: a kernel of Debian in virtual time.

use crate::common::{answer, read};
use cwnd_engine::{Control, run};
use cwnd_results::Run;
use rayon::prelude::*;

/// 50 Mbps through 167 packets, then the impairment, 20 ms each way, 30 s.
fn alone(cca: &str, impairment: &str, seed: u64) -> Run {
    let scenario = read(&format!(
        "duration = '30 s'\nstack = {{ profile = 'linux', header = 52, ack = 52, handshake = 'first' }}\n\
         [[chain]]\nrate = '50 Mbps'\ndelay = '20 ms'\nbuffer = 167\n{impairment}\n[[flows]]\ncca = '{cca}'\n"
    ));
    run(&scenario, seed, &|_| None, &Control::default()).expect("nobody stops it")
}

/// The mean over 20 seeds, of which Linux has one to three.
fn mean(cca: &str, impairment: &str, value: fn(&Run) -> f64) -> f64 {
    (1..=20_u64).into_par_iter().map(|seed| value(&alone(cca, impairment, seed))).sum::<f64>() / 20.0
}

fn goodput_mbps(run: &Run) -> f64 {
    run.flows[0].goodput_mbps
}

const GE: &str = "loss = { model = 'gilbert-elliott', p = 0.0002, r = 0.2, good = 0, bad = 0.5 }";

#[test]
#[ignore = "slow"]
fn bursts_of_losses_leave_what_they_leave_in_linux() {
    // Linux: 26.6 to 33.9 Mbps, 28.7 to 31.3 Mbps.
    assert!((26.6..33.9).contains(&mean("cubic", GE, goodput_mbps)));
    assert!((28.7 * 0.97..31.3).contains(&mean("reno", GE, goodput_mbps)));
    // The loss ratio is p / (p + r) / 2.
    let lost = mean("cubic", GE, |run| run.links[0].error_pkts as f64 / run.flows[0].sent_pkts as f64);
    assert!((lost / 4.995e-4 - 1.0).abs() < 0.15, "{lost}");
}

#[test]
fn jitter_that_keeps_the_order_costs_nothing_as_in_linux() {
    for (cca, theirs) in [("cubic", 47.917), ("reno", 47.656)] {
        let ours = mean(cca, "jitter = { uniform = '5 ms' }", goodput_mbps);
        assert!((ours / theirs - 1.0).abs() < 0.01, "{cca}: {ours}, Linux {theirs}");
    }
}

/// Reordering reaches beyond a quarter of the RTT: some segments count as lost that are not. Linux has 34.6 and 43.0 Mbps.
/// Its receiver holds SACKs back, which hides part of the reordering; here there are more cuts.
#[test]
#[ignore = "slow"]
fn jitter_that_reorders_costs_goodput_and_needless_retransmissions() {
    for (cca, theirs) in [("cubic", 34.614), ("reno", 43.015)] {
        let jitter = "jitter = { uniform = '5 ms', reorder = true }";
        let ours = mean(cca, jitter, goodput_mbps);
        assert!((0.7..1.0).contains(&(ours / theirs)), "{cca}: {ours}, Linux {theirs}");
        assert!(mean(cca, jitter, |run| run.flows[0].retransmitted_pkts as f64) > 5.0);
    }
}

/// A quarter of the packets take no delay on a second link: Linux has 30.6 to 45.7 Mbps in seven of eight runs.
#[test]
fn reordering_ends_no_slow_start_early_as_in_linux() {
    for seed in 1..=8 {
        let run = answer(&format!(
            "duration = '15 s'\nsamples = 'off'\nseed = {seed}\n[[chain]]\nrate = '50 Mbps'\ndelay = '45 ms'\nbuffer = '1 BDP'\n\
             [[chain]]\nrate = '1 Gbps'\ndelay = '5 ms'\nbuffer = 'unlimited'\nreorder = 0.25\n[[flows]]\ncca = 'cubic'\n"
        ));
        assert!(run.flows[0].goodput_mbps > 30.0, "seed {seed}: {} Mbps", run.flows[0].goodput_mbps);
    }
}

/// A way that becomes 40 ms shorter lets packets overtake, and none is lost: Linux's window is 501 before and 502 after.
#[test]
fn a_shorter_route_halves_no_window_as_in_linux() {
    let run = answer(
        "duration = '7 s'\nsamples = '100 ms'\n[dumbbell]\nrate = '20 Mbps'\ndelay = { steps = [['0 s', '60 ms'], ['6 s', '20 ms']] }\n\
         buffer = '4 BDP'\n[[flows]]\ncca = 'reno'\n",
    );
    let windows = &run.flow_samples.cwnd_pkts;
    let (before, after) = (windows[58], windows[windows.len() - 1]);
    assert!((490..=510).contains(&before) && (before..=510).contains(&after), "{before}, then {after}");
}
