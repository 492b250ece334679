//! When each segment was sent for the first time.

/// Segments that were sent at one time, up to the next run's first.
#[derive(Clone, Copy, Default)]
struct Run {
    first: u64,
    sent_ns: u64,
}

/// The times of the segments that are not acknowledged.
#[derive(Default)]
pub struct SentTimes {
    /// In order; those from `len` on are vacant.
    runs: Box<[Run]>,
    len: u32,
    /// The run that [`SentTimes::first_since`] found last, or one before it.
    found: u32,
}

/// The least that has room.
const LEAST_RUNS: usize = 16;
/// Number of runs behind the one found last that are looked at first.
const RUNS_NEAR: usize = 8;

impl SentTimes {
    /// Segments from `first` on are sent at `now`; those before `una` are acknowledged.
    #[inline(always)]
    pub fn note(&mut self, now: u64, first: u64, una: u64) {
        let run = Run { first, sent_ns: now };
        match self.runs.get_mut(self.len as usize) {
            Some(vacant) => {
                *vacant = run;
                self.len += 1;
            }
            None => self.note_in_more_room(run, una),
        }
    }

    /// Forgets what is acknowledged; at least a third of the room is vacant then.
    #[cold]
    #[inline(never)]
    fn note_in_more_room(&mut self, run: Run, una: u64) {
        let known = self.known().partition_point(|run| run.first <= una).saturating_sub(1);
        self.runs.copy_within(known..self.len as usize, 0);
        self.len -= known as u32;
        self.found = self.found.saturating_sub(known as u32);
        if self.known().len() * 3 >= self.runs.len() * 2 {
            let slots = (2 * self.known().len()).max(LEAST_RUNS);
            let mut runs = Vec::with_capacity(slots);
            runs.extend_from_slice(self.known());
            runs.resize(slots, Run::default());
            self.runs = runs.into_boxed_slice();
        }
        self.runs[self.len as usize] = run;
        self.len += 1;
    }

    fn known(&self) -> &[Run] {
        &self.runs[..self.len as usize]
    }

    /// When segment `seq` was sent.
    pub fn of(&self, seq: u64) -> u64 {
        let runs = self.known();
        let place = runs.partition_point(|run| run.first <= seq);
        place.checked_sub(1).map_or(0, |place| runs[place].sent_ns)
    }

    /// The first segment that was sent at `sent_ns` or later; None: all were sent earlier.
    pub fn first_from(&self, sent_ns: u64) -> Option<u64> {
        let runs = self.known();
        runs.get(runs.partition_point(|run| run.sent_ns < sent_ns)).map(|run| run.first)
    }

    /// The first segment that was sent no earlier than `seq`, had that been sent at `sent_ns`: of one time, numbers decide.
    /// None: all were sent earlier.
    pub fn first_since(&mut self, (sent_ns, seq): (u64, u64)) -> Option<u64> {
        let from = self.place_since(sent_ns);
        self.found = from as u32;
        let runs = self.known();
        let first = runs.get(from)?;
        if first.sent_ns > sent_ns {
            return Some(first.first);
        }
        // `seq` was sent then, or others of that time before it were.
        let later = runs[from..].iter().find(|run| run.sent_ns > sent_ns);
        let among = first.first.max(seq);
        Some(later.map_or(among, |later| later.first.min(among)))
    }

    /// The place of the first run that was sent at `sent_ns` or later: mostly it is near the one found last.
    fn place_since(&self, sent_ns: u64) -> usize {
        let (runs, found) = (self.known(), self.found as usize);
        let is_before = |run: &Run| run.sent_ns < sent_ns;
        let near = &runs[found..runs.len().min(found + RUNS_NEAR)];
        let begins_here = found == 0 || is_before(&runs[found - 1]);
        match near.iter().position(|run| !is_before(run)) {
            Some(place) if begins_here => found + place,
            _ => runs.partition_point(is_before),
        }
    }

    /// No segment is in flight.
    pub fn forget(&mut self) {
        *self = SentTimes::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_all_in_flight_are_known_however_many_they_are() {
        let mut times = SentTimes::default();
        let (mut una, mut all) = (0, Vec::new());
        for round in 1..500 {
            let count = round % 7 + 1;
            times.note(round, all.len() as u64, una);
            all.extend((0..count).map(|_| round));
            una = (una + round % 9).min(all.len() as u64 - 1);
            let in_flight = una as usize..all.len();
            assert!(in_flight.clone().all(|seq| times.of(seq as u64) == all[seq]), "round {round}");
            // As retransmissions arrive: mostly later ones, and those of one time by their numbers.
            for sent in [round - round % 5, round].map(|sent_ns| (sent_ns, una + round % 3)) {
                let first = in_flight.clone().find(|&seq| (all[seq], seq as u64) >= sent);
                let found =
                    times.first_since(sent).filter(|&seq| seq < all.len() as u64).map(|seq| seq.max(una));
                assert_eq!(found, first.map(|seq| seq as u64), "round {round}, {sent:?}");
            }
        }
        assert!(times.runs.len() < 500, "what is acknowledged is forgotten");
    }

    #[test]
    fn the_first_segment_that_is_not_before_a_time_and_a_number_is_found() {
        let mut times = SentTimes::default();
        // Two runs have one time: segments 4 to 9 were sent at 30.
        for (first, sent_ns) in [(0, 10), (2, 20), (4, 30), (7, 30), (10, 40)] {
            times.note(sent_ns, first, 0);
        }
        let found = [(10, 0), (11, 0), (30, 0), (30, 6), (30, 9), (30, 20), (31, 0), (41, 0)];
        let expected = [Some(0), Some(2), Some(4), Some(6), Some(9), Some(10), Some(10), None];
        assert_eq!(found.map(|sent| times.first_since(sent)), expected);
    }
}
