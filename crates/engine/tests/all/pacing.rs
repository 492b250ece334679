//! Pacing as Linux's fq asks for it, by hand.

use crate::common::answer;
use cwnd_results::Run;

/// A window of 100 packets in an RTT of 100 ms: 12 ms of a link of 100 Mbps.
fn window_of_100(pacing: &str) -> Run {
    answer(&format!(
        "duration = '3 s'\nsamples = '1 ms'\n[dumbbell]\nrate = '100 Mbps'\ndelay = '50 ms'\nbuffer = 1000\n\
         access = {{ rate = '10 Gbps' }}\n[[flows]]\ncca = {{ name = 'fixed', window = 100 }}\n\
         packet = '1434 bytes'\nstack = {{ ack_every = 1, pacing = '{pacing}' }}\n"
    ))
}

/// How many of the samples from 1 s to 2 s find the bottleneck idle after one that found it busy.
fn pauses(run: &Run) -> usize {
    let samples = &run.link_samples;
    let rows = samples.time_s.iter().zip(&samples.link).zip(&samples.queue_pkts);
    let busy: Vec<bool> = rows
        .filter(|((time_s, link), _)| **link == 1 && (1.0..2.0).contains(*time_s))
        .map(|(_, pkts)| *pkts > 0)
        .collect();
    busy.windows(2).filter(|pair| pair[0] && !pair[1]).count()
}

#[test]
fn without_pacing_a_window_leaves_at_once_and_with_it_spread_over_the_rtt() {
    assert!(pauses(&window_of_100("own")) <= 11, "one in each RTT");
    // At 1.2 windows in an RTT packets are 0.83 ms apart, of which the link is busy for 0.12.
    assert!(pauses(&window_of_100("fq")) > 50);
}

#[test]
fn a_window_is_paced_at_a_fifth_more_than_its_rate() {
    // Without a limit by the window the rate would be 1.2 windows in an RTT; the window lets one go in each.
    for pacing in ["own", "fq"] {
        let flow = &window_of_100(pacing).flows[0];
        let rtt_ms = flow.mean_rtt_ms.unwrap();
        let mbps = 100.0 * 1500.0 * 8e-3 / rtt_ms;
        assert!(
            (flow.throughput_mbps / mbps - 1.0).abs() < 0.05,
            "{pacing}: {} for {mbps}",
            flow.throughput_mbps
        );
    }
}

#[test]
fn the_first_ten_segments_of_bbr_leave_at_once_in_linux() {
    let queued = |pacing: &str| {
        let run = answer(&format!(
            "duration = '30 ms'\nsamples = 'off'\n[dumbbell]\nrate = '1 Gbps'\ndelay = '20 ms'\nbuffer = 1000\n\
             access = {{ rate = '10 Gbps' }}\n[[flows]]\ncca = 'bbr'\nstack.pacing = '{pacing}'\n"
        ));
        run.links[1].max_queue_pkts
    };
    // The initial window, of which the first is being sent.
    assert_eq!(queued("fq"), 10);
    assert!(queued("own") < 10);
}

#[test]
fn slow_start_is_paced_at_twice_the_window() {
    // Each ACK of two lets four go; at twice the window in an RTT they are spread over all of it. What a link of ten times
    // the rate holds is then a few packets and not half a window.
    let most = |pacing: &str| {
        let run = answer(&format!(
            "duration = '1 s'\nsamples = 'off'\n[[chain]]\nrate = '1 Gbps'\ndelay = '50 ms'\nbuffer = 'unlimited'\n\
             [[flows]]\ncca = 'reno'\nstack = {{ pacing = '{pacing}', receive_window = 640 }}\n"
        ));
        run.links[0].max_queue_pkts
    };
    assert!(most("fq") < most("own") / 4, "{} {}", most("fq"), most("own"));
}

/// Linux hands no more than 64 KiB to a device at once (GSO_LEGACY_MAX_SIZE): 45 segments. BBR leaves room for three such
/// bursts above two BDP, 83 segments each.
#[test]
fn bbr_leaves_room_for_bursts_of_64_kib_at_most() {
    let run = answer(
        "duration = '1 s'\nwarmup = '200 ms'\nsamples = 'off'\n[dumbbell]\nrate = '10 Gbps'\nrtt = '100 us'\nbuffer = 2000\n[[flows]]\ncca = 'bbr'",
    );
    let cwnd_pkts = run.flows[0].mean_cwnd_pkts;
    assert!((296.0..310.0).contains(&cwnd_pkts), "{cwnd_pkts}");
}
