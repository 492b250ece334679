//! The path between the two namespaces: one thread that carries packets over the engine's link.

use crate::back;
use crate::pace::Pace;
use crate::packet::{Packet, Pool, mark};
use crate::shared::{BATCH, Shared};
use crate::sys::{self, Core};
use cwnd_engine::EmulatedLink;
use cwnd_results::{LinkResult, LinkSamples};
use cwnd_scenario::{Samples, Scenario};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Results of the emulator at its end.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order of the scenario.
    pub links: Vec<LinkResult>,
    pub samples: LinkSamples,
    /// The fewest packets that flow 0's bottleneck held when it dropped an arrival.
    pub held_at_drop_pkts: Option<u64>,
    /// How late at most 99 % of the packets were passed on.
    pub late_p99_ns: u64,
}

/// A copy of a packet on a wire: when it is at the far end, the order of sending, the packet, and how many links it has
/// behind it.
type OnWire = Reverse<(u64, u64, usize, usize)>;

pub struct Emulator<'a> {
    scenario: &'a Scenario,
    shared: &'a Shared,
    links: Vec<EmulatedLink>,
    /// The least delay of each link.
    delays_ns: Vec<u64>,
    /// The index of flow 0's bottleneck.
    bottleneck: usize,
    pool: Pool,
    wires: BinaryHeap<OnWire>,
    sent: u64,
    /// Packets read and passed on.
    moved: u64,
    /// True if ways back are links: then packets from receivers are its work, too.
    carries_back: bool,
    pace: Pace,
    report: Report,
    /// Lost and marked packets of each link at its last row.
    before: Vec<(u32, (u64, u64))>,
}

impl<'a> Emulator<'a> {
    pub fn new(scenario: &'a Scenario, seed: u64, mtu: u32, shared: &'a Shared) -> Emulator<'a> {
        let slowest = scenario.bottleneck(0);
        let is_slowest = |&link: &usize| std::ptr::eq(&scenario.links[link], slowest);
        Emulator {
            scenario,
            shared,
            links: (0..scenario.links.len() as u32).map(|id| EmulatedLink::new(scenario, id, seed)).collect(),
            delays_ns: scenario.links.iter().map(|link| link.least_delay_ns()).collect(),
            bottleneck: (0..scenario.links.len()).find(is_slowest).expect("a link of the scenario"),
            pool: Pool::new(mtu),
            wires: BinaryHeap::new(),
            sent: 0,
            moved: 0,
            carries_back: !back::is_constant(scenario),
            pace: Pace::new(shared.now_ns()),
            report: Report::default(),
            before: scenario.sampled_links().into_iter().map(|link| (link, (0, 0))).collect(),
        }
    }

    /// Carries packets until it is stopped.
    pub fn carry(mut self, mut near: File, mut far: File) -> Report {
        sys::stay_on(Core::Data);
        sys::go_first();
        let interval_ns = match self.scenario.samples {
            Samples::Interval { interval_ns } => interval_ns,
            _ => u64::MAX,
        };
        let mut sample_at_ns = if interval_ns == u64::MAX { u64::MAX } else { 0 };
        let mut measures = false;
        self.pace = Pace::new(self.shared.now_ns());
        while !self.shared.stop.load(Relaxed) {
            let (now_ns, moved) = (self.shared.now_ns(), self.moved);
            self.advance(now_ns, &mut near, &mut far);
            if !measures && now_ns >= self.scenario.warmup_ns {
                measures = true;
                self.links.iter_mut().for_each(|link| link.begin_measuring(now_ns));
            }
            while sample_at_ns <= now_ns && sample_at_ns <= self.scenario.duration_ns {
                self.sample(sample_at_ns, now_ns);
                sample_at_ns += interval_ns;
            }
            let mut taken = self.take(&mut near, &mut far, false);
            if self.carries_back {
                taken += self.take(&mut near, &mut far, true);
            }
            if self.moved > moved {
                self.shared.worked_ns.fetch_add(self.shared.now_ns() - now_ns, Relaxed);
            }
            if taken == 0 {
                let next_ns = self.next_ns().min(sample_at_ns);
                let devices = if self.carries_back { &[&near, &far][..] } else { &[&near] };
                self.pace.wait(devices, next_ns, || self.shared.now_ns());
            }
        }
        let end_ns = self.shared.now_ns();
        self.report.late_p99_ns = self.pace.late_p99_ns();
        self.report.links = self.links.iter().map(|link| link.result(end_ns)).collect();
        self.report
    }

    /// When something is to be done next. What leaves a queue now is not needed before its delay is over.
    fn next_ns(&self) -> u64 {
        let departures = self.links.iter().zip(&self.delays_ns);
        let departures =
            departures.filter_map(|(link, delay_ns)| Some(link.next_departure_ns()? + delay_ns)).min();
        let wires = self.wires.peek().map(|Reverse((at_ns, ..))| *at_ns);
        [departures, wires].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Does in order what was to be done until `now_ns`. An arrival precedes a departure of its instant, as in the simulator.
    fn advance(&mut self, now_ns: u64, near: &mut File, far: &mut File) {
        loop {
            let departures = self.links.iter().enumerate();
            let departure = departures.filter_map(|(i, link)| Some((link.next_departure_ns()?, i))).min();
            let wire = self.wires.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
            match departure {
                Some((at_ns, link)) if at_ns < now_ns && at_ns < wire => self.depart(link),
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
        let packet = &mut self.pool.packets[index];
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
        let Packet { flow, back, wire_bytes, .. } = &self.pool.packets[packet];
        if is_lost && !*back && wire_bytes.is_some() {
            self.shared.flows[*flow].lost_pkts.fetch_add(1, Relaxed);
        }
        self.pool.release(packet);
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
        let packet = &self.pool.packets[index];
        let flow = &self.scenario.flows[packet.flow];
        if let Some(&link) = route(self.scenario, packet).get(crossed) {
            let link = link as usize;
            // One that leaves at this instant is still there.
            let held_pkts = self.links[link].held_pkts(at_ns.saturating_sub(1));
            let bytes = packet.wire_bytes.unwrap_or(flow.stack.ack_bytes);
            self.links[link].accept(at_ns, index as u64, bytes, packet.flow as u32, packet.codepoint);
            self.note_drops(link, Some(held_pkts));
            return;
        }
        self.moved += 1;
        let device = if packet.back { near } else { far };
        let _ = device.write(packet.bytes());
        let now_ns = self.shared.now_ns();
        if let Some(bytes) = packet.wire_bytes.filter(|_| !packet.back) {
            let counts = &self.shared.flows[packet.flow];
            counts.delivered_pkts.fetch_add(1, Relaxed);
            counts.delivered_bytes.fetch_add(bytes.into(), Relaxed);
            self.shared.last_arrival_ns.store(now_ns, Relaxed);
        }
        self.pace.note(at_ns, now_ns);
        self.release(index, false);
    }

    /// From the senders, or `back` from the receivers, to the first link; ACKs begin with the constant part of their way.
    fn take(&mut self, near: &mut File, far: &mut File, back: bool) -> usize {
        for taken in 0..BATCH {
            let device = if back { &mut *far } else { &mut *near };
            let Some(index) = self.pool.read(self.scenario, device, back) else { return taken };
            self.moved += 1;
            let now_ns = self.shared.now_ns();
            let packet = &self.pool.packets[index];
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

    fn sample(&mut self, time_ns: u64, now_ns: u64) {
        let samples = &mut self.report.samples;
        for (index, before) in &mut self.before {
            let link = &self.links[*index as usize];
            let (lost, marked) = link.lost_and_marked();
            samples.time_s.push(time_ns as f64 / 1e9);
            samples.link.push(*index);
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
