//! Causes and their numbers, from hand calculations.

use crate::write::{ACK, PSH, Path, Tcp, explain, pcap, plain, windowed};
use cwnd_evidence::{Cause, ConnectionReport, Place, Wanted};

fn connection(packets: &[Tcp]) -> ConnectionReport {
    explain(pcap(false, false, 1, 96, &plain(packets))).connections.remove(0)
}

fn share(connection: &ConnectionReport, cause: Cause) -> f64 {
    connection.causes.iter().find(|share| share.cause == cause).map_or(0.0, |share| share.share)
}

/// These packets as the receiver sees them: half an RTT later or earlier.
fn at_receiver(packets: &[Tcp], rtt_us: u64) -> Vec<Tcp> {
    let half = rtt_us / 2;
    let moved = |packet: &Tcp| packet.time_us + if packet.up { half } else { rtt_us - half };
    let mut packets: Vec<Tcp> =
        packets.iter().map(|packet| Tcp { time_us: moved(packet), ..packet.clone() }).collect();
    for packet in packets.iter_mut().filter(|packet| !packet.up) {
        packet.time_us -= rtt_us - half;
        packet.time_us = packet.time_us.saturating_sub(half);
    }
    packets.sort_by_key(|packet| packet.time_us);
    packets
}

#[test]
fn a_window_w_at_an_rtt_r_is_the_receiver_s_limit_of_w_over_r() {
    let path = Path { rtt_us: 50_000, window: 20, rounds: 60, lost: None };
    let connection = connection(&windowed(&path));
    assert_eq!(connection.place, Place::Sender);
    assert_eq!(connection.rtt_min_ms, Some(50.0));
    assert!(share(&connection, Cause::Receiver) > 0.9, "{:?}", connection.causes);
    let numbers = &connection.causes[0].numbers;
    assert_eq!(numbers.window_bytes, 20_000);
    assert_eq!(numbers.flight_bytes, 20_000);
    let expected = 20_000.0 * 8.0 / 0.05;
    assert!((numbers.rate_bps / expected - 1.0).abs() < 0.03, "{} {expected}", numbers.rate_bps);
}

#[test]
fn a_loss_is_counted_once_and_repaired() {
    let path = Path { rtt_us: 50_000, window: 20, rounds: 20, lost: Some(10) };
    let connection = connection(&windowed(&path));
    let again = &connection.retransmissions;
    assert_eq!((again.fast, again.timeouts, again.bytes), (1, 0, 1000), "{again:?}");
    assert_eq!(connection.bytes, 400_000);
}

#[test]
fn the_receiver_s_capture_is_told_from_the_sender_s() {
    let path = Path { rtt_us: 50_000, window: 20, rounds: 20, lost: None };
    let connection = connection(&at_receiver(&windowed(&path), 50_000));
    assert_eq!(connection.place, Place::Receiver);
    assert!(connection.cannot.iter().any(|line| line.contains("at the receiver")), "{:?}", connection.cannot);
}

#[test]
fn an_application_that_writes_each_second_limits() {
    let path = Path { rtt_us: 20_000, window: 20, rounds: 1, lost: None };
    let mut packets: Vec<Tcp> = windowed(&path).drain(..3).collect();
    let first = packets[2].seq;
    for second in 0..6 {
        let (time, seq) = (100_000 + 1_000_000 * second, first.wrapping_add(500 * second as u32));
        packets.push(Tcp::new(time, true, seq, 100, ACK | PSH, 500));
        packets.push(Tcp::new(time + 20_000, false, 100, seq.wrapping_add(500), ACK, 0));
    }
    let connection = connection(&packets);
    assert!(share(&connection, Cause::Application) > 0.9, "{:?}", connection.causes);
}

#[test]
fn the_wait_for_the_timer_is_a_timeout() {
    let path = Path { rtt_us: 20_000, window: 20, rounds: 5, lost: None };
    let mut packets = windowed(&path);
    let end = packets[packets.len() - 1].clone();
    let late = |after: u64| Tcp::new(end.time_us + after, true, end.ack, 100, ACK, 1000);
    packets.extend([late(100), late(1_000_100)]);
    packets.push(Tcp::new(end.time_us + 1_020_100, false, 100, end.ack.wrapping_add(1000), ACK, 0));
    let connection = connection(&packets);
    assert_eq!(connection.retransmissions.timeouts, 1);
    let waited = connection
        .causes
        .iter()
        .find(|share| share.cause == Cause::Timeout)
        .map_or(0.0, |share| share.seconds);
    assert!((waited - 1.0).abs() < 0.1, "{:?}", connection.causes);
}

/// Bursts of segments over a link that sends one of them in a millisecond, 50 ms from end to end and back: when each burst
/// begins, and its segments.
fn bursts(bursts: &[(u64, u32)]) -> Vec<Tcp> {
    let path = Path { rtt_us: 50_000, window: 20, rounds: 1, lost: None };
    let mut packets: Vec<Tcp> = windowed(&path).drain(..3).collect();
    // A window scale of 2: the receiver's window is no limit.
    packets[..2].iter_mut().for_each(|packet| packet.options.extend([3, 3, 2]));
    let (mut seq, mut free_us) = (packets[2].seq, 0);
    for &(at_us, segments) in bursts {
        for number in 0..segments {
            free_us = at_us.max(free_us) + 1000;
            packets.push(Tcp::new(at_us + u64::from(number), true, seq, 100, ACK, 1000));
            seq = seq.wrapping_add(1000);
            packets.push(Tcp::new(free_us + 50_000, false, 100, seq, ACK, 0));
        }
    }
    packets.sort_by_key(|packet| packet.time_us);
    packets
}

#[test]
fn bursts_of_an_application_do_not_fill_the_path_that_they_queue_on() {
    // 70 ms of data each 125 ms: all but the first segment of a burst wait, and the link is busy for 56 %.
    let connection = connection(&bursts(&(0..40).map(|at| (100_000 + 125_000 * at, 70)).collect::<Vec<_>>()));
    assert!(share(&connection, Cause::FullPath) < 0.05, "{:?}", connection.causes);
}

#[test]
fn a_link_that_is_never_idle_is_a_full_path_although_each_burst_finds_no_queue() {
    // 60 segments each 60 ms are the link's rate.
    let connection = connection(&bursts(&(0..100).map(|at| (100_000 + 60_000 * at, 60)).collect::<Vec<_>>()));
    assert!(share(&connection, Cause::FullPath) > 0.95, "{:?}", connection.causes);
}

#[test]
fn a_window_that_doubles_after_an_idle_second_is_slow_start_again_although_a_segment_was_lost_before() {
    let ramp = |from_us: u64| (0..5).map(move |round| (from_us + 51_000 * round, 2 << round));
    let mut packets = bursts(&(0..4).flat_map(|at| ramp(100_000 + 1_500_000 * at)).collect::<Vec<_>>());
    // Segment 10 of the first ramp, in its third burst, is lost: its ACK is missing, those behind it repeat the one before, until
    // it is sent again.
    let data: Vec<Tcp> = packets.iter().filter(|packet| packet.len > 0).cloned().collect();
    let (lost, again_us) = (data[10].seq, 270_000);
    packets.retain(|packet| packet.up || packet.ack != lost.wrapping_add(1000));
    for packet in packets.iter_mut().filter(|packet| !packet.up && packet.time_us < again_us + 50_000) {
        if (packet.ack.wrapping_sub(lost) as i32) > 0 {
            packet.ack = lost;
        }
    }
    packets.push(Tcp { time_us: again_us, ..data[10].clone() });
    packets.sort_by_key(|packet| packet.time_us);
    let connection = connection(&packets);
    assert_eq!(connection.retransmissions.fast, 1);
    let later = connection.spans.iter().filter(|span| span.cause == Cause::SlowStart && span.start_s > 1.5);
    assert_eq!(later.count(), 3, "{:?}", connection.spans);
}

#[test]
fn series_are_of_the_wanted_connection_alone() {
    let packets = pcap(
        false,
        false,
        1,
        96,
        &plain(&windowed(&Path { rtt_us: 50_000, window: 20, rounds: 60, lost: None })),
    );
    let of = |wanted| {
        let explained = cwnd_evidence::explain_with(Box::new(std::io::Cursor::new(packets.clone())), wanted);
        explained.map(|one| one.connections[0].series.clone().map(|series| series.rate_bps.len())).ok()
    };
    assert_eq!(of(Wanted::Nothing), Some(None));
    assert_eq!(of(Wanted::Number(2)), Some(None));
    assert_eq!(of(Wanted::First), of(Wanted::Number(1)));
    assert!(of(Wanted::First).flatten() > Some(1));
}

#[test]
fn nothing_is_in_flight_between_the_bursts_of_a_series() {
    let packets = pcap(false, false, 1, 96, &plain(&bursts(&[(100_000, 20), (2_000_000, 20)])));
    let explained = cwnd_evidence::explain_with(Box::new(std::io::Cursor::new(packets)), Wanted::First);
    let series = explained.ok().and_then(|one| one.connections[0].series.clone()).expect("a connection");
    let at = |seconds: f64| series.flight_bytes[(seconds / series.step_s) as usize];
    assert_eq!((at(0.105), at(1.0), at(2.005)), (Some(20_000), Some(0), Some(20_000)));
}
