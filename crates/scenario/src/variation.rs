//! Links that change with time, and policers.

use serde::{Deserialize, Serialize};

/// How the rate and the delay of a link change with time, and what a policer lets into it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variation {}
