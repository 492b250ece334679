//! When each segment was sent for the first time.

use std::ops::Range;

/// The times of the segments from the first unacknowledged one on, by sequence number; asking beyond them gives another
/// segment's time.
#[derive(Default)]
pub struct SentTimes {
    /// A power of two of them, once a segment was sent.
    slots_ns: Box<[u64]>,
}

impl SentTimes {
    /// `segments` are sent at `now`; those before `una` are acknowledged.
    #[inline(always)]
    pub fn note(&mut self, now: u64, segments: Range<u64>, una: u64) {
        if segments.end - una > self.slots_ns.len() as u64 {
            self.grow(una..segments.end);
        }
        for seq in segments {
            *self.slot(seq) = now;
        }
    }

    #[inline(always)]
    fn slot(&mut self, seq: u64) -> &mut u64 {
        let slots = self.slots_ns.len();
        &mut self.slots_ns[seq as usize & (slots - 1)]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, segments: Range<u64>) {
        let needed = ((segments.end - segments.start) as usize).max(4).next_power_of_two();
        let mut old = std::mem::replace(&mut self.slots_ns, vec![0; needed].into_boxed_slice());
        let (slots, new) = (old.len(), needed);
        for seq in segments.start..segments.start + slots as u64 {
            self.slots_ns[seq as usize & (new - 1)] = std::mem::take(&mut old[seq as usize & (slots - 1)]);
        }
    }

    /// When segment `seq` was sent, if one was sent at all.
    pub fn of(&self, seq: u64) -> u64 {
        match self.slots_ns.len() {
            0 => 0,
            slots => self.slots_ns[seq as usize & (slots - 1)],
        }
    }

    /// The first of `segments` from which on `is_before` does not hold, which holds up to somewhere. It is near the first of
    /// them as a rule.
    pub fn first_not(&self, segments: Range<u64>, is_before: impl Fn(u64, u64) -> bool) -> u64 {
        let Range { start: mut from, end } = segments;
        let mut step = 1;
        while from + step <= end && is_before(self.of(from + step - 1), from + step - 1) {
            from += step;
            step *= 2;
        }
        let mut to = (from + step - 1).min(end);
        while from < to {
            let middle = from + (to - from) / 2;
            if is_before(self.of(middle), middle) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// No segment is in flight, and none will be.
    pub fn forget(&mut self) {
        self.slots_ns = Box::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_all_in_flight_are_known_however_many_they_are() {
        let mut times = SentTimes::default();
        let (mut una, mut nxt) = (0, 0);
        for round in 0..200 {
            times.note(round, nxt..nxt + round % 7, una);
            nxt += round % 7;
            una = (una + round % 5).min(nxt);
            let mut before = (0..=round).flat_map(|round| (0..round % 7).map(move |_| round));
            let all: Vec<u64> = before.by_ref().collect();
            assert!((una..nxt).all(|seq| times.of(seq) == all[seq as usize]), "round {round}");
        }
    }

    #[test]
    fn the_first_segment_that_is_not_before_a_time_is_found() {
        let mut times = SentTimes::default();
        (0..1000).for_each(|seq| times.note(seq / 3, seq..seq + 1, 0));
        for (start, end) in [(0, 1000), (7, 500), (999, 1000), (1000, 1000)] {
            for limit in [0, 1, 5, 100, 166, 167, 333, 334] {
                let first = times.first_not(start..end, |sent_ns, _| sent_ns < limit);
                assert_eq!(first, (limit * 3).clamp(start, end), "{start}..{end}, {limit}");
            }
        }
    }
}
