//! The fast engine: the results of the plain network ([`net`](crate::net)), to the byte, 10 to 30 times as fast.
//!
//! It defines nothing. Each of its ideas changes the order in which a run is gone through, and none what comes out. A property test
//! compares both over random scenarios (`tests/all/plain.rs`).
//!
//! **Spans** (`schedule.rs`). There is no heap of events: time goes on in spans. A span is at most as long as a packet takes from
//! entering its last link until its ACK is at the sender. Within a span the two ends of a flow depend on nobody else. So each flow
//! first goes through the span alone (`ends/`): its timers, the packets that reach its receiver, the ACKs that reach its sender.
//! Then each link, in the order of the routes, sorts by time what has arrived in its inbox, and passes it on (`shared/`). What is
//! looked at one after the other lies close together, and nothing is looked at for a single packet.
//!
//! **One step for an arrival and its ACK** (`ends/connection.rs`). What a receiver does shows at its sender only after the way back. So
//! the receiver lags behind by that time, and both ends act at once. Where ACKs cross links they are packets (`ends/acks.rs`), and each
//! end acts at its own time.
//!
//! **Trains** (`ends/train.rs`). While nothing is missing and no timer comes between, packets that arrive one behind another are gone
//! through in one loop, with the state of both ends in registers.
//!
//! **Closed forms** (`link/`). A droptail FIFO link knows when a packet leaves as the packet arrives. It keeps no packets: equal packets
//! leave at equal distances, so the length of the queue follows from when the link will be free. A loss on the wire, a mark and a
//! wait are known then too, and count later (`link/late_losses.rs`). A link where no packet can ever wait only delays
//! (`topology.rs`). Any other link is the plain network's [`ManagedLink`](crate::net::link::managed::ManagedLink).
//!
//! **Merges** (`shared/merge.rs`, `shared/runs.rs`). What flows have sent to a shared link in a span is a sorted run for each of them: runs
//! are merged instead of sorted.
//!
//! **Agendas** (`ends/agenda.rs`). A flow that has nothing to do in a span is not looked at, nor is a link without arrivals.
//!
//! **Shards** (`shard.rs`, `threads.rs`). Flows are dealt out to shards, one for each thread. A shard has all that is theirs, and goes
//! through a span without asking others. At a shared link each shard sorts its arrivals; one thread merges them and decides in the
//! order of time what becomes of each packet; each shard does what was decided of its own (`shared/outcomes.rs`). So the results are the
//! same for any number of shards. A run of one shard with more flows than caches hold does the same, since a flow's state is then not
//! in the way of the link's.
//!
//! **Memory**. A packet has a size; most packets of a flow have the same, for which each hop keeps the times. Rings allocate nothing until
//! something comes, are a circle while they are short, and a row of chunks when they are long.
//!
//! Instructions per packet, as a multiple of those with all ideas, of four flows at 1 Gbps and 204 ms (`scenarios/reference.toml`) and
//! of flows over 32 links in a row (`bench/scenarios/hops-32.toml`):
//!
//! | without | four flows | 32 links |
//! |---|---|---|
//! | spans: event by event | 17.4 | 12.8 |
//! | closed forms | 2.9 | 3.7 |
//! | the fast path of ACKs at the sender | 1.7 | 1.02 |
//! | trains | 1.3 | 1.0 |
//! | links that only delay | 1.2 | 1.0 |
//! | merges of a few runs | 1.05 | 1.01 |
//! | agendas | 1.0 | 1.0 |
//! | all: the plain network | 13.9 | 11.1 |
//!
//! Agendas are for flows that wait: where all send, they cost nothing and save nothing.

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
use cwnd_scenario::{Link, RateVariation, Scenario};

/// Parts of a run that tests replace.
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

/// Returns true if this engine can answer `scenario`. Within a span the ends of flows depend on nobody else: none waits for another.
/// Where ACKs cross links, a packet takes time from its last link to the receiver: all ends of an instant act before its links do.
pub fn supports(scenario: &Scenario) -> bool {
    let takes_no_time = |link: &Link| {
        let rate = link.variation.as_ref().and_then(|variation| variation.rate.as_ref());
        matches!(rate, Some(RateVariation::Trace(_))) && link.least_delay_ns() == 0
    };
    let acks_cross_links = scenario.flows.iter().any(|flow| !flow.reverse_path.is_empty());
    scenario.flows.iter().all(|flow| flow.barrier().is_none())
        && !(acks_cross_links && scenario.links.iter().any(takes_no_time))
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
