//! What a sender keeps on a path that may deliver segments in another order (RFC 8985, 6.2).

use crate::tcp::packet::AckPacket;
use std::collections::VecDeque;

#[derive(Default)]
pub struct Reordering {
    /// When each segment was first sent, from `first` on.
    sent_ns: VecDeque<u64>,
    first: u64,
    /// RACK.reordering_seen.
    seen: bool,
    /// RACK.xmit_ts: when the segment was sent that was sent last of all that have arrived.
    newest_sent_ns: u64,
    /// RACK.rtt: that segment's.
    rtt_ns: u64,
    /// RACK.reo_wnd_mult, less 1: retransmissions proved needless so often, once in a round trip.
    needless: u32,
    /// Recoveries until that is forgotten.
    remembered: u32,
    /// The round trip ends when a segment that was sent after this has arrived.
    round_ns: u64,
}

/// RACK.reo_wnd_persist.
const RECOVERIES_REMEMBERED: u32 = 16;

/// What is lost by time.
pub struct Overdue {
    /// Segments before it that have not arrived are lost.
    pub edge: u64,
    /// Retransmissions sent before then are lost.
    pub retransmitted_before_ns: u64,
    /// When the next segment is lost if it has not arrived.
    pub next_at: Option<u64>,
}

impl Reordering {
    /// The next new segment is sent.
    pub fn note_sent(&mut self, now: u64) {
        self.sent_ns.push_back(now);
    }

    /// An ACK reports an arrival; `highest` was the highest segment SACKed before it, `una` the first unacknowledged one.
    /// An original that arrives behind a later one shows that the path reorders.
    pub fn note_arrival(&mut self, now: u64, ack: &AckPacket, una: u64, highest: u64) {
        if ack.duplicate && self.newest_sent_ns >= self.round_ns {
            self.needless = self.needless.saturating_add(1);
            (self.remembered, self.round_ns) = (RECOVERIES_REMEMBERED, now);
        }
        let late = ack.sacked.map_or(ack.next > una && una < highest, |seq| seq.get() < highest);
        self.seen |= late && !ack.retransmission;
        if ack.sent_ns >= self.newest_sent_ns {
            (self.newest_sent_ns, self.rtt_ns) = (ack.sent_ns, now - ack.sent_ns);
        }
    }

    /// A recovery ends.
    pub fn end_recovery(&mut self) {
        self.remembered = self.remembered.saturating_sub(1);
        if self.remembered == 0 {
            self.needless = 0;
        }
    }

    /// All before segment `una` is acknowledged.
    pub fn forget(&mut self, una: u64) {
        let known = (una - self.first).min(self.sent_ns.len() as u64);
        self.sent_ns.drain(..known as usize);
        self.first = una;
    }

    /// What is lost at `now`. `wait_ns`: how long segments may come late once reordering was seen, or unless `certain`:
    /// three later ones have arrived, or a loss is being repaired.
    pub fn overdue(&self, now: u64, wait_ns: u64, certain: bool) -> Overdue {
        let wait_ns = if certain && !self.seen { 0 } else { wait_ns * u64::from(self.needless + 1) };
        let patience_ns = self.rtt_ns + wait_ns;
        let lost = |&sent_ns: &u64| sent_ns < self.newest_sent_ns && sent_ns + patience_ns <= now;
        let count = self.sent_ns.partition_point(lost);
        let next = self.sent_ns.get(count).filter(|&&sent_ns| sent_ns < self.newest_sent_ns);
        Overdue {
            edge: self.first + count as u64,
            retransmitted_before_ns: self.newest_sent_ns.min((now + 1).saturating_sub(patience_ns)),
            next_at: next.map(|sent_ns| sent_ns + patience_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    fn sacked(seq: u64, sent_ns: u64) -> AckPacket {
        AckPacket { sacked: NonZeroU64::new(seq), sent_ns, ..AckPacket::default() }
    }

    /// Segments 0 to 4 leave 10 ns apart; the RTT is 100 ns.
    fn five_sent() -> Reordering {
        let mut reordering = Reordering::default();
        (0..5).for_each(|seq| reordering.note_sent(10 * seq));
        reordering
    }

    #[test]
    fn a_segment_is_lost_when_it_is_later_than_the_newest_arrival_by_the_window() {
        let mut reordering = five_sent();
        reordering.note_arrival(130, &sacked(3, 30), 0, 0);
        assert_eq!(reordering.overdue(130, 25, true).edge, 3, "nothing was reordered yet");
        assert_eq!(reordering.overdue(130, 25, false).edge, 1, "0 + 100 + 25 is over, 10 + 125 is not");
        assert_eq!(reordering.overdue(130, 25, false).next_at, Some(135));
        reordering.note_arrival(131, &sacked(1, 10), 0, 3);
        assert_eq!(reordering.overdue(131, 25, true).edge, 1, "segment 1 came late: the path reorders");
    }

    #[test]
    fn a_needless_retransmission_widens_the_window_once_in_a_round_trip() {
        let mut reordering = five_sent();
        reordering.note_arrival(130, &sacked(3, 30), 0, 0);
        let needless = AckPacket { duplicate: true, sent_ns: 30, ..AckPacket::default() };
        reordering.note_arrival(131, &needless, 0, 3);
        reordering.note_arrival(132, &needless, 0, 3);
        assert_eq!(reordering.overdue(132, 25, false).next_at, Some(152), "102 + 2 * 25");
        (0..RECOVERIES_REMEMBERED).for_each(|_| reordering.end_recovery());
        assert_eq!(reordering.overdue(132, 25, false).next_at, Some(137), "10 + 102 + 25");
    }
}
