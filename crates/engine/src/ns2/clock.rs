//! How a run keeps time.

use crate::memory::ring::Ring;
use crate::path::link::Link;
use crate::simulation::Passed;
use crate::tcp::packet::BLOCKS_MAX;
use crate::time::{Fraction, Tick};
use cwnd_scenario::Scenario;
use std::cmp::Reverse;
use std::marker::PhantomData;

/// Time is whole nanoseconds to all of the engine. Where packets meet, a clock may know more.
pub trait Clock {
    /// What it knows of a time beyond its nanosecond.
    type Exact: Copy + Default;
    /// What links count time in.
    type Tick: Tick;
    /// Links keep ns-2's time, too.
    const NS2: bool;

    fn exact(clock_s: f64) -> Self::Exact;
    fn clock_s(exact: Self::Exact) -> f64;
    /// Of packets that arrive in the same nanosecond, the least comes first. `busy_since`: since when the link that sent
    /// it last had been sending without a pause.
    fn rank(exact: Self::Exact, busy_since: u64) -> impl Ord;
}

/// Whole nanoseconds alone, but in the links' own sums with [`Fraction`].
pub struct Nanoseconds<T>(PhantomData<T>);

impl<T: Tick> Clock for Nanoseconds<T> {
    type Exact = ();
    type Tick = T;
    const NS2: bool = false;

    fn exact(_: f64) {}

    fn clock_s((): ()) -> f64 {
        0.0
    }

    fn rank((): (), busy_since: u64) -> impl Ord {
        Reverse(busy_since)
    }
}

/// Links add up seconds in doubles, in the order in which ns-2 does: its rounding decides who comes first.
pub struct Ns2;

impl Clock for Ns2 {
    /// The time as ns-2 has it, in seconds.
    type Exact = f64;
    type Tick = Fraction;
    const NS2: bool = true;

    fn exact(clock_s: f64) -> f64 {
        clock_s
    }

    fn clock_s(clock_s: f64) -> f64 {
        clock_s
    }

    fn rank(clock_s: f64, busy_since: u64) -> impl Ord {
        // No time is negative, and the bits of such doubles are in order.
        (clock_s.to_bits(), Reverse(busy_since))
    }
}

/// What would be sent from then on is still there when a run ends: when exactly it would leave does not matter.
const LONGEST_S: f64 = 2e6;

/// The nearest whole nanosecond.
#[inline(always)]
fn nanoseconds(clock_s: f64) -> u64 {
    // No time is negative, nor as long as 292 years.
    (clock_s * 1e9 + 0.5) as i64 as u64
}

/// TCPSink/Sack1 tells of a stretch of segments in so many bytes.
const SACK_BLOCK_BYTES: u32 = 8;

/// What ns-2 has of the time: when each link will be free, and what each packet there leaves.
#[derive(Default)]
pub struct Ns2Time {
    pub now_s: f64,
    hops: Vec<Hop>,
    /// By link.
    queues: Vec<Queue>,
    /// Of each flow: what an ACK takes over each link of its way back, without and with SACK blocks.
    ways_back_s: Vec<[Box<[f64]>; 1 + BLOCKS_MAX]>,
    /// By flow: what its sender has seen of the time. An ACK with SACK blocks is later than its event, which a timer may
    /// follow.
    seen_ns: Vec<u64>,
}

/// A link where packets may wait, and those behind it where none does.
struct Hop {
    crossing: Crossing,
    /// A packet that arrives at the instant of a departure finds that packet gone. Of two events at one instant ns-2 runs
    /// first the one that it scheduled first: an arrival as long before as the link before takes, or on the first link the
    /// ACK that causes it; a departure as long before as the packet takes to be sent.
    departs_first: bool,
    onward: Vec<(Crossing, f64)>,
}

/// How long a packet takes to be sent, and until it is at the far end; a SYN behind it.
#[derive(Clone, Copy)]
struct Crossing {
    tx_s: [f64; 2],
    through_s: [f64; 2],
}

struct Queue {
    free_s: f64,
    /// Of the packets held.
    departures_s: Ring<f64>,
}

impl Ns2Time {
    /// `hops`: the flow of each, and its links, those where packets may wait first.
    pub fn new<'a>(scenario: &Scenario, hops: impl Iterator<Item = (u32, u32, &'a [Passed])>) -> Ns2Time {
        let tx_s = |link: &cwnd_scenario::Link, bytes: u32| 8.0 * f64::from(bytes) / link.rate_bps as f64;
        // As a script of ns-2 says it, in milliseconds.
        let delay_s = |link: &cwnd_scenario::Link| link.delay_ns as f64 / 1e6 * 1e-3;
        let crossing = |flow: u32, link: u32| {
            let (flow, link) = (&scenario.flows[flow as usize], &scenario.links[link as usize]);
            let tx_s = [flow.packet_bytes(), flow.stack.ack_bytes].map(|bytes| tx_s(link, bytes));
            Crossing { tx_s, through_s: tx_s.map(|tx_s| tx_s + delay_s(link)) }
        };
        let hops = hops.map(|(flow, link, passed)| {
            let own = crossing(flow, link);
            let path = &scenario.flows[flow as usize].path;
            let before = path.iter().take_while(|&&on_path| on_path != link).last();
            let ahead_s = match before {
                Some(&before) => crossing(flow, before).through_s[0],
                None => own.through_s[1],
            };
            Hop {
                crossing: own,
                departs_first: ahead_s < own.tx_s[0],
                onward: passed.iter().map(|passed| (crossing(flow, passed.link), 0.0)).collect(),
            }
        });
        let way_back_s = |flow: &cwnd_scenario::Flow| {
            std::array::from_fn(|blocks| {
                let blocks =
                    if flow.stack.recovery.choices().detection.uses_sack() { blocks as u32 } else { 0 };
                let ack_bytes = flow.stack.ack_bytes + SACK_BLOCK_BYTES * blocks;
                let links = flow.path.iter().rev().map(|&link| &scenario.links[link as usize]);
                links.map(|link| tx_s(link, ack_bytes) + delay_s(link)).collect()
            })
        };
        Ns2Time {
            now_s: 0.0,
            hops: hops.collect(),
            queues: scenario.links.iter().map(|_| Queue { free_s: 0.0, departures_s: Ring::new() }).collect(),
            ways_back_s: scenario.flows.iter().map(way_back_s).collect(),
            seen_ns: vec![0; scenario.flows.len()],
        }
    }

    /// An event at the sender of `flow` is due at `due`: what time it is there.
    pub fn set(&mut self, flow: u32, due: u64) -> u64 {
        self.see(flow, due, due as f64 / 1e9)
    }

    /// A packet of `flow` is at the receiver at `clock_s`: what time it is when its ACK is at the sender.
    pub fn acknowledge(&mut self, flow: u32, clock_s: f64, blocks: usize) -> u64 {
        let way_back_s = &self.ways_back_s[flow as usize][blocks];
        let clock_s = way_back_s.iter().fold(clock_s, |clock_s, link_s| clock_s + link_s);
        self.see(flow, nanoseconds(clock_s), clock_s)
    }

    fn see(&mut self, flow: u32, now: u64, now_s: f64) -> u64 {
        let seen_ns = &mut self.seen_ns[flow as usize];
        self.now_s = if now < *seen_ns { *seen_ns as f64 / 1e9 } else { now_s };
        *seen_ns = now.max(*seen_ns);
        *seen_ns
    }

    /// A packet arrives now at the `link` of hop `hop`. When it arrives at the next hop, in both clocks.
    #[inline(always)]
    pub fn accept<T: Tick>(
        &mut self,
        link: &mut Link<T>,
        (hop, id): (u32, u32),
        now: u64,
        tx_ticks: u64,
        is_syn: bool,
    ) -> Option<(u64, f64)> {
        let Hop { crossing, departs_first, onward } = &mut self.hops[hop as usize];
        let queue = &mut self.queues[id as usize];
        let gone = |departure_s: f64| departure_s < self.now_s || *departs_first && departure_s == self.now_s;
        while queue.departures_s.front().is_some_and(|&departure_s| gone(departure_s)) {
            queue.departures_s.pop_front();
        }
        let held = queue.departures_s.len() as u64;
        let leaves_now = queue.departures_s.front().is_some_and(|&departure_s| departure_s == self.now_s);
        if held >= link.limit() {
            link.refuse();
            return None;
        }
        let start_s = self.now_s.max(queue.free_s);
        let (tx_s, tx_ticks) =
            if start_s < LONGEST_S { (crossing.tx_s[usize::from(is_syn)], tx_ticks) } else { (0.0, 0) };
        queue.free_s = start_s + tx_s;
        queue.departures_s.push_back(queue.free_s);
        link.accept_at(now, nanoseconds(queue.free_s), tx_ticks, held, leaves_now)?;
        let mut clock_s = start_s + crossing.through_s[usize::from(is_syn)];
        for (crossing, free_s) in onward {
            let start_s = clock_s.max(*free_s);
            *free_s = start_s + crossing.tx_s[usize::from(is_syn)];
            clock_s = start_s + crossing.through_s[usize::from(is_syn)];
        }
        Some((nanoseconds(clock_s), clock_s))
    }

    /// When those that link `id` holds at `now` will have been sent.
    pub fn departures(&self, id: usize, now: u64) -> impl Iterator<Item = u64> {
        let departures = self.queues[id].departures_s.iter().map(|&departure_s| nanoseconds(departure_s));
        departures.filter(move |&departure| departure > now)
    }
}
