//! A deterministic packet-level simulation of TCP flows over links.
//!
//! [`run`] answers one scenario with one seed; [`Simulation`] can be looked at on the way. Neither reads a clock, a file, a
//! thread's identity or the environment.

mod acks;
mod agenda;
mod arrivals;
mod connection;
mod control;
mod counts;
mod ends;
mod inbox;
mod late_losses;
mod links;
mod memory;
mod merge;
mod network;
mod ns2;
mod observe;
mod onward;
mod outcomes;
mod path;
pub mod plain;
mod random;
mod results;
mod runs;
mod samples;
mod schedule;
mod shard;
mod tcp;
mod threads;
mod time;
mod topology;
mod traffic;
mod train;
mod variants;

/// The version of the results of this crate: runs of another version have other keys, so that sweeps run them again.
///
/// It is raised with every change after which some scenario has another result. `tests/golden/results.csv` has the version
/// of its rows, which move only together with it. A comment, a name or a faster way to the same result leaves it.
pub const RESULTS_VERSION: u32 = 5;

/// What `bench/` times by itself, and what the tests judge by.
#[doc(hidden)]
pub mod parts {
    pub use crate::path::link::FifoLink;
    pub use crate::path::queue::discipline::{Codepoint, Discipline, Next, Packet};
    pub use crate::path::queue::named;
    pub use crate::tcp::scoreboard::Scoreboard;
    pub use crate::time::Nanosecond;
    pub use crate::{Parts, run_with};
}

pub use acks::AckCounts;
pub use control::{Control, Unfinished};
use cwnd_algorithms::{Algorithm, CongestionControl, Params};
use cwnd_results::Run;
use cwnd_scenario::{Cca, End, Scenario};
pub use ends::{TcpAck, TcpEnds, TcpSegment};
pub use memory::distribution::Distribution;
pub use observe::{FlowObservation, LinkObservation, Observation};
pub use path::emulated::{Crossed, EmulatedLink};
pub use path::queue::discipline::Codepoint;
use path::queue::discipline::Disciplines;
use path::queue::named;
use path::timing::Nanoseconds;
pub use path::wire::WireCounts;
pub use schedule::start_jitter_ns;
use schedule::{Advance, LONGEST_SPAN_NS, Schedule};
use time::{Fraction, NEVER, Nanosecond};
use topology::finer_links;
use variants::Seconds;

/// Fewer flows are simulated as fast by one thread.
const FLOWS_FOR_THREADS: usize = 4000;

/// Makes the instances of algorithms that the registry does not have; None: the registry has this one.
pub type Custom<'a> = &'a (dyn Fn(&Cca) -> Option<Box<dyn CongestionControl>> + Sync);

/// A run under way, which can be looked at. How it is advanced does not change its results.
///
/// ```
/// use cwnd_engine::{Control, Simulation};
///
/// let scenario = "duration = '10 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = 50\n[[flows]]\ncca = 'cubic'";
/// let scenario = cwnd_scenario::Scenario::from_toml(scenario, "example.toml", &[])?;
/// let control = Control::default();
/// let mut simulation = Simulation::new(&scenario, 1, &|_| None, &control);
/// simulation.advance(1_000_000_000)?;
/// assert!(simulation.observe().flows[0].cwnd_pkts > 10);
/// let run = simulation.finish()?;
/// assert!(run.flows[0].goodput_mbps > 9.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation<'a> {
    schedule: Box<dyn Advance + 'a>,
    duration_ns: u64,
    now_ns: u64,
}

impl<'a> Simulation<'a> {
    /// Nothing has happened yet.
    ///
    /// # Panics
    ///
    /// If [`Scenario::check`] would refuse the scenario, or one of its algorithms is neither custom nor in the registry. A
    /// scenario that was read from a text is never refused.
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        custom: Custom<'a>,
        control: &'a Control,
    ) -> Simulation<'a> {
        Simulation::with(scenario, seed, custom, control, Parts::default())
    }

    fn with(
        scenario: &'a Scenario,
        seed: u64,
        custom: Custom<'a>,
        control: &'a Control,
        parts: Parts,
    ) -> Simulation<'a> {
        let mut customs: Vec<_> = scenario.flows.iter().map(|flow| custom(&flow.cca)).collect();
        // With registered algorithms alone, their calls need no dynamic dispatch.
        let mut registered = registered();
        let schedule = if customs.iter().all(Option::is_none) {
            let make = move |flow: usize| registered(&scenario.flows[flow].cca);
            schedule(scenario, seed, make, control, parts)
        } else {
            let make = move |flow: usize| -> Box<dyn CongestionControl> {
                let cca = &scenario.flows[flow].cca;
                let made = customs[flow].take().or_else(|| custom(cca));
                made.unwrap_or_else(|| Box::new(registered(cca)))
            };
            schedule(scenario, seed, make, control, parts)
        };
        Simulation { schedule, duration_ns: scenario.duration_ns, now_ns: 0 }
    }

    /// Simulates what happens up to `until_ns`, included, or to the end of the duration.
    ///
    /// # Errors
    ///
    /// If the run cannot go on.
    pub fn advance(&mut self, until_ns: u64) -> Result<(), Unfinished> {
        self.now_ns = until_ns.min(self.duration_ns).max(self.now_ns);
        self.schedule.advance(self.now_ns)
    }

    /// Windows, queues and counts at the time that the run has been advanced to.
    pub fn observe(&mut self) -> Observation {
        self.schedule.observe(self.now_ns)
    }

    /// Simulates the rest of the duration. [`End::LastArrival`] takes a second run, of [`until_last_arrival`].
    ///
    /// # Errors
    ///
    /// If the run cannot go on.
    pub fn finish(mut self) -> Result<Run, Unfinished> {
        self.advance(self.duration_ns)?;
        Ok(self.schedule.finish())
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

/// Whether a run of `scenario` ends sooner on several threads: with few flows a span is over before others have begun.
pub fn gains_from_threads(scenario: &Scenario) -> bool {
    scenario.flows.len() >= FLOWS_FOR_THREADS
}

/// What tests replace in a run.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// Which links have a queue that a discipline manages.
    pub disciplines: Disciplines<'a>,
    /// Spans of simulated time are no longer; 1: event by event.
    pub longest_span_ns: u64,
}

impl Default for Parts<'_> {
    fn default() -> Self {
        Parts { disciplines: &named, longest_span_ns: LONGEST_SPAN_NS }
    }
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
    let run = Simulation::with(scenario, seed, custom, control, parts).finish()?;
    match until_last_arrival(scenario, &run) {
        None => Ok(run),
        Some(shorter) => Simulation::with(&shorter, seed, custom, control, parts).finish(),
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
    Some(Scenario { duration_ns: end_ns, ..scenario.clone() })
}

/// Chooses how the run keeps time.
fn schedule<'a, C: CongestionControl + 'a>(
    scenario: &'a Scenario,
    seed: u64,
    make: impl FnMut(usize) -> C + 'a,
    control: &'a Control,
    Parts { disciplines, longest_span_ns }: Parts,
) -> Box<dyn Advance + 'a> {
    macro_rules! with_timing {
        ($timing:ty) => {
            Box::new(Schedule::<_, $timing>::new(
                scenario,
                seed,
                disciplines,
                Box::new(make),
                control,
                longest_span_ns,
            ))
        };
    }
    if scenario.clock.adds_up_seconds() {
        with_timing!(Seconds)
    } else if finer_links(scenario).contains(&true) {
        with_timing!(Nanoseconds<Fraction>)
    } else {
        with_timing!(Nanoseconds<Nanosecond>)
    }
}

/// Makes the instances of registered algorithms, and reads the parameters of equal neighbours once.
fn registered<'a>() -> impl FnMut(&'a Cca) -> cwnd_algorithms::Instance {
    let mut last: Option<(&Cca, (Algorithm, Params))> = None;
    move |cca| {
        if last.as_ref().is_none_or(|(before, _)| *before != cca) {
            // A flow without congestion control has a connection, too, which does nothing.
            let none = || {
                cwnd_algorithms::find("reno").map(|reno| {
                    let params = reno.defaults();
                    (reno, params)
                })
            };
            let known = if cca.is_udp() { none() } else { cca.resolve() };
            last = Some((cca, known.expect("a scenario has known algorithms and parameters")));
        }
        let (_, (algorithm, params)) = last.as_ref().expect("it was just set");
        algorithm.build(params)
    }
}
