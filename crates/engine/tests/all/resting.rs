//! Links that rest, and whose packets leave together, calculated by hand on the path of `common/one_link.rs`.

use crate::common::one_link::Setup;
use crate::common::{Hook, answer, times_us, watch};
use cwnd_results::{LinkResult, Run};

/// A datagram every 2 ms, from 0 on, each of which takes the link 1 ms, and 10 ms more to the far end.
fn datagrams(keys: &str, duration_us: u64) -> Run {
    let setup = Setup {
        link: Box::leak(keys.to_owned().into_boxed_str()),
        flow: "app_rate = '3736 kbps'\n".to_owned(),
        ..Setup::new("'udp'", "100", "header = 66")
    };
    answer(&setup.toml(duration_us))
}

fn link(keys: &str, duration_us: u64) -> LinkResult {
    datagrams(keys, duration_us).links.remove(0)
}

fn delivered(keys: &str, at_us: u64) -> u64 {
    link(keys, at_us).delivered_pkts
}

/// Datagrams 0 to 49 have been sent by 99 ms. Those of 100 to 148 ms wait, 25 of them, and that of 150 ms behind them.
#[test]
fn nothing_leaves_a_suspended_link_and_nothing_is_lost() {
    let keys = "suspension = [['100 ms', '150 ms']]";
    let at = [109_000, 160_999, 161_000, 162_000, 185_000];
    assert_eq!(at.map(|at_us| delivered(keys, at_us)), [50, 50, 51, 52, 75]);
    let all = link(keys, 400_000);
    assert_eq!((all.dropped_pkts, all.error_pkts, all.max_queue_pkts), (0, 0, 26));
    // The link is idle half the time, and could not have sent for 50 of 400 ms.
    assert_eq!(delivered(keys, 400_000), delivered("", 400_000));
    assert!((all.utilization - 200.0 / 350.0).abs() < 1e-9, "{all:?}");
}

#[test]
fn a_packet_that_is_being_sent_as_a_suspension_begins_goes_on_at_its_end() {
    let keys = "suspension = [['100.25 ms', '150 ms']]";
    assert_eq!([160_749, 160_750].map(|at_us| delivered(keys, at_us)), [50, 51]);
}

#[test]
fn a_queue_that_a_suspension_fills_drops() {
    let keys = "suspension = [['100 ms', '150 ms'], ['120 ms', '140 ms']]\nqueue = 'droptail'";
    let text = Setup {
        link: keys,
        flow: "app_rate = '3736 kbps'\n".to_owned(),
        ..Setup::new("'udp'", "10", "header = 66")
    };
    let run = answer(&text.toml(400_000));
    // Ten of those of 100 to 148 ms are held; as that of 150 ms arrives, the first of them only begins to be sent.
    assert_eq!((run.links[0].dropped_pkts, run.links[0].error_pkts, run.flows[0].lost_pkts), (16, 0, 16));
}

/// Turns come at 0, 10 and so on: datagram 0 leaves at once and alone, then 1 to 5, of 2 to 10 ms, and so on by fives.
#[test]
fn packets_of_a_turn_are_at_the_far_end_when_the_last_of_them_is_sent() {
    let keys = "aggregation = { every = '10 ms', most = 5 }";
    let at = [10_999, 11_000, 24_999, 25_000, 34_999, 35_000];
    assert_eq!(at.map(|at_us| delivered(keys, at_us)), [0, 1, 1, 6, 6, 11]);
    // Half of the time the link sends. Each waits 0, 2, 4, 6 or 8 ms, and a turn of five is one packet in the queue for 5 ms.
    let all = link(keys, 1_000_000);
    assert!((all.utilization - 0.496).abs() < 0.001, "{all:?}");
    assert!((all.mean_queue_pkts - (20.0 + 5.0) / 10.0).abs() < 0.02, "{all:?}");
}

/// With two in a turn of 10 ms, the others wait: 2 delivered in each.
#[test]
fn no_more_than_the_most_leave_in_a_turn() {
    let keys = "aggregation = { every = '10 ms', most = 2 }";
    let at = [21_999, 22_000, 32_000, 42_000];
    assert_eq!(at.map(|at_us| delivered(keys, at_us)), [1, 3, 5, 7]);
}

/// Turns of 3 ms have 2 packets or 1, 3 at 32: a turn that takes longer than the time between two misses the next.
#[test]
fn a_turn_that_takes_longer_than_the_time_between_two_misses_the_next() {
    // Suspended to 20 ms, 11 wait at 20 ms. The turns are at 21 (11 packets, to 32), then at 33.
    let keys = "aggregation = { every = '3 ms', most = 20 }\nsuspension = [['0 s', '20 ms']]";
    let at = [41_999, 42_000, 48_999, 49_000];
    // Those of 22 to 32 ms are 6: from 33 to 39 ms.
    assert_eq!(at.map(|at_us| delivered(keys, at_us)), [0, 11, 11, 17]);
}

#[test]
fn a_turn_within_a_suspension_does_not_come() {
    let keys = "aggregation = { every = '10 ms', most = 9 }\nsuspension = [['15 ms', '35 ms']]";
    // Those of 12 to 40 ms, 15 of them, wait for the turn at 40 ms, which has nine.
    let at = [25_000, 58_999, 59_000];
    assert_eq!(at.map(|at_us| delivered(keys, at_us)), [6, 6, 15]);
}

/// Twenty segments at 0: eight leave in each of the turns at 0, 10 and 20 ms. ACKs of a turn come as one train, 66 us apart or less.
#[test]
fn acks_of_a_turn_come_together() {
    let setup = Setup {
        link: "aggregation = { every = '10 ms', most = 8 }",
        ..Setup::new("{ name = 'fixed', window = 20 }", "100", "")
    };
    let (_, seen) = watch(&setup.toml(45_000));
    let acked = times_us(&seen, Hook::Acked);
    let in_turn = |from: u64, until: u64| acked.iter().filter(|at| (from..until).contains(at)).count();
    assert_eq!(
        (in_turn(0, 28_000), in_turn(28_000, 29_000), in_turn(29_000, 38_000)),
        (0, 8, 0),
        "{acked:?}"
    );
    assert_eq!((in_turn(38_000, 39_000), in_turn(39_000, 44_000)), (8, 0), "{acked:?}");
}
