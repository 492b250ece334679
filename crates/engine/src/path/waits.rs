//! How long packets wait in a queue before they are sent.

use crate::memory::distribution::Distribution;

/// One packet of this many is looked at.
const PKTS_PER_LOOK: u32 = 16;
/// Less is no wait.
const LEAST_NS: u64 = 128;

/// The distribution of the waits of every sixteenth packet, the first included.
pub struct Waits {
    until_next: u32,
    /// Packets that did not wait. They have no place among the others, whose waits lie close together at most links.
    unhindered: u32,
    seen: Option<Box<Distribution>>,
}

impl Waits {
    pub fn new() -> Waits {
        Waits { until_next: 1, unhindered: 0, seen: None }
    }

    /// A packet waits for as long as `wait_ns` says.
    #[inline(always)]
    pub fn note(&mut self, wait_ns: impl FnOnce() -> u64) {
        self.until_next -= 1;
        if self.until_next == 0 {
            self.add(wait_ns());
        }
    }

    #[cold]
    fn add(&mut self, wait_ns: u64) {
        self.until_next = PKTS_PER_LOOK;
        if wait_ns < LEAST_NS {
            self.unhindered += 1;
        } else {
            self.seen.get_or_insert_with(|| Box::new(Distribution::new())).add(wait_ns);
        }
    }

    /// None: no packet was looked at.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        let unhindered = u64::from(self.unhindered);
        let seen = self.seen.as_ref().map_or(0, |seen| seen.count());
        let wanted = (q * (unhindered + seen) as f64).ceil() as u64;
        match &self.seen {
            Some(seen) if wanted > unhindered => seen.at_rank(wanted - unhindered),
            _ => (unhindered > 0).then_some(0.0),
        }
    }
}
