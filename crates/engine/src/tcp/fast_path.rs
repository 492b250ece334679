//! The path that most ACKs take: no segment is missing, and new ones follow.

use crate::tcp::packet::AckPacket;
use crate::tcp::sender::{Sender, SlowPath};
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, State};
use cwnd_scenario::Detection;
use std::ops::Range;

impl<C: CongestionControl> Sender<'_, C> {
    /// No segment is missing, as far as is known, and nothing asks for the slow path: most ACKs arrive then.
    #[inline(always)]
    pub fn is_on_fast_path(&self) -> bool {
        !self.slow_path.segments && self.misses_nothing()
    }

    /// Returns true on the fast path if only ACKs and the retransmission timer let the sender send.
    #[inline(always)]
    pub fn waits_for_acks_alone(&self) -> bool {
        self.is_on_fast_path() && self.wake_at == NEVER
    }

    /// No segment is missing, as far as is known.
    #[inline(always)]
    pub fn misses_nothing(&self) -> bool {
        self.driver.state() == State::Open && self.scoreboard.is_clear() && self.probed == NEVER
    }

    /// No segment is missing, and nothing about ACKs asks for the slow path.
    #[inline(always)]
    pub fn takes_fast_acks(&self) -> bool {
        !self.slow_path.acks && self.misses_nothing()
    }

    /// [`Sender::takes_fast_acks`], and `ack` moves the left edge and reports nothing else.
    #[inline]
    pub fn takes_fast_path(&self, ack: &AckPacket) -> bool {
        let reports_no_more = ack.sacked.is_none() && !ack.retransmission && !ack.duplicate;
        self.takes_fast_acks() && reports_no_more && ack.next > self.una
    }

    /// When the first segment was sent that an ACK of all before `next` newly acknowledges on the fast path. ACKs before it may
    /// have been lost: then `echo_ns`, the time that it echoes, is that of a later one.
    #[inline]
    pub fn first_sent_ns(&self, next: u64, echo_ns: u64) -> u64 {
        let covers_more = next > self.una + 1 && self.choices.times_causing_segment;
        if covers_more { self.sent_times.of(self.una) } else { echo_ns }
    }

    /// An ACK arrives at `now` that takes the fast path, and moves the left edge to `next`; the segment that caused it was
    /// sent once. The times are those of [`AckPacket`].
    #[inline(always)]
    pub fn on_fast_path_ack(&mut self, now: u64, next: u64, sent_ns: u64, echo_ns: u64) {
        self.wake_at = NEVER;
        let closed = self.closed;
        self.take_ack(now, next, sent_ns, echo_ns, closed);
    }

    /// Handles an ACK as [`Sender::on_fast_path_ack`] does, where `wake_at` is NEVER. `closed`: true if the sender is closed. A
    /// caller that knows it passes a constant.
    #[inline(always)]
    pub fn take_ack(&mut self, now: u64, next: u64, sent_ns: u64, echo_ns: u64, closed: bool) {
        let acked = next - self.una;
        let ack = &mut self.driver.ack;
        ack.now_us = now / 1000;
        ack.prior_in_flight = (self.nxt - self.una) as u32;
        ack.in_flight = (self.nxt - next) as u32;
        ack.delivered += acked;
        ack.acked = acked as u32;
        ack.lost = 0;
        self.una = next;
        let rtt_ns = now - echo_ns;
        self.rto.sample(now, rtt_ns);
        if self.nxt > next && !closed {
            self.start_timer(now, true);
        } else {
            self.rto_at = NEVER;
        }
        self.count_rtt(rtt_ns);
        self.see_rtt(rtt_ns);
        if self.choices.times_causing_segment {
            self.note_segment_rtt(now - sent_ns);
        }
        self.driver.on_rtt_sample();
        self.driver.grow_freely();
        self.send_window = u64::from(self.cwnd());
        self.cwnd_may_have_changed(now);
    }

    /// After [`Sender::on_fast_path_ack`], all segments that may be sent: new ones, `most` of them. None: ask for one after
    /// the other.
    #[inline(always)]
    pub fn next_fast_path_segments(&mut self, now: u64, most: u64) -> Option<Range<u64>> {
        let SlowPath { segments, by_application, .. } = self.slow_path;
        if segments && !by_application {
            return None;
        }
        self.next_segments(now, most, by_application)
    }

    /// Returns new segments as [`Sender::next_fast_path_segments`] does, for a sender that sends no segment on the slow path, or
    /// only `by_application`.
    #[inline(always)]
    pub fn next_segments(&mut self, now: u64, most: u64, by_application: bool) -> Option<Range<u64>> {
        if self.driver.window.pacing_rate > 0 || self.nxt == self.una {
            return None;
        }
        let first = self.nxt;
        let admitted = self.admitted(self.send_window);
        let end = self.una + admitted;
        if end > first {
            if end - first > most {
                return None;
            }
            if by_application {
                if self.nxt != self.first_unsent || self.report_reduction {
                    return None;
                }
                if !self.has_written(end, now) {
                    return self.wait_for_application(now).then_some(first..first);
                }
                self.first_unsent = end;
            }
            if self.choices.detection == Detection::Rack {
                self.sent_times.note(now, first, self.una);
                if first == self.una + 1 {
                    self.hasten_probe(now);
                }
            }
            self.nxt = end;
            self.sent += end - first;
            self.last_sent_ns = now;
        }
        // Only the receive window can keep the sender from filling its own.
        if admitted < self.send_window && self.nxt - self.una < self.send_window {
            self.note_unused_window();
        } else {
            self.note_full_window();
        }
        Some(first..self.nxt)
    }
}
