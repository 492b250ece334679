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
