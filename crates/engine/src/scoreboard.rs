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
    /// Without SACK: what duplicate ACKs tell to have left the network.
    pub sacked_out: u64,
    pub lost_out: u64,
    /// Retransmissions in flight.
    pub retrans_out: u64,
    pub logs_retransmissions: bool,
    /// What a sender needs that has missed something.
    known: Option<Box<Known>>,
}

#[derive(Default)]
struct Known {
    sacked: BitRing,
    retransmitted: BitRing,
    /// The highest SACKed segments, descending; 0 is none, for segment 0 is never SACKed above itself.
    top_sacked: [u64; DUP_THRESH as usize],
    /// Every segment before it that was not SACKed is lost.
    lost_edge: u64,
    /// No segment before it needs retransmission.
    retransmit_from: u64,
    /// In the order sent; empty unless lost retransmissions are to be found.
    log: VecDeque<Retransmission>,
}

impl Known {
    fn reserve(&mut self, una: u64, nxt: u64) {
        self.sacked.reserve(una, nxt);
        self.retransmitted.reserve(una, nxt);
    }
}

impl Scoreboard {
    pub fn new(logs_retransmissions: bool) -> Scoreboard {
        Scoreboard { sacked_out: 0, lost_out: 0, retrans_out: 0, logs_retransmissions, known: None }
    }

    fn known(&mut self) -> &mut Known {
        self.known.get_or_insert_default()
    }

    /// Every segment in flight is on its way for the first time, as far as is known.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out == 0
    }

    /// The highest segment that was SACKed; 0: none.
    pub fn highest_sacked(&self) -> u64 {
        self.known.as_ref().map_or(0, |known| known.top_sacked[0])
    }

    /// Below it three segments or more were SACKed above each segment (RFC 6675, IsLost).
    pub fn third_highest_sacked(&self) -> u64 {
        self.known.as_ref().map_or(0, |known| known.top_sacked[DUP_THRESH as usize - 1])
    }

    pub fn is_sacked(&self, seq: u64) -> bool {
        self.sacked_out > 0 && self.known.as_ref().is_some_and(|known| known.sacked.contains(seq))
    }

    /// Drops what is known of `una..next`; says how many of them were SACKed.
    pub fn forget(&mut self, una: u64, next: u64) -> u64 {
        let Some(known) = &mut self.known else { return 0 };
        let lost_until = known.lost_edge.clamp(una, next);
        let sacked_among_lost = known.sacked.take(una, lost_until);
        let sacked = sacked_among_lost + known.sacked.take(lost_until, next);
        self.sacked_out -= sacked;
        self.lost_out -= lost_until - una - sacked_among_lost;
        self.retrans_out -= known.retransmitted.take(una, next);
        sacked
    }

    /// Marks `seq` as arrived; false if that was known.
    pub fn sack(&mut self, seq: u64, una: u64, nxt: u64) -> bool {
        let known = self.known.get_or_insert_default();
        known.reserve(una, nxt);
        if seq < una || known.sacked.contains(seq) {
            return false;
        }
        known.sacked.insert(seq);
        self.sacked_out += 1;
        if seq < known.lost_edge {
            self.lost_out -= 1;
        }
        self.retrans_out -= known.retransmitted.take(seq, seq + 1);
        let mut seq = seq;
        for top in &mut known.top_sacked {
            if seq > *top {
                std::mem::swap(top, &mut seq);
            }
        }
        true
    }

    /// Marks every segment before `edge` that was not SACKed as lost; says how many newly.
    pub fn mark_lost(&mut self, una: u64, edge: u64) -> u64 {
        if edge <= una {
            return 0;
        }
        let known = self.known();
        let from = known.lost_edge.max(una);
        if edge <= from {
            return 0;
        }
        let lost = edge - from - known.sacked.count(from, edge);
        known.lost_edge = edge;
        self.lost_out += lost;
        lost
    }

    /// Marks as lost the retransmissions sent before `sent_ns`, when a segment was sent that has arrived: the
    /// path keeps the order. Says how many.
    pub fn mark_lost_retransmissions(&mut self, una: u64, sent_ns: u64) -> u64 {
        let Some(known) = &mut self.known else { return 0 };
        let mut lost = 0;
        while let Some(first) = known.log.front()
            && first.sent_ns < sent_ns
        {
            let seq = first.seq;
            known.log.pop_front();
            if seq >= una && known.retransmitted.contains(seq) {
                known.retransmitted.remove(seq);
                self.retrans_out -= 1;
                known.retransmit_from = known.retransmit_from.min(seq);
                lost += 1;
            }
        }
        lost
    }

    /// How far had been sent when the retransmission that was sent at `sent_ns` was; 0: unknown.
    pub fn sent_before_retransmission(&self, sent_ns: u64) -> u64 {
        let log = self.known.iter().flat_map(|known| &known.log);
        let before = log.take_while(|sent| sent.sent_ns <= sent_ns);
        before.filter(|sent| sent.sent_ns == sent_ns).last().map_or(0, |sent| sent.nxt)
    }

    /// All that is in flight counts as lost, and nothing as retransmitted.
    pub fn mark_all_lost(&mut self, una: u64, nxt: u64) {
        self.known().lost_edge = nxt;
        self.lost_out = nxt - una - self.sacked_out;
        self.forget_retransmissions(una, nxt);
    }

    /// Nothing in flight counts as lost.
    pub fn mark_none_lost(&mut self, una: u64, nxt: u64) {
        let Some(known) = &mut self.known else { return };
        known.lost_edge = una;
        self.lost_out = 0;
        self.forget_retransmissions(una, nxt);
    }

    fn forget_retransmissions(&mut self, una: u64, nxt: u64) {
        self.retrans_out = 0;
        let known = self.known();
        known.retransmitted.take(una, nxt);
        known.retransmit_from = una;
        known.log.clear();
    }

    /// The next lost segment to retransmit, which then is, at `now`.
    pub fn next_retransmission(&mut self, now: u64, una: u64, nxt: u64) -> Option<u64> {
        let known = self.known.get_or_insert_default();
        known.reserve(una, nxt);
        let from = known.retransmit_from.max(una);
        let Some(seq) = known.sacked.first_in_neither(&known.retransmitted, from, known.lost_edge) else {
            known.retransmit_from = known.lost_edge;
            return None;
        };
        known.retransmit_from = seq + 1;
        known.retransmitted.insert(seq);
        self.retrans_out += 1;
        if self.logs_retransmissions {
            known.log.push_back(Retransmission { seq, sent_ns: now, nxt });
        }
        Some(seq)
    }
}
