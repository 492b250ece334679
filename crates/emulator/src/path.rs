//! The path between the two namespaces: one thread that carries packets over the engine's link.

use crate::FIRST_PORT;
use crate::sys;
use cwnd_engine::{Codepoint, EmulatedLink};
use cwnd_results::{LinkResult, LinkSamples};
use cwnd_scenario::{Samples, Scenario};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The last of a wait is spent looking at the clock: timers are late by about as much.
const SPIN_NS: u64 = 60_000;
/// One part in so many is spent blocked instead: Linux stops threads of SCHED_FIFO for 50 ms where they leave less than a
/// twentieth of a second to others.
const BLOCKED_LEAST: u64 = 10;
const WINDOW_NS: u64 = 200_000_000;
/// Packets of one device between two looks at the other.
const BATCH: usize = 32;

/// Data packets of a flow.
#[derive(Default)]
pub struct FlowCounts {
    pub delivered_pkts: AtomicU64,
    /// On the wire.
    pub delivered_bytes: AtomicU64,
    pub lost_pkts: AtomicU64,
    pub marked_pkts: AtomicU64,
}

/// What the threads of a run share.
pub struct Shared {
    pub begin_ns: u64,
    pub stop: AtomicBool,
    pub flows: Vec<FlowCounts>,
    pub packets: AtomicU64,
    pub last_arrival_ns: AtomicU64,
}

impl Shared {
    pub fn new(flows: usize) -> Arc<Shared> {
        Arc::new(Shared {
            begin_ns: sys::now_ns(),
            stop: AtomicBool::new(false),
            flows: std::iter::repeat_with(FlowCounts::default).take(flows).collect(),
            packets: AtomicU64::new(0),
            last_arrival_ns: AtomicU64::new(0),
        })
    }

    /// Since the beginning.
    pub fn now_ns(&self) -> u64 {
        sys::now_ns() - self.begin_ns
    }
}

/// What the emulator has seen at its end.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order of the scenario.
    pub links: Vec<LinkResult>,
    pub samples: LinkSamples,
    /// The fewest packets that flow 0's bottleneck held when it dropped an arrival.
    pub held_at_drop_pkts: Option<u64>,
    /// How late at most 99 % of the packets were passed on.
    pub late_p99_ns: u64,
    /// Share of the time in which it did not wait.
    pub busy: f64,
}

struct Packet {
    data: Vec<u8>,
    length: usize,
    flow: usize,
    /// From a receiver.
    back: bool,
    /// On the emulated wire, if it carries data.
    wire_bytes: Option<u32>,
    codepoint: Codepoint,
    /// Under way; more than one if a link duplicates.
    copies: u32,
}

/// A copy of a packet on a wire: when it is at the far end, the order of sending, the packet, and how many links it has
/// behind it.
type OnWire = Reverse<(u64, u64, usize, usize)>;

/// Microseconds late, up to four milliseconds and beyond.
const LATE_BINS: usize = 4096;

pub struct Emulator<'a> {
    scenario: &'a Scenario,
    shared: &'a Shared,
    links: Vec<EmulatedLink>,
    /// The least delay of each link.
    delays_ns: Vec<u64>,
    /// The index of flow 0's bottleneck.
    bottleneck: usize,
    mtu: usize,
    packets: Vec<Packet>,
    free: Vec<usize>,
    wires: BinaryHeap<OnWire>,
    sent: u64,
    late: Vec<u64>,
    report: Report,
    /// Of each link, at its last row: lost and marked packets.
    before: Vec<(u64, u64)>,
}

impl<'a> Emulator<'a> {
    pub fn new(scenario: &'a Scenario, seed: u64, mtu: u32, shared: &'a Shared) -> Emulator<'a> {
        let slowest = scenario.bottleneck(0);
        let is_slowest = |&link: &usize| std::ptr::eq(&scenario.links[link], slowest);
        Emulator {
            scenario,
            shared,
            links: scenario.links.iter().map(|link| EmulatedLink::new(link, seed)).collect(),
            delays_ns: scenario.links.iter().map(|link| link.least_delay_ns()).collect(),
            bottleneck: (0..scenario.links.len()).find(is_slowest).expect("a link of the scenario"),
            mtu: mtu as usize,
            packets: Vec::new(),
            free: Vec::new(),
            wires: BinaryHeap::new(),
            sent: 0,
            late: vec![0; LATE_BINS],
            report: Report::default(),
            before: vec![(0, 0); scenario.links.len()],
        }
    }

    /// Carries packets until it is stopped.
    pub fn carry(mut self, mut near: File, mut far: File) -> Report {
        sys::become_realtime();
        let interval_ns = match self.scenario.samples {
            Samples::Interval { interval_ns } => interval_ns,
            _ => u64::MAX,
        };
        let mut sample_at_ns = if interval_ns == u64::MAX { u64::MAX } else { 0 };
        let mut measures = false;
        let (began_ns, mut waited_ns) = (self.shared.now_ns(), 0);
        let mut window = (began_ns, 0);
        while !self.shared.stop.load(Relaxed) {
            let now_ns = self.shared.now_ns();
            self.advance(now_ns, &mut near, &mut far);
            if !measures && now_ns >= self.scenario.warmup_ns {
                measures = true;
                self.links.iter_mut().for_each(|link| link.begin_measuring(now_ns));
            }
            while sample_at_ns <= now_ns && sample_at_ns <= self.scenario.duration_ns {
                self.sample(sample_at_ns, now_ns);
                sample_at_ns += interval_ns;
            }
            let data = self.take(&mut near, &mut far, false);
            if data + self.take(&mut near, &mut far, true) > 0 {
                continue;
            }
            let now_ns = self.shared.now_ns();
            let next_ns = self.next_ns().min(sample_at_ns).min(now_ns + 10_000_000);
            let (from_ns, waited_before_ns) = window;
            if now_ns > from_ns + WINDOW_NS {
                window = (now_ns, waited_ns);
            }
            let may_spin = (waited_ns - waited_before_ns) * BLOCKED_LEAST >= now_ns - from_ns;
            let spin_ns = if may_spin { SPIN_NS } else { 0 };
            if next_ns > now_ns + spin_ns {
                sys::wait_readable([&near, &far], next_ns - now_ns - spin_ns);
                waited_ns += self.shared.now_ns() - now_ns;
            }
        }
        let end_ns = self.shared.now_ns();
        self.report.late_p99_ns = self.late_p99_ns();
        self.report.busy = 1.0 - waited_ns as f64 / (end_ns - began_ns).max(1) as f64;
        self.report.links = self.links.iter().map(|link| link.result(end_ns)).collect();
        self.report
    }

    fn late_p99_ns(&self) -> u64 {
        let mut left = self.late.iter().sum::<u64>() / 100;
        let p99 = (0..LATE_BINS).rev().find(|&bin| {
            let before = left;
            left = left.saturating_sub(self.late[bin]);
            self.late[bin] > before
        });
        p99.map_or(0, |bin| bin as u64 * 1000)
    }

    /// When something is to be done next. What leaves a queue now is not needed before its delay is over.
    fn next_ns(&self) -> u64 {
        let departures = self.links.iter().zip(&self.delays_ns);
        let departures =
            departures.filter_map(|(link, delay_ns)| Some(link.next_departure_ns()? + delay_ns)).min();
        let wires = self.wires.peek().map(|Reverse((at_ns, ..))| *at_ns);
        [departures, wires].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Does in order what was to be done until `now_ns`.
    fn advance(&mut self, now_ns: u64, near: &mut File, far: &mut File) {
        loop {
            let departures = self.links.iter().enumerate();
            let departure = departures.filter_map(|(i, link)| Some((link.next_departure_ns()?, i))).min();
            let wire = self.wires.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
            match departure {
                Some((at_ns, link)) if at_ns < now_ns && at_ns <= wire => self.depart(link),
                _ if wire <= now_ns => {
                    let Some(Reverse((at_ns, _, packet, crossed))) = self.wires.pop() else { return };
                    self.arrive(at_ns, packet, crossed, near, far);
                }
                _ => return,
            }
        }
    }

    fn depart(&mut self, link: usize) {
        let crossed = self.links[link].depart();
        self.note_drops(link, None);
        let Some(crossed) = crossed else { return };
        let index = crossed.packet as usize;
        let packet = &mut self.packets[index];
        let route = route(self.scenario, packet);
        let behind = route.iter().position(|&hop| hop as usize == link).map_or(0, |hop| hop + 1);
        if crossed.marked {
            mark(&mut packet.data);
            if !packet.back {
                self.shared.flows[packet.flow].marked_pkts.fetch_add(1, Relaxed);
            }
        }
        packet.copies += crossed.copies;
        for _ in 0..crossed.copies {
            self.send(crossed.at_ns, index, behind);
        }
        self.release(index, crossed.copies == 0);
    }

    /// A copy is at the far end of its link after all those that were sent before to arrive then.
    fn send(&mut self, at_ns: u64, packet: usize, crossed: usize) {
        self.sent += 1;
        self.wires.push(Reverse((at_ns, self.sent, packet, crossed)));
    }

    /// One copy less.
    fn release(&mut self, packet: usize, is_lost: bool) {
        let Packet { copies, flow, back, wire_bytes, .. } = &mut self.packets[packet];
        *copies -= 1;
        if is_lost && !*back && wire_bytes.is_some() {
            self.shared.flows[*flow].lost_pkts.fetch_add(1, Relaxed);
        }
        if *copies == 0 {
            self.free.push(packet);
        }
    }

    /// `held_pkts`: the queue that the arrival found, if it was one that was dropped.
    fn note_drops(&mut self, link: usize, held_pkts: Option<u64>) {
        let dropped: Vec<u64> = self.links[link].take_dropped().collect();
        for packet in dropped {
            if let Some(held_pkts) = held_pkts.filter(|_| link == self.bottleneck) {
                let least = self.report.held_at_drop_pkts.get_or_insert(held_pkts);
                *least = held_pkts.min(*least);
            }
            self.release(packet as usize, true);
        }
    }

    /// A copy has `crossed` links of its route behind it.
    fn arrive(&mut self, at_ns: u64, index: usize, crossed: usize, near: &mut File, far: &mut File) {
        let packet = &self.packets[index];
        let flow = &self.scenario.flows[packet.flow];
        if let Some(&link) = route(self.scenario, packet).get(crossed) {
            let link = link as usize;
            let held_pkts = self.links[link].held_pkts(at_ns);
            let bytes = packet.wire_bytes.unwrap_or(flow.stack.ack_bytes);
            self.links[link].accept(at_ns, index as u64, bytes, packet.flow as u32, packet.codepoint);
            self.note_drops(link, Some(held_pkts));
            return;
        }
        let device = if packet.back { near } else { far };
        let _ = device.write(&packet.data[..packet.length]);
        let now_ns = self.shared.now_ns();
        if let Some(bytes) = packet.wire_bytes.filter(|_| !packet.back) {
            let counts = &self.shared.flows[packet.flow];
            counts.delivered_pkts.fetch_add(1, Relaxed);
            counts.delivered_bytes.fetch_add(bytes.into(), Relaxed);
            self.shared.last_arrival_ns.store(now_ns, Relaxed);
        }
        self.late[(((now_ns - at_ns) / 1000) as usize).min(LATE_BINS - 1)] += 1;
        self.release(index, false);
    }

    /// From the senders, or `back` from the receivers, to the first link; ACKs begin with the constant part of their way.
    fn take(&mut self, near: &mut File, far: &mut File, back: bool) -> usize {
        for taken in 0..BATCH {
            let Some(index) = self.read(if back { far } else { near }, back) else { return taken };
            let now_ns = self.shared.now_ns();
            let packet = &self.packets[index];
            if back {
                self.send(now_ns + self.scenario.flows[packet.flow].return_delay_ns, index, 0);
                continue;
            }
            if packet.wire_bytes.is_some() {
                self.shared.packets.fetch_add(1, Relaxed);
            }
            self.advance(now_ns, near, far);
            self.arrive(now_ns, index, 0, near, far);
        }
        BATCH
    }

    /// The next packet of a flow.
    fn read(&mut self, device: &mut File, back: bool) -> Option<usize> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Packet {
                data: vec![0; self.mtu],
                length: 0,
                flow: 0,
                back,
                wire_bytes: None,
                codepoint: Codepoint::NotEct,
                copies: 0,
            });
            self.packets.len() - 1
        });
        loop {
            let packet = &mut self.packets[place];
            let Ok(length) = device.read(&mut packet.data) else {
                self.free.push(place);
                return None;
            };
            let Some(seen) = Seen::of(&packet.data[..length], back) else { continue };
            let flow = usize::from(seen.port.wrapping_sub(FIRST_PORT));
            let Some(described) = self.scenario.flows.get(flow) else { continue };
            let header_bytes = described.stack.header_bytes;
            (packet.length, packet.flow, packet.back, packet.copies) = (length, flow, back, 1);
            packet.wire_bytes = (seen.payload_bytes > 0).then(|| seen.payload_bytes + header_bytes);
            packet.codepoint = seen.codepoint;
            return Some(place);
        }
    }

    fn sample(&mut self, time_ns: u64, now_ns: u64) {
        let samples = &mut self.report.samples;
        for (index, link) in self.links.iter().enumerate() {
            let (lost, marked) = link.lost_and_marked();
            let before = &mut self.before[index];
            samples.time_s.push(time_ns as f64 / 1e9);
            samples.link.push(index as u32);
            samples.queue_pkts.push(link.held_pkts(now_ns) as u32);
            samples.queue_ms.push(link.wait_ns(now_ns).map_or(f64::INFINITY, |ns| ns as f64 * 1e-6));
            samples.dropped_pkts.push(lost - before.0);
            samples.marked_pkts.push(marked - before.1);
            *before = (lost, marked);
        }
    }
}

/// The links that a packet crosses.
fn route<'a>(scenario: &'a Scenario, packet: &Packet) -> &'a [u32] {
    let flow = &scenario.flows[packet.flow];
    if packet.back { &flow.reverse_path } else { &flow.path }
}

/// What the emulator looks at in a packet.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Of the receiver.
    port: u16,
    payload_bytes: u32,
    codepoint: Codepoint,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Seen {
    /// `back`: from a receiver. None: neither TCP nor UDP over IPv4.
    fn of(packet: &[u8], back: bool) -> Option<Seen> {
        let first = *packet.first()?;
        let ip_bytes = usize::from(first & 15) * 4;
        let rest = packet.get(ip_bytes..)?;
        let header_bytes = match *packet.get(9)? {
            _ if first >> 4 != 4 => return None,
            TCP => usize::from(rest.get(12)? >> 4) * 4,
            UDP => 8,
            _ => return None,
        };
        let at = if back { 0 } else { 2 };
        Some(Seen {
            port: u16::from_be_bytes([*rest.get(at)?, *rest.get(at + 1)?]),
            payload_bytes: rest.len().checked_sub(header_bytes)? as u32,
            codepoint: match packet[1] & 3 {
                0 => Codepoint::NotEct,
                1 => Codepoint::Ect1,
                _ => Codepoint::Ect0,
            },
        })
    }
}

/// Sets CE in an IPv4 header, and its checksum (RFC 3168, RFC 1071).
fn mark(packet: &mut [u8]) {
    packet[1] |= 3;
    packet[10..12].fill(0);
    let header = &packet[..usize::from(packet[0] & 15) * 4];
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of RFC 1071's kind of example, whose checksum 0xb861 is widely published.
    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut packet = HEADER;
        mark(&mut packet);
        // 3 more in the sum is 3 less in its complement.
        assert_eq!(packet[1], 3);
        assert_eq!(packet[10..12], [0xb8, 0x5e]);
    }

    #[test]
    fn payload_and_port_are_read_from_the_headers() {
        let mut packet = HEADER.to_vec();
        packet.extend([0x80, 0x00, 0x9c, 0x41, 0, 108, 0, 0]);
        packet.extend([0; 100]);
        let seen = Seen { port: 40_001, payload_bytes: 100, codepoint: Codepoint::NotEct };
        assert_eq!(Seen::of(&packet, false), Some(seen));
        assert_eq!(Seen::of(&packet, true).unwrap().port, 0x8000);
        assert_eq!(Seen::of(&packet[..24], false), None);
        assert_eq!(Seen::of(&[], false), None);
    }
}
