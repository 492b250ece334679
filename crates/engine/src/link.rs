//! A FIFO link with a droptail queue and random loss on the wire.

use crate::NEVER;
use crate::ring::Ring;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Because the link is FIFO, a packet's departure is known when it arrives. Packets that take equally long to send
/// leave at equal distances: as long as it holds no others, what it holds follows from when it will be free.
pub struct Link {
    /// When the packet that arrived last will have been sent.
    free_at: u64,
    /// Since when the link has been sending without a pause.
    busy_since: u64,
    /// What each of the packets held takes, more than 0; NEVER before the first, and while some are in `mixed`.
    tx_ns: u64,
    /// Packets that came while it sent such ones without a pause: at least those held.
    run: u64,
    /// The work at which as many of them are held as the buffer takes, as are marked, and as ever were.
    full_ns: u64,
    mark_ns: u64,
    most_ns: u64,
    limit: u64,
    ecn_threshold: u64,
    max_queue: u64,
    accepted: u64,
    busy_ns: u64,
    /// Sum over the packets of the time each is held: the time integral of the queue.
    held_ns: u128,
    wire: Option<Box<Wire>>,
    /// The packets held, if they are not all alike.
    mixed: Ring<Run>,
    mixed_pkts: u64,
    dropped: u64,
}

/// Packets held that leave at equal distances.
#[derive(Clone, Copy, Default)]
struct Run {
    /// When the first of them leaves.
    departure: u64,
    tx_ns: u64,
    pkts: u64,
}

/// Loses each packet with the same probability, independently.
struct Wire {
    /// A 64-bit draw below it is a loss.
    threshold: u64,
    rng: ChaCha8Rng,
    corrupted: u64,
    /// Departure times of the latest packets to be lost.
    departures: Ring<u64>,
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
        let wire = (link.per > 0.0).then(|| {
            Box::new(Wire {
                threshold: (link.per * 2f64.powi(64)) as u64,
                rng: random_stream(seed, &link.name),
                corrupted: 0,
                departures: Ring::new(),
            })
        });
        Link {
            free_at: 0,
            busy_since: 0,
            tx_ns: NEVER,
            run: 0,
            full_ns: 0,
            mark_ns: 0,
            most_ns: 0,
            limit: link.buffer_pkts.map_or(u64::MAX, u64::from),
            ecn_threshold: link.ecn_threshold_pkts.map_or(u64::MAX, u64::from),
            max_queue: 0,
            accepted: 0,
            busy_ns: 0,
            held_ns: 0,
            wire,
            mixed: Ring::new(),
            mixed_pkts: 0,
            dropped: 0,
        }
    }

    /// A packet that takes `tx_ns` to send arrives at `now`; arrivals come in the order of time. When it leaves; None:
    /// the queue is full, or it is lost on the wire.
    #[inline(always)]
    pub fn accept(&mut self, now: u64, tx_ns: u64) -> Option<u64> {
        if self.free_at < now {
            (self.free_at, self.busy_since, self.run) = (now, now, 0);
        }
        if tx_ns != self.tx_ns {
            return self.accept_other(now, tx_ns);
        }
        self.accept_alike(now, tx_ns)
    }

    /// A packet arrives that takes as long as each one held.
    #[inline(always)]
    fn accept_alike(&mut self, now: u64, tx_ns: u64) -> Option<u64> {
        // An arrival at the instant of a departure finds that packet still there.
        if self.free_at - now >= self.full_ns && self.run >= self.limit {
            self.dropped += 1;
            return None;
        }
        self.run += 1;
        let work_ns = self.free_at + tx_ns - now;
        if work_ns > self.most_ns {
            self.max_queue += 1;
            self.most_ns += tx_ns;
        }
        self.send(now, tx_ns)
    }

    /// A packet arrives that takes longer or shorter than another that is held.
    #[cold]
    fn accept_other(&mut self, now: u64, tx_ns: u64) -> Option<u64> {
        if self.mixed.len() == 0 && self.run > 0 {
            let pkts = self.run.min((self.free_at - now) / self.tx_ns + 1);
            let departure = self.free_at - (pkts - 1) * self.tx_ns;
            self.mixed.push_back(Run { departure, tx_ns: self.tx_ns, pkts });
            self.mixed_pkts = pkts;
        }
        self.let_go_before(now);
        let alike = self.mixed.len() <= 1 && self.mixed.front().is_none_or(|run| run.tx_ns == tx_ns);
        if alike && tx_ns > 0 {
            self.run = self.mixed.pop_front().map_or(0, |run| run.pkts);
            self.mixed_pkts = 0;
            self.tx_ns = tx_ns;
            self.full_ns = self.limit.saturating_sub(1).saturating_mul(tx_ns);
            self.mark_ns = self.ecn_threshold.saturating_mul(tx_ns);
            self.most_ns = self.max_queue * tx_ns;
            return self.accept_alike(now, tx_ns);
        }
        self.tx_ns = NEVER;
        if self.mixed_pkts >= self.limit {
            self.dropped += 1;
            return None;
        }
        match self.mixed.back_mut() {
            Some(run) if run.tx_ns == tx_ns => run.pkts += 1,
            _ => self.mixed.push_back(Run { departure: self.free_at + tx_ns, tx_ns, pkts: 1 }),
        }
        self.mixed_pkts += 1;
        let leaving = u64::from(self.mixed.front().is_some_and(|run| run.departure == now));
        self.max_queue = self.max_queue.max(self.mixed_pkts - leaving);
        self.send(now, tx_ns)
    }

    /// A packet arrives at `now`, and another clock than this one tells that it leaves at `departure` and that `held` are
    /// there, of which the first may be leaving; None: lost on the wire.
    #[inline(always)]
    pub fn accept_at(
        &mut self,
        now: u64,
        departure: u64,
        tx_ns: u64,
        held: u64,
        leaving: bool,
    ) -> Option<()> {
        if held == 0 {
            self.busy_since = now;
        }
        self.free_at = departure.saturating_sub(tx_ns);
        self.run = held + 1;
        self.max_queue = self.max_queue.max(held + 1 - u64::from(leaving));
        self.send(now, tx_ns).map(|_| ())
    }

    /// Another clock than this one tells when those held leave.
    pub fn list(&mut self, departures: impl Iterator<Item = u64>) {
        for departure in departures {
            self.mixed.push_back(Run { departure, tx_ns: 0, pkts: 1 });
            self.mixed_pkts += 1;
        }
    }

    /// A packet arrives, and another clock than this one tells that the queue is full.
    pub fn refuse(&mut self) {
        self.dropped += 1;
    }

    /// Packets that it holds at most.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Forgets those of `mixed` that leave before `time`.
    fn let_go_before(&mut self, time: u64) {
        while let Some(run) = self.mixed.front_mut()
            && run.departure < time
        {
            run.departure += run.tx_ns;
            run.pkts -= 1;
            self.mixed_pkts -= 1;
            if run.pkts == 0 {
                self.mixed.pop_front();
            }
            if self.mixed.len() == 0 {
                (self.tx_ns, self.run) = (NEVER, 0);
            }
        }
    }

    /// A packet that arrived at `now` is sent when all before it are.
    #[inline(always)]
    fn send(&mut self, now: u64, tx_ns: u64) -> Option<u64> {
        let departure = self.free_at + tx_ns;
        self.free_at = departure;
        self.accepted += 1;
        self.busy_ns += tx_ns;
        self.held_ns += u128::from(departure - now);
        if let Some(wire) = &mut self.wire
            && wire.rng.next_u64() < wire.threshold
        {
            wire.corrupted += 1;
            while wire.departures.front().is_some_and(|&departure| departure <= now) {
                wire.departures.pop_front();
            }
            wire.departures.push_back(departure);
            return None;
        }
        Some(departure)
    }

    /// Since when the link has been sending without a pause, when it has sent the packet that arrived last.
    #[inline]
    pub fn busy_since(&self) -> u64 {
        self.busy_since
    }

    /// Whether the packet that arrived last, at `now`, found the queue at its ECN threshold.
    pub fn marks(&self, now: u64) -> bool {
        if self.mixed.len() > 0 {
            return self.mixed_pkts > self.ecn_threshold;
        }
        self.free_at - now >= self.mark_ns && self.run > self.ecn_threshold
    }

    /// Packets held at `now`, the one being sent included; none arrive at `now` any more.
    pub fn queue(&mut self, now: u64) -> u64 {
        if self.mixed.len() > 0 {
            self.let_go_before(now + 1);
            return self.mixed_pkts;
        }
        self.free_at.saturating_sub(now).div_ceil(self.tx_ns)
    }

    /// Totals up to `end`, the time of the last arrival or later.
    pub fn totals(&mut self, end: u64) -> Totals {
        let held = self.queue(end);
        if self.mixed.len() == 0 && held > 0 {
            let departure = self.free_at - (held - 1) * self.tx_ns;
            self.mixed.push_back(Run { departure, tx_ns: self.tx_ns, pkts: held });
        }
        let beyond = |run: &Run| {
            let (pkts, tx_ns) = (u128::from(run.pkts), u128::from(run.tx_ns));
            pkts * u128::from(run.departure - end) + pkts * (pkts - 1) / 2 * tx_ns
        };
        let beyond: u128 = self.mixed.iter().map(beyond).sum();
        let (corrupted, corrupted_sent) = self.wire.as_ref().map_or((0, 0), |wire| {
            let beyond = wire.departures.iter().filter(|&&departure| departure > end).count() as u64;
            (wire.corrupted, wire.corrupted - beyond)
        });
        Totals {
            sent: self.accepted - held,
            dropped: self.dropped,
            corrupted,
            corrupted_sent,
            busy_ns: self.busy_ns - self.free_at.saturating_sub(end),
            held_ns: self.held_ns - beyond,
            max_queue: self.max_queue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(buffer_pkts: Option<u32>, ecn_threshold_pkts: Option<u32>) -> Link {
        let (name, rate_bps, delay_ns, per) = (String::new(), 1, 0, 0.0);
        Link::new(&cwnd_scenario::Link { name, rate_bps, delay_ns, buffer_pkts, per, ecn_threshold_pkts }, 1)
    }

    proptest! {
        #[test]
        fn a_link_knows_what_a_list_of_departures_would_tell(
            buffer in prop::option::of(1..8_u32),
            threshold in prop::option::of(1..8_u32),
            arrivals in prop::collection::vec((0..30_u64, prop_oneof![8 => Just(10_u64), 2 => Just(3), 1 => Just(0)]), 1..200),
        ) {
            let mut link = link(buffer, threshold);
            let (mut now, mut free_at, mut most) = (0_u64, 0, 0);
            let mut departures: Vec<u64> = Vec::new();
            for (wait, tx_ns) in arrivals {
                // Mostly early enough to find others there.
                now += wait.saturating_sub(20);
                if wait == 29 {
                    departures.retain(|&departure| departure > now);
                    prop_assert_eq!(link.queue(now), departures.len() as u64);
                    now += 1;
                }
                departures.retain(|&departure| departure >= now);
                let fate = link.accept(now, tx_ns);
                if buffer.is_some_and(|buffer| departures.len() >= buffer as usize) {
                    prop_assert_eq!(fate, None);
                    continue;
                }
                free_at = now.max(free_at) + tx_ns;
                departures.push(free_at);
                prop_assert_eq!(fate, Some(free_at));
                prop_assert_eq!(link.marks(now), threshold.is_some_and(|threshold| departures.len() > threshold as usize));
                most = most.max(departures.len() - usize::from(departures[0] == now));
                prop_assert_eq!(link.max_queue, most as u64);
            }
            let end = now + 1;
            departures.retain(|&departure| departure > end);
            prop_assert_eq!(link.queue(end), departures.len() as u64);
            let beyond: u64 = departures.iter().map(|departure| departure - end).sum();
            let held_ns = link.held_ns;
            prop_assert_eq!(held_ns - link.totals(end).held_ns, u128::from(beyond));
        }
    }
}
