//! The beginning of a connection: a SYN alone, or a SYN with data.

use crate::tcp::packet::{AckPacket, LAST_OF_HANDSHAKE, Tag};
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Handshake;

/// After more timeouts of a SYN than this, Linux begins with a window of one segment, unless the first SYN was answered.
const TIMEOUTS_WITH_INITIAL_WINDOW: u64 = 1;
/// So many timeouts of a SYN pass before Linux, from 6.5 on, waits longer for each (tcp_syn_linear_timeouts).
const LINEAR_TIMEOUTS: u64 = 4;

impl<C: CongestionControl> Sender<'_, C> {
    /// The SYN is acknowledged: the algorithm begins, and knows an RTT.
    #[cold]
    pub(super) fn on_handshake(&mut self, now: u64, ack: &AckPacket) {
        self.note_delivery_rate(ack);
        self.scoreboard.mark_none_lost(self.una, self.nxt);
        (self.handshake, self.una, self.rto_at) = (false, ack.next, NEVER);
        self.driver.ack.delivered += ack.next;
        self.note_ack(now, ack.next, 1);
        self.nxt = self.nxt.max(ack.next);
        if self.timestamps || !ack.retransmission {
            self.note_rtt(now, now - ack.echo_ns);
        }
        let answers_first = self.timestamps && ack.echo_ns == self.start_ns;
        if self.flow.stack.is_linux() && self.timeouts > TIMEOUTS_WITH_INITIAL_WINDOW && !answers_first {
            self.driver.window.cwnd = 1;
        }
        self.driver.start();
        self.send_window = u64::from(self.cwnd());
        self.answers_syn_ack = self.flow.stack.answers_syn_ack();
    }

    /// The ACK of the SYN-ACK is sent, before any data.
    #[cold]
    pub(super) fn answer_syn_ack(&mut self) -> Tag {
        self.answers_syn_ack = false;
        self.sent += 1;
        self.note_slow_path(false);
        LAST_OF_HANDSHAKE
    }

    /// Data went with the SYN: the algorithm begins when the first ACK arrives, or should.
    #[cold]
    pub(super) fn begin_overlapped(&mut self, now: u64) {
        self.driver.ack.now_us = now / 1000;
        self.driver.ack.in_flight = self.in_flight() as u32;
        self.driver.start();
    }

    /// To a sender that rounds RTTs down, time zero is no time: the algorithm gets no RTT of a segment that was sent then.
    pub(super) fn is_timeless(&self, ack: &AckPacket) -> bool {
        self.rounds_rtt_down && ack.echo_ns == 0 && self.flow.stack.handshake == Handshake::Overlapped
    }

    /// The SYN is sent again, and one segment when it is acknowledged (RFC 5681, 3.1). Linux decides
    /// on the window when the SYN is acknowledged.
    #[cold]
    pub(super) fn on_handshake_timeout(&mut self, now: u64) {
        if !self.flow.stack.is_linux() {
            self.driver.window.cwnd = 1;
        }
        if self.choices.detection.uses_sack() {
            self.scoreboard.mark_all_lost(self.una, self.nxt);
        } else {
            self.go_back();
        }
        if !self.flow.stack.is_linux() || self.timeouts > LINEAR_TIMEOUTS {
            self.rto.back_off();
        }
        self.rto_at = now + self.rto.timeout_ns();
    }
}
