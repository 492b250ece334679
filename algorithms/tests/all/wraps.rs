//! Counts of segments that a kernel has modulo 2^32.

use cwnd_algorithms::{Ack, Algorithm, CWND_LIMITED, Driver, Lowering, Params, Window, all};

/// Segments that the path holds without a queue, and with a full one.
const PIPE: u32 = 20;
const FULL: u32 = 40;
const RTT_US: u32 = 100_000;

/// An algorithm on a path of 200 segments a second, with an ACK for each: the windows of 400 round trips. The counts begin at
/// `from`, as `counted` has them.
fn windows(algorithm: &Algorithm, params: &Params, from: u64, counted: fn(u64) -> u64) -> Vec<u32> {
    let at = |segments: u64| counted(from + segments);
    let window = Window { cwnd_clamp: 1000, ..Window::new(10) };
    let ack = Ack {
        now_us: 1_000_000,
        delivered: at(0),
        delivered_ce: at(0),
        lost_total: at(0),
        mss: 1448,
        snd_wnd: u32::MAX,
        flags: CWND_LIMITED,
        ..Ack::default()
    };
    let mut driver = Driver::new(algorithm.build(params), window, ack);
    driver.start();
    let (mut delivered, mut marked, mut lost) = (0, 0, 0);
    let mut windows = Vec::new();
    for _ in 0..400 {
        let sent = driver.window.cwnd.min(2 * FULL);
        let began = delivered;
        let rtt_us = RTT_US * sent.max(PIPE) / PIPE;
        let marks = sent > PIPE + 10;
        for _ in 0..sent {
            delivered += 1;
            marked += u64::from(marks);
            let ack = &mut driver.ack;
            ack.now_us += u64::from(rtt_us / sent);
            ack.chance = ack.now_us as u32;
            (ack.acked, ack.ce, ack.lost) = (1, u32::from(marks), 0);
            (ack.delivered, ack.delivered_ce) = (at(delivered), at(marked));
            (ack.prior_in_flight, ack.in_flight) = (sent, sent - 1);
            (ack.rtt_us, ack.srtt_us, ack.min_rtt_us) = (rtt_us, rtt_us, RTT_US);
            ack.owd_us = rtt_us - RTT_US / 2;
            (ack.rate_prior_delivered, ack.rate_delivered) = (at(began), sent);
            (ack.rate_interval_us, ack.rate_in_flight) = (rtt_us, sent);
            driver.on_ack();
        }
        if sent > FULL {
            lost += u64::from(sent - FULL);
            driver.ack.lost_total = at(lost);
            driver.ack.lost = sent - FULL;
            if driver.controls_window() {
                driver.on_segment_lost(sent, sent - FULL, false);
            }
            driver.on_loss(Lowering::ToSsthresh);
            driver.on_recovered(driver.window.ssthresh.min(driver.window.cwnd));
        }
        windows.push(driver.window.cwnd);
    }
    windows
}

/// The default, and each named value of a parameter.
fn builds(algorithm: &Algorithm) -> Vec<(String, Params)> {
    let mut builds = vec![("default".to_owned(), algorithm.defaults())];
    for param in algorithm.params.iter().filter(|param| !param.is_number()) {
        for choice in &param.choices {
            let mut params = algorithm.defaults();
            if algorithm.set(&mut params, param.name, choice).is_ok() {
                builds.push((format!("{} = {choice}", param.name), params));
            }
        }
    }
    builds
}

#[test]
fn counts_that_wrap_at_32_bits_change_no_window() {
    let mut built = 0;
    for algorithm in all() {
        for (name, params) in builds(&algorithm) {
            let expected = windows(&algorithm, &params, 1 << 20, |count| count);
            let wrapped = windows(&algorithm, &params, (1 << 32) - 2000, |count| count & 0xffff_ffff);
            assert_eq!(wrapped, expected, "{} with {name}", algorithm.name);
            built += 1;
        }
    }
    assert!(built > 60, "{built} builds");
}
