//! Tasks of a sender besides its algorithm and its recovery, calculated by hand: pacing, marks, pauses. The path is that of
//! `common/one_link.rs`.

use crate::common;
use crate::common::one_link::{ALL, RTT_US, Setup, losses, then_reno};
use crate::common::{Hook, Seen, answer, times_us, watch};
use cwnd_algorithms::{APP_LIMITED, ECE, Event, RATE_APP_LIMITED, State};

/// Segments leave 5 ms apart, from 5 ms on.
#[test]
fn a_delayed_ack_gives_the_timer_the_first_rtt_and_the_algorithm_the_last() {
    let mut setup = Setup::new("'reno'", "'unlimited'", "quick_acks = 10");
    setup.flow = APP_RATE.to_owned();
    let (_, seen) = watch(&setup.toml(1_000_000).replace("ack_every = 1", "ack_every = 2"));
    let acked: Vec<_> = seen.iter().filter(|seen| seen.hook == Hook::Acked).collect();
    // Ten ACKs of one segment each, then every other segment has one.
    let newest = (0..10).chain((11..).step_by(2));
    let expected = newest.take(acked.len()).map(|k| 5000 * (k + 1) + RTT_US);
    assert_eq!(times_us(&seen, Hook::Acked), expected.collect::<Vec<_>>());
    assert!(rtts_are(&seen, RTT_US));
    assert_eq!(u64::from(acked[9].ack.srtt_us), RTT_US);
    assert_eq!(u64::from(acked[10].ack.srtt_us), RTT_US + 5000 / 8);
    assert!(u64::from(acked[90].ack.srtt_us).abs_diff(RTT_US + 5000) < 2);
}

#[test]
fn the_initial_window_opens_when_the_syn_is_acknowledged_at_once() {
    let setup = then_reno(8, "20", "prr");
    let toml = |at_us: u64| {
        let stack = "ack_every = 2, quick_acks = 0, handshake = 'first'";
        setup.toml(at_us + 1).replace("ack_every = 1", stack)
    };
    // A microsecond per byte: a SYN is sooner by the payload it lacks.
    let syn_us = RTT_US - 934;
    let sent = [0, syn_us - 1, syn_us].map(|at_us| answer(&toml(at_us)).flows[0].sent_pkts);
    // An ACK goes first (RFC 9293, 3.5).
    assert_eq!(sent, [1, 1, 10]);
}

/// On a wire that loses all, Linux's sender waits a second five times and then twice as long each time, that of ns-2 twice as long
/// from the first time on: seconds at which timeouts come.
#[test]
fn linux_sends_a_syn_again_each_second_before_it_waits_longer() {
    let timeouts_until = |profile: &str, duration_s: u32| {
        answer(&format!(
            "duration = '{duration_s} s'\nsamples = 'off'\n[[chain]]\nrate = '1 Mbps'\ndelay = '10 ms'\nbuffer = 9\nper = 0.9999999\n\
             [[flows]]\ncca = 'reno'\nstack = {{ profile = '{profile}', handshake = 'first', initial_rto = '1 s' }}\n"
        ))
        .flows[0]
            .timeouts
    };
    let at_s = |profile: &str| {
        (1..=40)
            .filter(|&at_s| timeouts_until(profile, at_s + 1) > timeouts_until(profile, at_s))
            .collect::<Vec<_>>()
    };
    assert_eq!(at_s("linux"), [1, 2, 3, 4, 5, 7, 11, 19, 35]);
    assert_eq!(at_s("ns2"), [1, 3, 7, 15, 31]);
}

/// Datagrams fill the queue in one direction for a time. After one lost SYN-ACK a guest had a first RTT of 1,077 ms and a window of 10.
/// The window is one segment after two lost SYNs. After two lost SYN-ACKs it is ten: the echoed timestamp is that of the first SYN.
#[test]
fn a_syn_that_was_sent_again_leaves_linux_its_window_and_an_answered_one_a_long_rtt() {
    let begins = |direction: &str, stop: &str, duration: &str| {
        let run = answer(&format!(
            "duration = '{duration}'\nsamples = '1 ms'\n[dumbbell]\nrate = '1 Mbps'\ndelay = '10 ms'\nbuffer = 5\n\
             reverse = {{ rate = '1 Mbps', delay = '10 ms', buffer = 5 }}\n\
             [[flows]]\ncca = 'reno'\nstart = '105 ms'\nstack = {{ profile = 'linux', handshake = 'first' }}\n\
             [[flows]]\ncca = 'udp'\napp_rate = '10 Mbps'\ndirection = '{direction}'\nstop = '{stop}'\n"
        ));
        let flow = &run.flows[0];
        let rtts_ms = run.flow_samples.flow.iter().zip(&run.flow_samples.rtt_ms);
        let first = rtts_ms.filter(|(of, _)| **of == 0).find(|(_, rtt_ms)| **rtt_ms > 0.0);
        let first_s = first.expect("an RTT").1 / 1000.0;
        (flow.timeouts, flow.sent_pkts - flow.timeouts - 2, first_s as u32)
    };
    assert_eq!(begins("down", "0.5 s", "1.15 s"), (1, 10, 0));
    assert_eq!(begins("down", "1.5 s", "2.16 s"), (2, 1, 0));
    assert_eq!(begins("up", "0.5 s", "1.15 s"), (1, 10, 1));
    assert_eq!(begins("up", "1.5 s", "2.16 s"), (2, 10, 2));
}

/// A queue for two packets keeps one of four segments that follow the ACK of the SYN-ACK at once. One-way senders of ns-2 send no such
/// ACK.
#[test]
fn the_last_packet_of_a_handshake_takes_a_place_in_the_queue() {
    let lost = |profile: &str| {
        let run = answer(&format!(
            "duration = '50 ms'\nsamples = 'off'\n[[chain]]\nrate = '1 Mbps'\ndelay = '10 ms'\nbuffer = 2\n[[flows]]\ncca = 'reno'\n\
             stack = {{ profile = '{profile}', handshake = 'first', initial_window = 4 }}\n"
        ));
        run.flows[0].lost_pkts
    };
    assert_eq!([lost("linux"), lost("ns2")], [3, 2]);
}

/// 934 bytes of payload in packets of 1000: at 93,400 bytes/s one every 10 ms.
fn paced(window: u64, rate: u64) -> Setup {
    Setup::new(format!("{{ name = 'paced', window = {window}, rate = {rate} }}"), "'unlimited'", "")
}

#[test]
fn paced_segments_leave_exactly_their_sending_time_apart() {
    for recovery in ALL {
        let mut setup = paced(50, 93_400);
        setup.stack = format!("recovery = '{recovery}'");
        for k in 1..30 {
            let sent = [10_000 * k - 1, 10_000 * k].map(|at_us| setup.sent(at_us).0);
            assert_eq!(sent, [k, k + 1], "{recovery}, segment {k}");
        }
        // So none ever waits.
        let (_, seen) = watch(&setup.toml(300_000));
        let acked = times_us(&seen, Hook::Acked);
        let expected = (0..acked.len() as u64).map(|k| RTT_US + 10_000 * k);
        assert_eq!(acked, expected.collect::<Vec<_>>(), "{recovery}");
    }
    // 3.333333 ms; `sent` counts what goes less than 1 us later.
    let setup = paced(50, 280_200);
    let sent = [3_332, 3_333, 9_998, 9_999, 99_998, 99_999].map(|at_us| setup.sent(at_us).0);
    assert_eq!(sent, [1, 2, 3, 4, 30, 31]);
}

#[test]
fn a_paced_sender_does_not_exceed_its_window() {
    let setup = paced(2, 934_000);
    let steps =
        [(0, 1), (999, 1), (1000, 2), (21_065, 2), (21_066, 3), (22_065, 3), (22_066, 4), (42_131, 4)];
    for (at_us, sent) in steps {
        assert_eq!(setup.sent(at_us).0, sent, "{at_us} us");
    }
}

/// draft-cheng-iccrg-delivery-rate-estimation.
#[test]
fn the_delivery_rate_is_the_window_per_rtt_or_that_of_the_link() {
    // From 22 on the link is full, and the RTT is as many ms as the window has segments.
    for (window, rtt_us) in [(1, RTT_US), (5, RTT_US), (20, RTT_US), (22, 22_000), (40, 40_000)] {
        for recovery in ALL {
            let mut setup = paced(window, 0);
            setup.stack = format!("recovery = '{recovery}'");
            let (_, seen) = watch(&setup.toml(1_000_000));
            let samples: Vec<_> =
                seen.iter().filter(|seen| seen.hook == Hook::Control && seen.at_us() > 0).collect();
            assert!(samples.len() > 40, "{window}");
            for (k, sample) in (1_u64..).zip(&samples) {
                let ack = &sample.ack;
                // The first round was sent at 0, before anything was delivered.
                let first = k <= window;
                let expected = if first {
                    (0, k, RTT_US + 1000 * (k - 1))
                } else {
                    (
                        k - window,
                        window,
                        if k <= 2 * window { u64::from(ack.rate_interval_us) } else { rtt_us },
                    )
                };
                let found = (
                    ack.rate_prior_delivered,
                    u64::from(ack.rate_delivered),
                    u64::from(ack.rate_interval_us),
                );
                assert_eq!(found, expected, "{recovery}, {window}, ACK {k}");
                assert_eq!((ack.delivered, ack.flags & RATE_APP_LIMITED), (k, 0), "{recovery}, {window}");
            }
        }
    }
}

/// 934 bytes every 5 ms.
const APP_RATE: &str = "app_rate = '1494.4 kbps'";

#[test]
fn rate_samples_are_flagged_where_the_application_was_the_limit() {
    let mut setup = paced(20, 0);
    setup.flow = APP_RATE.to_owned();
    let (_, seen) = watch(&setup.toml(1_000_000));
    let samples: Vec<_> = seen.iter().filter(|seen| seen.hook == Hook::Control && seen.at_us() > 0).collect();
    assert!(samples.len() > 190);
    // Segment k is written at 5 (k + 1) ms, and sent then.
    for (k, sample) in samples.iter().enumerate() {
        assert_eq!(sample.at_us(), 5000 * (k as u64 + 1) + RTT_US);
        let flags = APP_LIMITED | RATE_APP_LIMITED;
        assert_eq!(sample.ack.flags & flags, flags, "ACK {k}");
        // The last ACK before a segment is sent came 3.934 ms earlier, for the segment five before: 25 ms from
        // that ACK to this segment's, and as long from the sending of one to that of the other.
        if k >= 5 {
            assert_eq!((sample.ack.rate_delivered, sample.ack.rate_interval_us), (5, 25_000), "ACK {k}");
        }
    }
}

#[test]
fn an_application_that_writes_slowly_gets_its_rate_and_no_larger_window() {
    for recovery in ALL {
        let mut setup = Setup::new("'reno'", "'unlimited'", format!("recovery = '{recovery}'"));
        setup.flow = APP_RATE.to_owned();
        let (run, seen) = watch(&setup.toml(10_000_000));
        // Segment k arrives at 5 (k + 1) + 11 ms: 1997 by 10 s. The last is written as the flow stops.
        let flow = &run.flows[0];
        assert_eq!(flow.goodput_mbps, f64::from(1997 * 934 * 8) * 1e3 / 1e10, "{recovery}");
        assert_eq!((flow.sent_pkts, flow.retransmitted_pkts), (1999, 0), "{recovery}");
        // At most 5 are in flight, the initial window is 10.
        assert_eq!(run.flow_samples.cwnd_pkts.iter().max(), Some(&10), "{recovery}");
        assert!(seen.iter().all(|seen| seen.window.cwnd == 10), "{recovery}");
        assert!(rtts_are(&seen, RTT_US), "{recovery}");
    }
}

fn rtts_are(seen: &[Seen], rtt_us: u64) -> bool {
    common::rtts_us(seen).iter().all(|&rtt| u64::from(rtt) == rtt_us)
}

/// A burst of 80 at once in every period; nothing waits at this rate, and the RTT is 100 ms. After 80 equal
/// samples the RTO is 300 ms.
fn bursts(period_ms: u64, idle_restart: bool, duration_us: u64) -> String {
    format!(
        "duration = '{duration_us} us'\n\
         [[chain]]\nrate = '100 Tbps'\ndelay = '50 ms'\nbuffer = 'unlimited'\n\
         [[flows]]\npacket = 934\ncca = {{ name = 'overshoot', window = 80, after_loss = 1 }}\n\
         on = '1 ms'\noff = '{} ms'\n\
         stack = {{ ack_every = 1, initial_ssthresh = 20, idle_restart = {idle_restart} }}\n",
        period_ms - 1
    )
}

/// RFC 2861: half for every RTO of idleness, not below the initial window, ssthresh at least 3/4 of before.
#[test]
fn a_window_that_was_not_used_for_longer_than_the_timeout_is_halved_for_each() {
    for (period_ms, window) in [(250, 80), (299, 80), (350, 40), (650, 20), (950, 10), (5000, 10)] {
        let sent = |idle_restart| {
            [1, 0].map(|before| {
                answer(&bursts(period_ms, idle_restart, 1000 * period_ms + 1 - before)).flows[0].sent_pkts
            })
        };
        assert_eq!(sent(false), [80, 160], "{period_ms} ms, kept");
        assert_eq!(sent(true)[1], 80 + window, "{period_ms} ms");
        let (_, seen) = watch(&bursts(period_ms, true, 1000 * period_ms + 1));
        let restarts = times_us(&seen, Hook::Event(Event::CwndRestart));
        assert_eq!(restarts, if window < 80 { vec![1000 * period_ms] } else { vec![] }, "{period_ms} ms");
        let begin = seen.iter().rfind(|seen| seen.hook == Hook::Event(Event::TxStart)).unwrap();
        let ssthresh = if window < 80 { 60 } else { 20 };
        assert_eq!((begin.at_us(), begin.window.cwnd), (1000 * period_ms, window as u32), "{period_ms} ms");
        assert_eq!(begin.window.ssthresh, ssthresh, "{period_ms} ms");
    }
}

/// A window of 30 at a queue that marks what comes when 20 are there.
fn marked(recovery: &str, ecn: bool) -> Setup {
    let mut setup = then_reno(30, "'unlimited'", recovery);
    setup.link = "ecn_threshold = 20";
    setup.stack += &format!(", ecn = {ecn}");
    setup
}

/// RFC 3168. Segments 20 to 29 of the burst are marked; their ACKs come from 41.066 ms on, 1 ms apart. 50 are
/// sent by then. The window is halved, and segment 50 carries CWR whenever it goes: until it arrives every ACK
/// echoes, those of segments 20 to 49.
#[test]
fn marks_halve_the_window_once_and_are_echoed_until_the_receiver_knows() {
    for recovery in ALL {
        let (run, seen) = watch(&marked(recovery, true).toml(200_000));
        let flow = &run.flows[0];
        assert_eq!((flow.lost_pkts, flow.retransmitted_pkts, flow.timeouts), (0, 0, 0), "{recovery}");
        let acked: Vec<_> = seen.iter().filter(|seen| seen.hook == Hook::Acked).collect();
        let echoes: Vec<_> =
            (0..).zip(&acked).filter(|(_, seen)| seen.ack.flags & ECE != 0).map(|(k, _)| k).collect();
        assert_eq!(echoes, (20..50).collect::<Vec<_>>(), "{recovery}");
        assert_eq!(times_us(&seen, Hook::State(State::Cwr)), [41_066], "{recovery}");
        assert_eq!(losses(&seen), 1, "{recovery}");
        assert_eq!(run.flow_samples.ssthresh_pkts.last(), Some(&15), "{recovery}");
        let end = seen.iter().find(|seen| seen.hook == Hook::Event(Event::CompleteCwr)).unwrap();
        assert_eq!(end.ack.flags & ECE, 0, "{recovery}");
        assert_eq!(end.window.cwnd, 15, "{recovery}");
    }
}

/// RFC 6675 and RFC 5681 halve at once: ACK 41.066 + i leaves 29 - i in flight, less than 15 from i = 15 on.
#[test]
fn the_halved_window_lets_nothing_out_until_half_is_acknowledged() {
    for recovery in ["tahoe", "reno", "newreno", "sack", "fack"] {
        let setup = marked(recovery, true);
        let sent = [41_065, 56_065, 56_066, 57_066].map(|at_us| setup.sent(at_us));
        assert_eq!(sent, [(50, 0), (50, 0), (51, 0), (52, 0)], "{recovery}");
    }
}

/// FACK of ns-2.35 restarts at 1 after a fast retransmit; a mark halves its window as any other's.
#[test]
fn the_restart_at_one_is_of_fast_retransmits_alone() {
    let windows = |mut setup: Setup, hook: Hook| {
        setup.stack += ", restart_at_one = true";
        let (_, seen) = watch(&setup.toml(200_000));
        let end = seen.iter().find(|seen| seen.hook == Hook::Event(Event::CompleteCwr)).unwrap();
        let after = seen.iter().skip_while(|seen| seen.hook != hook);
        let least = after.map(|seen| seen.window.cwnd).filter(|cwnd| *cwnd < 20).min().unwrap();
        (least, end.window.ssthresh)
    };
    assert_eq!(windows(marked("fack", true), Hook::State(State::Cwr)), (15, 15));
    // It grows by one with the next SACK, before the algorithm sees it.
    let (least, ssthresh) = windows(then_reno(21, "20", "fack"), Hook::State(State::Recovery));
    assert!((1..=2).contains(&least), "{least}");
    assert_eq!(ssthresh, 10);
}

#[test]
fn a_flow_without_ecn_gets_no_marks() {
    for recovery in ALL {
        let (_, seen) = watch(&marked(recovery, false).toml(200_000));
        assert!(seen.iter().all(|seen| seen.ack.flags & ECE == 0), "{recovery}");
        assert_eq!(losses(&seen), 0, "{recovery}");
    }
}

#[test]
fn a_long_flow_is_marked_instead_of_dropped_and_answers_once_in_an_rtt() {
    for recovery in ALL {
        let mut setup = Setup::new("'reno'", "100", format!("recovery = '{recovery}', ecn = true"));
        setup.link = "ecn_threshold = 20";
        setup.stack += ", initial_ssthresh = 20";
        let (run, seen) = watch(&setup.toml(20_000_000));
        let (flow, link) = (&run.flows[0], &run.links[0]);
        assert_eq!((flow.lost_pkts, flow.retransmitted_pkts, flow.timeouts), (0, 0, 0), "{recovery}");
        // 21.066 on the path and 20 in the queue; the 21st is marked, and an RTT later the window falls.
        assert!((21..=23).contains(&link.max_queue_pkts), "{recovery}: {}", link.max_queue_pkts);
        if ["prr", "rate-halving"].contains(&recovery) {
            // The window falls over an RTT, and what is sent meanwhile is marked as well.
            continue;
        }
        let reduced = times_us(&seen, Hook::State(State::Cwr));
        assert!(reduced.len() > 10, "{recovery}: {}", reduced.len());
        // From 21 to 42 segments, one more in an RTT: 21 RTTs of 21 to 42 ms.
        let apart: Vec<_> = reduced.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
        assert!(apart.iter().all(|ms| (21 * 21..=25 * 42).contains(ms)), "{recovery}: {apart:?}");
        assert!(link.utilization > 0.97, "{recovery}: {}", link.utilization);
    }
}
