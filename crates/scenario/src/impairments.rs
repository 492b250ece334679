//! What happens to packets on the wire.

use serde::{Deserialize, Serialize};

/// Bursts of losses, jitter, reordering and duplication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Impairments {}
