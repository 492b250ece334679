//! Links and datagrams under way: the engine's links, to which the caller gives the time.

use crate::end::{Datagram, Side};
use cwnd_engine::{Codepoint, EmulatedLink};
use cwnd_results::{LinkResult, LinkSamples};
use cwnd_scenario::{Flow, Scenario};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Before a datagram on the wire: Ethernet without its checksum, IPv4, UDP.
pub const HEADER_BYTES: u32 = 14 + 20 + 8;

const NEVER: u64 = u64::MAX;

/// A datagram, from when it is sent until all of its copies have arrived or are lost.
struct Packet {
    datagram: Datagram,
    flow: u32,
    to: Side,
    copies: u32,
}

/// What becomes of a flow's datagrams to the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub sent_pkts: u64,
    pub lost_pkts: u64,
    pub delivered_pkts: u64,
    /// On the wire.
    pub delivered_bytes: u64,
    pub marked_pkts: u64,
}

/// A datagram that has crossed all links of its route.
pub struct Arrival {
    pub flow: usize,
    pub to: Side,
    pub datagram: Datagram,
}

pub struct Network<'a> {
    scenario: &'a Scenario,
    links: Vec<EmulatedLink>,
    /// By link: when a packet begins to be sent, or NEVER.
    departures_ns: Vec<u64>,
    packets: Vec<Option<Packet>>,
    free: Vec<u32>,
    /// When a copy is at the end of a link, the order of sending, the packet, and the links that are behind it.
    wires: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    sent: u64,
    pub counts: Vec<Counts>,
    /// Of each link that has rows of samples: packets lost and marked by the last.
    sampled: Vec<(u32, (u64, u64))>,
}

/// The links that datagrams of a flow cross.
fn route(flow: &Flow, to: Side) -> &[u32] {
    match to {
        Side::Receiver => &flow.path,
        Side::Sender => &flow.reverse_path,
    }
}

impl<'a> Network<'a> {
    pub fn new(scenario: &'a Scenario, seed: u64) -> Network<'a> {
        Network {
            scenario,
            links: scenario.links.iter().map(|link| EmulatedLink::new(link, seed)).collect(),
            departures_ns: vec![NEVER; scenario.links.len()],
            packets: Vec::new(),
            free: Vec::new(),
            wires: BinaryHeap::new(),
            sent: 0,
            counts: vec![Counts::default(); scenario.flows.len()],
            sampled: scenario.sampled_links().into_iter().map(|link| (link, (0, 0))).collect(),
        }
    }

    /// A datagram of `flow` is sent. The way back begins with its constant part.
    pub fn send(&mut self, now_ns: u64, flow: usize, to: Side, datagram: Datagram) {
        let packet = Packet { datagram, flow: flow as u32, to, copies: 1 };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.packets.push(None);
                self.packets.len() as u32 - 1
            }
        };
        self.packets[id as usize] = Some(packet);
        match to {
            Side::Receiver => {
                self.counts[flow].sent_pkts += 1;
                self.enter(now_ns, id, self.scenario.flows[flow].path[0]);
            }
            Side::Sender => self.fly(now_ns + self.scenario.flows[flow].return_delay_ns, id, 0),
        }
    }

    /// When [`Network::advance`] is to be called next, or [`u64::MAX`].
    pub fn next_ns(&self) -> u64 {
        self.departures_ns
            .iter()
            .copied()
            .chain(self.wires.peek().map(|Reverse((at_ns, ..))| *at_ns))
            .min()
            .unwrap_or(NEVER)
    }

    /// Does the first of what happens by `now_ns`, and returns what has arrived at an end. Of events at one time arrivals come
    /// first: one that comes as a packet leaves finds it still there.
    pub fn advance(&mut self, now_ns: u64) -> Option<Arrival> {
        let departure = (0..).zip(&self.departures_ns).min_by_key(|(_, at_ns)| **at_ns);
        let (link, departs_ns) = departure.map_or((0, NEVER), |(link, at_ns)| (link, *at_ns));
        let arrives_ns = self.wires.peek().map_or(NEVER, |Reverse((at_ns, ..))| *at_ns);
        if departs_ns < arrives_ns && departs_ns <= now_ns {
            self.depart(link);
            return None;
        }
        if arrives_ns > now_ns {
            return None;
        }
        let Reverse((at_ns, _, id, behind)) = self.wires.pop()?;
        let packet = self.packets[id as usize].as_ref().expect("a packet under way");
        let flow = packet.flow as usize;
        match route(&self.scenario.flows[flow], packet.to).get(behind as usize) {
            Some(&link) => {
                self.enter(at_ns, id, link);
                None
            }
            None => Some(self.arrive(id)),
        }
    }

    fn arrive(&mut self, id: u32) -> Arrival {
        let packet = self.packets[id as usize].as_mut().expect("a packet under way");
        let (flow, to) = (packet.flow as usize, packet.to);
        let bytes = packet.datagram.data.len() as u64 + u64::from(HEADER_BYTES);
        if to == Side::Receiver {
            let counts = &mut self.counts[flow];
            counts.delivered_pkts += 1;
            counts.delivered_bytes += bytes;
            counts.marked_pkts += u64::from(packet.datagram.is_ce);
        }
        packet.copies -= 1;
        let datagram = if packet.copies > 0 {
            packet.datagram.clone()
        } else {
            self.free.push(id);
            self.packets[id as usize].take().expect("a packet under way").datagram
        };
        Arrival { flow, to, datagram }
    }

    fn fly(&mut self, at_ns: u64, id: u32, behind: u32) {
        self.sent += 1;
        self.wires.push(Reverse((at_ns, self.sent, id, behind)));
    }

    fn enter(&mut self, now_ns: u64, id: u32, link: u32) {
        while self.departures_ns[link as usize] <= now_ns
            && !self.links[link as usize].precedes_departure(now_ns)
        {
            self.depart(link);
        }
        let packet = self.packets[id as usize].as_ref().expect("a packet under way");
        let bytes = packet.datagram.data.len() as u32 + HEADER_BYTES;
        let codepoint = if packet.datagram.is_ect { Codepoint::Ect0 } else { Codepoint::NotEct };
        self.links[link as usize].accept(now_ns, id.into(), bytes, packet.flow, codepoint);
        self.settle(link);
    }

    fn depart(&mut self, link: u32) {
        if let Some(crossed) = self.links[link as usize].depart() {
            let id = crossed.packet as u32;
            let packet = self.packets[id as usize].as_mut().expect("a packet under way");
            let route = route(&self.scenario.flows[packet.flow as usize], packet.to);
            let behind = route.iter().position(|&hop| hop == link).map_or(0, |hop| hop as u32 + 1);
            packet.datagram.is_ce |= crossed.marked;
            packet.copies += crossed.copies;
            (0..crossed.copies).for_each(|_| self.fly(crossed.at_ns, id, behind));
            self.release(id, crossed.copies == 0);
        }
        self.settle(link);
    }

    /// After a call of the link.
    fn settle(&mut self, link: u32) {
        let dropped: Vec<u64> = self.links[link as usize].take_dropped().collect();
        dropped.into_iter().for_each(|id| self.release(id as u32, true));
        self.departures_ns[link as usize] = self.links[link as usize].next_departure_ns().unwrap_or(NEVER);
    }

    /// A copy less.
    fn release(&mut self, id: u32, is_lost: bool) {
        let packet = self.packets[id as usize].as_mut().expect("a packet under way");
        if is_lost && packet.to == Side::Receiver {
            self.counts[packet.flow as usize].lost_pkts += 1;
        }
        packet.copies -= 1;
        if packet.copies == 0 {
            self.packets[id as usize] = None;
            self.free.push(id);
        }
    }

    /// Datagrams that are neither delivered nor lost.
    pub fn under_way(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    pub fn begin_measuring(&mut self, now_ns: u64) {
        self.links.iter_mut().for_each(|link| link.begin_measuring(now_ns));
    }

    pub fn sample(&mut self, now_ns: u64, samples: &mut LinkSamples) {
        for (index, before) in &mut self.sampled {
            let link = &self.links[*index as usize];
            let (lost, marked) = link.lost_and_marked();
            let before = std::mem::replace(before, (lost, marked));
            samples.time_s.push(now_ns as f64 / 1e9);
            samples.link.push(*index);
            samples.queue_pkts.push(link.held_pkts(now_ns) as u32);
            samples.queue_ms.push(link.wait_ns(now_ns).map_or(f64::INFINITY, |ns| ns as f64 * 1e-6));
            samples.dropped_pkts.push(lost - before.0);
            samples.marked_pkts.push(marked - before.1);
        }
    }

    pub fn results(&self, end_ns: u64) -> Vec<LinkResult> {
        self.links.iter().map(|link| link.result(end_ns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;

    /// 8 Mbps: 1 µs for a byte; 5 ms each way; four packets.
    fn scenario(more: &str) -> Scenario {
        let text = format!(
            "duration = '1 s'\n[[links]]\nname = 'there'\nrate = '8 Mbps'\ndelay = '5 ms'\nbuffer = 4\n{more}\
             [[flows]]\ncca = 'reno'\npath = ['there']\n"
        );
        Scenario::from_toml(&text, "path.toml", &[]).unwrap()
    }

    /// 1,000 bytes on the wire.
    fn datagram() -> Datagram {
        Datagram { data: BytesMut::zeroed(1000 - HEADER_BYTES as usize), is_ect: false, is_ce: false }
    }

    fn arrivals(network: &mut Network) -> Vec<(u64, Side)> {
        let mut arrived = Vec::new();
        while network.next_ns() < NEVER {
            let now_ns = network.next_ns();
            arrived.extend(network.advance(now_ns).map(|arrival| (now_ns, arrival.to)));
        }
        arrived
    }

    #[test]
    fn packets_take_their_sending_and_their_delay_and_the_fifth_of_a_burst_is_dropped() {
        let scenario = scenario("");
        let mut network = Network::new(&scenario, 1);
        (0..5).for_each(|_| network.send(0, 0, Side::Receiver, datagram()));
        assert_eq!(network.counts[0].lost_pkts, 1);
        // The n-th is sent after n ms and arrives 5 ms later.
        let expected: Vec<_> = (1..=4).map(|n| (n * 1_000_000 + 5_000_000, Side::Receiver)).collect();
        assert_eq!(arrivals(&mut network), expected);
        assert_eq!((network.counts[0].sent_pkts, network.counts[0].delivered_bytes), (5, 4000));
        let link = &network.results(1_000_000_000)[0];
        assert_eq!((link.delivered_pkts, link.dropped_pkts, link.max_queue_pkts), (4, 1, 4));
        assert_eq!(link.utilization, 0.004);
    }

    #[test]
    fn a_packet_that_arrives_as_another_leaves_finds_it_still_there() {
        let scenario = scenario("");
        for (at_ns, lost_pkts) in [(1_000_000, 1), (1_000_001, 0)] {
            let mut network = Network::new(&scenario, 1);
            (0..4).for_each(|_| network.send(0, 0, Side::Receiver, datagram()));
            while network.next_ns() < at_ns {
                network.advance(at_ns - 1);
            }
            network.send(at_ns, 0, Side::Receiver, datagram());
            assert_eq!(network.counts[0].lost_pkts, lost_pkts);
        }
    }

    #[test]
    fn the_constant_way_back_takes_the_delay_and_the_sending_of_an_ack() {
        let scenario = scenario("");
        let mut network = Network::new(&scenario, 1);
        network.send(0, 0, Side::Sender, datagram());
        // 5 ms, and 66 bytes at 1 µs each.
        assert_eq!(arrivals(&mut network), [(5_066_000, Side::Sender)]);
    }

    #[test]
    fn a_wire_that_copies_every_packet_delivers_both() {
        let scenario = scenario("duplicate = 1\n");
        let mut network = Network::new(&scenario, 1);
        network.send(0, 0, Side::Receiver, datagram());
        assert_eq!(arrivals(&mut network).len(), 2);
        assert!(network.packets.iter().all(Option::is_none));
    }
}
