//! Turns at which packets of a link leave together.

use crate::net::link::rate::Rate;
use crate::time::Tick;
use cwnd_scenario::Aggregation;
use std::collections::VecDeque;

/// `D`: a packet that leaves.
pub struct Turns<D> {
    every_ns: u64,
    pub most_pkts: u32,
    /// Packets of the turn under way that are not passed on yet.
    pub leaving: VecDeque<D>,
    /// When the turn after that comes, in ticks, or NEVER.
    pub next_at: u64,
}

impl<D> Turns<D> {
    pub fn new(aggregation: Aggregation) -> Turns<D> {
        let Aggregation { every_ns, most_pkts } = aggregation;
        Turns { every_ns, most_pkts, leaving: VecDeque::new(), next_at: 0 }
    }

    /// When the first turn comes, not before `at`, that no suspension of the link's `rate` takes in; in ticks.
    pub fn ready<T: Tick>(&self, rate: &Rate, at: u64) -> u64 {
        let mut turn = at;
        loop {
            turn = turn.next_multiple_of(T::count(self.every_ns));
            match rate.ready_when_idle::<T>(turn, false) {
                ready if ready == turn => return turn,
                later => turn = later,
            }
        }
    }
}
