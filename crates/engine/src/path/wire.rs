//! What happens to a packet between its departure and the far end of the link.

use crate::random::random_stream;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::Rng;

/// Loses each packet with the same probability, independently.
pub struct Wire {
    /// A 64-bit draw below it is a loss.
    threshold: u64,
    rng: ChaCha8Rng,
    pub corrupted: u64,
}

impl Wire {
    /// None: a wire that loses nothing.
    pub fn new(link: &cwnd_scenario::Link, seed: u64) -> Option<Box<Wire>> {
        (link.per > 0.0).then(|| {
            Box::new(Wire {
                threshold: (link.per * 2f64.powi(64)) as u64,
                rng: random_stream(seed, &link.name),
                corrupted: 0,
            })
        })
    }

    /// Whether the next packet is lost.
    #[inline(always)]
    pub fn loses(&mut self) -> bool {
        let lost = self.rng.next_u64() < self.threshold;
        self.corrupted += u64::from(lost);
        lost
    }
}
