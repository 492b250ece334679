//! A droptail FIFO link that adds up seconds in doubles, as ns-2 does.

use crate::fast::link::fifo::PathLink;
use crate::fast::link::losses::Losses;
use crate::memory::ring::Ring;
use crate::net::link::accounting::Totals;
use crate::net::link::waits::Waits;
use crate::time::{Fraction, Tick};

/// A packet that would be sent from then on is still in the queue when a run ends: when it would leave does not matter.
const LONGEST_S: f64 = 2e6;

/// The nearest whole nanosecond.
#[inline(always)]
pub fn nanoseconds(clock_s: f64) -> u64 {
    // No time is negative, nor as long as 292 years.
    (clock_s * 1e9 + 0.5) as i64 as u64
}

/// How long a packet takes to be sent, and to the far end of the link.
#[derive(Clone, Copy)]
pub struct Times {
    pub tx_s: f64,
    pub through_s: f64,
}

/// A packet that arrives.
pub struct ArrivingPacket {
    pub now_s: f64,
    pub now_ns: u64,
    pub times: Times,
    pub tx_ticks: u64,
    /// A packet that departs at this very instant has already gone.
    pub departs_first: bool,
}

pub struct Ns2Link {
    limit: u64,
    ecn_threshold: u64,
    losses: Option<Box<Losses>>,
    free_s: f64,
    /// When the packet that was accepted last begins to be sent.
    begins_ns: u64,
    /// Departure times of the packets held.
    departures_s: Ring<f64>,
    /// Packets in the queue when the last one was accepted, that one included.
    held: u64,
    /// The rest is accounting, in ticks, for what it adds up is rounded.
    free_at: u64,
    busy_since_ns: u64,
    busy_ticks: u64,
    held_ticks: u128,
    max_queue: u64,
    dropped: u64,
    waits: Waits,
}

impl Ns2Link {
    pub fn new(link: &cwnd_scenario::Link, seed: u64) -> Ns2Link {
        Ns2Link {
            limit: link.buffer_pkts.map_or(u64::MAX, u64::from),
            ecn_threshold: link.ecn_threshold_pkts.map_or(u64::MAX, u64::from),
            losses: Losses::new(link, seed),
            free_s: 0.0,
            begins_ns: 0,
            departures_s: Ring::new(),
            held: 0,
            free_at: 0,
            busy_since_ns: 0,
            busy_ticks: 0,
            held_ticks: 0,
            max_queue: 0,
            dropped: 0,
            waits: Waits::new(),
        }
    }

    /// Returns when the packet is at the far end; an error if the queue is full, or the wire loses it: when that counts.
    #[inline(always)]
    pub fn accept(&mut self, arrival: ArrivingPacket) -> Result<f64, u64> {
        let ArrivingPacket { now_s, now_ns, times, tx_ticks, departs_first } = arrival;
        let gone = |departure_s: f64| departure_s < now_s || departs_first && departure_s == now_s;
        while self.departures_s.front().is_some_and(|&departure_s| gone(departure_s)) {
            self.departures_s.pop_front();
        }
        let before = self.departures_s.len() as u64;
        let leaves_now = self.departures_s.front().is_some_and(|&departure_s| departure_s == now_s);
        if before >= self.limit {
            self.dropped += 1;
            return Err(now_ns);
        }
        let start_s = now_s.max(self.free_s);
        let (tx_s, tx_ticks) = if start_s < LONGEST_S { (times.tx_s, tx_ticks) } else { (0.0, 0) };
        let begins_ns = nanoseconds(start_s).max(now_ns);
        self.begins_ns = begins_ns;
        self.waits.note(now_ns, now_ns, || begins_ns);
        self.free_s = start_s + tx_s;
        self.departures_s.push_back(self.free_s);

        if before == 0 {
            self.busy_since_ns = now_ns;
        }
        self.held = before + 1;
        self.busy_ticks += tx_ticks;
        self.max_queue = self.max_queue.max(self.held - u64::from(leaves_now));
        let now = Fraction::count(now_ns);
        self.free_at = Fraction::count(nanoseconds(self.free_s)).max(now);
        self.held_ticks += u128::from(self.free_at - now);
        let lost = self.losses.as_mut().is_some_and(|losses| losses.loses(now_ns, || begins_ns));
        if lost { Err(begins_ns) } else { Ok(start_s + times.through_s) }
    }

    /// When the packets held at `now_ns` will have been sent.
    fn departures_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        let departures = self.departures_s.iter().map(|&departure_s| nanoseconds(departure_s));
        departures.filter(move |&departure_ns| departure_ns > now_ns)
    }
}

impl PathLink for Ns2Link {
    #[inline(always)]
    fn busy_since_ns(&self) -> u64 {
        self.busy_since_ns
    }

    fn marks(&self, _: u64) -> bool {
        self.held > self.ecn_threshold
    }

    fn held_pkts(&mut self, now_ns: u64) -> u64 {
        self.departures_ns(now_ns).count() as u64
    }

    fn wait_ns(&self, now_ns: u64) -> u64 {
        nanoseconds(self.free_s).saturating_sub(now_ns)
    }

    fn begins_ns(&self, _: u64) -> u64 {
        self.begins_ns
    }

    fn lost_pkts(&mut self, now_ns: u64) -> u64 {
        self.dropped + self.losses.as_mut().map_or(0, |losses| losses.lost_by(now_ns))
    }

    fn begin_measuring(&mut self, now_ns: u64) {
        self.max_queue = self.held_pkts(now_ns);
        self.waits.begin_measuring(now_ns);
    }

    fn totals(&mut self, end_ns: u64) -> Totals {
        let end = Fraction::count(end_ns);
        let beyond = |departure_ns: u64| u128::from(Fraction::count(departure_ns) - end);
        let beyond: u128 = self.departures_ns(end_ns).map(beyond).sum();
        // What the packets took, not what is between their departures, which are rounded.
        let unsent = self.free_at.saturating_sub(end);
        let busy = self.busy_ticks.saturating_sub(unsent).min(end);
        self.waits.count_until(end_ns);
        Totals {
            dropped: self.dropped,
            corrupted: self.losses.as_mut().map_or(0, |losses| losses.lost_by(end_ns)),
            sent: busy.into(),
            offered: end.into(),
            // By this clock the last packets may arrive after the end.
            held_ns: Fraction::as_ns(self.held_ticks.saturating_sub(beyond)),
            max_queue: self.max_queue,
            p95_wait_ns: self.waits.quantile_ns(0.95),
        }
    }
}
