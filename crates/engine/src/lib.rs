//! A deterministic packet-level simulation of TCP flows over FIFO links.
//!
//! [`run`] answers one scenario with one seed. It reads no clock, file, thread or environment.

mod control;
mod memory;
mod ns2;
mod path;
mod random;
mod simulation;
mod stack;
mod tcp;
mod time;

/// Version and source of this crate: results of another engine may differ.
pub const FINGERPRINT: &str = env!("CWND_ENGINE_FINGERPRINT");

/// What `bench/` times by itself, and what the tests judge by.
#[doc(hidden)]
pub mod parts {
    pub use crate::answer as run_in_spans;
    pub use crate::path::link::Link;
    pub use crate::tcp::scoreboard::Scoreboard;
    pub use crate::time::Nanosecond;
}

pub use control::{Control, Unfinished};
use cwnd_algorithms::{Algorithm, CongestionControl, Params};
use cwnd_results::Run;
use cwnd_scenario::{Cca, Clock, End, Scenario};
use ns2::clock::{Nanoseconds, Ns2};
use simulation::{LONGEST_SPAN_NS, Simulation, finer_links};
use time::{Fraction, NEVER, Nanosecond};

/// Makes the instances of algorithms that the registry does not have; None: not a custom one.
pub type Custom<'a> = &'a (dyn Fn(&Cca) -> Option<Box<dyn CongestionControl>> + Sync);

/// Answers `scenario` with `seed`.
///
/// # Panics
///
/// If an algorithm of the scenario is neither custom nor in the registry: a scenario that was read has none.
pub fn run(scenario: &Scenario, seed: u64, custom: Custom, control: &Control) -> Result<Run, Unfinished> {
    answer(scenario, seed, custom, control, LONGEST_SPAN_NS)
}

/// [`run`], in spans of simulated time of at most `longest_span_ns`; with 1, event by event.
pub fn answer(
    scenario: &Scenario,
    seed: u64,
    custom: Custom,
    control: &Control,
    longest_span_ns: u64,
) -> Result<Run, Unfinished> {
    let run = until_the_end(scenario, seed, custom, control, longest_span_ns)?;
    if scenario.end == End::Duration {
        return Ok(run);
    }
    let started_ns = scenario.flows.iter().map(|flow| flow.start_ns + flow.start_jitter_ns + 1).max();
    let stopped_ns = scenario.flows.iter().map(|flow| flow.stop_ns).max();
    let end_ns = run.last_arrival_ns.min(stopped_ns.unwrap_or(NEVER)).max(started_ns.unwrap_or(1));
    let shorter = Scenario { duration_ns: end_ns, ..scenario.clone() };
    until_the_end(&shorter, seed, custom, control, longest_span_ns)
}

fn until_the_end(
    scenario: &Scenario,
    seed: u64,
    custom: Custom,
    control: &Control,
    longest_span_ns: u64,
) -> Result<Run, Unfinished> {
    let customs: Vec<_> = scenario.flows.iter().map(|flow| custom(&flow.cca)).collect();
    // With registered algorithms alone, their calls need no dynamic dispatch.
    if customs.iter().all(Option::is_none) {
        drop(customs);
        let mut registered = registered();
        let ccs = scenario.flows.iter().map(|flow| registered(&flow.cca));
        return simulate(scenario, seed, ccs, control, longest_span_ns);
    }
    let mut registered = registered();
    let ccs = scenario.flows.iter().zip(customs).map(|(flow, custom)| -> Box<dyn CongestionControl> {
        custom.unwrap_or_else(|| Box::new(registered(&flow.cca)))
    });
    simulate(scenario, seed, ccs, control, longest_span_ns)
}

fn simulate<C: CongestionControl>(
    scenario: &Scenario,
    seed: u64,
    ccs: impl Iterator<Item = C>,
    control: &Control,
    longest_span_ns: u64,
) -> Result<Run, Unfinished> {
    let finer = finer_links(scenario);
    macro_rules! run_by {
        ($clock:ty) => {
            Simulation::<_, $clock>::new(scenario, &finer, seed, control, ccs).run(longest_span_ns)
        };
    }
    match scenario.clock {
        Clock::Ns2 => run_by!(Ns2),
        Clock::Nanoseconds if finer.contains(&true) => run_by!(Nanoseconds<Fraction>),
        Clock::Nanoseconds => run_by!(Nanoseconds<Nanosecond>),
    }
}

/// Makes the instances of registered algorithms, and reads the parameters of equal neighbours once.
fn registered<'a>() -> impl FnMut(&'a Cca) -> cwnd_algorithms::Instance {
    let mut last: Option<(&Cca, (Algorithm, Params))> = None;
    move |cca| {
        if last.as_ref().is_none_or(|(before, _)| *before != cca) {
            let understood = cca.understood().expect("a scenario has known algorithms and parameters");
            last = Some((cca, understood));
        }
        let (_, (algorithm, params)) = last.as_ref().expect("it was just set");
        algorithm.build(params)
    }
}
