//! What the sender knows of the segments in flight.

use crate::memory::bits::BitRing;
use crate::tcp::packet::{BLOCKS_MAX, Block};
use crate::time::NEVER;
use cwnd_scenario::{Recovery, Stack};
use std::collections::VecDeque;

pub const DUP_THRESH: u64 = 3;

/// In ns-2, a retransmission is lost when one that was sent so many later has arrived.
const OVERTAKEN_BY: u64 = 5;

/// A retransmission in flight.
struct Retransmission {
    seq: u64,
    sent_ns: u64,
    /// Segments before it had been sent when this one was.
    nxt: u64,
}

/// The segments from the first unacknowledged one, `una`, to the next to be sent, `nxt`.
pub struct Scoreboard {
    /// Without SACK: what duplicate ACKs tell to have left the network.
    pub sacked_out: u64,
    pub lost_out: u64,
    /// Retransmissions in flight.
    pub retrans_out: u64,
    /// Segments before it were SACKed and are not known to be: until all of them are acknowledged, ACKs tell it again. 0: none.
    pub forgotten: u64,
    pub logs_retransmissions: bool,
    pub as_ns2: bool,
    /// What a sender needs that has missed something.
    known: Option<Box<Known>>,
}

#[derive(Default)]
struct Known {
    sacked: BitRing,
    retransmitted: BitRing,
    /// The highest SACKed segments, descending; 0 is none, for segment 0 is never SACKed above itself.
    top_sacked: [u64; DUP_THRESH as usize],
    /// Every segment before it that was not SACKed is lost.
    lost_edge: u64,
    /// No segment before it needs retransmission.
    retransmit_from: u64,
    /// In the order sent; empty unless lost retransmissions are to be found.
    log: VecDeque<Retransmission>,
    /// Retransmissions that are in the log no more.
    gone: u64,
    /// As ns-2: of each segment from `numbered_from` on the how manieth retransmission is in flight; [`NEVER`]: none.
    numbers: VecDeque<u64>,
    numbered_from: u64,
    /// The how manieth retransmission arrived last, by the ACKs before this one.
    arrived: u64,
    /// Those that arrived by this ACK: which segment, the how manieth.
    arriving: Vec<(u64, u64)>,
    /// What ACKs told of last, since something was forgotten.
    told: [Block; BLOCKS_MAX],
}

impl Known {
    fn reserve(&mut self, una: u64, nxt: u64) {
        self.sacked.reserve(una, nxt);
        self.retransmitted.reserve(una, nxt);
    }

    /// The retransmission of segment `seq` is in flight as the `number`th.
    fn number(&mut self, seq: u64, number: u64, una: u64) {
        if self.numbers.is_empty() {
            self.numbered_from = una;
        }
        let place = (seq - self.numbered_from) as usize;
        if place >= self.numbers.len() {
            self.numbers.resize(place + 1, NEVER);
        }
        self.numbers[place] = number;
    }

    /// It is in flight no more; says the how manieth it was.
    fn take_number(&mut self, seq: u64) -> Option<u64> {
        let number = self.numbers.get_mut(seq.checked_sub(self.numbered_from)? as usize)?;
        Some(std::mem::replace(number, NEVER)).filter(|number| *number != NEVER)
    }

    /// The retransmission of segment `seq` arrived.
    fn note_arrival(&mut self, seq: u64) {
        let number = self.take_number(seq);
        self.arriving.extend(number.map(|number| (seq, number)));
    }

    /// So did those of all segments before `next`.
    fn note_arrivals(&mut self, next: u64) {
        let until = (next - self.numbered_from).min(self.numbers.len() as u64);
        self.numbered_from += until;
        let arrived = self.numbers.drain(..until as usize).filter(|number| *number != NEVER);
        self.arriving.extend(arrived.max().map(|number| (next - 1, number)));
    }

    /// The retransmission of segment `seq` is lost; false if none is in flight.
    fn lose(&mut self, seq: u64, una: u64) -> bool {
        if seq < una || !self.retransmitted.contains(seq) {
            return false;
        }
        self.retransmitted.remove(seq);
        self.take_number(seq);
        self.retransmit_from = self.retransmit_from.min(seq);
        true
    }
}

impl Scoreboard {
    pub fn new(stack: &Stack) -> Scoreboard {
        let logs_retransmissions = stack.detect_lost_retransmissions;
        let as_ns2 = stack.recovery == Recovery::RateHalving;
        Scoreboard {
            as_ns2,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            forgotten: 0,
            logs_retransmissions,
            known: None,
        }
    }

    fn known(&mut self) -> &mut Known {
        self.known.get_or_insert_default()
    }

    /// Every segment in flight is on its way for the first time, as far as is known.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out | self.forgotten == 0
    }

    /// The highest segment that was SACKed; 0: none.
    pub fn highest_sacked(&self) -> u64 {
        self.known.as_ref().map_or(0, |known| known.top_sacked[0])
    }

    /// Below it three segments or more were SACKed above each segment (RFC 6675, IsLost).
    pub fn third_highest_sacked(&self) -> u64 {
        self.known.as_ref().map_or(0, |known| known.top_sacked[DUP_THRESH as usize - 1])
    }

    pub fn is_sacked(&self, seq: u64) -> bool {
        self.sacked_out > 0 && self.known.as_ref().is_some_and(|known| known.sacked.contains(seq))
    }

    /// Knows of nothing but that all in flight is on its way, until ACKs tell it again.
    pub fn clear(&mut self, una: u64, nxt: u64) {
        self.mark_none_lost(una, nxt);
        if self.sacked_out > 0 {
            let known = self.known();
            known.sacked.take(una, nxt);
            known.top_sacked = Default::default();
            known.told = Default::default();
            (self.sacked_out, self.forgotten) = (0, nxt);
        }
    }

    /// An ACK tells that these have arrived. What the one before told is not looked at again.
    pub fn sack_all(&mut self, blocks: impl Iterator<Item = Block>, una: u64, nxt: u64) {
        self.known().reserve(una, nxt);
        let before = std::mem::take(&mut self.known().told);
        for (place, block) in blocks.enumerate() {
            let overlapping = before.iter().filter(|told| told.start < block.end && block.start < told.end);
            let longest = overlapping.max_by_key(|told| told.end - told.start);
            let known_of = longest.cloned().unwrap_or(block.start..block.start);
            for (from, to) in [(block.start.max(una), known_of.start), (known_of.end.max(una), block.end)] {
                self.sack_stretch(from, to, una, nxt);
            }
            self.known().told[place] = block;
        }
    }

    fn sack_stretch(&mut self, mut from: u64, to: u64, una: u64, nxt: u64) {
        while let Some(seq) = self.known().sacked.first_absent_in(from, to) {
            self.sack(seq, una, nxt);
            from = seq + 1;
        }
    }

    /// Drops what is known of `una..next`; says how many of them were SACKed.
    pub fn forget(&mut self, una: u64, next: u64) -> u64 {
        let Some(known) = &mut self.known else { return 0 };
        let lost_until = known.lost_edge.clamp(una, next);
        let sacked_among_lost = known.sacked.take(una, lost_until);
        let sacked = sacked_among_lost + known.sacked.take(lost_until, next);
        self.sacked_out -= sacked;
        self.lost_out -= lost_until - una - sacked_among_lost;
        self.retrans_out -= known.retransmitted.take(una, next);
        if !known.numbers.is_empty() {
            known.note_arrivals(next);
        }
        if next >= self.forgotten {
            self.forgotten = 0;
        }
        sacked
    }

    /// Marks `seq` as arrived; false if that was known.
    pub fn sack(&mut self, seq: u64, una: u64, nxt: u64) -> bool {
        let known = self.known.get_or_insert_default();
        known.reserve(una, nxt);
        if seq < una || known.sacked.contains(seq) {
            return false;
        }
        known.sacked.insert(seq);
        self.sacked_out += 1;
        if seq < known.lost_edge {
            self.lost_out -= 1;
        }
        if known.retransmitted.take(seq, seq + 1) > 0 {
            self.retrans_out -= 1;
            known.note_arrival(seq);
        }
        let mut seq = seq;
        for top in &mut known.top_sacked {
            if seq > *top {
                std::mem::swap(top, &mut seq);
            }
        }
        true
    }

    /// Marks every segment before `edge` that was not SACKed as lost; says how many newly.
    pub fn mark_lost(&mut self, una: u64, edge: u64) -> u64 {
        if edge <= una {
            return 0;
        }
        let known = self.known();
        let from = known.lost_edge.max(una);
        if edge <= from {
            return 0;
        }
        let lost = edge - from - known.sacked.count(from, edge);
        known.lost_edge = edge;
        self.lost_out += lost;
        lost
    }

    /// Marks as lost the retransmissions sent before `sent_ns`, when a segment was sent that has arrived: the
    /// path keeps the order. Says how many.
    pub fn mark_lost_retransmissions(&mut self, una: u64, sent_ns: u64) -> u64 {
        let Some(known) = &mut self.known else { return 0 };
        let mut lost = 0;
        while let Some(first) = known.log.front()
            && first.sent_ns < sent_ns
        {
            let seq = first.seq;
            known.log.pop_front();
            lost += u64::from(known.lose(seq, una));
        }
        self.retrans_out -= lost;
        lost
    }

    /// As [`Scoreboard::mark_lost_retransmissions`], as ns-2 does it: a retransmission is lost when a segment is SACKed that
    /// was sent for the first time after it, or when the one that arrived last was retransmitted at least [`OVERTAKEN_BY`]
    /// retransmissions later. An ACK is looked through in the order of the segments: of several that it SACKs the highest
    /// arrived last, and what lies below is lost only at the next ACK. What it acknowledges counts only if it is later.
    pub fn mark_overtaken_retransmissions(&mut self, una: u64) -> u64 {
        let Some(known) = &mut self.known else { return 0 };
        let mut arriving = std::mem::take(&mut known.arriving);
        arriving.sort_unstable();
        let acknowledged = arriving.partition_point(|&(seq, _)| seq < una);
        let numbers = arriving.drain(..acknowledged).map(|(_, number)| number);
        let arrived = numbers.fold(known.arrived, u64::max);
        known.arrived = arriving.last().map_or(arrived, |&(_, number)| number);
        let latest = arriving.iter().map(|&(_, number)| number).fold(arrived, u64::max);
        let mut lost = 0;
        for place in 0..known.log.len() {
            let (number, sent) = (known.gone + place as u64, &mut known.log[place]);
            let by_new = sent.nxt <= known.top_sacked[0];
            if !by_new && number + OVERTAKEN_BY > latest {
                break;
            }
            let below = arriving.partition_point(|&(seq, _)| seq < sent.seq);
            let told = below.checked_sub(1).map_or(arrived, |last| arriving[last].1);
            if by_new || number + OVERTAKEN_BY <= told {
                let seq = std::mem::replace(&mut sent.seq, NEVER);
                lost += u64::from(seq != NEVER && known.lose(seq, una));
            }
        }
        self.retrans_out -= lost;
        while known.log.front().is_some_and(|sent| sent.seq == NEVER) {
            known.log.pop_front();
            known.gone += 1;
        }
        arriving.clear();
        known.arriving = arriving;
        lost
    }

    /// How far had been sent when the retransmission that was sent at `sent_ns` was; 0: unknown.
    pub fn sent_before_retransmission(&self, sent_ns: u64) -> u64 {
        let log = self.known.iter().flat_map(|known| &known.log);
        let before = log.take_while(|sent| sent.sent_ns <= sent_ns);
        before.filter(|sent| sent.sent_ns == sent_ns).last().map_or(0, |sent| sent.nxt)
    }

    /// All that is in flight counts as lost, and nothing as retransmitted.
    pub fn mark_all_lost(&mut self, una: u64, nxt: u64) {
        self.known().lost_edge = nxt;
        self.lost_out = nxt - una - self.sacked_out;
        self.forget_retransmissions(una, nxt);
    }

    /// Nothing in flight counts as lost.
    pub fn mark_none_lost(&mut self, una: u64, nxt: u64) {
        let Some(known) = &mut self.known else { return };
        known.lost_edge = una;
        self.lost_out = 0;
        self.forget_retransmissions(una, nxt);
    }

    fn forget_retransmissions(&mut self, una: u64, nxt: u64) {
        self.retrans_out = 0;
        let known = self.known();
        known.retransmitted.take(una, nxt);
        known.retransmit_from = una;
        known.gone += known.log.len() as u64;
        known.log.clear();
        known.numbers.clear();
    }

    /// The next lost segment to retransmit, which then is, at `now`.
    pub fn next_retransmission(&mut self, now: u64, una: u64, nxt: u64) -> Option<u64> {
        let known = self.known.get_or_insert_default();
        known.reserve(una, nxt);
        let from = known.retransmit_from.max(una);
        let Some(seq) = known.sacked.first_in_neither(&known.retransmitted, from, known.lost_edge) else {
            known.retransmit_from = known.lost_edge;
            return None;
        };
        known.retransmit_from = seq + 1;
        known.retransmitted.insert(seq);
        self.retrans_out += 1;
        if self.logs_retransmissions {
            known.log.push_back(Retransmission { seq, sent_ns: now, nxt });
            if self.as_ns2 {
                known.number(seq, known.gone + known.log.len() as u64 - 1, una);
            }
        }
        Some(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwnd_scenario::Scenario;

    /// Of twenty segments the last, the first of those after ten, is SACKed; the first ten are retransmitted.
    fn ten_retransmitted() -> Scoreboard {
        let scenario = "duration = '1 s'\nstack = 'ns2'\n[[chain]]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 5\n[[flows]]\ncca = 'reno'";
        let scenario = Scenario::from_toml(scenario, "", &[]);
        let mut board = Scoreboard::new(&scenario.unwrap().flows[0].stack);
        board.sack(19, 0, 20);
        board.mark_lost(0, 10);
        assert!((0..10).all(|seq| board.next_retransmission(seq, 0, 20) == Some(seq)));
        board
    }

    /// Those of them that `seq` shows to be lost, on its ACK and on the next.
    fn lost_by(seq: u64) -> (Vec<u64>, Vec<u64>) {
        let mut board = ten_retransmitted();
        board.sack(seq, 0, 21);
        let mut lost = || {
            board.mark_overtaken_retransmissions(0);
            std::iter::from_fn(|| board.next_retransmission(99, 0, 21)).collect()
        };
        (lost(), lost())
    }

    #[test]
    fn in_ns2_a_retransmission_is_lost_when_the_fifth_after_it_arrived_before() {
        assert_eq!(lost_by(4), (vec![], vec![]));
        assert_eq!(lost_by(5), (vec![], vec![0]));
        assert_eq!(lost_by(8), (vec![], vec![0, 1, 2, 3]));
    }

    #[test]
    fn in_ns2_a_retransmission_is_lost_at_once_when_a_later_new_segment_arrives() {
        assert_eq!(lost_by(20), ((0..10).collect(), vec![]));
    }

    #[test]
    fn in_ns2_the_last_segment_of_an_ack_counts_though_another_was_retransmitted_later() {
        let mut board = ten_retransmitted();
        let mut lost_by = |seqs: &[u64]| -> Vec<_> {
            seqs.iter().for_each(|&seq| assert!(board.sack(seq, 0, 20)));
            board.mark_overtaken_retransmissions(0);
            std::iter::from_fn(|| board.next_retransmission(99, 0, 20)).collect()
        };
        assert_eq!([lost_by(&[6]), lost_by(&[])], [vec![], vec![0, 1]]);
        // 0 and 1, now tenth and eleventh, have overtaken 2 and 3 above them; then 4 is the last that arrived, and 5 is safe.
        assert_eq!([lost_by(&[0, 1, 4]), lost_by(&[])], [vec![2, 3], vec![]]);
    }

    #[test]
    fn in_ns2_what_is_acknowledged_hides_no_later_retransmission() {
        let mut board = ten_retransmitted();
        assert!(board.sack(9, 0, 20));
        assert_eq!(board.mark_overtaken_retransmissions(0), 0);
        board.forget(0, 1);
        assert_eq!(board.mark_overtaken_retransmissions(1), 4, "1 to 4, by 9 and not by 0");
    }

    #[test]
    fn what_was_forgotten_counts_when_it_is_told_again() {
        let mut board = ten_retransmitted();
        board.sack_all(std::iter::once(12..15), 0, 20);
        board.clear(0, 20);
        assert_eq!(
            (board.sacked_out, board.lost_out, board.retrans_out, board.highest_sacked()),
            (0, 0, 0, 0)
        );
        assert!(!board.is_clear(), "ACKs are to be looked at");
        board.sack_all(std::iter::once(12..15), 0, 20);
        assert_eq!((board.sacked_out, board.highest_sacked()), (3, 14));
        board.sack_all([11..17, 18..19].into_iter(), 0, 20);
        assert_eq!((board.sacked_out, board.highest_sacked()), (7, 18));
        board.forget(0, 20);
        assert!(board.is_clear());
    }
}
