//! Scenarios of many flows: what they take in memory and as JSON.

#![expect(unsafe_code, reason = "an allocator that counts")]

use cwnd_scenario::{Scenario, Sweep};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// One test at a time, so that each sees its own memory.
static TURN: Mutex<()> = Mutex::new(());

struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

const FLOWS: usize = 20_000;

fn many(keys: &str, flow: &str) -> String {
    format!(
        "samples = 'off'\n[dumbbell]\nrate = '100 Gbps'\ndelay = '20 ms'\nbuffer = 1000\n{keys}\n\
         [[flows]]\ncca = 'cubic'\ncount = {FLOWS}\n{flow}\n"
    )
}

fn read(text: &str) -> Scenario {
    Scenario::from_toml(text, "many.toml", &[]).unwrap()
}

fn json(scenario: &Scenario) -> String {
    serde_json::to_string(scenario).unwrap()
}

#[test]
fn a_flow_takes_less_than_half_a_kilobyte_with_its_link_and_twice_that_while_it_is_read() {
    let _turn = TURN.lock();
    let text = many("exit = false", "size = { distribution = 'web-search' }");
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let scenario = read(&text);
    let (held, peak) = (LIVE.load(Relaxed) - before, PEAK.load(Relaxed) - before);
    assert_eq!((scenario.flows.len(), scenario.links.len()), (FLOWS, FLOWS + 1));
    assert!(held < 512 * FLOWS, "{} bytes a flow", held / FLOWS);
    assert!(peak < 1024 * FLOWS, "{} bytes a flow", peak / FLOWS);
}

#[test]
fn flows_of_a_group_share_what_is_equal_but_a_custom_algorithm() {
    let _turn = TURN.lock();
    let text = many("", "size = '1 MB'");
    let scenario = read(&text);
    let (first, last) = (&scenario.flows[0], &scenario.flows[FLOWS - 1]);
    assert!(Arc::ptr_eq(&first.cca, &last.cca) && Arc::ptr_eq(&first.stack, &last.stack));
    assert!(Arc::ptr_eq(first.traffic.as_ref().unwrap(), last.traffic.as_ref().unwrap()));
    let scenario = Scenario::from_toml(&text, "many.toml", &["cubic"]).unwrap();
    assert!(!Arc::ptr_eq(&scenario.flows[0].cca, &scenario.flows[FLOWS - 1].cca));
}

#[test]
fn the_json_of_many_flows_is_short_and_gives_the_scenario_back() {
    let _turn = TURN.lock();
    let up = "reverse = { rate = '1 Gbps' }";
    for text in [
        many("", ""),
        many("exit = false", "stagger = '1 ms'\nstop_stagger = '10 us'\nstart_jitter = '5 ms'"),
        many(up, "[[flows]]\ncca = 'reno'\ndirection = 'up'\n[[flows]]\ncca = 'bbr'\ncount = 1500"),
        many("", "").replace("[dumbbell]", "[parking_lot]\nhops = 3"),
        "[[chain]]\nrate = '1 Gbps'\ndelay = '1 ms'\nbuffer = 10\n[[flows]]\ncca = 'vegas'\ncount = 2000"
            .to_owned(),
    ] {
        let scenario = read(&text);
        let written = json(&scenario);
        assert!(written.len() < 20_000, "{} bytes: {text}", written.len());
        let again: Scenario = serde_json::from_str(&written).unwrap();
        assert!(again == scenario, "{text}");
        assert!(Arc::ptr_eq(&again.flows[0].cca, &again.flows[1].cca));
    }
}

#[test]
fn a_run_is_written_as_its_first_row_its_length_and_its_step() {
    let _turn = TURN.lock();
    let scenario = read(&many("exit = false", "stagger = '1 ms'\n[[flows]]\ncca = 'reno'"));
    let written: serde_json::Value = serde_json::from_str(&json(&scenario)).unwrap();
    let (flows, links) = (&written["flows"], &written["links"]);
    assert_eq!(flows.as_array().unwrap().len(), 2);
    assert_eq!(flows[0]["count"], FLOWS);
    assert_eq!(flows[0]["step"].to_string(), r#"{"path":[1,0],"start_ns":1000000,"stop_ns":0}"#);
    assert_eq!(flows[0]["first"]["path"].to_string(), format!("[0,{}]", FLOWS + 1));
    assert_eq!(flows[1]["path"].to_string(), format!("[{FLOWS},{}]", FLOWS + 1));
    assert_eq!(links[0]["step"].to_string(), r#"{"name":1}"#);
    assert_eq!((&links[0]["count"], &links[0]["first"]["name"]), (&(FLOWS + 1).into(), &"access-0".into()));
    assert_eq!(links[1]["name"], "bottleneck");
}

#[test]
fn fewer_than_a_thousand_flows_are_written_one_by_one_and_equal_ones_are_shared_when_read() {
    let _turn = TURN.lock();
    for (count, entries) in [(999, 999), (1000, 1)] {
        let scenario = read(&many("", "").replace(&FLOWS.to_string(), &count.to_string()));
        let written: serde_json::Value = serde_json::from_str(&json(&scenario)).unwrap();
        assert_eq!(written["flows"].as_array().unwrap().len(), entries);
        let again: Scenario = serde_json::from_value(written).unwrap();
        assert!(again == scenario);
        assert!(Arc::ptr_eq(&again.flows[0].stack, &again.flows[count - 1].stack));
    }
}

#[test]
fn a_damaged_run_is_refused() {
    let _turn = TURN.lock();
    let written = json(&read(&many("", "")));
    let first = r#""step":{"path":[1,0,1],"start_ns":0,"stop_ns":0}"#;
    for (from, to) in [
        (format!("\"count\":{FLOWS}"), "\"count\":99999999999".to_owned()),
        (format!("\"count\":{FLOWS}"), "\"count\":-1".to_owned()),
        (first.to_owned(), r#""step":{"path":[1,0],"start_ns":0,"stop_ns":0}"#.to_owned()),
        (first.to_owned(), r#""step":{"path":[-1,0,1],"start_ns":0,"stop_ns":0}"#.to_owned()),
        (
            first.to_owned(),
            r#""step":{"path":[1,0,1],"start_ns":-9223372036854775808,"stop_ns":0}"#.to_owned(),
        ),
        (r#""name":1"#.to_owned(), r#""name":-1"#.to_owned()),
        (r#""first":{"#.to_owned(), r#""first":{"odd":1,"#.to_owned()),
    ] {
        assert!(written.contains(&from), "{from}");
        assert!(serde_json::from_str::<Scenario>(&written.replacen(&from, &to, 1)).is_err(), "{to}");
    }
}

#[test]
fn a_sweep_of_many_flows_keeps_them_apart() {
    let _turn = TURN.lock();
    let text =
        many("", "").replace(&FLOWS.to_string(), "2000") + "[sweep]\n'flows.cca' = ['reno', 'cubic']\n";
    let sweep = Sweep::from_toml(&text, "many.toml", &[]).unwrap();
    let names = sweep.points.iter().map(|point| point.scenario.flows[1999].cca.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["reno", "cubic"]);
}
