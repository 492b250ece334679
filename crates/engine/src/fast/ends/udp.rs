//! Datagrams at a constant distance: no ACKs, no retransmissions, no marks.

use crate::fast::ends::noted::Noted;
use crate::fast::link::reverse::ReversePath;
use crate::fast::link::timing::Timing;
use crate::fast::network::{Network, PACKETS_PER_LOOK};
use crate::fast::topology::Topology;
use crate::net::datagrams::sending_ns;
use crate::net::measure::counts::{Counts, Received};
use crate::tcp::packet::{Segment, Tag};
use crate::time::{NEVER, Tick};
use cwnd_scenario::Flow;

/// Both ends of such a flow.
pub struct Udp<'a> {
    pub id: u32,
    pub flow: &'a Flow,
    first_hop: u32,
    way_back: ReversePath,
    pub start_ns: u64,
    pub sent: u64,
    pub arrived: u64,
    noted: Noted,
    note_after_ns: u64,
    pub last_arrival_ns: u64,
}

impl<'a> Udp<'a> {
    pub fn new(id: u32, flow: &'a Flow, start_ns: u64, first_hop: u32, warmup_ns: u64) -> Udp<'a> {
        let warmup_ns = if warmup_ns > start_ns { warmup_ns } else { 0 };
        let noted = Noted::new(warmup_ns, flow.stop_ns);
        Udp {
            id,
            flow,
            first_hop,
            way_back: ReversePath::new(flow),
            start_ns,
            sent: 0,
            arrived: 0,
            noted,
            note_after_ns: 0,
            last_arrival_ns: 0,
        }
    }

    fn received(&self) -> Received {
        Received::of_datagrams(self.flow, self.arrived)
    }

    /// Returns the counts of the flow.
    fn counts<T: Tick>(&self, topology: &Topology<T>) -> Counts {
        let received = self.received().until(self.noted.at_stop);
        Counts { sent: self.sent, lost: topology.lost_pkts(self.first_hop), received, ..Counts::default() }
    }

    /// The warmup ends.
    pub fn begin_measuring<T: Tick>(&mut self, topology: &Topology<T>) {
        if self.noted.warmup_ns > 0 {
            self.noted.sent_before = self.counts(topology);
        }
    }

    /// The counts since the warmup.
    pub fn measured<T: Tick>(&self, topology: &Topology<T>) -> Counts {
        let counts = self.counts(topology);
        if self.noted.warmup_ns == 0 {
            return counts;
        }
        let received = self.noted.at_warmup.unwrap_or_else(|| self.received());
        counts.since(Counts { received, ..self.noted.sent_before })
    }

    /// From when on the flow is measured.
    pub fn measured_from_ns(&self) -> u64 {
        self.start_ns.max(self.noted.warmup_ns)
    }

    /// When the next packet is sent, or NEVER.
    pub fn next_ns(&self) -> u64 {
        sending_ns(self.flow, self.start_ns, self.sent)
    }

    /// Does what the two ends do before `until`; returns when they have something to do then.
    pub fn advance<T: Timing>(&mut self, until: u64, network: &mut Network<T>) -> u64 {
        // A packet counts when an ACK of it would be back: until then others may arrive before it.
        while let Some(at) = network.to_receiver[self.id as usize].front().map(|packet| packet.at)
            && self.way_back.ack_arrival_ns(at) < until
        {
            network.to_receiver[self.id as usize].pop_front();
            self.receive(at);
        }
        for sent in 1.. {
            let next_ns = self.next_ns();
            if next_ns >= until || sent % PACKETS_PER_LOOK == 0 && network.must_end() {
                break;
            }
            let now = network.timing.reach_sender(self.id, next_ns);
            let tag = Tag::new(self.sent, 0).sized(self.flow.packet_bytes());
            self.sent += 1;
            network.enter(self.first_hop, now, Segment { tag, sent_ns: now });
        }
        let arrival = network.to_receiver[self.id as usize].front();
        self.next_ns().min(arrival.map_or(NEVER, |packet| self.way_back.ack_arrival_ns(packet.at)))
    }

    pub fn receive(&mut self, at: u64) {
        if at > self.note_after_ns {
            self.note_after_ns = self.noted.note(at, self.received(), std::iter::empty());
        }
        self.arrived += 1;
        self.last_arrival_ns = at;
    }
}
