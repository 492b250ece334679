//! Traffic of flows and its times, checked by hand, by queueing theory and by the distributions themselves.

#![allow(clippy::disallowed_methods, reason = "nothing here is compared to the last bit")]

use crate::common;
use crate::common::{answer, answer_by_events, answer_scenario, read};
use cwnd_results::{Run, Transfers};

/// One link of 12 Mbps, 10 ms there and back: a packet of 1,500 bytes takes a millisecond.
fn on_one_link(duration: &str, flows: &str) -> String {
    format!(
        "duration = '{duration}'\nsamples = 'off'\nstack.ack_every = 1\n\
         [[chain]]\nrate = '12 Mbps'\ndelay = '10 ms'\nbuffer = 'unlimited'\n{flows}"
    )
}

fn text(run: &Run) -> String {
    format!("{run:?}")
}

#[test]
fn a_transfer_in_slow_start_takes_its_rounds_by_hand() {
    // 10 packets of 1,434 bytes of payload are sent at 0 and take a millisecond each; an ACK is back 20.044 ms after its
    // packet has left (66 bytes take 0.044 ms). The first, at 21.044 ms, and the nine after it let out two packets each: the
    // link sends 20 until 41.044 ms. The first of their ACKs is back at 22.044 + 20.044 ms, and 10 packets are left.
    let run =
        answer(&on_one_link("1 s", "[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\nsize = '57360 bytes'"));
    let flow = &run.flows[0];
    assert_eq!((flow.sent_pkts, flow.delivered_pkts, flow.lost_pkts), (40, 40, 0));
    let expected_ms = 42.088 + 10.0 + 20.044;
    assert!((flow.fct_ms.unwrap() - expected_ms).abs() < 1e-6, "{:?}", flow.fct_ms);
    assert!((flow.stop_s - expected_ms / 1e3).abs() < 1e-9, "the flow ends then: {}", flow.stop_s);
    assert!((flow.goodput_mbps - 57_360.0 * 8e-6 / flow.stop_s).abs() < 1e-9);
    let transfers = &run.transfers;
    assert_eq!((&transfers.flow[..], &transfers.size_bytes[..]), (&[0][..], &[57_360][..]));
    let ideal_ms = 20.044 + 40.0;
    assert!((transfers.slowdown[0] - expected_ms / ideal_ms).abs() < 1e-9, "{:?}", transfers.slowdown);
}

#[test]
fn the_last_packet_of_a_transfer_is_as_short_as_what_is_left() {
    for (bytes, pkts, wire_bytes) in [(1, 1, 67.0), (1434, 1, 1500.0), (1435, 2, 1567.0), (3000, 3, 3198.0)] {
        let size = format!("[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\nsize = '{bytes} bytes'");
        let run = answer(&on_one_link("1 s", &size));
        let flow = &run.flows[0];
        assert_eq!(flow.sent_pkts, pkts, "{bytes} bytes");
        let fct_ms = wire_bytes / 1500.0 + 20.044;
        assert!(
            (flow.fct_ms.unwrap() - fct_ms).abs() < 1e-5,
            "{bytes} bytes: {:?} for {fct_ms}",
            flow.fct_ms
        );
        assert!((run.links[0].utilization - wire_bytes / 1500.0 / 1e3).abs() < 1e-9);
        assert!((run.transfers.slowdown[0] - 1.0).abs() < 1e-6, "alone and in one window it is ideal");
    }
}

#[test]
fn a_handshake_takes_a_round_trip_of_its_own() {
    let flow =
        "[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\nsize = '1434 bytes'\nstack.handshake = 'first'";
    let run = answer(&on_one_link("1 s", flow));
    // The ACK of the SYN-ACK is sent before the segment.
    let fct_ms = 2.0 * 20.044 + 0.044 + 0.044 + 1.0;
    assert!((run.flows[0].fct_ms.unwrap() - fct_ms).abs() < 1e-6, "{:?}", run.flows[0].fct_ms);
}

#[test]
fn a_transfer_that_the_end_cuts_off_is_unfinished() {
    let run = answer(&on_one_link("50 ms", "[[flows]]\ncca = 'reno'\nsize = '1 MB'"));
    assert_eq!(run.flows[0].fct_ms, None);
    assert_eq!(run.transfers.size_bytes, [1_000_000]);
    assert!(run.transfers.fct_ms[0].is_nan() && run.transfers.slowdown[0].is_nan());
}

#[test]
fn responses_follow_one_another_after_a_round_trip_and_a_pause() {
    let flow = "[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\nsize = '1434 bytes'\nrequests = { count = 3, think = '100 ms' }";
    let Transfers { start_s, fct_ms, size_bytes, .. } = answer(&on_one_link("1 s", flow)).transfers;
    assert_eq!(size_bytes, [1434; 3]);
    // An RTT is 21.044 ms.
    for (start_s, expected_s) in start_s.iter().zip([0.0, 0.142_088, 0.284_176]) {
        assert!((start_s - expected_s).abs() < 1e-9, "{start_s}");
    }
    assert!(fct_ms.iter().all(|fct_ms| (fct_ms - 21.044).abs() < 1e-9), "{fct_ms:?}");
}

/// When transfers of one packet each begin, in ms and with their flow: of two flows, the second of which stops at `stop_ms`.
fn starts_of_two_ms(barrier: &str, stop_ms: u32) -> Vec<(u32, f64)> {
    let stagger_ms = 900 - stop_ms;
    let flows = format!(
        "[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\nsize = '1434 bytes'\ncount = 2\nstop = '900 ms'\n\
         stop_stagger = '{stagger_ms} ms'\nrequests = {{ count = 3, think = '100 ms'{barrier} }}"
    );
    let Transfers { flow, start_s, .. } = answer(&on_one_link("1 s", &flows)).transfers;
    flow.into_iter().zip(start_s.into_iter().map(|s| (s * 1e9).round() / 1e6)).collect()
}

#[test]
fn at_a_barrier_each_request_waits_for_the_last_response() {
    // Two packets arrive at once: one is acknowledged after 21.044 ms, the other a millisecond later. An RTT is 21.044 ms.
    let alone = [(0, 0.0), (1, 0.0), (0, 142.088), (1, 143.088), (0, 284.176), (1, 285.176)];
    assert_eq!(starts_of_two_ms("", 900), alone);
    let together = [(0, 0.0), (1, 0.0), (0, 143.088), (1, 143.088), (0, 286.176), (1, 286.176)];
    assert_eq!(starts_of_two_ms(", barrier = true", 900), together);
}

#[test]
fn a_flow_that_has_stopped_holds_nobody_at_a_barrier() {
    // The second stops in its second transfer.
    let starts = starts_of_two_ms(", barrier = true", 160);
    assert_eq!(starts, [(0, 0.0), (1, 0.0), (0, 143.088), (1, 143.088), (0, 285.176)]);
}

#[test]
fn a_response_that_would_be_written_after_the_stop_never_begins() {
    // The second response of the second flow would be written at 143.088 ms.
    for (stop_ms, rows) in [(100, 4), (143, 4), (144, 5)] {
        assert_eq!(starts_of_two_ms("", stop_ms).len(), rows, "{stop_ms}");
    }
}

#[test]
fn a_flow_that_has_stopped_has_no_timeouts() {
    // Losses at the stop are never repaired; what a longer run shows of the flow is what one that ends then shows.
    for recovery in ["tahoe", "reno", "newreno", "vegas", "sack", "prr"] {
        for seed in 1..20 {
            let timeouts = |duration_s: u32| {
                let text = format!(
                    "duration = '{duration_s} s'\nsamples = 'off'\nseed = {seed}\nstack = {{ recovery = '{recovery}' }}\n\
                     [dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = 10\nper = 0.03\n\
                     [[flows]]\ncca = 'reno'\nstop = '3 s'"
                );
                answer(&text).flows[0].timeouts
            };
            assert_eq!(timeouts(60), timeouts(3), "{recovery}, seed {seed}");
        }
    }
}

#[test]
fn frames_are_written_whole_and_end_with_a_short_packet() {
    // 10 frames a second of 3,000 bytes: two full packets and 132 bytes.
    let flow = "[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\napp_rate = '240 kbps'\nframe_rate = 10";
    let run = answer(&on_one_link("1 s", flow));
    let flow = &run.flows[0];
    assert_eq!(flow.sent_pkts, 30);
    assert!((flow.goodput_mbps - 0.24).abs() < 1e-9, "{}", flow.goodput_mbps);
    assert!((run.links[0].utilization - 10.0 * 3198.0 / 1500.0 / 1e3).abs() < 1e-9);
}

#[test]
fn exponential_pauses_leave_the_share_of_their_means() {
    let flow =
        "[[flows]]\ncca = 'reno'\napp_rate = '1 Mbps'\non = { mean = '50 ms' }\noff = { mean = '150 ms' }";
    let run = answer(&on_one_link("2000 s", flow));
    // 10,000 periods: the share of 1/4 is met within some percent.
    assert!((run.flows[0].goodput_mbps / 0.25 - 1.0).abs() < 0.03, "{}", run.flows[0].goodput_mbps);
}

#[test]
fn datagrams_keep_their_rate_whatever_is_lost() {
    // 1,434 bytes at 7 Mbps: one every 1,638,857.14... ns.
    let flow = "[[flows]]\ncca = 'udp'\npacket = '1434 bytes'\napp_rate = '7 Mbps'";
    let run = answer(&on_one_link("100 s", flow));
    let sent = (100.0_f64 / (1434.0 * 8.0 / 7e6)).ceil() as u64;
    assert_eq!(run.flows[0].sent_pkts, sent);
    assert_eq!((run.flows[0].lost_pkts, run.flows[0].retransmitted_pkts), (0, 0));
    assert!((run.flows[0].goodput_mbps - 7.0).abs() < 0.01);
    // Twice what the link carries: half is dropped, and the link is full.
    let flow = "[[flows]]\ncca = 'udp'\npacket = '1434 bytes'\napp_rate = '22.944 Mbps'\n[[flows]]\ncca='udp'\npacket='1434 bytes'\napp_rate='1 kbps'";
    let run = answer(&on_one_link("10 s", flow).replace("'unlimited'", "20"));
    assert!((run.flows[0].loss_ratio - 0.5).abs() < 0.002, "{}", run.flows[0].loss_ratio);
    assert!(run.links[0].utilization > 0.999);
}

/// A queue for each connection; CoDel does not come into play. In the theory of M/G/1 with processor sharing the mean slowdown
/// is 1 / (1 - load), whatever the sizes.
#[test]
fn a_fair_link_shares_itself_as_a_processor() {
    for load in [0.3, 0.5, 0.8] {
        let scenario = read(&format!(
            r#"
            duration = "3000 s"
            samples = "off"
            stack = {{ ack_every = 1 }}
            [dumbbell]
            rate = "10 Mbps"
            delay = "10 us"
            buffer = "unlimited"
            queue = {{ discipline = "fq-codel", target = "50 s", interval = "100 s" }}
            access = {{ rate = "10 Gbps" }}
            [[flows]]
            cca = {{ name = "fixed", window = 100 }}
            size = {{ distribution = "exponential", mean = "200 KB" }}
            arrivals = {{ process = "poisson", load = {load} }}
            "#
        ));
        let run = answer_scenario(&scenario);
        let finished: Vec<f64> = run.transfers.slowdown.iter().copied().filter(|x| !x.is_nan()).collect();
        let mean = finished.iter().sum::<f64>() / finished.len() as f64;
        println!(
            "load {load}: {} transfers, mean slowdown {mean:.3}, {:.3}",
            finished.len(),
            1.0 / (1.0 - load)
        );
        assert!(
            (mean * (1.0 - load) - 1.0).abs() < 0.1,
            "load {load}: {mean} of {} transfers",
            finished.len()
        );
        assert!((run.links[1].utilization / load - 1.0).abs() < 0.05, "{}", run.links[1].utilization);
    }
}

/// Short transfers over a short buffer, beside a long flow.
const BUSY: &str = r#"
    duration = "10 s"
    samples = "off"
    [dumbbell]
    rate = "20 Mbps"
    delay = "5 ms"
    buffer = 30
    per = 1e-3
    access = { rate = "100 Mbps", delay = "1 ms" }
    [[flows]]
    cca = "cubic"
    [[flows]]
    cca = "reno"
    size = { distribution = "pareto", alpha = 1.2, min = "1 KB", max = "1 MB" }
    arrivals = { process = "poisson", load = 0.5 }
    stack.handshake = "first"
    [[flows]]
    cca = "bbr"
    size = "20 KB"
    arrivals = { process = "poisson", rate = 50 }
    stop = "8 s"
"#;

#[test]
fn arrivals_in_long_spans_are_those_event_by_event() {
    let scenario = read(BUSY);
    let run = answer_scenario(&scenario);
    assert!(run.transfers.flow.len() > 500, "{}", run.transfers.flow.len());
    assert!(run.flows[1].lost_pkts > 100);
    assert_eq!(text(&run), text(&answer_by_events(&scenario)));
    let mut simulation = common::begin(&scenario);
    for step in 1..40 {
        simulation.advance(step * 251_234_567).unwrap();
        simulation.observe();
    }
    assert_eq!(text(&run), text(&simulation.finish().unwrap()));
}

#[test]
fn packets_of_transfers_are_conserved_though_slots_are_used_again() {
    let scenario = read(BUSY);
    let run = answer_scenario(&scenario);
    for flow in &run.flows {
        let under_way = flow.sent_pkts - flow.delivered_pkts - flow.lost_pkts;
        assert!(under_way < 200, "flow {}: {under_way}", flow.flow);
    }
    let finished = |run: &Run, flow| {
        let all = run.transfers.flow.iter().zip(&run.transfers.fct_ms);
        all.filter(|(of, fct)| **of == flow && !fct.is_nan()).count()
    };
    // Without an end to the arrivals some are under way; those that stopped 2 s before it have all ended or fallen silent.
    assert!(finished(&run, 2) > 300);
    let all: u64 = run.flows.iter().map(|flow| flow.sent_pkts).sum();
    assert_eq!(run.packets, all);
    let sizes: u64 = run
        .transfers
        .flow
        .iter()
        .zip(&run.transfers.size_bytes)
        .filter(|(flow, _)| **flow == 2)
        .map(|(_, size)| size)
        .sum();
    let delivered = (run.flows[2].goodput_mbps * 8e6 / 8.0).round() as u64;
    assert!(delivered <= sizes && delivered + 200_000 > sizes, "{delivered} of {sizes}");
}

#[test]
fn one_group_more_moves_no_arrivals_and_sizes_of_another() {
    let more = format!(
        "{BUSY}[[flows]]\ncca = 'reno'\nsize = '5 KB'\narrivals = {{ process = 'poisson', rate = 20 }}"
    );
    let sizes = |run: &Run, flow| -> Vec<(u64, u64)> {
        let Transfers { flow: of, start_s, size_bytes, .. } = &run.transfers;
        let rows = of.iter().zip(start_s).zip(size_bytes);
        rows.filter(|((of, _), _)| **of == flow).map(|((_, start), size)| (start.to_bits(), *size)).collect()
    };
    let (one, other) = (answer(BUSY), answer(&more));
    for flow in [1, 2] {
        assert_eq!(sizes(&one, flow), sizes(&other, flow));
    }
}

/// The largest distance between the distribution of `values` and `cdf`, times the root of their number.
fn distance(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let apart =
        |(i, x): (usize, &f64)| (cdf(*x) - i as f64 / n).abs().max((cdf(*x) - (i + 1) as f64 / n).abs());
    values.iter().enumerate().map(apart).fold(0.0, f64::max) * n.sqrt()
}

/// The chance that it is exceeded by values of the distribution itself is one in a thousand.
const KOLMOGOROV_1_IN_1000: f64 = 1.95;

fn transfers_of(size: &str) -> Transfers {
    answer(&format!(
        "duration = '100 s'\nsamples = 'off'\n[[chain]]\nrate = '100 Gbps'\ndelay = '10 us'\nbuffer = 'unlimited'\n[[flows]]\ncca = 'reno'\nsize = {size}\narrivals = {{ process = 'poisson', rate = 100 }}"
    ))
    .transfers
}

/// The standard normal distribution, by integration of its density.
fn normal_cdf(x: f64) -> f64 {
    let (steps, x) = (2000, x.clamp(-8.0, 8.0));
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let width = x / f64::from(steps);
    0.5 + (0..steps).map(|i| density((f64::from(i) + 0.5) * width) * width).sum::<f64>()
}

#[test]
fn gaps_between_arrivals_and_sizes_pass_a_test_of_kolmogorov_and_smirnov() {
    let sizes = |size: &str| -> Vec<f64> {
        transfers_of(size).size_bytes.iter().map(|&bytes| bytes as f64 - 0.5).collect()
    };
    let starts = transfers_of("'1 KB'").start_s;
    assert!((9_500..10_500).contains(&starts.len()), "{}", starts.len());
    let gaps = std::iter::once(&0.0).chain(&starts).zip(&starts).map(|(one, next)| next - one).collect();
    let apart = distance(gaps, |x| 1.0 - (-100.0 * x).exp());
    assert!(apart < KOLMOGOROV_1_IN_1000, "gaps: {apart}");

    let apart =
        distance(sizes("{ distribution = 'exponential', mean = '50 KB' }"), |x| 1.0 - (-x / 5e4).exp());
    assert!(apart < KOLMOGOROV_1_IN_1000, "exponential: {apart}");
    let apart = distance(sizes("{ distribution = 'lognormal', mu = 9.357, sigma = 1.318 }"), |x| {
        normal_cdf((x.max(0.5).ln() - 9.357) / 1.318)
    });
    assert!(apart < KOLMOGOROV_1_IN_1000, "lognormal: {apart}");
    let apart =
        distance(sizes("{ distribution = 'pareto', alpha = 1.2, min = '1 KB', max = '100 KB' }"), |x| {
            ((1.0 - (1e3 / x).powf(1.2)) / (1.0 - 0.01_f64.powf(1.2))).clamp(0.0, 1.0)
        });
    assert!(apart < KOLMOGOROV_1_IN_1000, "pareto: {apart}");
    let table = [
        (0.0, 0.0),
        (10e3, 0.15),
        (20e3, 0.2),
        (30e3, 0.3),
        (50e3, 0.4),
        (80e3, 0.53),
        (200e3, 0.6),
        (1e6, 0.7),
        (2e6, 0.8),
        (5e6, 0.9),
        (10e6, 0.97),
        (30e6, 1.0),
    ];
    let apart = distance(sizes("{ distribution = 'web-search' }"), |x| {
        let next = table.iter().position(|(size, _)| *size >= x).unwrap();
        let ((from, p), (to, q)) = (table[next - 1], table[next]);
        p + (q - p) * (x - from) / (to - from)
    });
    assert!(apart < KOLMOGOROV_1_IN_1000, "web search: {apart}");
}

#[test]
fn a_load_is_that_of_payload_and_headers_on_the_slowest_link() {
    let flow = "[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\nsize = '2868 bytes'\narrivals = { process = 'poisson', load = 0.6 }";
    let run = answer(&on_one_link("1000 s", flow));
    assert!((run.links[0].utilization / 0.6 - 1.0).abs() < 0.01, "{}", run.links[0].utilization);
}

#[test]
fn ten_thousand_short_transfers_reuse_a_few_connections() {
    let flow = "[[flows]]\ncca = 'reno'\nsize = '2 KB'\narrivals = { process = 'poisson', rate = 200 }";
    let run = answer(&on_one_link("50 s", flow));
    assert!((9_500..10_500).contains(&run.transfers.flow.len()));
    let slow = run.transfers.fct_ms.iter().filter(|fct_ms| **fct_ms > 100.0).count();
    assert!(slow < 100, "{slow} of more than 100 ms");
}

#[test]
fn the_packets_of_a_handshake_are_as_large_as_an_ack_and_carry_no_payload() {
    let run = |keys: &str| {
        let run = answer(&on_one_link(
            "200 ms",
            &format!("[[flows]]\ncca = 'reno'\npacket = '1434 bytes'\n{keys}\nstack.handshake = 'first'"),
        ));
        let bytes = |mbps: f64| (mbps * 1e6 * 0.2 / 8.0).round();
        let flow = &run.flows[0];
        (flow.delivered_pkts as f64, bytes(flow.throughput_mbps), bytes(flow.goodput_mbps))
    };
    let (pkts, wire, payload) = run("");
    assert_eq!((wire, payload), (2.0 * 66.0 + (pkts - 2.0) * 1500.0, (pkts - 2.0) * 1434.0));
    // Five frames of 3,000 bytes: two full packets and 132 bytes. The handshake takes the place of none of them.
    let (pkts, wire, payload) = run("app_rate = '600 kbps'\nframe_rate = 25");
    assert_eq!((pkts, wire, payload), (17.0, 2.0 * 66.0 + 5.0 * 3198.0, 15_000.0));
}

#[test]
fn payload_that_arrived_before_the_warmup_does_not_count_after_it() {
    // A segment is missing for a while: what arrives behind it is in order when the gap closes.
    let text = "duration = '4 s'\nsamples = 'off'\n[[chain]]\nrate = '12 Mbps'\ndelay = '10 ms'\nbuffer = 20\n\
                [[flows]]\ncca = 'reno'\npacket = '1434 bytes'\n";
    for warmup_ms in (100..4000).step_by(37) {
        let run = answer(&format!("warmup = '{warmup_ms} ms'\n{text}"));
        let flow = &run.flows[0];
        let share = flow.goodput_mbps / flow.throughput_mbps;
        assert!(share <= 1434.0 / 1500.0 + 1e-12, "{warmup_ms} ms: {share}");
        assert!(share > 0.7, "{warmup_ms} ms: {share}");
    }
}
