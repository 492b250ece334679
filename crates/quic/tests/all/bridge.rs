//! Input of an algorithm when a stack reports bytes and packets, by numbers worked out by hand: Reno, packets of 1200
//! bytes, an initial window of ten.

use cwnd_algorithms::State;
use cwnd_quic::{Bridge, Sent, Setup, Stack};

const MTU: u64 = 1200;
const MS: u64 = 1_000_000;

fn start(name: &str) -> Bridge {
    Setup::new(Stack::Noq, name, &[]).unwrap().start(MTU as u16)
}

fn send(bridge: &mut Bridge, at_ms: u64, pkts: u64) -> Vec<Sent> {
    (0..pkts).map(|_| bridge.send(at_ms * MS, MTU)).collect()
}

/// One ACK, for packets sent at `sent_ms`.
fn ack(bridge: &mut Bridge, at_ms: u64, sent_ms: u64, pkts: u64) {
    (0..pkts).for_each(|_| bridge.ack_packet(sent_ms * MS, MTU, None));
    bridge.end_acks(at_ms * MS, None, false);
}

fn lose(bridge: &mut Bridge, at_ms: u64, sent_ms: u64, persistent_congestion: bool) -> bool {
    bridge.lose_packet(MTU, None);
    bridge.on_loss(at_ms * MS, sent_ms * MS, persistent_congestion)
}

/// Twenty packets may be in flight, and were sent at 100 ms.
fn start_with_twenty() -> Bridge {
    let mut bridge = start("reno");
    send(&mut bridge, 0, 10);
    ack(&mut bridge, 100, 0, 10);
    assert_eq!(bridge.window_bytes(), 20 * MTU);
    send(&mut bridge, 100, 20);
    bridge
}

#[test]
fn the_initial_window_is_that_of_rfc_9002_in_whole_packets() {
    let setup = Setup::new(Stack::Noq, "reno", &[]).unwrap();
    let windows = [1200, 1472, 1500, 9000].map(|mtu| setup.start(mtu).initial_window_bytes());
    assert_eq!(windows, [10 * 1200, 10 * 1472, 9 * 1500, 2 * 9000]);
}

#[test]
fn bytes_below_half_a_segment_wait_for_more() {
    let mut bridge = start("reno");
    bridge.send(0, 500);
    bridge.send(0, 500);
    bridge.ack_packet(0, 500, None);
    bridge.end_acks(50 * MS, None, false);
    assert_eq!(bridge.window_bytes(), 10 * MTU);
    bridge.ack_packet(0, 500, None);
    bridge.end_acks(60 * MS, None, false);
    assert_eq!(bridge.window_bytes(), 11 * MTU);
}

#[test]
fn the_window_does_not_grow_while_the_application_limits_the_sender() {
    let mut bridge = start("reno");
    send(&mut bridge, 0, 10);
    bridge.ack_packet(0, 10 * MTU, None);
    bridge.end_acks(100 * MS, None, true);
    assert_eq!(bridge.window_bytes(), 10 * MTU);
}

/// quinn stops before the packet that would fill the window.
#[test]
fn a_window_of_which_a_packet_is_left_grows() {
    let mut bridge = start("reno");
    send(&mut bridge, 0, 9);
    bridge.ack_packet(0, MTU, None);
    bridge.end_acks(100 * MS, Some(8 * MTU), false);
    assert_eq!((bridge.window_bytes(), bridge.in_flight_bytes()), (11 * MTU, 8 * MTU));
}

/// quinn and noq report the losses that an ACK shows after what it acknowledges.
#[test]
fn a_loss_after_the_packets_of_its_ack_halves_the_window_that_these_made() {
    let mut bridge = start_with_twenty();
    ack(&mut bridge, 200, 100, 2);
    assert!(lose(&mut bridge, 200, 100, false));
    assert_eq!(bridge.window_bytes(), 11 * MTU);
}

#[test]
fn a_window_of_data_is_reduced_once_and_older_losses_cut_nothing_even_after_the_recovery() {
    let mut bridge = start_with_twenty();
    assert!(lose(&mut bridge, 200, 100, false));
    assert_eq!((bridge.window_bytes(), bridge.state()), (10 * MTU, State::Recovery));
    assert!(!lose(&mut bridge, 210, 100, false));
    ack(&mut bridge, 220, 100, 17);
    assert_eq!((bridge.window_bytes(), bridge.state()), (10 * MTU, State::Recovery));
    send(&mut bridge, 230, 5);
    ack(&mut bridge, 330, 230, 1);
    assert_eq!((bridge.window_bytes(), bridge.state()), (10 * MTU, State::Open));
    assert!(!lose(&mut bridge, 340, 100, false));
    assert_eq!(bridge.window_bytes(), 10 * MTU);
    assert!(lose(&mut bridge, 350, 230, false));
    assert_eq!((bridge.window_bytes(), bridge.ssthresh_bytes()), (5 * MTU, Some(5 * MTU)));
}

#[test]
fn a_packet_sent_at_the_moment_of_the_reduction_belongs_to_it() {
    let mut bridge = start_with_twenty();
    assert!(lose(&mut bridge, 200, 100, false));
    assert!(!lose(&mut bridge, 250, 200, false));
    assert!(lose(&mut bridge, 250, 201, false));
}

#[test]
fn persistent_congestion_leaves_two_packets_and_slow_start_up_to_half_of_the_window() {
    let mut bridge = start_with_twenty();
    assert!(lose(&mut bridge, 900, 100, true));
    assert_eq!((bridge.window_bytes(), bridge.ssthresh_bytes()), (2 * MTU, Some(10 * MTU)));
    send(&mut bridge, 910, 2);
    ack(&mut bridge, 1010, 910, 2);
    // From one segment, as after a timeout: the second packet is the least that QUIC allows.
    assert_eq!((bridge.window_bytes(), bridge.state()), (3 * MTU, State::Open));
}

#[test]
fn persistent_congestion_of_a_window_that_was_reduced_does_not_lower_ssthresh_again() {
    let mut bridge = start_with_twenty();
    assert!(lose(&mut bridge, 200, 100, false));
    assert!(lose(&mut bridge, 900, 150, true));
    assert_eq!((bridge.window_bytes(), bridge.ssthresh_bytes()), (2 * MTU, Some(10 * MTU)));
    assert!(!lose(&mut bridge, 910, 160, true));
}

#[test]
fn a_spurious_loss_restores_both_windows_and_the_epoch() {
    let mut bridge = start_with_twenty();
    bridge.undo();
    assert_eq!(bridge.window_bytes(), 20 * MTU);
    assert!(lose(&mut bridge, 200, 100, false));
    bridge.undo();
    assert_eq!((bridge.window_bytes(), bridge.ssthresh_bytes()), (20 * MTU, None));
    assert_eq!(bridge.state(), State::Open);
    assert!(lose(&mut bridge, 210, 100, false));
}

#[test]
fn marks_reduce_the_window_once_for_a_window_of_data_and_are_not_undone() {
    let mut bridge = start_with_twenty();
    assert!(bridge.on_congestion(200 * MS, Some(100 * MS), 0));
    assert_eq!((bridge.window_bytes(), bridge.state()), (10 * MTU, State::Cwr));
    assert!(!bridge.on_congestion(210 * MS, Some(110 * MS), 0));
    assert!(!lose(&mut bridge, 220, 100, false));
    bridge.undo();
    assert_eq!(bridge.window_bytes(), 10 * MTU);
    send(&mut bridge, 230, 10);
    ack(&mut bridge, 330, 230, 1);
    assert!(bridge.on_congestion(340 * MS, Some(230 * MS), 0));
    assert_eq!(bridge.window_bytes(), 5 * MTU);
}

#[test]
fn a_change_of_the_mtu_leaves_the_window_in_bytes_to_the_nearest_packet() {
    let mut bridge = start_with_twenty();
    assert!(lose(&mut bridge, 200, 100, false));
    bridge.set_mtu(1500);
    assert_eq!((bridge.window_bytes(), bridge.ssthresh_bytes()), (8 * 1500, Some(8 * 1500)));
    bridge.set_mtu(1452);
    // 12000 / 1452 = 8.26
    assert_eq!(bridge.window_bytes(), 8 * 1452);
    // 8 * 1452 / 1200 = 9.68; the spurious loss then restores 20 * 1200, by way of 16 and 16.53 packets.
    bridge.set_mtu(1200);
    assert_eq!(bridge.window_bytes(), 10 * 1200);
    bridge.undo();
    assert_eq!(bridge.window_bytes(), 21 * 1200);
}

/// RFC 5681, 3.1: ssthresh is two segments at least. The next loss finds it so.
#[test]
fn a_larger_mtu_leaves_ssthresh_two_packets() {
    let mut bridge = start_with_twenty();
    for round in 1..5 {
        let sent_ms = 100 * round;
        assert!(lose(&mut bridge, sent_ms + 50, sent_ms, false));
        send(&mut bridge, sent_ms + 100, 1);
        ack(&mut bridge, sent_ms + 150, sent_ms + 100, 1);
    }
    bridge.set_mtu(9000);
    assert_eq!(bridge.ssthresh_bytes(), Some(2 * 9000));
    bridge.send(600 * MS, 9000);
    assert!(lose(&mut bridge, 700, 600, false));
    assert_eq!(bridge.ssthresh_bytes(), Some(2 * 9000));
}

#[test]
fn a_packet_older_than_one_acknowledged_already_gives_no_rtt_sample() {
    let mut bridge = start("reno");
    send(&mut bridge, 0, 1);
    send(&mut bridge, 50, 1);
    ack(&mut bridge, 150, 50, 1);
    assert_eq!(bridge.srtt_ns(), 100 * MS);
    ack(&mut bridge, 160, 0, 1);
    assert_eq!(bridge.srtt_ns(), 100 * MS);
    send(&mut bridge, 160, 1);
    ack(&mut bridge, 340, 160, 1);
    // RFC 6298: 7/8 of 100 and 1/8 of 180
    assert_eq!(bridge.srtt_ns(), 110 * MS);
}

/// A packet every 10 ms, each acknowledged after 100 ms, is 120,000 bytes/s. After start-up BBR's gains are 5/4 and 1, less a
/// percent: at 3/4 it would drain a queue, and there is none.
#[test]
fn bbr_paces_at_its_gains_times_the_rate_at_which_packets_arrive() {
    let mut bridge = start("bbr");
    let mut in_flight = std::collections::VecDeque::new();
    let mut rates = std::collections::BTreeSet::new();
    for at_ms in (0..20_000).step_by(10) {
        if at_ms >= 100 {
            let sent: Sent = in_flight.pop_front().unwrap();
            bridge.ack_packet(sent.sent_ns, MTU, Some(sent));
            bridge.end_acks(at_ms * MS, None, false);
        }
        in_flight.extend(send(&mut bridge, at_ms, 1));
        if at_ms > 5_000 {
            rates.insert(bridge.pacing_rate().unwrap());
        }
    }
    let is_near = |rate: u64, gain: f64| (rate as f64 / (0.99 * gain * 120_000.0) - 1.0).abs() < 0.01;
    let rates = Vec::from_iter(rates);
    assert!(
        matches!(rates[..], [even, probing] if is_near(even, 1.0) && is_near(probing, 1.25)),
        "{rates:?}"
    );
}

#[test]
fn an_idle_connection_does_not_wait_for_a_packet_that_was_discarded() {
    let mut bridge = start("reno");
    send(&mut bridge, 0, 3);
    bridge.discard(MTU);
    ack(&mut bridge, 100, 0, 2);
    assert_eq!(bridge.in_flight_bytes(), 0);
}

#[test]
fn the_window_fits_what_the_stack_can_hold() {
    let mut bridge = Setup::new(Stack::S2nQuic, "reno", &[]).unwrap().start(MTU as u16);
    for rtt in 0..64 {
        bridge.send(rtt * MS, bridge.window_bytes());
        bridge.ack_packet(rtt * MS, bridge.window_bytes(), None);
        bridge.end_acks((rtt + 1) * MS, None, false);
    }
    assert_eq!(bridge.window_bytes(), u64::from(u32::MAX) / MTU * MTU);
    // To the nearest packet it were half a packet more.
    bridge.set_mtu(1213);
    assert_eq!(bridge.window_bytes(), u64::from(u32::MAX) / 1213 * 1213);
    bridge.send(65 * MS, 1213);
    bridge.ack_packet(65 * MS, 1213, None);
    bridge.end_acks(66 * MS, None, false);
    assert_eq!(bridge.window_bytes(), u64::from(u32::MAX) / 1213 * 1213);
}

fn refuse(stack: Stack, name: &str, params: &[(&str, &str)]) -> String {
    Setup::new(stack, name, params).unwrap_err().to_string()
}

#[test]
fn what_cannot_run_is_refused_in_one_line_that_says_what_can() {
    assert_eq!(refuse(Stack::Quinn, "elastik", &[]), "unknown algorithm 'elastik'; did you mean 'elastic'?");
    let error = refuse(Stack::Quinn, "scalable", &[("alpha", "1")]);
    assert!(error.starts_with("'scalable' has no parameter 'alpha'; it has "), "{error}");
    let error = refuse(Stack::Noq, "cubic", &[("beta", "7")]);
    assert!(error.starts_with("'beta' cannot be '7'; accepted: "), "{error}");
    let error = refuse(Stack::Quinn, "bbr", &[]);
    let start = "'bbr' has to set the pacing rate, which quinn does not support; quinn runs reno, dual, ";
    assert!(error.starts_with(start), "{error}");
    let error = refuse(Stack::Noq, "dctcp", &[]);
    assert!(
        error.starts_with("'dctcp' has to count ECN marks, which noq does not support; noq runs reno, "),
        "{error}"
    );
    assert!(!error.contains('\n'));
    let error = refuse(Stack::S2nQuic, "prague", &[]);
    assert!(
        error.starts_with("'prague' has to send ECT(1), which s2n-quic does not support; s2n-quic runs "),
        "{error}"
    );
    let error = refuse(Stack::S2nQuic, "ledbat", &[]);
    assert_eq!(error, "'ledbat' measures one-way delays, which QUIC does not report; accepted: delay = rtt");
    assert!(Setup::new(Stack::Quinn, "ledbat", &[("delay", "rtt")]).is_ok());
}

#[test]
fn algorithms_that_pace_do_not_run_on_quinn_and_those_of_marks_on_s2n_quic_alone() {
    let run = [Stack::Quinn, Stack::Noq, Stack::S2nQuic, Stack::Aioquic].map(|stack| {
        let names = ["reno", "cubic", "elastic", "bbr", "bbr3", "dctcp", "prague"].into_iter();
        names.filter(|name| Setup::new(stack, name, &[]).is_ok()).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(
        run,
        [
            "reno cubic elastic",
            "reno cubic elastic bbr bbr3",
            "reno cubic elastic bbr bbr3 dctcp",
            "reno cubic elastic",
        ]
    );
}
