//! The droptail FIFO queue, in closed form: what it holds is known without a list of packets.

use crate::memory::ring::Ring;
use crate::memory::sum::Sum;
use crate::net::link::accounting::Totals;
use crate::time::{NEVER, Tick};
use std::marker::PhantomData;

/// A packet behind a backlog that takes this long to send is still in the queue when a run ends, and so is every packet
/// behind it. When they would leave does not matter, so their sending counts as 0 and no sum of times exceeds 64 bits, or 62 in
/// nanoseconds.
const fn longest_wait_ticks<T: Tick>() -> u64 {
    1 << if T::BITS == 0 { 61 } else { 62 }
}

/// Because the queue is FIFO, a packet's departure is known when it arrives. Packets that take equally long to send
/// leave at equal distances: while all packets held are such, the queue's length follows from when the link will be free.
pub struct DropTail<T> {
    /// When the packet that arrived last will have been sent.
    free_at: u64,
    /// Since when the link has been sending without a pause, in nanoseconds.
    busy_since_ns: u64,
    /// Time to send each of the packets held, more than 0; NEVER before the first, and while some are in `mixed`.
    tx_ticks: u64,
    /// Packets that came while it sent such ones without a pause: at least those held.
    run: u64,
    /// How long it takes to send as many of them as fill the buffer, or the longest wait if that is less.
    full_ticks: u64,
    /// How long it takes to send as many of them as `max_queue`.
    most_ticks: u64,
    /// In packets; u32::MAX: none.
    limit: u32,
    ecn_threshold: u32,
    /// In packets, of which fewer than 2^32 are under way.
    max_queue: u32,
    /// How long it had been sending before it last began to.
    busy_ticks: u64,
    /// Sum over the packets of the time each is held: the time integral of the queue.
    held_ticks: Sum,
    /// Once packets were held that are not all alike.
    mixed: Option<Box<Mixed>>,
    dropped: u64,
    tick: PhantomData<T>,
}

/// The packets held, if they are not all alike, and perhaps some that have left; else none.
#[derive(Default)]
struct Mixed {
    runs: Ring<Run>,
    pkts: u64,
}

/// Packets held that leave at equal distances.
#[derive(Clone, Copy, Default)]
struct Run {
    /// When the first of them leaves.
    departure: u64,
    tx_ticks: u64,
    pkts: u64,
}

/// A number of packets; the largest is no limit.
fn pkts(limit: u32) -> u64 {
    if limit == u32::MAX { u64::MAX } else { limit.into() }
}

/// When a packet that has been sent at `free_at` and takes `tx_ticks` begins to be sent, in nanoseconds.
#[inline(always)]
pub fn begins_ns<T: Tick>(free_at: u64, tx_ticks: u64) -> u64 {
    T::ns_after(free_at.saturating_sub(tx_ticks))
}

impl<T: Tick> DropTail<T> {
    fn limit(&self) -> u64 {
        pkts(self.limit)
    }

    pub fn new(link: &cwnd_scenario::Link) -> DropTail<T> {
        DropTail {
            free_at: 0,
            busy_since_ns: 0,
            tx_ticks: NEVER,
            run: 0,
            full_ticks: 0,
            most_ticks: 0,
            limit: link.buffer_pkts.unwrap_or(u32::MAX),
            ecn_threshold: link.ecn_threshold_pkts.unwrap_or(u32::MAX),
            max_queue: 0,
            busy_ticks: 0,
            held_ticks: Sum::default(),
            mixed: None,
            dropped: 0,
            tick: PhantomData,
        }
    }

    /// A packet that takes `tx_ticks` to send arrives at `now_ns`; arrivals come in the order of time. Returns when it
    /// leaves, in nanoseconds, or None if the queue is full.
    #[inline(always)]
    pub fn accept(&mut self, now_ns: u64, tx_ticks: u64) -> Option<u64> {
        let now = T::count(now_ns);
        if self.free_at < now {
            self.busy_ticks += self.free_at - T::count(self.busy_since_ns);
            (self.free_at, self.busy_since_ns, self.run) = (now, now_ns, 0);
        }
        let accepted = if tx_ticks == self.tx_ticks {
            self.accept_alike(now)
        } else {
            self.accept_with_room(now, tx_ticks) || self.accept_other(now, tx_ticks)
        };
        if !accepted {
            return None;
        }
        self.held_ticks.add((self.free_at - now).into());
        Some(T::ns_after(self.free_at))
    }

    /// As [`DropTail::accept`], for packets that arrive one after another at `arrivals_ns` and take `tx_ticks` each. `each` is called with
    /// when one arrives, when it leaves, in ticks, or None if it was dropped, and since when the link has been sending.
    #[inline(always)]
    pub fn accept_all(
        &mut self,
        arrivals_ns: impl Iterator<Item = u64>,
        tx_ticks: u64,
        mut each: impl FnMut(u64, Option<u64>, u64),
    ) {
        // What each packet changes is kept in registers.
        let mut held_ticks = 0_u128;
        let DropTail { mut free_at, mut busy_since_ns, mut run, .. } = *self;
        for now_ns in arrivals_ns {
            let now = T::count(now_ns);
            if free_at < now {
                self.busy_ticks += free_at - T::count(busy_since_ns);
                (free_at, busy_since_ns, run) = (now, now_ns, 0);
            }
            let departure = if tx_ticks == self.tx_ticks && free_at - now < self.full_ticks {
                run += 1;
                free_at += tx_ticks;
                if free_at - now > self.most_ticks {
                    self.max_queue += 1;
                    self.most_ticks += tx_ticks;
                }
                held_ticks += u128::from(free_at - now);
                Some(free_at)
            } else {
                (self.free_at, self.busy_since_ns, self.run) = (free_at, busy_since_ns, run);
                let departure_ns = self.accept_otherwise(now_ns, tx_ticks);
                DropTail { free_at, busy_since_ns, run, .. } = *self;
                departure_ns.map(|_| free_at)
            };
            each(now_ns, departure, busy_since_ns);
        }
        (self.free_at, self.busy_since_ns, self.run) = (free_at, busy_since_ns, run);
        self.held_ticks.add(held_ticks);
    }

    /// [`DropTail::accept`], out of the way of what most packets take.
    #[inline(never)]
    fn accept_otherwise(&mut self, now_ns: u64, tx_ticks: u64) -> Option<u64> {
        self.accept(now_ns, tx_ticks)
    }

    /// A packet arrives that takes as long as each one held.
    #[inline(always)]
    fn accept_alike(&mut self, now: u64) -> bool {
        // An arrival at the instant of a departure finds that packet still there.
        if self.free_at - now >= self.full_ticks {
            if self.run >= self.limit() {
                self.dropped += 1;
                return false;
            }
            if self.free_at - now >= longest_wait_ticks::<T>() {
                return self.accept_other(now, 0);
            }
        }
        self.run += 1;
        self.free_at += self.tx_ticks;
        if self.free_at - now > self.most_ticks {
            self.max_queue += 1;
            self.most_ticks += self.tx_ticks;
        }
        true
    }

    /// A packet arrives that takes as long as the one before it, and not all others that are held do. False: it may be one too
    /// many, or the most so far.
    #[inline(always)]
    fn accept_with_room(&mut self, now: u64, tx_ticks: u64) -> bool {
        let most = self.limit().min(self.max_queue.into()).min(pkts(self.ecn_threshold));
        let Some(mixed) = &mut self.mixed else { return false };
        let held = now < self.free_at && self.free_at - now < longest_wait_ticks::<T>();
        match mixed.runs.back_mut() {
            Some(run) if held && run.tx_ticks == tx_ticks && mixed.pkts < most => run.pkts += 1,
            _ => return false,
        }
        mixed.pkts += 1;
        self.free_at += tx_ticks;
        true
    }

    /// A packet arrives that takes longer or shorter than another that is held.
    #[inline(never)]
    fn accept_other(&mut self, now: u64, tx_ticks: u64) -> bool {
        let tx_ticks = if self.free_at - now >= longest_wait_ticks::<T>() { 0 } else { tx_ticks };
        if self.mixed_pkts() == 0 && self.run > 0 {
            let pkts = self.run.min((self.free_at - now) / self.tx_ticks + 1);
            self.list(pkts);
        }
        self.let_go_before(now);
        let limit = self.limit();
        let mixed = self.mixed.get_or_insert_default();
        let runs = &mut mixed.runs;
        let alike = runs.len() <= 1 && runs.front().is_none_or(|run| run.tx_ticks == tx_ticks);
        if alike && tx_ticks > 0 {
            self.run = runs.pop_front().map_or(0, |run| run.pkts);
            mixed.pkts = 0;
            self.tx_ticks = tx_ticks;
            self.full_ticks = limit.saturating_sub(1).saturating_mul(tx_ticks).min(longest_wait_ticks::<T>());
            self.most_ticks = u64::from(self.max_queue).saturating_mul(tx_ticks);
            return self.accept_alike(now);
        }
        self.tx_ticks = NEVER;
        if mixed.pkts >= limit {
            self.dropped += 1;
            return false;
        }
        match runs.back_mut() {
            Some(run) if run.tx_ticks == tx_ticks => run.pkts += 1,
            _ => runs.push_back(Run { departure: self.free_at + tx_ticks, tx_ticks, pkts: 1 }),
        }
        mixed.pkts += 1;
        let leaving = u64::from(runs.front().is_some_and(|run| run.departure == now));
        self.max_queue = self.max_queue.max((mixed.pkts - leaving) as u32);
        self.free_at += tx_ticks;
        true
    }

    fn mixed_pkts(&self) -> u64 {
        self.mixed.as_ref().map_or(0, |mixed| mixed.pkts)
    }

    /// The packets held are `pkts`, all alike: lists them in `mixed`.
    fn list(&mut self, pkts: u64) {
        let departure = self.free_at - (pkts - 1) * self.tx_ticks;
        let mixed = self.mixed.get_or_insert_default();
        mixed.runs.push_back(Run { departure, tx_ticks: self.tx_ticks, pkts });
        mixed.pkts = pkts;
    }

    /// Removes the packets of `mixed` that leave before `time`.
    fn let_go_before(&mut self, time: u64) {
        let Some(mixed) = &mut self.mixed else { return };
        while let Some(run) = mixed.runs.front_mut()
            && run.departure < time
        {
            let gone = run.pkts.min((time - 1 - run.departure) / run.tx_ticks.max(1) + 1);
            run.departure += gone * run.tx_ticks;
            run.pkts -= gone;
            mixed.pkts -= gone;
            if run.pkts == 0 {
                mixed.runs.pop_front();
            }
            if mixed.pkts == 0 {
                (self.tx_ticks, self.run) = (NEVER, 0);
            }
        }
    }

    /// Since when the link has been sending without a pause, when it has sent the packet that arrived last.
    #[inline]
    pub fn busy_since_ns(&self) -> u64 {
        self.busy_since_ns
    }

    /// Returns true if the packet that arrived last, at `now_ns`, found the queue at its ECN threshold.
    pub fn marks(&self, now_ns: u64) -> bool {
        if self.mixed_pkts() > 0 {
            return self.mixed_pkts() > pkts(self.ecn_threshold);
        }
        let threshold = pkts(self.ecn_threshold);
        self.run > threshold && self.free_at - T::count(now_ns) >= threshold.saturating_mul(self.tx_ticks)
    }

    /// Packets held at `now_ns`, the one being sent included, after the last arrival of that instant.
    pub fn held_pkts(&mut self, now_ns: u64) -> u64 {
        let now = T::count(now_ns);
        if self.mixed_pkts() > 0 {
            self.let_go_before(now + 1);
            return self.mixed_pkts();
        }
        self.free_at.saturating_sub(now).div_ceil(self.tx_ticks)
    }

    /// Totals up to `end_ns`, the time of the last arrival or later.
    pub fn totals(&mut self, end_ns: u64) -> Totals {
        let held = self.held_pkts(end_ns);
        let end = T::count(end_ns);
        let beyond = |run: &Run| {
            let (pkts, tx_ticks) = (u128::from(run.pkts), u128::from(run.tx_ticks));
            pkts * u128::from(run.departure - end) + pkts * (pkts - 1) / 2 * tx_ticks
        };
        let beyond: u128 = if self.mixed_pkts() == 0 && held > 0 {
            let departure = self.free_at - (held - 1) * self.tx_ticks;
            beyond(&Run { departure, tx_ticks: self.tx_ticks, pkts: held })
        } else {
            self.mixed.iter().flat_map(|mixed| mixed.runs.iter()).map(beyond).sum()
        };
        let busy = self.busy_ticks + self.free_at.min(end) - T::count(self.busy_since_ns);
        Totals {
            dropped: self.dropped,
            corrupted: 0,
            sent: busy.into(),
            offered: end.into(),
            held_ns: T::as_ns(self.held_ticks.get() - beyond),
            max_queue: self.max_queue.into(),
            p95_wait_ns: None,
        }
    }

    /// When the packet that arrived last, which takes `tx_ticks` to send, begins to be sent, in nanoseconds.
    #[inline(always)]
    pub fn begins_ns(&self, tx_ticks: u64) -> u64 {
        begins_ns::<T>(self.free_at, tx_ticks)
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How long a packet that arrives at `now_ns` would wait.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        T::ns_after(self.free_at.saturating_sub(T::count(now_ns)))
    }

    /// The most packets held are those from `now_ns` on.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        self.max_queue = self.held_pkts(now_ns) as u32;
        if self.tx_ticks != NEVER {
            self.most_ticks = u64::from(self.max_queue).saturating_mul(self.tx_ticks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Fraction, Nanosecond};
    use proptest::prelude::*;

    fn queue<T: Tick>(buffer_pkts: Option<u32>, ecn_threshold_pkts: Option<u32>) -> DropTail<T> {
        let link = cwnd_scenario::Link::default().with(|link| {
            link.rate_bps = 1;
            link.buffer_pkts = buffer_pkts;
            link.ecn_threshold_pkts = ecn_threshold_pkts;
        });
        DropTail::new(&link)
    }

    /// Compares the queue with a list of departures. `arrivals`: how long after the one before, less 20 ns, each packet
    /// arrives, and how long it takes to send.
    fn check<T: Tick>(
        (buffer, threshold): (Option<u32>, Option<u32>),
        arrivals: Vec<(u64, u64)>,
    ) -> Result<(), TestCaseError> {
        let mut queue = queue::<T>(buffer, threshold);
        let (mut now_ns, mut free_at, mut most) = (0_u64, 0, 0);
        let mut departures: Vec<u64> = Vec::new();
        for (wait_ns, tx_ns) in arrivals {
            // Mostly early enough to find others there.
            now_ns += wait_ns.saturating_sub(20);
            if wait_ns == 29 {
                departures.retain(|&departure| departure > T::count(now_ns));
                prop_assert_eq!(queue.held_pkts(now_ns), departures.len() as u64);
                now_ns += 1;
            }
            let now = T::count(now_ns);
            // A part of a nanosecond more.
            let tx_ticks = T::count(tx_ns) + if T::BITS > 0 { 123 * tx_ns } else { 0 };
            departures.retain(|&departure| departure >= now);
            let fate = queue.accept(now_ns, tx_ticks);
            if buffer.is_some_and(|buffer| departures.len() >= buffer as usize) {
                prop_assert_eq!(fate, None);
                continue;
            }
            free_at = now.max(free_at) + tx_ticks;
            departures.push(free_at);
            prop_assert_eq!(fate, Some(free_at.div_ceil(T::count(1))));
            prop_assert_eq!(
                queue.marks(now_ns),
                threshold.is_some_and(|threshold| departures.len() > threshold as usize)
            );
            most = most.max(departures.len() - usize::from(departures[0] == now));
            prop_assert_eq!(queue.max_queue, most as u32);
        }
        let end = T::count(now_ns + 1);
        departures.retain(|&departure| departure > end);
        prop_assert_eq!(queue.held_pkts(now_ns + 1), departures.len() as u64);
        let beyond: u64 = departures.iter().map(|departure| departure - end).sum();
        let held_ticks = queue.held_ticks.get() - u128::from(beyond);
        prop_assert_eq!(T::as_ns(held_ticks), queue.totals(now_ns + 1).held_ns);
        Ok(())
    }

    /// Compares a queue whose packets come together with one whose come one by one. `trains`: how long after the one before each
    /// packet arrives, and how long each takes to send.
    fn check_together<T: Tick>(buffer: Option<u32>, trains: &[(Vec<u64>, u64)]) -> Result<(), TestCaseError> {
        let (mut together, mut singly) = (queue::<T>(buffer, None), queue::<T>(buffer, None));
        let mut now_ns = 0;
        for (waits_ns, tx_ns) in trains {
            let tx_ticks = T::count(*tx_ns) + u64::from(T::BITS > 0);
            let arrivals_ns = waits_ns.iter().map(|wait_ns| {
                now_ns += wait_ns;
                now_ns
            });
            let (mut fates, mut expected) = (Vec::new(), Vec::new());
            together.accept_all(arrivals_ns, tx_ticks, |now_ns, departure, busy_since_ns| {
                fates.push((departure.map(T::ns_after), busy_since_ns));
                expected.push((singly.accept(now_ns, tx_ticks), singly.busy_since_ns()));
            });
            prop_assert_eq!(fates, expected);
        }
        prop_assert_eq!(together.held_ticks.get(), singly.held_ticks.get());
        prop_assert_eq!(together.totals(now_ns), singly.totals(now_ns));
        Ok(())
    }

    proptest! {
        #[test]
        fn the_closed_form_equals_a_list_of_departures(
            buffer in prop::option::of(1..8_u32),
            threshold in prop::option::of(1..8_u32),
            arrivals in prop::collection::vec((0..30_u64, prop_oneof![8 => Just(10_u64), 2 => Just(3), 1 => Just(0)]), 1..200),
        ) {
            check::<Nanosecond>((buffer, threshold), arrivals.clone())?;
            check::<Fraction>((buffer, threshold), arrivals)?;
        }

        #[test]
        fn packets_that_come_together_fare_as_one_by_one(
            buffer in prop::option::of(1..8_u32),
            trains in prop::collection::vec((prop::collection::vec(0..20_u64, 0..8), prop_oneof![3 => Just(10_u64), 1 => Just(7)]), 1..40),
        ) {
            check_together::<Nanosecond>(buffer, &trains)?;
            check_together::<Fraction>(buffer, &trains)?;
        }
    }

    #[test]
    fn no_backlog_is_too_long() {
        let mut queue = queue::<Nanosecond>(None, None);
        // 65,066 bytes at 1 bps: 50,000 of them take 825 years.
        let (tx_ticks, end_ns) = (520_528_000_000_000, 864_000_000_000_000);
        let mut last = 0;
        for _ in 0..50_000 {
            let departure = queue.accept(0, tx_ticks).expect("there is no limit");
            assert!(departure >= last && departure < u64::MAX / 2);
            last = departure;
        }
        assert_eq!(queue.held_pkts(end_ns), 49_999);
        let totals = queue.totals(end_ns);
        assert_eq!((totals.max_queue, totals.sent, totals.offered), (50_000, end_ns.into(), end_ns.into()));
        let held_ns = 49_999.0 * end_ns as f64 + tx_ticks as f64;
        assert!((totals.held_ns / held_ns - 1.0).abs() < 1e-12);
    }
}
