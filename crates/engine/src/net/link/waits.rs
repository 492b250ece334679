//! How long packets wait in a queue before they are sent.

use crate::memory::distribution::Distribution;
use crate::memory::ring::Ring;

/// One packet of this many is looked at.
pub const PKTS_PER_LOOK: u32 = 16;
/// Less is no wait.
const LEAST_NS: u64 = 128;

/// The distribution of the waits of every sixteenth packet, the first included. A wait counts when it is over.
pub struct Waits {
    until_next: u32,
    /// Packets that did not wait. They have no place among the others, whose waits lie close together at most links.
    unhindered: u32,
    hindered: Option<Box<Hindered>>,
}

/// Packets that waited, or still wait.
#[derive(Default)]
struct Hindered {
    waiting: Ring<Waiting>,
    seen: Option<Distribution>,
}

/// A packet that is sent from `until_ns` on.
#[derive(Clone, Copy, Default)]
struct Waiting {
    until_ns: u64,
    wait_ns: u64,
}

impl Waits {
    pub fn new() -> Waits {
        Waits { until_next: 1, unhindered: 0, hindered: None }
    }

    /// A packet that arrived at `arrived_ns` is sent from `begins_ns` on; it is `now_ns`. Packets come in the order of both.
    #[inline(always)]
    pub fn note(&mut self, now_ns: u64, arrived_ns: u64, begins_ns: impl FnOnce() -> u64) {
        self.until_next -= 1;
        if self.until_next == 0 {
            self.add(now_ns, arrived_ns, begins_ns());
        }
    }

    #[cold]
    fn add(&mut self, now_ns: u64, arrived_ns: u64, begins_ns: u64) {
        self.until_next = PKTS_PER_LOOK;
        let wait_ns = begins_ns - arrived_ns;
        if wait_ns < LEAST_NS && begins_ns <= now_ns {
            self.unhindered += 1;
        } else {
            let hindered = self.hindered.get_or_insert_default();
            hindered.add(now_ns, Waiting { until_ns: begins_ns, wait_ns }, &mut self.unhindered);
        }
    }

    /// Counts the waits that are over at `now_ns`.
    pub fn count_until(&mut self, now_ns: u64) {
        let Waits { hindered, unhindered, .. } = self;
        hindered.iter_mut().for_each(|hindered| hindered.count_until(now_ns, unhindered));
    }

    /// The waits are those that are over after `now_ns`.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        self.count_until(now_ns);
        self.unhindered = 0;
        self.hindered.iter_mut().for_each(|hindered| hindered.seen = None);
    }

    /// Returns the quantile `q` of the waits that were over when they were counted last; None: no packet was looked at.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        let unhindered = u64::from(self.unhindered);
        let seen = self.hindered.as_ref().and_then(|hindered| hindered.seen.as_ref());
        let count = unhindered + seen.map_or(0, Distribution::count);
        let wanted = (q * count as f64).ceil() as u64;
        match seen {
            Some(seen) if wanted > unhindered => seen.at_rank(wanted - unhindered),
            _ => (unhindered > 0).then_some(0.0),
        }
    }
}

impl Hindered {
    #[inline(always)]
    fn add(&mut self, now_ns: u64, packet: Waiting, unhindered: &mut u32) {
        self.count_until(now_ns, unhindered);
        if packet.until_ns > now_ns {
            self.waiting.push_back(packet);
        } else {
            self.count(packet.wait_ns, unhindered);
        }
    }

    #[inline]
    fn count(&mut self, wait_ns: u64, unhindered: &mut u32) {
        if wait_ns < LEAST_NS {
            *unhindered += 1;
        } else {
            self.seen.get_or_insert_with(Distribution::new).add(wait_ns);
        }
    }

    #[inline]
    fn count_until(&mut self, now_ns: u64, unhindered: &mut u32) {
        while let Some(&Waiting { until_ns, wait_ns }) = self.waiting.front()
            && until_ns <= now_ns
        {
            self.waiting.pop_front();
            self.count(wait_ns, unhindered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_when_it_is_over() {
        let mut waits = Waits::new();
        // Each packet takes 100 us: the one with number k waits for 100 k us.
        for k in 0..1000 {
            waits.note(0, 0, || 100_000 * k);
        }
        // Numbers 0, 16, 32, 48 have begun to be sent.
        let mut quantile_ns = |q, now_ns| {
            waits.count_until(now_ns);
            waits.quantile_ns(q)
        };
        let near = |quantile: Option<f64>, wanted: f64| {
            quantile.is_some_and(|quantile| (quantile / wanted - 1.0).abs() < 0.02)
        };
        assert!(near(quantile_ns(1.0, 4_800_000), 4.8e6));
        assert_eq!(quantile_ns(0.25, 4_800_000), Some(0.0));
        waits.begin_measuring(4_900_000);
        assert_eq!(waits.quantile_ns(1.0), None);
        waits.count_until(6_399_999);
        assert_eq!(waits.quantile_ns(1.0), None, "number 64 still waits");
        waits.count_until(6_400_000);
        assert!(near(waits.quantile_ns(1.0), 6.4e6));
    }
}
