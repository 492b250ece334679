//! Losses and marks of packets that a scenario names, calculated by hand on the path of `common/one_link.rs`.

use crate::common::one_link::{RTT_US, Setup, losses};
use crate::common::{Hook, answer, read, times_us, watch};
use cwnd_engine::{Control, net};
use cwnd_results::Run;

/// A datagram each millisecond, from 0 on, over a link that takes as long for one.
fn datagrams(link: &str) -> String {
    let setup = Setup {
        link: Box::leak(link.to_owned().into_boxed_str()),
        flow: "app_rate = '7472 kbps'\n".to_owned(),
        ..Setup::new("'udp'", "100", "header = 66")
    };
    setup.toml(1_000_000)
}

/// Errors of the wire, drops of the queue, marks, and deliveries of the only link.
fn counts(run: &Run) -> [u64; 4] {
    let link = &run.links[0];
    [link.error_pkts, link.dropped_pkts, link.marked_pkts, link.delivered_pkts]
}

#[test]
fn packets_are_lost_by_number_and_are_errors_of_the_wire_and_not_drops_of_the_queue() {
    let without = answer(&datagrams(""));
    let with = answer(&datagrams("losses = [[201, 204], 300, 999999]"));
    let [errors, drops, _, delivered] = counts(&with);
    assert_eq!((errors, drops, delivered), (5, 0, without.links[0].delivered_pkts - 5));
    assert_eq!(with.flows[0].lost_pkts, 5);
}

/// A packet belongs to the span in which its last bit is sent: that of datagram k at k + 1 ms.
#[test]
fn a_black_hole_loses_what_is_sent_in_its_span() {
    for (span, lost) in
        [("['100 ms', '150 ms']", 50), ("['100.1 ms', '150 ms']", 49), ("['100 ms', '150.1 ms']", 51)]
    {
        assert_eq!(counts(&answer(&datagrams(&format!("losses = [{span}]"))))[..2], [lost, 0], "{span}");
    }
}

/// Segments 0 to 19 leave at 0, an ACK for each comes from 21.066 ms on. Packet 5, segment 4, is lost: its repair is sent at the
/// third duplicate ACK without SACK, when 23.066 + 4 + 1 ms = 28.066 ms have passed (the ACKs of 5, 6 and 7).
#[test]
fn a_lost_packet_is_repaired_as_one_that_a_queue_dropped() {
    let cca = "{ name = 'then-reno', window = 20 }";
    let setup = Setup { link: "losses = [5]", ..Setup::new(cca, "100", "recovery = 'newreno'") };
    let (run, seen) = watch(&setup.toml(200_000));
    let third_duplicate_us = RTT_US + 7000;
    assert_eq!(times_us(&seen, Hook::Loss), [third_duplicate_us]);
    assert_eq!((run.flows[0].lost_pkts, run.flows[0].retransmitted_pkts, run.flows[0].timeouts), (1, 1, 0));
    assert_eq!(counts(&run)[..2], [1, 0]);
}

/// Retransmissions have numbers, too: the sender had sent 20 and 4 for the ACKs of segments 0 to 3, and 2 by limited transmit.
#[test]
fn a_number_may_be_that_of_a_retransmission() {
    let cca = "{ name = 'then-reno', window = 20 }";
    let setup = Setup { link: "losses = [5, 27]", ..Setup::new(cca, "100", "recovery = 'newreno'") };
    let run = answer(&setup.toml(2_000_000));
    assert_eq!((run.flows[0].lost_pkts, run.flows[0].retransmitted_pkts >= 2), (2, true));
    assert_eq!(run.flows[0].timeouts, 1);
}

#[test]
fn a_mark_cuts_a_window_once_and_is_of_ecn_capable_packets_alone() {
    let marked = |ecn: &str, link: &'static str| {
        let stack = format!("ecn = {ecn}");
        let cca = "{ name = 'then-reno', window = 20 }";
        watch(&Setup { link, ..Setup::new(cca, "100", stack) }.toml(200_000))
    };
    // Packet 3 is at the receiver at 13 ms, and its ACK, with the echo, at the sender 10.066 ms later.
    let (run, seen) = marked("true", "marks = [3]");
    assert_eq!(
        (times_us(&seen, Hook::Loss), counts(&run)[..3].to_vec()),
        (vec![RTT_US + 2000], vec![0, 0, 1])
    );
    // Three marks in one window are one cut.
    let (run, seen) = marked("true", "marks = [[3, 5]]");
    assert_eq!((losses(&seen), run.links[0].marked_pkts, run.flows[0].marked_pkts), (1, 3, 3));
    let (run, seen) = marked("false", "marks = [[3, 5]]");
    assert_eq!((losses(&seen), run.links[0].marked_pkts), (0, 0));
    // The wire loses packet 4: it has no mark.
    let (run, _) = marked("true", "marks = [[3, 5]]\nlosses = [4]");
    assert_eq!(counts(&run)[..3], [1, 0, 2]);
}

/// A queue of 10 drops 10 of 20 packets at once: number 11 is the first that is sent for an ACK.
#[test]
fn numbers_count_what_the_queue_has_not_dropped() {
    let cca = "{ name = 'overshoot', window = 20, after_loss = 20 }";
    let lost = |link: &'static str| {
        let run = answer(&Setup { link, ..Setup::new(cca, "10", "") }.toml(RTT_US + 1500));
        (run.links[0].dropped_pkts, run.links[0].error_pkts)
    };
    assert_eq!((lost("losses = [10]"), lost("losses = [11]")), ((10, 1), (10, 1)));
    assert_eq!(lost("losses = [[13, 20]]"), (10, 0));
}

#[test]
fn a_way_back_loses_the_acks_that_it_names() {
    let text = "duration = '1 s'\n[dumbbell]\nrate = '8 Mbps'\ndelay = '10 ms'\nbuffer = 100\n\
                reverse = { rate = '8 Mbps', losses = [[1, 3], ['500 ms', '510 ms']] }\n[[flows]]\ncca = 'reno'\n";
    let run = answer(text);
    let back = run.links.iter().find(|link| link.link == "reverse").expect("a way back");
    let wires: u64 = run.links.iter().map(|link| link.error_pkts).sum();
    assert!(back.error_pkts > 3 && back.dropped_pkts == 0 && wires == back.error_pkts, "{run:?}");
    let scenario = read(text);
    let plainly = net::run(&scenario, 1, &|_| None, &Control::default()).expect("nobody stops it");
    assert_eq!(format!("{plainly:?}"), format!("{run:?}"));
}
