//! How fast a managed link sends: at one rate, at rates that change in steps, or at the opportunities of a trace.

use crate::time::{NEVER, Tick};
use cwnd_scenario::{Link, RateStep, RateVariation, Trace};
use std::sync::Arc;

/// A link that would send a packet later than this, 26 days, never does: no run lasts as long, and no sum of times exceeds
/// 64 bits.
const LATEST_NS: u64 = 1 << 51;

/// When a link may begin with a packet, and when it has sent it, in ticks.
#[derive(Clone)]
pub enum Rate {
    Fixed,
    Steps(Steps),
    Opportunities(Opportunities),
}

impl Rate {
    pub fn new(link: &Link) -> Rate {
        let Some(variation) = &link.variation else { return Rate::Fixed };
        if let Some(RateVariation::Trace(trace)) = &variation.rate {
            return Rate::Opportunities(Opportunities::new(trace));
        }
        match variation.rate_steps(link.rate_bps).as_slice() {
            [] => Rate::Fixed,
            steps => Rate::Steps(Steps::new(steps, &variation.suspension_ns)),
        }
    }

    /// Returns true if a packet that is being sent has left the queue, and an arrival at the instant of an opportunity misses it.
    pub fn takes_opportunities(&self) -> bool {
        matches!(self, Rate::Opportunities(_))
    }

    /// When the link may begin with a packet if it has been idle until `now`, and not before `now`; or NEVER.
    /// `arrives`: the packet arrives at `now`, and misses an opportunity of that instant.
    #[inline(always)]
    pub fn ready_when_idle<T: Tick>(&self, now: u64, arrives: bool) -> u64 {
        match self {
            Rate::Opportunities(opportunities) => opportunities.ready_when_idle::<T>(now, arrives),
            Rate::Steps(steps) => steps.ready::<T>(now),
            Rate::Fixed => now,
        }
    }

    /// When the link, which has sent a packet at `free_at`, may begin with the next one; or NEVER.
    #[inline(always)]
    pub fn ready_when_sent<T: Tick>(&self, free_at: u64) -> u64 {
        match self {
            Rate::Opportunities(opportunities) if opportunities.left_bytes == 0 => {
                opportunities.at_ns(opportunities.next).map_or(NEVER, T::count)
            }
            Rate::Steps(steps) => steps.ready::<T>(free_at),
            _ => free_at,
        }
    }

    /// The link begins at `now` with a packet of `bytes`, which takes `fixed_ticks` at a fixed rate. Returns when it has
    /// sent it, or NEVER.
    #[inline(always)]
    pub fn send<T: Tick>(&mut self, now: u64, bytes: u64, fixed_ticks: u64) -> u64 {
        if matches!(self, Rate::Fixed) { now + fixed_ticks } else { self.send_varying::<T>(now, bytes) }
    }

    #[inline(never)]
    fn send_varying<T: Tick>(&mut self, now: u64, bytes: u64) -> u64 {
        match self {
            Rate::Fixed => unreachable!("it does not vary"),
            Rate::Steps(steps) => steps.send::<T>(now, bytes),
            Rate::Opportunities(opportunities) => {
                opportunities.send(T::ns_after(now), bytes).map_or(NEVER, T::count)
            }
        }
    }

    /// Returns the part of `begun` that the link has sent by `end`, and the most that it could have sent.
    pub fn sent_and_offered<T: Tick>(&self, begun: Begun, end: u64) -> (u128, u128) {
        match self {
            Rate::Fixed => {
                (u128::from(begun.ticks) - u128::from(begun.free_at.saturating_sub(end)), end.into())
            }
            Rate::Steps(steps) => {
                let all = u128::from(begun.bytes) * 8 * u128::from(T::count(1_000_000_000));
                (all - steps.unsent::<T>(end), steps.offered::<T>(end))
            }
            Rate::Opportunities(opportunities) => {
                let end_ns = T::ns_after(end);
                (u128::from(begun.bytes) - opportunities.unsent(end_ns), opportunities.offered(end_ns))
            }
        }
    }
}

/// All that a link has begun to send: at a fixed rate for how long, how many bytes, and when the last of it is sent.
#[derive(Clone, Copy)]
pub struct Begun {
    pub ticks: u64,
    pub bytes: u64,
    pub free_at: u64,
}

/// Rates one after another. What is sent is the integral of the rate, whole packet by whole packet.
#[derive(Clone)]
pub struct Steps {
    steps: Vec<RateStep>,
    /// Spans in which the link begins with no packet; the rate is 0 there.
    suspension_ns: Vec<[u64; 2]>,
    /// When the last packet was sent.
    free_at: u64,
    /// Unused capacity in the rest of that tick, in bits times ticks per second.
    spare: u128,
}

impl Steps {
    fn new(steps: &[RateStep], suspension_ns: &[[u64; 2]]) -> Steps {
        Steps { steps: steps.to_vec(), suspension_ns: suspension_ns.to_vec(), free_at: 0, spare: 0 }
    }

    /// When the link may begin with a packet, and not before `now`.
    fn ready<T: Tick>(&self, now: u64) -> u64 {
        let passed = self.suspension_ns.partition_point(|[_, until_ns]| T::count(*until_ns) <= now);
        match self.suspension_ns.get(passed) {
            Some([from_ns, until_ns]) if T::count(*from_ns) <= now => T::count(*until_ns),
            _ => now,
        }
    }

    fn send<T: Tick>(&mut self, start: u64, bytes: u64) -> u64 {
        let mut work = u128::from(bytes) * 8 * u128::from(T::count(1_000_000_000));
        if start > self.free_at {
            (self.free_at, self.spare) = (start, 0);
        }
        let from_spare = work.min(self.spare);
        self.spare -= from_spare;
        work -= from_spare;
        let first = self.steps.partition_point(|step| T::count(step.from_ns) <= start) - 1;
        for (place, step) in self.steps.iter().enumerate().skip(first) {
            if work == 0 {
                break;
            }
            let rate_bps = u128::from(step.rate_bps);
            let until = self.steps.get(place + 1).map_or(u64::MAX, |next| T::count(next.from_ns));
            let room = rate_bps * u128::from(until - self.free_at);
            if work <= room {
                let ticks = work.div_ceil(rate_bps);
                self.spare = ticks * rate_bps - work;
                self.free_at += ticks as u64;
                return self.free_at;
            }
            work -= room;
            self.free_at = until;
        }
        self.free_at
    }

    /// Returns the most that the link could have sent by `end`, in bits times ticks per second.
    fn offered<T: Tick>(&self, end: u64) -> u128 {
        let ends = self.steps.iter().skip(1).map(|step| T::count(step.from_ns)).chain([u64::MAX]);
        let parts = self.steps.iter().zip(ends).map(|(step, until)| {
            u128::from(step.rate_bps) * u128::from(until.min(end).saturating_sub(T::count(step.from_ns)))
        });
        parts.sum()
    }

    /// Returns the part that is not sent by `end` of the packet that is being sent then, in bits times ticks per second.
    fn unsent<T: Tick>(&self, end: u64) -> u128 {
        if self.free_at <= end {
            return 0;
        }
        self.offered::<T>(self.free_at) - self.offered::<T>(end) - self.spare
    }
}

/// Moments at which so many bytes can be sent, whether or not packets wait: what is not used is lost.
#[derive(Clone)]
pub struct Opportunities {
    at_ms: Arc<[u32]>,
    bytes: u32,
    repeat: bool,
    offset_ns: u64,
    period_ns: u64,
    /// The number of the first opportunity that has not been used, counted through all rounds.
    next: u64,
    /// Bytes left of the opportunity used last, and when that was.
    left_bytes: u32,
    used_at_ns: u64,
    /// Bytes that are never sent, of a packet that the trace does not finish.
    lacking_bytes: u64,
}

impl Opportunities {
    fn new(trace: &Trace) -> Opportunities {
        Opportunities {
            at_ms: Arc::clone(&trace.opportunities_ms),
            bytes: trace.opportunity_bytes,
            repeat: trace.repeat,
            offset_ns: trace.offset_ns,
            period_ns: trace.period_ns(),
            next: 0,
            left_bytes: 0,
            used_at_ns: 0,
            lacking_bytes: 0,
        }
    }

    fn ready_when_idle<T: Tick>(&self, now: u64, arrives: bool) -> u64 {
        let now_ns = T::ns_after(now);
        let after_ns = if arrives { Some(now_ns) } else { now_ns.checked_sub(1) };
        self.at_ns(self.first_after(after_ns)).map_or(NEVER, T::count)
    }

    /// The number of the first opportunity later than `time_ns`; None: of the first one not before the run begins.
    fn first_after(&self, time_ns: Option<u64>) -> u64 {
        let in_trace = match time_ns {
            Some(time_ns) => time_ns.saturating_add(self.offset_ns),
            None if self.offset_ns == 0 => return 0,
            None => self.offset_ns - 1,
        };
        let (round, within) = (in_trace / self.period_ns, in_trace % self.period_ns);
        let passed =
            |within: u64| self.at_ms.partition_point(|ms| u64::from(*ms) * 1_000_000 <= within) as u64;
        round * self.at_ms.len() as u64 + passed(within)
    }

    /// When opportunity `number` comes; None: the trace is over, or no run lasts as long.
    fn at_ns(&self, number: u64) -> Option<u64> {
        let count = self.at_ms.len() as u64;
        let (round, place) = (number / count, number % count);
        if round > 0 && !self.repeat {
            return None;
        }
        let in_trace = round.checked_mul(self.period_ns)? + u64::from(self.at_ms[place as usize]) * 1_000_000;
        in_trace.checked_sub(self.offset_ns).filter(|at_ns| *at_ns < LATEST_NS)
    }

    /// A packet of `bytes` is sent from the opportunity at `now_ns` on. Returns when its last byte is; None: never.
    fn send(&mut self, now_ns: u64, bytes: u64) -> Option<u64> {
        if now_ns > self.used_at_ns {
            self.left_bytes = 0;
            self.next = self.next.max(self.first_after(now_ns.checked_sub(1)));
        }
        let mut rest = bytes;
        while rest > u64::from(self.left_bytes) {
            rest -= u64::from(self.left_bytes);
            self.left_bytes = 0;
            let Some(at_ns) = self.at_ns(self.next) else {
                self.lacking_bytes = rest;
                return None;
            };
            (self.used_at_ns, self.left_bytes) = (at_ns, self.bytes);
            self.next += 1;
        }
        self.left_bytes -= rest as u32;
        Some(self.used_at_ns)
    }

    /// Returns the most that the link could have sent by `end_ns`, in bytes.
    fn offered(&self, end_ns: u64) -> u128 {
        let mut count = self.first_after(Some(end_ns)) - self.first_after(None);
        if !self.repeat {
            count = count.min(self.at_ms.len() as u64 - self.first_after(None));
        }
        u128::from(count) * u128::from(self.bytes)
    }

    /// Returns the bytes that are not sent by `end_ns` of the packet that was begun last.
    fn unsent(&self, end_ns: u64) -> u128 {
        let later = if self.used_at_ns > end_ns {
            let opportunities = self.next - self.first_after(Some(end_ns));
            u128::from(opportunities) * u128::from(self.bytes) - u128::from(self.left_bytes)
        } else {
            0
        };
        later + u128::from(self.lacking_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Fraction, Nanosecond};
    use proptest::prelude::*;

    #[test]
    fn a_packet_that_takes_years_is_never_sent() {
        let trace = Trace {
            opportunities_ms: [u32::MAX].into(),
            opportunity_bytes: 1,
            repeat: true,
            offset_ns: u64::from(u32::MAX) * 1_000_000 - 1,
        };
        let mut rate = Rate::Opportunities(Opportunities::new(&trace));
        let ready = rate.ready_when_idle::<Fraction>(0, true);
        assert_eq!(ready, Fraction::count(1));
        assert_eq!(rate.send::<Fraction>(ready, 1, 0), ready);
        assert_eq!(rate.ready_when_sent::<Fraction>(ready), NEVER);
        assert_eq!(rate.send::<Fraction>(ready, 1500, 0), NEVER);
    }

    /// Bits that the steps carry by `time`, times ticks per second.
    fn integral<T: Tick>(steps: &[RateStep], time: u64) -> u128 {
        let ends = steps.iter().skip(1).map(|step| T::count(step.from_ns)).chain([u64::MAX]);
        let parts = steps.iter().zip(ends).map(|(step, until)| {
            u128::from(step.rate_bps) * u128::from(until.min(time).saturating_sub(T::count(step.from_ns)))
        });
        parts.sum()
    }

    fn check_steps<T: Tick>(rates: &[u64], bytes: &[u32]) -> Result<(), TestCaseError> {
        let steps: Vec<RateStep> =
            (0..).zip(rates).map(|(k, &rate_bps)| RateStep { from_ns: 777_777 * k, rate_bps }).collect();
        let mut link = Steps::new(&steps, &[]);
        let (mut now, mut sent) = (0, 0);
        for &bytes in bytes {
            now = link.send::<T>(now, bytes.into());
            sent += u128::from(bytes) * 8 * u128::from(T::count(1_000_000_000));
            prop_assert!(integral::<T>(&steps, now) >= sent, "not sooner");
            prop_assert!(now == 0 || integral::<T>(&steps, now - 1) < sent, "not later");
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_link_with_steps_has_sent_its_packets_when_the_integral_of_its_rate_is_as_large(
            mut rates in prop::collection::vec(prop_oneof![1 => Just(0), 3 => 1_000..2_000_000_000_u64], 0..8),
            last in 1_000..2_000_000_000_u64,
            bytes in prop::collection::vec(40..9_000_u32, 1..60),
        ) {
            rates.push(last);
            check_steps::<Nanosecond>(&rates, &bytes)?;
            check_steps::<Fraction>(&rates, &bytes)?;
        }

        /// Beside a list of all opportunities, which is gone through one by one as Mahimahi does.
        #[test]
        fn a_trace_sends_as_opportunity_by_opportunity(
            mut gaps in prop::collection::vec(prop_oneof![2 => Just(0_u32), 3 => 1..4_u32], 1..12),
            arrivals in prop::collection::vec((0..5_000_000_u64, 40..4_000_u32), 1..60),
            whole_ms in any::<bool>(),
            repeat in any::<bool>(),
            offset_ms in 0..30_u64,
        ) {
            gaps.push(1);
            let at_ms: Vec<u32> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let period = u64::from(*at_ms.last().unwrap());
            prop_assume!(repeat || offset_ms < period);
            let trace = Trace {
                opportunities_ms: at_ms.clone().into(), opportunity_bytes: 1500, repeat, offset_ns: offset_ms * 1_000_000,
            };
            let mut all: Vec<u64> = (0..if repeat { 2000 } else { 1 })
                .flat_map(|round| at_ms.iter().map(move |ms| round * period + u64::from(*ms)))
                .filter(|ms| *ms >= offset_ms)
                .map(|ms| (ms - offset_ms) * 1_000_000)
                .collect();
            all.reverse();
            let mut rate = Rate::Opportunities(Opportunities::new(&trace));
            let (mut now, mut free_at, mut left, mut last) = (0, 0, 0, 0);
            for (gap, bytes) in arrivals {
                now += if whole_ms { gap / 1_000_000 * 1_000_000 } else { gap };
                // By the list: an arrival uses up all up to now, if nothing is in its way.
                if free_at <= now {
                    left = 0;
                    while all.last().is_some_and(|at| *at <= now) {
                        all.pop();
                    }
                }
                let mut rest = bytes;
                let mut sent_at = Some(last);
                while rest > left && sent_at.is_some() {
                    rest -= left;
                    (left, sent_at) = (1500, all.pop());
                }
                left -= if sent_at.is_some() { rest } else { 0 };
                // By the link.
                let ready = if free_at > now {
                    rate.ready_when_sent::<Nanosecond>(free_at)
                } else {
                    rate.ready_when_idle::<Nanosecond>(now, true)
                };
                if ready == NEVER {
                    prop_assert_eq!(sent_at, None);
                    break;
                }
                free_at = rate.send::<Nanosecond>(ready, bytes.into(), 0);
                prop_assert_eq!((free_at != NEVER).then_some(free_at), sent_at);
                let Some(sent_at) = sent_at else { break };
                last = sent_at;
            }
        }
    }
}
