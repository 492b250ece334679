//! RED (Floyd and Jacobson 1993): arrivals are dropped at random, the more the longer the average queue.

use crate::net::link::queue::backlog::Backlog;
use crate::net::link::queue::discipline::{Discipline, Next, Queued};
use crate::random::uniform;
use chacha20::ChaCha8Rng;
use cwnd_scenario::{Link, QueueVariant, Red};

/// How often an adaptive share is set anew, and between which values (Floyd, Gummadi and Shenker 2001).
const ADAPT_NS: u64 = 500_000_000;
const SHARES: [f64; 2] = [0.01, 0.5];

pub struct RedQueue {
    red: Red,
    room: Room,
    /// Thresholds and the average count queued bytes by this number; None: they count packets.
    unit_bytes: Option<f64>,
    packets: Backlog,
    rng: ChaCha8Rng,
    /// The average queue before the last arrival.
    average: f64,
    /// Arrivals since the last drop, while the average is between the thresholds; None: it is below.
    count: Option<u64>,
    /// Linux: drawn once for each drop.
    drawn: f64,
    /// Share of arrivals that is dropped at `max`.
    share: f64,
    adapt_at_ns: u64,
    /// The queue is empty since then.
    idle_since_ns: Option<u64>,
    /// How long the link takes to send a packet.
    packet_ns: f64,
}

/// The most that waits.
enum Room {
    Pkts(u64),
    Bytes(u64),
}

/// Decision of RED on an arrival.
#[derive(PartialEq)]
enum Fate {
    Passes,
    /// By chance.
    Early,
    /// The average is too long.
    Hard,
}

impl RedQueue {
    /// `packet_bytes`: a full packet. Linux's RED knows bytes alone: packets of thresholds and of the buffer are full ones.
    pub fn new(red: &Red, link: &Link, packet_bytes: u32, rng: ChaCha8Rng) -> RedQueue {
        let linux = red.variant == QueueVariant::Linux;
        let pkts = link.buffer_pkts.map_or(u64::MAX, u64::from);
        let room = match link.buffer_bytes {
            Some(bytes) => Room::Bytes(bytes),
            None if linux => Room::Bytes(pkts.saturating_mul(packet_bytes.into())),
            None => Room::Pkts(pkts),
        };
        let unit_bytes = if red.in_bytes { Some(1.0) } else { linux.then_some(packet_bytes.into()) };
        RedQueue {
            red: red.clone(),
            room,
            unit_bytes,
            packets: Backlog::default(),
            rng,
            average: 0.0,
            count: None,
            drawn: 0.0,
            share: red.probability,
            adapt_at_ns: ADAPT_NS,
            idle_since_ns: Some(0),
            packet_ns: 1500.0 * 8e9 / link.rate_bps.max(1) as f64,
        }
    }

    fn is_linux(&self) -> bool {
        self.red.variant == QueueVariant::Linux
    }

    /// The average counts the queue that an arrival finds.
    fn average(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.idle_since_ns.take()
            && !self.is_linux()
        {
            // As if small packets had left meanwhile.
            let packets = (now_ns - since_ns) as f64 / self.packet_ns;
            self.average *= libm::pow(1.0 - self.red.weight, packets);
        }
        let queue = match self.unit_bytes {
            Some(unit_bytes) => self.packets.bytes() as f64 / unit_bytes,
            None => self.packets.len() as f64,
        };
        self.average += self.red.weight * (queue - self.average);
    }

    fn has_room_for(&self, packet: &Queued) -> bool {
        match self.room {
            Room::Pkts(most) => self.packets.len() < most,
            Room::Bytes(most) => self.packets.bytes() + u64::from(packet.bytes) <= most,
        }
    }

    fn adapt(&mut self, now_ns: u64) {
        while self.red.adaptive && self.adapt_at_ns <= now_ns {
            self.adapt_at_ns += ADAPT_NS;
            let part = (self.average - self.red.min) / (self.red.max - self.red.min);
            if part > 0.6 && self.share < SHARES[1] {
                self.share += (self.share / 4.0).min(0.01);
            } else if part < 0.4 && self.share > SHARES[0] {
                self.share *= 0.9;
            }
        }
    }

    fn fate(&mut self) -> Fate {
        let Red { min, max, gentle, .. } = self.red;
        if self.average < min {
            self.count = None;
            return Fate::Passes;
        }
        let share = if self.average < max {
            self.share * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            self.share + (1.0 - self.share) * (self.average - max) / max
        } else {
            self.count = None;
            return Fate::Hard;
        };
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        let drops = if !self.is_linux() {
            let rest = 1.0 - count as f64 * share;
            rest <= 0.0 || uniform(&mut self.rng) < share / rest
        } else if count == 0 {
            self.drawn = uniform(&mut self.rng);
            false
        } else {
            count as f64 * share > self.drawn
        };
        if !drops {
            return Fate::Passes;
        }
        self.count = Some(0);
        if self.is_linux() {
            self.drawn = uniform(&mut self.rng);
        }
        Fate::Early
    }
}

impl Discipline for RedQueue {
    fn enqueue(&mut self, now_ns: u64, mut packet: Queued, _: bool, dropped: &mut Vec<Queued>) {
        self.adapt(now_ns);
        self.average(now_ns);
        let fate = self.fate();
        let marks = self.red.ecn && packet.codepoint.is_ect() && !(fate == Fate::Hard && self.red.harddrop);
        if fate != Fate::Passes && !marks || !self.has_room_for(&packet) {
            dropped.push(packet);
            if self.packets.len() == 0 {
                self.idle_since_ns = Some(now_ns);
            }
            return;
        }
        packet.marked |= fate != Fate::Passes;
        self.packets.push(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<Queued>) -> Next {
        let Some(packet) = self.packets.pop() else { return Next::Empty };
        if self.packets.len() == 0 {
            self.idle_since_ns = Some(now_ns);
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
