//! PIE (RFC 8033): arrivals are dropped with a probability that a controller sets by the queueing delay.

use crate::net::link::queue::backlog::Backlog;
use crate::net::link::queue::discipline::{Discipline, Next, Queued};
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

    /// Returns true if an arrival is dropped or marked by chance.
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
    fn enqueue(&mut self, now_ns: u64, mut packet: Queued, _: bool, dropped: &mut Vec<Queued>) {
        self.update_until(now_ns);
        let full = self.packets.len() >= self.limit;
        let early = !full && self.drops_early();
        if full {
            // A drop for want of room counts, too, as in Linux.
            self.accumulated = 0.0;
        }
        let marks = self.pie.ecn && packet.codepoint.is_ect() && self.probability <= MARKED_UP_TO;
        if full || early && !marks {
            dropped.push(packet);
            return;
        }
        packet.marked |= early;
        self.packets.push(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<Queued>) -> Next {
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

    fn tells_flows_apart(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::link::queue::discipline::Codepoint;
    use crate::random::random_stream;

    fn packet(arrived_ns: u64) -> Queued {
        Queued::new(0, 1500, Codepoint::NotEct, arrived_ns)
    }

    /// Queueing delays in seconds at successive updates, with a target of 15 ms, and the probabilities by RFC 8033, 4.2:
    /// 0.125 a second of the distance from the target and 1.25 of the growth, divided where the probability is small.
    #[test]
    fn the_probability_follows_the_rfc() {
        let pie = Pie {
            variant: QueueVariant::Spec,
            target_ns: 15_000_000,
            update_ns: 15_000_000,
            burst_ns: 150_000_000,
            ecn: false,
        };
        let mut queue = PieQueue::new(&pie, u64::MAX, 50_000_000, random_stream(1, "queue"));
        let by_hand = [
            // 125 packets of 0.24 ms: (0.125 * 0.015 + 1.25 * 0.03) / 2048.
            (125, (0.001_875 + 0.0375) / 2048.0),
            // No growth, from 1.9e-5: / 128.
            (125, (0.001_875 + 0.0375) / 2048.0 + 0.001_875 / 128.0),
            // 250 packets: 60 ms, growth of 30 ms.
            (250, (0.001_875 + 0.0375) / 2048.0 + (0.001_875 + 0.045 * 0.125 + 0.0375) / 128.0),
        ];
        for (pkts, probability) in by_hand {
            while queue.packets.len() < pkts {
                queue.packets.push(packet(0));
            }
            queue.update();
            assert!((queue.probability / probability - 1.0).abs() < 1e-9, "{pkts}: {}", queue.probability);
        }
        // Each update uses up 15 ms of the 150 ms in which bursts pass.
        assert_eq!(queue.burst_ns, 105_000_000);
        // A step is no more than 2 % from 10 % on; beyond 250 ms 2 % come on top.
        queue.probability = 0.2;
        while queue.packets.len() < 1500 {
            queue.packets.push(packet(0));
        }
        queue.update();
        assert!((queue.probability - 0.24).abs() < 1e-12, "{}", queue.probability);
        // An empty queue: by the controller, then by the decay.
        while queue.packets.pop().is_some() {}
        queue.update();
        queue.probability = 0.2;
        queue.update();
        assert!((queue.probability - (0.2 - 0.125 * 0.015) * 0.98).abs() < 1e-12, "{}", queue.probability);
    }

    /// At a probability of 0.05 the 17th arrival in a row may be dropped. Every second one finds the queue full here.
    #[test]
    fn a_drop_at_a_full_queue_puts_the_next_early_drop_off() {
        let pie = Pie {
            variant: QueueVariant::Linux,
            target_ns: 15_000_000,
            update_ns: 20_000_000,
            burst_ns: 0,
            ecn: false,
        };
        let mut queue = PieQueue::new(&pie, 100, 50_000_000, random_stream(1, "queue"));
        let mut dropped = Vec::new();
        for _ in 0..100 {
            queue.enqueue(0, packet(0), false, &mut dropped);
        }
        (queue.probability, queue.old_delay_ns, queue.delay_ns) = (0.05, 24_000_000, 24_000_000);
        for round in 1..=1000 {
            queue.dequeue(0, &mut dropped);
            queue.enqueue(0, packet(0), false, &mut dropped);
            assert_eq!(queue.waiting_pkts(), 100, "{round}");
            queue.enqueue(0, packet(0), false, &mut dropped);
            assert_eq!(dropped.len(), round);
        }
    }
}
