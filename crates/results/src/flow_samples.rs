//! Time series of flows.

use serde::{Deserialize, Serialize};

/// Time series of the flows, an entry per row in every column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FlowSamples {
    /// Time of the row, from the start of the run.
    pub time_s: Vec<f64>,
    /// The flow's number in the scenario.
    pub flow: Vec<u32>,
    /// Congestion window.
    pub cwnd_pkts: Vec<u32>,
    /// The least since the flow's previous row, or since its start, this row's included; `cwnd_pkts` when samples are by
    /// change.
    pub min_cwnd_pkts: Vec<u32>,
    /// The greatest, in the same way.
    pub max_cwnd_pkts: Vec<u32>,
    /// Slow start threshold; 2³¹ - 1: none was set.
    pub ssthresh_pkts: Vec<u32>,
    /// Segments sent and neither delivered nor known to be lost.
    pub in_flight_pkts: Vec<u32>,
    /// Smoothed; 0 before the first sample.
    pub rtt_ms: Vec<f64>,
    /// On the wire at the receiver, since the flow's previous row; 0 when samples are by change.
    pub throughput_mbps: Vec<f64>,
    /// Marked packets that have arrived since the flow's previous row; 0 when samples are by change.
    pub marked_pkts: Vec<u64>,
}

/// Values of a row of a flow's time series, but for its time and its flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowRow {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// The least and the greatest since the flow's previous row, or since its start, this row's included.
    pub cwnd_range_pkts: (u32, u32),
    /// Slow start threshold; 2³¹ - 1: none was set.
    pub ssthresh_pkts: u32,
    /// Segments sent and neither delivered nor known to be lost.
    pub in_flight_pkts: u32,
    /// 0 before the first sample.
    pub srtt_ns: u64,
    /// On the wire at the receiver, in the last `span_ns`.
    pub bits: u64,
    /// Since the flow's previous row, or since its start; 0 when samples are by change.
    pub span_ns: u64,
    /// Marked packets that have arrived in the last `span_ns`.
    pub marked_pkts: u64,
}

/// Over `span_ns`; 0 over no time.
pub fn mbps(bits: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { bits as f64 * 1e3 / span_ns as f64 }
}

impl FlowSamples {
    /// Adds a row of `flow` at `time_ns`.
    pub fn push(&mut self, time_ns: u64, flow: u32, row: &FlowRow) {
        let (min_cwnd_pkts, max_cwnd_pkts) = row.cwnd_range_pkts;
        self.time_s.push(time_ns as f64 / 1e9);
        self.flow.push(flow);
        self.cwnd_pkts.push(row.cwnd_pkts);
        self.min_cwnd_pkts.push(min_cwnd_pkts);
        self.max_cwnd_pkts.push(max_cwnd_pkts);
        self.ssthresh_pkts.push(row.ssthresh_pkts);
        self.in_flight_pkts.push(row.in_flight_pkts);
        self.rtt_ms.push(row.srtt_ns as f64 * 1e-6);
        self.throughput_mbps.push(mbps(row.bits, row.span_ns));
        self.marked_pkts.push(row.marked_pkts);
    }

    /// Adds the rows of `other`.
    pub fn append(&mut self, other: FlowSamples) {
        let FlowSamples {
            time_s,
            flow,
            cwnd_pkts,
            min_cwnd_pkts,
            max_cwnd_pkts,
            ssthresh_pkts,
            in_flight_pkts,
            rtt_ms,
            throughput_mbps,
            marked_pkts,
        } = other;
        self.time_s.extend(time_s);
        self.flow.extend(flow);
        self.cwnd_pkts.extend(cwnd_pkts);
        self.min_cwnd_pkts.extend(min_cwnd_pkts);
        self.max_cwnd_pkts.extend(max_cwnd_pkts);
        self.ssthresh_pkts.extend(ssthresh_pkts);
        self.in_flight_pkts.extend(in_flight_pkts);
        self.rtt_ms.extend(rtt_ms);
        self.throughput_mbps.extend(throughput_mbps);
        self.marked_pkts.extend(marked_pkts);
    }

    /// Sorts the rows by time, then by flow.
    pub fn sort(&mut self) {
        fn pick<V: Copy>(column: &mut Vec<V>, rows: &[usize]) {
            *column = rows.iter().map(|&row| column[row]).collect();
        }
        let mut rows: Vec<usize> = (0..self.flow.len()).collect();
        rows.sort_by(|&a, &b| {
            self.time_s[a].total_cmp(&self.time_s[b]).then(self.flow[a].cmp(&self.flow[b]))
        });
        pick(&mut self.time_s, &rows);
        pick(&mut self.flow, &rows);
        pick(&mut self.cwnd_pkts, &rows);
        pick(&mut self.min_cwnd_pkts, &rows);
        pick(&mut self.max_cwnd_pkts, &rows);
        pick(&mut self.ssthresh_pkts, &rows);
        pick(&mut self.in_flight_pkts, &rows);
        pick(&mut self.rtt_ms, &rows);
        pick(&mut self.throughput_mbps, &rows);
        pick(&mut self.marked_pkts, &rows);
    }
}
