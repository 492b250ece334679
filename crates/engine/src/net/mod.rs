//! The plain network: the model of this project, event by event. The rest of the crate gives the same results sooner.
//!
//! **Time** is whole nanoseconds from the beginning of the run. Where a link is so fast that these are too coarse, links count in
//! ticks, 4096 to a nanosecond, so that the times to send packets add up. A packet whose last bit is sent between two nanoseconds
//! is at the far end as if it had been sent at the later one.
//!
//! **A connection** has two ends (`endpoints.rs`): a TCP sender and its receiver (`tcp.rs`), a source of datagrams and their sink
//! (`datagrams.rs`), or ends that a caller brings (`parts.rs`), as those of a QUIC stack. An end acts when a packet reaches it or one
//! of its timers runs out, at once and in no time, and what it then sends is at its first link. Senders of flows that share a
//! barrier send their next requests when the last of the responses to all of them has ended.
//!
//! **A route** is a row of links, whose numbers rise. Data crosses those of the flow's path, one after the other, and is at the
//! receiver. An ACK is a packet, too. It crosses the links of the way back, if the flow has any, and then takes a constant delay
//! to the sender. Without a way back it meets no queue and is never lost.
//!
//! **A link** (`link/`) is a policer, a queue, a sender of bits and a wire, of which only the queue and the sender need be there.
//! A packet that arrives and passes the policer goes to the queue's discipline, which holds or drops it. When the link is free it
//! asks the discipline for the next packet and is busy for the packet's bits at its rate. Then the packet is on the wire, which
//! delays it, and may lose it, deliver it twice or before another. Sizes are those on the wire: a SYN, an ACK and a short last
//! segment are packets of their size.
//!
//! **An end may not** know more than the packets that reach it, the time and its own timers; nothing of links, queues or other
//! connections, but for a barrier. It may not act when the network does not call it, ask for a timer in the past, or change what it
//! has sent.
//!
//! **A link may not** make a packet, but for the copy of a wire that duplicates; change one, but for its mark; or know what is
//! behind it. A discipline sees a packet's connection, size, codepoint, mark and time of arrival, and no more. It sends or drops each
//! packet once, and says that it is empty only when no packet waits.
//!
//! **One instant** has an order (`events.rs`): transfers begin, timers run out, ACKs are at senders, data is at receivers; then the
//! links by their numbers; then the warmup ends, and samples are taken. At a link arrivals come before departures: a packet that
//! arrives just as another leaves, at the same tick, finds it still there. Only the opportunity of a trace comes before an arrival of
//! its instant. What an end makes at an instant comes next, also where this order puts it before something that has been.
//!
//! **What counts when**: a packet is held from its arrival until its last bit is sent or it is dropped, or on a link with a trace
//! until the first opportunity that it takes. A loss on the wire and a wait count when the packet begins to be sent, and so does
//! a mark, unless the wire then loses the packet. A drop counts when the policer or the discipline drops the packet, a delivery at
//! the far end of the wire. A packet that waits when the run ends has none of these yet. Of every sixteenth packet the wait is looked
//! at, and less than 128 ns is none.
//!
//! **A mark** is decided by the policer or the discipline when the packet arrives, or by the discipline or the wire when it begins to
//! be sent. It travels in the packet to the receiver, whose ACKs tell the sender. ACKs themselves are never marked.
//!
//! **Measuring** begins when the warmup ends: counts are those at the end of the run less those at that time. Without a warmup
//! everything counts.
//!
//! **Chance** comes from the seed, a stream of numbers for each use (`random.rs`): the same scenario and seed always give the same
//! results.
//!
//! Read in this order: `events.rs`, then `network.rs`, which does what each event says; `endpoints.rs` and `tcp.rs`, the ends;
//! `link/managed.rs` with `queue/discipline.rs`, `queue/fifo.rs` and `wire.rs`, a link; `measure/`. The other disciplines, traces
//! (`rate.rs`) and turns can wait.
//!
//! A clock that adds up seconds, in which times are rounded as another simulator rounds them, is not part of the model: [`run`]
//! panics on a scenario with one.

mod connection;
pub(crate) mod datagrams;
pub(crate) mod endpoints;
pub(crate) mod events;
pub(crate) mod group;
pub(crate) mod lifetime;
pub(crate) mod link;
pub(crate) mod measure;
mod network;
mod parts;
mod tap;
mod tcp;

use crate::control::{Control, Unfinished};
use crate::instances::Custom;
pub use crate::net::endpoints::{Content, Datagram, Endpoints, Packet, Side};
use crate::net::link::fineness::finer_links;
pub use crate::net::link::queue::discipline::{Discipline, Next, Queued};
pub use crate::net::link::queue::packet_by_packet;
pub use crate::net::measure::counts::{Counts, Received};
use crate::net::measure::observe::Observation;
pub use crate::net::measure::rows::counted;
pub use crate::net::measure::samples::FlowLook;
use crate::net::network::Network;
pub use crate::net::parts::{Parts, Taps, Transports};
pub use crate::net::tap::Tap;
pub use crate::tcp::packet::{CONGESTION, CWR, Segment, SelectiveAck, Tag};
pub use crate::tcp::source::TransferRow;
pub use crate::time::NEVER;
use crate::time::{Fraction, Nanosecond};
use cwnd_results::Run;
use cwnd_scenario::Scenario;

/// The name of this world in results.
pub const WORLD: &str = "sim";

/// A run under way, whatever its algorithms and timing.
pub trait Advance {
    /// Simulates all that happens up to `until_ns`, included.
    fn advance(&mut self, until_ns: u64) -> Result<(), Unfinished>;

    /// The run at `now_ns`, which it has been advanced to.
    fn observe(&mut self, now_ns: u64) -> Observation;

    /// The results at the end of the duration, which the run has been advanced to.
    fn finish(self: Box<Self>) -> Run;
}

/// A run whose caller has the clock, and packets for ends of its own, as devices have.
pub trait Drive: Advance {
    /// The next time of the ends of `flow` is sooner than it was.
    fn wake(&mut self, flow: u32);

    /// When something happens next, or [`NEVER`].
    fn next_event_ns(&self) -> u64;

    /// The results at `end_ns`, which the run has been advanced to.
    fn finish_at(self: Box<Self>, end_ns: u64) -> Run;
}

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
    lifetime::answer(scenario, |scenario| {
        let parts = Parts { algorithms: custom, ..Parts::default() };
        let mut simulation = begin(scenario, seed, parts, control);
        simulation.advance(scenario.duration_ns)?;
        Ok(simulation.finish())
    })
}

/// A run before anything has happened. Chooses how its links count time.
///
/// # Panics
///
/// As [`run`].
pub fn begin<'a>(
    scenario: &'a Scenario,
    seed: u64,
    parts: Parts<'a>,
    control: &'a Control,
) -> Box<dyn Drive + 'a> {
    assert!(!scenario.clock.adds_up_seconds(), "seconds are not added up here");
    let finer = finer_links(scenario);
    if finer.contains(&true) {
        Box::new(Network::<Fraction>::new(scenario, &finer, seed, parts, control))
    } else {
        Box::new(Network::<Nanosecond>::new(scenario, &finer, seed, parts, control))
    }
}
