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
    len: usize,
}

/// The least that has room.
const LEAST_RUNS: usize = 8;

impl SentTimes {
    /// Segments from `first` on are sent at `now`; those before `una` are acknowledged.
    #[inline(always)]
    pub fn note(&mut self, now: u64, first: u64, una: u64) {
        let run = Run { first, sent_ns: now };
        match self.runs.get_mut(self.len) {
            Some(vacant) => {
                *vacant = run;
                self.len += 1;
            }
            None => self.note_in_more_room(run, una),
        }
    }

    /// Forgets what is acknowledged; at least half is vacant then.
    #[cold]
    #[inline(never)]
    fn note_in_more_room(&mut self, run: Run, una: u64) {
        let known = self.runs[..self.len].partition_point(|run| run.first <= una).saturating_sub(1);
        self.runs.copy_within(known..self.len, 0);
        self.len -= known;
        if self.len * 2 > self.runs.len() || self.runs.is_empty() {
            let mut runs = std::mem::take(&mut self.runs).into_vec();
            runs.resize((2 * runs.len()).max(LEAST_RUNS), Run::default());
            self.runs = runs.into_boxed_slice();
        }
        self.runs[self.len] = run;
        self.len += 1;
    }

    /// When segment `seq` was sent.
    pub fn of(&self, seq: u64) -> u64 {
        let runs = &self.runs[..self.len];
        let place = runs.partition_point(|run| run.first <= seq);
        place.checked_sub(1).map_or(0, |place| runs[place].sent_ns)
    }

    /// The first segment that was sent at `sent_ns` or later; None: all were sent earlier.
    pub fn first_from(&self, sent_ns: u64) -> Option<u64> {
        let runs = &self.runs[..self.len];
        runs.get(runs.partition_point(|run| run.sent_ns < sent_ns)).map(|run| run.first)
    }

    /// The first segment that was sent no earlier than `seq`, had that been sent at `sent_ns`: of one time, numbers decide.
    /// None: all were sent earlier.
    pub fn first_since(&self, (sent_ns, seq): (u64, u64)) -> Option<u64> {
        let runs = &self.runs[..self.len];
        let from = runs.partition_point(|run| run.sent_ns < sent_ns);
        let first = runs.get(from)?;
        if first.sent_ns > sent_ns {
            return Some(first.first);
        }
        // `seq` was sent then, or others of that time before it were.
        let later = runs[from..].iter().find(|run| run.sent_ns > sent_ns);
        let among = first.first.max(seq);
        Some(later.map_or(among, |later| later.first.min(among)))
    }

    /// No segment is in flight, and none will be.
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
