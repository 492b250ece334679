//! Simulated flows whose algorithm is known, as captures.

use crate::simulate::{At, pcap};
use cwnd_identify::{Identified, identify};
use std::io::Cursor;

/// A flow alone on 20 Mbps with an RTT of 40 ms and a buffer of one BDP, 66 segments, for 20 s.
fn scenario(flow: &str) -> String {
    format!(
        "duration = '20 s'\nsamples = 'off'\nseed = 1\n[dumbbell]\nrate = '20 Mbps'\nrtt = '40 ms'\nbuffer = '1 BDP'\n[[flows]]\n{flow}\n"
    )
}

fn of(flow: &str, at: At) -> Identified {
    let bytes = pcap(&scenario(flow), at, 100_000);
    let found = identify(Box::new(Cursor::new(bytes))).expect("a capture");
    found.connections.first().expect("one connection").clone()
}

fn names(found: &Identified) -> Vec<&str> {
    found.class.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn cubic_bbr_and_westwood_are_found_alone() {
    for name in ["cubic", "bbr", "westwood"] {
        let found = of(&format!("cca = '{name}'"), At::Sender);
        assert_eq!(names(&found).first(), Some(&name), "{found:?}");
        assert!(names(&found).len() <= 2 && found.confidence > 0.5, "{found:?}");
    }
}

#[test]
fn vegas_is_in_one_class_with_its_successor_and_apart_from_those_that_fill_the_queue() {
    let found = of("cca = 'vegas'", At::Sender);
    let class = names(&found);
    assert!(class.contains(&"vegas") && class.contains(&"newvegas"), "{found:?}");
    assert!(!class.contains(&"reno") && !class.contains(&"cubic"), "{found:?}");
}

#[test]
fn the_kernels_cubic_is_cubic() {
    let found = of("cca = { name = 'cubic', variant = 'linux', slow_start = 'hystart' }", At::Sender);
    assert_eq!(names(&found), ["cubic"]);
}

#[test]
fn reno_is_in_one_class_with_those_that_are_reno_at_this_window() {
    let found = of("cca = 'reno'", At::Sender);
    assert!(names(&found).contains(&"reno") && !names(&found).contains(&"cubic"), "{found:?}");
    // Fast Start differs from Reno in the initial window after a pause alone.
    assert!(names(&found).contains(&"fast-start"), "{found:?}");
}

#[test]
fn a_capture_at_the_receiver_is_read_by_its_timestamps() {
    let found = of("cca = 'cubic'", At::Receiver);
    assert_eq!(found.place, cwnd_evidence::Place::Receiver);
    assert_eq!(names(&found).first(), Some(&"cubic"), "{found:?}");
}

#[test]
fn an_application_below_the_window_leaves_the_algorithm_unknown() {
    let found = of("cca = 'cubic'\napp_rate = '2 Mbps'", At::Sender);
    assert!(found.class.is_empty() && found.confidence == 0.0, "{found:?}");
    assert!(found.why.is_some_and(|why| why.contains("application")));
}

/// `cc.h` allows RTTs below 2^31 us.
#[test]
fn an_rtt_of_36_minutes_is_the_longest_that_candidates_see() {
    let text = "duration = '1440 min'\nsamples = 'off'\n[[chain]]\nrate = '2 kbps'\ndelay = '18 min'\nbuffer = 100\n\
                [[flows]]\ncca = 'cubic'\nstack = { initial_rto = '60 min', max_rto = '60 min' }\n";
    let found = identify(Box::new(Cursor::new(pcap(text, At::Sender, 100_000)))).expect("a capture");
    assert!(!found.connections[0].class.is_empty(), "{found:?}");
}
