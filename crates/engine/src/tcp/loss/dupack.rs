//! Losses found by duplicate ACKs, without SACK: Tahoe, Reno (RFC 5681), NewReno (RFC 6582) and Vegas (Brakmo, Peterson 1995).

use crate::tcp::packet::AckPacket;
use crate::tcp::scoreboard::DUP_THRESH;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, Lowering, State};
use cwnd_scenario::{Detection, Reduction};

impl<C: CongestionControl> Sender<'_, C> {
    pub(in crate::tcp) fn on_non_sack(&mut self, now: u64, ack: &AckPacket) {
        self.note_all_sent();
        if ack.next < self.una {
            return;
        }
        let prior_in_flight = self.in_flight();
        let acked = ack.next - self.una;
        self.note_delivery_rate(&AckPacket { sacked: None, ..*ack });
        let delivered = self.count_delivered(acked);
        self.driver.ack.delivered += delivered;
        self.driver.ack.lost = 0;
        self.note_marks(ack, delivered);
        if acked == 0 {
            self.note_ack(now, delivered, prior_in_flight);
            if ack.ece {
                self.answer_mark();
            }
            // Only a segment in flight can be missing.
            if self.first_unsent > self.una {
                self.on_dup_ack(now);
            }
        } else {
            self.on_new_ack(now, ack, [acked, delivered], prior_in_flight);
        }
        if self.driver.controls_window() {
            self.control(now);
        }
    }

    /// `first_unsent` is up to date.
    pub(in crate::tcp) fn note_all_sent(&mut self) {
        self.first_unsent = self.first_unsent.max(self.nxt);
    }

    /// Without SACK: an ACK or the next segment may have to do with a segment that is missing, or that seemed to be.
    pub(in crate::tcp) fn repairs_without_sack(&self) -> bool {
        let repairs = self.repairs.as_ref();
        !self.choices.detection.uses_sack()
            && (self.nxt != self.first_unsent
                || repairs.is_some_and(|repairs| repairs.non_sack.is_repairing()))
    }

    /// A duplicate ACK shows that one segment more has arrived, an ACK of more segments that the others have.
    fn count_delivered(&mut self, acked: u64) -> u64 {
        let (una, first_unsent) = (self.una, self.first_unsent);
        let arrived = &mut self.non_sack().arrived;
        if acked > 0 {
            let delivered = acked.saturating_sub(*arrived).max(1);
            *arrived = arrived.saturating_sub(acked - 1);
            delivered
        } else {
            let delivered = u64::from(una + *arrived + 1 < first_unsent);
            *arrived += delivered;
            delivered
        }
    }

    /// The left edge moves by `acked` segments, of which `delivered` had not been seen to arrive.
    #[inline]
    fn on_new_ack(&mut self, now: u64, ack: &AckPacket, [acked, delivered]: [u64; 2], prior_in_flight: u64) {
        self.una = ack.next;
        self.nxt = self.nxt.max(ack.next);
        self.non_sack().dup_acks = 0;
        self.non_sack().must_retransmit = false;
        let partial = self.driver.state() == State::Recovery
            && self.choices.detection == Detection::PartialAcks
            && self.una < self.recovery_end;
        // Deflates by the segments acknowledged, less the one that the ACK lets out (RFC 6582, 3.2, step 3).
        let inflation = if partial { (self.scoreboard.sacked_out + 1).saturating_sub(acked) } else { 0 };
        self.scoreboard.sacked_out = inflation.min(self.nxt - self.una);
        self.note_ack(now, delivered, prior_in_flight);
        if !ack.retransmission || self.timestamps {
            self.sample_rtt(now, now - ack.echo_ns);
        }
        if self.first_unsent == self.una || self.closed {
            self.rto_at = NEVER;
        } else if !(partial && self.non_sack().restarted_timer) {
            self.set_timer(now);
        }
        if partial {
            self.non_sack().restarted_timer = true;
            self.non_sack().must_retransmit = true;
            self.note_first_lost();
            return;
        }
        let reduced_until = self.non_sack().reduced_until;
        match self.driver.state() {
            State::Cwr if self.una <= reduced_until => return,
            State::Loss if self.una < self.recovery_end => {}
            State::Recovery | State::Cwr | State::Loss => self.driver.on_recovered(self.cwnd()),
            State::Open | State::Disorder => self.driver.on_disorder(false),
        }
        if ack.ece && self.driver.state() == State::Open {
            self.answer_mark();
        } else if !self.driver.controls_window() {
            self.driver.grow();
        }
        self.send_window = u64::from(self.cwnd());
        if self.choices.detection == Detection::FineTimer && self.non_sack().fine_timer().checks_left > 0 {
            self.non_sack().fine_timer().checks_left -= 1;
            let open = self.driver.state() == State::Open;
            if open && self.first_unsent > self.una && self.is_late(now) {
                self.retransmit_early(now);
                self.non_sack().dup_acks = 0;
                self.scoreboard.sacked_out = 0;
            }
        }
    }

    /// The first missing segment is lost.
    fn note_first_lost(&mut self) {
        self.driver.ack.lost_total += 1;
        if let Some(rate) = &mut self.rate {
            rate.on_lost(0);
            self.report_losses();
        }
    }

    /// The first missing segment was sent longer ago than the finer timeout.
    fn is_late(&mut self, now: u64) -> bool {
        let una = self.una;
        now.saturating_sub(self.non_sack().fine_timer().sent_ns(una)) > self.rto.fine_ns()
    }

    /// Vegas retransmits the first missing segment.
    fn retransmit_early(&mut self, now: u64) {
        self.recovery_end = self.first_unsent;
        self.driver.ack.lost = 1;
        self.note_first_lost();
        let una = self.una;
        let timer = self.non_sack().fine_timer();
        if timer.sent_ns(una) >= timer.cut_ns {
            timer.cut_ns = now;
            self.driver.on_loss(Lowering::ToSsthresh);
            self.report_reduction = true;
        } else {
            self.driver.on_further_loss();
        }
        self.scoreboard.sacked_out = DUP_THRESH.min(self.nxt - self.una);
        self.non_sack().must_retransmit = true;
        self.non_sack().dup_acks = DUP_THRESH;
        self.non_sack().fine_timer().checks_left = 2;
        self.send_window = u64::from(self.cwnd());
    }

    /// An ACK echoes congestion experienced: the window is reduced, once for a window of data (RFC 3168, 6.1.2).
    #[cold]
    fn answer_mark(&mut self) {
        let least = self.least_ssthresh_after_mark();
        if self.driver.on_congestion(Lowering::ToSsthresh, least) {
            let reduced_until = self.first_unsent;
            self.non_sack().reduced_until = reduced_until;
            self.report_reduction = true;
            self.send_window = u64::from(self.cwnd());
        }
    }

    fn on_dup_ack(&mut self, now: u64) {
        self.non_sack().dup_acks += 1;
        let state = self.driver.state();
        if self.choices.detection == Detection::FineTimer && state != State::Loss {
            let third = self.non_sack().dup_acks == DUP_THRESH && state != State::Recovery;
            if third || self.is_late(now) {
                self.retransmit_early(now);
                return;
            }
        }
        if state == State::Recovery {
            self.inflate();
            return;
        }
        // Duplicates of segments sent again are no sign of a loss (RFC 6582, 3.2, step 1).
        let after_recovery = self.recovery_end == 0 || self.una > self.recovery_end;
        let dup_acks = self.non_sack().dup_acks;
        match dup_acks {
            DUP_THRESH if after_recovery => self.fast_retransmit(),
            // RFC 3042 lets out segments that were never sent.
            n if n < DUP_THRESH && state != State::Loss && self.nxt == self.first_unsent => {
                if state != State::Cwr {
                    self.driver.on_disorder(true);
                }
                self.inflate();
            }
            _ => {}
        }
    }

    fn inflate(&mut self) {
        self.scoreboard.sacked_out = (self.scoreboard.sacked_out + 1).min(self.nxt - self.una);
    }

    fn fast_retransmit(&mut self) {
        self.recovery_end = self.first_unsent;
        self.driver.ack.lost = 1;
        self.note_first_lost();
        let slow_start = self.choices.reduction == Reduction::SlowStart;
        if self.driver.state() == State::Cwr {
            self.driver.on_further_loss();
        } else {
            self.driver.on_loss(if slow_start { Lowering::ToOne } else { Lowering::ToSsthresh });
            self.report_reduction = true;
        }
        if slow_start {
            self.go_back();
            self.driver.on_recovered(self.cwnd());
        } else {
            self.scoreboard.sacked_out = DUP_THRESH.min(self.nxt - self.una);
            self.non_sack().must_retransmit = true;
            self.non_sack().restarted_timer = false;
        }
        self.send_window = u64::from(self.cwnd());
    }

    /// All segments in flight are sent again, in order.
    pub(in crate::tcp) fn go_back(&mut self) {
        self.nxt = self.una;
        self.scoreboard.sacked_out = 0;
        self.non_sack().dup_acks = 0;
        self.non_sack().must_retransmit = false;
    }
}
