//! Each format, link type and header gives the same connection.

use crate::write::{
    ACK, FIN, PSH, Packet, Path, SYN, Tcp, block, ethernet, explain, pcap, pcapng, plain, windowed,
};
use cwnd_evidence::{Explanation, Place};
use std::io::Write;

fn small() -> Vec<Tcp> {
    windowed(&Path { rtt_us: 20_000, window: 4, rounds: 5, lost: None })
}

/// 20 segments of 1000 bytes, an RTT of 20 ms, taken at the sender.
#[track_caller]
fn check(explained: &Explanation) {
    assert_eq!(explained.connection_count, 1, "{explained:?}");
    let connection = &explained.connections[0];
    assert_eq!(connection.bytes, 20_000);
    assert_eq!(connection.retransmissions.bytes, 0);
    assert_eq!(connection.place, Place::Sender);
    assert_eq!(connection.handshake.segment_bytes, 1000);
    let rtt = connection.rtt_min_ms.unwrap();
    assert!((rtt - 20.0).abs() < 0.02, "{rtt}");
}

fn framed(frame: impl Fn(&Tcp) -> Vec<u8>) -> Vec<Packet> {
    small().iter().map(|packet| (packet.time_us * 1000, frame(packet))).collect()
}

#[test]
fn all_four_magics_of_pcap() {
    for (big, nano) in [(false, false), (true, false), (false, true), (true, true)] {
        let explained = explain(pcap(big, nano, 1, 65_535, &plain(&small())));
        assert_eq!(explained.capture.format, "pcap");
        check(&explained);
    }
}

#[test]
fn pcapng_with_two_interfaces_two_resolutions_and_drops() {
    let explained = explain(pcapng(&small()));
    assert_eq!(explained.capture.format, "pcapng");
    assert_eq!(explained.capture.dropped, 7);
    assert!(explained.notes[0].starts_with("7 packets were dropped"), "{:?}", explained.notes);
    check(&explained);
}

#[test]
fn simple_packets_of_pcapng_have_no_time_and_say_so() {
    let mut file = pcapng(&[]);
    let data = ethernet(&[8, 0], &small()[0].v4(0));
    file.extend(block(3, &[&(data.len() as u32).to_le_bytes()[..], &data].concat()));
    let explained = explain(file);
    assert_eq!(explained.capture.segments, 1);
    assert!(
        explained.notes.iter().any(|note| note.contains("no time of their own")),
        "{:?}",
        explained.notes
    );
}

#[test]
fn lengths_come_from_the_ip_header_and_not_from_the_snap_length() {
    check(&explain(pcap(false, false, 1, 80, &plain(&small()))));
}

#[test]
fn link_types() {
    let sll = |kind: [u8; 2], ip: Vec<u8>| [&[0; 14][..], &kind, &ip].concat();
    let sll2 = |ip: Vec<u8>| [&[8, 0][..], &[0; 18], &ip].concat();
    let cases: [(u32, Vec<Packet>); 9] = [
        (0, framed(|packet| [&[2, 0, 0, 0][..], &packet.v4(0)].concat())),
        (1, framed(|packet| ethernet(&[0x81, 0, 0, 7, 8, 0], &packet.v4(0)))),
        (1, framed(|packet| ethernet(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x86, 0xdd], &packet.v6()))),
        (9, framed(|packet| [&[0xff, 3, 0, 0x21][..], &packet.v4(0)].concat())),
        (101, framed(|packet| packet.v4(3))),
        (113, framed(|packet| sll([8, 0], packet.v4(0)))),
        (113, framed(|packet| sll([0x86, 0xdd], packet.v6()))),
        (229, framed(Tcp::v6)),
        (276, framed(|packet| sll2(packet.v4(0)))),
    ];
    for (link, packets) in cases {
        check(&explain(pcap(false, false, link, 65_535, &packets)));
    }
}

#[test]
fn a_link_type_that_is_not_read_is_named() {
    let explained = explain(pcap(false, false, 105, 65_535, &plain(&small())));
    assert_eq!(explained.notes, ["link type 105 is not read"]);
    assert_eq!(explained.connection_count, 0);
}

#[test]
fn gzip_is_read_and_a_cut_one_gives_its_beginning() {
    let file = pcap(false, false, 1, 65_535, &plain(&small()));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&file).unwrap();
    let packed = encoder.finish().unwrap();
    check(&explain(packed.clone()));
    let explained = explain(packed[..packed.len() - 8].to_vec());
    assert!(explained.notes[0].contains("end early"), "{:?}", explained.notes);
}

#[test]
fn fragments_behind_the_first_are_left_out_and_counted() {
    let mut packets = plain(&small());
    let mut fragment = packets[5].clone();
    fragment.1[14 + 7] = 9;
    packets.insert(6, fragment);
    let explained = explain(pcap(false, false, 1, 65_535, &packets));
    assert_eq!(explained.notes, ["1 IP fragments behind the first were left out"]);
    check(&explained);
}

#[test]
fn a_large_segment_without_a_length_in_its_ip_header_has_the_frame_s() {
    let mut packets = plain(&small());
    for (_, data) in &mut packets {
        data[16..18].fill(0);
    }
    check(&explain(pcap(false, false, 1, 65_535, &packets)));
}

#[test]
fn a_port_that_is_used_again_is_another_connection() {
    let mut packets = small();
    let end = packets[packets.len() - 1].clone();
    packets.push(Tcp::new(end.time_us + 1, true, end.ack, 100, ACK | FIN, 0));
    let later = small().into_iter().map(|packet| Tcp { time_us: packet.time_us + 2_000_000, ..packet });
    packets.extend(later);
    let explained = explain(pcap(false, false, 1, 65_535, &plain(&packets)));
    assert_eq!(explained.connection_count, 2);
    assert!(explained.connections.iter().all(|connection| connection.bytes == 20_000));
}

#[test]
fn the_fin_is_no_byte_that_was_never_seen() {
    let mut packets = small();
    let end = packets[packets.len() - 1].clone();
    packets.push(Tcp::new(end.time_us + 1, true, end.ack, 100, ACK | FIN, 0));
    packets.push(Tcp::new(end.time_us + 20_001, false, 100, end.ack.wrapping_add(1), ACK, 0));
    let explained = explain(pcap(false, false, 1, 65_535, &plain(&packets)));
    assert!(explained.connections[0].cannot.is_empty(), "{:?}", explained.connections[0].cannot);
}

#[test]
fn packets_that_the_capture_dropped_are_named_and_counted() {
    let mut packets = small();
    let dropped = packets.iter().position(|packet| packet.len > 0 && packet.time_us > 60_000).unwrap();
    packets.remove(dropped);
    let explained = explain(pcap(false, false, 1, 65_535, &plain(&packets)));
    let cannot = &explained.connections[0].cannot;
    assert!(cannot.iter().any(|line| line.starts_with("1000 bytes were acknowledged")), "{cannot:?}");
}

#[test]
fn a_capture_from_the_middle_of_a_connection_says_what_it_inferred() {
    let packets: Vec<Tcp> =
        small().into_iter().filter(|packet| packet.flags & (SYN | PSH) == 0).skip(1).collect();
    let explained = explain(pcap(false, false, 1, 65_535, &plain(&packets)));
    let connection = &explained.connections[0];
    assert!(!connection.handshake.seen);
    assert!(connection.cannot[0].contains("inferred"), "{:?}", connection.cannot);
    assert_eq!(connection.bytes, 20_000);
}
