//! A token bucket that explains losses (Flach et al., SIGCOMM 2016).

use crate::facts::Facts;

/// Fewer losses may be anything.
const LEAST_LOSSES: usize = 15;
/// The time between the first and the last loss that gives a rate: of less, bursts make it.
const LEAST_RTTS: u64 = 10;
/// Share of the slots with losses that find the bucket empty, at least (Flach et al. use 0.8).
const EMPTY_AT_LOSSES: f64 = 0.8;
/// Share of the other busy slots that may find it empty.
const EMPTY_ELSEWHERE: f64 = 0.5;
/// A bucket is empty below this many segments: one loss more or less in a slot.
const EMPTY_SEGMENTS: f64 = 4.0;
/// An overflow shows its queue at nearly every loss and a policer at few: the majority decides.
const QUEUED_LOSSES: f64 = 0.5;
/// A queue at a loss: one RTT has the jitter of machines and of the burst that it is in, which the least of a slot has not.
const QUEUE_SHARE: f64 = 0.05;
const QUEUE_US: f64 = 2_000.0;

/// The bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub rate_bps: f64,
    pub from_ns: u64,
}

/// The bucket that explains the losses of a connection, if there is one.
pub(crate) fn bucket(facts: &Facts<'_>) -> Option<Bucket> {
    let losses = facts.losses();
    let (first, last) = (losses.first()?, losses.last()?);
    let duration = last.at_ns.saturating_sub(first.sent_ns);
    if losses.len() < LEAST_LOSSES || duration < LEAST_RTTS * u64::from(facts.base_us) * 1000 {
        return None;
    }
    let base_us = f64::from(facts.base_us);
    let full_us = base_us + QUEUE_US.max(QUEUE_SHARE * base_us);
    let queued = losses.iter().filter(|loss| f64::from(loss.rtt_us) > full_us).count();
    if queued as f64 > QUEUED_LOSSES * losses.len() as f64 {
        return None;
    }
    let width = facts.width_ns;
    let (from, to) = ((first.sent_ns / width) as usize, (last.sent_ns / width) as usize);
    let window = facts.slots.get(from..=to)?;
    let lost = window_losses(facts, from, to);
    let segment = f64::from(facts.mss);
    // What passes is what was sent and not lost; a slot's tokens are the mean of it.
    let passed: Vec<f64> = window
        .iter()
        .zip(&lost)
        .map(|(slot, lost)| ((slot.sent + slot.resent) as f64 - f64::from(*lost) * segment).max(0.0))
        .collect();
    let tokens = passed.iter().sum::<f64>() / passed.len() as f64;
    let mut level = 0.0_f64;
    let (mut at_losses, mut empty_at_losses, mut elsewhere, mut empty_elsewhere) = (0u32, 0u32, 0u32, 0u32);
    for (passed, lost) in passed.iter().zip(&lost) {
        level += tokens - passed;
        if *lost > 0 {
            at_losses += 1;
            // A loss is proof of an empty bucket: an error of the rate does not add up.
            if level < EMPTY_SEGMENTS * segment + tokens {
                empty_at_losses += 1;
            }
            level = level.clamp(-segment, EMPTY_SEGMENTS * segment);
        } else if *passed > 0.0 {
            elsewhere += 1;
            empty_elsewhere += u32::from(level < 0.0);
        }
    }
    let explains = f64::from(empty_at_losses) >= EMPTY_AT_LOSSES * f64::from(at_losses)
        && f64::from(empty_elsewhere) <= EMPTY_ELSEWHERE * f64::from(elsewhere.max(1));
    explains.then(|| Bucket { rate_bps: tokens * 8e9 / width as f64, from_ns: first.sent_ns })
}

/// Losses of each slot from `from` to `to`, by the time when the lost segment was sent.
fn window_losses(facts: &Facts<'_>, from: usize, to: usize) -> Vec<u32> {
    let mut lost = vec![0; to + 1 - from];
    for loss in facts.losses() {
        if let Some(count) =
            ((loss.sent_ns / facts.width_ns) as usize).checked_sub(from).and_then(|at| lost.get_mut(at))
        {
            *count += 1;
        }
    }
    lost
}
