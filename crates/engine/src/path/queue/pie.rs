//! PIE (RFC 8033): arrivals are dropped with a probability that a controller sets by the queueing delay.

use crate::path::queue::backlog::Backlog;
use crate::path::queue::discipline::{Discipline, Next, Packet};
use crate::random::uniform;
use chacha20::ChaCha8Rng;
use cwnd_scenario::{Pie, QueueVariant};

/// Per second.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Each drop is at least this much probability after the one before, and comes when there is so much.
const LEAST_ACCUMULATED: f64 = 0.85;
const MOST_ACCUMULATED: f64 = 8.5;
/// Marks instead of drops up to this probability.
const MARKED_UP_TO: f64 = 0.1;
/// In Linux the first update is so long after the queue was made.
const FIRST_UPDATE_NS: u64 = 500_000_000;
const FRAME_BYTES: u64 = 1514;

pub struct PieQueue {
    pie: Pie,
    limit: u64,
    packets: Backlog,
    rng: ChaCha8Rng,
    bit_ns: f64,
    pub probability: f64,
    accumulated: f64,
    /// Until it is used up nothing is dropped.
    burst_ns: u64,
    update_at_ns: u64,
    /// Linux: that of the last packet that left.
    delay_ns: u64,
    old_delay_ns: u64,
    /// When a packet left last.
    left_at_ns: Option<u64>,
}

impl PieQueue {
    pub fn new(pie: &Pie, limit: u64, rate_bps: u64, rng: ChaCha8Rng) -> PieQueue {
        let linux = pie.variant == QueueVariant::Linux;
        PieQueue {
            pie: pie.clone(),
            limit,
            packets: Backlog::default(),
            rng,
            bit_ns: 1e9 / rate_bps.max(1) as f64,
            probability: 0.0,
            accumulated: 0.0,
            burst_ns: pie.burst_ns,
            update_at_ns: if linux { FIRST_UPDATE_NS } else { pie.update_ns },
            delay_ns: 0,
            old_delay_ns: 0,
            left_at_ns: None,
        }
    }

    fn is_linux(&self) -> bool {
        self.pie.variant == QueueVariant::Linux
    }

    /// The updates up to now: nothing has come or gone since the last event.
    fn update_until(&mut self, now_ns: u64) {
        while self.update_at_ns <= now_ns {
            let at_rest = self.packets.len() == 0 && self.delay_ns == 0 && self.old_delay_ns == 0;
            if at_rest && self.probability == 0.0 {
                let updates = (now_ns - self.update_at_ns) / self.pie.update_ns + 1;
                self.update_at_ns += updates * self.pie.update_ns;
                self.burst_ns = self.pie.burst_ns;
                return;
            }
            self.update();
            self.update_at_ns += self.pie.update_ns;
        }
    }

    fn update(&mut self) {
        let linux = self.is_linux();
        if !linux {
            // The departure rate is that of the link.
            self.delay_ns = (self.packets.bytes() as f64 * 8.0 * self.bit_ns) as u64;
        }
        let [delay_s, old_s, target_s] =
            [self.delay_ns, self.old_delay_ns, self.pie.target_ns].map(|ns| ns as f64 * 1e-9);
        let scale = match self.probability {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let mut change = (ALPHA * (delay_s - target_s) + BETA * (delay_s - old_s)) / scale;
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        if self.delay_ns > 250_000_000 {
            change += 0.02;
        }
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        if self.delay_ns == 0 && self.old_delay_ns == 0 {
            self.probability *= if linux { 1.0 - 1.0 / 64.0 } else { 0.98 };
        }
        if !linux {
            self.burst_ns = self.burst_ns.saturating_sub(self.pie.update_ns);
        }
        let calm = |delay_ns: u64| delay_ns < self.pie.target_ns / 2;
        if self.probability == 0.0 && calm(self.delay_ns) && calm(self.old_delay_ns) {
            self.burst_ns = self.pie.burst_ns;
            self.accumulated = 0.0;
        }
        self.old_delay_ns = self.delay_ns;
    }

    /// Whether an arrival is dropped or marked by chance.
    fn drops_early(&mut self) -> bool {
        let short = self.old_delay_ns < self.pie.target_ns / 2 && self.probability < 0.2;
        if self.burst_ns > 0 || short || self.packets.bytes() <= 2 * FRAME_BYTES {
            return false;
        }
        self.accumulated += self.probability;
        let drops = match self.accumulated {
            little if little < LEAST_ACCUMULATED => false,
            much if much >= MOST_ACCUMULATED => true,
            _ => uniform(&mut self.rng) < self.probability,
        };
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }
}

impl Discipline for PieQueue {
    fn enqueue(&mut self, now_ns: u64, mut packet: Packet, _: bool, dropped: &mut Vec<Packet>) {
        self.update_until(now_ns);
        let full = self.packets.len() >= self.limit;
        let early = !full && self.drops_early();
        let marks = self.pie.ecn && packet.codepoint.is_ect() && self.probability <= MARKED_UP_TO;
        if full || early && !marks {
            dropped.push(packet);
            return;
        }
        packet.marked |= early;
        self.packets.push(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<Packet>) -> Next {
        self.update_until(now_ns);
        let Some(packet) = self.packets.pop() else { return Next::Empty };
        if self.is_linux() {
            self.delay_ns = if self.packets.len() == 0 { 0 } else { now_ns - packet.arrived_ns };
            if let Some(before_ns) = self.left_at_ns.replace(now_ns) {
                self.burst_ns = self.burst_ns.saturating_sub(now_ns - before_ns);
            }
        }
        Next::Send(packet)
    }

    fn waiting_pkts(&self) -> u64 {
        self.packets.len()
    }
}
