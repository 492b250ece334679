//! When the application has written the data that the sender may send.

use crate::time::NEVER;
use cwnd_scenario::{Flow, Handshake};

/// An application that writes at a rate, or pauses, or both.
pub struct Application {
    start_ns: u64,
    /// Segments before the first that it writes: 1, a SYN, with a handshake.
    syn: u64,
    /// How long the application writes at one segment; 0: it has all its data at once.
    segment_ns: f64,
    /// The application writes for the first time, pauses for the second, and so on.
    on_off_ns: Option<(u64, u64)>,
    /// At a rate: all segments before this one are known to be written.
    written: u64,
    /// At a rate: the segment that was asked for last, and when it is written.
    asked: (u64, u64),
}

/// If the segment this far beyond one that is asked for is written, all between them need no calculation.
const AHEAD: u64 = 16;

impl Application {
    /// None: an unlimited amount of data from the start.
    pub fn new(flow: &Flow, start_ns: u64) -> Option<Application> {
        if flow.app_rate_bps.is_none() && flow.on_off_ns.is_none() {
            return None;
        }
        let bits = 8.0 * f64::from(flow.payload_bytes);
        Some(Application {
            start_ns,
            syn: u64::from(flow.stack.handshake != Handshake::Off),
            segment_ns: flow.app_rate_bps.map_or(0.0, |rate| bits * 1e9 / rate as f64),
            on_off_ns: flow.on_off_ns,
            written: 0,
            asked: (NEVER, NEVER),
        })
    }

    /// The earliest time from `now` on, not before that of an earlier call, at which segment `seq`, counted from 0, can be sent.
    #[inline]
    pub fn ready_at(&mut self, seq: u64, now: u64) -> u64 {
        if seq < self.written {
            return now;
        }
        if self.segment_ns == 0.0 {
            return self.next_period(now);
        }
        if seq != self.asked.0 {
            self.asked = (seq, self.written_ns(seq));
        }
        now.max(self.asked.1)
    }

    /// Returns true if all segments before `end` can be sent at `now`.
    #[inline]
    pub fn has_written(&mut self, end: u64, now: u64) -> bool {
        let (asked, written_ns) = self.asked;
        end <= self.written || (end <= asked || written_ns <= now) && self.has_written_more(end, now)
    }

    #[inline(never)]
    fn has_written_more(&mut self, end: u64, now: u64) -> bool {
        if self.segment_ns > 0.0 && self.written_ns(end - 1 + AHEAD) <= now {
            self.written = end + AHEAD;
        }
        self.ready_at(end - 1, now) <= now
    }

    /// When a segment is written, at a rate.
    #[inline(never)]
    fn written_ns(&self, seq: u64) -> u64 {
        // A SYN is sent with the first segment.
        let writing_ns = (seq.saturating_sub(self.syn) + 1) as f64 * self.segment_ns;
        // Rounded up, without a call.
        let whole_ns = writing_ns as u64;
        let writing_ns = whole_ns.saturating_add(u64::from((whole_ns as f64) < writing_ns));
        // A segment that fills a period of writing is ready at the end of it, before the pause.
        let pauses_ns = match self.on_off_ns {
            Some((on, off)) if writing_ns > on => ((writing_ns - 1) / on).saturating_mul(off),
            _ => 0,
        };
        self.start_ns.saturating_add(pauses_ns).saturating_add(writing_ns)
    }

    /// When the application writes next, from `now` on, if it has no rate.
    fn next_period(&self, now: u64) -> u64 {
        let Some((on, off)) = self.on_off_ns else { return now };
        let phase = (now - self.start_ns) % (on + off);
        if phase < on { now } else { now + (on + off - phase) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn application(segment_ns: f64, on_off_ns: Option<(u64, u64)>) -> Application {
        Application { start_ns: 1000, syn: 0, segment_ns, on_off_ns, written: 0, asked: (NEVER, NEVER) }
    }

    #[test]
    fn a_segment_is_ready_when_all_of_it_is_written() {
        let mut steady = application(10.0, None);
        assert_eq!([0, 1, 9].map(|seq| steady.ready_at(seq, 0)), [1010, 1020, 1100]);
        assert_eq!(steady.ready_at(0, 5000), 5000);
    }

    #[test]
    fn nothing_is_written_during_a_pause() {
        let mut paused = application(10.0, Some((20, 80)));
        assert_eq!(application(5.2e14, Some((1000, 86_400_000_000_000))).ready_at(1 << 40, 0), u64::MAX);
        assert_eq!([0, 1, 2, 3, 4].map(|seq| paused.ready_at(seq, 0)), [1010, 1020, 1110, 1120, 1210]);
        let mut bursts = application(0.0, Some((20, 80)));
        assert_eq!([1000, 1019, 1020, 1099].map(|now| bursts.ready_at(7, now)), [1000, 1019, 1100, 1100]);
    }

    proptest! {
        #[test]
        fn what_was_asked_before_changes_no_answer(
            segment_ns in prop_oneof![Just(0.0), 0.5..40.0],
            on_off_ns in prop::option::of((1u64..200, 1u64..200)),
            steps in prop::collection::vec((0u64..60, 1u64..80), 1..60),
        ) {
            let mut asked = application(segment_ns, on_off_ns);
            let mut now = 1000;
            for (later, end) in steps {
                now += later;
                let fresh = || application(segment_ns, on_off_ns);
                prop_assert_eq!(asked.has_written(end, now), fresh().ready_at(end - 1, now) <= now);
                prop_assert_eq!(asked.ready_at(end, now), fresh().ready_at(end, now));
            }
        }
    }
}
