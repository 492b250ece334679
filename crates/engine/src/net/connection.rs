//! A connection, and what is counted of it.

use crate::net::endpoints::Endpoints;
use crate::net::group::Group;
use crate::net::measure::counts::Counts;
use crate::net::measure::observe::AckCounts;
use crate::time::NEVER;

pub struct Connection<'a> {
    pub ends: Box<dyn Endpoints<'a> + 'a>,
    /// In the scenario.
    pub flow: u32,
    /// Its number among the transfers of a flow with arrivals.
    pub transfer: u64,
    /// Data packets that links dropped or lost.
    pub lost_pkts: u64,
    /// ACKs of all transfers that have had this place.
    pub acks: AckCounts,
    /// Data packets and ACKs between the ends.
    pub under_way_pkts: u64,
    /// When the first event comes that was scheduled for its timers, or NEVER. A timer may have moved since; the event then finds
    /// nothing due.
    pub timer_event_ns: u64,
    /// When it began, and when the warmup ended if that is later.
    pub measured_from_ns: u64,
    /// Counts at the end of the warmup, and the segments that had arrived beyond a missing one, each with its payload.
    before: Option<(Counts, Vec<(u64, u32)>)>,
}

impl<'a> Connection<'a> {
    pub fn new(ends: Box<dyn Endpoints<'a> + 'a>, flow: u32, transfer: u64) -> Connection<'a> {
        let measured_from_ns = ends.start_ns();
        Connection {
            ends,
            flow,
            transfer,
            lost_pkts: 0,
            acks: AckCounts::default(),
            under_way_pkts: 0,
            timer_event_ns: NEVER,
            measured_from_ns,
            before: None,
        }
    }

    /// Nothing is to be sent, and neither a packet nor an ACK is between the ends.
    pub fn is_over(&self) -> bool {
        self.ends.is_closed() && self.under_way_pkts == 0 && self.ends.next_due_ns() == NEVER
    }

    /// The warmup ends at `now_ns`.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        if self.measured_from_ns >= now_ns {
            return;
        }
        self.before = Some((self.counts(), self.ends.out_of_order()));
        self.ends.begin_measuring(now_ns);
        self.measured_from_ns = now_ns;
    }

    /// Returns the counts of the whole run.
    pub fn counts(&self) -> Counts {
        Counts { lost: self.lost_pkts, ..self.ends.counts() }
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
        let Some(sender) = self.ends.sender() else { return };
        let counts = [self.counts(), self.measured()];
        let measured = (self.measured_from_ns, sender.flow.stop_ns);
        group.totals.add_sender(sender, counts, measured, self.ends.last_arrival_ns(), self.transfer, end_ns);
    }
}
