//! The files of `scenarios/` are what their first lines promise.

use cwnd_scenario::{Samples, Scenario, Sweep, Trace};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn load(name: &str) -> Scenario {
    let text = fs::read_to_string(folder().join(name)).unwrap();
    Scenario::from_toml(&text, name, &[]).unwrap()
}

#[test]
fn every_file_loads_and_says_what_it_shows() {
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} begins with a comment", path.display());
        let files = |name: &str| fs::read_to_string(folder().join(name));
        let path = path.to_str().unwrap();
        let sweep = Sweep::from_toml_while(&text, path, &[], &files, &mut || true).unwrap();
        assert_eq!(sweep.name, Path::new(path).file_stem().unwrap().to_str().unwrap());
        count += 1;
    }
    assert!(count >= 5);
}

#[test]
fn the_single_elastic_flow_has_equal_queues_and_a_round_trip_of_204_ms() {
    let s = load("elastic-single.toml");
    assert_eq!((s.flows.len(), s.duration_ns, s.samples), (1, 100_000_000_000, Samples::Change));
    assert!(s.links.iter().all(|link| link.rate_bps == 1_000_000_000 && link.buffer_pkts == Some(6400)));
    assert_eq!(s.flows[0].packet_bytes(), 1050);
    // 2 * (1 + 100 + 1) ms, three sendings of 1050 bytes (8400 ns) and three of 50 (400 ns).
    assert_eq!(s.rtt_ns(0), 204_000_000 + 3 * 8400 + 3 * 320);
    assert!((s.bdp_pkts(0) - 24285.714).abs() < 0.001);
}

#[test]
fn the_sequential_elastic_flows_leave_last_in_first_out() {
    let s = load("elastic-sequential.toml");
    let times: Vec<_> =
        s.flows.iter().map(|f| (f.start_ns / 1_000_000_000, f.stop_ns / 1_000_000_000)).collect();
    assert_eq!(times, [(0, 100), (5, 95), (10, 90), (15, 85)]);
}

#[test]
fn the_synchronous_elastic_flows_have_access_queues_of_128() {
    let s = load("elastic-synchronous.toml");
    assert_eq!(s.flows.len(), 4);
    assert_eq!(s.links[0].buffer_pkts, Some(128));
    assert_eq!(s.links[4].buffer_pkts, Some(3200));
}

#[test]
fn the_reference_is_four_cubic_flows_through_5000_packets() {
    let s = load("reference.toml");
    assert!(s.flows.len() == 4 && s.flows.iter().all(|f| f.cca.name == "cubic" && f.stack.profile == "ns2"));
    assert_eq!(
        s.links.iter().map(|l| l.buffer_pkts.unwrap()).collect::<Vec<_>>(),
        [50, 50, 50, 50, 5000, 50, 50, 50, 50]
    );
}

#[test]
fn the_home_has_20_ms_and_a_buffer_of_one_bdp() {
    let s = load("home.toml");
    assert_eq!(s.flows.iter().map(|f| f.cca.name.as_str()).collect::<Vec<_>>(), ["cubic", "reno"]);
    // 100 Mbps * 20 ms = 250000 bytes = 165.1 packets of 1514 bytes.
    assert_eq!(s.bottleneck(0).buffer_pkts, Some(165));
}

#[test]
fn the_traces_offer_what_their_script_promises() {
    let trace = |name: &str| {
        let text = fs::read_to_string(folder().join("traces").join(name)).unwrap();
        Trace::opportunities(&text).unwrap()
    };
    let mbps = |opportunities: &[u32], scale: f64| {
        opportunities.len() as f64 * 12e3 * scale / (f64::from(opportunities[opportunities.len() - 1]) * 1e3)
    };
    let longest_gap_ms = |at: &[u32]| at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    let cellular = trace("cellular.trace");
    assert!((0.5..8.0).contains(&mbps(&cellular, 1.0)) && longest_gap_ms(&cellular) < 50);
    let satellite = trace("satellite.trace");
    assert!((40.0..160.0).contains(&mbps(&satellite, 80.0)));
    // At each change of the satellite nothing is sent for 50 ms.
    for change_ms in [15_000, 30_000, 45_000] {
        assert!(!satellite.iter().any(|ms| (change_ms..change_ms + 50).contains(ms)));
    }
    let millimetre = trace("millimetre.trace");
    assert!((200.0..600.0).contains(&mbps(&millimetre, 150.0)));
    assert!((100..=1000).contains(&longest_gap_ms(&millimetre)));
}
