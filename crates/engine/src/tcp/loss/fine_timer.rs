//! When each segment was sent: what a sender looks at that retransmits before the third duplicate ACK (Brakmo, Peterson 1995).

use std::collections::VecDeque;

#[derive(Default)]
pub struct FineTimer {
    /// When each segment from `first` on was sent last.
    sent_ns: VecDeque<u64>,
    first: u64,
    /// When the window was cut last: segments sent before that cut it no more.
    pub cut_ns: u64,
    /// New ACKs after a retransmission that still look at the first missing segment.
    pub checks_left: u8,
}

impl FineTimer {
    /// Segment `seq` is sent; the ones before `una` are acknowledged.
    pub fn note_sent(&mut self, now: u64, seq: u64, una: u64) {
        while self.first < una {
            self.sent_ns.pop_front();
            self.first += 1;
        }
        let at = (seq - self.first) as usize;
        if at >= self.sent_ns.len() {
            self.sent_ns.resize(at + 1, now);
        }
        self.sent_ns[at] = now;
    }

    /// When segment `seq` was sent last; later than anything if that is unknown.
    pub fn sent_ns(&self, seq: u64) -> u64 {
        let at = seq.checked_sub(self.first).map(|at| at as usize);
        at.and_then(|at| self.sent_ns.get(at).copied()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_of_each_segment_from_the_left_edge_on_is_known() {
        let mut timer = FineTimer::default();
        assert_eq!(timer.sent_ns(0), u64::MAX);
        [(5, 0), (6, 1), (7, 2), (8, 1)].into_iter().for_each(|(now, seq)| timer.note_sent(now, seq, 0));
        assert_eq!([0, 1, 2, 3].map(|seq| timer.sent_ns(seq)), [5, 8, 7, u64::MAX]);
        timer.note_sent(9, 3, 2);
        assert_eq!([1, 2, 3].map(|seq| timer.sent_ns(seq)), [u64::MAX, 7, 9]);
    }
}
