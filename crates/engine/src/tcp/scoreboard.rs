//! The scoreboard: the sender's knowledge of the segments in flight.

use crate::memory::bits::BitRing;
use crate::memory::prefetch::{prefetch, prefetch_all};
use crate::tcp::ns2::retransmissions::RetransmissionOrder;
use crate::tcp::packet::{BLOCKS_MAX, Block};
use cwnd_scenario::Stack;
use std::collections::VecDeque;

pub const DUP_THRESH: u64 = 3;

/// A retransmission in flight.
struct Retransmission {
    seq: u64,
    sent_ns: u64,
}

impl Retransmission {
    fn sent(&self) -> (u64, u64) {
        (self.sent_ns, self.seq)
    }
}

/// Retransmissions in the order sent. Most often there is one: it needs no memory elsewhere.
#[derive(Default)]
struct Retransmissions {
    first: Option<Retransmission>,
    /// None if there is no first.
    others: VecDeque<Retransmission>,
}

impl Retransmissions {
    fn push(&mut self, retransmission: Retransmission) {
        if self.first.is_none() {
            self.first = Some(retransmission);
        } else {
            self.others.push_back(retransmission);
        }
    }

    /// Takes out the first if it was sent before `newest`, a time and a segment of that time, and before `before_ns`.
    fn pop_older(&mut self, newest: (u64, u64), before_ns: u64) -> Option<Retransmission> {
        let is_older = |first: &mut Retransmission| first.sent() < newest && first.sent_ns < before_ns;
        let older = self.first.take_if(is_older)?;
        self.first = self.others.pop_front();
        Some(older)
    }

    fn iter(&self) -> impl Iterator<Item = &Retransmission> {
        self.first.iter().chain(&self.others)
    }

    fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }
}

/// How a lost retransmission is found, besides by a timeout.
#[derive(Clone, Copy)]
enum LostRetransmissions {
    Ignored,
    /// By the arrival of a segment that was sent later.
    ByTime,
    /// By the arrival of retransmissions that were sent later.
    ByOrder,
}

/// The segments from the first unacknowledged one, `una`, to the next to be sent, `nxt`.
pub struct Scoreboard {
    /// Without SACK: segments that duplicate ACKs show to have left the network.
    pub sacked_out: u64,
    /// Segments that count as lost, sent again or not.
    pub lost_out: u64,
    /// Retransmissions in flight.
    pub retrans_out: u64,
    /// SACKed segments before this one were forgotten: until all of them are acknowledged, ACKs report them again.
    /// 0: nothing was forgotten.
    pub forgotten_until: u64,
    lost_retransmissions: LostRetransmissions,
    /// Once a segment was missing.
    sacks: Option<Box<SackState>>,
}

#[derive(Default)]
struct SackState {
    sacked: BitRing,
    retransmitted: BitRing,
    /// The highest SACKed segments, descending; 0 is none, for segment 0 is never SACKed above itself.
    top_sacked: [u64; DUP_THRESH as usize],
    /// Every segment before it that was not SACKed is lost.
    lost_edge: u64,
    /// No segment before it needs retransmission.
    retransmit_from: u64,
    /// Empty unless lost retransmissions are found by time.
    retransmissions: Retransmissions,
    /// Once there are retransmissions, if lost ones are found by their order.
    order: Option<Box<RetransmissionOrder>>,
    /// The stretches in the last ACK's SACK blocks, since something was forgotten.
    reported: [Block; BLOCKS_MAX],
}

impl SackState {
    fn reserve(&mut self, una: u64, nxt: u64) {
        self.sacked.reserve(una, nxt);
        self.retransmitted.reserve(una, nxt);
    }

    /// The retransmission of segment `seq` is lost; false if none is in flight.
    fn lose_retransmission(&mut self, seq: u64, una: u64) -> bool {
        if seq < una || !self.retransmitted.contains(seq) {
            return false;
        }
        self.retransmitted.remove(seq);
        self.retransmit_from = self.retransmit_from.min(seq);
        true
    }
}

impl Scoreboard {
    /// A scoreboard without segments.
    pub fn new(stack: &Stack) -> Scoreboard {
        let by_order = stack.recovery.choices().quirks.waits_for_fifth_retransmission;
        Scoreboard {
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            forgotten_until: 0,
            lost_retransmissions: match (stack.detect_lost_retransmissions, by_order) {
                (false, _) => LostRetransmissions::Ignored,
                (true, false) => LostRetransmissions::ByTime,
                (true, true) => LostRetransmissions::ByOrder,
            },
            sacks: None,
        }
    }

    fn sacks(&mut self) -> &mut SackState {
        self.sacks.get_or_insert_default()
    }

    /// It will be needed soon.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.sacks.iter().for_each(|sacks| prefetch_all(&**sacks));
    }

    /// Prefetches the second retransmission in flight, which is elsewhere than the first, after [`Scoreboard::prefetch`].
    #[inline(always)]
    pub fn prefetch_retransmissions(&self) {
        let retransmissions = self.sacks.iter().map(|sacks| &sacks.retransmissions);
        retransmissions.flat_map(|all| all.others.front()).for_each(|second| prefetch(second));
    }

    /// No segment is in flight, and none will be.
    pub fn forget_segments(&mut self) {
        self.sacks = None;
    }

    /// Every segment in flight is on its way for the first time, as far as is known.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out | self.forgotten_until == 0
    }

    /// The highest segment that was SACKed; 0: none.
    pub fn highest_sacked(&self) -> u64 {
        self.sacks.as_ref().map_or(0, |sacks| sacks.top_sacked[0])
    }

    /// Every segment before it that was not SACKed counts as lost.
    pub fn lost_edge(&self) -> u64 {
        self.sacks.as_ref().map_or(0, |sacks| sacks.lost_edge)
    }

    /// The last segment of `from..until` that was not SACKed.
    pub fn last_missing(&self, from: u64, until: u64) -> Option<u64> {
        let sacks = self.sacks.as_ref().filter(|_| from < until)?;
        if !sacks.sacked.contains(until - 1) {
            return Some(until - 1);
        }
        sacks.sacked.first_of_run(until - 1, from).checked_sub(1).filter(|&seq| seq >= from)
    }

    /// Returns true if a retransmission was sent before `newest`, a time and a segment of that time.
    pub fn has_retransmission_before(&self, newest: (u64, u64)) -> bool {
        let first = self.sacks.as_ref().and_then(|sacks| sacks.retransmissions.first.as_ref());
        first.is_some_and(|first| first.sent() < newest)
    }

    /// When the last retransmission in flight was sent of those that were sent before `newest`, a time and a segment of that time.
    pub fn last_retransmission_ns(&self, newest: (u64, u64)) -> Option<u64> {
        let sacks = self.sacks.as_ref().filter(|_| self.retrans_out > 0)?;
        let older = sacks.retransmissions.iter().take_while(|sent| sent.sent() < newest);
        older.filter(|sent| sacks.retransmitted.contains(sent.seq)).last().map(|sent| sent.sent_ns)
    }

    /// When the retransmission of `seq` that is in flight was sent.
    pub fn sent_again_ns(&self, seq: u64) -> Option<u64> {
        let sacks = self.sacks.as_ref().filter(|sacks| sacks.retransmitted.contains(seq))?;
        sacks.retransmissions.iter().find(|sent| sent.seq == seq).map(|sent| sent.sent_ns)
    }

    /// Three segments or more were SACKed above each segment below this one (RFC 6675, IsLost).
    pub fn third_highest_sacked(&self) -> u64 {
        self.sacks.as_ref().map_or(0, |sacks| sacks.top_sacked[DUP_THRESH as usize - 1])
    }

    /// Returns true if the segment was SACKed.
    pub fn is_sacked(&self, seq: u64) -> bool {
        self.sacked_out > 0 && self.sacks.as_ref().is_some_and(|sacks| sacks.sacked.contains(seq))
    }

    /// All segments in flight count as on their way for the first time, until ACKs report SACKed ones again.
    pub fn forget_sacks(&mut self, una: u64, nxt: u64) {
        self.mark_none_lost(una, nxt);
        if self.sacked_out > 0 {
            let sacks = self.sacks();
            sacks.sacked.take(una, nxt);
            sacks.top_sacked = Default::default();
            sacks.reported = Default::default();
            (self.sacked_out, self.forgotten_until) = (0, nxt);
        }
    }

    /// An ACK reports that the segments of `blocks` have arrived; `newly` is called with each that it newly reports.
    /// Stretches that the last ACK had, too, are skipped.
    pub fn sack_all(
        &mut self,
        blocks: impl Iterator<Item = Block>,
        una: u64,
        nxt: u64,
        mut newly: impl FnMut(u64),
    ) {
        let mut blocks = blocks.enumerate().peekable();
        if blocks.peek().is_none() && self.sacks.is_none() {
            return;
        }
        self.sacks().reserve(una, nxt);
        let before = std::mem::take(&mut self.sacks().reported);
        for (place, block) in blocks {
            let overlapping = before.iter().filter(|old| old.start < block.end && block.start < old.end);
            let longest = overlapping.max_by_key(|old| old.end - old.start);
            let old = longest.cloned().unwrap_or(block.start..block.start);
            for (from, to) in [(block.start.max(una), old.start), (old.end.max(una), block.end)] {
                self.sack_stretch(from, to, una, nxt, &mut newly);
            }
            self.sacks().reported[place] = block;
        }
    }

    fn sack_stretch(&mut self, mut from: u64, to: u64, una: u64, nxt: u64, newly: &mut impl FnMut(u64)) {
        while let Some(seq) = self.sacks().sacked.first_absent_in(from, to) {
            if self.sack(seq, una, nxt) {
                newly(seq);
            }
            from = seq + 1;
        }
    }

    /// Segments `una..next` are acknowledged; returns how many of them were SACKed.
    pub fn acknowledge(&mut self, una: u64, next: u64) -> u64 {
        let Some(sacks) = &mut self.sacks else { return 0 };
        let lost_until = sacks.lost_edge.clamp(una, next);
        let sacked_among_lost = sacks.sacked.take(una, lost_until);
        let sacked = sacked_among_lost + sacks.sacked.take(lost_until, next);
        self.sacked_out -= sacked;
        self.lost_out -= lost_until - una - sacked_among_lost;
        self.retrans_out -= sacks.retransmitted.take(una, next);
        if let Some(order) = &mut sacks.order {
            order.note_arrivals(next);
        }
        if next >= self.forgotten_until {
            self.forgotten_until = 0;
        }
        sacked
    }

    /// Marks `seq` as arrived; false if it was before.
    pub fn sack(&mut self, seq: u64, una: u64, nxt: u64) -> bool {
        let sacks = self.sacks.get_or_insert_default();
        sacks.reserve(una, nxt);
        if seq < una || sacks.sacked.contains(seq) {
            return false;
        }
        sacks.sacked.insert(seq);
        self.sacked_out += 1;
        if seq < sacks.lost_edge {
            self.lost_out -= 1;
        }
        if sacks.retransmitted.take(seq, seq + 1) > 0 {
            self.retrans_out -= 1;
            if let Some(order) = &mut sacks.order {
                order.note_arrival(seq);
            }
        }
        let mut seq = seq;
        for top in &mut sacks.top_sacked {
            if seq > *top {
                std::mem::swap(top, &mut seq);
            }
        }
        true
    }

    /// Marks every segment before `edge` that was not SACKed as lost; returns how many were not lost before.
    pub fn mark_lost(&mut self, una: u64, edge: u64) -> u64 {
        if edge <= una {
            return 0;
        }
        let sacks = self.sacks();
        let from = sacks.lost_edge.max(una);
        if edge <= from {
            return 0;
        }
        let lost = edge - from - sacks.sacked.count(from, edge);
        sacks.lost_edge = edge;
        self.lost_out += lost;
        lost
    }

    /// Calls `each` with the segments before `edge` that [`Scoreboard::mark_lost`] is about to mark.
    pub fn for_each_to_be_lost(&self, una: u64, edge: u64, mut each: impl FnMut(u64)) {
        let Some(sacks) = &self.sacks else { return };
        let mut from = sacks.lost_edge.max(una);
        while from < edge
            && let Some(seq) = sacks.sacked.first_absent_in(from, edge)
        {
            each(seq);
            from = seq + 1;
        }
    }

    /// Calls `each` with the segments that are in flight, as far as is known.
    pub fn for_each_in_flight(&self, una: u64, nxt: u64, each: impl FnMut(u64)) {
        let sacks = self.sacks.as_ref();
        let in_flight = |seq: &u64| {
            sacks.is_none_or(|sacks| {
                !sacks.sacked.contains(*seq)
                    && (*seq >= sacks.lost_edge || sacks.retransmitted.contains(*seq))
            })
        };
        (una..nxt).filter(in_flight).for_each(each);
    }

    /// Marks the retransmissions as lost that an ACK shows to be so, if such are looked for: by time those sent before
    /// `newest`, a time and a segment of that time, and before `before_ns`. Calls `each` with them, and returns how many.
    #[inline]
    pub fn mark_lost_retransmissions(
        &mut self,
        una: u64,
        newest: (u64, u64),
        before_ns: u64,
        each: impl FnMut(u64),
    ) -> u64 {
        let Some(sacks) = &mut self.sacks else { return 0 };
        let lost = match self.lost_retransmissions {
            LostRetransmissions::Ignored => 0,
            LostRetransmissions::ByTime if self.retrans_out == 0 => 0,
            LostRetransmissions::ByTime => sacks.lose_older_retransmissions(una, newest, before_ns, each),
            LostRetransmissions::ByOrder => sacks.lose_overtaken_retransmissions(una, each),
        };
        self.retrans_out -= lost;
        lost
    }

    /// All segments in flight count as lost, and none as retransmitted.
    pub fn mark_all_lost(&mut self, una: u64, nxt: u64) {
        self.sacks().lost_edge = nxt;
        self.lost_out = nxt - una - self.sacked_out;
        self.forget_retransmissions(una, nxt);
    }

    /// No segment in flight counts as lost.
    pub fn mark_none_lost(&mut self, una: u64, nxt: u64) {
        let Some(sacks) = &mut self.sacks else { return };
        sacks.lost_edge = una;
        self.lost_out = 0;
        self.forget_retransmissions(una, nxt);
    }

    fn forget_retransmissions(&mut self, una: u64, nxt: u64) {
        self.retrans_out = 0;
        let sacks = self.sacks();
        sacks.retransmitted.take(una, nxt);
        sacks.retransmit_from = una;
        sacks.retransmissions.clear();
        if let Some(order) = &mut sacks.order {
            order.clear();
        }
    }

    /// The next lost segment to retransmit; it counts as retransmitted at `now`.
    pub fn next_retransmission(&mut self, now: u64, una: u64, nxt: u64) -> Option<u64> {
        let sacks = self.sacks.get_or_insert_default();
        sacks.reserve(una, nxt);
        let from = sacks.retransmit_from.max(una);
        let Some(seq) = sacks.sacked.first_in_neither(&sacks.retransmitted, from, sacks.lost_edge) else {
            sacks.retransmit_from = sacks.lost_edge;
            return None;
        };
        sacks.retransmit_from = seq + 1;
        sacks.retransmitted.insert(seq);
        self.retrans_out += 1;
        match self.lost_retransmissions {
            LostRetransmissions::Ignored => {}
            LostRetransmissions::ByTime => sacks.retransmissions.push(Retransmission { seq, sent_ns: now }),
            LostRetransmissions::ByOrder => sacks.order.get_or_insert_default().note_sent(seq, nxt, una),
        }
        Some(seq)
    }
}

impl SackState {
    /// Returns how many.
    fn lose_older_retransmissions(
        &mut self,
        una: u64,
        newest: (u64, u64),
        before_ns: u64,
        mut each: impl FnMut(u64),
    ) -> u64 {
        let mut lost = 0;
        while let Some(Retransmission { seq, .. }) = self.retransmissions.pop_older(newest, before_ns) {
            if self.lose_retransmission(seq, una) {
                each(seq);
                lost += 1;
            }
        }
        lost
    }

    fn lose_overtaken_retransmissions(&mut self, una: u64, mut each: impl FnMut(u64)) -> u64 {
        let Some(mut order) = self.order.take() else { return 0 };
        let mut lost = 0;
        order.take_overtaken(una, self.top_sacked[0], |seq| {
            if self.lose_retransmission(seq, una) {
                each(seq);
                lost += 1;
            }
        });
        self.order = Some(order);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwnd_scenario::Scenario;

    /// A scoreboard of twenty segments: the last alone is SACKed; the first ten are lost and retransmitted.
    fn ten_retransmitted(recovery: &str) -> Scoreboard {
        let scenario = format!(
            "duration = '1 s'\nstack.recovery = '{recovery}'\n[[chain]]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 5\n[[flows]]\ncca = 'reno'"
        );
        let scenario = Scenario::from_toml(&scenario, "", &[]);
        let mut scoreboard = Scoreboard::new(&scenario.unwrap().flows[0].stack);
        scoreboard.sack(19, 0, 20);
        scoreboard.mark_lost(0, 10);
        assert!((0..10).all(|seq| scoreboard.next_retransmission(seq, 0, 20) == Some(seq)));
        scoreboard
    }

    /// Segment `seq`, sent at `sent_ns`, arrives: segments to be retransmitted once more, after its ACK and after the next.
    fn retransmitted_again(recovery: &str, seq: u64, sent_ns: u64) -> [Vec<u64>; 2] {
        let mut scoreboard = ten_retransmitted(recovery);
        scoreboard.sack(seq, 0, 21);
        [0; 2].map(|_| {
            let lost = scoreboard.mark_lost_retransmissions(0, (sent_ns, 0), u64::MAX, |_| {});
            let again: Vec<_> = std::iter::from_fn(|| scoreboard.next_retransmission(99, 0, 21)).collect();
            assert_eq!(lost, again.len() as u64);
            again
        })
    }

    #[test]
    fn a_retransmission_is_lost_by_time_when_a_segment_that_was_sent_later_arrives() {
        assert_eq!(retransmitted_again("prr", 4, 4), [vec![0, 1, 2, 3], vec![]]);
        assert_eq!(retransmitted_again("prr", 20, 10), [(0..10).collect(), vec![]]);
    }

    /// RFC 8985, 6.2: of retransmissions that left at one time the one with the higher number was sent later.
    #[test]
    fn among_retransmissions_of_one_burst_the_number_decides() {
        let scenario = "duration = '1 s'\nstack.recovery = 'prr'\n[[chain]]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 5\n[[flows]]\ncca = 'reno'";
        let scenario = Scenario::from_toml(scenario, "", &[]).unwrap();
        let mut scoreboard = Scoreboard::new(&scenario.flows[0].stack);
        scoreboard.sack(19, 0, 20);
        scoreboard.mark_lost(0, 10);
        assert!((0..10).all(|seq| scoreboard.next_retransmission(5, 0, 20) == Some(seq)));
        scoreboard.sack(4, 0, 20);
        let mut lost = Vec::new();
        scoreboard.mark_lost_retransmissions(0, (5, 4), u64::MAX, |seq| lost.push(seq));
        assert_eq!(lost, [0, 1, 2, 3], "5 to 9 left behind it");
    }

    #[test]
    fn a_retransmission_is_lost_by_order_when_the_fifth_after_it_arrived_before() {
        assert_eq!(retransmitted_again("rate-halving", 4, 4), [const { Vec::<u64>::new() }; 2]);
        assert_eq!(retransmitted_again("rate-halving", 8, 8), [vec![], vec![0, 1, 2, 3]]);
        assert_eq!(retransmitted_again("rate-halving", 20, 10), [(0..10).collect(), vec![]]);
    }

    #[test]
    fn an_acknowledged_segment_hides_no_later_retransmission() {
        let mut scoreboard = ten_retransmitted("rate-halving");
        assert!(scoreboard.sack(9, 0, 20));
        assert_eq!(scoreboard.mark_lost_retransmissions(0, (9, 0), u64::MAX, |_| {}), 0);
        scoreboard.acknowledge(0, 1);
        assert_eq!(
            scoreboard.mark_lost_retransmissions(1, (9, 0), u64::MAX, |_| {}),
            4,
            "1 to 4, by 9 and not by 0"
        );
    }

    #[test]
    fn forgotten_segments_count_when_they_are_reported_again() {
        let mut scoreboard = ten_retransmitted("rate-halving");
        scoreboard.sack_all(std::iter::once(12..15), 0, 20, |_| {});
        scoreboard.forget_sacks(0, 20);
        assert_eq!(
            (scoreboard.sacked_out, scoreboard.lost_out, scoreboard.retrans_out, scoreboard.highest_sacked()),
            (0, 0, 0, 0)
        );
        assert!(!scoreboard.is_clear(), "ACKs are to be looked at");
        scoreboard.sack_all(std::iter::once(12..15), 0, 20, |_| {});
        assert_eq!((scoreboard.sacked_out, scoreboard.highest_sacked()), (3, 14));
        scoreboard.sack_all([11..17, 18..19].into_iter(), 0, 20, |_| {});
        assert_eq!((scoreboard.sacked_out, scoreboard.highest_sacked()), (7, 18));
        scoreboard.acknowledge(0, 20);
        assert!(scoreboard.is_clear());
    }
}
