//! The world `linux`: a scenario on a real kernel in virtual time.
//!
//! [`plan`](plan::write) turns a scenario into namespaces, devices and queues; [`Machine`] is the kernel and the
//! emulator that `cwnd linux setup` has put into a cache; [`run`] boots one guest for one run and returns its rows.

mod answer;
mod boot;
mod guest;
mod image;
mod machine;
mod plan;
mod queue;
mod refusal;
mod resources;

pub use boot::Watch;
pub use guest::{INIT, read_types, run};
pub use machine::Machine;
pub use plan::Algorithms;

use cwnd_scenario::Scenario;

/// What a run depends on besides its scenario, for keys: the kernel, whose algorithms run, and what this crate does.
pub fn essence(machine: &Machine, algorithms: Algorithms) -> Vec<u8> {
    let sources = [
        include_str!("plan.rs"),
        include_str!("queue.rs"),
        include_str!("resources.rs"),
        include_str!("boot.rs"),
        include_str!("answer.rs"),
    ];
    let head = format!("{} {algorithms:?}\n", machine.release);
    [head.as_bytes(), INIT].into_iter().chain(sources.map(str::as_bytes)).flatten().copied().collect()
}

/// The processors that this process may use: a guest each.
pub fn processors() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None);
    let is_allowed = |core: &usize| allowed.as_ref().is_ok_and(|set| set.is_set(*core));
    (0..rustix::thread::CpuSet::MAX_CPU).filter(is_allowed).collect()
}

/// Whether the scenario can run here; the line to refuse it with otherwise.
pub fn check(scenario: &Scenario, algorithms: Algorithms) -> Result<(), String> {
    plan::write(scenario, scenario.seed, algorithms).map(|_| ())
}
