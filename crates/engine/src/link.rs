//! A FIFO link with a droptail queue and random loss on the wire.

use crate::ring::Ring;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// What became of a packet that arrived at a link.
pub enum Fate {
    /// It leaves the sending end at `departure`; the link has been sending without a pause since `busy_since`.
    /// `marked`: the queue stood at its ECN threshold, as a sender that understands it learns.
    Departs { departure: u64, busy_since: u64, marked: bool },
    /// The queue was full.
    Dropped,
    /// It was sent, and lost on the wire.
    Corrupted,
}

/// Because the link is FIFO, a packet's departure is known when it arrives.
pub struct Link {
    limit: usize,
    ecn_threshold: usize,
    /// When the packet that arrived last will have been sent.
    free_at: u64,
    /// Since when the link has been sending without a pause.
    busy_since: u64,
    /// Departure times of the packets held at the last arrival.
    departures: Ring<u64>,
    wire: Option<Wire>,
    accepted: u64,
    dropped: u64,
    corrupted: u64,
    /// Departure times of the latest packets to be lost on the wire.
    corrupted_departures: Ring<u64>,
    busy_ns: u64,
    /// Sum over the packets of the time each is held: the time integral of the queue.
    held_ns: u128,
    max_queue: usize,
}

/// Loses each packet with the same probability, independently.
struct Wire {
    /// A 64-bit draw below it is a loss.
    threshold: u64,
    rng: ChaCha8Rng,
}

/// The random stream of what is called `name`: another link or flow more or less changes none of its draws.
pub fn random_stream(seed: u64, name: &str) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    // FNV-1a.
    let stream = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    rng.set_stream(stream);
    rng
}

/// Totals of a link at the end of a run.
pub struct Totals {
    pub sent: u64,
    pub dropped: u64,
    pub corrupted: u64,
    /// Of these, the ones that have been sent.
    pub corrupted_sent: u64,
    pub busy_ns: u64,
    pub held_ns: u128,
    pub max_queue: u64,
}

impl Link {
    pub fn new(link: &cwnd_scenario::Link, seed: u64) -> Link {
        let wire = (link.per > 0.0).then(|| Wire {
            threshold: (link.per * 2f64.powi(64)) as u64,
            rng: random_stream(seed, &link.name),
        });
        Link {
            limit: link.buffer_pkts.map_or(usize::MAX, |pkts| pkts as usize),
            ecn_threshold: link.ecn_threshold_pkts.map_or(usize::MAX, |pkts| pkts as usize),
            free_at: 0,
            busy_since: 0,
            departures: Ring::new(),
            wire,
            accepted: 0,
            dropped: 0,
            corrupted: 0,
            corrupted_departures: Ring::new(),
            busy_ns: 0,
            held_ns: 0,
            max_queue: 0,
        }
    }

    /// A packet that takes `tx_ns` to send arrives at `now`; arrivals come in the order of time.
    #[inline]
    pub fn accept(&mut self, now: u64, tx_ns: u64) -> Fate {
        // An arrival at the instant of a departure finds that packet still there.
        while self.departures.front().is_some_and(|&departure| departure < now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.limit {
            self.dropped += 1;
            return Fate::Dropped;
        }
        if self.free_at < now {
            self.busy_since = now;
        }
        let departure = self.free_at.max(now) + tx_ns;
        self.free_at = departure;
        self.departures.push_back(departure);
        let marked = self.departures.len() > self.ecn_threshold;
        self.accepted += 1;
        self.busy_ns += tx_ns;
        self.held_ns += u128::from(departure - now);
        let leaving = usize::from(self.departures.front() == Some(&now));
        self.max_queue = self.max_queue.max(self.departures.len() - leaving);
        if let Some(wire) = &mut self.wire
            && wire.rng.next_u64() < wire.threshold
        {
            self.corrupted += 1;
            while self.corrupted_departures.front().is_some_and(|&departure| departure <= now) {
                self.corrupted_departures.pop_front();
            }
            self.corrupted_departures.push_back(departure);
            return Fate::Corrupted;
        }
        Fate::Departs { departure, busy_since: self.busy_since, marked }
    }

    /// Packets held at `now`, the one being sent included.
    #[inline]
    pub fn queue(&mut self, now: u64) -> usize {
        while self.departures.front().is_some_and(|&departure| departure <= now) {
            self.departures.pop_front();
        }
        self.departures.len()
    }

    /// Totals up to `end`, the time of the last arrival or later.
    pub fn totals(&mut self, end: u64) -> Totals {
        let held = self.queue(end) as u64;
        let beyond: u128 = self.departures.iter().map(|&departure| u128::from(departure - end)).sum();
        Totals {
            sent: self.accepted - held,
            dropped: self.dropped,
            corrupted: self.corrupted,
            corrupted_sent: self.corrupted
                - self.corrupted_departures.iter().filter(|&&departure| departure > end).count() as u64,
            busy_ns: self.busy_ns - self.free_at.saturating_sub(end),
            held_ns: self.held_ns - beyond,
            max_queue: self.max_queue as u64,
        }
    }
}
