//! The fast engine: the results of the plain network ([`net`](crate::net)), 10 to 30 times as fast.

mod ends;
pub mod link;
mod measure;
mod network;
mod ns2;
mod onward;
pub mod schedule;
mod shard;
mod shared;
mod threads;
mod topology;

use crate::control::Control;
use crate::fast::link::timing::Nanoseconds;
use crate::fast::ns2::timing::Ns2Timing;
use crate::fast::schedule::{LONGEST_SPAN_NS, Schedule};
use crate::instances::{Custom, registered};
use crate::net::Advance;
use crate::net::link::fineness::finer_links;
use crate::net::link::queue::discipline::Disciplines;
use crate::net::link::queue::named;
use crate::time::{Fraction, Nanosecond};
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Scenario;

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

/// Whether this engine can answer `scenario`. Within a span the ends of flows depend on nobody else: none waits for another.
pub fn supports(scenario: &Scenario) -> bool {
    scenario.flows.iter().all(|flow| flow.barrier().is_none())
}

/// A run of `scenario`, which this engine supports, before anything has happened.
pub fn begin<'a>(
    scenario: &'a Scenario,
    seed: u64,
    custom: Custom<'a>,
    control: &'a Control,
    parts: Parts,
) -> Box<dyn Advance + 'a> {
    let mut customs: Vec<_> = scenario.flows.iter().map(|flow| custom(&flow.cca)).collect();
    // With registered algorithms alone, their calls need no dynamic dispatch.
    let mut registered = registered();
    if customs.iter().all(Option::is_none) {
        let make = move |flow: usize| registered(&scenario.flows[flow].cca);
        return schedule(scenario, seed, make, control, parts);
    }
    let make = move |flow: usize| -> Box<dyn CongestionControl> {
        let cca = &scenario.flows[flow].cca;
        let made = customs[flow].take().or_else(|| custom(cca));
        made.unwrap_or_else(|| Box::new(registered(cca)))
    };
    schedule(scenario, seed, make, control, parts)
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
        with_timing!(Ns2Timing)
    } else if finer_links(scenario).contains(&true) {
        with_timing!(Nanoseconds<Fraction>)
    } else {
        with_timing!(Nanoseconds<Nanosecond>)
    }
}
