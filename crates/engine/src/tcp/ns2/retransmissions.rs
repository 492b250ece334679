//! Which retransmissions are lost, by the order in which they arrive: as ScoreBoard1 of Agent/TCP/Linux decides.

use crate::time::NEVER;
use std::collections::VecDeque;

/// A retransmission is lost when one that was sent this many retransmissions later has arrived.
const OVERTAKEN_BY: u64 = 5;

struct Retransmission {
    /// [`NEVER`]: it was found to be lost.
    seq: u64,
    /// Segments before it had been sent when this one was.
    nxt: u64,
}

/// Retransmissions are numbered in the order in which they are sent.
#[derive(Default)]
pub struct RetransmissionOrder {
    /// In the order sent.
    sent: VecDeque<Retransmission>,
    /// The number of the first of `sent`.
    first: u64,
    /// By segment from `numbered_from` on: the number of its retransmission in flight, or [`NEVER`].
    numbers: VecDeque<u64>,
    numbered_from: u64,
    /// The number of the retransmission that arrived last, by the ACKs before this one.
    arrived: u64,
    /// Segments whose retransmissions arrive by this ACK, and the numbers of these.
    arriving: Vec<(u64, u64)>,
}

impl RetransmissionOrder {
    /// Segment `seq` is sent again, after all segments before `nxt` have been sent; those before `una` are acknowledged.
    pub fn note_sent(&mut self, seq: u64, nxt: u64, una: u64) {
        if self.numbers.is_empty() {
            self.numbered_from = una;
        }
        let place = (seq - self.numbered_from) as usize;
        if place >= self.numbers.len() {
            self.numbers.resize(place + 1, NEVER);
        }
        self.numbers[place] = self.first + self.sent.len() as u64;
        self.sent.push_back(Retransmission { seq, nxt });
    }

    /// The retransmission of segment `seq` has arrived.
    pub fn note_arrival(&mut self, seq: u64) {
        let number = self.take_number(seq);
        self.arriving.extend(number.map(|number| (seq, number)));
    }

    /// All segments before `next` are acknowledged.
    pub fn note_arrivals(&mut self, next: u64) {
        if self.numbers.is_empty() {
            return;
        }
        let until = (next - self.numbered_from).min(self.numbers.len() as u64);
        self.numbered_from += until;
        let arrived = self.numbers.drain(..until as usize).filter(|number| *number != NEVER);
        self.arriving.extend(arrived.max().map(|number| (next - 1, number)));
    }

    /// No retransmission counts as in flight any more.
    pub fn clear(&mut self) {
        self.first += self.sent.len() as u64;
        self.sent.clear();
        self.numbers.clear();
    }

    /// Calls `lose` with each segment whose retransmission this ACK shows to be lost: a segment is SACKed that was sent
    /// for the first time after the retransmission, or the retransmission that arrived last was sent at least
    /// [`OVERTAKEN_BY`] retransmissions later. The segments of an ACK are gone through in their order: of several
    /// retransmissions that it reports, that of the highest segment counts as the last, and the ones below it are lost
    /// only at the next ACK. A retransmission below `una` counts only if it was sent later than the last one.
    pub fn take_overtaken(&mut self, una: u64, highest_sacked: u64, mut lose: impl FnMut(u64)) {
        let mut arriving = std::mem::take(&mut self.arriving);
        arriving.sort_unstable();
        let acknowledged = arriving.partition_point(|&(seq, _)| seq < una);
        let numbers = arriving.drain(..acknowledged).map(|(_, number)| number);
        let arrived = numbers.fold(self.arrived, u64::max);
        self.arrived = arriving.last().map_or(arrived, |&(_, number)| number);
        let latest = arriving.iter().map(|&(_, number)| number).fold(arrived, u64::max);
        for place in 0..self.sent.len() {
            let (number, sent) = (self.first + place as u64, &mut self.sent[place]);
            let by_new = sent.nxt <= highest_sacked;
            if !by_new && number + OVERTAKEN_BY > latest {
                break;
            }
            let below = arriving.partition_point(|&(seq, _)| seq < sent.seq);
            let last = below.checked_sub(1).map_or(arrived, |last| arriving[last].1);
            if by_new || number + OVERTAKEN_BY <= last {
                let seq = std::mem::replace(&mut sent.seq, NEVER);
                if seq != NEVER && self.take_number(seq).is_some() {
                    lose(seq);
                }
            }
        }
        while self.sent.front().is_some_and(|sent| sent.seq == NEVER) {
            self.sent.pop_front();
            self.first += 1;
        }
        arriving.clear();
        self.arriving = arriving;
    }

    /// The retransmission of segment `seq` is in flight no more; returns its number.
    fn take_number(&mut self, seq: u64) -> Option<u64> {
        let number = self.numbers.get_mut(seq.checked_sub(self.numbered_from)? as usize)?;
        Some(std::mem::replace(number, NEVER)).filter(|number| *number != NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments 0 to 9 are retransmitted in this order; the receiver has segment 19, the first one after them.
    fn ten_retransmitted() -> RetransmissionOrder {
        let mut order = RetransmissionOrder::default();
        (0..10).for_each(|seq| order.note_sent(seq, 20, 0));
        order
    }

    fn lost(order: &mut RetransmissionOrder, una: u64, highest_sacked: u64) -> Vec<u64> {
        let mut lost = Vec::new();
        order.take_overtaken(una, highest_sacked, |seq| lost.push(seq));
        lost
    }

    /// Segments that the retransmission of `seq` shows to be lost, on its ACK and on the next.
    fn lost_by(seq: u64) -> [Vec<u64>; 2] {
        let mut order = ten_retransmitted();
        order.note_arrival(seq);
        [lost(&mut order, 0, 19), lost(&mut order, 0, 19)]
    }

    #[test]
    fn a_retransmission_is_lost_when_the_fifth_after_it_arrived_before() {
        assert_eq!(lost_by(4), [const { Vec::<u64>::new() }; 2]);
        assert_eq!(lost_by(5), [vec![], vec![0]]);
        assert_eq!(lost_by(8), [vec![], vec![0, 1, 2, 3]]);
    }

    #[test]
    fn a_retransmission_is_lost_at_once_when_a_later_new_segment_arrives() {
        let mut order = ten_retransmitted();
        assert_eq!([lost(&mut order, 0, 20), lost(&mut order, 0, 20)], [(0..10).collect(), vec![]]);
    }

    #[test]
    fn the_last_segment_of_an_ack_counts_though_another_was_retransmitted_later() {
        let mut order = ten_retransmitted();
        order.note_arrival(6);
        assert_eq!([lost(&mut order, 0, 19), lost(&mut order, 0, 19)], [vec![], vec![0, 1]]);
        [0, 1].into_iter().for_each(|seq| order.note_sent(seq, 20, 0));
        // 0 and 1, now tenth and eleventh, have overtaken 2 and 3 above them; then 4 is the last that arrived, and 5 is safe.
        [0, 1, 4].into_iter().for_each(|seq| order.note_arrival(seq));
        assert_eq!([lost(&mut order, 0, 19), lost(&mut order, 0, 19)], [vec![2, 3], vec![]]);
    }

    #[test]
    fn an_acknowledged_segment_hides_no_later_retransmission() {
        let mut order = ten_retransmitted();
        order.note_arrival(9);
        assert_eq!(lost(&mut order, 0, 19), [0_u64; 0]);
        order.note_arrivals(1);
        assert_eq!(lost(&mut order, 1, 19), [1, 2, 3, 4], "by 9 and not by 0");
    }
}
