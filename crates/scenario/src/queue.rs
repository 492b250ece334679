//! Queue disciplines and their parameters.

use serde::{Deserialize, Serialize};

/// The discipline of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {}
