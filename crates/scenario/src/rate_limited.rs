//! Growth of a window that is not used.

use serde::{Deserialize, Serialize};

/// How far a window grows that the sender does not use: the application, the receiver or pacing keeps it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimited {
    /// As the stack has it: in Linux only after it was full, and in slow start to twice what was in flight.
    #[default]
    Own,
    /// Up to what the ACKs of the largest flight since its last reduction would let it (draft-ietf-ccwg-ratelimited-increase-10).
    /// Algorithms that set their window by themselves at every ACK, as BBR, are not changed.
    Draft,
}

impl RateLimited {
    /// Returns true for [`RateLimited::Own`].
    pub fn is_own(&self) -> bool {
        *self == RateLimited::Own
    }
}
