//! Reports of losses to algorithms with `cong_control`, by hand calculation.

use crate::common;
use crate::common::{Hook, watch};

/// Twenty segments leave at once, of which the link holds ten. A window of 20, whatever happens.
fn ten_of_twenty(stack: &str) -> Vec<common::Seen> {
    let (_, seen) = watch(&format!(
        "duration = '1 s'\n[[chain]]\nrate = '12 Mbps'\ndelay = '50 ms'\nbuffer = 10\n[[flows]]\n\
         cca = {{ name = 'paced', window = 20, rate = 0 }}\npacket = '1434 bytes'\nstack = {{ {stack} }}"
    ));
    seen
}

#[test]
fn each_lost_segment_reports_what_was_in_flight_when_it_was_sent_and_lost_since() {
    let seen = ten_of_twenty("ack_every = 1, sack_delay = '0 s'");
    let losses = seen.iter().filter(|seen| seen.hook == Hook::SegmentLost);
    let found: Vec<_> =
        losses.map(|seen| (seen.ack.rate_in_flight, seen.ack.rate_lost, seen.ack.lost_total)).collect();
    // Segments 10 to 19 found no room; segment k was the (k + 1)th in flight. The first SACK shows them all: that
    // segment was sent a round trip later.
    let expected: Vec<_> = (1..=10).map(|lost| (10 + lost, lost, 10)).collect();
    assert_eq!(found[..10], expected);
    // Eleven leave at once then, and the last of them, a new one, finds no room; nor does the next one, at the instant at which
    // the first leaves the link.
    assert_eq!(found[10..], [(20, 1, 12), (20, 2, 12)]);
}

#[test]
fn an_ack_reports_what_was_in_flight_when_its_segment_was_sent_and_lost_since() {
    let seen = ten_of_twenty("ack_every = 1, sack_delay = '0 s'");
    let acks: Vec<_> = seen.iter().filter(|seen| seen.hook == Hook::Control).map(|seen| seen.ack).collect();
    let first: Vec<_> = acks[..10].iter().map(|ack| (ack.rate_in_flight, ack.rate_lost)).collect();
    assert_eq!(first, (1..=10).map(|sent| (sent, 0)).collect::<Vec<_>>());
    // The ACKs of the first ten let a segment out each; the first of these shows the losses.
    let second: Vec<_> = acks[10..20].iter().map(|ack| (ack.rate_in_flight, ack.rate_lost)).collect();
    assert_eq!(second[..3], [(20, 10); 3]);
    // With nine in flight, ten retransmissions follow.
    let third: Vec<_> = acks[20..30].iter().map(|ack| (ack.rate_in_flight, ack.rate_lost)).collect();
    assert_eq!(third, (10..=19).map(|sent| (sent, 0)).collect::<Vec<_>>());
}

#[test]
fn a_timeout_marks_all_that_is_in_flight_as_lost_one_by_one() {
    // All of the first window but one segment is lost in an outage.
    let (_, seen) = watch(
        "duration = '3 s'\n[[chain]]\nrate = { steps = [['0 s', '12 Mbps'], ['1 ms', '0 bps'], ['2 s', '12 Mbps']] }\n\
         delay = '50 ms'\nbuffer = 1\n[[flows]]\ncca = { name = 'paced', window = 8, rate = 0 }\n\
         packet = '1434 bytes'\nstack = { ack_every = 1 }",
    );
    let timeout = seen.iter().position(|seen| matches!(seen.hook, Hook::Event(_)) && seen.ack.lost_total > 0);
    let before = &seen[..timeout.expect("nothing else repairs it")];
    let losses: Vec<_> = before
        .iter()
        .filter(|seen| seen.hook == Hook::SegmentLost)
        .map(|seen| (seen.ack.rate_in_flight, seen.ack.rate_lost))
        .collect();
    assert!(!losses.is_empty() && losses.len() as u64 == seen[timeout.unwrap()].ack.lost_total, "{losses:?}");
    assert!(losses.windows(2).all(|pair| pair[1].1 > pair[0].1 || pair[1].0 <= 8), "{losses:?}");
}
