//! RACK's record of arrivals (RFC 8985, 6.2).

use crate::tcp::sent_times::SentTimes;
use std::ops::Range;

#[derive(Default)]
pub struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: when the segment was sent that was sent last of all that have arrived, and its
    /// number, which decides between segments of one burst.
    newest: (u64, u64),
    /// RACK.rtt: that of the last arrival.
    rtt_ns: u64,
    /// Segments before it were first sent before `newest`.
    sent_before: u64,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.reo_wnd_mult, less 1: retransmissions proved needless this often, once in a round trip.
    widened: u32,
    /// RACK.reo_wnd_persist: recoveries until that is forgotten.
    remembered: u32,
    /// RACK.dsack_round: the round trip ends when the segments before it are acknowledged.
    round_end: u64,
}

/// RACK.reo_wnd_persist after a needless retransmission.
const RECOVERIES_REMEMBERED: u32 = 16;

/// Bounds of the segments that are lost by time.
pub struct Overdue {
    /// Segments first sent before it and sent before [`Overdue::sent_before_ns`] are lost if they have not arrived.
    pub edge: u64,
    /// Segments from `edge` up to here are lost later.
    pub waiting_until: u64,
    /// The segment that was sent last of all that have arrived, by its time and number: what was sent later is not lost.
    pub newest: (u64, u64),
    /// Segments sent from then on have some time left.
    pub sent_before_ns: u64,
    /// How long after it was sent a segment counts as lost.
    pub patience_ns: u64,
}

impl Rack {
    /// Segment `seq` has arrived for the first time, in the copy that was sent at `sent_ns`. `in_flight`: the segments from
    /// the first unacknowledged one to the next to be sent.
    #[inline(always)]
    pub fn note_arrival(
        &mut self,
        now: u64,
        (sent_ns, seq): (u64, u64),
        retransmission: bool,
        in_flight: Range<u64>,
        times: &mut SentTimes,
    ) {
        self.rtt_ns = now - sent_ns;
        if (sent_ns, seq) <= self.newest {
            return;
        }
        self.newest = (sent_ns, seq);
        self.sent_before =
            if retransmission { self.first_sent_since((sent_ns, seq), in_flight, times) } else { seq };
    }

    /// The first segment, from `sent_before` on, that was first sent no earlier than a retransmission of `sent`, a segment of that time.
    #[inline(never)]
    fn first_sent_since(&self, sent: (u64, u64), in_flight: Range<u64>, times: &mut SentTimes) -> u64 {
        let from = self.sent_before.max(in_flight.start);
        times.first_since(sent).unwrap_or(in_flight.end).max(from)
    }

    /// An original has arrived behind a later one.
    pub fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// A segment that was sent again has arrived twice; `in_flight` as in [`Rack::note_arrival`].
    pub fn note_needless(&mut self, in_flight: Range<u64>) {
        if self.reordering_seen && in_flight.start >= self.round_end {
            self.widened = self.widened.saturating_add(1);
            (self.remembered, self.round_end) = (RECOVERIES_REMEMBERED, in_flight.end);
        }
    }

    /// A recovery ends; `needless`: its reduction is undone because all that was sent again has arrived twice.
    pub fn end_recovery(&mut self, needless: bool) {
        if needless {
            self.remembered = (self.remembered + 1).min(RECOVERIES_REMEMBERED);
            return;
        }
        self.remembered = self.remembered.saturating_sub(1);
        if self.remembered == 0 {
            self.widened = 0;
        }
    }

    /// RACK.reo_wnd. `certain`: three later segments have arrived, or a loss is being repaired.
    pub fn window_ns(&self, min_rtt_ns: u64, srtt_ns: u64, certain: bool) -> u64 {
        if certain && !self.reordering_seen {
            return 0;
        }
        (min_rtt_ns / 4 * u64::from(self.widened + 1)).min(srtt_ns)
    }

    /// Returns the bounds of what is lost at `now` with this window; segments before `from` are acknowledged or lost already.
    pub fn overdue(&self, now: u64, window_ns: u64, from: u64, times: &SentTimes) -> Overdue {
        let patience_ns = self.rtt_ns + window_ns;
        let sent_before_ns = (now + 1).saturating_sub(patience_ns);
        let until = self.sent_before.max(from);
        let edge = if sent_before_ns > self.newest.0 || until == from {
            until
        } else {
            times.first_from(sent_before_ns).map_or(until, |first| first.clamp(from, until))
        };
        Overdue { edge, waiting_until: until, newest: self.newest, sent_before_ns, patience_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments 0 to 4 leave 10 ns apart, and segments 5 to 7 with the last of them.
    fn sent() -> SentTimes {
        let mut times = SentTimes::default();
        (0..8).for_each(|seq| times.note(10 * seq.min(4), seq, 0));
        times
    }

    fn edge(rack: &Rack, now: u64, window_ns: u64) -> u64 {
        rack.overdue(now, window_ns, 0, &sent()).edge
    }

    #[test]
    fn a_segment_is_lost_when_it_is_later_than_the_newest_arrival_by_the_window() {
        let mut rack = Rack::default();
        rack.note_arrival(130, (30, 3), false, 0..8, &mut sent());
        assert_eq!(rack.window_ns(100, 100, true), 0, "nothing was reordered yet");
        assert_eq!(edge(&rack, 130, 0), 3);
        assert_eq!(rack.window_ns(100, 100, false), 25);
        assert_eq!(edge(&rack, 130, 25), 1, "0 + 100 + 25 is over, 10 + 125 is not");
        assert_eq!([134, 135, 144, 145, 1000].map(|now| edge(&rack, now, 25)), [1, 2, 2, 3, 3]);
        rack.note_reordering();
        assert_eq!(rack.window_ns(100, 100, true), 25);
    }

    #[test]
    fn among_segments_of_one_burst_the_number_decides() {
        let mut rack = Rack::default();
        rack.note_arrival(140, (40, 6), false, 0..8, &mut sent());
        assert_eq!(edge(&rack, 140, 0), 6);
        // Segment 0 again, with the burst: before segments of the same time with higher numbers.
        let mut rack = Rack::default();
        rack.note_arrival(140, (40, 0), true, 0..8, &mut sent());
        assert_eq!(edge(&rack, 140, 0), 4);
        rack.note_arrival(141, (41, 1), true, 0..8, &mut sent());
        assert_eq!(edge(&rack, 141, 0), 8);
    }

    #[test]
    fn a_needless_retransmission_widens_the_window_once_in_a_round_trip() {
        let mut rack = Rack::default();
        rack.note_needless(0..8);
        assert_eq!(rack.window_ns(100, 1000, false), 25, "no reordering was seen");
        rack.note_reordering();
        [0, 7, 8].into_iter().for_each(|una| rack.note_needless(una..una + 8));
        assert_eq!([1000, 60].map(|srtt_ns| rack.window_ns(100, srtt_ns, false)), [75, 60]);
        (1..RECOVERIES_REMEMBERED).for_each(|_| rack.end_recovery(false));
        rack.end_recovery(true);
        rack.end_recovery(false);
        assert_eq!(rack.window_ns(100, 1000, false), 75);
        rack.end_recovery(false);
        assert_eq!(rack.window_ns(100, 1000, false), 25);
    }
}
