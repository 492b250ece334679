//! Round trips of a connection, and which of them show the window.

use crate::sender::Event;
use cwnd_evidence::{Cause, ConnectionReport};

/// Rounds of an epoch that are one block of the comparison.
const BLOCK: usize = 16;

/// Marks in fewer rounds than these are one epoch.
const FEW: usize = 4;

/// A round trip in which the congestion window was the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The event behind which the flight was largest.
    pub at: usize,
    /// Largest flight, in segments.
    pub flight: u32,
    /// Losses before it.
    pub epoch: usize,
    /// The part of the epoch that it belongs to: rounds of one block are compared together.
    pub block: usize,
}

/// Rounds that can be compared, and the largest flight of the round before each event.
pub(crate) struct Rounds {
    pub rounds: Vec<Round>,
    /// Rounds in all.
    pub count: usize,
    /// Flight that the window allowed just before a loss, a mark or a timeout, by the index of the event.
    pub before: Vec<u32>,
    /// The window was the limit, by the index of the event.
    pub limited: Vec<bool>,
}

/// Times in which something else than the window limited the sender.
fn limits(report: &ConnectionReport) -> Vec<(u64, u64)> {
    let other = |cause| {
        matches!(
            cause,
            Cause::Handshake | Cause::Receiver | Cause::Application | Cause::Timeout | Cause::SenderBuffer
        )
    };
    let us = |s: f64| (s * 1e6) as u64;
    let spans = report.spans.iter().filter(|span| other(span.cause));
    spans.map(|span| (us(span.start_s), us(span.end_s))).collect()
}

/// Finds the rounds of a sender.
pub(crate) fn rounds(events: &[Event], report: &ConnectionReport) -> Rounds {
    let limits = limits(report);
    let mut at_limit = 0;
    let mut is_limited = |now: u64| {
        while at_limit < limits.len() && limits[at_limit].1 <= now {
            at_limit += 1;
        }
        limits.get(at_limit).is_none_or(|span| now < span.0)
    };
    let mut all = Rounds {
        rounds: Vec::new(),
        count: 0,
        before: vec![0; events.len()],
        limited: vec![true; events.len()],
    };
    let (mut best, mut limited, mut last_best) = ((0usize, 0u32), true, 0u32);
    let (mut epoch, mut in_epoch, mut block) = (0, 0, 0);
    let mut last_mark = 0;
    // Rounds since a loss or timeout began; a timeout's are left out until it is over.
    let (mut repairing, mut timed_out, mut since) = (false, false, 0);
    for (index, event) in events.iter().enumerate() {
        all.before[index] = best.1.max(last_best);
        match *event {
            Event::Ack(ack) => {
                if ack.begins_round {
                    let seen = !timed_out && (!repairing || since >= 2);
                    if best.1 > 0 {
                        all.count += 1;
                    }
                    if limited && seen && best.1 > 0 {
                        all.rounds.push(Round { at: best.0, flight: best.1, epoch, block });
                        in_epoch += 1;
                        if in_epoch % BLOCK == 0 {
                            block += 1;
                        }
                    }
                    since += 1;
                    last_best = best.1;
                    (best, limited) = ((index, 0), true);
                }
                let here = is_limited(ack.ack.now_us);
                all.limited[index] = here;
                limited &= here;
                if ack.flight >= best.1 {
                    best = (index, ack.flight);
                }
            }
            Event::Loss | Event::Timeout { .. } => {
                (repairing, since) = (true, 0);
                timed_out |= matches!(event, Event::Timeout { .. });
                epoch += 1;
                block += 1;
                in_epoch = 0;
                (best, last_best) = ((index, 0), 0);
            }
            Event::Mark => {
                // With a mark in each round the window is left alone: it is the marks' work.
                if all.count < last_mark + FEW {
                    all.before[index] = 0;
                } else {
                    epoch += 1;
                    block += 1;
                    in_epoch = 0;
                }
                last_mark = all.count;
            }
            Event::Recovered if repairing => {
                (repairing, timed_out) = (false, false);
                (best, last_best) = ((index, 0), 0);
            }
            Event::Recovered => {}
            Event::Restart { .. } | Event::Needless => {}
        }
    }
    // What an algorithm knew before the capture began is not known before its first loss.
    if !report.handshake.seen && epoch > 0 {
        all.rounds.retain(|round| round.epoch > 0);
    }
    all
}
