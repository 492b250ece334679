//! A packet that passes a link where its departure is known when it arrives.

use crate::inbox::InTransit;
use crate::path::link::PathLink;
use crate::path::queue::discipline::Codepoint;
use crate::path::timing::{Crossing, Timing};
use crate::tcp::packet::{CONGESTION, Segment, Tag};

/// A link where a packet's departure is known when it arrives.
pub struct Link<L> {
    pub state: L,
    /// Packets that it marked, and sent.
    pub marked_pkts: u64,
}

/// A packet that arrives at the link of hop `hop`. The link is busy with it for `times.0` ticks; it is `times.1` nanoseconds
/// from its departure to the next hop or the receiver.
#[derive(Clone, Copy)]
pub struct Passing {
    pub hop: u32,
    pub now: u64,
    pub segment: Segment,
    pub times: (u64, u64),
    pub flow: u32,
    /// What its packets say.
    pub codepoint: Codepoint,
}

impl<L: PathLink> Link<L> {
    pub fn new(state: L) -> Link<L> {
        Link { state, marked_pkts: 0 }
    }

    /// The packet on its way to the next hop; None: dropped or lost.
    #[inline(always)]
    pub fn pass<T: Timing<Link = L>>(
        &mut self,
        timing: &mut T,
        Passing { hop, now, mut segment, times: (tx_ticks, onward_ns), codepoint, .. }: Passing,
    ) -> Option<InTransit<T::Exact>> {
        let crossing = Crossing { now_ns: now, hop, bytes: segment.tag.bytes(), tx_ticks, onward_ns };
        let (at, exact) = timing.cross(&mut self.state, crossing)?;
        if codepoint.is_ect() && self.state.marks(now) {
            segment.tag = self.mark(segment.tag);
        }
        Some(InTransit { at, exact, segment, busy_since: self.state.busy_since_ns(), hop: hop + 1 })
    }

    #[cold]
    fn mark(&mut self, tag: Tag) -> Tag {
        self.marked_pkts += 1;
        tag.with(CONGESTION)
    }
}
