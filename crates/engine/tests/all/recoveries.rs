//! How senders find losses and repair them, calculated by hand, on the path of `common/one_link.rs`.

use crate::common::one_link::{ALL, RTT_US, Setup, losses, one_link, overshoot, sent_by, then_reno};
use crate::common::{Hook, answer, times_us, watch};
use cwnd_algorithms::{Event, State};

const NON_SACK: [&str; 3] = ["tahoe", "reno", "newreno"];

// A burst of 20 + n packets at a queue that holds 20: the last n, from segment 20 on, are lost. ACKs 0 to 19
// come at 21.066 ms + 1 ms each and let a segment out each. These cause the duplicate ACKs 1 to 20, number j at
// 41.132 + j ms. Limited transmit (RFC 3042) answers the first two with a new segment each; the third, at 44.132,
// is the fast retransmit. The two cause duplicates 21 and 22 at 63.198 and 64.198, the retransmission the next
// ACK at 65.198.
const DUP_3_US: u64 = 44_132;
const REPAIRED_US: u64 = DUP_3_US + RTT_US;

// RACK (RFC 8985, 6.2) needs one: the burst was sent 21.066 ms before the segment of duplicate 1, which is more than a
// quarter of that RTT.
const DUP_1_US: u64 = 42_132;

/// RFC 3042.
#[test]
fn the_first_two_duplicate_acks_let_a_new_segment_out_each() {
    for recovery in ALL.into_iter().filter(|recovery| *recovery != "prr") {
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
        // Earlier ACKs reported all that this ACK covers but one segment, and 10 make the window grow.
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
/// reports that segment 20 + n + j - 1 has arrived: fack - una = n + j.
#[test]
fn fack_needs_fewer_duplicates_where_more_segments_are_missing() {
    for (n, duplicates) in [(1, 3), (2, 2), (3, 1), (10, 1)] {
        let recoveries = [("fack", duplicates), ("sack", 3), ("prr", 1), ("newreno", 3)];
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
         stack = {{ ack_every = 1, sack_delay = '0 s', recovery = '{recovery}' }}\n"
    )
}

/// In whole microseconds, when a timer fires that is set at `now_us` for `wait_us`: Linux counts ticks of 4 ms, rounds up to whole
/// ones, and begins with the next. With seed 1 they are this much after 0, 4, 8 ms.
fn fires_us(now_us: u64, wait_us: u64) -> u64 {
    const PHASE_NS: u64 = 1_264_141;
    let next = (now_us * 1000 + 4_000_000 - PHASE_NS) / 4_000_000;
    ((next + wait_us.div_ceil(4000)) * 4_000_000 + PHASE_NS) / 1000
}

/// RFC 8985, 6.2, step 5: a segment sent at the same time as one that has arrived is lost a reordering window
/// later, a quarter of the smallest RTT, to which Linux adds 2 ms.
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
        assert_eq!(began, [fires_us(last_us, least_us / 4 + 2000)], "{window}");
        assert_eq!(losses(&seen), 1, "{window}");
        // Without a timer for it, the timeout.
        assert_eq!(answer(&holes(window, "sack")).flows[0].timeouts, 1, "{window}");
    }
}

/// RFC 8985, 6.2: where a link may reorder, segments of one burst have one time, and their numbers decide. A step of the delay
/// to the same value changes no packet.
#[test]
fn a_delay_written_as_a_step_changes_no_repair() {
    let scenarios = [
        ("'10 Mbps'", "20 ms", 50, 0.03, "size = '3 KB'\narrivals = { process = 'poisson', load = 0.3 }"),
        ("'12 Mbps'", "5 ms", 1, 0.0, ""),
        ("'12 Mbps'", "5 ms", 4, 0.01, ""),
    ];
    for (rate, delay, buffer, per, flow) in scenarios {
        let of = |delay: String| {
            let run = answer(&format!(
                "duration = '20 s'\n[dumbbell]\nrate = {rate}\ndelay = {delay}\nbuffer = {buffer}\nper = {per}\nexit = false\n\
                 [[flows]]\ncca = 'cubic'\n{flow}\n"
            ));
            format!("{:?} {:?}", run.flows, run.transfers)
        };
        let [plain, step] = [format!("'{delay}'"), format!("{{ steps = [['0 s', '{delay}']] }}")].map(of);
        assert_eq!(plain, step, "{buffer} packets");
    }
}

/// RFC 9937, 20 of a burst of 40 lost: the first duplicate leaves fewer in flight than ssthresh, 40. While the left edge
/// stands, as much is sent as arrives; when it moves, one more.
#[test]
fn below_ssthresh_prr_sends_what_arrives_and_one_more_when_the_left_edge_moves() {
    let setup = Setup::new("{ name = 'overshoot', window = 40, after_loss = 40 }", "20", "recovery = 'prr'");
    let before = setup.sent(DUP_1_US - 1).0;
    assert_eq!(before, 60);
    for ack in 0..20 {
        assert_eq!(setup.sent(DUP_1_US + 1000 * ack).0, before + 1 + ack, "ACK {ack}");
    }
    let repaired_us = DUP_1_US + RTT_US;
    let [stood, moved] = [repaired_us - 1, repaired_us].map(|at_us| setup.sent(at_us).0);
    assert_eq!((stood, moved), (before + 20, before + 22));
}

/// Linux knows when it sent each segment.
#[test]
fn a_sack_gives_an_rtt_sample_to_prr_and_to_no_other() {
    let samples = |recovery: &str| {
        let (_, seen) = watch(&then_reno(21, "20", recovery).toml(DUP_1_US + RTT_US - 1));
        times_us(&seen, Hook::Acked).into_iter().filter(|at_us| *at_us > 41_066).collect::<Vec<_>>()
    };
    assert_eq!(samples("prr"), (1..=20).map(|j| 41_132 + 1000 * j).collect::<Vec<_>>());
    assert!(samples("sack").is_empty());
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
        let probed_us = fires_us(22_066, wait_us);
        let sent = [probed_us - 1, probed_us, 1_000_000].map(|at_us| setup.sent(at_us));
        assert_eq!(sent, [(3, 0), (4, 1), (4, 1)], "{stack}");
        // It repaired the loss: the window is reduced for that once more is acknowledged than the probe (RFC 8985, 7.4.2), the
        // first segment that the application writes after its pause.
        let (_, seen) = watch(&setup.toml(10_001_000));
        assert_eq!(losses(&seen), 0, "{stack}");
        let (run, seen) = watch(&setup.toml(10_100_000));
        assert_eq!((run.flows[0].timeouts, losses(&seen)), (0, 1), "{stack}");
        assert_eq!(times_us(&seen, Hook::State(State::Cwr)), [10_001_000 + 21_066], "{stack}");
        assert!(times_us(&seen, Hook::State(State::Recovery)).is_empty(), "{stack}");
    }
}

/// RFC 8985, 7.2: the probe is scheduled anew when a segment is sent, and only a segment alone waits for a delayed ACK. After
/// 21 ms nothing leaves the link. ACKs at 21.066 and 22.066 ms find one segment in flight, and let another out: SRTT is 21.191.
#[test]
fn the_probe_does_not_wait_for_a_delayed_ack_once_a_second_segment_is_in_flight() {
    let sent = |at_us: u64| {
        let run = answer(&format!(
            "duration = '{} us'\n[[chain]]\nrate = {{ steps = [['0 s', '8 Mbps'], ['21 ms', '0 bps'], ['1 s', '8 Mbps']] }}\n\
             delay = '10 ms'\nbuffer = 20\n[[flows]]\npacket = 934\ncca = {{ name = 'fixed', window = 2 }}\n\
             stack = {{ ack_every = 1 }}\n",
            at_us + 1
        ));
        run.flows[0].sent_pkts
    };
    let probed_us = fires_us(22_066, 42_382 + 2_000);
    assert_eq!([probed_us - 1, probed_us].map(sent), [4, 5]);
}

#[test]
fn a_probe_of_a_longer_tail_begins_a_recovery_instead_of_a_timeout() {
    // 2 SRTT and 2 ms, the least that Linux waits. The SACK of the last segment shows the others to be lost:
    // they were sent more than an RTT before the probe.
    for lost in [2, 3, 5] {
        let setup = tail(2 + lost, "");
        let probed_us = fires_us(22_066, 42_382 + 2_000);
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

/// State of the SYN on the scoreboard would count for a later segment at the same place in its ring.
#[test]
fn a_lost_syn_leaves_nothing_on_the_scoreboard() {
    for recovery in ["sack", "fack", "prr", "rate-halving"] {
        for seed in 1..=40 {
            let text = format!(
                "duration = '20 s'\nseed = {seed}\nsamples = 'change'\n\
                 stack = {{ recovery = '{recovery}', handshake = 'first', sack_delay = '0 s' }}\n\
                 [[chain]]\nrate = '10 Mbps'\ndelay = '5 ms'\nbuffer = 20\nper = 0.3\n[[flows]]\ncca = 'reno'\n"
            );
            let run = answer(&text);
            let most = run.flow_samples.in_flight_pkts.iter().max();
            // More than twice the path and the queue cannot be in flight.
            assert!(most.is_none_or(|&most| most < 60), "{recovery}, seed {seed}: {most:?}");
        }
    }
}

/// A burst that overflows the queue of 200 by k packets. Then a packet is sent for each ACK, until the loss is
/// seen and the window halved.
fn losing(k: u64, recovery: &str, duration: &str) -> String {
    one_link(&overshoot(200 + k, (200 + k) / 2), duration, "200", &format!("recovery = '{recovery}'"))
}

#[test]
fn k_packets_lost_in_one_window_are_all_repaired_in_one_rtt() {
    for recovery in ["sack", "prr", "rate-halving"] {
        for k in [1, 3, 10, 100] {
            let (run, seen) = watch(&losing(k, recovery, "5 s"));
            let flow = &run.flows[0];
            let context = format!("{recovery}, {k} lost");
            assert_eq!((flow.lost_pkts, flow.retransmitted_pkts, flow.timeouts), (k, k, 0), "{context}");
            let [begin, end] =
                [State::Recovery, State::Open].map(|state| times_us(&seen, Hook::State(state)));
            assert_eq!((begin.len(), end.len()), (1, 1), "{context}");
            // 200 packets in flight, 1 ms each, are an RTT; so much more as the retransmissions take.
            let lasted_us = end[0] - begin[0];
            assert!((200_000..200_000 + 1000 * k).contains(&lasted_us), "{context}: {lasted_us} us");
        }
    }
}

/// RFC 9937: by the d-th packet delivered in recovery, ceil(d S / F) have been sent, while more than S are in
/// flight; F was in flight before.
#[test]
fn prr_sends_in_proportion_to_what_is_delivered() {
    // 21 packets go at once, the last of them is dropped, and each of the 20 ACKs sends one. These cause
    // duplicate ACKs from 42.132 ms on, 1 ms apart: the first begins the recovery, with 21 in flight before it.
    let scenario = |duration: &str| one_link(&overshoot(21, 10), duration, "20", "recovery = 'prr'");
    let before = sent_by(41_132, scenario);
    assert_eq!(before, 21 + 20);
    for delivered in 1..=18 {
        let sent = sent_by(41_132 + 1000 * delivered, scenario) - before;
        // Without the lost one, 20 - delivered + sent are in flight: at delivered = 19 no longer more than 10.
        assert_eq!(sent, (delivered * 10).div_ceil(21), "{delivered} delivered");
    }
}

/// 25 segments with a window of 30, of which the first four are lost. Until 15 are in flight, by the d-th packet delivered
/// ceil(d 15 / 30) have been sent in Linux 6.12, ceil(d 15 / 25) by RFC 9937.
#[test]
fn linux_reduces_in_proportion_to_its_window_and_not_to_what_was_in_flight() {
    let sent_again = |profile: &str, at_us: u64| {
        answer(&format!(
            "duration = '{at_us} us'\nsamples = 'off'\n[[chain]]\nrate = '8 Mbps'\ndelay = '10 ms'\nbuffer = 100\nlosses = [1, 2, 3, 4]\n\
             [[flows]]\ncca = 'reno'\npacket = '1000 bytes'\nsize = '25 KB'\n\
             stack = {{ profile = '{profile}', recovery = 'prr', initial_window = 30, initial_ssthresh = 30, ack_every = 1, sack_delay = '0 s', \
             handshake = 'off', initial_rto = '1 s' }}\n"
        ))
        .flows[0]
            .retransmitted_pkts
    };
    let acks = |profile: &str| {
        let counts: Vec<u64> = (20..50).map(|at_ms| sent_again(profile, 1000 * at_ms + 900)).collect();
        let first = counts.iter().position(|&count| count > 0).unwrap();
        counts[first..first + 5].to_vec()
    };
    assert_eq!(acks("linux"), [1, 1, 2, 2, 3]);
    assert_eq!(acks("ns2"), [1, 2, 2, 3, 3]);
}

const BURST: &str = r#"
    stack = { ack_every = 1, sack_delay = "0 s", recovery = "RECOVERY" }
    [[chain]]
    rate = "8 Mbps"
    delay = "10 ms"
    buffer = 20
    [[flows]]
    packet = 934
    cca = { name = "overshoot", window = 21, after_loss = HALF }
"#;

fn burst_sent_by(at_us: u64, recovery: &str, half: u64) -> u64 {
    let burst = BURST.replace("RECOVERY", recovery).replace("HALF", &half.to_string());
    answer(&format!("duration = '{} us'\n{burst}", at_us + 1)).flows[0].sent_pkts
}

/// RFC 6675, 5, step 4.3.
#[test]
fn sack_retransmits_the_first_lost_segment_at_once() {
    assert_eq!(burst_sent_by(44_132, "sack", 10) - burst_sent_by(43_132, "sack", 10), 1);
}

#[test]
fn prr_takes_the_flight_before_the_ack_that_began_the_recovery() {
    for half in [7, 14] {
        let before = burst_sent_by(41_132, "prr", half);
        for delivered in 1..=10 {
            let sent = burst_sent_by(41_132 + 1000 * delivered, "prr", half) - before;
            assert_eq!(sent, (delivered * half).div_ceil(21), "{delivered} delivered, ssthresh {half}");
        }
    }
}

/// Slow start overshoots by as much as the queue holds; ns-2.35 has no timeout here either.
#[test]
fn an_overshoot_of_any_size_is_repaired_without_a_timeout() {
    for buffer in 20..400 {
        let run = answer(&format!(
            r#"
            duration = "4 s"
            samples = "off"
            stack = "ns2"
            [dumbbell]
            rate = "1 Gbps"
            delay = "100 ms"
            buffer = {buffer}
            access = {{ rate = "1 Gbps", delay = "1 ms", buffer = {buffer} }}
            [[flows]]
            cca = "reno"
        "#
        ));
        let flow = &run.flows[0];
        assert!(flow.lost_pkts > 0, "buffer {buffer}");
        assert_eq!((flow.timeouts, flow.retransmitted_pkts), (0, flow.lost_pkts), "buffer {buffer}");
    }
}
