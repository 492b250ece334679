//! The retransmission timer (RFC 6298).

use crate::tcp::repairs::Undo;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, State};

impl<C: CongestionControl> Sender<'_, C> {
    /// The retransmission timer fires (RFC 6298, 5.4 to 5.6).
    pub(in crate::tcp) fn on_timeout(&mut self, now: u64) {
        self.timeouts += 1;
        self.driver.ack.now_us = now / 1000;
        self.driver.ack.rtt_us = 0;
        if self.handshake {
            self.on_handshake_timeout(now);
            return;
        }
        if self.overlapped {
            self.begin_overlapped(now);
            self.overlapped = false;
        }
        let reduced = matches!(self.driver.state(), State::Recovery | State::Loss);
        let reduces =
            !reduced || self.una >= self.recovery_end || self.choices.quirks.reduces_at_each_timeout;
        if reduces {
            let may_undo = self.flow.stack.undo_spurious_rto;
            self.repairs().undo = may_undo.then(|| Undo { sent_again_ns: now, ..self.new_undo() });
            self.note_send_buffer();
        }
        let lost = self.in_flight();
        if let Some(rate) = &mut self.rate {
            let una = self.una;
            self.scoreboard.for_each_in_flight(una, self.nxt, |seq| rate.on_lost(seq - una));
            self.report_losses();
        }
        self.driver.ack.lost_total += lost;
        self.driver.on_timeout(reduces, lost as u32);
        self.report_reduction = true;
        self.send_window = 1;
        if self.choices.detection.uses_sack() {
            self.recovery_end = self.nxt;
            self.scoreboard.mark_all_lost(self.una, self.nxt);
        } else {
            self.note_all_sent();
            self.recovery_end = self.first_unsent;
            self.go_back();
            self.note_slow_path(false);
        }
        (self.probed, self.reorder_at) = (NEVER, NEVER);
        self.rto.back_off();
        self.rto_at = now + self.rto.timeout_ns();
        self.probing = false;
        self.paced_until_ns = 0;
    }
}
