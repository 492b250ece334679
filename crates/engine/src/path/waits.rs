//! How long packets wait in a queue before they are sent.

use crate::memory::distribution::Distribution;

/// One packet of this many is looked at.
const PKTS_PER_LOOK: u32 = 16;
/// What a [`Distribution`] makes of 0.
const LEAST_NS: f64 = 128.0;

/// The distribution of the waits of every sixteenth packet, the first included.
pub struct Waits {
    until_next: u32,
    /// Packets that did not wait, until one did.
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
        if wait_ns == 0 && self.seen.is_none() {
            self.unhindered += 1;
            return;
        }
        let seen = self.seen.get_or_insert_with(|| Box::new(Distribution::new()));
        (0..std::mem::take(&mut self.unhindered)).for_each(|_| seen.add(0));
        seen.add(wait_ns);
    }

    /// None: no packet was looked at.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        let Some(seen) = &self.seen else { return (self.unhindered > 0).then_some(0.0) };
        let wait_ns = seen.quantile(q)?;
        Some(if wait_ns <= LEAST_NS { 0.0 } else { wait_ns })
    }
}
