//! Links that change with time, and policers.

use crate::intervals;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the rate and the delay of a link change with time, and what a policer lets into it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Variation {
    /// None: the rate stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateVariation>,
    /// Empty: the delay stays. Else the first step begins at 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_steps: Vec<DelayStep>,
    /// None: every packet is let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// Spans of time from the start of the run in which the link sends nothing: rising, and apart from each other. Empty: it never
    /// rests. There are none beside a trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspension_ns: Vec<[u64; 2]>,
    /// None: packets leave one by one. There is none beside a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
}

/// Turns at which packets leave together, as frames of Wi-Fi do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aggregation {
    /// Turns come at the multiples of this; more than 0.
    pub every_ns: u64,
    /// Packets that leave in a turn at most; more than 0.
    pub most_pkts: u32,
}

/// How the rate of a link changes with time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateVariation {
    /// The first step begins at 0.
    Steps(Vec<RateStep>),
    /// The link delivers at the moments of a trace.
    Trace(Trace),
}

/// A rate from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Beginning, from the start of the run.
    pub from_ns: u64,
    /// 0: an outage.
    pub rate_bps: u64,
}

/// A delay from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayStep {
    /// Beginning, from the start of the run.
    pub from_ns: u64,
    /// One way, of packets that are sent from then on.
    pub delay_ns: u64,
}

/// Moments at which a link can deliver, as in a trace of Mahimahi.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// When each opportunity comes, in order; the last is more than 0.
    #[serde(serialize_with = "serialize_shared", deserialize_with = "deserialize_shared")]
    pub opportunities_ms: Arc<[u32]>,
    /// Bytes that an opportunity carries.
    pub opportunity_bytes: u32,
    /// True if the trace begins anew at its last opportunity.
    pub repeat: bool,
    /// The run begins this long after the beginning of the trace.
    pub offset_ns: u64,
}

/// A token bucket before the queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate at which tokens come, in bits.
    pub rate_bps: u64,
    /// Bytes that the bucket holds when it is full, as it is at the beginning.
    pub burst_bytes: u64,
    /// Packets of flows with ECN that find too few tokens are marked and let in.
    pub mark: bool,
}

fn serialize_shared<S: serde::Serializer>(values: &Arc<[u32]>, serializer: S) -> Result<S::Ok, S::Error> {
    values.as_ref().serialize(serializer)
}

fn deserialize_shared<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Arc<[u32]>, D::Error> {
    Vec::deserialize(deserializer).map(Arc::from)
}

impl Trace {
    /// A longer trace is refused.
    pub const LINES_MAX: usize = 10_000_000;
    const WANTED: &str = "a line for each opportunity: milliseconds since the beginning, never decreasing";

    /// The opportunities of a trace's `text`; an error gives the line, from 1, what was found, and what is accepted.
    pub fn opportunities(text: &str) -> Result<Vec<u32>, (usize, String, String)> {
        let mut opportunities: Vec<u32> = Vec::new();
        // As Mahimahi: blanks before and behind a number do not matter, nor do empty lines at the end.
        for (place, line) in text.trim_end().lines().enumerate() {
            let refuse = |found: String| Err((place + 1, found, Trace::WANTED.to_owned()));
            if opportunities.len() == Trace::LINES_MAX {
                return refuse(format!("more than {} lines", Trace::LINES_MAX));
            }
            let digits = line.trim();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let Some(at_ms) = digits.parse().ok().filter(|_| is_number) else {
                return refuse(format!(
                    "{} is not a whole number of milliseconds",
                    crate::error::quote(line)
                ));
            };
            if opportunities.last().is_some_and(|before| *before > at_ms) {
                return refuse(format!("{at_ms} after {}", opportunities[opportunities.len() - 1]));
            }
            opportunities.push(at_ms);
        }
        match opportunities.last() {
            None => Err((1, "an empty trace".to_owned(), Trace::WANTED.to_owned())),
            Some(0) => {
                let found = "the last opportunity at 0 ms".to_owned();
                Err((opportunities.len(), found, "a last opportunity after 0 ms".to_owned()))
            }
            Some(_) => Ok(opportunities),
        }
    }

    /// Returns the time of the last opportunity, after which a trace that is repeated begins anew.
    pub fn period_ns(&self) -> u64 {
        self.opportunities_ms.last().map_or(0, |last| u64::from(*last) * 1_000_000)
    }

    /// Returns the mean rate that it offers, from its beginning to its last opportunity; at least 1.
    pub fn mean_bps(&self) -> u64 {
        let bits = self.opportunities_ms.len() as u128 * u128::from(self.opportunity_bytes) * 8;
        let mean_bps = bits * 1_000_000_000 / u128::from(self.period_ns().max(1));
        u64::try_from(mean_bps).unwrap_or(u64::MAX).max(1)
    }

    fn check(&self) -> Result<(), &'static str> {
        if !self.opportunities_ms.is_sorted() || self.opportunities_ms.last().is_none_or(|last| *last == 0) {
            return Err("opportunities that are none, not in order, or all at 0");
        }
        if self.opportunity_bytes == 0 {
            return Err("opportunities of no bytes");
        }
        if !self.repeat && self.offset_ns >= self.period_ns() {
            return Err("a trace that is over when the run begins");
        }
        Ok(())
    }
}

impl Variation {
    /// Returns the rates from each time on, without those of a suspension, of a link whose rate is `rate_bps` where it stays.
    /// Empty: it stays, or follows a trace.
    pub fn rate_steps(&self, rate_bps: u64) -> Vec<RateStep> {
        let steps = match &self.rate {
            Some(RateVariation::Steps(steps)) => steps.clone(),
            None if !self.suspension_ns.is_empty() => vec![RateStep { from_ns: 0, rate_bps }],
            None | Some(RateVariation::Trace(_)) => return Vec::new(),
        };
        let rate_at = |from_ns: u64| {
            let rests = self.suspension_ns.iter().any(|[from, until]| (*from..*until).contains(&from_ns));
            let passed = steps.partition_point(|step| step.from_ns <= from_ns);
            let rate_bps = passed.checked_sub(1).map_or(rate_bps, |place| steps[place].rate_bps);
            RateStep { from_ns, rate_bps: if rests { 0 } else { rate_bps } }
        };
        let changes = self.suspension_ns.iter().flatten().copied();
        let mut times: Vec<u64> = steps.iter().map(|step| step.from_ns).chain(changes).collect();
        times.sort_unstable();
        times.dedup();
        times.into_iter().map(rate_at).collect()
    }

    /// Checks that a run can begin; the error is what prevents it.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let in_order = |from_ns: &mut dyn Iterator<Item = u64>| {
            let from_ns: Vec<u64> = from_ns.collect();
            from_ns.first() == Some(&0) && from_ns.is_sorted_by(|one, next| one < next)
        };
        match &self.rate {
            Some(RateVariation::Steps(steps)) => {
                if !in_order(&mut steps.iter().map(|step| step.from_ns)) {
                    return Err("steps of the rate that do not begin at 0, or are not in order");
                }
                if steps.last().is_some_and(|step| step.rate_bps == 0) {
                    return Err("a rate of 0 for ever");
                }
            }
            Some(RateVariation::Trace(trace)) => trace.check()?,
            None => {}
        }
        if !self.delay_steps.is_empty() && !in_order(&mut self.delay_steps.iter().map(|step| step.from_ns)) {
            return Err("steps of the delay that do not begin at 0, or are not in order");
        }
        if !intervals::are_spans(&self.suspension_ns) {
            return Err("suspensions that are not in order");
        }
        if self.aggregation.is_some_and(|turns| turns.every_ns == 0 || turns.most_pkts == 0) {
            return Err("an aggregation of nothing");
        }
        let has_trace = matches!(self.rate, Some(RateVariation::Trace(_)));
        if has_trace && !(self.suspension_ns.is_empty() && self.aggregation.is_none()) {
            return Err("a suspension or an aggregation beside a trace");
        }
        match self.policer {
            Some(Policer { rate_bps: 0, .. }) => Err("a policer with a rate of 0"),
            _ => Ok(()),
        }
    }
}
