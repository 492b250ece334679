//! The world `linux`: a scenario on a real kernel in virtual time.
//!
//! [`plan`](plan::write) turns a scenario into namespaces, devices and queues; [`Machine`] is the kernel and the
//! emulator that `cwnd linux setup` has put into a cache; [`run`] boots one guest for one run and returns its rows.

mod answer;
mod guest;
mod image;
mod machine;
mod plan;
mod queue;
mod refusal;

pub use guest::{Watch, read_types, run};
pub use machine::Machine;
pub use plan::Algorithms;

use cwnd_scenario::Scenario;

/// Whether the scenario can run here; the line to refuse it with otherwise.
pub fn check(scenario: &Scenario, algorithms: Algorithms) -> Result<(), String> {
    plan::write(scenario, scenario.seed, algorithms).map(|_| ())
}
