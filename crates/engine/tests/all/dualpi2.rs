//! Two kinds of senders behind DualPI2 (RFC 9332).

use crate::common::answer;
use cwnd_results::{FlowResult, Run};
use rayon::prelude::*;

/// So many flows of prague, and as many of cubic.
fn together(flows: u32, mbps: u64, rtt_ms: u64) -> Run {
    answer(&format!(
        "duration = '200 s'\nwarmup = '20 s'\nsamples = 'off'\n[dumbbell]\nrate = '{mbps} Mbps'\ndelay = '{} us'\nbuffer = 10000\n\
         queue = 'dualpi2'\n[[flows]]\ncca = 'prague'\ncount = {flows}\n\
         [[flows]]\ncca = 'cubic'\nstack = {{ ecn = 'classic' }}\ncount = {flows}\n",
        rtt_ms * 500
    ))
}

/// Goodput of prague as a part of cubic's.
fn ratio(run: &Run) -> f64 {
    let (prague, cubic) = run.flows.split_at(run.flows.len() / 2);
    let sum = |flows: &[FlowResult]| flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>();
    sum(prague) / sum(cubic)
}

/// Published shares are within a factor of two, the delay of L packets about a millisecond or two packets, that of classic ones
/// about the target of 15 ms. At 12 Mbps and less the share is within 25 % but for one path.
#[test]
#[ignore = "slow"]
fn prague_and_cubic_share_and_prague_hardly_waits() {
    let rates = [4, 12, 40, 120, 200].into_iter();
    let paths: Vec<_> = rates.flat_map(|mbps| [5, 10, 20, 50, 100].map(|rtt_ms| (mbps, rtt_ms))).collect();
    paths.into_par_iter().for_each(|(mbps, rtt_ms)| {
        let run = together(1, mbps, rtt_ms);
        let (prague, cubic, ratio) = (&run.flows[0], &run.flows[1], ratio(&run));
        println!("{mbps} Mbps, {rtt_ms} ms: {ratio:.2}");
        assert!((0.75..2.0).contains(&ratio), "{mbps} Mbps, {rtt_ms} ms: {ratio:.2}");
        assert!(
            mbps > 12 || ratio < 1.33 || (mbps, rtt_ms) == (4, 20),
            "{mbps} Mbps, {rtt_ms} ms: {ratio:.2}"
        );
        let packet_ms = 1514.0 * 8e-3 / mbps as f64;
        // The bottleneck and links of ten times its rate send the packet, too.
        let waits_ms =
            [prague, cubic].map(|flow| flow.mean_rtt_ms.unwrap() - rtt_ms as f64 - 1.2 * packet_ms);
        assert!(waits_ms[0] < f64::max(1.0, 2.5 * packet_ms), "{mbps} Mbps, {rtt_ms} ms: {waits_ms:?}");
        assert!((5.0..30.0).contains(&waits_ms[1]), "{mbps} Mbps, {rtt_ms} ms: {waits_ms:?}");
        assert!(prague.lost_pkts == 0 && prague.marked_pkts > 0 && cubic.marked_pkts > 0);
    });
}

/// Why one flow of each is not within 25 % everywhere: a single classic window swings the queue, and p' with it. Prague follows
/// p' and has 2 / p at each moment, whose mean is more than 2 over the mean of p; what classic packets get is the mean of p'
/// squared, which is more than the square of its mean. Ten flows of each swing less.
#[test]
#[ignore = "slow"]
fn more_flows_share_more_evenly_because_the_probability_swings_less() {
    for (mbps, rtt_ms) in [(40, 50), (120, 100), (200, 100)] {
        let [one, ten] = [1, 10].map(|flows| ratio(&together(flows, mbps, rtt_ms)));
        println!("{mbps} Mbps, {rtt_ms} ms: {one:.2}, {ten:.2}");
        assert!((0.75..1.33).contains(&ten), "{mbps} Mbps, {rtt_ms} ms: {ten:.2}");
    }
}
