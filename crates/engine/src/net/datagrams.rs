//! Datagrams at a constant rate, and their sink.

use crate::net::endpoints::{Endpoints, Load};
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
    sent_pkts: u64,
    arrived_pkts: u64,
    last_arrival_ns: u64,
    at_stop: Option<Received>,
}

/// When packet `number` of a flow that began at `start_ns` is sent, or NEVER. It is counted from the start, so that rounding does
/// not add up.
pub fn sending_ns(flow: &Flow, start_ns: u64, number: u64) -> u64 {
    let bits = u128::from(number) * 8 * u128::from(flow.payload_bytes);
    let since_ns = bits * 1_000_000_000 / u128::from(flow.app_rate_bps.expect("datagrams have a rate"));
    let at_ns = u64::try_from(since_ns).map_or(NEVER, |since_ns| start_ns.saturating_add(since_ns));
    if at_ns < flow.stop_ns { at_ns } else { NEVER }
}

impl<'a> Datagrams<'a> {
    pub fn new(flow: &'a Flow, start_ns: u64) -> Datagrams<'a> {
        Datagrams { flow, start_ns, sent_pkts: 0, arrived_pkts: 0, last_arrival_ns: 0, at_stop: None }
    }

    fn received(&self) -> Received {
        Received::of_datagrams(self.flow, self.arrived_pkts)
    }
}

impl<'a> Endpoints<'a> for Datagrams<'a> {
    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    fn next_due_ns(&self) -> u64 {
        sending_ns(self.flow, self.start_ns, self.sent_pkts)
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Load>) {
        let tag = Tag::new(self.sent_pkts, 0).sized(self.flow.packet_bytes());
        self.sent_pkts += 1;
        out.push(Load::Data(Segment { tag, sent_ns: now_ns }));
    }

    fn on_data(&mut self, now_ns: u64, _: Segment, _: &mut Vec<Load>) {
        if now_ns > self.flow.stop_ns && self.at_stop.is_none() {
            self.at_stop = Some(self.received());
        }
        self.arrived_pkts += 1;
        self.last_arrival_ns = now_ns;
    }

    fn counts(&self) -> Counts {
        let received = self.received().until(self.at_stop);
        Counts { sent: self.sent_pkts, received, ..Counts::default() }
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
