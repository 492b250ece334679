//! Results: the rows of a run ([`Run`]), the metrics of a run ([`Metrics`]) and statistics over runs ([`Estimate`]),
//! each written once.

mod metrics;
mod schema;
mod statistics;

pub use metrics::Metrics;
pub use schema::{FlowResult, FlowSamples, LinkResult, LinkSamples, Run, Transfers, World};
pub use statistics::{Estimate, jain_index, student_t_quantile, student_t_tail};
