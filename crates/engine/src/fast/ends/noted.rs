//! Counts of a connection at the end of the warmup and when its flow stopped, though its receiver lags behind.

use crate::net::measure::counts::{Counts, Received};
use std::ops::Range;

/// Counts of the receiver when the warmup ended and when the flow stopped. The next packet that arrives after either shows
/// them: until then all that has arrived counts.
pub struct Noted {
    /// 0: no warmup.
    pub warmup_ns: u64,
    pub stop_ns: u64,
    pub at_warmup: Option<Received>,
    /// The segments that had arrived by then beyond a missing one: of each run the first, the one behind it, and the payload of
    /// each.
    early: Vec<(Range<u64>, u32)>,
    pub at_stop: Option<Received>,
    /// Counts of the sender when the warmup ended.
    pub sent_before: Counts,
}

impl Noted {
    pub fn new(warmup_ns: u64, stop_ns: u64) -> Noted {
        Noted {
            warmup_ns,
            stop_ns,
            at_warmup: None,
            early: Vec::new(),
            at_stop: None,
            sent_before: Counts::default(),
        }
    }

    /// A packet arrives at `at`; all before it are in `received`, and of those `early` beyond a missing one, each with its payload.
    /// Returns after which time to note what has arrived next.
    pub fn note(&mut self, at: u64, received: Received, early: impl Iterator<Item = (u64, u32)>) -> u64 {
        if self.at_warmup.is_none() && self.warmup_ns > 0 && at > self.warmup_ns {
            self.note_early(early);
        }
        let mut next_ns = u64::MAX;
        let moments = [(self.warmup_ns, &mut self.at_warmup), (self.stop_ns, &mut self.at_stop)];
        for (moment_ns, noted) in moments.into_iter().filter(|(ns, noted)| *ns > 0 && noted.is_none()) {
            if at > moment_ns {
                *noted = Some(received);
            } else {
                next_ns = next_ns.min(moment_ns);
            }
        }
        next_ns
    }

    fn note_early(&mut self, early: impl Iterator<Item = (u64, u32)>) {
        for (seq, payload_bytes) in early {
            match self.early.last_mut() {
                Some((run, of_each)) if run.end == seq && *of_each == payload_bytes => run.end += 1,
                _ => self.early.push((seq..seq + 1, payload_bytes)),
            }
        }
    }

    /// The payload of those segments that had arrived early when the warmup ended and are before `in_order`.
    pub fn early_bytes_before(&self, in_order: u64) -> u64 {
        let bytes = |(run, of_each): &(Range<u64>, u32)| {
            run.end.min(in_order).saturating_sub(run.start) * u64::from(*of_each)
        };
        self.early.iter().map(bytes).sum()
    }
}
