//! Reductions of the window with SACK: how one begins, goes on and ends.

use crate::memory::prefetch::prefetch_all;
use crate::tcp::reduction::cut;
use crate::tcp::reduction::prr::{Progress, Prr};
use crate::tcp::reduction::rate_halving::{RateHalving, final_cwnd};
use crate::tcp::repairs::Reducing;
use crate::tcp::scoreboard::DUP_THRESH;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, Lowering, State};
use cwnd_scenario::Reduction;

impl<C: CongestionControl> Sender<'_, C> {
    /// ACKs will arrive soon that tell of missing segments.
    #[inline(always)]
    pub fn prefetch_repairs(&self) {
        self.scoreboard.prefetch();
        self.repairs.iter().for_each(|repairs| prefetch_all(&**repairs));
    }

    /// Prefetches the second retransmission in flight, after [`Sender::prefetch_repairs`].
    #[inline(always)]
    pub fn prefetch_retransmissions(&self) {
        self.scoreboard.prefetch_retransmissions();
    }

    /// Fast retransmit, on an ACK that delivered `delivered` segments.
    pub(super) fn begin_recovery(&mut self, delivered: u64) {
        let may_undo = self.undoes_recoveries() && self.driver.state() != State::Cwr;
        self.repairs().undo = may_undo.then(|| self.new_undo());
        self.note_send_buffer();
        self.probed = NEVER;
        self.recovery_end = self.nxt;
        if self.driver.state() == State::Cwr {
            self.driver.on_further_loss();
        } else {
            let at_one = self.restart_at_one;
            self.driver.on_loss(if at_one { Lowering::ToOne } else { self.lowering() });
            self.begin_reduction(delivered);
        }
    }

    /// Congestion with nothing to repair, on an ACK that delivered `delivered` segments: a mark, or a loss that is repaired.
    pub(super) fn answer_congestion(&mut self, delivered: u64, marked: bool) {
        let lowering = self.lowering();
        let least = if marked { self.least_ssthresh_after_mark() } else { 0 };
        if self.driver.on_congestion(lowering, least) {
            self.forbid_undo();
            self.recovery_end = self.nxt;
            self.begin_reduction(delivered);
        }
    }

    /// ABE (RFC 8511); 0: a mark counts as a loss.
    pub(super) fn least_ssthresh_after_mark(&self) -> u32 {
        let permille = self.flow.stack.beta_ecn_permille.unwrap_or(0);
        (u64::from(self.cwnd()) * u64::from(permille) / 1000) as u32
    }

    fn lowering(&self) -> Lowering {
        if self.restart_at_half_ssthresh {
            Lowering::ToRepairWindow
        } else if self.choices.reduction == Reduction::Prr {
            Lowering::Later
        } else {
            Lowering::ToSsthresh
        }
    }

    fn begin_reduction(&mut self, delivered: u64) {
        self.report_reduction = true;
        let in_flight = self.nxt - self.una - self.scoreboard.sacked_out + delivered;
        let prior_cwnd = u64::from(self.driver.window.prior_cwnd);
        // Linux 6.12 divides by the window, which is more than what is in flight where something else was the limit.
        let recover_fs = if self.flow.stack.is_linux() { prior_cwnd } else { in_flight };
        self.repairs().reducing =
            Reducing { sent: 0, prr: Prr::new(recover_fs), rate_halving: RateHalving::new(prior_cwnd) };
        if !self.driver.controls_window() {
            self.send_window = prior_cwnd;
        }
    }

    /// How much may be in flight after an ACK that moved the left edge by `acked` and delivered `delivered` segments.
    pub(super) fn reduce(&mut self, acked: u64, delivered: u64) {
        if self.driver.controls_window() {
            return;
        }
        let in_flight = self.in_flight();
        let reducing = &mut self.repairs.get_or_insert_default().reducing;
        let fast_retransmit = reducing.sent == 0 && self.scoreboard.lost_out > 0;
        match self.choices.reduction {
            Reduction::Cut => {
                let regrows = self.restart_at_one && self.driver.state() == State::Recovery;
                // Not on the ACK that began it, nor on one that reports nothing.
                if regrows && reducing.sent > 0 && self.driver.ack.acked > 0 {
                    self.driver.grow();
                }
                self.send_window = cut::send_window(in_flight, u64::from(self.cwnd()), fast_retransmit);
            }
            Reduction::Prr => {
                self.send_window = reducing.prr.send_window(&Progress {
                    in_flight,
                    ssthresh: u64::from(self.driver.window.ssthresh),
                    delivered,
                    sent: reducing.sent,
                    safe: acked > 0 && self.driver.ack.lost == 0,
                    fast_retransmit,
                });
                self.driver.window.cwnd = self.send_window.max(1) as u32;
            }
            Reduction::RateHalving => {
                let cwnd = u64::from(self.driver.window.cwnd);
                self.send_window = reducing.rate_halving.send_window(in_flight, cwnd);
            }
            Reduction::SlowStart => {}
        }
    }

    /// The segments of the reduction, or of a timeout, are all acknowledged.
    pub(super) fn end_recovery(&mut self) {
        // What was sent again may yet arrive twice.
        if !self.undoes_recoveries() {
            self.forbid_undo();
        }
        let state = self.driver.state();
        if state == State::Recovery
            && let Some(rack) = &mut self.rack
        {
            rack.end_recovery(false);
        }
        let window = &mut self.driver.window;
        let regrown =
            self.choices.quirks.keeps_regrown_window && self.restart_at_one && state == State::Recovery;
        let cwnd = match self.choices.reduction {
            Reduction::RateHalving => {
                final_cwnd(window.cwnd, window.ssthresh, self.nxt - self.una, DUP_THRESH)
            }
            _ if regrown => window.cwnd,
            _ => window.ssthresh.max(1),
        };
        if state != State::Loss && !self.driver.controls_window() {
            self.driver.window.cwnd_cnt = 0;
        }
        self.driver.on_recovered(cwnd);
    }

    /// The last reduction, if any, was needed, or is undone.
    fn forbid_undo(&mut self) {
        if let Some(repairs) = &mut self.repairs {
            repairs.undo = None;
        }
    }
}
