//! What a sender does besides its algorithm, calculated by hand: recoveries, probes, pacing, marks, pauses.
//!
//! As in `hand.rs`: links of 8 Mbps and packets of 1000 bytes, 1 ms each; RTT of a lone packet 21.066 ms.

mod common;

use common::{Hook, Seen, answer, times_us, watch};
use cwnd_algorithms::{APP_LIMITED, ECE, Event, RATE_APP_LIMITED, State};

const RTT_US: u64 = 21_066;
const ALL: [&str; 8] = ["tahoe", "reno", "newreno", "vegas", "sack", "fack", "prr", "rate-halving"];
const NON_SACK: [&str; 3] = ["tahoe", "reno", "newreno"];

/// One flow over one link: `link` are more keys of it, `flow` of the flow, `stack` of its stack.
struct Setup {
    cca: String,
    buffer: &'static str,
    link: &'static str,
    flow: String,
    stack: String,
}

impl Setup {
    fn new(cca: impl Into<String>, buffer: &'static str, stack: impl Into<String>) -> Setup {
        Setup { cca: cca.into(), buffer, link: "", flow: String::new(), stack: stack.into() }
    }

    fn toml(&self, duration_us: u64) -> String {
        format!(
            "duration = '{duration_us} us'\nsamples = 'change'\n\
             [[chain]]\nrate = '8 Mbps'\ndelay = '10 ms'\nbuffer = {}\n{}\n\
             [[flows]]\npacket = 934\ncca = {}\n{}\nstack = {{ ack_every = 1, {} }}\n",
            self.buffer, self.link, self.cca, self.flow, self.stack
        )
    }

    /// What has been sent up to and at `at_us`, and how much of it was sent again.
    fn sent(&self, at_us: u64) -> (u64, u64) {
        let flow = &answer(&self.toml(at_us + 1)).flows[0];
        (flow.sent_pkts, flow.retransmitted_pkts)
    }
}

/// A window and the recovery from what the first burst loses; later it is Reno's.
fn then_reno(window: u64, buffer: &'static str, recovery: &str) -> Setup {
    let cca = format!("{{ name = 'then-reno', window = {window} }}");
    Setup::new(cca, buffer, format!("recovery = '{recovery}'"))
}

fn losses(seen: &[Seen]) -> usize {
    seen.iter().filter(|seen| seen.hook == Hook::Loss).count()
}

// A burst of 20 + n packets at a queue that holds 20: the last n, from segment 20 on, are lost. ACKs 0 to 19
// come at 21.066 ms + 1 ms each and let a segment out each. These cause the duplicate ACKs 1 to 20, number j at
// 41.132 + j ms. Limited transmit (RFC 3042) answers the first two with a new segment each; the third, at 44.132,
// is the fast retransmit. The two cause duplicates 21 and 22 at 63.198 and 64.198, the retransmission the next
// ACK at 65.198.
const DUP_3_US: u64 = 44_132;
const REPAIRED_US: u64 = DUP_3_US + RTT_US;

/// RFC 3042.
#[test]
fn the_first_two_duplicate_acks_let_a_new_segment_out_each() {
    for recovery in ALL {
        let setup = then_reno(21, "20", recovery);
        let sent = [42_131, 42_132, 43_131, 43_132, 44_131].map(|at_us| setup.sent(at_us));
        assert_eq!(sent, [(41, 0), (42, 0), (42, 0), (43, 0), (43, 0)], "{recovery}");
    }
}

/// Jacobson 1988.
#[test]
fn tahoe_goes_back_to_the_missing_segment_and_starts_slowly_up_to_half() {
    let setup = then_reno(21, "20", "tahoe");
    assert_eq!([44_131, 44_132].map(|at_us| setup.sent(at_us)), [(43, 0), (44, 1)]);
    // Nothing but the missing segment until its ACK, which covers all: 1 in flight, then 2, 4 and 8, in rounds
    // of an RTT from 44.132 ms on; then ssthresh = 10, and with its 10 ACKs 11.
    let rounds = [(0, 44), (1, 46), (2, 50), (3, 58), (4, 68), (5, 79)];
    for (round, sent) in rounds {
        // All of a round has left 12 ms after its begin.
        assert_eq!(setup.sent(DUP_3_US + RTT_US * round + 15_000), (sent, 1), "round {round}");
    }
    let (run, seen) = watch(&setup.toml(150_000));
    assert_eq!((losses(&seen), run.flows[0].timeouts), (1, 0));
    let reduced = seen.iter().find(|seen| seen.hook == Hook::Event(Event::CompleteCwr)).unwrap();
    assert_eq!((reduced.at_us(), reduced.window.cwnd, reduced.window.ssthresh), (DUP_3_US, 1, 10));
}

/// RFC 5681, 3.2.
#[test]
fn reno_inflates_the_window_for_duplicates_and_deflates_it_when_new_data_is_acknowledged() {
    for recovery in ["reno", "newreno"] {
        let setup = then_reno(21, "20", recovery);
        // Duplicate 3: segment 20 again; cwnd = ssthresh + 3 = 13, segments 20 to 42 are outstanding, 23.
        // Duplicate j makes cwnd 10 + j: more than 23 from j = 14 on, at 55.132 ms; so 7 segments to j = 20.
        let steps = [
            (44_131, 43),
            (44_132, 44),
            (55_131, 44),
            (55_132, 45),
            (56_132, 46),
            (61_132, 51),
            // Duplicates 21 and 22.
            (63_197, 51),
            (63_198, 52),
            (64_198, 53),
            // Segments 43 to 51 are outstanding, 9; ssthresh is 10.
            (REPAIRED_US - 1, 53),
            (REPAIRED_US, 54),
        ];
        for (at_us, sent) in steps {
            let again = u64::from(at_us >= DUP_3_US);
            assert_eq!(setup.sent(at_us), (sent, again), "{recovery}, {at_us} us");
        }
        let (run, seen) = watch(&setup.toml(150_000));
        assert_eq!((losses(&seen), run.flows[0].retransmitted_pkts, run.flows[0].timeouts), (1, 1, 0));
        assert_eq!(times_us(&seen, Hook::State(State::Recovery)), [DUP_3_US], "{recovery}");
        let end = seen.iter().find(|seen| seen.hook == Hook::Event(Event::CompleteCwr)).unwrap();
        assert_eq!((end.at_us(), end.window.cwnd, end.window.ssthresh), (REPAIRED_US, 10, 10), "{recovery}");
        // All but one of what this ACK covers was told before: one segment is news, and 10 make the window grow.
        let grow = seen.iter().find(|seen| seen.hook == Hook::Grow && seen.at_us() == REPAIRED_US).unwrap();
        assert_eq!((grow.ack.acked, grow.ack.delivered, grow.window.cwnd), (1, 43, 10), "{recovery}");
    }
}

/// RFC 6582.
#[test]
fn newreno_repairs_a_hole_per_rtt_with_one_reduction() {
    for n in [2, 3, 5] {
        let setup = then_reno(20 + n, "20", "newreno");
        let (run, seen) = watch(&setup.toml(DUP_3_US + RTT_US * (n + 1)));
        let flow = &run.flows[0];
        assert_eq!((flow.lost_pkts, flow.retransmitted_pkts, flow.timeouts), (n, n, 0), "{n}");
        assert_eq!(losses(&seen), 1, "{n}");
        assert_eq!(times_us(&seen, Hook::State(State::Recovery)), [DUP_3_US], "{n}");
        assert_eq!(times_us(&seen, Hook::Event(Event::CompleteCwr)), [DUP_3_US + RTT_US * n], "{n}");
        // The n - 1 partial ACKs, each with a retransmission.
        for k in 0..n {
            let at_us = DUP_3_US + RTT_US * k;
            let again = [at_us - 1, at_us].map(|at_us| setup.sent(at_us).1);
            assert_eq!(again, [k, k + 1], "{n}, retransmission {k}");
        }
    }
    // Two holes. 42 sent by 41.066 ms, 44 and the retransmission by duplicate 3; segments 20 to 43 are
    // outstanding, 24, and cwnd = 11 + j is more from j = 14 on: 7 to j = 20, then 2. The partial ACK takes 1 off
    // cwnd and adds 1: 33, and with 21 to 52 outstanding, 32, a new segment goes besides the retransmission.
    let setup = then_reno(22, "20", "newreno");
    assert_eq!(setup.sent(REPAIRED_US - 1), (44 + 1 + 7 + 2, 1));
    assert_eq!(setup.sent(REPAIRED_US), (44 + 1 + 7 + 2 + 2, 2));
}

#[test]
fn reno_takes_the_first_partial_ack_for_the_end_and_waits_for_the_timeout() {
    let setup = then_reno(22, "20", "reno");
    let (run, seen) = watch(&setup.toml(1_000_000));
    let flow = &run.flows[0];
    assert_eq!((flow.lost_pkts, flow.retransmitted_pkts, flow.timeouts), (2, 2, 1));
    assert_eq!(times_us(&seen, Hook::Event(Event::CompleteCwr))[..1], [REPAIRED_US]);
    // Once by the fast retransmit, once by the timeout, which starts anew at the partial ACK.
    let reduced: Vec<_> = seen.iter().filter(|seen| seen.hook == Hook::Loss).collect();
    assert_eq!(reduced.len(), 2);
    assert_eq!(reduced[0].at_us(), DUP_3_US);
    assert!(reduced[1].at_us() > REPAIRED_US + 200_000, "{}", reduced[1].at_us());
}

/// A burst of 3, of which 1 arrives, lets one more out; the receive window lets no more.
#[test]
fn a_timeout_without_sack_goes_back_to_all_that_is_outstanding() {
    // One sample R = 21.066 ms: RTO = R + 200 ms, from the ACK on: 242.132 ms. Then segment 1 again; its ACK at
    // 263.198 lets 2 and 3 out, though 3 has arrived; that of 2, at 284.264, covers 3, and a window of new
    // ones goes: ssthresh = 2.
    for recovery in NON_SACK {
        let mut setup = then_reno(3, "1", recovery);
        setup.stack += ", receive_window = 3";
        let steps =
            [(0, 3, 0), (21_066, 4, 0), (242_131, 4, 0), (242_132, 5, 1), (263_197, 5, 1), (263_198, 7, 3)];
        for (at_us, sent, again) in steps {
            assert_eq!(setup.sent(at_us), (sent, again), "{recovery}, {at_us} us");
        }
        assert_eq!(setup.sent(284_264), (9, 3), "{recovery}");
        let (run, seen) = watch(&setup.toml(400_000));
        assert_eq!((run.flows[0].retransmitted_pkts, run.flows[0].timeouts, losses(&seen)), (3, 1, 1));
        assert_eq!(times_us(&seen, Hook::Event(Event::Rto)), [242_132], "{recovery}");
    }
    // With SACK only what is missing.
    for recovery in ["sack", "fack", "rate-halving"] {
        let mut setup = then_reno(3, "1", recovery);
        setup.stack += ", receive_window = 3";
        let flow = &answer(&setup.toml(400_000)).flows[0];
        assert_eq!((flow.retransmitted_pkts, flow.timeouts), (2, 1), "{recovery}");
    }
}

/// Mathis, Mahdavi 1996: when fack is more than three segments above una. Of n segments missing, duplicate j
/// tells that segment 20 + n + j - 1 has arrived: fack - una = n + j.
#[test]
fn fack_needs_fewer_duplicates_where_more_segments_are_missing() {
    for (n, duplicates) in [(1, 3), (2, 2), (3, 1), (10, 1)] {
        let recoveries = [("fack", duplicates), ("sack", 3), ("prr", 3), ("newreno", 3)];
        for (recovery, j) in recoveries {
            let (_, seen) = watch(&then_reno(20 + n, "20", recovery).toml(60_000));
            let began = times_us(&seen, Hook::State(State::Recovery));
            assert_eq!(began, [41_132 + 1000 * j], "{recovery}, {n} missing");
        }
        let (run, seen) = watch(&then_reno(20 + n, "20", "fack").toml(300_000));
        let flow = &run.flows[0];
        assert_eq!((flow.retransmitted_pkts, flow.timeouts, losses(&seen)), (n, 0, 1), "{n} missing");
    }
}

/// Packets of a burst come every ms to a second link of 4 Mbps that holds two and takes 2 ms for each: every
/// other one is lost from segment 2 on. Then the application has nothing more.
fn holes(window: u64, recovery: &str) -> String {
    format!(
        "duration = '2 s'\n\
         [[chain]]\nrate = '8 Mbps'\ndelay = '5 ms'\nbuffer = 100\n\
         [[chain]]\nrate = '4 Mbps'\ndelay = '5 ms'\nbuffer = 2\n\
         [[flows]]\npacket = 934\ncca = {{ name = 'then-reno', window = {window} }}\non = '1 ms'\noff = '10 s'\n\
         stack = {{ ack_every = 1, recovery = '{recovery}' }}\n"
    )
}

/// RFC 8985, 6.2, step 5: a segment sent at the same time as one that has arrived is lost a reordering window
/// later, a quarter of the smallest RTT.
#[test]
fn one_or_two_sacked_segments_and_no_more_are_enough_for_a_retransmission() {
    // Segment 0's RTT: 1 + 5 + 2 + 5 ms, and 10 ms, 66 and 132 us back. Later ones leave 2 ms apart: 0, 1, 3, 5.
    let least_us = 23_198;
    for (window, sacked) in [(4, 1), (6, 2)] {
        let (run, seen) = watch(&holes(window, "prr"));
        let flow = &run.flows[0];
        assert_eq!((flow.lost_pkts, flow.retransmitted_pkts, flow.timeouts), (sacked, sacked, 0), "{window}");
        let last_us = least_us + 2000 * (1 + sacked);
        let began = times_us(&seen, Hook::State(State::Recovery));
        assert_eq!(began, [last_us + least_us / 4], "{window}");
        assert_eq!(losses(&seen), 1, "{window}");
        // Without a timer for it, the timeout.
        assert_eq!(answer(&holes(window, "sack")).flows[0].timeouts, 1, "{window}");
    }
}

/// RFC 9937, 20 of a burst of 40 lost: the third duplicate leaves fewer in flight than ssthresh, 40. While the left edge
/// stands, as much is sent as arrives; when it moves, one more.
#[test]
fn below_ssthresh_prr_sends_what_arrives_and_one_more_when_the_left_edge_moves() {
    let setup = Setup::new("{ name = 'overshoot', window = 40, after_loss = 40 }", "20", "recovery = 'prr'");
    let before = setup.sent(DUP_3_US - 1).0;
    assert_eq!(before, 62);
    for ack in 0..18 {
        assert_eq!(setup.sent(DUP_3_US + 1000 * ack).0, before + 1 + ack, "ACK {ack}");
    }
    let [stood, moved] = [REPAIRED_US - 1, REPAIRED_US].map(|at_us| setup.sent(at_us).0);
    assert_eq!((stood, moved), (before + 20, before + 22));
}

/// Linux knows when it sent each segment.
#[test]
fn a_sack_gives_an_rtt_sample_to_prr_and_to_no_other() {
    let samples = |recovery: &str| {
        let (_, seen) = watch(&then_reno(21, "20", recovery).toml(REPAIRED_US - 1));
        times_us(&seen, Hook::Acked).into_iter().filter(|at_us| *at_us > 41_066).collect::<Vec<_>>()
    };
    let duplicates = (1..=20).map(|j| 41_132 + 1000 * j).chain([63_198, 64_198]);
    assert_eq!(samples("prr"), duplicates.collect::<Vec<_>>());
    assert!(samples("sack").is_empty());
}

/// Segments leave 5 ms apart, from 5 ms on.
#[test]
fn a_delayed_ack_tells_the_timer_the_first_rtt_and_the_algorithm_the_last() {
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
    assert_eq!(sent, [1, 1, 9]);
}

/// `window` segments at once, of which 2 arrive, and no more from the application.
fn tail(window: u64, stack: &str) -> Setup {
    let mut setup = then_reno(window, "2", "prr");
    setup.flow = "on = '1 ms'\noff = '10 s'".to_owned();
    setup.stack += stack;
    setup
}

/// RFC 8985, 7.2. ACKs at 21.066 and 22.066 ms: SRTT = 21.191, RTTVAR = 8.14975 ms.
#[test]
fn the_loss_of_the_last_segment_is_found_by_a_probe() {
    for (stack, wait_us) in [
        // 2 SRTT + 1 ms: the receiver may delay the ACK of a segment alone. Before SRTT + 4 RTTVAR = 53.79 ms.
        (", min_rto = '1 ms'", 43_382),
        // 2 SRTT + 200 ms would be later than the timeout, SRTT + 200 ms: then the probe goes at that time.
        ("", 221_191),
    ] {
        let setup = tail(3, stack);
        let probed_us = 22_066 + wait_us;
        let sent = [probed_us - 1, probed_us, 1_000_000].map(|at_us| setup.sent(at_us));
        assert_eq!(sent, [(3, 0), (4, 1), (4, 1)], "{stack}");
        let (run, seen) = watch(&setup.toml(1_000_000));
        // It repaired the loss: the window is reduced for that, when the ACK tells it (RFC 8985, 7.4.2).
        assert_eq!((run.flows[0].timeouts, losses(&seen)), (0, 1), "{stack}");
        assert_eq!(times_us(&seen, Hook::State(State::Cwr)), [probed_us + RTT_US], "{stack}");
        assert!(times_us(&seen, Hook::State(State::Recovery)).is_empty(), "{stack}");
    }
}

#[test]
fn a_probe_of_a_longer_tail_begins_a_recovery_instead_of_a_timeout() {
    // 2 SRTT and 2 ms, the least that Linux waits. The SACK of the last segment shows the others to be lost:
    // they were sent more than an RTT before the probe.
    for lost in [2, 3, 5] {
        let setup = tail(2 + lost, "");
        let probed_us = 22_066 + 42_382 + 2_000;
        assert_eq!([probed_us - 1, probed_us].map(|at_us| setup.sent(at_us).1), [0, 1], "{lost}");
        let (run, seen) = watch(&setup.toml(1_000_000));
        let flow = &run.flows[0];
        assert_eq!((flow.lost_pkts, flow.retransmitted_pkts), (lost, lost), "{lost}");
        assert_eq!((flow.timeouts, losses(&seen)), (0, 1), "{lost}");
        assert_eq!(times_us(&seen, Hook::State(State::Recovery)), [probed_us + RTT_US], "{lost}");
    }
    // Other recoveries have no probes.
    for recovery in ALL.into_iter().filter(|recovery| *recovery != "prr") {
        let mut setup = tail(4, "");
        setup.stack = format!("recovery = '{recovery}'");
        assert_eq!(answer(&setup.toml(1_000_000)).flows[0].timeouts, 1, "{recovery}");
    }
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
fn samples_of_what_the_application_limited_say_so() {
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
/// sent by then. The window is halved, and segment 50 tells so, whenever it goes: until it arrives every ACK
/// echoes, those of 20 to 49.
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
fn who_does_not_understand_marks_gets_none() {
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

/// What the scoreboard knew of the SYN would count for a later segment at the same place in its ring.
#[test]
fn a_lost_syn_leaves_nothing_on_the_scoreboard() {
    for recovery in ["sack", "fack", "prr", "rate-halving"] {
        for seed in 1..=40 {
            let text = format!(
                "duration = '20 s'\nseed = {seed}\nsamples = 'change'\n\
                 stack = {{ recovery = '{recovery}', handshake = 'first' }}\n\
                 [[chain]]\nrate = '10 Mbps'\ndelay = '5 ms'\nbuffer = 20\nper = 0.3\n[[flows]]\ncca = 'reno'\n"
            );
            let run = answer(&text);
            let most = run.flow_samples.in_flight_pkts.iter().max();
            // More than twice the path and the queue cannot be in flight.
            assert!(most.is_none_or(|&most| most < 60), "{recovery}, seed {seed}: {most:?}");
        }
    }
}
