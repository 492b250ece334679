//! The vectors of an algorithm, and a run through one.

use super::sender::{Arrival, Sender};
use cwnd_algorithms::{Algorithm, CongestionControl, Params, SSTHRESH_INFINITE, State};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub params: BTreeMap<String, String>,
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
    owd_us: Option<u32>,
    prior_in_flight: Option<u32>,
    limited: Option<bool>,
    state: Option<String>,
    snd_wnd: Option<u32>,
    rate: Option<(u32, u32)>,
    lost: Option<u32>,
    ce: Option<u32>,
    #[serde(default)]
    loss: bool,
    #[serde(default)]
    mark: bool,
    #[serde(default)]
    reduced: bool,
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

/// The cases of an algorithm of the registry.
pub fn read(algorithm: &Algorithm) -> Vec<Case> {
    let path = folder().join(format!("{}.json", algorithm.name));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn folder() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder = folders.map(|folder| folder.join("algorithms/tests/vectors")).find(|folder| folder.is_dir());
    folder.expect("the repository has them")
}

/// The first step whose decision is not as expected. `build` makes the algorithm with these parameters.
pub fn run<A: CongestionControl>(
    algorithm: &Algorithm,
    case: &Case,
    build: impl FnOnce(&Params) -> A,
) -> Result<(), String> {
    let mut params = algorithm.defaults();
    for (param, value) in &case.params {
        algorithm.set(&mut params, param, value).map_err(|e| e.to_string())?;
    }
    let mut sender = Sender::new(build(&params), case.window.cwnd, case.window.ssthresh, 0);
    for (index, step) in case.steps.iter().enumerate() {
        take(&mut sender, step);
        let [low, high] = step.expect.cwnd;
        if !(low..=high).contains(&sender.driver.window.cwnd) {
            return Err(format!(
                "step {}: cwnd {} is not {low} to {high}",
                index + 1,
                sender.driver.window.cwnd
            ));
        }
        if let Some([low, high]) = step.expect.pacing_rate
            && !(low..=high).contains(&sender.driver.window.pacing_rate)
        {
            let found = sender.driver.window.pacing_rate;
            return Err(format!("step {}: pacing_rate {found} is not {low} to {high}", index + 1));
        }
        let Some([low, high]) = step.expect.ssthresh else { continue };
        if !(low..=high).contains(&sender.driver.window.ssthresh) {
            return Err(format!(
                "step {}: ssthresh {} is not {low} to {high}",
                index + 1,
                sender.driver.window.ssthresh
            ));
        }
    }
    Ok(())
}

fn take<A: CongestionControl>(sender: &mut Sender<A>, step: &Step) {
    if let Some(count) = step.acks {
        let arrival = Arrival {
            acked: step.acked.unwrap_or(1),
            gap_us: step.gap_us.expect("ACKs have a gap"),
            rtt_us: step.rtt_us.unwrap_or(0),
            owd_us: step.owd_us.unwrap_or(0),
            prior_in_flight: step.prior_in_flight,
            limited: step.limited.unwrap_or(true),
            state: match step.state.as_deref() {
                None => State::Open,
                Some("cwr") => State::Cwr,
                Some("recovery") => State::Recovery,
                Some("loss") => State::Loss,
                Some(other) => panic!("unknown state {other}"),
            },
            snd_wnd: step.snd_wnd.unwrap_or(SSTHRESH_INFINITE),
            rate: step.rate.unwrap_or_default(),
            lost: step.lost.unwrap_or(0),
            ce: step.ce.unwrap_or(0),
        };
        (0..count).for_each(|_| sender.ack(&arrival));
    } else if step.loss {
        sender.lose();
    } else if step.mark {
        sender.mark();
    } else if step.reduced {
        sender.reduced();
    } else if step.rto {
        sender.time_out();
    } else if step.undo {
        sender.undo();
    } else if let Some(event) = &step.event {
        match event.as_str() {
            "tx_start" => sender.driver.on_first_send(),
            "cwnd_restart" => sender.driver.on_idle(0, 1),
            other => panic!("unknown event {other}"),
        }
    } else {
        sender.driver.window.cwnd = step.cwnd.expect("a step does something");
    }
}
