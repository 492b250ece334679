//! A run as bytes (MessagePack), for another library of the same version in the same process. No file has this form.

use crate::{Error, FlowResult, FlowSamples, GroupSamples, LinkSamples, Run, Transfers};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A run in full: its rows as JSON has them, and what JSON leaves out.
#[derive(Serialize, Deserialize)]
struct Whole<'a> {
    rows: Cow<'a, Run>,
    slow_starts_s: Vec<Option<f64>>,
    world: Cow<'a, str>,
    flow_samples: Cow<'a, FlowSamples>,
    group_samples: Cow<'a, GroupSamples>,
    link_samples: Cow<'a, LinkSamples>,
    transfers: Cow<'a, Transfers>,
    packets: u64,
    last_arrival_ns: u64,
    notes: Cow<'a, [String]>,
}

impl Run {
    /// The whole run as bytes, time series included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let whole = Whole {
            rows: Cow::Borrowed(self),
            slow_starts_s: self.flows.iter().map(|flow| flow.slow_start_s).collect(),
            world: Cow::Borrowed(&self.world),
            flow_samples: Cow::Borrowed(&self.flow_samples),
            group_samples: Cow::Borrowed(&self.group_samples),
            link_samples: Cow::Borrowed(&self.link_samples),
            transfers: Cow::Borrowed(&self.transfers),
            packets: self.packets,
            last_arrival_ns: self.last_arrival_ns,
            notes: Cow::Borrowed(&self.notes),
        };
        rmp_serde::to_vec_named(&whole).expect("rows and columns have a form in MessagePack")
    }

    /// Reads what [`Run::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a run of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Run, Error> {
        let whole: Whole = rmp_serde::from_slice(bytes).map_err(|error| Error::Form(error.into()))?;
        let Run { seed, flows, links, .. } = whole.rows.into_owned();
        if flows.len() != whole.slow_starts_s.len() {
            return Err(Error::SlowStarts { flows: flows.len(), slow_starts: whole.slow_starts_s.len() });
        }
        let slow_starts_s = whole.slow_starts_s.into_iter();
        let flows = flows.into_iter().zip(slow_starts_s);
        Ok(Run {
            world: Cow::Owned(whole.world.into_owned()),
            seed,
            flows: flows.map(|(flow, slow_start_s)| FlowResult { slow_start_s, ..flow }).collect(),
            links,
            flow_samples: whole.flow_samples.into_owned(),
            group_samples: whole.group_samples.into_owned(),
            link_samples: whole.link_samples.into_owned(),
            transfers: whole.transfers.into_owned(),
            packets: whole.packets,
            last_arrival_ns: whole.last_arrival_ns,
            notes: whole.notes.into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkResult;

    /// A run with a value of its own in every field.
    fn run() -> Run {
        let flow = FlowResult {
            flow: 1,
            cca: "cubic".to_owned(),
            start_s: 0.1,
            stop_s: 1.0 / 3.0,
            sent_pkts: 2,
            retransmitted_pkts: 3,
            delivered_pkts: 4,
            lost_pkts: 5,
            timeouts: 6,
            throughput_mbps: 0.7,
            goodput_mbps: 0.8,
            loss_ratio: 0.9,
            mean_rtt_ms: Some(1.1),
            p95_rtt_ms: None,
            mean_cwnd_pkts: 1.2,
            marked_pkts: u64::MAX,
            fct_ms: Some(1.3),
            fct_p50_ms: Some(1.4),
            fct_p95_ms: Some(1.5),
            fct_p99_ms: Some(1.6),
            slowdown_p50: Some(1.7),
            slowdown_p99: Some(1.8),
            slow_start_s: Some(1.9),
        };
        let link = LinkResult {
            link: "bottleneck".to_owned(),
            delivered_pkts: 1,
            dropped_pkts: 2,
            error_pkts: 3,
            mean_queue_pkts: 0.4,
            max_queue_pkts: 5,
            utilization: 0.6,
            p95_queue_ms: Some(0.7),
            marked_pkts: 8,
        };
        Run {
            world: "s2n-quic".into(),
            seed: 7,
            flows: vec![flow, FlowResult::default()],
            links: vec![link],
            flow_samples: FlowSamples {
                time_s: vec![0.1, 0.2],
                flow: vec![1, 2],
                cwnd_pkts: vec![3, 4],
                min_cwnd_pkts: vec![5, 6],
                max_cwnd_pkts: vec![7, 8],
                ssthresh_pkts: vec![9, u32::MAX],
                in_flight_pkts: vec![10, 11],
                rtt_ms: vec![0.3, f64::MIN_POSITIVE],
                throughput_mbps: vec![0.4, 0.5],
                marked_pkts: vec![12, 13],
            },
            group_samples: GroupSamples {
                time_s: vec![0.1],
                group: vec![1],
                flows: vec![2],
                mean_cwnd_pkts: vec![f64::NAN],
                min_cwnd_pkts: vec![3],
                max_cwnd_pkts: vec![4],
                in_flight_pkts: vec![5],
                rtt_ms: vec![0.6],
                throughput_mbps: vec![0.7],
                marked_pkts: vec![8],
            },
            link_samples: LinkSamples {
                time_s: vec![0.1],
                link: vec![1],
                queue_pkts: vec![2],
                queue_ms: vec![f64::INFINITY],
                dropped_pkts: vec![3],
                marked_pkts: vec![4],
            },
            transfers: Transfers {
                flow: vec![1],
                start_s: vec![0.2],
                size_bytes: vec![3],
                fct_ms: vec![f64::NAN],
                slowdown: vec![-0.0],
                retransmitted_pkts: vec![4],
            },
            packets: 8,
            last_arrival_ns: 9,
            notes: vec!["A note.".to_owned()],
        }
    }

    #[test]
    fn a_run_comes_back_whole() {
        let run = run();
        let back = Run::from_bytes(&run.to_bytes()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{run:?}")); // NaN is not equal to itself
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = run().to_bytes();
        for length in 0..bytes.len() {
            assert!(Run::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        assert!(Run::from_bytes(b"\x80").unwrap_err().to_string().contains("missing field"));
    }
}
