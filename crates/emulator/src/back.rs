//! The way back where it is a constant delay: a thread of its own, so that ACKs and data do not wait for each other.

use crate::pace::Pace;
use crate::packet::Pool;
use crate::shared::{BATCH, Shared};
use crate::sys::{self, Core};
use cwnd_scenario::Scenario;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Returns true if no flow's way back has links.
pub fn is_constant(scenario: &Scenario) -> bool {
    scenario.flows.iter().all(|flow| flow.reverse_path.is_empty())
}

/// Carries packets from the receivers' device to the senders' until it is stopped; how late at most 99 % were.
pub fn carry(scenario: &Scenario, mtu: u32, shared: &Shared, mut far: File, mut near: File) -> u64 {
    sys::stay_on(Core::Rest);
    sys::go_first();
    let mut pool = Pool::new(mtu);
    // When a packet is due, the order of reading, and the packet.
    let mut waiting: BinaryHeap<Reverse<(u64, u64, usize)>> = BinaryHeap::new();
    let mut count = 0;
    let mut pace = Pace::new(shared.now_ns());
    while !shared.stop.load(Relaxed) {
        let mut taken = 0;
        while taken < BATCH
            && let Some(index) = pool.read(scenario, &mut far, true)
        {
            let delay_ns = scenario.flows[pool.packets[index].flow].return_delay_ns;
            waiting.push(Reverse((shared.now_ns() + delay_ns, count, index)));
            (taken, count) = (taken + 1, count + 1);
        }
        let now_ns = shared.now_ns();
        while let Some(Reverse((due_ns, _, index))) = waiting.peek().copied()
            && due_ns <= now_ns
        {
            waiting.pop();
            // A device that is full loses it, as a host does.
            let _ = near.write(pool.packets[index].bytes());
            pace.note(due_ns, shared.now_ns());
            pool.release(index);
        }
        if taken == 0 {
            let next_ns = waiting.peek().map_or(u64::MAX, |Reverse((due_ns, ..))| *due_ns);
            pace.wait(&[&far], next_ns, || shared.now_ns());
        }
    }
    pace.late_p99_ns()
}
