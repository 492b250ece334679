//! Loss recovery without SACK: Tahoe, Reno (RFC 5681), NewReno (RFC 6582) and Vegas' (Brakmo, Peterson 1995).

use crate::tcp::packet::Ack;
use crate::tcp::scoreboard::DUP_THRESH;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, Event, State};
use cwnd_scenario::Recovery;
use std::collections::VecDeque;

/// What such a sender keeps besides. The duplicate ACKs that inflate the window (RFC 5681, 3.2) and those that
/// let a new segment out before the third (RFC 3042) are `Scoreboard::sacked_out`.
#[derive(Default)]
pub struct Plain {
    dup_acks: u64,
    /// Segments beyond `una` that duplicate ACKs have told to have arrived.
    told: u64,
    /// The first segment is to be retransmitted whatever is in flight.
    pub repair: bool,
    /// A partial ACK restarted the timer of this recovery: further ones do not (RFC 6582, 4).
    restarted_timer: bool,
    /// CWR lasts until more than this is acknowledged: then the receiver knows, and echoes no more.
    reduced_until: u64,
    fine: Option<Box<Fine>>,
}

/// What Vegas' recovery knows besides.
#[derive(Default)]
struct Fine {
    /// When each segment from `first` on was sent last.
    sent_ns: VecDeque<u64>,
    first: u64,
    /// When the window was cut last: what was sent before cuts it no more.
    cut_ns: u64,
    /// New ACKs after a retransmission that still look at the first missing segment.
    looks: u8,
}

impl Plain {
    pub fn note_sent(&mut self, now: u64, seq: u64, una: u64) {
        let fine = self.fine();
        while fine.first < una {
            fine.sent_ns.pop_front();
            fine.first += 1;
        }
        let at = (seq - fine.first) as usize;
        if at >= fine.sent_ns.len() {
            fine.sent_ns.resize(at + 1, now);
        }
        fine.sent_ns[at] = now;
    }

    fn fine(&mut self) -> &mut Fine {
        self.fine.get_or_insert_default()
    }

    fn sent_ns(&self, seq: u64) -> u64 {
        let Some(fine) = &self.fine else { return u64::MAX };
        let at = seq.checked_sub(fine.first).map(|at| at as usize);
        at.and_then(|at| fine.sent_ns.get(at).copied()).unwrap_or(u64::MAX)
    }
}

impl<C: CongestionControl> Sender<'_, C> {
    pub(crate) fn on_plain_ack(&mut self, now: u64, ack: Ack) {
        if ack.next < self.una {
            return;
        }
        let prior_in_flight = self.in_flight();
        let acked = ack.next - self.una;
        self.note_rate(Ack { sacked: None, ..ack });
        // A duplicate ACK tells that one segment has arrived, an ACK of more that the others have.
        let (una, first_unsent) = (self.una, self.first_unsent);
        let told = &mut self.plain().told;
        let delivered = if acked > 0 {
            let delivered = acked.saturating_sub(*told).max(1);
            *told = told.saturating_sub(acked - 1);
            delivered
        } else {
            let delivered = u64::from(una + *told + 1 < first_unsent);
            *told += delivered;
            delivered
        };
        self.ack.delivered += delivered;
        self.ack.lost = 0;
        self.note_ece(ack.ece);
        if acked == 0 {
            self.describe(now, delivered, prior_in_flight);
            if ack.ece {
                self.answer_mark();
            }
            // Only what is in flight can be missing.
            if self.first_unsent > self.una {
                self.on_dup_ack(now);
            }
        } else {
            self.on_new_ack(now, ack, [acked, delivered], prior_in_flight);
        }
        if self.controls {
            self.control(now);
        }
    }

    /// The left edge moves by `acked` segments, of which `delivered` are news.
    #[inline]
    fn on_new_ack(&mut self, now: u64, ack: Ack, [acked, delivered]: [u64; 2], prior_in_flight: u64) {
        self.una = ack.next;
        self.nxt = self.nxt.max(ack.next);
        self.plain().dup_acks = 0;
        self.plain().repair = false;
        let partial = self.state == State::Recovery
            && self.recovery == Recovery::NewReno
            && self.una < self.recovery_end;
        // Deflates by what was acknowledged, less the segment that it lets out (RFC 6582, 3.2, step 3).
        let inflation = if partial { (self.board.sacked_out + 1).saturating_sub(acked) } else { 0 };
        self.board.sacked_out = inflation.min(self.nxt - self.una);
        self.describe(now, delivered, prior_in_flight);
        if !ack.retransmission || self.flow.stack.timestamps {
            self.sample_rtt(now, now - ack.echo_ns);
        }
        if self.first_unsent == self.una {
            self.rto_at = NEVER;
        } else if !(partial && self.plain().restarted_timer) {
            self.set_timer(now);
        }
        if partial {
            self.plain().restarted_timer = true;
            self.plain().repair = true;
            return;
        }
        let reduced_until = self.plain().reduced_until;
        match self.state {
            State::Recovery => self.complete_reduction(),
            State::Cwr if self.una > reduced_until => self.complete_reduction(),
            State::Cwr => return,
            State::Loss if self.una >= self.recovery_end => self.enter(State::Open),
            State::Loss => {}
            _ => self.enter(State::Open),
        }
        if ack.ece && self.state == State::Open {
            self.answer_mark();
        } else if !self.controls {
            self.cc.cong_avoid(&mut self.window, &self.ack);
        }
        self.allowance = u64::from(self.window.cwnd);
        if self.recovery == Recovery::Vegas && self.plain().fine().looks > 0 {
            self.plain().fine().looks -= 1;
            if self.state == State::Open && self.first_unsent > self.una && self.is_late(now) {
                self.retransmit_early(now);
                self.plain().dup_acks = 0;
                self.board.sacked_out = 0;
            }
        }
    }

    /// The first missing segment was sent longer ago than the finer timeout.
    fn is_late(&mut self, now: u64) -> bool {
        let una = self.una;
        now.saturating_sub(self.plain().sent_ns(una)) > self.rto.fine_ns()
    }

    /// Vegas' retransmission of the first missing segment.
    fn retransmit_early(&mut self, now: u64) {
        self.recovery_end = self.first_unsent;
        self.ack.lost = 1;
        let una = self.una;
        let plain = self.plain();
        if plain.sent_ns(una) >= plain.fine().cut_ns {
            self.lower_ssthresh(State::Recovery);
            if !self.controls {
                self.window.cwnd = self.window.ssthresh.max(1);
            }
            self.plain().fine().cut_ns = now;
        } else {
            self.enter(State::Recovery);
        }
        self.board.sacked_out = DUP_THRESH.min(self.nxt - self.una);
        self.plain().repair = true;
        self.plain().dup_acks = DUP_THRESH;
        self.plain().fine().looks = 2;
        self.allowance = u64::from(self.window.cwnd);
    }

    /// An ACK echoes congestion experienced: the window is reduced, once for a window of data (RFC 3168, 6.1.2).
    #[cold]
    fn answer_mark(&mut self) {
        if !matches!(self.state, State::Open | State::Disorder) {
            return;
        }
        let reduced_until = self.first_unsent;
        self.plain().reduced_until = reduced_until;
        self.lower_ssthresh(State::Cwr);
        if !self.controls {
            self.window.cwnd = self.window.ssthresh.max(1);
        }
        self.allowance = u64::from(self.window.cwnd);
    }

    fn lower_ssthresh(&mut self, state: State) {
        self.window.prior_cwnd = self.window.cwnd;
        self.window.ssthresh = self.cc.ssthresh(&mut self.window, &self.ack);
        self.window.cwnd_cnt = 0;
        self.tell_reduction = true;
        if self.recovery == Recovery::Tahoe && state == State::Recovery && !self.controls {
            self.window.cwnd = 1; // before the algorithm hears of the recovery: it keeps no fraction of one
        }
        self.enter(state);
    }

    fn on_dup_ack(&mut self, now: u64) {
        self.plain().dup_acks += 1;
        if self.recovery == Recovery::Vegas && self.state != State::Loss {
            let third = self.plain().dup_acks == DUP_THRESH && self.state != State::Recovery;
            if third || self.is_late(now) {
                self.retransmit_early(now);
                return;
            }
        }
        if self.state == State::Recovery {
            self.inflate();
            return;
        }
        // Duplicates of segments sent again say nothing of a loss (RFC 6582, 3.2, step 1).
        let after_recovery = self.recovery_end == 0 || self.una > self.recovery_end;
        let dup_acks = self.plain().dup_acks;
        match dup_acks {
            DUP_THRESH if after_recovery => self.fast_retransmit(),
            // RFC 3042 lets out what was never sent.
            n if n < DUP_THRESH && self.state != State::Loss && self.nxt == self.first_unsent => {
                if self.state != State::Cwr {
                    self.enter(State::Disorder);
                }
                self.inflate();
            }
            _ => {}
        }
    }

    fn inflate(&mut self) {
        self.board.sacked_out = (self.board.sacked_out + 1).min(self.nxt - self.una);
    }

    fn fast_retransmit(&mut self) {
        self.recovery_end = self.first_unsent;
        self.ack.lost = 1;
        if self.state == State::Cwr {
            // The window is being reduced already.
            self.enter(State::Recovery);
        } else {
            self.lower_ssthresh(State::Recovery);
        }
        if !self.controls && self.recovery != Recovery::Tahoe {
            self.window.cwnd = self.window.ssthresh.max(1);
        }
        if self.recovery == Recovery::Tahoe {
            self.go_back();
            self.complete_reduction();
        } else {
            self.board.sacked_out = DUP_THRESH.min(self.nxt - self.una);
            self.plain().repair = true;
            self.plain().restarted_timer = false;
        }
        self.allowance = u64::from(self.window.cwnd);
    }

    fn complete_reduction(&mut self) {
        self.cc.cwnd_event(&mut self.window, &self.ack, Event::CompleteCwr);
        self.enter(State::Open);
    }

    /// All that is in flight is sent again, in order.
    pub(crate) fn go_back(&mut self) {
        self.nxt = self.una;
        self.board.sacked_out = 0;
        self.plain().dup_acks = 0;
        self.plain().repair = false;
    }
}
