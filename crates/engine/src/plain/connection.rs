//! A connection, and what is counted of it.

use crate::counts::Counts;
use crate::path::queue::discipline::Codepoint;
use crate::plain::ends::{Datagrams, Endpoints, Tcp};
use crate::time::NEVER;
use crate::traffic::group::Group;
use cwnd_scenario::{Ecn, Flow};

pub enum Ends<'a> {
    Tcp(Box<Tcp<'a>>),
    Datagrams(Datagrams<'a>),
}

pub struct Connection<'a> {
    pub ends: Ends<'a>,
    /// In the scenario.
    pub flow: u32,
    /// Its number among the transfers of a flow with arrivals.
    pub transfer: u64,
    /// Data packets that links dropped or lost.
    pub lost_pkts: u64,
    /// Data packets and ACKs between the ends.
    pub under_way_pkts: u64,
    /// When the event comes that was scheduled last for its timers, or NEVER.
    pub timer_at_ns: u64,
    /// When it began, and when the warmup ended if that is later.
    pub measured_from_ns: u64,
    /// What had been counted when the warmup ended, and the segments that had arrived beyond a missing one, each with its payload.
    before: Option<(Counts, Vec<(u64, u32)>)>,
}

impl<'a> Connection<'a> {
    pub fn new(ends: Ends<'a>, flow: u32, transfer: u64) -> Connection<'a> {
        let measured_from_ns = match &ends {
            Ends::Tcp(tcp) => tcp.sender.start_ns,
            Ends::Datagrams(datagrams) => datagrams.start_ns,
        };
        Connection {
            ends,
            flow,
            transfer,
            lost_pkts: 0,
            under_way_pkts: 0,
            timer_at_ns: NEVER,
            measured_from_ns,
            before: None,
        }
    }

    pub fn endpoints(&mut self) -> &mut dyn Endpoints {
        match &mut self.ends {
            Ends::Tcp(tcp) => &mut **tcp,
            Ends::Datagrams(datagrams) => datagrams,
        }
    }

    pub fn last_arrival_ns(&self) -> u64 {
        match &self.ends {
            Ends::Tcp(tcp) => tcp.last_arrival_ns(),
            Ends::Datagrams(datagrams) => datagrams.last_arrival_ns(),
        }
    }

    pub fn tcp(&self) -> Option<&Tcp<'a>> {
        match &self.ends {
            Ends::Tcp(tcp) => Some(tcp),
            Ends::Datagrams(_) => None,
        }
    }

    /// Nothing is to be sent, and neither a packet nor an ACK is between the ends.
    pub fn is_over(&mut self) -> bool {
        let is_closed = self.tcp().is_some_and(|tcp| tcp.sender.closed);
        is_closed && self.under_way_pkts == 0 && self.endpoints().next_due_ns() == NEVER
    }

    /// The warmup ends at `now_ns`.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        if self.measured_from_ns >= now_ns {
            return;
        }
        let counts = self.counts();
        let mut early = Vec::new();
        if let Ends::Tcp(tcp) = &mut self.ends {
            early = tcp.early();
            tcp.sender.begin_measuring(now_ns);
        }
        self.measured_from_ns = now_ns;
        self.before = Some((counts, early));
    }

    /// Of the whole run.
    pub fn counts(&self) -> Counts {
        let counts = match &self.ends {
            Ends::Tcp(tcp) => tcp.counts(),
            Ends::Datagrams(datagrams) => datagrams.counts(),
        };
        Counts { lost: self.lost_pkts, ..counts }
    }

    /// Since the warmup. Payload that had arrived before its end, and was in order after it, does not count.
    pub fn measured(&self) -> Counts {
        let counts = self.counts();
        let Some((before, early)) = &self.before else { return counts };
        let mut measured = counts.since(*before);
        let in_order = early.iter().filter(|(seq, _)| *seq < counts.received.in_order);
        let early_bytes: u64 = in_order.map(|(_, bytes)| u64::from(*bytes)).sum();
        measured.received.delivered_bytes = measured.received.delivered_bytes.saturating_sub(early_bytes);
        measured
    }

    /// Adds a connection that is over, or at the end of the run, to the sums of its flow.
    pub fn add_to(&self, group: &mut Group, end_ns: u64) {
        let Some(tcp) = self.tcp() else { return };
        let counts = [self.counts(), self.measured()];
        let measured = (self.measured_from_ns, tcp.sender.flow.stop_ns);
        group.totals.add_sender(&tcp.sender, counts, measured, self.last_arrival_ns(), self.transfer, end_ns);
    }
}

/// What the data packets of a flow say of ECN (RFC 3168, RFC 9331).
pub fn codepoint(flow: &Flow) -> Codepoint {
    match flow.stack.ecn {
        _ if flow.cca.is_udp() => Codepoint::NotEct,
        Ecn::Off => Codepoint::NotEct,
        Ecn::Classic | Ecn::Dctcp | Ecn::Accurate => Codepoint::Ect0,
        Ecn::L4s => Codepoint::Ect1,
    }
}
