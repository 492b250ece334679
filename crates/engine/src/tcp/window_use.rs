//! How much of its window a sender has used, so that it may grow.

use cwnd_algorithms::Window;

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

impl WindowUse {
    /// Something else than the window keeps the sender from sending more than all before `nxt`: whether the window counts as what
    /// limits it nevertheless. It does for a round trip after it was full; in slow start, as long as it is less than twice what
    /// is under way at most.
    pub fn is_limit(&mut self, una: u64, nxt: u64, window: &Window) -> bool {
        let under_way = nxt - una;
        if self.is_full {
            *self = WindowUse { is_full: false, was_full: true, most: under_way, until: nxt };
        } else if una >= self.until || !self.was_full && under_way > self.most {
            *self = WindowUse { is_full: false, was_full: false, most: under_way, until: nxt };
        }
        let starts = window.cwnd < window.ssthresh && u64::from(window.cwnd) < 2 * self.most;
        self.was_full || starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_was_full_is_the_limit_for_a_round_trip() {
        let window = Window { cwnd: 40, ssthresh: 20, ..Window::new(10) };
        let mut used = WindowUse { is_full: true, ..WindowUse::default() };
        // 60 were sent when something else first kept the sender back; 30 are under way then.
        let is_limit = [30, 45, 59, 60, 61].map(|una| used.is_limit(una, una + 30, &window));
        assert_eq!(is_limit, [true, true, true, false, false]);
    }

    #[test]
    fn in_slow_start_a_window_grows_to_twice_what_is_under_way() {
        let mut used = WindowUse::default();
        let is_limit = |cwnd, used: &mut WindowUse| {
            used.is_limit(100, 124, &Window { cwnd, ssthresh: 1000, ..Window::new(10) })
        };
        assert!(is_limit(24, &mut used) && is_limit(47, &mut used) && !is_limit(48, &mut used));
    }
}
