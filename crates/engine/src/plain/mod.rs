//! The plain network: the model of this project, event by event. The rest of the crate gives the same results sooner.
//!
//! **Time** is whole nanoseconds from the beginning of the run. Where a link is so fast that they are too coarse, links count in
//! ticks, 4096 to a nanosecond, so that the times to send packets add up; what leaves between two nanoseconds has left at the
//! second.
//!
//! **A connection** has two ends (`ends.rs`): a TCP sender and its receiver, or a source of datagrams and their sink. An end acts
//! when a packet reaches it or one of its timers runs out, at once and in no time, and what it then sends is at its first link.
//!
//! **A route** is a row of links. Data crosses those of the flow's path, one after the other, and is at the receiver. An ACK is a
//! packet, too. It crosses the links of the way back, if the flow has any, and then takes a constant delay to the sender.
//!
//! **A link** (`link.rs`) is a queue, a sender of bits and a wire. A packet that arrives goes to the queue's discipline, which
//! holds or drops it. When the link is free it asks the discipline for the next packet and is busy for the packet's bits at its
//! rate. Then the packet is on the wire, which delays it, and may lose it, deliver it twice or before another. A policer stands
//! before the queue. Sizes are those on the wire: a SYN, an ACK and a short last segment are packets of their size.
//!
//! **Ties** have one rule (`events.rs`): at an instant the ends come first, a timer before an arrival, and then the links in
//! the order of the routes. At a link arrivals come before departures: who arrives as a packet leaves finds it still there.
//!
//! **What counts when**: a packet is held from its arrival until its last bit is sent, or until the first of the opportunities
//! of a trace that it takes. A mark, a loss on the wire and a wait
//! count when the packet begins to be sent; a drop when the discipline drops the packet; a delivery at the far end of the wire.
//! A packet that waits when the run ends has none of these yet.
//!
//! **Measuring** begins with the warmup's end, when all of that instant has happened: a run's counts are those at its end less
//! those at that time. A sample shows its instant after everything else that happens in it.
//!
//! **Chance** comes from the seed, a stream of numbers for each use (`random.rs`), so that equal questions have equal answers.
//!
//! A clock that adds up seconds is not part of the model: scenarios with one are refused.

mod connection;
mod ends;
mod events;
mod link;
mod measure;
mod network;

use crate::control::{Control, Unfinished};
use crate::plain::network::Network;
use crate::time::{Fraction, Nanosecond};
use crate::topology::finer_links;
use crate::{Custom, registered, until_last_arrival};
use cwnd_algorithms::CongestionControl;
use cwnd_results::Run;
use cwnd_scenario::Scenario;

/// Answers `scenario` with `seed`, as [`run`](crate::run) does.
///
/// # Errors
///
/// If the run cannot go on to its end.
///
/// # Panics
///
/// If the scenario has a clock that adds up seconds, or [`Scenario::check`] would refuse it.
pub fn run(scenario: &Scenario, seed: u64, custom: Custom, control: &Control) -> Result<Run, Unfinished> {
    let run = run_for_duration(scenario, seed, custom, control)?;
    match until_last_arrival(scenario, &run) {
        None => Ok(run),
        Some(shorter) => run_for_duration(&shorter, seed, custom, control),
    }
}

fn run_for_duration(
    scenario: &Scenario,
    seed: u64,
    custom: Custom,
    control: &Control,
) -> Result<Run, Unfinished> {
    assert!(!scenario.clock.adds_up_seconds(), "seconds are not added up here");
    let make = |flow: usize| -> Box<dyn CongestionControl> {
        let cca = &scenario.flows[flow].cca;
        custom(cca).unwrap_or_else(|| Box::new(registered()(cca)))
    };
    let finer = finer_links(scenario);
    if finer.contains(&true) {
        Network::<Fraction>::new(scenario, &finer, seed, &make).answer(control)
    } else {
        Network::<Nanosecond>::new(scenario, &finer, seed, &make).answer(control)
    }
}
