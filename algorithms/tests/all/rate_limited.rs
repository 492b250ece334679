//! The rule of draft-ietf-ccwg-ratelimited-increase-10 for a window that is not used, in segments.

use cwnd_algorithms::{Ack, CWND_LIMITED, Driver, Instance, Lowering, Window, find};

fn driver(algorithm: &str, window: Window, limits: bool) -> Driver<Instance> {
    let algorithm = find(algorithm).unwrap();
    let ack = Ack { mss: 1000, snd_wnd: u32::MAX, flags: CWND_LIMITED, ..Ack::default() };
    let mut driver = Driver::new(algorithm.build(&algorithm.defaults()), window, ack);
    if limits {
        driver.limit_increase();
        // The rule does not ask for this.
        driver.ack.flags = 0;
    }
    driver.start();
    driver
}

/// An ACK of one segment, before which `in_flight` were so, `us` after the last.
fn acknowledge(driver: &mut Driver<Instance>, in_flight: u32, us: u32) -> u32 {
    let ack = &mut driver.ack;
    ack.now_us += u64::from(us);
    ack.delivered += 1;
    (ack.acked, ack.prior_in_flight, ack.in_flight) = (1, in_flight, in_flight - 1);
    (ack.rtt_us, ack.srtt_us, ack.min_rtt_us) = (100_000, 100_000, 100_000);
    driver.on_ack();
    driver.window.cwnd
}

/// Sends as many segments, each of which is acknowledged alone, in 100 ms; returns the window after each ACK.
fn round(driver: &mut Driver<Instance>, segments: u32) -> Vec<u32> {
    (0..segments).map(|acked| acknowledge(driver, segments - acked, 100_000 / segments)).collect()
}

fn rounds(driver: &mut Driver<Instance>, count: u32, segments: u32) -> u32 {
    (0..count).for_each(|_| drop(round(driver, segments)));
    driver.window.cwnd
}

/// A window in congestion avoidance.
fn avoids(cwnd: u32) -> Window {
    Window { ssthresh: 10, ..Window::new(cwnd) }
}

/// Appendix of the draft: SMSS 1000, 36 packets in 4 rounds, each acknowledged alone.
#[test]
fn the_appendix_example_comes_out_to_the_last_segment() {
    let mut sender = driver("reno", Window::new(10), true);
    assert_eq!(round(&mut sender, 4), [11, 12, 13, 14]);
    assert_eq!(round(&mut sender, 8), [15, 16, 17, 18, 19, 20, 20, 20]);
    assert_eq!(round(&mut sender, 4), [20; 4]);
    assert_eq!(round(&mut sender, 20), (21..=40).collect::<Vec<_>>());
}

/// First example of the draft: 10 packets, a pause, 4 packets. Without the rule the window would be 24.
#[test]
fn a_pause_and_four_packets_leave_the_window_where_it_was() {
    for algorithm in ["reno", "cubic", "highspeed", "westwood"] {
        let mut sender = driver(algorithm, Window::new(10), true);
        assert_eq!((rounds(&mut sender, 1, 10), rounds(&mut sender, 1, 4)), (20, 20), "{algorithm}");
    }
}

/// The draft's equation would lower the window to 21; its text speaks of increases alone.
#[test]
fn a_window_above_the_limit_of_congestion_avoidance_stays() {
    let mut sender = driver("reno", Window::new(10), true);
    round(&mut sender, 20);
    assert_eq!(rounds(&mut sender, 1, 20), 40);
    // Slow start ends for the delay.
    sender.window.ssthresh = 40;
    (0..100).for_each(|_| assert_eq!(round(&mut sender, 10), [40; 10]));
    // It grows again where it is used.
    assert_eq!(rounds(&mut sender, 2, 40), 41);
}

#[test]
fn in_congestion_avoidance_reno_grows_to_a_segment_above_the_largest_flight() {
    let mut sender = driver("reno", avoids(20), true);
    assert_eq!(rounds(&mut sender, 100, 5), 21);
    round(&mut sender, 21);
    assert_eq!(rounds(&mut sender, 100, 5), 22);
}

/// CUBIC, a long time after its last loss, grows by at most half of the window in a round trip (RFC 9438, 4.2).
#[test]
fn in_congestion_avoidance_cubic_grows_by_no_more_than_its_law_in_a_round_trip() {
    let window = rounds(&mut driver("cubic", avoids(20), true), 2000, 5);
    assert!((21..=31).contains(&window), "{window}");
}

#[test]
fn after_a_reduction_the_next_flight_is_the_largest() {
    let mut sender = driver("reno", avoids(40), true);
    round(&mut sender, 40);
    sender.on_loss(Lowering::ToSsthresh);
    sender.on_recovered(28);
    assert_eq!(rounds(&mut sender, 100, 12), 28);
    assert_eq!(rounds(&mut sender, 100, 20), 28);
    assert_eq!(rounds(&mut sender, 2, 28), 29);
}

#[test]
fn a_reduction_that_is_undone_leaves_no_trace() {
    let mut sender = driver("reno", avoids(40), true);
    sender.on_loss(Lowering::ToSsthresh);
    sender.undo(10);
    assert_eq!(sender.window.cwnd, 40);
    assert_eq!(rounds(&mut sender, 20, 12), 41);
}

/// A window that is always full grows as without the rule, at every ACK.
#[test]
fn a_full_window_is_not_limited() {
    for algorithm in ["reno", "cubic", "highspeed", "scalable", "htcp", "illinois", "westwood", "bic"] {
        let windows = |limits: bool| {
            let mut sender = driver(algorithm, Window::new(10), limits);
            let mut all = Vec::new();
            for number in 0..60 {
                let acks = sender.window.cwnd;
                for _ in 0..acks {
                    // What an ACK lets out is in flight at the next.
                    let sent = sender.window.cwnd;
                    all.push(acknowledge(&mut sender, sent, 100_000 / acks));
                }
                if number == 4 || number == 30 {
                    sender.on_loss(Lowering::ToSsthresh);
                    sender.on_recovered(sender.window.ssthresh);
                }
            }
            all
        };
        assert_eq!(windows(true), windows(false), "{algorithm}");
    }
}

#[test]
fn an_algorithm_that_sets_its_own_window_is_not_limited() {
    let [mut limited, mut free] = [true, false].map(|limits| driver("bbr", Window::new(10), limits));
    (limited.ack.flags, free.ack.flags) = (0, 0);
    (0..10).for_each(|_| assert_eq!(round(&mut limited, 10), round(&mut free, 10)));
}
