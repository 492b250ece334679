//! Losses found by time (RFC 8985).

use crate::tcp::packet::AckPacket;
use crate::tcp::scoreboard::DUP_THRESH;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, State};

/// Two ticks of Linux at 250 Hz: its timers are no shorter, and until then the next ACK may show that nothing is lost.
const TIMER_LEAST_NS: u64 = 8_000_000;

impl<C: CongestionControl> Sender<'_, C> {
    /// The edge below which every missing segment is lost. A segment is lost that was sent before one that has arrived: at
    /// once in recovery or with three segments SACKed, else after a quarter of the smallest RTT.
    pub(super) fn rack_edge(&mut self, now: u64, ack: &AckPacket) -> u64 {
        self.reorder_at = NEVER;
        if self.reordering.is_some() {
            return self.overdue_edge(now);
        }
        let repairing = matches!(self.driver.state(), State::Recovery | State::Loss);
        // A probe is sent long after all else.
        let probed = ack.sacked.is_some_and(|seq| seq.get() == self.probed);
        if !repairing && !probed && self.scoreboard.sacked_out < DUP_THRESH {
            if self.scoreboard.sacked_out > 0 {
                let wait_us = (self.driver.ack.min_rtt_us / 4).min(self.driver.ack.srtt_us);
                self.reorder_at = now + u64::from(wait_us) * 1000;
            }
            return 0;
        }
        let sent_before =
            if ack.retransmission { self.scoreboard.sent_before_retransmission(ack.sent_ns) } else { 0 };
        self.scoreboard.highest_sacked().max(sent_before)
    }

    /// The same where segments may arrive in another order: they are lost when they are late.
    fn overdue_edge(&mut self, now: u64) -> u64 {
        let Some(reordering) = &self.reordering else { return 0 };
        let repairing = matches!(self.driver.state(), State::Recovery | State::Loss);
        let certain = repairing || self.scoreboard.sacked_out >= DUP_THRESH;
        let wait_us = self.driver.ack.min_rtt_us / 4;
        let overdue = reordering.overdue(now, u64::from(wait_us) * 1000, certain);
        let next_at = overdue.next_at.filter(|_| self.scoreboard.sacked_out > 0);
        self.reorder_at = next_at.map_or(NEVER, |at| at + TIMER_LEAST_NS);
        overdue.edge
    }

    /// Retransmissions that were sent before this are lost, after an ACK of a segment that was sent at `sent_ns`.
    pub(super) fn lost_retransmissions_before_ns(&self, now: u64, sent_ns: u64) -> u64 {
        let Some(reordering) = &self.reordering else { return sent_ns };
        let wait_us = (self.driver.ack.min_rtt_us / 4).min(self.driver.ack.srtt_us);
        reordering.overdue(now, u64::from(wait_us) * 1000, true).retransmitted_before_ns
    }

    /// Few segments were SACKed, and no more came: the missing ones below the highest are lost.
    pub(in crate::tcp) fn on_reorder_timer(&mut self, now: u64) {
        self.reorder_at = NEVER;
        let edge = match self.reordering {
            Some(_) => self.overdue_edge(now),
            None => self.scoreboard.highest_sacked(),
        };
        let lost = self.mark_lost(edge);
        self.driver.ack.now_us = now / 1000;
        self.note_losses(lost);
        self.report_losses();
        if lost > 0 && !matches!(self.driver.state(), State::Recovery | State::Loss) {
            self.begin_recovery(0);
            self.reduce(0, 0);
        }
    }
}
