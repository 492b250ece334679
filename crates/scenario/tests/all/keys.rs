//! The table of keys says what the reader does.

use cwnd_scenario::{Scenario, catalogue};
use serde_json::Value;

/// Where the keys of a table stand: in the scenario, the link or the flow. The second text surrounds them.
#[rustfmt::skip]
const PLACES: &[(&str, &str)] = &[
    ("scenario", "SCENARIO KEYS"),
    ("parking_lot", "LINK KEYS"),
    ("access", "LINK access = { KEYS }"),
    ("gilbert_elliott", "LINK loss = { model = 'gilbert-elliott', p = 0.1, r = 0.1, KEYS }"),
    ("jitter", "LINK jitter = { std = '1 ms', KEYS }"),
    ("policer", "LINK policer = { rate = '1 Mbps', burst = '9 KB', KEYS }"),
    ("red", "LINK queue = { discipline = 'red', KEYS }"),
    ("codel", "LINK queue = { discipline = 'codel', KEYS }"),
    ("fq-codel", "LINK queue = { discipline = 'fq-codel', KEYS }"),
    ("pie", "LINK queue = { discipline = 'pie', KEYS }"),
    ("dualpi2", "LINK queue = { discipline = 'dualpi2', KEYS }"),
    ("flows", "FLOW KEYS"),
    ("requests", "FLOW size = '9 KB'\nrequests = { count = 2, KEYS }"),
    ("stack", "FLOW stack = { KEYS }"),
];

/// The scenario with these keys of a table, or the error's line.
fn read(place: &str, keys: &str) -> Result<Scenario, String> {
    let (part, around) = place.split_once(' ').unwrap();
    let written = match keys {
        "" => around.replace(", KEYS", "").replace("KEYS", ""),
        _ => around.replace("KEYS", keys),
    };
    let at = |name| if part == name { written.as_str() } else { "" };
    let text = format!(
        "{}\n[parking_lot]\nrate = '50 Mbps'\ndelay = '20 ms'\nbuffer = 100\nhops = 3\n{}\n[[flows]]\ncca = 'reno'\n{}\n",
        at("SCENARIO"),
        at("LINK"),
        at("FLOW"),
    );
    Scenario::from_toml(&text, "here.toml", &[]).map_err(|error| error.to_string())
}

fn keys_of(name: &str) -> Vec<Value> {
    let tables = catalogue::keys();
    let found = tables.as_array().unwrap().iter().find(|table| table["name"] == name);
    found.unwrap_or_else(|| panic!("a table {name}"))["keys"].as_array().unwrap().clone()
}

/// A value as TOML.
fn toml(value: &str) -> String {
    let is_bare = value == "true" || value == "false" || value.parse::<f64>().is_ok();
    if is_bare { value.to_owned() } else { format!("'{value}'") }
}

#[test]
fn a_default_that_is_written_changes_nothing() {
    let mut checked = 0;
    for (table, place) in PLACES {
        let without = read(place, "").unwrap();
        for key in keys_of(table).iter().filter(|key| key["is_literal"] == true) {
            let (name, default) = (key["name"].as_str().unwrap(), key["default"].as_str().unwrap());
            let line = match (*table, name) {
                ("red", "min") => "min = 5, max = 15".to_owned(),
                ("red", "max") => continue,
                _ => format!("{name} = {}", toml(default)),
            };
            assert_eq!(read(place, &line).as_ref(), Ok(&without), "{table}: {line}");
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn every_name_of_a_key_is_read_and_no_other() {
    let mut checked = 0;
    for (table, place) in PLACES {
        for key in keys_of(table).iter().filter(|key| key["names"].is_array() && key["default"].is_string()) {
            let name = key["name"].as_str().unwrap();
            for value in key["names"].as_array().unwrap() {
                let line = format!("{name} = '{}'", value.as_str().unwrap());
                let read = read(place, &line);
                let is_of_another_topology =
                    read.as_ref().is_err_and(|line| line.contains("no link for this way"));
                assert!(read.is_ok() || is_of_another_topology, "{table}: {line}: {read:?}");
                checked += 1;
            }
            assert!(read(place, &format!("{name} = 'nonesuch'")).is_err(), "{table}: {name}");
        }
    }
    assert!(checked > 40, "{checked}");
}
