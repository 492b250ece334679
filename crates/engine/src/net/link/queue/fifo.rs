//! The droptail FIFO queue packet by packet. It drops at its limit, and marks by length or by time.

use crate::net::link::queue::discipline::{Discipline, Next, Queued};
use crate::random::uniform;
use chacha20::ChaCha8Rng;
use std::collections::VecDeque;

pub struct Fifo {
    limit: u64,
    ecn_threshold: u64,
    ramp: Option<Ramp>,
    packets: VecDeque<Queued>,
}

/// Marks by how long a packet has waited.
struct Ramp {
    least_ns: u64,
    most_ns: u64,
    rng: ChaCha8Rng,
}

impl Ramp {
    fn marks(&mut self, wait_ns: u64) -> bool {
        if wait_ns <= self.least_ns || wait_ns > self.most_ns {
            return wait_ns > self.most_ns;
        }
        let part = (wait_ns - self.least_ns) as f64 / (self.most_ns - self.least_ns) as f64;
        uniform(&mut self.rng) < part
    }
}

impl Fifo {
    pub fn new(link: &cwnd_scenario::Link, rng: ChaCha8Rng) -> Fifo {
        Fifo {
            limit: link.buffer_pkts.map_or(u64::MAX, u64::from),
            ecn_threshold: link.ecn_threshold_pkts.map_or(u64::MAX, u64::from),
            ramp: link.ecn_wait_ns.map(|[least_ns, most_ns]| Ramp { least_ns, most_ns, rng }),
            packets: VecDeque::new(),
        }
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, _: u64, mut packet: Queued, sending: bool, dropped: &mut Vec<Queued>) {
        let held = self.waiting_pkts() + u64::from(sending);
        if held >= self.limit {
            dropped.push(packet);
            return;
        }
        packet.marked |= packet.codepoint.is_ect() && held + 1 > self.ecn_threshold;
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<Queued>) -> Next {
        let Some(mut packet) = self.packets.pop_front() else { return Next::Empty };
        if let Some(ramp) = &mut self.ramp
            && packet.codepoint.is_ect()
        {
            packet.marked |= ramp.marks(now_ns - packet.arrived_ns);
        }
        Next::Send(packet)
    }

    fn waiting_pkts(&self) -> u64 {
        self.packets.len() as u64
    }

    fn tells_flows_apart(&self) -> bool {
        false
    }
}
