//! Datagrams at a constant rate, and their sink.

use crate::net::endpoints::{Endpoints, Packet};
use crate::net::measure::counts::{Counts, Received};
use crate::net::measure::rows::datagrams_row;
use crate::tcp::packet::{Segment, Tag};
use crate::time::NEVER;
use cwnd_results::FlowResult;
use cwnd_scenario::Flow;

/// Datagrams at a constant rate: no ACKs, no retransmissions, no marks.
pub struct Datagrams<'a> {
    flow: &'a Flow,
    start_ns: u64,
    counts: Counts,
    last_arrival_ns: u64,
}

impl<'a> Datagrams<'a> {
    pub fn new(flow: &'a Flow, start_ns: u64) -> Datagrams<'a> {
        Datagrams { flow, start_ns, counts: Counts::default(), last_arrival_ns: 0 }
    }

    /// Sends the next one.
    pub fn send(&mut self, now_ns: u64) -> Segment {
        let tag = Tag::new(self.counts.sent, 0).sized(self.flow.packet_bytes());
        self.counts.sent += 1;
        Segment { tag, sent_ns: now_ns }
    }

    /// One arrives at `at_ns`; of others that arrive sooner the caller may not know yet.
    pub fn receive(&mut self, at_ns: u64) {
        let Received { pkts, bytes, in_order, delivered_bytes, .. } = &mut self.counts.received;
        *pkts += 1;
        if at_ns <= self.flow.stop_ns {
            *bytes += u64::from(self.flow.packet_bytes());
            *in_order += 1;
            *delivered_bytes += u64::from(self.flow.payload_bytes);
        }
        self.last_arrival_ns = self.last_arrival_ns.max(at_ns);
    }
}

impl<'a> Endpoints<'a> for Datagrams<'a> {
    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// It is counted from the start, so that rounding does not add up.
    fn next_due_ns(&self) -> u64 {
        let bits = u128::from(self.counts.sent) * 8 * u128::from(self.flow.payload_bytes);
        let rate_bps = self.flow.app_rate_bps.expect("datagrams have a rate");
        let since_ns = bits * 1_000_000_000 / u128::from(rate_bps);
        let at_ns = u64::try_from(since_ns).map_or(NEVER, |since_ns| self.start_ns.saturating_add(since_ns));
        if at_ns < self.flow.stop_ns { at_ns } else { NEVER }
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Packet>) {
        out.push(Packet::Data(self.send(now_ns)));
    }

    fn on_data(&mut self, now_ns: u64, _: Segment, _: &mut Vec<Packet>) {
        self.receive(now_ns);
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn last_arrival_ns(&self) -> u64 {
        self.last_arrival_ns
    }

    fn is_closed(&self) -> bool {
        self.next_due_ns() == NEVER
    }

    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult {
        datagrams_row(id, self.flow, counts, (self.start_ns, measured_from_ns), end_ns)
    }
}
