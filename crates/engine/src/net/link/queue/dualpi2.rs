//! DualPI2 (RFC 9332): a queue with little delay for scalable senders beside one for classic senders, whose drops and
//! marks are coupled so that both kinds get their share.

use crate::net::link::queue::backlog::Backlog;
use crate::net::link::queue::discipline::{Codepoint, Discipline, Next, Queued};
use crate::random::uniform;
use chacha20::ChaCha8Rng;
use cwnd_scenario::{DualPi2, QueueVariant};

/// Per second: 0.1 Tupdate / RTTmax² and 0.3 / RTTmax, of an RTTmax of 100 ms (RFC 9332, A.1).
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.0;
const BETA_LINUX: f64 = 3.2;
/// The coupling factor k.
const COUPLING: f64 = 2.0;
/// While both queues wait, the classic one gets this part of the bytes, in percent.
const CLASSIC_WEIGHT: i64 = 10;
const FRAME_BYTES: u64 = 1514;

pub struct DualPi2Queue {
    dualpi2: DualPi2,
    limit: u64,
    rng: ChaCha8Rng,
    low_latency: Backlog,
    classic: Backlog,
    /// p': its square drops and marks classic packets.
    pub probability: f64,
    old_delay_ns: u64,
    update_at_ns: u64,
    /// The low latency queue is served while it is not positive.
    credit: i64,
    /// Sums of probabilities towards the next mark of the low latency queue, and towards the next drop or mark of the classic
    /// one, where these are spread evenly.
    gathered: [f64; 2],
}

impl DualPi2Queue {
    pub fn new(dualpi2: &DualPi2, limit: u64, rng: ChaCha8Rng) -> DualPi2Queue {
        DualPi2Queue {
            limit,
            rng,
            low_latency: Backlog::default(),
            classic: Backlog::default(),
            probability: 0.0,
            old_delay_ns: 0,
            update_at_ns: dualpi2.update_ns,
            credit: 0,
            gathered: [0.0; 2],
            dualpi2: dualpi2.clone(),
        }
    }

    /// The updates up to now: nothing has come or gone since the last event.
    fn update_until(&mut self, now_ns: u64) {
        while self.update_at_ns <= now_ns {
            if self.waiting_pkts() == 0 && self.probability == 0.0 && self.old_delay_ns == 0 {
                let updates = (now_ns - self.update_at_ns) / self.dualpi2.update_ns + 1;
                self.update_at_ns += updates * self.dualpi2.update_ns;
                return;
            }
            let age_ns = |queue: &Backlog| {
                queue.front().map_or(0, |packet| self.update_at_ns.saturating_sub(packet.arrived_ns))
            };
            let is_linux = self.is_linux();
            let classic_ns = age_ns(&self.classic);
            let delay_ns = if is_linux { classic_ns.max(age_ns(&self.low_latency)) } else { classic_ns };
            let beta = if is_linux { BETA_LINUX } else { BETA };
            let [delay_s, old_s, target_s] =
                [delay_ns, self.old_delay_ns, self.dualpi2.target_ns].map(|ns| ns as f64 * 1e-9);
            let change = ALPHA * (delay_s - target_s) + beta * (delay_s - old_s);
            self.probability = (self.probability + change).clamp(0.0, 1.0);
            self.old_delay_ns = delay_ns;
            self.update_at_ns += self.dualpi2.update_ns;
        }
    }

    /// The queue whose turn it is.
    fn next_queue(&mut self) -> Option<bool> {
        match (self.low_latency.front(), self.classic.front()) {
            (None, None) => None,
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(low_latency), Some(classic)) => {
                let takes_low_latency = self.credit <= 0;
                self.credit += if takes_low_latency {
                    CLASSIC_WEIGHT * i64::from(low_latency.bytes)
                } else {
                    (CLASSIC_WEIGHT - 100) * i64::from(classic.bytes)
                };
                Some(takes_low_latency)
            }
        }
    }

    fn is_linux(&self) -> bool {
        self.dualpi2.variant == QueueVariant::Linux
    }

    /// With the square of p'.
    fn squared(&mut self) -> bool {
        let probability = self.probability;
        if self.is_linux() {
            return uniform(&mut self.rng) < probability && uniform(&mut self.rng) < probability;
        }
        spread(&mut self.gathered[1], probability * probability)
    }

    /// With this probability, in the low latency queue.
    fn marks(&mut self, probability: f64) -> bool {
        if self.is_linux() {
            return uniform(&mut self.rng) < probability;
        }
        spread(&mut self.gathered[0], probability)
    }

    /// The probability by how long a packet waited. One alone waits for no other: on a slow link it is not marked for its own
    /// time (Th_len of RFC 9332, A.1).
    fn native(&self, wait_ns: u64) -> f64 {
        let [least_ns, most_ns] = self.dualpi2.ramp_ns;
        if self.low_latency.len() == 0 || wait_ns <= least_ns {
            return 0.0;
        }
        if wait_ns > most_ns { 1.0 } else { (wait_ns - least_ns) as f64 / (most_ns - least_ns) as f64 }
    }

    /// Returns true if a packet that leaves is sent; it may be marked.
    fn passes(&mut self, now_ns: u64, packet: &mut Queued, is_low_latency: bool, waiting_bytes: u64) -> bool {
        let is_short = waiting_bytes < 2 * FRAME_BYTES;
        let coupled = if is_short { 0.0 } else { COUPLING * self.probability };
        // Overload: marks alone no longer hold the senders back.
        let overload = coupled > 1.0;
        if is_low_latency {
            if overload && self.squared() {
                return false;
            }
            let native = self.native(now_ns - packet.arrived_ns);
            packet.marked |= self.marks(native.max(coupled));
        } else if is_short {
            return true;
        } else if self.squared() {
            if overload || !packet.codepoint.is_ect() {
                return false;
            }
            packet.marked = true;
        }
        true
    }
}

impl Discipline for DualPi2Queue {
    fn enqueue(&mut self, now_ns: u64, packet: Queued, _: bool, dropped: &mut Vec<Queued>) {
        self.update_until(now_ns);
        if self.waiting_pkts() >= self.limit {
            dropped.push(packet);
        } else if packet.codepoint == Codepoint::Ect1 {
            self.low_latency.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next {
        self.update_until(now_ns);
        while let Some(is_low_latency) = self.next_queue() {
            let waiting_bytes = self.low_latency.bytes() + self.classic.bytes();
            let queue = if is_low_latency { &mut self.low_latency } else { &mut self.classic };
            let Some(mut packet) = queue.pop() else { break };
            if self.passes(now_ns, &mut packet, is_low_latency, waiting_bytes) {
                return Next::Send(packet);
            }
            dropped.push(packet);
        }
        Next::Empty
    }

    fn waiting_pkts(&self) -> u64 {
        self.low_latency.len() + self.classic.len()
    }

    fn tells_flows_apart(&self) -> bool {
        false
    }
}

/// True as often as the probability says, as evenly as can be (`recur` of RFC 9332, A.1).
fn spread(gathered: &mut f64, probability: f64) -> bool {
    *gathered += probability;
    let hit = *gathered >= 1.0;
    *gathered -= f64::from(u8::from(hit));
    hit
}
