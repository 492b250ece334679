//! When flows start, and when a run ends.

use crate::random::random_stream;
use crate::time::NEVER;
use chacha20::rand_core::Rng;
use cwnd_results::Run;
use cwnd_scenario::{End, Flow, Scenario};

/// How much later than its start the flow starts.
pub fn start_jitter_ns(flow: &Flow, id: u32, seed: u64) -> u64 {
    if flow.start_jitter_ns == 0 {
        return 0;
    }
    let draw = random_stream(seed, &format!("start-{id}")).next_u64();
    ((u128::from(draw) * u128::from(flow.start_jitter_ns)) >> 64) as u64
}

/// The answer to `scenario`, which `run` gives for a duration: with [`End::LastArrival`] it runs a second time.
pub fn answer<E>(scenario: &Scenario, run: impl Fn(&Scenario) -> Result<Run, E>) -> Result<Run, E> {
    let whole = run(scenario)?;
    match until_last_arrival(scenario, &whole) {
        None => Ok(whole),
        Some(shorter) => run(&shorter),
    }
}

/// With [`End::LastArrival`], the scenario up to the last arrival of its `run` over the whole duration.
pub fn until_last_arrival(scenario: &Scenario, run: &Run) -> Option<Scenario> {
    if scenario.end == End::Duration {
        return None;
    }
    let started_ns = scenario.flows.iter().map(|flow| flow.start_ns + flow.start_jitter_ns + 1).max();
    let stopped_ns = scenario.flows.iter().map(|flow| flow.stop_ns).max();
    let end_ns = run.last_arrival_ns.min(stopped_ns.unwrap_or(NEVER)).max(started_ns.unwrap_or(1));
    Some(scenario.clone().with(|shorter| shorter.duration_ns = end_ns))
}
