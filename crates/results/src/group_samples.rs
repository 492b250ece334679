//! Time series of groups of flows.

use crate::flow_samples::{FlowRow, FlowSamples, mbps};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Time series of groups of flows, an entry per row in every column. A group has a row while one of its flows lasts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GroupSamples {
    /// Time of the row, from the start of the run.
    pub time_s: Vec<f64>,
    /// In the order of the scenario.
    pub group: Vec<u32>,
    /// Flows that have begun and not stopped, and of flows with arrivals the transfers that are open. The others up to `rtt_ms`
    /// are of these.
    pub flows: Vec<u32>,
    /// NaN if there are none, as `min_cwnd_pkts` and `max_cwnd_pkts` are 0.
    pub mean_cwnd_pkts: Vec<f64>,
    /// The least of the flows' `min_cwnd_pkts`.
    pub min_cwnd_pkts: Vec<u32>,
    /// The greatest of the flows' `max_cwnd_pkts`.
    pub max_cwnd_pkts: Vec<u32>,
    /// The sum.
    pub in_flight_pkts: Vec<u32>,
    /// The mean of the smoothed RTTs; 0 before the first sample.
    pub rtt_ms: Vec<f64>,
    /// All bits on the wire at the receivers since the sample before, or since the first of these flows began.
    pub throughput_mbps: Vec<f64>,
    /// All since the same time.
    pub marked_pkts: Vec<u64>,
}

/// The rows that some flows have at one time, added up. All sums are of whole numbers: their order makes no difference.
#[derive(Clone, Copy, Debug)]
pub struct GroupSum {
    /// One of the flows lasts: the group has a row.
    lasts: bool,
    flows: u32,
    cwnd_pkts: u64,
    cwnd_range_pkts: (u32, u32),
    in_flight_pkts: u64,
    /// Sum of the smoothed RTTs of the flows that have one.
    srtt_ns: u128,
    /// How many these are.
    srtts: u32,
    bits: u64,
    /// The longest.
    span_ns: u64,
    marked_pkts: u64,
}

impl Default for GroupSum {
    /// Returns the sum of no rows.
    fn default() -> GroupSum {
        GroupSum {
            lasts: false,
            flows: 0,
            cwnd_pkts: 0,
            cwnd_range_pkts: (u32::MAX, 0),
            in_flight_pkts: 0,
            srtt_ns: 0,
            srtts: 0,
            bits: 0,
            span_ns: 0,
            marked_pkts: 0,
        }
    }
}

impl From<FlowRow> for GroupSum {
    fn from(row: FlowRow) -> GroupSum {
        GroupSum {
            lasts: true,
            flows: 1,
            cwnd_pkts: row.cwnd_pkts.into(),
            cwnd_range_pkts: row.cwnd_range_pkts,
            in_flight_pkts: row.in_flight_pkts.into(),
            srtt_ns: row.srtt_ns.into(),
            srtts: u32::from(row.srtt_ns > 0),
            bits: row.bits,
            span_ns: row.span_ns,
            marked_pkts: row.marked_pkts,
        }
    }
}

impl GroupSum {
    /// Returns the sum for a flow with arrivals, which has lasted for `span_ns` since the sample before; its transfers are added
    /// by themselves.
    pub fn lasting(span_ns: u64) -> GroupSum {
        GroupSum { lasts: true, span_ns, ..GroupSum::default() }
    }

    /// Adds what has arrived of a transfer that is not open any more.
    pub fn add_arrivals(&mut self, bits: u64, marked_pkts: u64) {
        self.bits += bits;
        self.marked_pkts += marked_pkts;
    }
}

impl AddAssign for GroupSum {
    fn add_assign(&mut self, other: GroupSum) {
        self.lasts |= other.lasts;
        self.flows += other.flows;
        self.cwnd_pkts += other.cwnd_pkts;
        let ((min, max), (other_min, other_max)) = (self.cwnd_range_pkts, other.cwnd_range_pkts);
        self.cwnd_range_pkts = (min.min(other_min), max.max(other_max));
        self.in_flight_pkts += other.in_flight_pkts;
        self.srtt_ns += other.srtt_ns;
        self.srtts += other.srtts;
        self.bits += other.bits;
        self.span_ns = self.span_ns.max(other.span_ns);
        self.marked_pkts += other.marked_pkts;
    }
}

impl GroupSamples {
    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// Adds the rows at `time_ns` of all groups, in their order.
    pub fn push(&mut self, time_ns: u64, sums: impl IntoIterator<Item = GroupSum>) {
        for (group, sum) in (0..).zip(sums) {
            if !sum.lasts {
                continue;
            }
            let (min_cwnd_pkts, max_cwnd_pkts) = if sum.flows > 0 { sum.cwnd_range_pkts } else { (0, 0) };
            self.time_s.push(time_ns as f64 / 1e9);
            self.group.push(group);
            self.flows.push(sum.flows);
            self.mean_cwnd_pkts.push(sum.cwnd_pkts as f64 / f64::from(sum.flows));
            self.min_cwnd_pkts.push(min_cwnd_pkts);
            self.max_cwnd_pkts.push(max_cwnd_pkts);
            self.in_flight_pkts.push(sum.in_flight_pkts.try_into().unwrap_or(u32::MAX));
            self.rtt_ms.push(sum.srtt_ns as f64 / f64::from(sum.srtts.max(1)) * 1e-6);
            self.throughput_mbps.push(mbps(sum.bits, sum.span_ns));
            self.marked_pkts.push(sum.marked_pkts);
        }
    }
}

/// The time series of `rows`, each with its time in nanoseconds and its flow, in any order: by flow, or by group. `groups`: how
/// many flows each group has, in the order of the flows; empty: by flow.
pub fn time_series(mut rows: Vec<(u64, u32, FlowRow)>, groups: &[u32]) -> (FlowSamples, GroupSamples) {
    rows.sort_by_key(|&(time_ns, flow, _)| (time_ns, flow));
    let (mut by_flow, mut by_group) = (FlowSamples::default(), GroupSamples::default());
    if groups.is_empty() {
        rows.iter().for_each(|(time_ns, flow, row)| by_flow.push(*time_ns, *flow, row));
        return (by_flow, by_group);
    }
    let sizes = (0..).zip(groups);
    let group_of: Vec<usize> =
        sizes.flat_map(|(group, &flows)| std::iter::repeat_n(group, flows as usize)).collect();
    for at_once in rows.chunk_by(|one, other| one.0 == other.0) {
        let mut sums = vec![GroupSum::default(); groups.len()];
        at_once.iter().for_each(|&(_, flow, row)| sums[group_of[flow as usize]] += row.into());
        by_group.push(at_once[0].0, sums);
    }
    (by_flow, by_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cwnd_pkts: u32, srtt_ns: u64, bits: u64, span_ns: u64) -> FlowRow {
        let cwnd_range_pkts = (cwnd_pkts - 1, cwnd_pkts + 5);
        FlowRow {
            cwnd_pkts,
            cwnd_range_pkts,
            srtt_ns,
            bits,
            span_ns,
            in_flight_pkts: 3,
            ..FlowRow::default()
        }
    }

    #[test]
    fn a_group_has_sums_means_and_ranges_of_its_flows_and_the_rate_of_all_its_bits() {
        // Flow 1 began 0.5 s before; it has no RTT yet.
        let rows = vec![
            (2_000_000_000, 1, row(4, 0, 1_000_000, 500_000_000)),
            (2_000_000_000, 0, row(10, 30_000_000, 6_000_000, 1_000_000_000)),
            (2_000_000_000, 2, row(7, 5_000_000, 2_000_000, 1_000_000_000)),
        ];
        let (by_flow, by_group) = time_series(rows.clone(), &[2, 1]);
        assert_eq!(by_flow, FlowSamples::default());
        let expected = GroupSamples {
            time_s: vec![2.0; 2],
            group: vec![0, 1],
            flows: vec![2, 1],
            mean_cwnd_pkts: vec![7.0; 2],
            min_cwnd_pkts: vec![3, 6],
            max_cwnd_pkts: vec![15, 12],
            in_flight_pkts: vec![6, 3],
            rtt_ms: vec![30.0, 5.0],
            throughput_mbps: vec![7.0, 2.0],
            marked_pkts: vec![0; 2],
        };
        assert_eq!(by_group, expected);
        assert_eq!(time_series(rows.into_iter().rev().collect(), &[2, 1]).1, expected);
    }

    #[test]
    fn a_group_without_a_flow_at_a_time_has_no_row_then() {
        let (_, by_group) = time_series(vec![(5, 1, row(2, 0, 0, 0)), (7, 0, row(2, 0, 0, 0))], &[1, 1]);
        assert_eq!((by_group.time_s, by_group.group), (vec![5e-9, 7e-9], vec![1, 0]));
    }
}
