//! Losses found by time (RFC 8985).

use crate::tcp::packet::AckPacket;
use crate::tcp::scoreboard::DUP_THRESH;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, State};

/// Time that Linux adds to the reordering timer.
const TIMER_LATE_NS: u64 = 2_000_000;

impl<C: CongestionControl> Sender<'_, C> {
    /// An ACK reports arrivals while something is missing; `late`: one of them behind a segment that was sent later.
    #[inline(always)]
    pub(super) fn note_rack_arrival(&mut self, now: u64, ack: &AckPacket, late: bool) {
        let (in_flight, rack) = (self.una..self.nxt, self.rack.get_or_insert_default());
        if !ack.duplicate {
            let sent = (ack.sent_ns, ack.cause);
            rack.note_arrival(now, sent, ack.retransmission, in_flight, &mut self.sent_times);
        }
        if late {
            rack.note_reordering();
        }
    }

    /// Marks the segments as lost that were sent before one that has arrived, longer ago than its RTT and the reordering
    /// window; returns how many. The timer looks again when the last of the others would be lost.
    pub(super) fn detect_overdue(&mut self, now: u64) -> u64 {
        self.reorder_at = NEVER;
        let Some(rack) = &self.rack else { return 0 };
        let ack = &self.driver.ack;
        let repairing = matches!(self.driver.state(), State::Recovery | State::Loss);
        let certain = repairing || self.scoreboard.sacked_out >= DUP_THRESH;
        let window_ns =
            rack.window_ns(u64::from(ack.min_rtt_us) * 1000, u64::from(ack.srtt_us) * 1000, certain);
        let from = self.scoreboard.lost_edge().max(self.una);
        let overdue = rack.overdue(now, window_ns, from, &self.sent_times);
        let mut lost = if overdue.edge > from { self.mark_lost(overdue.edge) } else { 0 };
        let missing = self.scoreboard.last_missing(overdue.edge, overdue.waiting_until);
        let mut last_ns = missing.map(|seq| self.sent_times.of(seq));
        if self.scoreboard.has_retransmission_before(overdue.newest) {
            lost += self.mark_lost_retransmissions(overdue.newest, overdue.sent_before_ns);
            last_ns = last_ns.max(self.scoreboard.last_retransmission_ns(overdue.newest));
        }
        self.reorder_at = last_ns.map_or(NEVER, |sent_ns| {
            let wait_ns = (sent_ns + overdue.patience_ns).saturating_sub(now) + TIMER_LATE_NS;
            self.ticks.after(now, wait_ns)
        });
        lost
    }

    /// Few segments were SACKed, and no more came: the missing ones before them may be lost.
    pub(in crate::tcp) fn on_reorder_timer(&mut self, now: u64) {
        let lost = self.detect_overdue(now);
        self.driver.ack.now_us = now / 1000;
        self.note_losses(lost);
        self.report_losses();
        if lost > 0 && !matches!(self.driver.state(), State::Recovery | State::Loss) {
            self.begin_recovery(0);
            self.reduce(0, 0);
        }
    }
}
