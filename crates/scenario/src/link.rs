//! A link: its queue and its wire.

use crate::{Impairments, Queue, RateVariation, Variation};
use serde::{Deserialize, Serialize};

/// A link in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Link {
    /// Name in results; no other link of the scenario has it.
    pub name: String,
    /// Rate of sending, of bits on the wire.
    pub rate_bps: u64,
    /// One way.
    pub delay_ns: u64,
    /// Packets that the link holds before it drops an arrival: those waiting and the one being sent.
    /// None: no limit.
    pub buffer_pkts: Option<u32>,
    /// Bytes on the wire that the link holds before it drops an arrival, without the packet being sent where a discipline
    /// manages the queue. None, the default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// Probability that a packet is lost on the wire, after it was sent. Default: 0.
    pub per: f64,
    /// Packets held, the arriving one included, above which an arrival of a flow with ECN is marked instead of
    /// left alone (RFC 3168). None, the default: never.
    pub ecn_threshold_pkts: Option<u32>,
    /// Waiting times that decide about marks: a packet that leaves after waiting no longer than the first is not marked, after
    /// the second always, in between with a probability that grows linearly. None, the default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_wait_ns: Option<[u64; 2]>,
    /// None, the default: droptail, limited by `buffer_pkts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// How its rate and its delay change with time, and what a policer lets in. None, the default: not at all, and all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<Box<Variation>>,
    /// Impairments of packets on the wire, beside `per`. None, the default: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impairments: Option<Box<Impairments>>,
}

impl Link {
    /// How long the link is busy with a packet of `bytes`, rounded to a nanosecond.
    pub fn sending_ns(&self, bytes: impl Into<u64>) -> u64 {
        let bit_ns = u128::from(bytes.into()) * 8 * 1_000_000_000;
        let rate = u128::from(self.rate_bps.max(1));
        ((bit_ns + rate / 2) / rate) as u64
    }

    /// Returns true if a packet's fate is not known when it arrives, so that arrivals and departures are processed one by one.
    pub fn is_managed(&self) -> bool {
        self.queue.is_some()
            || self.buffer_bytes.is_some()
            || self.ecn_wait_ns.is_some()
            || self.variation.is_some()
            || self.impairments.is_some()
    }
    /// Returns true if packets may arrive in another order than they were sent in.
    pub fn may_reorder(&self) -> bool {
        let delays_change = self.variation.iter().any(|variation| !variation.delay_steps.is_empty());
        let overtake = self.impairments.as_ref().is_some_and(|impairments| {
            impairments.reorder > 0.0 || impairments.jitter.is_some_and(|jitter| jitter.reorder)
        });
        delays_change || overtake
    }

    /// The link is busy with a packet of `bytes` no shorter than this, whatever its rate is then.
    pub fn least_sending_ns(&self, bytes: u32) -> u64 {
        let rate = self.variation.as_ref().and_then(|variation| variation.rate.as_ref());
        match rate {
            // An opportunity may come just then.
            Some(RateVariation::Trace(_)) => 0,
            None if self.variation.iter().all(|variation| variation.suspension_ns.is_empty()) => {
                self.sending_ns(bytes)
            }
            rate => {
                let most_bps = match rate {
                    Some(RateVariation::Steps(steps)) => steps.iter().map(|step| step.rate_bps).max(),
                    _ => Some(self.rate_bps),
                };
                // What was left of the nanosecond before may be used.
                (u64::from(bytes) * 8_000_000_000 / most_bps.unwrap_or(0).max(1)).saturating_sub(1)
            }
        }
    }

    /// The least delay of any packet.
    pub fn least_delay_ns(&self) -> u64 {
        let steps = self.variation.iter().flat_map(|variation| &variation.delay_steps);
        let delay_ns = steps.map(|step| step.delay_ns).min().unwrap_or(self.delay_ns);
        let Some(impairments) = &self.impairments else { return delay_ns };
        if impairments.reorder > 0.0 {
            return 0;
        }
        delay_ns.saturating_sub(impairments.jitter.map_or(0, |jitter| jitter.most_ns()))
    }

    /// Checks that a run over the link can begin; the error is what prevents it.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        self.variation.as_ref().map_or(Ok(()), |variation| variation.check())?;
        self.impairments.as_ref().map_or(Ok(()), |impairments| impairments.check())
    }
}
