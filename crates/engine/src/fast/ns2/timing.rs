//! ns-2's time: links add up seconds in doubles, in the order in which ns-2 does. Its rounding decides which packet is first.

use crate::fast::link::timing::{Crossing, TakeIn, Timing};
use crate::fast::ns2::link::{ArrivingPacket, Ns2Link, Times, nanoseconds};
use crate::fast::topology::Topology;
use crate::tcp::packet::BLOCKS_MAX;
use crate::time::Fraction;
use cwnd_scenario::{Flow, Link, Scenario};
use std::cmp::Reverse;

/// A SACK block of TCPSink/Sack1.
const SACK_BLOCK_BYTES: u32 = 8;

pub struct Ns2Timing {
    now_s: f64,
    hops: Vec<Ns2Hop>,
    /// By flow: the time that an ACK takes over each link of its way back, without and with SACK blocks.
    ways_back_s: Vec<[Box<[f64]>; 1 + BLOCKS_MAX]>,
    /// By flow: the latest time at its sender. An ACK with SACK blocks is later than its event, which a timer may follow.
    latest_ns: Vec<u64>,
}

/// A link where packets may wait, and the links behind it where none does.
struct Ns2Hop {
    link: KnownLink,
    /// A packet that arrives at the instant of a departure finds that packet gone. Of two events at one instant ns-2 runs
    /// first the one that it scheduled first: an arrival as long before as the link before takes, or on the first link the
    /// ACK that causes it; a departure as long before as the packet takes to be sent.
    departs_first: bool,
    /// Each with the time at which it is free.
    onward: Box<[(KnownLink, f64)]>,
}

/// A link, and the times of packets of the size that most have.
struct KnownLink {
    rate_bps: u64,
    delay_ns: u64,
    bytes: u32,
    times: Times,
}

impl KnownLink {
    fn new(link: &Link, bytes: u32) -> KnownLink {
        let (rate_bps, delay_ns) = (link.rate_bps, link.delay_ns);
        KnownLink { rate_bps, delay_ns, bytes, times: times(rate_bps, delay_ns, bytes) }
    }

    #[inline(always)]
    fn times(&self, bytes: u32) -> Times {
        if bytes == self.bytes { self.times } else { self.other_times(bytes) }
    }

    #[cold]
    #[inline(never)]
    fn other_times(&self, bytes: u32) -> Times {
        times(self.rate_bps, self.delay_ns, bytes)
    }
}

fn times(rate_bps: u64, delay_ns: u64, bytes: u32) -> Times {
    let tx_s = 8.0 * f64::from(bytes) / rate_bps as f64;
    // A script of ns-2 has delays in milliseconds.
    Times { tx_s, through_s: tx_s + delay_ns as f64 / 1e6 * 1e-3 }
}

impl Ns2Timing {
    #[inline(always)]
    fn see(&mut self, flow: u32, now_ns: u64, now_s: f64) -> u64 {
        let latest_ns = &mut self.latest_ns[flow as usize];
        self.now_s = if now_ns < *latest_ns { *latest_ns as f64 / 1e9 } else { now_s };
        *latest_ns = now_ns.max(*latest_ns);
        *latest_ns
    }
}

fn way_back_s(scenario: &Scenario, flow: &Flow, blocks: usize) -> Box<[f64]> {
    let blocks = if flow.stack.recovery.choices().detection.uses_sack() { blocks as u32 } else { 0 };
    let ack_bytes = flow.stack.ack_bytes + SACK_BLOCK_BYTES * blocks;
    let links = flow.path.iter().rev().map(|&link| &scenario.links[link as usize]);
    links.map(|link| times(link.rate_bps, link.delay_ns, ack_bytes).through_s).collect()
}

impl Timing for Ns2Timing {
    /// The time as ns-2 has it, in seconds.
    type SubNanosecond = f64;
    type Tick = Fraction;
    type Link = Ns2Link;

    fn new(scenario: &Scenario, topology: &Topology<Fraction>) -> Ns2Timing {
        let known = |link: u32, bytes: u32| KnownLink::new(&scenario.links[link as usize], bytes);
        let hops = (0..).zip(&topology.hops).map(|(id, hop)| {
            let flow = &scenario.flows[hop.flow as usize];
            let link = known(hop.link, hop.bytes);
            let before = flow.path.iter().take_while(|&&on_path| on_path != hop.link).last();
            let ahead_s = match before {
                Some(&before) => known(before, hop.bytes).times.through_s,
                None => link.times(flow.stack.ack_bytes).through_s,
            };
            let departs_first = ahead_s < link.times.tx_s;
            let onward =
                topology.delay_only_links(id).iter().map(|onward| (known(onward.link, hop.bytes), 0.0));
            Ns2Hop { link, departs_first, onward: onward.collect() }
        });
        let ways_back_s = |flow| std::array::from_fn(|blocks| way_back_s(scenario, flow, blocks));
        Ns2Timing {
            now_s: 0.0,
            hops: hops.collect(),
            ways_back_s: scenario.flows.iter().map(ways_back_s).collect(),
            latest_ns: vec![0; scenario.flows.len()],
        }
    }

    fn new_link(link: &Link, seed: u64) -> Ns2Link {
        Ns2Link::new(link, seed)
    }

    const TAKE_IN: Option<TakeIn<Self::Link>> = None;

    /// A rounding for each link, and one at either end.
    fn slack_ns(links: u64) -> u64 {
        links + 2
    }

    fn reach_sender(&mut self, flow: u32, due_ns: u64) -> u64 {
        self.see(flow, due_ns, due_ns as f64 / 1e9)
    }

    #[inline(always)]
    fn return_ack(
        &mut self,
        flow: u32,
        due_ns: u64,
        exact_s: f64,
        blocks: Option<impl FnOnce() -> usize>,
    ) -> u64 {
        let Some(blocks) = blocks else { return self.reach_sender(flow, due_ns) };
        let way_back_s = &self.ways_back_s[flow as usize][blocks()];
        let clock_s = way_back_s.iter().fold(exact_s, |clock_s, link_s| clock_s + link_s);
        self.see(flow, nanoseconds(clock_s), clock_s)
    }

    fn from_ns(now_ns: u64) -> f64 {
        now_ns as f64 / 1e9
    }

    fn now(&self) -> f64 {
        self.now_s
    }

    fn set_now(&mut self, exact_s: f64) {
        self.now_s = exact_s;
    }

    #[inline(always)]
    fn cross(
        &mut self,
        link: &mut Ns2Link,
        crossing: Crossing,
        _onward_ns: impl FnOnce() -> u64,
    ) -> Result<(u64, f64), u64> {
        let Crossing { now_ns, bytes, tx_ticks, .. } = crossing;
        let hop = &mut self.hops[crossing.hop as usize];
        let mut clock_s = link.accept(ArrivingPacket {
            now_s: self.now_s,
            now_ns,
            times: hop.link.times(bytes),
            tx_ticks,
            departs_first: hop.departs_first,
        })?;
        for (onward, free_s) in &mut hop.onward {
            let Times { tx_s, through_s } = onward.times(bytes);
            let start_s = clock_s.max(*free_s);
            *free_s = start_s + tx_s;
            clock_s = start_s + through_s;
        }
        Ok((nanoseconds(clock_s), clock_s))
    }

    fn rank(exact_s: f64, busy_since_ns: u64) -> impl Ord {
        // No time is negative, and the bits of such doubles are in order.
        (exact_s.to_bits(), Reverse(busy_since_ns))
    }
}
