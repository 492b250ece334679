//! Losses on the wire of a link in closed form.

use crate::fast::link::delayed::Delayed;
use crate::net::link::wire::Chance;
use cwnd_scenario::Link;

/// Loses each packet with the same probability, independently. A loss counts when the packet begins to be sent.
pub struct Losses {
    chance: Chance,
    lost: Delayed,
}

impl Losses {
    /// None: a wire that loses nothing.
    pub fn new(link: &Link, seed: u64) -> Option<Box<Losses>> {
        (link.per > 0.0).then(|| {
            Box::new(Losses { chance: Chance::new(link.per, seed, &link.name), lost: Delayed::default() })
        })
    }

    /// Returns true if the next packet, which begins to be sent at `begins_ns`, is lost. The present is `now_ns`.
    #[inline(always)]
    pub fn loses(&mut self, now_ns: u64, begins_ns: impl FnOnce() -> u64) -> bool {
        let lost = self.chance.hits();
        if lost {
            self.lost.add(now_ns, begins_ns());
        }
        lost
    }

    /// Packets that were lost by `now_ns`.
    pub fn lost_by(&mut self, now_ns: u64) -> u64 {
        self.lost.count_by(now_ns)
    }
}
