//! Data that the application has written for the sender, what of it the receive window admits, and the end of the data.

use crate::tcp::send_buffer::SendBuffer;
use crate::tcp::sender::Sender;
use cwnd_algorithms::{APP_LIMITED, CongestionControl};

impl<C: CongestionControl> Sender<'_, C> {
    /// Returns true if the application, which has no source, has written all segments before `end`.
    #[inline(always)]
    pub(super) fn has_written(&mut self, end: u64, now: u64) -> bool {
        self.application.as_mut().is_none_or(|application| application.has_written(end, now))
    }

    /// Returns true if the application has yet to write the next new segment.
    pub(super) fn wait_for_application(&mut self, now: u64) -> bool {
        let ready_at = match (&mut self.source, &mut self.application) {
            (Some(source), _) => source.ready_at(self.nxt, now),
            (None, Some(application)) => application.ready_at(self.nxt, now),
            (None, None) => now,
        };
        if ready_at <= now {
            return false;
        }
        self.wake_at = ready_at;
        self.driver.ack.flags |= APP_LIMITED;
        self.note_unused_window();
        let in_flight = self.in_flight();
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(self.driver.ack.delivered, in_flight);
        }
        true
    }

    /// A segment is missing: from now on the send buffer may be a limit, if the stack has one.
    pub(super) fn note_send_buffer(&mut self) {
        let (flow, flight_pkts) = (self.flow, self.nxt - self.una);
        if flow.stack.is_linux() {
            let buffer = &mut self.repairs().send_buffer;
            buffer.get_or_insert_with(|| SendBuffer::new(flow)).grow_to_hold(flight_pkts);
        }
    }

    /// How many of so many segments the receive window admits.
    #[inline(always)]
    pub(super) fn admitted(&mut self, pkts: u64) -> u64 {
        if pkts > self.receive_window_pkts { self.admitted_by_all(pkts) } else { pkts }
    }

    #[cold]
    fn admitted_by_all(&mut self, pkts: u64) -> u64 {
        self.receive_window_pkts = self.receive_window.after(self.una);
        pkts.min(self.receive_window_pkts)
    }

    /// Returns true if neither the receive window nor, while a segment is missing, the send buffer keeps the next new one back.
    #[inline(always)]
    pub(super) fn has_room_for_new(&mut self) -> bool {
        let held_pkts = self.nxt - self.una;
        self.admitted(held_pkts + 1) > held_pkts
            && (self.misses_nothing() || self.has_written_more(held_pkts))
    }

    fn has_written_more(&mut self, held_pkts: u64) -> bool {
        let cwnd = self.cwnd();
        let buffer = self.repairs.as_mut().and_then(|repairs| repairs.send_buffer.as_mut());
        buffer.is_none_or(|buffer| buffer.has_segment(held_pkts, cwnd))
    }

    /// Begins the next transfer when one is acknowledged, or closes after the last.
    pub fn end_transfer(&mut self, now: u64) {
        if let Some(source) = &mut self.source
            && source.is_complete(self.una)
            && !source.finish(now, self.retransmissions)
        {
            self.close();
        }
    }

    /// Returns true if the next request waits for the responses to other flows.
    pub fn waits_for_others(&self) -> bool {
        !self.closed && self.source.as_ref().is_some_and(|source| source.waits_for_others())
    }

    /// The responses to all of them have ended at `now`.
    pub fn pass_barrier(&mut self, now: u64) {
        if let Some(source) = &mut self.source {
            self.wake_at = source.pass_barrier(now);
        }
    }
}
