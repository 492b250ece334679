//! Some of a run's connections and what is between their ends: what a thread takes through a span by itself.

use crate::fast::ends::connection::Connection;
use crate::fast::ends::udp::Udp;
use crate::fast::link::timing::Timing;
use crate::fast::network::{Network, PACKETS_PER_LOOK};
use crate::memory::ring::Ring;
use crate::net::endpoints::Endpoints;
use crate::net::measure::samples::FlowSampler;
use crate::time::NEVER;
use cwnd_algorithms::CongestionControl;
use std::collections::BTreeMap;

/// Number of flows ahead whose arrivals are prefetched; their path is prefetched twice as far ahead, their state three times.
const FLOWS_AHEAD: usize = 3;
/// A flow that has nothing to do for so long gives back the memory for packets on their way to its receiver.
const IDLE_NS: u64 = 1_000_000_000;

/// Numbers that are dealt out to the shards in turns, as those of connections: number `id` of the run is number `id / shards` of
/// shard `id % shards`.
#[derive(Clone, Copy)]
pub struct Numbering {
    pub shards: u32,
}

impl Numbering {
    #[inline(always)]
    pub fn shard(self, id: u32) -> usize {
        (id % self.shards) as usize
    }

    /// The number within the shard.
    #[inline(always)]
    pub fn local(self, id: u32) -> u32 {
        id / self.shards
    }

    /// The number among all.
    #[inline(always)]
    pub fn id(self, shard: usize, local: u32) -> u32 {
        local * self.shards + shard as u32
    }
}

pub struct Shard<'a, C, T: Timing> {
    pub network: Network<'a, T>,
    /// Those of the scenario, in its order, and further ones of flows with arrivals. None: a flow of datagrams, or no transfer of
    /// it has begun.
    pub flows: Vec<Option<Connection<'a, C>>>,
    /// Flows of datagrams, by their places among the flows.
    pub udps: BTreeMap<u32, Udp<'a>>,
    pub sampler: FlowSampler,
    /// Connections that had nothing to do after the last span.
    pub resting: Vec<u32>,
}

impl<C: CongestionControl, T: Timing> Shard<'_, C, T> {
    /// Simulates the ends of the flows before `until`.
    pub fn run_ends(&mut self, until: u64) {
        let due = self.network.agenda.take(until);
        for (place, &flow) in due.iter().enumerate() {
            if let Some(&ahead) = due.get(place + 3 * FLOWS_AHEAD) {
                Connection::prefetch(&self.flows[ahead as usize]);
            }
            let ahead = |flows| self.flows[*due.get(place + flows)? as usize].as_ref();
            if let Some(flow) = ahead(2 * FLOWS_AHEAD) {
                self.network.prefetch_path(flow.id, flow.first_hop);
            }
            if let Some(flow) = ahead(FLOWS_AHEAD) {
                self.network.prefetch_ends(flow.id, flow.first_hop);
                flow.prefetch_rest();
            }
            if let Some(flow) = ahead(1) {
                flow.prefetch_last();
            }
            let next = self.run_ends_of(flow, until);
            self.network.agenda.set(flow, next);
            if next.saturating_sub(until) >= IDLE_NS {
                self.rest(flow, next);
            }
        }
        self.network.agenda.settle(due, until);
    }

    /// The flow `id` has nothing to do before `next`, or at all, unless a packet is still on its way to the receiver. One that
    /// is over keeps its counts.
    #[cold]
    fn rest(&mut self, id: u32, next: u64) {
        let packets = &mut self.network.to_receiver[id as usize];
        if packets.len() == 0 {
            *packets = Ring::new();
        }
        let Some(flow) = &mut self.flows[id as usize] else { return };
        flow.sender.rest();
        if next == NEVER {
            if flow.is_over(&self.network) {
                flow.forget();
            }
            self.resting.push(id);
        }
    }

    /// Simulates the two ends of a flow before `until`; returns when they have something to do then. Many packets are gone
    /// through in parts, to look in between whether the run goes on.
    fn run_ends_of(&mut self, id: u32, until: u64) -> u64 {
        let Shard { network, flows, udps, sampler, .. } = self;
        let Some(flow) = &mut flows[id as usize] else {
            return udps.get_mut(&id).map_or(NEVER, |udp| udp.advance(until, network));
        };
        let mut due = network.agenda.due_ns(id);
        loop {
            let part = network.to_receiver[id as usize]
                .get(PACKETS_PER_LOOK)
                .map_or(until, |packet| flow.way_back.ack_arrival_ns(packet.at).max(due + 1).min(until));
            let after_each = sampler
                .by_change
                .then_some(|now, flow: &Connection<_>| sampler.sample_change(now, flow.id, &flow.sender));
            due = flow.advance(part, network, after_each);
            if part == until || network.must_end() {
                return due;
            }
        }
    }

    /// Delivers the packets that arrive at the receivers by the `end` of the run, and whose ACKs do not return by then.
    pub fn take_last_arrivals(&mut self, end: u64) {
        self.network.inboxes = Vec::new();
        self.udps.values_mut().for_each(|udp| udp.receive_by(end, &mut self.network));
        let to_receiver = std::mem::take(&mut self.network.to_receiver);
        for (flow, packets) in self.flows.iter_mut().zip(to_receiver) {
            let Some(flow) = flow else { continue };
            for packet in packets.iter().take_while(|packet| packet.at <= end) {
                flow.note_arrival(packet.at);
                flow.note_bytes(packet.at, packet.segment);
                flow.receiver.receive(packet.at, packet.segment);
            }
        }
    }

    /// When the last packet arrived at a receiver; 0: none did.
    pub fn last_arrival_ns(&self) -> u64 {
        let arrivals = self.flows.iter().flatten().map(|flow| flow.last_arrival_ns);
        arrivals.chain(self.udps.values().map(|udp| udp.ends.last_arrival_ns())).max().unwrap_or(0)
    }
}
