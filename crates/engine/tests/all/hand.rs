//! Small cases whose outcome can be calculated by hand: links, queues, timers, starts and stops. Most run on the path of
//! `common/one_link.rs`.

use crate::common::one_link::{RTT_US, fixed, one_link};
use crate::common::{Hook, answer, answer_scenario, read, rtts_us, times_us, watch};
use cwnd_algorithms::Event;
use cwnd_results::Metrics;

#[test]
fn packets_sent_at_once_arrive_one_sending_time_apart() {
    let (_, seen) = watch(&one_link(&fixed(5), "100 ms", "unlimited", ""));
    // The first five wait for each other; later ones are sent 1 ms apart, as ACKs come, and never wait.
    let expected_us: Vec<_> = (0..20).map(|k: u64| RTT_US + 1000 * if k < 5 { k } else { 0 }).collect();
    assert_eq!(rtts_us(&seen)[..20].iter().map(|&rtt| u64::from(rtt)).collect::<Vec<_>>(), expected_us);
    assert_eq!(times_us(&seen, Hook::Acked)[..7], [21_066, 22_066, 23_066, 24_066, 25_066, 42_132, 43_132]);
}

#[test]
fn every_bit_that_arrives_in_time_counts() {
    // Packet k of round r arrives at 21.066 r + k + 10 ms, k from 1 to 5: rounds 0 to 3 do by 98 ms, and the
    // three of round 4 that arrive at 95.264, 96.264 and 97.264 ms; the last two have left the link.
    let run = answer(&one_link(&fixed(5), "98 ms", "unlimited", ""));
    let (flow, link) = (&run.flows[0], &run.links[0]);
    assert_eq!((flow.sent_pkts, flow.delivered_pkts, flow.lost_pkts), (25, 23, 0));
    assert_eq!((link.delivered_pkts, link.max_queue_pkts), (23, 5));
    assert_eq!(flow.throughput_mbps, 23.0 * 8000.0 * 1e3 / 98e6);
    assert_eq!(flow.goodput_mbps, 23.0 * 934.0 * 8.0 * 1e3 / 98e6);
    assert_eq!(link.utilization, 25.0 / 98.0);
    // 1 + 2 + 3 + 4 + 5 ms in the first round, 1 ms each after that.
    assert_eq!(link.mean_queue_pkts, 35.0 / 98.0);
}

/// Five packets an RTT, as above: the last of the fourth round arrives at 78.198 ms, the first of the fifth at 95.264.
#[test]
fn results_as_of_the_last_arrival_leave_out_packets_sent_later() {
    let ending = |end: &str, duration: &str| {
        let scenario = read(&format!("end = '{end}'\n{}", one_link(&fixed(5), duration, "unlimited", "")));
        let run = answer_scenario(&scenario);
        let throughput = Metrics::of(&scenario, &run.flows, &run.links).throughput_mbps;
        let flow = &run.flows[0];
        (flow.sent_pkts, flow.delivered_pkts, flow.stop_s, flow.throughput_mbps, throughput)
    };
    let (rate, at_last_arrival) = (20.0 * 8000.0 * 1e3 / 90e6, 20.0 * 8000.0 * 1e3 / 78.198e6);
    assert_eq!(ending("duration", "90 ms"), (25, 20, 0.09, rate, rate));
    assert_eq!(ending("last-arrival", "90 ms"), (20, 20, 0.078198, at_last_arrival, at_last_arrival));
    // Before anything arrives only the start is left.
    assert_eq!(ending("last-arrival", "5 ms"), (5, 0, 1e-9, 0.0, 0.0));
}

#[test]
fn a_packet_waits_for_those_before_it() {
    // 21.066 packets fill the path. What the window has beyond that waits, 1 ms each: RTT = window x 1 ms.
    for (window, rtt_us) in
        [(1, RTT_US), (2, RTT_US), (21, RTT_US), (22, 22_000), (23, 23_000), (30, 30_000), (100, 100_000)]
    {
        let (_, seen) = watch(&one_link(&fixed(window), "2 s", "unlimited", ""));
        let rtts = rtts_us(&seen);
        let steady = &rtts[window as usize..];
        assert!(steady.len() > 60, "{window}: {}", steady.len());
        assert!(steady.iter().all(|&rtt| u64::from(rtt) == rtt_us), "{window}: {steady:?}");
    }
}

#[test]
fn a_queue_drops_exactly_what_it_cannot_hold() {
    for (buffer, beyond) in [(1, 0), (1, 1), (2, 7), (50, 0), (50, 1), (50, 3), (50, 400)] {
        let cca = fixed(buffer + beyond);
        // The first ACK comes at 21 ms, so nothing but the burst is sent by then.
        let burst = answer(&one_link(&cca, "21 ms", &buffer.to_string(), ""));
        let (flow, link) = (&burst.flows[0], &burst.links[0]);
        assert_eq!((flow.sent_pkts, flow.lost_pkts), (buffer + beyond, beyond), "{buffer} + {beyond}");
        assert_eq!((link.dropped_pkts, link.max_queue_pkts), (beyond, buffer), "{buffer} + {beyond}");
        // It is the first that are kept: they arrive in order, 1 ms apart from 11 ms on.
        let by_21_ms = buffer.min(11);
        assert_eq!(flow.goodput_mbps, (by_21_ms * 934 * 8) as f64 * 1e3 / 21e6, "{buffer} + {beyond}");
    }
}

#[test]
fn the_rtt_of_a_dumbbell_is_its_delays_and_six_sending_times() {
    let run = answer(
        r#"
        duration = "10 s"
        [dumbbell]
        rate = "1 Gbps"
        delay = "100 ms"
        buffer = 10
        access = { rate = "10 Gbps", delay = "1 ms", buffer = 10 }
        [[flows]]
        cca = { name = "fixed", window = 1 }
        stack = { initial_window = 1, ack_every = 1 }
        "#,
    );
    // 1514 bytes take 12112 ns and 1211.2 ns, an ACK's 66 take 528 ns and 52.8 ns; whole nanoseconds.
    let rtt_ns = 2 * (1 + 100 + 1) * 1_000_000 + (1211 + 12112 + 1211) + (53 + 528 + 53);
    assert_eq!(run.flows[0].mean_rtt_ms, Some(f64::from(rtt_ns) * 1e-6));
    // One packet per RTT arrives from 102 ms on: 48 x 204.015168 ms + 102 ms = 9.89 s.
    assert_eq!((run.flows[0].sent_pkts, run.flows[0].delivered_pkts), (50, 49));
}

/// RFC 6298, 2.1 and 5.5: where nothing arrives, the timer first waits for the initial timeout, then twice as
/// long each time, up to the maximum.
#[test]
fn the_timer_doubles_from_the_initial_timeout_to_the_maximum() {
    for (stack, expected_s) in [
        ("profile = 'linux'", vec![1, 3, 7, 15, 31, 63, 127, 247, 367, 487]),
        ("profile = 'ns2'", vec![3, 9, 21, 45, 93, 189, 309, 429]),
        ("initial_rto = '2 s', max_rto = '5 s'", vec![2, 6, 11, 16, 21, 26, 31, 36, 41, 46]),
    ] {
        let (run, seen) = watch(&format!(
            r#"
            duration = "{} s"
            stack = {{ {stack} }}
            [[chain]]
            rate = "1 Gbps"
            delay = "10 ms"
            buffer = "unlimited"
            per = 0.999999999
            [[flows]]
            cca = "reno"
            "#,
            expected_s.last().unwrap() + 1
        ));
        let at_us = times_us(&seen, Hook::Event(Event::Rto));
        assert_eq!(at_us, expected_s.iter().map(|s| s * 1_000_000).collect::<Vec<_>>(), "{stack}");
        let flow = &run.flows[0];
        assert_eq!(flow.timeouts, expected_s.len() as u64, "{stack}");
        assert_eq!(flow.retransmitted_pkts, flow.timeouts, "{stack}: one packet each");
        assert_eq!((flow.delivered_pkts, flow.mean_rtt_ms), (0, None), "{stack}");
    }
}

/// RFC 6298, 2.2 and 2.3: after n equal samples R, SRTT = R and RTTVAR = R/2 (3/4)^(n-1).
#[test]
fn the_timeout_is_the_smoothed_rtt_and_four_deviations_but_at_least_the_minimum() {
    for (delay, ns, min_rto_ms, wait_us) in [
        // R = 201.066 ms. 4 RTTVAR = 402.132, 301.599, 226.19925, 169.649 ms.
        ("100 ms", 1, 200, 201_066 + 402_132),
        ("100 ms", 2, 200, 201_066 + 301_599),
        ("100 ms", 3, 200, 201_066 + 226_199),
        ("100 ms", 4, 200, 201_066 + 200_000),
        ("100 ms", 4, 1, 201_066 + 169_649),
        ("100 ms", 9, 1000, 201_066 + 1_000_000),
        ("10 ms", 1, 200, RTT_US + 200_000),
        ("10 ms", 1, 1, 3 * RTT_US),
    ] {
        // ACK n - 1 lets two packets go to a link that holds one. The second is dropped; the first gives
        // sample n, and the timer waits alone.
        let cca = format!("{{ name = 'pulse', at_ack = {} }}", ns - 1);
        let toml = one_link(
            &cca,
            "5 s",
            "1",
            &format!("initial_window = 1, recovery = 'sack', min_rto = '{min_rto_ms} ms'"),
        );
        let (run, seen) = watch(&toml.replace("10 ms", delay));
        let rtt_us = if delay == "100 ms" { 201_066 } else { RTT_US };
        let context = format!("{delay}, {ns} samples, minimum {min_rto_ms} ms");
        assert_eq!(times_us(&seen, Hook::Event(Event::Rto)), [ns * rtt_us + wait_us], "{context}");
        let flow = &run.flows[0];
        assert_eq!((flow.timeouts, flow.retransmitted_pkts, flow.lost_pkts), (1, 1, 1), "{context}");
    }
}

#[test]
fn the_first_flight_is_the_initial_window_and_doubles_every_rtt() {
    for (stack, window) in [
        ("profile = 'linux'", 10),
        ("profile = 'ns2'", 2),
        ("initial_window = 1, ack_every = 1", 1),
        ("initial_window = 1000, ack_every = 1", 1000),
        // One ACK for two packets, which counts both.
        ("initial_window = 10, ack_every = 2", 10),
        ("initial_window = 10, ack_every = 5", 10),
    ] {
        for round in 0..=5_u32 {
            // Nothing waits at this rate, and a round trip takes 100 ms and a few microseconds.
            let run = answer(&format!(
                r#"
                duration = "{} ms"
                stack = {{ {stack} }}
                [[chain]]
                rate = "100 Tbps"
                delay = "50 ms"
                buffer = "unlimited"
                [[flows]]
                cca = "reno"
                "#,
                100 * round + 50
            ));
            let sent = window * (2_u64.pow(round + 1) - 1);
            assert_eq!(run.flows[0].sent_pkts, sent, "{stack}, round {round}");
        }
    }
}

#[test]
fn the_receive_window_bounds_the_flight_and_the_growth() {
    for (window, ack_every) in [(1, 1), (7, 1), (20, 1), (20, 2)] {
        let stack = format!("receive_window = {window}, initial_window = 1");
        let toml = one_link("'reno'", "10 s", "unlimited", &stack);
        let toml = toml.replace("ack_every = 1", &format!("ack_every = {ack_every}"));
        let (run, seen) = watch(&toml);
        let samples = &run.flow_samples;
        let context = format!("window {window}, {ack_every} per ACK");
        assert_eq!(samples.in_flight_pkts.iter().max(), Some(&window), "{context}");
        // A sender that its peer limits has no use for a larger window; in slow start Linux's grows to twice the flight.
        let cwnd = *samples.cwnd_pkts.iter().max().unwrap();
        assert!((2 * window..=2 * window + ack_every).contains(&cwnd), "{context}: cwnd {cwnd}");
        if ack_every == 1 {
            // A window in each RTT of 21.066 ms, and nothing waits.
            assert_eq!(*rtts_us(&seen).last().unwrap(), 21_066, "{context}");
            let rounds = 10_000_000 / RTT_US;
            assert!(run.flows[0].delivered_pkts >= (rounds - 6) * u64::from(window), "{context}");
        }
    }
}

#[test]
fn a_delayed_ack_covers_its_packets_or_comes_after_the_delay() {
    let acks = |window: u64, ack_every: u32| {
        let toml = one_link(
            &fixed(window),
            "5 s",
            "unlimited",
            "initial_window = 1, quick_acks = 0, ack_delay = '40 ms'",
        )
        .replace("ack_every = 1", &format!("ack_every = {ack_every}"));
        let (run, seen) = watch(&toml);
        (run.flows[0].delivered_pkts, rtts_us(&seen))
    };
    // Packets that come in pairs, or threes, 1 ms apart: an ACK for each group, with the RTT of its first packet.
    for (window, ack_every) in [(10, 2), (12, 3)] {
        let (delivered, rtts) = acks(window, ack_every);
        assert!(delivered.abs_diff(rtts.len() as u64 * u64::from(ack_every)) <= window, "{window}");
        assert_eq!(u64::from(*rtts.last().unwrap()), RTT_US + 1000 * u64::from(ack_every - 1), "{window}");
    }
    // A packet alone waits for a second one that does not come.
    let (delivered, rtts) = acks(1, 2);
    assert!(rtts.iter().all(|&rtt| u64::from(rtt) == RTT_US + 40_000), "{rtts:?}");
    assert_eq!(delivered, 5_000_000_u64.div_ceil(RTT_US + 40_000));
}

#[test]
fn a_flow_sends_from_its_start_to_its_stop() {
    let scenario = |start: u64, stop: u64, duration: u64| {
        one_link(&fixed(5), &format!("{duration} ms"), "unlimited", "")
            + &format!("start = '{start} ms'\nstop = '{stop} ms'\n")
    };
    let alone = &answer(&scenario(0, 98, 98)).flows[0];
    let later = &answer(&scenario(1000, 1098, 5000)).flows[0];
    // Packets in transit at the stop arrive after it: they count in the totals, not in the rates.
    assert_eq!((later.sent_pkts, later.delivered_pkts), (alone.sent_pkts, alone.sent_pkts));
    assert_eq!((later.start_s, later.stop_s), (1.0, 1.098));
    assert_eq!((later.throughput_mbps, later.goodput_mbps), (alone.throughput_mbps, alone.goodput_mbps));
}

#[test]
fn the_flow_that_starts_last_can_stop_first() {
    let toml =
        one_link(&fixed(1), "100 s", "unlimited", "") + "count = 4\nstagger = '5 s'\nstop_stagger = '5 s'\n";
    let run = answer(&toml);
    let spans: Vec<_> = run.flows.iter().map(|flow| (flow.start_s, flow.stop_s)).collect();
    assert_eq!(spans, [(0.0, 100.0), (5.0, 95.0), (10.0, 90.0), (15.0, 85.0)]);
    for flow in &run.flows {
        // One packet in each RTT. Four flows with a packet each wait 3 ms at most.
        let rtts = (flow.stop_s - flow.start_s) * 1e6 / RTT_US as f64;
        let sent = flow.sent_pkts as f64;
        assert!(sent <= rtts + 1.0 && sent >= rtts * 21.066 / 24.066, "{flow:?}");
    }
}

#[test]
fn the_slower_of_two_links_is_where_packets_wait() {
    // 1 ms on one link, 2 ms on the other; ACKs 66 and 132 us; 5 + 5 ms each way.
    let scenario = |rates: [u64; 2], window: u64, buffer: &str| {
        let link = |mbps| format!("[[chain]]\nrate = '{mbps} Mbps'\ndelay = '5 ms'\nbuffer = {buffer}\n");
        let flow = format!("[[flows]]\ncca = {}\npacket = 934\nstack = {{ ack_every = 1 }}\n", fixed(window));
        format!("duration = '5 s'\n{}{}{flow}", link(rates[0]), link(rates[1]))
    };
    for (rates, slow) in [([8, 4], 1), ([4, 8], 0)] {
        // One packet alone.
        let (_, seen) = watch(&scenario(rates, 1, "'unlimited'"));
        assert!(rtts_us(&seen).iter().all(|&rtt| rtt == 20_000 + 3000 + 198), "{rates:?}");
        // 11.6 packets fill the path: with 20 each waits for the rest, and RTT = 20 x 2 ms.
        let (run, seen) = watch(&scenario(rates, 20, "'unlimited'"));
        assert_eq!(rtts_us(&seen).last(), Some(&40_000), "{rates:?}");
        // The burst is at the first link at once. To a slow second link packet k, from 0, comes k ms later; the
        // last finds that 9 of the 19 before it have been sent, and one is just leaving.
        assert_eq!(run.links[0].max_queue_pkts, 20, "{rates:?}");
        assert_eq!(run.links[1].max_queue_pkts, if slow == 1 { 11 } else { 1 }, "{rates:?}");
        assert!(run.links[slow].utilization > 0.99 && run.links[1 - slow].utilization < 0.51, "{rates:?}");
        // With room for 8, the first link drops 12 of the burst. Of the 8 that come to a slow second link, 4
        // have been sent when the last comes; a fast one holds one at a time.
        let run = answer(&scenario(rates, 20, "8").replace("'5 s'", "'20 ms'"));
        assert_eq!([run.links[0].dropped_pkts, run.links[1].dropped_pkts], [12, 0], "{rates:?}");
        assert_eq!(run.links[1].max_queue_pkts, if slow == 1 { 5 } else { 1 }, "{rates:?}");
    }
}

/// Behind a link that is slower, packets never wait, so that one place to wait is as good as many.
#[test]
fn a_fast_link_behind_a_slow_one_is_the_same_with_room_for_one_packet() {
    for (cca, per, ack_every) in [("reno", 0.0, 1), ("cubic", 1e-3, 2), ("elastic", 1e-4, 1)] {
        let mut scenario = read(&format!(
            r#"
            duration = "20 s"
            samples = "change"
            stack = {{ ack_every = {ack_every} }}
            [dumbbell]
            rate = "10 Mbps"
            delay = "20 ms"
            buffer = 40
            per = {per}
            access = {{ rate = "25 Mbps", delay = "3 ms", buffer = 30 }}
            [[flows]]
            cca = "{cca}"
            count = 3
            stagger = "1 s"
            "#
        ));
        let exits = |name: &str| name.starts_with("exit");
        let roomy = answer_scenario(&scenario);
        assert!(roomy.links.iter().filter(|link| exits(&link.link)).all(|link| link.max_queue_pkts == 1));
        scenario.links.iter_mut().filter(|link| exits(&link.name)).for_each(|l| l.buffer_pkts = Some(1));
        assert!(roomy == answer_scenario(&scenario), "{cca}");
    }
}

#[test]
fn reno_through_the_trait_is_reno_of_the_registry() {
    for stack in ["linux", "ns2"] {
        for (buffer, per, ack_every) in [(50, 0.0, 1), (10, 1e-3, 2), (400, 1e-4, 3), (5, 0.02, 1)] {
            let scenario = |cca: &str| {
                format!(
                    r#"
                    duration = "60 s"
                    samples = "change"
                    stack = {{ profile = "{stack}", ack_every = {ack_every}, restart_at_half_ssthresh = false }}
                    [dumbbell]
                    rate = "20 Mbps"
                    delay = "20 ms"
                    buffer = {buffer}
                    per = {per}
                    [[flows]]
                    cca = {cca}
                    count = 3
                    "#
                )
            };
            let mut in_rust = answer(&scenario("'reno-in-rust'"));
            in_rust.flows.iter_mut().for_each(|flow| flow.cca = "reno".to_owned());
            assert!(
                in_rust == answer(&scenario("{ name = 'reno', variant = 'spec' }")),
                "{stack}, {buffer} packets, PER {per}"
            );
        }
    }
}

#[test]
fn the_mean_window_counts_the_window_that_the_algorithm_begins_with() {
    let run = answer(
        r#"
        duration = "100 ms"
        [[chain]]
        rate = "8 Mbps"
        delay = "10 ms"
        buffer = 100
        [[flows]]
        cca = { name = "fixed", window = 5 }
    "#,
    );
    assert_eq!(run.flows[0].mean_cwnd_pkts, 5.0);
}

#[test]
fn starts_and_stops_are_reported_as_they_were_given() {
    let run = answer(
        r#"
        duration = "100 s"
        [[chain]]
        rate = "8 kbps"
        delay = "10 ms"
        buffer = 100
        [[flows]]
        cca = "reno"
        start = "15 s"
    "#,
    );
    assert_eq!(run.flows[0].start_s, 15.0);
}

#[test]
fn a_window_that_changes_after_the_stop_does_not_count() {
    let run = answer(
        r#"
        duration = "1 s"
        [[chain]]
        rate = "8 Mbps"
        delay = "100 ms"
        buffer = 100
        [[flows]]
        cca = "reno"
        stop = "150 ms"
    "#,
    );
    assert_eq!(run.flows[0].mean_cwnd_pkts, 10.0);
}

#[test]
fn the_sampled_queue_of_a_fast_exit_link_is_the_same_with_room_for_one_packet() {
    let mut scenario = read(
        r#"
        duration = "2 s"
        [[chain]]
        rate = "8 Mbps"
        delay = "10 ms"
        buffer = 100
        [[chain]]
        rate = "9 Mbps"
        delay = "10 ms"
        buffer = 100
        [[flows]]
        cca = { name = "fixed", window = 100 }
    "#,
    );
    let roomy = answer_scenario(&scenario);
    scenario.links[1].buffer_pkts = Some(1);
    assert_eq!(roomy.link_samples, answer_scenario(&scenario).link_samples);
}

/// Two flows fill 8 Mbps for a second each.
#[test]
fn flows_one_after_the_other_make_no_more_than_the_link_carries() {
    let scenario = read(
        r#"
        duration = "2 s"
        [[chain]]
        rate = "8 Mbps"
        delay = "10 ms"
        buffer = 100
        [[flows]]
        cca = { name = "fixed", window = 30 }
        stop = "1 s"
        [[flows]]
        cca = { name = "fixed", window = 30 }
        start = "1 s"
    "#,
    );
    let run = answer_scenario(&scenario);
    let own: Vec<_> = run.flows.iter().map(|flow| flow.throughput_mbps).collect();
    assert!(own.iter().all(|mbps| (7.5..=8.0).contains(mbps)), "{own:?}");
    let both = Metrics::of(&scenario, &run.flows, &run.links).throughput_mbps;
    assert!((both - (own[0] + own[1]) / 2.0).abs() < 1e-9, "{both}");
}

/// This path's RTT is reported rounded up to the next microsecond. In PROBE_RTT all rate samples cover one RTT, and have
/// to count all the same.
#[test]
fn bbr_leaves_probe_rtt_where_the_smallest_rtt_was_rounded_up() {
    let run = answer(
        r#"
        duration = "15 s"
        stack = { recovery = "sack", ack_every = 1, header = 50 }
        [dumbbell]
        rate = "100 Mbps"
        delay = "100 ms"
        buffer = 640
        access = { rate = "100 Mbps", delay = "1 ms", buffer = 640 }
        [[flows]]
        cca = "bbr"
        packet = "1000 bytes"
    "#,
    );
    let samples = &run.flow_samples;
    let last =
        samples.time_s.iter().rposition(|&time_s| time_s > 12.0).expect("a sample in the last three seconds");
    assert!(samples.cwnd_pkts.contains(&4), "no PROBE_RTT in {:?}", samples.cwnd_pkts);
    assert!(samples.cwnd_pkts[last] > 4000, "{:?}", samples.cwnd_pkts);
}

#[test]
fn jittered_flows_start_within_the_jitter_and_another_flow_changes_no_start() {
    let starts = |count: u32, seed: u64| -> Vec<f64> {
        let text = format!(
            "duration = '1 s'\nsamples = 'off'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = 50\n\
             [[flows]]\ncca = 'reno'\ncount = {count}\nstart = '100 ms'\nstart_jitter = '20 ms'\n"
        );
        answer(&format!("seed = {seed}\n{text}")).flows.iter().map(|flow| flow.start_s).collect()
    };
    let many = starts(200, 7);
    assert!(many.iter().all(|start| (0.1..0.12).contains(start)), "{many:?}");
    // Uniform over 20 ms: the mean of 200 has a standard deviation of 0.41 ms.
    let mean = many.iter().sum::<f64>() / 200.0;
    assert!((mean - 0.11).abs() < 5.0 * 0.00041, "{mean}");
    assert_eq!(starts(3, 7), many[..3]);
    assert_ne!(starts(3, 8), many[..3]);
}
