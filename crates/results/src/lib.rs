#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

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
