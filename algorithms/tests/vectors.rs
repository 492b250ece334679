//! Event lists with the decisions that `vectors/check.py` computed from the papers' equations.

mod sender;

use cwnd_algorithms::{Event, SSTHRESH_INFINITE, State, all, find};
use sender::{Arrival, Sender};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    params: BTreeMap<String, String>,
    window: Start,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    cwnd: u32,
    ssthresh: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    acks: Option<u32>,
    acked: Option<u32>,
    gap_us: Option<u64>,
    rtt_us: Option<u32>,
    limited: Option<bool>,
    state: Option<String>,
    snd_wnd: Option<u32>,
    rate: Option<(u32, u32)>,
    lost: Option<u32>,
    #[serde(default)]
    loss: bool,
    #[serde(default)]
    rto: bool,
    #[serde(default)]
    undo: bool,
    event: Option<String>,
    /// The stack's own doing.
    cwnd: Option<u32>,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    cwnd: [u32; 2],
    ssthresh: Option<[u32; 2]>,
    /// In bytes/s.
    pacing_rate: Option<[u64; 2]>,
}

#[test]
fn every_algorithm_decides_as_its_vectors_expect() {
    let mut wrong = String::new();
    for algorithm in all() {
        let path = folder().join(format!("{}.json", algorithm.name));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let cases: Vec<Case> =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for case in cases {
            if let Err(line) = run(&algorithm.name, &case) {
                wrong += &format!("{}, \"{}\": {line}\n", algorithm.name, case.name);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_vectors_cover_every_choice_of_every_parameter() {
    for algorithm in all() {
        let text = std::fs::read_to_string(folder().join(format!("{}.json", algorithm.name))).unwrap();
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
        for param in &algorithm.params {
            let mut values: Vec<String> =
                cases.iter().filter_map(|case| case.params.get(param.name).cloned()).collect();
            values.push(param.show(param.default));
            values.sort();
            values.dedup();
            let wanted = param.choices.len().max(2);
            assert!(values.len() >= wanted, "{} {}: only {values:?}", algorithm.name, param.name);
        }
    }
}

#[test]
fn the_vectors_are_what_check_py_computes() {
    let script = folder().join("check.py");
    match Command::new("python3").arg(&script).arg("--check").output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "python3: {error}");
            eprintln!("SKIPPED: no python3 to run {}", script.display());
        }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn run(name: &str, case: &Case) -> Result<(), String> {
    let algorithm = find(name).unwrap();
    let mut params = algorithm.defaults();
    for (param, value) in &case.params {
        algorithm.set(&mut params, param, value).map_err(|e| e.to_string())?;
    }
    let mut sender = Sender::new(algorithm.build(&params), case.window.cwnd, case.window.ssthresh, 0);
    for (index, step) in case.steps.iter().enumerate() {
        take(&mut sender, step);
        let [low, high] = step.expect.cwnd;
        if !(low..=high).contains(&sender.w.cwnd) {
            return Err(format!("step {}: cwnd {} is not {low} to {high}", index + 1, sender.w.cwnd));
        }
        if let Some([low, high]) = step.expect.pacing_rate
            && !(low..=high).contains(&sender.w.pacing_rate)
        {
            let found = sender.w.pacing_rate;
            return Err(format!("step {}: pacing_rate {found} is not {low} to {high}", index + 1));
        }
        let Some([low, high]) = step.expect.ssthresh else { continue };
        if !(low..=high).contains(&sender.w.ssthresh) {
            return Err(format!("step {}: ssthresh {} is not {low} to {high}", index + 1, sender.w.ssthresh));
        }
    }
    Ok(())
}

fn take(sender: &mut Sender, step: &Step) {
    if let Some(count) = step.acks {
        let arrival = Arrival {
            acked: step.acked.unwrap_or(1),
            gap_us: step.gap_us.expect("ACKs have a gap"),
            rtt_us: step.rtt_us.unwrap_or(0),
            limited: step.limited.unwrap_or(true),
            state: match step.state.as_deref() {
                None => State::Open,
                Some("recovery") => State::Recovery,
                Some("loss") => State::Loss,
                Some(other) => panic!("unknown state {other}"),
            },
            snd_wnd: step.snd_wnd.unwrap_or(SSTHRESH_INFINITE),
            rate: step.rate.unwrap_or_default(),
            lost: step.lost.unwrap_or(0),
        };
        (0..count).for_each(|_| sender.ack(&arrival));
    } else if step.loss {
        sender.lose();
    } else if step.rto {
        sender.time_out();
    } else if step.undo {
        sender.undo();
    } else if let Some(event) = &step.event {
        sender.event(match event.as_str() {
            "tx_start" => Event::TxStart,
            "cwnd_restart" => Event::CwndRestart,
            other => panic!("unknown event {other}"),
        });
    } else {
        sender.w.cwnd = step.cwnd.expect("a step does something");
    }
}
