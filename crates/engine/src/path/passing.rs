//! A packet that passes a link where its departure is known when it arrives.

use crate::inbox::InTransit;
use crate::path::link::{FifoLink, PathLink};
use crate::path::queue::discipline::Codepoint;
use crate::path::timing::{Crossing, TakeIn, Timing};
use crate::tcp::packet::{CONGESTION, Segment, Tag};
use crate::time::Fraction;

/// A link where a packet's departure is known when it arrives.
#[repr(align(64))] // cache lines
pub struct Link<L> {
    pub state: L,
    /// Packets that it marked, and sent.
    pub marked_pkts: u64,
}

/// Each flow may have links of its own.
const _: () = assert!(size_of::<Link<FifoLink<Fraction>>>() <= 128, "two cache lines");

/// What a link's decision on a packet depends on, whatever its connection.
#[derive(Clone, Copy)]
pub struct Facts(u32);

impl Facts {
    /// `is_ect`: a queue may mark it.
    #[inline(always)]
    pub fn new(bytes: u32, is_ect: bool) -> Facts {
        Facts(bytes << 1 | u32::from(is_ect))
    }

    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0 >> 1
    }

    #[inline(always)]
    fn is_ect(self) -> bool {
        self.0 & 1 == 1
    }
}

/// What becomes of a packet at a link: when it leaves, in nanoseconds, and in the highest bit whether it is marked.
#[derive(Clone, Copy)]
pub struct Fate(u64);

impl Fate {
    /// Dropped or lost.
    pub const LOST: Fate = Fate(u64::MAX);
    const MARKED: u64 = 1 << 63;

    /// When the packet leaves, and whether it is marked; None: dropped or lost.
    #[inline(always)]
    pub fn departure(self) -> Option<(u64, bool)> {
        (self.0 != u64::MAX).then_some((self.0 & !Fate::MARKED, self.0 & Fate::MARKED != 0))
    }
}

impl<L: PathLink> Link<L> {
    pub fn new(state: L) -> Link<L> {
        Link { state, marked_pkts: 0 }
    }

    /// A packet arrives at the link. `behind`: how far the next hop or the receiver is from it, in nanoseconds, and what the
    /// flow's packets say. Returns the packet on its way there; None: dropped or lost.
    #[inline(always)]
    pub fn pass<T: Timing<Link = L>>(
        &mut self,
        timing: &mut T,
        crossing: Crossing,
        segment: &Segment,
        behind: impl Fn() -> (u64, Codepoint),
    ) -> Option<InTransit<T::Exact>> {
        let (at, exact) = timing.cross(&mut self.state, crossing, || behind().0)?;
        let mut segment = *segment;
        if behind().1.is_ect() && self.state.marks(crossing.now_ns) {
            segment.tag = self.mark(segment.tag);
        }
        let busy_since = self.state.busy_since_ns();
        Some(InTransit { at, exact, segment, busy_since, hop: crossing.hop + 1 })
    }

    /// Decides on a packet that arrives at `now_ns` and takes `tx_ticks` to send.
    #[inline(always)]
    pub fn decide(&mut self, take_in: TakeIn<L>, now_ns: u64, tx_ticks: u64, facts: Facts) -> Fate {
        let Some(departure_ns) = take_in(&mut self.state, now_ns, tx_ticks) else { return Fate::LOST };
        let marked = facts.is_ect() && self.state.marks(now_ns);
        self.marked_pkts += u64::from(marked);
        Fate(departure_ns | if marked { Fate::MARKED } else { 0 })
    }

    #[cold]
    fn mark(&mut self, tag: Tag) -> Tag {
        self.marked_pkts += 1;
        tag.with(CONGESTION)
    }
}
