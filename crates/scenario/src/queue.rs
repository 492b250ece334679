//! Queue disciplines and their parameters.

use serde::{Deserialize, Serialize};

/// The discipline of a queue. Its limit is the link's buffer: packets that wait, without the one being sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "discipline", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// Random early detection.
    Red(Red),
    /// Controlled delay.
    Codel(Codel),
    /// Flow queueing with CoDel.
    FqCodel(FqCodel),
    /// Proportional integral controller enhanced.
    Pie(Pie),
    /// Dual queue coupled AQM.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2),
}

/// Whose rules a discipline follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueVariant {
    /// Those of its RFC or paper.
    #[default]
    Spec,
    /// Those of Linux 6.12.
    Linux,
}

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Default: spec. In Linux it is never gentle, draws one random number for each drop, and behind a shaper does not see
    /// that the link idles.
    pub variant: QueueVariant,
    /// True if the queue is counted in bytes, false if in packets.
    pub in_bytes: bool,
    /// Average queue below which nothing is dropped. Default: 5 packets.
    pub min: f64,
    /// Average queue from which on all is dropped. Default: 15 packets.
    pub max: f64,
    /// Weight of the queue at an arrival in the average. Default: 0.002.
    pub weight: f64,
    /// Share of packets that is dropped at `max`. Default: 0.1; 0.02.
    pub probability: f64,
    /// From `max` to twice that the share rises to 1, instead of at once. Default: on; off.
    pub gentle: bool,
    /// The share at `max` follows the load (Floyd, Gummadi and Shenker 2001). Default: off.
    pub adaptive: bool,
    /// Packets that are ECT are marked instead. Default: off.
    pub ecn: bool,
    /// With `ecn`: above `max` packets are dropped all the same. Default: off.
    pub harddrop: bool,
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Default: spec. Linux takes a step of Newton's towards the root of the count.
    pub variant: QueueVariant,
    /// Default: 5 ms.
    pub target_ns: u64,
    /// Default: 100 ms.
    pub interval_ns: u64,
    /// Packets that are ECT are marked instead of dropped. Default: off; on for FQ-CoDel.
    pub ecn: bool,
    /// Packets that are ECT and waited for longer are marked, too. None, the default: no such mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold_ns: Option<u64>,
}

/// Flow queueing with CoDel (RFC 8290).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// CoDel of each queue.
    pub codel: Codel,
    /// Bytes that a flow may send in a round. Default: 1514.
    pub quantum_bytes: u32,
    /// Queues that flows are hashed into. None, the default: one for each flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
}

/// Proportional integral controller enhanced (RFC 8033).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// Default: spec. In Linux the delay is that of the last packet that left, and the probability stays 0 for half a
    /// second.
    pub variant: QueueVariant,
    /// Default: 15 ms.
    pub target_ns: u64,
    /// Time between updates of the probability. Default: 15 ms; 20 ms, five ticks of 4 ms.
    pub update_ns: u64,
    /// Default: 150 ms.
    pub burst_ns: u64,
    /// Packets that are ECT are marked instead while the probability is at most 0.1. Default: off.
    pub ecn: bool,
}

/// Dual queue coupled AQM (RFC 9332).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DualPi2 {
    /// Default: spec, the pseudocode of appendix A.1. Linux draws lots where that spreads drops and marks evenly, uses the
    /// longer of both delays, and has a step instead of the ramp.
    pub variant: QueueVariant,
    /// Target delay of the classic queue. Default: 15 ms.
    pub target_ns: u64,
    /// Time between updates of the probability. Default: 16 ms.
    pub update_ns: u64,
    /// Packets of the low latency queue that waited for no longer than the first are not marked for that, after the second
    /// they always are, in between in proportion. Default: 0.8 ms and 1.2 ms; 1 ms for both.
    pub ramp_ns: [u64; 2],
}
