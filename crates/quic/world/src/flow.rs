//! A flow of a run: its connection, and what is counted of it.

use crate::end::{Connection, Shared};
use crate::network::Counts;
use crate::received::Missing;
use crate::seen::Seen;
use cwnd_results::{FlowResult, FlowRow, Transfers};
use cwnd_scenario::{Flow, Scenario, Size};
use std::sync::{MutexGuard, PoisonError};

/// Payload that is missing for less may be on its way.
const MISSING_NS: u64 = 1_000_000_000;

/// As samples write it: not set.
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// A flow between its start and its stop.
pub struct Running<'a> {
    pub index: usize,
    pub flow: &'a Flow,
    pub start_ns: u64,
    pub connection: Box<dyn Connection + 'a>,
    seen: Shared,
    /// At the end of the warmup.
    before: (Counts, u64, u64),
    from_ns: u64,
    /// Of the last row of samples: when, bytes delivered and marks.
    sampled: (u64, u64, u64),
    /// When it stopped or finished, and what was counted then.
    stopped: Option<(u64, Counts, u64, u64)>,
}

pub fn size_bytes(flow: &Flow) -> Option<u64> {
    match flow.size()? {
        Size::Fixed { bytes } => Some(*bytes),
        _ => None,
    }
}

fn mbps(bytes: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { (bytes * 8) as f64 * 1e3 / span_ns as f64 }
}

impl<'a> Running<'a> {
    pub fn new(
        index: usize,
        flow: &'a Flow,
        start_ns: u64,
        connection: Box<dyn Connection + 'a>,
        seen: Shared,
    ) -> Running<'a> {
        Running {
            index,
            flow,
            start_ns,
            connection,
            seen,
            before: (Counts::default(), 0, 0),
            from_ns: start_ns,
            sampled: (start_ns, 0, 0),
            stopped: None,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has a row of samples at `now_ns`.
    pub fn lasts_at(&self, now_ns: u64) -> bool {
        self.stopped.is_none_or(|(at_ns, ..)| now_ns <= at_ns)
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    pub fn stop(&mut self, now_ns: u64, counts: Counts) {
        if self.stopped.is_none() {
            let held_lost = self.connection.held_lost_pkts();
            self.stopped = Some((now_ns, counts, self.connection.received().bytes(), held_lost));
        }
    }

    pub fn begin_measuring(&mut self, now_ns: u64, counts: Counts) {
        // What has arrived by now does not count, even if it is in order only later.
        let received_bytes = self.connection.received().bytes() + self.connection.early_bytes();
        self.before = (counts, received_bytes, self.connection.held_lost_pkts());
        self.from_ns = now_ns;
        self.seen().begin_measuring(now_ns);
    }

    /// Its row of samples at `now_ns`.
    pub fn sample(&mut self, now_ns: u64, counts: Counts) -> FlowRow {
        let (at_ns, bytes, marked) = self.sampled;
        let (look, srtt_ns) = {
            let mut seen = self.seen();
            (seen.look(), seen.srtt_ns)
        };
        self.sampled = (now_ns, counts.delivered_bytes, counts.marked_pkts);
        FlowRow {
            cwnd_pkts: look.cwnd_pkts,
            cwnd_range_pkts: (look.min_cwnd_pkts, look.max_cwnd_pkts),
            ssthresh_pkts: look.ssthresh_pkts.unwrap_or(SSTHRESH_INFINITE),
            in_flight_pkts: look.in_flight_pkts,
            srtt_ns,
            bits: 8 * (counts.delivered_bytes - bytes),
            span_ns: now_ns - at_ns,
            marked_pkts: counts.marked_pkts - marked,
        }
    }

    /// A note, if payload has been missing for long.
    pub fn note_missing(&self, stack: &str) -> Option<String> {
        let (stop_ns, ..) = self.stopped?;
        let Missing { bytes, holes, since_ns } = self.connection.received().missing()?;
        let waited_ns = stop_ns.saturating_sub(since_ns);
        (waited_ns >= MISSING_NS).then(|| {
            format!(
                "flow {}: at the end {bytes} bytes of payload in {holes} places had not reached the application for up to {:.1} s; \
                 {stack} may have lost them",
                self.index,
                waited_ns as f64 / 1e9
            )
        })
    }

    /// Its row, and its transfer if it has a size.
    pub fn finish(&mut self, scenario: &Scenario, transfers: &mut Transfers) -> FlowResult {
        let (stop_ns, now, received_bytes, held_lost) = self.stopped.expect("a run stops its flows");
        let (before, received_before, held_lost_before) = self.before;
        let span_ns = stop_ns.saturating_sub(self.from_ns);
        let finished_ns = self.connection.finished_ns();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let sent_pkts = now.sent_pkts - before.sent_pkts;
        let lost_pkts = now.lost_pkts - before.lost_pkts;
        let fct_ms = finished_ns.map(|ns| (ns - self.start_ns) as f64 * 1e-6);
        let retransmitted_pkts = held_lost - held_lost_before;
        if let Some(size_bytes) = size_bytes(self.flow) {
            let slowdown =
                fct_ms.map_or(f64::NAN, |ms| ms * 1e6 / scenario.ideal_fct_ns(self.index, size_bytes));
            transfers.flow.push(self.index as u32);
            transfers.start_s.push(self.start_ns as f64 / 1e9);
            transfers.size_bytes.push(size_bytes);
            transfers.fct_ms.push(fct_ms.unwrap_or(f64::NAN));
            transfers.slowdown.push(slowdown);
            transfers.retransmitted_pkts.push(held_lost);
        }
        FlowResult {
            flow: self.index as u32,
            cca: self.flow.cca.name.clone(),
            start_s: self.start_ns as f64 / 1e9,
            stop_s: stop_ns as f64 / 1e9,
            sent_pkts,
            retransmitted_pkts,
            delivered_pkts: now.delivered_pkts - before.delivered_pkts,
            lost_pkts,
            timeouts: seen.persistent_congestions(),
            throughput_mbps: mbps(now.delivered_bytes - before.delivered_bytes, span_ns),
            goodput_mbps: mbps(received_bytes.saturating_sub(received_before), span_ns),
            mean_rtt_ms: seen.mean_rtt_ms(),
            p95_rtt_ms: seen.p95_rtt_ms(),
            mean_cwnd_pkts: seen.mean_cwnd_pkts(stop_ns),
            marked_pkts: now.marked_pkts - before.marked_pkts,
            // Of a transfer that began in the warmup nothing is measured.
            fct_ms: fct_ms.filter(|_| self.start_ns >= self.from_ns),
            slow_start_s: seen.slow_start_end_ns(stop_ns).map(|ns| (ns - self.start_ns) as f64 / 1e9),
            ..FlowResult::default()
        }
        .with_loss_ratio()
    }
}
