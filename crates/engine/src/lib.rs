//! A deterministic packet-level simulation of TCP flows over FIFO links.
//!
//! [`run`] answers one scenario with one seed. It reads no clock, file, thread or environment.

pub mod results;

use cwnd_algorithms::CongestionControl;
use cwnd_scenario::{Cca, Scenario};
use results::Run;
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
pub fn run(scenario: &Scenario, seed: u64, custom: Custom, control: &Control) -> Result<Run, Stopped> {
    let _ = (scenario, seed, custom, control);
    todo!()
}

/// Answers `scenario` with each of its seeds, `jobs` at a time (0: one per core), in the order of the seeds.
pub fn run_repetitions(
    scenario: &Scenario,
    jobs: usize,
    custom: Custom,
    control: &Control,
) -> Result<Vec<Run>, Stopped> {
    let _ = (scenario, jobs, custom, control);
    todo!()
}
