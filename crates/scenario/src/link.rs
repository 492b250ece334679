//! A link: its queue and its wire.

use crate::{Impairments, Queue, Variation};
use serde::{Deserialize, Serialize};

/// A link in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    pub rate_bps: u64,
    /// One way.
    pub delay_ns: u64,
    /// Packets that the link holds before it drops an arrival: those waiting and the one being sent.
    /// None: no limit.
    pub buffer_pkts: Option<u32>,
    /// Probability that a packet is lost on the wire, after it was sent. Default: 0.
    pub per: f64,
    /// Packets held, the arriving one included, above which an arrival of a flow with ECN is marked instead of
    /// left alone (RFC 3168). None, the default: never.
    pub ecn_threshold_pkts: Option<u32>,
    /// None, the default: droptail, limited by `buffer_pkts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// How its rate and its delay change with time, and what a policer lets in. None, the default: not at all, and all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<Box<Variation>>,
    /// What happens to packets on the wire, beside `per`. None, the default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impairments: Option<Box<Impairments>>,
}

impl Link {
    /// How long the link is busy with a packet of `bytes`, rounded to a nanosecond.
    pub fn sending_ns(&self, bytes: u32) -> u64 {
        let bit_ns = u128::from(bytes) * 8 * 1_000_000_000;
        let rate = u128::from(self.rate_bps.max(1));
        ((bit_ns + rate / 2) / rate) as u64
    }

    /// Whether a packet's fate is not known when it arrives, so that arrivals and departures are gone through one by one.
    pub fn is_managed(&self) -> bool {
        self.queue.is_some() || self.variation.is_some() || self.impairments.is_some()
    }
    /// Whether packets may arrive in another order than they were sent in.
    pub fn may_reorder(&self) -> bool {
        false
    }
}
