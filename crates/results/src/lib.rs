//! Results: the rows of a run ([`Run`]), the metrics of a run ([`Metrics`]), statistics over runs ([`Estimate`]) and verdicts on
//! what a scenario expects ([`expect`]), each written once.

#![warn(missing_docs)]

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "transfer")]
mod error;
pub mod expect;
mod flow_samples;
mod group_samples;
mod metrics;
mod schema;
mod statistics;
#[cfg(feature = "transfer")]
mod transfer;

#[cfg(feature = "transfer")]
pub use error::Error;
pub use flow_samples::{FlowRow, FlowSamples, mbps};
pub use group_samples::{GroupSamples, GroupSum, time_series};
pub use metrics::Metrics;
pub use schema::{FlowResult, LinkResult, LinkSamples, Run, Transfers};
pub use statistics::{Estimate, jain_index, student_t_quantile, student_t_tail};
