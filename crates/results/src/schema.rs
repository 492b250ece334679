//! The rows of a run. The field names are those of the JSON and of the Parquet tables.

use crate::flow_samples::FlowSamples;
use crate::group_samples::GroupSamples;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// One run of one scenario with one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Run {
    /// Where the run was made, as worlds are named where they are chosen.
    #[serde(skip)]
    pub world: Cow<'static, str>,
    /// Seed of the run.
    pub seed: u64,
    /// In the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// In the order of the scenario.
    pub links: Vec<LinkResult>,
    /// Time series of the flows.
    #[serde(skip)]
    pub flow_samples: FlowSamples,
    /// With samples by group, instead of those of flows.
    #[serde(skip)]
    pub group_samples: GroupSamples,
    /// Time series of the links.
    #[serde(skip)]
    pub link_samples: LinkSamples,
    /// Transfers of flows with sizes.
    #[serde(skip)]
    pub transfers: Transfers,
    /// Data packets that entered the network.
    #[serde(skip)]
    pub packets: u64,
    /// When the last packet arrived at a receiver; 0: none arrived.
    #[serde(skip)]
    pub last_arrival_ns: u64,
    /// Notes for the reader of the run: a sentence each.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Counts and means of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FlowResult {
    /// The flow's number in the scenario.
    pub flow: u32,
    /// Name of its algorithm, as the scenario writes it.
    pub cca: String,
    /// When the flow started, from the start of the run.
    pub start_s: f64,
    /// When the flow ended: its stop, or the end of its last transfer.
    pub stop_s: f64,
    /// Retransmissions included.
    pub sent_pkts: u64,
    /// Segments that were sent again.
    pub retransmitted_pkts: u64,
    /// Reached the receiver, duplicates included.
    pub delivered_pkts: u64,
    /// Dropped by a queue or lost on a wire.
    pub lost_pkts: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Bytes on the wire that reached the receiver, headers included, over the flow's own time.
    pub throughput_mbps: f64,
    /// Payload, in order, once, over the flow's own time; with a warmup only what arrived after it.
    pub goodput_mbps: f64,
    /// Lost / sent. Where more packets arrived or were lost than were sent, since wires copied some or some were sent before the
    /// warmup, lost / those.
    pub loss_ratio: f64,
    /// Over the RTT samples; null without one.
    pub mean_rtt_ms: Option<f64>,
    /// 95 % of the RTT samples are no larger; null without one.
    pub p95_rtt_ms: Option<f64>,
    /// Over the flow's own time.
    pub mean_cwnd_pkts: f64,
    /// Reached the receiver with a mark of congestion (RFC 3168, CE).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub marked_pkts: u64,
    /// From the start of a transfer to the ACK of its last byte: the mean over those that finished; null without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fct_ms: Option<f64>,
    /// Over the transfers of all flows of the run, the same for each flow with transfers; null without one that finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fct_p50_ms: Option<f64>,
    /// 95 % of the transfers took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fct_p95_ms: Option<f64>,
    /// 99 % of the transfers took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fct_p99_ms: Option<f64>,
    /// Median of the times of transfers over those of an idle path without slow start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_p50: Option<f64>,
    /// 99 % of the transfers have no larger slowdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_p99: Option<f64>,
    /// How long the first slow start lasted, to the flow's end if it did not end before; null where the algorithm sets no
    /// ssthresh.
    #[serde(skip)]
    pub slow_start_s: Option<f64>,
}

/// Counts and means of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LinkResult {
    /// Name of the link.
    pub link: String,
    /// Left the link at its far end.
    pub delivered_pkts: u64,
    /// Found the queue full.
    pub dropped_pkts: u64,
    /// Lost on the wire.
    pub error_pkts: u64,
    /// Time average of the packets held, the one being sent included.
    pub mean_queue_pkts: f64,
    /// The most packets held at a time.
    pub max_queue_pkts: u64,
    /// Share of the time in which the link was sending.
    pub utilization: f64,
    /// How long at most 95 % of the packets waited before they were sent, of every sixteenth packet; null without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_queue_ms: Option<f64>,
    /// Marked instead of dropped, and sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub marked_pkts: u64,
}

impl Run {
    /// A run without rows, made in `world` with `seed`.
    pub fn new(world: impl Into<Cow<'static, str>>, seed: u64) -> Run {
        Run {
            world: world.into(),
            seed,
            flows: Vec::new(),
            links: Vec::new(),
            flow_samples: FlowSamples::default(),
            group_samples: GroupSamples::default(),
            link_samples: LinkSamples::default(),
            transfers: Transfers::default(),
            packets: 0,
            last_arrival_ns: 0,
            notes: Vec::new(),
        }
    }
}

impl FlowResult {
    /// Returns the row with the loss ratio that follows from its counts.
    #[must_use]
    pub fn with_loss_ratio(self) -> FlowResult {
        FlowResult { loss_ratio: share_lost(self.lost_pkts, self.carried_pkts()), ..self }
    }

    /// Returns the packets of which the loss ratio is a share.
    pub(crate) fn carried_pkts(&self) -> u64 {
        self.sent_pkts.max(self.delivered_pkts + self.lost_pkts)
    }
}

/// 0 of none.
pub(crate) fn share_lost(lost_pkts: u64, of_pkts: u64) -> f64 {
    if of_pkts == 0 { 0.0 } else { lost_pkts as f64 / of_pkts as f64 }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Time series of the links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinkSamples {
    /// Time of the row, from the start of the run.
    pub time_s: Vec<f64>,
    /// The link's number in the scenario.
    pub link: Vec<u32>,
    /// Packets held, the one being sent included.
    pub queue_pkts: Vec<u32>,
    /// How long a packet that arrives now would wait, if all that wait are sent before it; infinite: it would never be sent.
    pub queue_ms: Vec<f64>,
    /// Dropped by the queue or lost on the wire since the link's previous row.
    pub dropped_pkts: Vec<u64>,
    /// Since the link's previous row.
    pub marked_pkts: Vec<u64>,
}

/// Transfers of flows with sizes, an entry per transfer in every column, in the order of their starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Transfers {
    /// The flow's number in the scenario.
    pub flow: Vec<u32>,
    /// When each transfer began, from the start of the run.
    pub start_s: Vec<f64>,
    /// Payload of each transfer.
    pub size_bytes: Vec<u64>,
    /// From the start to the ACK of the last byte; NaN: it did not finish.
    pub fct_ms: Vec<f64>,
    /// `fct_ms` over the time without queueing, handshake and slow start; NaN: it did not finish.
    pub slowdown: Vec<f64>,
    /// Segments of each transfer that were sent again.
    pub retransmitted_pkts: Vec<u64>,
}

impl Transfers {
    /// Gives flows with transfers the quantiles over all that began after the warmup and finished.
    pub fn set_quantiles(&self, flows: &mut [FlowResult], warmup_ns: u64) {
        let Transfers { flow: of, start_s, fct_ms, slowdown, .. } = self;
        let counts = |row: &usize| start_s[*row] >= warmup_ns as f64 / 1e9 && !fct_ms[*row].is_nan();
        let rows: Vec<usize> = (0..of.len()).filter(counts).collect();
        if rows.is_empty() {
            return;
        }
        let sorted = |column: &[f64]| {
            let mut values: Vec<f64> = rows.iter().map(|&row| column[row]).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (fcts_ms, slowdowns) = (sorted(fct_ms), sorted(slowdown));
        // The least value that is no less than the share `q` of all.
        let quantile =
            |values: &[f64], q: f64| Some(values[((q * values.len() as f64).ceil() as usize).max(1) - 1]);
        let with_transfers: BTreeSet<u32> = of.iter().copied().collect();
        for flow in flows.iter_mut().filter(|flow| with_transfers.contains(&flow.flow)) {
            flow.fct_p50_ms = quantile(&fcts_ms, 0.5);
            flow.fct_p95_ms = quantile(&fcts_ms, 0.95);
            flow.fct_p99_ms = quantile(&fcts_ms, 0.99);
            flow.slowdown_p50 = quantile(&slowdowns, 0.5);
            flow.slowdown_p99 = quantile(&slowdowns, 0.99);
        }
    }
}
