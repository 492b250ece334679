//! Predicates over a run, which those who read its results decide.

use serde::{Deserialize, Serialize};

/// A predicate over each run of a scenario. It changes nothing in the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Expectation {
    /// Kind of the quantity.
    pub kind: Kind,
    /// A metric or a column of results, a column of time series, or a kind of event.
    pub name: String,
    /// The flow's number in the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<u32>,
    /// The link's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Moment of the value. Only for time series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// Beginning of the span. Default: that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ns: Option<u64>,
    /// End of the span. Default: that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<u64>,
    /// Kind of the event with which the span begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Place of that event, or of the expected one, among those of its kind, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Smoothed RTTs from that event to the end of the span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<f64>,
    /// The number that is compared, one of `STATISTICS`; None: the metric itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<String>,
    /// Least that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Most that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// A direction in which the series does not go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never: Option<Direction>,
    /// Reason, for those who read a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Kind of an expected quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A metric of the run, or a column of a flow or of a link.
    Metric,
    /// A time series of a flow or of a link.
    Series,
    /// Events of a flow.
    Event,
}

/// Direction of a time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// A value is below the one before.
    Falls,
    /// A value is above the one before.
    Rises,
}
