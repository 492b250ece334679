//! The limit of a window that is not used (draft-ietf-ccwg-ratelimited-increase-10).
//!
//! The window may grow up to what the ACKs of one window of the largest flight would make of a window of that size. In slow start
//! that is twice this flight. In congestion avoidance it depends on the algorithm: so the window begins at the largest flight,
//! and grows by the algorithm's own rule for the ACKs of as many segments. For Reno that is a segment more.
//!
//! A window that is above the limit, as when slow start ended for the delay, stays: the draft's equation would lower it, although
//! its text speaks of increases alone.

use crate::Window;

/// The largest flight since the last reduction of the window, and what has grown above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimited {
    /// In segments.
    largest_flight: u32,
    /// Segments acknowledged in congestion avoidance since the window was at most the largest flight.
    acked_above: u32,
    /// The largest flight before the last reduction, which may turn out to be needless.
    before_reduction: u32,
}

impl RateLimited {
    /// All that a window may grow by has been used.
    const SPENT: u32 = u32::MAX;

    pub(crate) fn new(initial_window: u32) -> RateLimited {
        RateLimited { largest_flight: initial_window, acked_above: 0, before_reduction: initial_window }
    }

    /// `in_flight` segments were so since the last ACK, at most.
    pub(crate) fn see_flight(&mut self, in_flight: u32) {
        self.largest_flight = self.largest_flight.max(in_flight);
    }

    /// The window was reduced: the next flight is the largest.
    pub(crate) fn forget(&mut self) {
        if self.largest_flight > 0 {
            self.before_reduction = self.largest_flight;
        }
        (self.largest_flight, self.acked_above) = (0, Self::SPENT);
    }

    /// The last reduction was needless.
    pub(crate) fn restore(&mut self) {
        self.largest_flight = self.largest_flight.max(self.before_reduction);
    }

    /// Caps `window`, which was `before` an ACK of `acked` segments, at the limit.
    pub(crate) fn cap(&mut self, before: &Window, window: &mut Window, acked: u32) {
        if before.cwnd <= self.largest_flight {
            self.acked_above = 0;
        }
        let limit = if before.cwnd < before.ssthresh {
            self.largest_flight.saturating_mul(2)
        } else if self.acked_above < self.largest_flight {
            u32::MAX
        } else {
            0
        };
        window.cwnd = window.cwnd.min(limit.max(before.cwnd));
        if window.cwnd > self.largest_flight {
            // Above what congestion avoidance would have reached.
            let starts = before.cwnd < before.ssthresh;
            self.acked_above = if starts { Self::SPENT } else { self.acked_above.saturating_add(acked) };
        }
    }
}
