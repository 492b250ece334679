//! Losses on wires that are known before they count.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a packet's departure is known when it arrives, so is its loss on the wire behind; it counts when the packet begins to
/// be sent. The counts of hops have it from the arrival on.
#[derive(Default)]
pub struct LateLosses {
    /// When each counts, and the hop.
    losses: BinaryHeap<Reverse<(u64, u32)>>,
}

impl LateLosses {
    /// A packet that arrived at `hop` at `now` is lost, which counts from `lost_ns` on.
    #[inline]
    pub fn note(&mut self, now: u64, lost_ns: u64, hop: u32) {
        if lost_ns > now {
            self.note_late(now, lost_ns, hop);
        }
    }

    #[cold]
    fn note_late(&mut self, now: u64, lost_ns: u64, hop: u32) {
        // Another link may be some time behind, but none of them beyond a time at which somebody looks.
        while self.losses.peek().is_some_and(|Reverse((lost_ns, _))| *lost_ns <= now) {
            self.losses.pop();
        }
        self.losses.push(Reverse((lost_ns, hop)));
    }

    /// The hops of the losses that do not count at `now`, as often as there are some.
    pub fn after(&self, now: u64) -> impl Iterator<Item = u32> {
        self.losses.iter().filter(move |Reverse((lost_ns, _))| *lost_ns > now).map(|Reverse((_, hop))| *hop)
    }
}
