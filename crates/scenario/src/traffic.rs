//! What flows send, and when.

use serde::{Deserialize, Serialize};

/// Sizes, arrivals and pauses of what a flow sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {}
