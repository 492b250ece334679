#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod control;
mod fast;
mod instances;
mod memory;
pub mod net;
mod random;
mod tcp;
mod time;

/// The version of the results of this crate: runs of another version have other keys, so that sweeps run them again.
///
/// It is raised with every change after which some scenario has another result. `tests/golden/results.csv` has the version
/// of its rows, which move only together with it. A comment, a name or a faster way to the same result leaves it.
pub const RESULTS_VERSION: u32 = 14;

/// Parts that `bench/` times on their own, and parts by which the tests judge.
#[doc(hidden)]
pub mod parts {
    pub use crate::fast::Parts;
    pub use crate::fast::link::fifo::FifoLink;
    pub use crate::net::link::queue::named;
    pub use crate::run_with;
    pub use crate::tcp::scoreboard::Scoreboard;
    pub use crate::time::Nanosecond;
}

pub use control::{Control, Unfinished};
use cwnd_algorithms::CongestionControl;
use cwnd_results::Run;
use cwnd_scenario::{Cca, Scenario};
use fast::Parts;
pub use instances::Custom;
pub use memory::distribution::Distribution;
use net::Advance;
pub use net::WORLD;
pub use net::lifetime::{start_jitter_ns, until_last_arrival};
pub use net::link::queue::discipline::Codepoint;
pub use net::link::wire::WireCounts;
pub use net::measure::observe::{AckCounts, FlowObservation, LinkObservation, Observation};
use self_cell::self_cell;
use std::sync::Arc;

/// Fewer flows are simulated as fast by one thread.
const FLOWS_FOR_THREADS: usize = 4000;

/// A run under way, which can be looked at. How it is advanced does not change its results.
///
/// ```
/// use cwnd_engine::Simulation;
/// use std::sync::Arc;
///
/// let scenario = "duration = '10 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = 50\n[[flows]]\ncca = 'cubic'";
/// let scenario = cwnd_scenario::Scenario::from_toml(scenario, "example.toml", &[])?;
/// let mut simulation = Simulation::new(Arc::new(scenario), 1, |_| None, Arc::default());
/// simulation.advance(1_000_000_000)?;
/// assert!(simulation.observe().flows[0].cwnd_pkts > 10);
/// let run = simulation.finish()?;
/// assert!(run.flows[0].goodput_mbps > 9.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation(Cell);

/// The scenario, algorithms and control that a run borrows while it lasts.
struct Asked {
    scenario: Arc<Scenario>,
    custom: Box<OwnedCustom>,
    control: Arc<Control>,
}

type OwnedCustom = dyn Fn(&Cca) -> Option<Box<dyn CongestionControl>> + Sync;

/// None: it has finished.
type UnderWay<'a> = Option<BorrowedSimulation<'a>>;

self_cell! {
    struct Cell {
        owner: Asked,

        #[covariant]
        dependent: UnderWay,
    }
}

impl Simulation {
    /// Nothing has happened yet. `custom` makes the instances of algorithms that the registry does not have.
    ///
    /// # Panics
    ///
    /// If [`Scenario::check`] would refuse the scenario, or one of its algorithms is neither custom nor in the registry. A
    /// scenario that was read from a text is never refused.
    pub fn new(
        scenario: Arc<Scenario>,
        seed: u64,
        custom: impl Fn(&Cca) -> Option<Box<dyn CongestionControl>> + Sync + 'static,
        control: Arc<Control>,
    ) -> Simulation {
        let asked = Asked { scenario, custom: Box::new(custom), control };
        Simulation(Cell::new(asked, |Asked { scenario, custom, control }| {
            Some(BorrowedSimulation::new(scenario, seed, custom, control))
        }))
    }

    /// Simulates what happens up to `until_ns`, included, or to the end of the duration.
    ///
    /// # Errors
    ///
    /// If the run cannot go on.
    pub fn advance(&mut self, until_ns: u64) -> Result<(), Unfinished> {
        self.with(|run| run.advance(until_ns))
    }

    /// Windows, queues and counts at the time that the run has been advanced to.
    pub fn observe(&mut self) -> Observation {
        self.with(|run| run.observe())
    }

    /// Simulates the rest of the duration. [`End::LastArrival`](cwnd_scenario::End::LastArrival) takes a second run, of
    /// [`until_last_arrival`].
    ///
    /// # Errors
    ///
    /// If the run cannot go on.
    pub fn finish(mut self) -> Result<Run, Unfinished> {
        self.0.with_dependent_mut(|_, run| run.take().expect("it finishes once").finish())
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut BorrowedSimulation) -> T) -> T {
        self.0.with_dependent_mut(|_, run| act(run.as_mut().expect("it has not finished")))
    }
}

/// A [`Simulation`] of a scenario, algorithms and a control that the caller keeps.
pub struct BorrowedSimulation<'a> {
    run: Box<dyn Advance + 'a>,
    duration_ns: u64,
    now_ns: u64,
}

impl<'a> BorrowedSimulation<'a> {
    /// Nothing has happened yet.
    ///
    /// # Panics
    ///
    /// As [`Simulation::new`].
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        custom: Custom<'a>,
        control: &'a Control,
    ) -> BorrowedSimulation<'a> {
        BorrowedSimulation::with(scenario, seed, custom, control, Parts::default())
    }

    fn with(
        scenario: &'a Scenario,
        seed: u64,
        custom: Custom<'a>,
        control: &'a Control,
        parts: Parts,
    ) -> BorrowedSimulation<'a> {
        if fast::supports(scenario) {
            BorrowedSimulation::of(scenario, fast::begin(scenario, seed, custom, control, parts))
        } else {
            let parts = net::Parts { algorithms: custom, ..net::Parts::default() };
            BorrowedSimulation::plain(scenario, seed, parts, control)
        }
    }

    /// A run over the plain network, whether the fast engine supports the scenario or not, with the caller's own `parts`.
    ///
    /// # Panics
    ///
    /// As [`Simulation::new`], and if the scenario has ns-2's clock.
    pub fn plain(
        scenario: &'a Scenario,
        seed: u64,
        parts: net::Parts<'a>,
        control: &'a Control,
    ) -> BorrowedSimulation<'a> {
        BorrowedSimulation::of(scenario, net::begin(scenario, seed, parts, control))
    }

    fn of(scenario: &Scenario, run: Box<dyn Advance + 'a>) -> BorrowedSimulation<'a> {
        BorrowedSimulation { run, duration_ns: scenario.duration_ns, now_ns: 0 }
    }

    /// As [`Simulation::advance`].
    ///
    /// # Errors
    ///
    /// If the run cannot go on.
    pub fn advance(&mut self, until_ns: u64) -> Result<(), Unfinished> {
        self.now_ns = until_ns.min(self.duration_ns).max(self.now_ns);
        self.run.advance(self.now_ns)
    }

    /// As [`Simulation::observe`].
    pub fn observe(&mut self) -> Observation {
        self.run.observe(self.now_ns)
    }

    /// As [`Simulation::finish`].
    ///
    /// # Errors
    ///
    /// If the run cannot go on.
    pub fn finish(mut self) -> Result<Run, Unfinished> {
        self.advance(self.duration_ns)?;
        Ok(self.run.finish())
    }
}

/// Answers `scenario` with `seed`.
///
/// # Errors
///
/// If the run cannot go on to its end.
///
/// # Panics
///
/// As [`Simulation::new`].
pub fn run(scenario: &Scenario, seed: u64, custom: Custom, control: &Control) -> Result<Run, Unfinished> {
    run_with(scenario, seed, custom, control, Parts::default())
}

/// Returns true if a run of `scenario` ends sooner on several threads: with few flows a span is over before others have begun.
pub fn gains_from_threads(scenario: &Scenario) -> bool {
    scenario.flows.len() >= FLOWS_FOR_THREADS
}

/// [`run`] with other parts.
#[doc(hidden)]
pub fn run_with(
    scenario: &Scenario,
    seed: u64,
    custom: Custom,
    control: &Control,
    parts: Parts,
) -> Result<Run, Unfinished> {
    net::lifetime::answer(scenario, |scenario| {
        BorrowedSimulation::with(scenario, seed, custom, control, parts).finish()
    })
}
