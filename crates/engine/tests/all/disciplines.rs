//! Queue disciplines against their papers and RFCs: curves, control laws and couplings, by hand.

use crate::common::{answer, read};
use cwnd_engine::Codepoint;
use cwnd_engine::net::{Discipline, Queued};
use cwnd_engine::parts::named;

fn queue(queue: &str) -> Box<dyn Discipline> {
    limited(10_000, queue)
}

fn limited(buffer: impl std::fmt::Display, queue: &str) -> Box<dyn Discipline> {
    let text = format!(
        "duration = '8 s'\n[[chain]]\nrate = '50 Mbps'\ndelay = '0 s'\nbuffer = {buffer}\nqueue = {queue}\n\
         [[flows]]\ncca = 'reno'"
    );
    named(&read(&text), 0, 1).unwrap()
}

fn packet(now_ns: u64, place: u32, codepoint: Codepoint) -> Queued {
    Queued::new(place % 2, 1500, codepoint, now_ns)
}

/// The share of 10⁵ arrivals that find `held` packets and are dropped, after so many that the average is as long.
fn red_drops(queue: &mut dyn Discipline, held: u64) -> f64 {
    let mut dropped = Vec::new();
    let mut number = 0;
    for arrivals in [30_000, 100_000] {
        dropped.clear();
        for _ in 0..arrivals {
            while queue.waiting_pkts() > held {
                queue.dequeue(u64::from(number), &mut dropped);
            }
            queue.enqueue(
                number.into(),
                packet(number.into(), number, Codepoint::NotEct),
                true,
                &mut dropped,
            );
            number += 1;
        }
    }
    dropped.len() as f64 / 100_000.0
}

/// Between drops lie whole numbers of arrivals, each as likely: in Linux 1 to 1/p, so that the share is 2p / (1 + p). The
/// pseudocode of Floyd and Jacobson counts the first arrival after a drop as 1, so that they end at 1/p - 1 and the share
/// is 2p; their text (section 4) and Linux count it as 0.
#[test]
fn red_drops_by_its_curve() {
    let red = |rest: &str| {
        format!("{{ discipline = 'red', min = 40, max = 120, probability = 0.1, weight = 0.002, {rest} }}")
    };
    for (held, part) in [(39, 0.0), (60, 0.25), (80, 0.5), (100, 0.75), (119, 79.0 / 80.0)] {
        let p = 0.1 * part;
        for (variant, expected) in [("spec", 2.0 * p), ("linux", 2.0 * p / (1.0 + p))] {
            let drops = red_drops(&mut *queue(&red(&format!("variant = '{variant}'"))), held);
            // Some thousand drops: three standard deviations are 3 %.
            assert!((drops - expected).abs() <= 0.03 * expected, "{variant}, {held}: {drops} for {expected}");
        }
    }
    // Gently above max the share grows from 0.1 to 1 at twice max; otherwise all goes at once.
    let drops = |gentle, held| red_drops(&mut *queue(&red(&format!("gentle = {gentle}"))), held);
    // p is 0.55: the next arrival goes with 0.55, or else the one after it with 1: 1.45 arrivals on average.
    let count_1 = 0.55 / (1.0 - 0.55_f64);
    assert!(count_1 > 1.0, "so the pseudocode drops each");
    assert_eq!([drops(true, 180), drops(true, 241), drops(false, 121)], [1.0; 3]);
    let share = drops(true, 132);
    // p is 0.19: distances 1 to 5, the last what is left.
    let mut left = 1.0;
    let mut mean = 0.0;
    for count in 1..=6 {
        let hits = (0.19 / (1.0 - f64::from(count) * 0.19)).clamp(0.0, 1.0);
        let hits = if f64::from(count) * 0.19 >= 1.0 { 1.0 } else { hits };
        mean += f64::from(count) * left * hits;
        left *= 1.0 - hits;
    }
    assert!((share * mean - 1.0).abs() < 0.03, "{share} for {}", 1.0 / mean);
}

/// Full packets have 1514 bytes: 8 of them are as long as 202 of 60 bytes, 20 as 504. With a weight of 1 the average is the
/// present queue, and all arrivals are dropped from max on; with the least the average stays below min, and the buffer alone
/// limits.
#[test]
fn linuxs_red_counts_bytes_and_takes_packets_for_full_ones() {
    let held = |variant: &str, weight: f64| {
        let mut queue = limited(
            20,
            &format!(
                "{{ discipline = 'red', variant = '{variant}', gentle = false, min = 7, max = 8, probability = 1e-9, weight = {weight} }}"
            ),
        );
        let mut dropped = Vec::new();
        while dropped.is_empty() {
            queue.enqueue(0, Queued::new(0, 60, Codepoint::NotEct, 0), true, &mut dropped);
        }
        queue.waiting_pkts()
    };
    assert_eq!([held("spec", 1.0), held("spec", 1e-9)], [8, 20]);
    assert_eq!([held("linux", 1.0), held("linux", 1e-9)], [202, 504]);
}

/// The average grows to the full queue with arrivals that find no room, until even one that finds room is dropped. The first
/// arrivals that fill the queue make it 0.4 packets.
#[test]
fn red_counts_arrivals_that_find_no_room() {
    for buffer in ["10", "'15000 bytes'"] {
        for variant in ["spec", "linux"] {
            let red = format!(
                "{{ discipline = 'red', variant = '{variant}', gentle = false, min = 2, max = 3, weight = 0.01 }}"
            );
            let mut queue = limited(buffer, &red);
            let mut dropped = Vec::new();
            let mut arrive = |queue: &mut dyn Discipline| {
                queue.enqueue(0, packet(0, 0, Codepoint::NotEct), true, &mut dropped);
            };
            (0..200).for_each(|_| arrive(&mut *queue));
            queue.dequeue(0, &mut Vec::new());
            arrive(&mut *queue);
            assert_eq!(queue.waiting_pkts(), 9, "{buffer}, {variant}");
        }
    }
}

/// 55 Mbps of datagrams into 50: 1/11 must go, so p is 1/21 and the average 122 kB; Linux had 82.2 packets.
#[test]
fn red_holds_the_queue_at_which_it_drops_what_is_too_much() {
    let run = answer(
        "duration = '20 s'\nwarmup = '8 s'\nsamples = 'off'\n[[chain]]\nrate = '50 Mbps'\ndelay = '1 ms'\nbuffer = 1000\n\
         queue = { discipline = 'red', variant = 'linux', min = '62500 bytes', max = '187500 bytes', probability = 0.1, burst = 69 }\n\
         [[flows]]\ncca = 'udp'\napp_rate = '52.58 Mbps'\npacket = '1434 bytes'\n",
    );
    let link = &run.links[0];
    let waiting_pkts = link.mean_queue_pkts - 1.0;
    assert!((waiting_pkts / 81.3 - 1.0).abs() < 0.02, "{waiting_pkts}");
    let dropped = link.dropped_pkts as f64 / (link.dropped_pkts + link.delivered_pkts) as f64;
    assert!((dropped - 1.0 / 11.0).abs() < 0.002, "{dropped}");
}

/// 55 Mbps of datagrams into 50: p solves 1 / (⌈0.85 / p⌉ - 1 + 1 / p) = 1/11, which is 0.163, and the delay is the target. At
/// the p of Linux, 0.157, the formula gives 8.8 %; Linux dropped 8.9 % and had 13.9 ms and 58 packets.
#[test]
fn pie_holds_the_delay_at_its_target_under_a_steady_overload() {
    for variant in ["spec", "linux"] {
        let run = answer(&format!(
            "duration = '60 s'\nwarmup = '10 s'\nsamples = 'off'\n[[chain]]\nrate = '50 Mbps'\ndelay = '1 ms'\nbuffer = 1000\n\
             queue = {{ discipline = 'pie', variant = '{variant}' }}\n\
             [[flows]]\ncca = 'udp'\napp_rate = '52.58 Mbps'\npacket = '1434 bytes'\n"
        ));
        let link = &run.links[0];
        let dropped = link.dropped_pkts as f64 / (link.dropped_pkts + link.delivered_pkts) as f64;
        assert!((dropped - 1.0 / 11.0).abs() < 0.002, "{variant}: {dropped}");
        let delay_ms = (link.mean_queue_pkts - 1.0) * 0.24;
        assert!((12.0..17.0).contains(&delay_ms), "{variant}: {delay_ms}");
    }
}
