//! What the sender knows of the segments in flight.

use crate::bits::BitRing;
use std::collections::VecDeque;

pub const DUP_THRESH: u64 = 3;

/// A retransmission in flight.
struct Retransmission {
    seq: u64,
    sent_ns: u64,
    /// Segments before it had been sent when this one was.
    nxt: u64,
}

/// The segments from the first unacknowledged one, `una`, to the next to be sent, `nxt`.
pub struct Scoreboard {
    sacked: BitRing,
    retransmitted: BitRing,
    /// Without SACK: what duplicate ACKs tell to have left the network.
    pub sacked_out: u64,
    pub lost_out: u64,
    /// Retransmissions in flight.
    pub retrans_out: u64,
    /// The highest SACKed segments, descending; 0 is none, for segment 0 is never SACKed above itself.
    top_sacked: [u64; DUP_THRESH as usize],
    /// Every segment before it that was not SACKed is lost.
    lost_edge: u64,
    /// No segment before it needs retransmission.
    retransmit_from: u64,
    /// In the order sent; empty unless lost retransmissions are to be found.
    log: VecDeque<Retransmission>,
    log_retransmissions: bool,
}

impl Scoreboard {
    pub fn new(log_retransmissions: bool) -> Scoreboard {
        Scoreboard {
            sacked: BitRing::default(),
            retransmitted: BitRing::default(),
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            top_sacked: [0; DUP_THRESH as usize],
            lost_edge: 0,
            retransmit_from: 0,
            log: VecDeque::new(),
            log_retransmissions,
        }
    }

    /// Every segment in flight is on its way for the first time, as far as is known.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out == 0
    }

    /// The highest segment that was SACKed; 0: none.
    pub fn highest_sacked(&self) -> u64 {
        self.top_sacked[0]
    }

    /// Below it three segments or more were SACKed above each segment (RFC 6675, IsLost).
    pub fn third_highest_sacked(&self) -> u64 {
        self.top_sacked[DUP_THRESH as usize - 1]
    }

    pub fn is_sacked(&self, seq: u64) -> bool {
        self.sacked_out > 0 && self.sacked.contains(seq)
    }

    /// Drops what is known of `una..next`; says how many of them were SACKed.
    pub fn forget(&mut self, una: u64, next: u64) -> u64 {
        let lost_until = self.lost_edge.clamp(una, next);
        let sacked_among_lost = self.sacked.take(una, lost_until);
        let sacked = sacked_among_lost + self.sacked.take(lost_until, next);
        self.sacked_out -= sacked;
        self.lost_out -= lost_until - una - sacked_among_lost;
        self.retrans_out -= self.retransmitted.take(una, next);
        sacked
    }

    fn reserve(&mut self, una: u64, nxt: u64) {
        self.sacked.reserve(una, nxt);
        self.retransmitted.reserve(una, nxt);
    }

    /// Marks `seq` as arrived; false if that was known.
    pub fn sack(&mut self, seq: u64, una: u64, nxt: u64) -> bool {
        self.reserve(una, nxt);
        if seq < una || self.sacked.contains(seq) {
            return false;
        }
        self.sacked.insert(seq);
        self.sacked_out += 1;
        if seq < self.lost_edge {
            self.lost_out -= 1;
        }
        self.retrans_out -= self.retransmitted.take(seq, seq + 1);
        let mut seq = seq;
        for top in &mut self.top_sacked {
            if seq > *top {
                std::mem::swap(top, &mut seq);
            }
        }
        true
    }

    /// Marks every segment before `edge` that was not SACKed as lost; says how many newly.
    pub fn mark_lost(&mut self, una: u64, edge: u64) -> u64 {
        let from = self.lost_edge.max(una);
        if edge <= from {
            return 0;
        }
        let lost = edge - from - self.sacked.count(from, edge);
        self.lost_out += lost;
        self.lost_edge = edge;
        lost
    }

    /// Marks as lost the retransmissions sent before `sent_ns`, when a segment was sent that has arrived: the
    /// path keeps the order. Says how many.
    pub fn mark_lost_retransmissions(&mut self, una: u64, sent_ns: u64) -> u64 {
        let mut lost = 0;
        while let Some(first) = self.log.front()
            && first.sent_ns < sent_ns
        {
            let seq = first.seq;
            self.log.pop_front();
            if seq >= una && self.retransmitted.contains(seq) {
                self.retransmitted.remove(seq);
                self.retrans_out -= 1;
                self.retransmit_from = self.retransmit_from.min(seq);
                lost += 1;
            }
        }
        lost
    }

    /// How far had been sent when the retransmission that was sent at `sent_ns` was; 0: unknown.
    pub fn sent_before_retransmission(&self, sent_ns: u64) -> u64 {
        let known = self.log.iter().take_while(|sent| sent.sent_ns <= sent_ns);
        known.filter(|sent| sent.sent_ns == sent_ns).last().map_or(0, |sent| sent.nxt)
    }

    /// All that is in flight counts as lost, and nothing as retransmitted.
    pub fn mark_all_lost(&mut self, una: u64, nxt: u64) {
        self.lost_edge = nxt;
        self.lost_out = nxt - una - self.sacked_out;
        self.forget_retransmissions(una, nxt);
    }

    /// Nothing in flight counts as lost.
    pub fn mark_none_lost(&mut self, una: u64, nxt: u64) {
        self.lost_edge = una;
        self.lost_out = 0;
        self.forget_retransmissions(una, nxt);
    }

    fn forget_retransmissions(&mut self, una: u64, nxt: u64) {
        self.retransmitted.take(una, nxt);
        self.retrans_out = 0;
        self.retransmit_from = una;
        self.log.clear();
    }

    /// The next lost segment to retransmit, which then is, at `now`.
    pub fn next_retransmission(&mut self, now: u64, una: u64, nxt: u64) -> Option<u64> {
        self.reserve(una, nxt);
        let from = self.retransmit_from.max(una);
        let Some(seq) = self.sacked.first_in_neither(&self.retransmitted, from, self.lost_edge) else {
            self.retransmit_from = self.lost_edge;
            return None;
        };
        self.retransmit_from = seq + 1;
        self.retransmitted.insert(seq);
        self.retrans_out += 1;
        if self.log_retransmissions {
            self.log.push_back(Retransmission { seq, sent_ns: now, nxt });
        }
        Some(seq)
    }
}
