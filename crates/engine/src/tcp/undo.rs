//! Reductions of the window that prove needless: by the timestamps of ACKs (Eifel, RFC 3522, 4015), and by reports of segments
//! that arrive twice (DSACK, RFC 2883, 3708).

use crate::tcp::packet::AckPacket;
use crate::tcp::repairs::Undo;
use crate::tcp::rtt::TIMESTAMP_NS;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, State};
use cwnd_scenario::Detection;

impl<C: CongestionControl> Sender<'_, C> {
    /// Fast recoveries are undone, and not timeouts alone.
    pub(super) fn undoes_recoveries(&self) -> bool {
        self.choices.detection == Detection::Rack && self.flow.stack.undo_spurious_rto
    }

    /// A reduction that begins now. What was sent again before, and is under way, counts.
    pub(super) fn new_undo(&self) -> Undo {
        let (ssthresh, una, sent_again) = (self.ssthresh(), self.una, self.scoreboard.retrans_out);
        let before = self.repairs.as_ref().and_then(|repairs| repairs.undo.as_ref());
        let since_ns = before.map_or(0, |before| before.sent_again_ns);
        let sent_again_ns = if sent_again > 0 { since_ns } else { NEVER };
        Undo { ssthresh, una, sent_again_ns, sent_again, arrived_twice: 0 }
    }

    /// A segment is sent again.
    #[cold]
    pub(super) fn note_sent_again(&mut self, now: u64) {
        let repairing = matches!(self.driver.state(), State::Recovery | State::Loss);
        if let Some(undo) = self.repairs.as_mut().and_then(|repairs| repairs.undo.as_mut())
            && repairing
        {
            undo.sent_again_ns = undo.sent_again_ns.min(now);
            undo.sent_again += 1;
        }
    }

    /// An ACK reports that a segment has arrived twice. Returns true if that shows that the last reduction was needless.
    #[cold]
    pub(super) fn note_needless(&mut self, ack: &AckPacket) -> bool {
        let by_probe = ack.cause == self.probed;
        if let Some(rack) = &mut self.rack
            && !by_probe
        {
            rack.note_needless(self.una..self.nxt);
        }
        let state = self.driver.state();
        let Some(undo) = self.repairs.as_mut().and_then(|repairs| repairs.undo.as_mut()) else {
            return false;
        };
        if ack.cause < undo.una {
            return false;
        }
        undo.arrived_twice += 1;
        // After a timeout, once the left edge moves.
        if !undo.is_due() || state == State::Loss {
            return false;
        }
        if let Some(rack) = &mut self.rack {
            rack.end_recovery(true);
        }
        true
    }

    /// An ACK moves the left edge during a fast recovery. Returns true if it shows that this was needless: it echoes the time of a
    /// segment that was sent before the first retransmission. While a retransmission is under way, the sender only holds
    /// others back; the end of the recovery does not wait for that.
    pub(super) fn shows_needless(&mut self, now: u64, ack: &AckPacket) -> bool {
        let retransmitting = self.scoreboard.retrans_out > 0 && self.una < self.recovery_end;
        let Some(repairs) = &mut self.repairs else { return false };
        let Some(undo) = repairs.undo.as_ref().filter(|_| self.driver.state() == State::Recovery) else {
            return false;
        };
        let is_ended = self.una >= self.recovery_end;
        if !self.timestamps || ack.echo_ns / TIMESTAMP_NS >= undo.sent_again_ns / TIMESTAMP_NS {
            return is_ended && undo.is_due();
        }
        if let Some(rack) = &mut self.rack {
            rack.note_reordering();
        }
        if retransmitting {
            repairs.held_back_ns = Some(now);
            return false;
        }
        if !is_ended {
            self.scoreboard.mark_none_lost(self.una, self.nxt);
        }
        true
    }

    /// An ACK at `now` shows that nothing more is to be sent again for the moment.
    pub(super) fn holds_back(&self, now: u64) -> bool {
        self.repairs.as_ref().is_some_and(|repairs| repairs.held_back_ns == Some(now))
    }

    /// After a timeout, an ACK of an original segment, or one after which all that was sent again has arrived twice.
    pub(super) fn was_spurious(&self, ack: &AckPacket) -> bool {
        let undo = self.repairs.as_ref().and_then(|repairs| repairs.undo.as_ref());
        undo.is_some_and(|undo| {
            !ack.retransmission && ack.sent_ns < undo.sent_again_ns
                || self.undoes_recoveries() && undo.is_due()
        })
    }

    /// The last reduction was needless.
    pub(super) fn undo(&mut self) {
        let Some(undo) = self.repairs.as_mut().and_then(|repairs| repairs.undo.take()) else { return };
        self.report_reduction = false;
        self.driver.undo(undo.ssthresh);
        if self.scoreboard.sacked_out > 0 {
            self.driver.on_disorder(true);
        }
    }
}
