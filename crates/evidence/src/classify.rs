//! Causes: a partition of a connection's time.
//!
//! Time is cut into windows of an RTT or 100 ms. Each gets the first cause whose sign it shows, in the order of
//! [`Judge::cause`]; windows of one cause in a row are a span. The thresholds are constants with their reasons.

use crate::facts::{Facts, Place};
use crate::policer::{Bucket, bucket};
use crate::slots::{NONE, Slot};
use serde::Serialize;

/// A window is an RTT, in which every limit of a sender shows once, or this: delayed ACKs and timers of machines are shorter.
const WINDOW_NS: u64 = 100_000_000;
/// A cause has a window that it fills by half: there is one cause at a time.
const HALF: f64 = 0.5;
/// A queue: the RTT above its least by this share or time. Below are jitter of machines and segments ahead on the wire.
const QUEUE_SHARE: f64 = 0.02;
const QUEUE_US: u32 = 1_000;
/// A path is full while its queue is never empty: in so many of the slots with an RTT, since a slot has its least.
const FULL: f64 = 0.9;
/// A connection alone on its link: this share of its busy stretches has the link's rate within `SAME_RATE`.
const ALONE: f64 = 0.5;
/// Delivery at the link's rate: a segment more or less in a window, and the SYNs and ACKs of others.
const SAME_RATE: f64 = 0.95;
/// Slots of a stretch of busy link: one alone has a segment more or less in every ten.
const STRETCH: usize = 3;
/// Stretches that a rate is read off, at least.
const STRETCHES: usize = 10;
/// Slow start doubles the flight in each RTT: this growth in a window of an RTT is no growth of congestion avoidance.
const DOUBLING: f64 = 1.25;
/// An idle time after which a sender starts slowly again: Linux's least RTO.
const RESTART_NS: u64 = 200_000_000;
/// A flight that stays within this share of its largest, over `FLAT_RTTS`, is held: congestion avoidance adds a segment an RTT.
const FLAT: f64 = 0.02;
const FLAT_RTTS: u64 = 10;
/// A sender without data of its own writes: this share of its segments is short or leaves without an ACK.
const WRITES: f64 = 0.1;
const UNCLOCKED: f64 = 0.5;

/// A cause, by its name in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Before the first data.
    Handshake,
    /// The receiver's advertised window.
    Receiver,
    /// The application had nothing to send.
    Application,
    /// The buffer of the sender's socket.
    SenderBuffer,
    /// The window doubles.
    SlowStart,
    /// Nothing moves until the timer of retransmissions.
    Timeout,
    /// Lost segments are repaired.
    Recovery,
    /// A token bucket drops what is above its rate.
    Policer,
    /// Losses without a queue hold the window down.
    RandomLoss,
    /// The path carries what it can: the queue before its bottleneck is never empty.
    FullPath,
    /// As `FullPath`, on the way of the ACKs.
    AckPath,
    /// The congestion window, which grows; the path is not full.
    Cwnd,
    /// The signs are missing.
    Unknown,
}

/// An event that brought the congestion window down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// A queue ran over.
    Overflow,
    /// A loss without a queue.
    Loss,
    /// A mark of ECN.
    Mark,
}

/// A window of time with its cause.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub from_ns: u64,
    pub to_ns: u64,
    pub cause: Cause,
    pub after: Option<After>,
    pub sum: Slot,
}

struct Window {
    from_ns: u64,
    to_ns: u64,
    sum: Slot,
    /// Share of the slots with an RTT that show a queue, of data's way and of the ACKs' way.
    queued: Option<f64>,
    ack_queued: f64,
    /// When the last slow start began, at the latest, and the largest flight from there to this window.
    began_ns: u64,
    peak: u32,
}

/// Knowledge about the whole connection.
pub(crate) struct Judge<'a> {
    facts: &'a Facts<'a>,
    pub queue_us: u32,
    pub bucket: Option<Bucket>,
    /// Rate of the link in bytes a nanosecond, if the connection has a link alone.
    link_rate: Option<f64>,
    /// Least one-way delays.
    forward: i32,
    back: i32,
    /// Slots with marks.
    marked: Vec<usize>,
}

/// The causes of a connection's time from its first data on.
pub(crate) fn judge(facts: &Facts<'_>) -> (Vec<Judged>, Option<Bucket>) {
    let queue_us = QUEUE_US.max((f64::from(facts.base_us) * QUEUE_SHARE) as u32);
    let judge = Judge {
        facts,
        queue_us,
        bucket: bucket(facts),
        link_rate: link_rate(facts, queue_us),
        forward: facts.slots.iter().map(|slot| slot.forward).min().unwrap_or(0),
        back: facts.slots.iter().map(|slot| slot.back).min().unwrap_or(0),
        marked: (0..facts.slots.len()).filter(|&at| facts.slots[at].marks > 0).collect(),
    };
    let windows = judge.windows();
    let mut judged: Vec<Judged> = Vec::with_capacity(windows.len());
    for at in 0..windows.len() {
        let before = judged.last().map(|one| (one.cause, one.after));
        let (cause, after) = judge.cause(&windows, at, before);
        let window = &windows[at];
        judged.push(Judged {
            from_ns: window.from_ns,
            to_ns: window.to_ns,
            cause,
            after,
            sum: window.sum.clone(),
        });
    }
    (judged, judge.bucket)
}

impl Judge<'_> {
    fn windows(&self) -> Vec<Window> {
        let facts = self.facts;
        let width = facts.width_ns;
        let rtt_ns = u64::from(facts.base_us) * 1000;
        let per = WINDOW_NS.max(rtt_ns).div_ceil(width).max(1) as usize;
        let first = ((facts.begin_ns / width) as usize).min(facts.slots.len().saturating_sub(1));
        let mut windows = Vec::new();
        for (at, slots) in facts.slots[first..].chunks(per).enumerate() {
            let start = first + at * per;
            let from_ns = (start as u64 * width).max(facts.begin_ns);
            let to_ns = ((start + slots.len()) as u64 * width).min(facts.end_ns);
            if to_ns <= from_ns {
                continue;
            }
            let mut sum = Slot::new(start as u64, slots[0].state);
            let (mut sampled, mut queued, mut ack_queued, mut waiting) = (0, 0, 0, 0);
            for (slot, &rtt) in slots.iter().zip(&facts.rtts[start..]) {
                sum.add(slot);
                // Behind a time without an RTT the next one says if a queue was there: an idle path has none.
                waiting += 1;
                if rtt != NONE {
                    let queue = rtt > facts.base_us.saturating_add(self.queue_us);
                    sampled += waiting;
                    queued += u32::from(queue) * waiting;
                    let counted = std::mem::take(&mut waiting);
                    if queue && slot.back != i32::MAX {
                        let back = i64::from(slot.back) - i64::from(self.back);
                        let forward = i64::from(slot.forward) - i64::from(self.forward);
                        ack_queued += u32::from(back > forward) * counted;
                    }
                }
            }
            let share = |count: u32| f64::from(count) / f64::from(sampled.max(1));
            windows.push(Window {
                from_ns,
                to_ns,
                sum,
                queued: (sampled > 0).then(|| share(queued)),
                ack_queued: share(ack_queued),
                began_ns: 0,
                peak: 0,
            });
        }
        self.find_slow_starts(&mut windows);
        windows
    }

    /// Notes in each window the last beginning of slow start: of the connection, after an idle time, or after a timeout.
    fn find_slow_starts(&self, windows: &mut [Window]) {
        let stalls = &self.facts.half.stalls;
        let (mut idle_ns, mut began_ns, mut peak) = (0, 0, 0);
        for window in windows {
            let span_ns = window.to_ns - window.from_ns;
            let stalled = stalls.partition_point(|stall| stall.1 <= window.to_ns);
            let after_stall = stalled > 0 && stalls[stalled - 1].1 > began_ns;
            if after_stall || window.sum.idle_ns < span_ns && idle_ns >= RESTART_NS {
                (began_ns, peak) = (window.from_ns, 0);
                if after_stall {
                    began_ns = stalls[stalled - 1].1;
                }
            }
            (window.began_ns, window.peak) = (began_ns, peak);
            peak = peak.max(window.sum.flight);
            idle_ns = if 2 * window.sum.idle_ns >= span_ns { idle_ns + window.sum.idle_ns } else { 0 };
        }
    }

    /// The first cause whose sign a window shows; `before` is that of the window before.
    fn cause(
        &self,
        windows: &[Window],
        at: usize,
        before: Option<(Cause, Option<After>)>,
    ) -> (Cause, Option<After>) {
        let window = &windows[at];
        let sum = &window.sum;
        let span = (window.to_ns - window.from_ns) as f64;
        let share = |ns: u64| ns as f64 / span;
        let covered = |spans: &[(u64, u64)]| share(overlap(spans, window.from_ns, window.to_ns));
        let after = self.after(window.to_ns);
        if covered(&self.facts.half.stalls) >= HALF {
            return (Cause::Timeout, None);
        }
        if share(sum.closed_ns) >= HALF
            || self.facts.scale_known
                && share(sum.blocked_ns + sum.closed_ns) >= HALF * (1.0 - share(sum.idle_ns))
                && share(sum.idle_ns) < HALF
        {
            return (Cause::Receiver, None);
        }
        if share(sum.idle_ns) >= HALF {
            return (Cause::Application, None);
        }
        let full = self.is_full(window);
        if let Some(bucket) = &self.bucket
            && window.to_ns > bucket.from_ns
            && !full
        {
            return (Cause::Policer, None);
        }
        let held = self.is_held(windows, at);
        if full && !held {
            let acks = window.ack_queued >= HALF;
            return (if acks { Cause::AckPath } else { Cause::FullPath }, None);
        }
        if held {
            return (Cause::SenderBuffer, None);
        }
        if sum.segments > 0 && f64::from(sum.short) >= WRITES * f64::from(sum.segments) {
            return (Cause::Application, None);
        }
        if self.facts.place == Place::Sender
            && sum.sent > 0
            && sum.unclocked as f64 >= UNCLOCKED * sum.sent as f64
        {
            return (Cause::Application, None);
        }
        if covered(&self.facts.half.recoveries) >= HALF && self.facts.place != Place::Unknown {
            return (Cause::Recovery, after);
        }
        if sum.sent + sum.delivered == 0 {
            // The state before lasts: nothing left, nothing came back.
            return before.filter(|_| window.queued.is_none()).unwrap_or((Cause::Unknown, None));
        }
        if self.grows(windows, at) {
            return (Cause::SlowStart, None);
        }
        if window.queued.is_none() && self.facts.half.rtts == 0 {
            return (Cause::Unknown, None);
        }
        match after {
            Some(After::Loss) => (Cause::RandomLoss, after),
            _ => (Cause::Cwnd, after),
        }
    }

    /// The link is busy for the whole window.
    fn is_full(&self, window: &Window) -> bool {
        let span = (window.to_ns - window.from_ns) as f64;
        let queued = match self.link_rate {
            // Alone on its link, a connection fills it while it gets the link's rate.
            Some(rate) => window.sum.delivered as f64 >= SAME_RATE * rate * span,
            None => window.queued.is_some_and(|queued| queued >= FULL),
        };
        queued && window.sum.idle_ns as f64 <= (1.0 - FULL) * span
    }

    /// The flight passes all that it has been since slow start began, without a loss since then.
    fn grows(&self, windows: &[Window], at: usize) -> bool {
        let Window { from_ns, began_ns, peak, .. } = windows[at];
        let losses = self.facts.losses();
        let lost = losses.partition_point(|loss| loss.at_ns < began_ns)
            < losses.partition_point(|loss| loss.at_ns < from_ns);
        let now = windows[at].sum.flight;
        let next = windows.get(at + 1).map_or(now, |next| next.sum.flight);
        let doubles = |from: u32, to: u32| f64::from(to) >= DOUBLING * f64::from(from);
        !lost && (doubles(peak, now) || doubles(peak.max(now), next))
    }

    /// A flight that something holds which is neither the path nor an algorithm: the sender's buffer.
    fn is_held(&self, windows: &[Window], at: usize) -> bool {
        let facts = self.facts;
        let span_ns = FLAT_RTTS * (u64::from(facts.base_us) * 1000).max(WINDOW_NS);
        let per = (windows[at].to_ns - windows[at].from_ns).max(1);
        let reach = span_ns.div_ceil(per) as usize;
        // The span may begin, end or have its middle here.
        [(reach, 0), (0, reach), (reach / 2, reach - reach / 2)].into_iter().any(|(before, behind)| {
            let (Some(from), to) = (at.checked_sub(before), at + behind) else { return false };
            windows.get(from..=to).is_some_and(|part| self.holds(part, windows[at].sum.flight))
        })
    }

    fn holds(&self, part: &[Window], flight: u32) -> bool {
        let facts = self.facts;
        let (mut least, mut most, mut full) = (u32::MAX, 0, 0);
        let (mut sent, mut unclocked, mut short, mut segments, mut blocked_ns) = (0, 0, 0, 0, 0);
        // A buffer that is refilled in pieces shows its size once in three windows.
        for three in part.windows(3) {
            let flight = three.iter().map(|window| window.sum.flight).max().unwrap_or(0);
            (least, most) = (least.min(flight), most.max(flight));
        }
        for window in part {
            if window.sum.losses + window.sum.marks > 0 {
                return false;
            }
            full += usize::from(self.is_full(window));
            sent += window.sum.sent;
            unclocked += window.sum.unclocked;
            short += window.sum.short;
            segments += window.sum.segments;
            blocked_ns += window.sum.blocked_ns;
        }
        // A segment more or less is the grain of a flight.
        f64::from(most.saturating_sub(least)) <= (FLAT * f64::from(most)).max(f64::from(facts.mss))
            && most > 4 * facts.mss
            && f64::from(flight) >= HALF * f64::from(most)
            && 2 * full < part.len()
            && (unclocked as f64) < UNCLOCKED * sent as f64
            && f64::from(short) < WRITES * f64::from(segments)
            && (blocked_ns as f64) < HALF * (part[part.len() - 1].to_ns - part[0].from_ns) as f64
    }

    /// The last event before `to_ns` that brought the window down.
    fn after(&self, to_ns: u64) -> Option<After> {
        let facts = self.facts;
        let losses = facts.losses();
        let last = losses.partition_point(|loss| loss.at_ns < to_ns);
        // The window's memory is the epoch; one loss may stand at the queue's edge, the last three decide.
        let recent = &losses[last.saturating_sub(3)..last];
        let until = (to_ns / facts.width_ns) as usize;
        let marked = &self.marked[..self.marked.partition_point(|&at| at <= until)];
        let mark_ns = marked.last().map(|&at| at as u64 * facts.width_ns);
        match (recent.last(), mark_ns) {
            (None, None) => None,
            (Some(loss), Some(mark)) if mark > loss.at_ns => Some(After::Mark),
            (None, Some(_)) => Some(After::Mark),
            _ => {
                let full = facts.base_us.saturating_add(self.queue_us);
                let queued = recent.iter().filter(|loss| loss.peak_us > full).count();
                Some(if 2 * queued > recent.len() { After::Overflow } else { After::Loss })
            }
        }
    }
}

/// The rate at which a link delivers while its queue is never empty, in bytes a nanosecond; `None` if that differs, as it does
/// for connections that share a link or where its rate changes.
fn link_rate(facts: &Facts<'_>, queue_us: u32) -> Option<f64> {
    let full_us = facts.base_us.saturating_add(queue_us);
    let busy = |rtt: u32| rtt != NONE && rtt > full_us;
    let stretches = facts.slots.windows(STRETCH).zip(facts.rtts.windows(STRETCH));
    let mut rates: Vec<u64> = stretches
        .filter(|(_, rtts)| rtts.iter().all(|&rtt| busy(rtt)))
        .map(|(slots, _)| slots.iter().map(|slot| slot.delivered).sum())
        .collect();
    rates.sort_unstable();
    let typical = *rates.get(rates.len() * 3 / 4).filter(|_| rates.len() >= STRETCHES)?;
    let same = rates.iter().filter(|&&rate| {
        let ratio = rate as f64 / typical as f64;
        (SAME_RATE..=1.0 / SAME_RATE).contains(&ratio)
    });
    let alone = same.count() as f64 >= ALONE * rates.len() as f64;
    alone.then(|| typical as f64 / (STRETCH as u64 * facts.width_ns) as f64)
}

/// Time from `from` to `to` that the spans cover, which are in order and apart.
fn overlap(spans: &[(u64, u64)], from: u64, to: u64) -> u64 {
    let first = spans.partition_point(|span| span.1 <= from);
    let within = spans[first..].iter().take_while(|span| span.0 < to);
    within.map(|&(start, end)| end.min(to).saturating_sub(start.max(from))).sum()
}
