//! The name of a run changes with all that its answer depends on, and with nothing else.

use cwnd_runner::JobKeys;
use cwnd_scenario::Scenario;

const TEXT: &str = r#"name = "one"
duration = "1 s"

[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 50

[[flows]]
cca = "elastic"
"#;

fn read(text: &str) -> Scenario {
    Scenario::from_toml(text, "one.toml", &[]).unwrap()
}

fn key(text: &str) -> String {
    JobKeys::new(&read(text), None, b"").key(7)
}

#[test]
fn a_key_is_32_hex_digits_and_always_the_same() {
    let first = key(TEXT);
    assert_eq!(first.len(), 32);
    assert!(first.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')));
    assert_eq!(first, key(TEXT));
}

#[test]
fn names_repetitions_and_ways_of_writing_change_no_key() {
    let head = "seed = 5\nrepeat = 30\nname = \"other\"";
    assert_eq!(key(TEXT), key(&TEXT.replace("name = \"one\"", head)));
    assert_eq!(key(TEXT), key(&TEXT.replace("10 Mbps", "10000 kbps")));
    assert_eq!(key(TEXT), key(&TEXT.replace("buffer = 50", "buffer = '50 packets' # small")));
}

#[test]
fn everything_else_changes_it() {
    let others = [
        ("1 s", "2 s"),
        ("10 Mbps", "11 Mbps"),
        ("buffer = 50", "buffer = 51"),
        ("buffer = 50", "buffer = 50\nper = 1e-9"),
        ("\"elastic\"", "\"cubic\""),
        ("\"elastic\"", "{ name = \"elastic\", variant = \"authors\" }"),
        ("duration", "samples = \"off\"\nduration"),
    ];
    for (from, to) in others {
        assert_ne!(key(TEXT), key(&TEXT.replace(from, to)), "{to}");
    }
    let scenario = read(TEXT);
    assert_ne!(JobKeys::new(&scenario, None, b"").key(7), JobKeys::new(&scenario, None, b"").key(8));
    assert_ne!(
        JobKeys::new(&scenario, None, b"").key(7),
        JobKeys::new(&scenario, None, b"class Mine: ...").key(7)
    );
}

#[test]
fn the_keys_of_many_seeds_are_those_of_each() {
    let scenario = read(TEXT);
    let keys = JobKeys::new(&scenario, None, b"extra");
    for seed in [0, 1, u64::MAX] {
        assert_eq!(keys.key(seed), JobKeys::new(&scenario, None, b"extra").key(seed));
    }
}

/// So a new version of the engine's results forgets no run of a kernel.
#[test]
fn the_essence_of_a_world_stands_in_for_the_engines_version() {
    let scenario = read(TEXT);
    let simulator = cwnd_engine::RESULTS_VERSION.to_le_bytes();
    let key = |essence| JobKeys::new(&scenario, essence, b"").key(7);
    assert_eq!(key(None), key(Some(&simulator)));
    assert_ne!(key(None), key(Some(b"6.12")));
    assert_ne!(key(Some(b"6.1")), key(Some(b"6.12")));
}
