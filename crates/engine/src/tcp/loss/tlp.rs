//! Probes of the tail (RFC 8985, 7): when the last ACKs are late, one more segment makes the receiver report what it has.

use crate::tcp::packet::{AckPacket, RETRANSMISSION, Tag};
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, State};

impl<C: CongestionControl> Sender<'_, C> {
    /// The retransmission timer starts, or that of a probe, which is no later and comes first.
    #[inline]
    pub(in crate::tcp) fn set_timer(&mut self, now: u64) {
        let may_probe = self.scoreboard.is_clear()
            && self.probed == NEVER
            && matches!(self.driver.state(), State::Open | State::Cwr);
        self.start_timer(now, may_probe);
    }

    /// [`Sender::set_timer`]. `may_probe`: nothing is missing, and no probe is on its way.
    #[inline]
    pub(in crate::tcp) fn start_timer(&mut self, now: u64, may_probe: bool) {
        self.rto_at = now + self.rto.timeout_ns();
        self.probing = false;
        if self.choices.tail_probe
            && may_probe
            && let Some(probe_ns) = self.rto.probe_ns(self.nxt - self.una <= 1)
        {
            self.probing = true;
            self.rto_at = self.rto_at.min(now + probe_ns);
        }
    }

    /// A second segment is in flight, at once or later: the receiver does not delay its ACK (RFC 8985, 7.2).
    #[cold]
    pub(in crate::tcp) fn hasten_probe(&mut self, now: u64) {
        if self.probing
            && let Some(probe_ns) = self.rto.probe_ns(false)
        {
            self.rto_at = self.rto_at.min(now + probe_ns);
        }
    }

    /// When the probe is sent whose timer fires: at a tick.
    #[cold]
    pub(in crate::tcp) fn probes_at(&self) -> u64 {
        let probe_ns = self.rto.probe_ns(self.nxt - self.una <= 1).unwrap_or(0);
        let wait_ns = probe_ns.min(self.rto.timeout_ns());
        if self.ticks.is_one(self.rto_at) {
            self.rto_at
        } else {
            self.ticks.after(self.rto_at.saturating_sub(wait_ns), wait_ns)
        }
    }

    /// No ACK came for two RTTs.
    pub(in crate::tcp) fn send_probe(&mut self, now: u64) -> Tag {
        let new = !self.closed && self.has_room_for_new() && !self.wait_for_application(now);
        let (seq, flags) = if new { (self.nxt, 0) } else { (self.nxt - 1, RETRANSMISSION) };
        self.nxt = seq + 1;
        (self.probed, self.probe_repaired) = (seq, false);
        self.send::<true>(now, seq, flags, true)
    }

    /// The left edge moved since a probe was sent. If the probe repaired a loss, the window is reduced for it, by the first ACK
    /// for more than the probe (RFC 8985, 7.4.2): until then a duplicate could show that nothing was lost.
    pub(in crate::tcp) fn end_probe(&mut self, ack: &AckPacket) {
        if ack.next <= self.probed {
            return;
        }
        self.probe_repaired |= ack.retransmission;
        if self.probe_repaired && ack.next == self.probed + 1 {
            return;
        }
        self.probed = NEVER;
        if self.probe_repaired {
            self.answer_congestion(0, false);
        }
    }
}
