//! A deterministic packet-level simulation of TCP flows over FIFO links.
//!
//! [`run`] answers one scenario with one seed. It reads no clock, file, thread or environment.

mod application;
mod bits;
mod clock;
mod key;
mod link;
mod plain;
mod rate;
mod receiver;
pub mod results;
mod ring;
mod rtt;
mod scheduler;
mod scoreboard;
mod sender;
mod simulation;
mod summary;

pub use key::{JobKeys, job_key};
pub use summary::summarize;

/// What `bench/` times by itself.
#[doc(hidden)]
pub mod parts {
    pub use crate::link::Link;
    pub use crate::scheduler::Scheduler;
    pub use crate::scoreboard::Scoreboard;
}

use clock::{Nanoseconds, Ns2};
use cwnd_algorithms::{Algorithm, CongestionControl, Params};
use cwnd_scenario::{Cca, Clock, Scenario};
use results::Run;
use scheduler::Key;
use simulation::Simulation;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// What others may see of a run under way, and how they stop it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to end every run that shares this control, within some thousand packets.
    pub stop: AtomicBool,
    /// Simulated time so far, added up over the runs.
    pub simulated_ns: AtomicU64,
}

/// The run was ended through [`Control::stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Makes the instances of algorithms that the registry does not have; None: not a custom one.
pub type Custom<'a> = &'a (dyn Fn(&Cca) -> Option<Box<dyn CongestionControl>> + Sync);

/// Answers `scenario` with `seed`.
///
/// # Panics
///
/// If an algorithm of the scenario is neither custom nor in the registry: a scenario that was read has none.
pub fn run(scenario: &Scenario, seed: u64, custom: Custom, control: &Control) -> Result<Run, Stopped> {
    let customs: Vec<_> = scenario.flows.iter().map(|flow| custom(&flow.cca)).collect();
    // With registered algorithms alone, their calls need no dynamic dispatch.
    if customs.iter().all(Option::is_none) {
        drop(customs);
        let mut registered = registered();
        let ccs = scenario.flows.iter().map(|flow| registered(&flow.cca)).collect();
        // So, mostly, do the keys of its events.
        let narrow =
            scenario.duration_ns < <u64 as Key>::LATER && simulation::sources(scenario) <= u64::SOURCES;
        return match scenario.clock {
            Clock::Ns2 => Simulation::<_, Ns2>::new(scenario, seed, ccs).run(control),
            Clock::Nanoseconds if narrow => {
                Simulation::<_, Nanoseconds<u64>>::new(scenario, seed, ccs).run(control)
            }
            Clock::Nanoseconds => Simulation::<_, Nanoseconds<u128>>::new(scenario, seed, ccs).run(control),
        };
    }
    let mut registered = registered();
    let ccs = scenario.flows.iter().zip(customs).map(|(flow, custom)| -> Box<dyn CongestionControl> {
        custom.unwrap_or_else(|| Box::new(registered(&flow.cca)))
    });
    let ccs = ccs.collect();
    match scenario.clock {
        Clock::Ns2 => Simulation::<_, Ns2>::new(scenario, seed, ccs).run(control),
        Clock::Nanoseconds => Simulation::<_, Nanoseconds<u128>>::new(scenario, seed, ccs).run(control),
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
