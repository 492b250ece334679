//! A packet that passes a link where its departure is known when it arrives.

use crate::fast::link::delayed::Delayed;
use crate::fast::link::fifo::{FifoLink, PathLink};
use crate::fast::link::timing::{Crossing, TakeIn, Timing};
use crate::fast::shared::inbox::InTransit;
use crate::net::link::queue::discipline::Codepoint;
use crate::tcp::packet::{CONGESTION, Segment};
use crate::time::Fraction;

/// A link where a packet's departure is known when it arrives.
#[repr(align(64))] // cache lines
pub struct Link<L> {
    pub state: L,
    /// Packets that it marks, and sends; None so far.
    marks: Option<Box<Delayed>>,
}

/// Each flow may have links of its own.
const _: () = assert!(size_of::<Link<FifoLink<Fraction>>>() <= 128, "two cache lines");

/// Facts about a packet on which a link's decision depends, whatever its connection.
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

/// Fate of a packet at a link: when it leaves, in nanoseconds, and in the highest bit whether it is marked; or with both
/// highest bits, that it is dropped or lost, and when that counts.
#[derive(Clone, Copy)]
pub struct Fate(u64);

impl Fate {
    /// Dropped or lost at the beginning.
    pub const LOST: Fate = Fate(3 << 62);
    const MARKED: u64 = 1 << 63;
    const TIME: u64 = (1 << 62) - 1;

    /// When the packet leaves, and whether it is marked; an error if it is dropped or lost: when that counts.
    #[inline(always)]
    pub fn departure(self) -> Result<(u64, bool), u64> {
        if self.0 < Fate::LOST.0 {
            Ok((self.0 & !Fate::MARKED, self.0 & Fate::MARKED != 0))
        } else {
            Err(self.0 & Fate::TIME)
        }
    }
}

impl<L: PathLink> Link<L> {
    pub fn new(state: L) -> Link<L> {
        Link { state, marks: None }
    }

    /// Packets that it marked, and sent, by `now_ns`.
    pub fn marked_pkts(&mut self, now_ns: u64) -> u64 {
        self.marks.as_mut().map_or(0, |marks| marks.count_by(now_ns))
    }

    /// A packet arrives at the link. `behind`: how far the next hop or the receiver is from it, in nanoseconds, and what the
    /// flow's packets say. Returns the packet on its way there; an error if it is dropped or lost: when that counts.
    #[inline(always)]
    pub fn pass<T: Timing<Link = L>>(
        &mut self,
        timing: &mut T,
        crossing: Crossing,
        segment: &Segment,
        behind: impl Fn() -> (u64, Codepoint),
    ) -> Result<InTransit<T::SubNanosecond>, u64> {
        let (at, sub_ns) = timing.cross(&mut self.state, crossing, || behind().0)?;
        let mut segment = *segment;
        if behind().1.is_ect() && self.state.marks(crossing.now_ns) {
            segment.tag = segment.tag.with(CONGESTION);
            self.note_mark(crossing.now_ns, crossing.tx_ticks);
        }
        let busy_since = self.state.busy_since_ns();
        Ok(InTransit { at, sub_ns, segment, busy_since, hop: crossing.hop + 1 })
    }

    /// Decides on a packet that arrives at `now_ns` and takes `tx_ticks` to send.
    #[inline(always)]
    pub fn decide(&mut self, take_in: TakeIn<L>, now_ns: u64, tx_ticks: u64, facts: Facts) -> Fate {
        let departure_ns = match take_in(&mut self.state, now_ns, tx_ticks) {
            Ok(departure_ns) => departure_ns,
            Err(lost_ns) => return Fate(Fate::LOST.0 | lost_ns),
        };
        let marked = facts.is_ect() && self.state.marks(now_ns);
        if marked {
            self.note_mark(now_ns, tx_ticks);
        }
        Fate(departure_ns | if marked { Fate::MARKED } else { 0 })
    }

    /// The packet that arrived last is marked.
    #[cold]
    fn note_mark(&mut self, now_ns: u64, tx_ticks: u64) {
        let begins_ns = self.state.begins_ns(tx_ticks);
        self.marks.get_or_insert_default().add(now_ns, begins_ns);
    }
}
