//! A link in one direction: a queue that a discipline manages, a sender of bits, and a wire.

pub mod accounting;
pub mod fineness;
pub mod managed;
pub mod packet_set;
pub mod policer;
pub mod queue;
pub mod rate;
pub mod turns;
pub mod waits;
pub mod wire;

use crate::net::link::managed::{Arriving, ManagedLink};
use crate::net::link::queue::discipline::Discipline;
use crate::net::measure::rows::LinkCounts;
use crate::time::{Fraction, NEVER, Tick};
use cwnd_scenario::Scenario;

pub struct Link<'a, T> {
    described: &'a cwnd_scenario::Link,
    /// True if nanoseconds are too coarse for the time that it takes to send a packet.
    is_finer: bool,
    pub link: ManagedLink<T>,
    /// Packets at the far end of its wire.
    pub delivered_pkts: u64,
    /// When the last event comes that was scheduled for its next departure, or NEVER.
    pub scheduled_ticks: u64,
}

impl<'a, T: Tick> Link<'a, T> {
    /// The link with number `id` in the scenario.
    pub fn new(
        scenario: &'a Scenario,
        id: u32,
        discipline: Box<dyn Discipline>,
        is_finer: bool,
        seed: u64,
    ) -> Link<'a, T> {
        let described = &scenario.links[id as usize];
        let link = ManagedLink::new(discipline, described, scenario.ethernet_bytes(id), seed);
        Link { described, is_finer, link, delivered_pkts: 0, scheduled_ticks: NEVER }
    }

    /// How long the link takes to send `bytes`.
    fn sending_ticks(&self, bytes: u32) -> u64 {
        if self.is_finer {
            Fraction::sending_ticks(self.described, bytes)
        } else {
            T::count(self.described.sending_ns(bytes))
        }
    }

    pub fn accept(&mut self, arriving: Arriving) {
        let tx_ticks = self.sending_ticks(arriving.segment.tag.bytes());
        self.link.accept(arriving, tx_ticks);
    }

    /// Returns the counts of the link up to `now_ns`.
    pub fn counts(&self, now_ns: u64) -> LinkCounts {
        LinkCounts::new(&self.link, self.delivered_pkts, now_ns)
    }
}
