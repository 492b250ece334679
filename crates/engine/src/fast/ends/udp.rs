//! The two ends of a flow of datagrams.

use crate::fast::link::timing::Timing;
use crate::fast::network::{Network, PACKETS_PER_LOOK};
use crate::fast::topology::Topology;
use crate::net::datagrams::Datagrams;
use crate::net::endpoints::Endpoints;
use crate::net::measure::counts::Counts;
use crate::time::{NEVER, Tick};

pub struct Udp<'a> {
    id: u32,
    first_hop: u32,
    pub ends: Datagrams<'a>,
    /// When it began, and when the warmup ended if that is later.
    pub measured_from_ns: u64,
    /// Counts at that time.
    before: Counts,
}

impl<'a> Udp<'a> {
    pub fn new(id: u32, first_hop: u32, ends: Datagrams<'a>) -> Udp<'a> {
        Udp { id, first_hop, measured_from_ns: ends.start_ns(), ends, before: Counts::default() }
    }

    fn counts<T: Tick>(&self, topology: &Topology<T>) -> Counts {
        Counts { lost: topology.lost_pkts(self.first_hop), ..self.ends.counts() }
    }

    /// The warmup ends at `now`.
    pub fn begin_measuring<T: Timing>(&mut self, now: u64, network: &mut Network<T>) {
        if self.measured_from_ns < now {
            self.receive_by(now, network);
            self.before = self.counts(&network.topology);
            self.measured_from_ns = now;
        }
    }

    /// The counts since the warmup.
    pub fn measured<T: Tick>(&self, topology: &Topology<T>) -> Counts {
        self.counts(topology).since(self.before)
    }

    /// Does what the two ends do before `until`; returns when they have something to do then.
    pub fn advance<T: Timing>(&mut self, until: u64, network: &mut Network<T>) -> u64 {
        self.receive_by(until - 1, network);
        for sent in 1.. {
            let next_ns = self.ends.next_due_ns();
            if next_ns >= until || sent % PACKETS_PER_LOOK == 0 && network.must_end() {
                break;
            }
            let now = network.timing.reach_sender(self.id, next_ns);
            network.enter(self.first_hop, now, self.ends.send(now));
        }
        let arrival = network.to_receiver[self.id as usize].front();
        self.ends.next_due_ns().min(arrival.map_or(NEVER, |packet| packet.at))
    }

    /// All that is at the receiver by `now` counts.
    pub fn receive_by<T: Timing>(&mut self, now: u64, network: &mut Network<T>) {
        let arriving = &mut network.to_receiver[self.id as usize];
        while let Some(at) = arriving.front().map(|packet| packet.at).filter(|at| *at <= now) {
            arriving.pop_front();
            self.ends.receive(at);
        }
    }
}
