//! When the application has written the data that the sender may send.

use cwnd_scenario::Flow;

/// An application that writes at a rate, or pauses, or both.
pub struct Application {
    start_ns: u64,
    /// How long the application writes at one segment; 0: it has all its data at once.
    segment_ns: f64,
    /// The application writes for the first time, pauses for the second, and so on.
    on_off_ns: Option<(u64, u64)>,
}

impl Application {
    /// None: an unlimited amount of data from the start.
    pub fn new(flow: &Flow, start_ns: u64) -> Option<Application> {
        if flow.app_rate_bps.is_none() && flow.on_off_ns.is_none() {
            return None;
        }
        let bits = 8.0 * f64::from(flow.payload_bytes);
        Some(Application {
            start_ns,
            segment_ns: flow.app_rate_bps.map_or(0.0, |rate| bits * 1e9 / rate as f64),
            on_off_ns: flow.on_off_ns,
        })
    }

    /// The earliest time from `now` on at which segment `seq`, counted from 0, can be sent.
    pub fn ready_at(&self, seq: u64, now: u64) -> u64 {
        let writing_ns = (seq + 1) as f64 * self.segment_ns;
        // Rounded up, without a call.
        let whole_ns = writing_ns as u64;
        let writing_ns = whole_ns.saturating_add(u64::from((whole_ns as f64) < writing_ns));
        let Some((on, off)) = self.on_off_ns else {
            return now.max(self.start_ns.saturating_add(writing_ns));
        };
        if self.segment_ns > 0.0 {
            // A segment that fills a period of writing is ready at the end of it, before the pause.
            let periods = if writing_ns <= on { 0 } else { (writing_ns - 1) / on };
            let pauses_ns = periods.saturating_mul(off);
            return now.max(self.start_ns.saturating_add(pauses_ns).saturating_add(writing_ns));
        }
        let since = now - self.start_ns;
        let phase = since % (on + off);
        if phase < on { now } else { now + (on + off - phase) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(segment_ns: f64, on_off_ns: Option<(u64, u64)>) -> Application {
        Application { start_ns: 1000, segment_ns, on_off_ns }
    }

    #[test]
    fn a_segment_is_ready_when_all_of_it_is_written() {
        let steady = application(10.0, None);
        assert_eq!([0, 1, 9].map(|seq| steady.ready_at(seq, 0)), [1010, 1020, 1100]);
        assert_eq!(steady.ready_at(0, 5000), 5000);
    }

    #[test]
    fn nothing_is_written_during_a_pause() {
        let paused = application(10.0, Some((20, 80)));
        assert_eq!(application(5.2e14, Some((1000, 86_400_000_000_000))).ready_at(1 << 40, 0), u64::MAX);
        assert_eq!([0, 1, 2, 3, 4].map(|seq| paused.ready_at(seq, 0)), [1010, 1020, 1110, 1120, 1210]);
        let bursts = application(0.0, Some((20, 80)));
        assert_eq!([1000, 1019, 1020, 1099].map(|now| bursts.ready_at(7, now)), [1000, 1019, 1100, 1100]);
    }
}
