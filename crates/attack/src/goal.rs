//! Goals: what a failure is, and how near to it a run came.

use crate::measure::Measures;
use serde::{Deserialize, Serialize};

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Nothing is delivered for 50 RTTs, and no less than three seconds, although the path carries and the application has data.
    Stall,
    /// The window is at its minimum for 100 RTTs without a loss or a mark.
    Pinned,
    /// Goodput is below half of the reference's over the last two thirds.
    Underuse,
    /// The share of a flow is less than a tenth of a fair one for 100 RTTs.
    Starve,
    /// The 95 % quantile of the queueing delay is at least 4 times the reference's, and 100 ms.
    Bloat,
    /// Retransmissions beyond the losses of the path's wires are at least 10 times the reference's share, and 5 %.
    Loss,
    /// The neighbour keeps less than half of what it keeps beside the reference.
    Harm,
    /// Goodput varies by more than a factor of 4 for the last half although nothing of the path changes.
    Oscillate,
}

/// Scores lie within this and its negative.
pub const MARGIN_MAX: f64 = 5.0;

/// Smallest share that a score distinguishes from 0.
const SHARE_MIN: f64 = 1e-4;

impl Goal {
    /// All goals, in their order.
    pub const ALL: [Goal; 8] = [
        Goal::Stall,
        Goal::Pinned,
        Goal::Underuse,
        Goal::Starve,
        Goal::Bloat,
        Goal::Loss,
        Goal::Harm,
        Goal::Oscillate,
    ];

    /// Its name on command lines and in files.
    pub fn name(self) -> &'static str {
        match self {
            Goal::Stall => "stall",
            Goal::Pinned => "pinned",
            Goal::Underuse => "underuse",
            Goal::Starve => "starve",
            Goal::Bloat => "bloat",
            Goal::Loss => "loss",
            Goal::Harm => "harm",
            Goal::Oscillate => "oscillate",
        }
    }

    /// The margin by which the subject fails by itself, as the logarithm of a ratio: above 0 it fails, unless every
    /// reference does.
    pub fn alone(self, of: &Measures) -> f64 {
        let ratio = match self {
            Goal::Stall => of.stall_rtts / 50.0,
            Goal::Pinned => of.pinned_rtts / 100.0,
            Goal::Underuse => 0.5 * of.capacity_mbps / of.goodput_mbps,
            Goal::Starve => of.least_share.map_or(0.0, |share| 0.1 / share.max(SHARE_MIN)),
            Goal::Bloat => of.queue_p95_ms / 100.0,
            Goal::Loss => of.avoidable_share / 0.05,
            Goal::Harm => of.neighbour_mbps.map_or(0.0, |mbps| 0.5 * of.capacity_mbps / mbps),
            Goal::Oscillate => of.swing.unwrap_or(0.0) / 4.0,
        };
        margin(ratio)
    }

    /// The margin by which the subject is worse than a reference on the same path, as the logarithm of a ratio: above 0 the
    /// reference does not fail.
    pub fn gap(self, of: &Measures, reference: &Measures) -> f64 {
        let ratio = match self {
            Goal::Stall | Goal::Pinned | Goal::Starve | Goal::Oscillate => return -self.alone(reference),
            Goal::Underuse => 0.5 * reference.goodput_mbps / of.goodput_mbps,
            Goal::Bloat => of.queue_p95_ms / (4.0 * reference.queue_p95_ms),
            Goal::Loss => of.avoidable_share / (10.0 * reference.avoidable_share),
            Goal::Harm => match (of.neighbour_mbps, reference.neighbour_mbps) {
                (Some(mbps), Some(beside)) => 0.5 * beside / mbps,
                _ => 0.0,
            },
        };
        margin(ratio)
    }
}

fn margin(ratio: f64) -> f64 {
    match ratio {
        // 0 / 0: nothing to lose.
        ratio if ratio.is_nan() => -MARGIN_MAX,
        ratio => cut(ratio.max(f64::MIN_POSITIVE).ln().clamp(-MARGIN_MAX, MARGIN_MAX)),
    }
}

/// Rounded to 2⁻²⁰, so that the last bit of a logarithm decides nothing.
fn cut(number: f64) -> f64 {
    const GRID: f64 = (1 << 20) as f64;
    (number * GRID).round() / GRID
}
