//! Damaged and hostile captures: an answer, or one line.

use crate::any;
use crate::write::{Path, Tcp, ethernet, explain, pcap, pcapng, plain, windowed};
use proptest::prelude::*;

fn small() -> Vec<Tcp> {
    windowed(&Path { rtt_us: 20_000, window: 3, rounds: 3, lost: Some(1) })
}

#[test]
fn captures_that_are_cut_at_any_byte_give_an_answer_or_a_line() {
    let path = Path { rtt_us: 20_000, window: 2, rounds: 2, lost: None };
    let packets: Vec<Tcp> =
        windowed(&path).into_iter().map(|packet| Tcp { len: packet.len.min(20), ..packet }).collect();
    for file in [pcap(false, false, 1, 65_535, &plain(&packets)), pcapng(&packets)] {
        for end in 0..file.len() {
            any::explain(&file[..end]).unwrap_or_else(|why| panic!("cut at {end}: {why}"));
        }
    }
}

#[test]
fn a_cut_capture_says_so() {
    let file = pcap(false, false, 1, 65_535, &plain(&small()));
    let explained = explain(file[..file.len() - 1].to_vec());
    assert_eq!(explained.notes, ["the capture ends within a packet; the answer is about what stands before"]);
}

#[test]
fn a_length_that_cannot_be_ends_the_capture_without_its_memory() {
    let mut file = pcap(false, false, 1, 65_535, &plain(&small()));
    file[32..36].fill(0xff);
    let explained = explain(file);
    assert!(explained.notes[0].starts_with("a damaged record"), "{:?}", explained.notes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert_eq!(any::explain(&bytes), Ok(()));
    }

    #[test]
    fn any_packets(packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..90), 0..20), link in 0u32..300) {
        let packets: Vec<_> = packets.into_iter().enumerate().map(|(at, data)| (at as u64 * 1000, data)).collect();
        prop_assert_eq!(any::explain(&pcap(false, true, link, 65_535, &packets)), Ok(()));
    }

    #[test]
    fn any_segments(
        segments in proptest::collection::vec(
            (0u64..1 << 34, any::<bool>(), any::<u32>(), any::<u32>(), any::<u8>(), 0usize..3000, proptest::collection::vec(any::<u8>(), 0..40)),
            0..60,
        ),
        near in any::<bool>(),
    ) {
        let mask = if near { 0x1fff } else { u32::MAX };
        let packets: Vec<_> = segments
            .into_iter()
            .map(|(time_us, up, seq, ack, flags, len, options)| {
                let segment = Tcp { options, ..Tcp::new(time_us, up, seq & mask, ack & mask, flags, len) };
                (time_us * 1000, ethernet(&[8, 0], &segment.v4(0)))
            })
            .collect();
        prop_assert_eq!(any::explain(&pcap(false, true, 1, 100, &packets)), Ok(()));
    }

    #[test]
    fn any_byte_changed(at in 0usize..2000, value in any::<u8>(), ng in any::<bool>()) {
        let mut file = if ng { pcapng(&small()) } else { pcap(true, false, 1, 100, &plain(&small())) };
        let at = at % file.len();
        file[at] = value;
        prop_assert_eq!(any::explain(&file), Ok(()));
    }
}
