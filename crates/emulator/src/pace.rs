//! How a thread that carries packets waits, and how late it was.

use crate::sys;
use std::fs::File;

/// The last of a wait is spent looking at the clock: timers are late by about as much.
const SPIN_NS: u64 = 60_000;
/// One part in so many is spent blocked instead: others get the processor, too.
const BLOCKED_LEAST: u64 = 10;
const WINDOW_NS: u64 = 200_000_000;
const WAIT_MAX_NS: u64 = 10_000_000;
/// Microseconds late, up to four milliseconds and beyond.
const LATE_BINS: usize = 4096;

pub struct Pace {
    blocked_ns: u64,
    /// Where the last window began, and how long it had been blocked by then.
    window: (u64, u64),
    late: Vec<u64>,
}

impl Pace {
    pub fn new(now_ns: u64) -> Pace {
        Pace { blocked_ns: 0, window: (now_ns, 0), late: vec![0; LATE_BINS] }
    }

    /// Until something can be read, or shortly before `next_ns`; returns at once where that is near.
    pub fn wait(&mut self, devices: &[&File], next_ns: u64, now_ns: impl Fn() -> u64) {
        let from_ns = now_ns();
        if from_ns > self.window.0 + WINDOW_NS {
            self.window = (from_ns, self.blocked_ns);
        }
        let (began_ns, blocked_before_ns) = self.window;
        let may_spin = (self.blocked_ns - blocked_before_ns) * BLOCKED_LEAST >= from_ns - began_ns;
        let spin_ns = if may_spin { SPIN_NS } else { 0 };
        let until_ns = next_ns.min(from_ns + WAIT_MAX_NS).saturating_sub(spin_ns);
        if until_ns > from_ns {
            sys::wait_readable(devices, until_ns - from_ns);
            self.blocked_ns += now_ns() - from_ns;
        }
    }

    /// A packet was passed on at `now_ns`, and should have been at `due_ns`.
    pub fn note(&mut self, due_ns: u64, now_ns: u64) {
        self.late[(((now_ns - due_ns) / 1000) as usize).min(LATE_BINS - 1)] += 1;
    }

    /// How late at most 99 % of the packets were passed on.
    pub fn late_p99_ns(&self) -> u64 {
        let mut left = self.late.iter().sum::<u64>() / 100;
        let p99 = (0..LATE_BINS).rev().find(|&bin| {
            let before = left;
            left = left.saturating_sub(self.late[bin]);
            self.late[bin] > before
        });
        p99.map_or(0, |bin| bin as u64 * 1000)
    }
}
