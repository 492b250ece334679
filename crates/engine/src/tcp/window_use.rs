//! Whether the window is what limits a sender, so that it may grow.

use crate::tcp::sender::Sender;
use cwnd_algorithms::{APP_LIMITED, CWND_LIMITED, CongestionControl};
use cwnd_scenario::Detection;

/// How much of its window a sender of Linux has used of late.
#[derive(Clone, Copy, Default)]
pub struct WindowUse {
    /// All of it, when it last sent.
    pub is_full: bool,
    /// All of it at some time since `until` was sent.
    was_full: bool,
    /// The most that was under way since then.
    most: u64,
    until: u64,
}

impl<C: CongestionControl> Sender<'_, C> {
    /// The window is full.
    #[inline(always)]
    pub(super) fn note_full_window(&mut self) {
        self.window_use.is_full = true;
        let flags = &mut self.driver.ack.flags;
        if *flags & (APP_LIMITED | CWND_LIMITED) != CWND_LIMITED {
            *flags = *flags & !APP_LIMITED | CWND_LIMITED;
        }
    }

    /// Something else than the window keeps the sender from sending more. For a round trip after the window was full, a sender
    /// of Linux counts as limited by it; in slow start, as long as the window is less than twice what is under way at most
    /// (RFC 7661 has the reason).
    pub(super) fn note_unused_window(&mut self) {
        let flags = &mut self.driver.ack.flags;
        if self.choices.detection != Detection::Rack {
            *flags &= !CWND_LIMITED;
            return;
        }
        let (used, under_way) = (&mut self.window_use, self.nxt - self.una);
        if used.is_full {
            *used = WindowUse { is_full: false, was_full: true, most: under_way, until: self.nxt };
        } else if self.una >= used.until || !used.was_full && under_way > used.most {
            *used = WindowUse { is_full: false, was_full: false, most: under_way, until: self.nxt };
        }
        let window = &self.driver.window;
        let starts = window.cwnd < window.ssthresh && u64::from(window.cwnd) < 2 * used.most;
        *flags = *flags & !CWND_LIMITED | if used.was_full || starts { CWND_LIMITED } else { 0 };
    }
}
