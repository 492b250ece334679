//! Data that flows send, and when.

use crate::Flow;
use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc_inv;

/// Sizes, arrivals and pauses of what a flow sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Traffic {
    /// Payload of each transfer. None: there is no end to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// None: one transfer, or those of `requests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Transfers one after the other on the connection. None: one transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// The application writes for exponential times of the first mean, and pauses for those of the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_on_off_ns: Option<(u64, u64)>,
    /// The application writes whole frames, this many in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_per_s: Option<u32>,
}

/// The size of a transfer in bytes: a whole number, at least 1 and at most [`Size::BYTES_MAX`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Size {
    /// Every transfer has the same size.
    Fixed {
        /// Payload of a transfer.
        bytes: u64,
    },
    /// Linear between points of a size and the probability that a size is no larger, from 0 bytes at probability 0; the
    /// last has probability 1.
    Points {
        /// Each size with the probability that a transfer is no larger.
        points: Vec<(u64, f64)>,
    },
    /// Lognormal: the logarithm of a size has the mean `mu` and the standard deviation `sigma`.
    Lognormal {
        /// Mean of the logarithm of the size in bytes.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Bounded: as Pareto's between `min_bytes` and `max_bytes`, and nothing outside.
    Pareto {
        /// Shape: the larger, the fewer large transfers.
        alpha: f64,
        /// The smallest size.
        min_bytes: u64,
        /// The largest size.
        max_bytes: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean size.
        mean_bytes: u64,
    },
}

/// When new transfers begin, each on a connection of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// At exponential distances.
    Poisson {
        /// Mean number of transfers in a second.
        per_s: f64,
    },
    /// After the start of the flow, in order.
    Times {
        /// Time of each from the start of the flow.
        times_ns: Vec<u64>,
    },
}

/// Returns the bytes that an application writes at once if it sends `frames_per_s` frames a second at a rate: at least 1.
pub fn frame_bytes(rate_bps: u64, frames_per_s: u32) -> u64 {
    (rate_bps / 8 / u64::from(frames_per_s)).max(1)
}

/// Transfers one after the other on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Requests {
    /// Number of responses.
    pub count: u64,
    /// From the end of a response to the next request, which takes one RTT to be answered.
    pub think_ns: u64,
    /// Flows with the same number wait for each other: a request is sent `think_ns` after the last of their responses has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<u32>,
}

/// Web search (DCTCP), as traffic generators have it.
const WEB_SEARCH: [(u64, f64); 11] = [
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
];

/// Data mining (VL2).
const DATA_MINING: [(u64, f64); 12] = [
    (180, 0.1),
    (216, 0.2),
    (560, 0.3),
    (900, 0.4),
    (1100, 0.5),
    (1870, 0.6),
    (3160, 0.7),
    (10_000, 0.8),
    (400_000, 0.9),
    (3_160_000, 0.95),
    (100_000_000, 0.98),
    (1_000_000_000, 1.0),
];

/// Quantiles over which the last packets of transfers are averaged.
const QUANTILES: u32 = 100_000;

impl Size {
    /// The largest size of a transfer.
    pub const BYTES_MAX: u64 = 1_000_000_000_000;

    /// Sizes of the web search workload of the DCTCP paper.
    pub fn web_search() -> Size {
        Size::Points { points: WEB_SEARCH.into() }
    }

    /// Sizes of the data mining workload of the VL2 paper.
    pub fn data_mining() -> Size {
        Size::Points { points: DATA_MINING.into() }
    }

    /// The size that the share `q` of all transfers does not exceed, for `q` between 0 and 1.
    pub fn quantile(&self, q: f64) -> u64 {
        (self.exact_quantile(q).ceil() as u64).clamp(1, Size::BYTES_MAX)
    }

    fn exact_quantile(&self, q: f64) -> f64 {
        match self {
            Size::Fixed { bytes } => *bytes as f64,
            Size::Points { points } => {
                let above = points.partition_point(|(_, below)| *below < q).min(points.len() - 1);
                let (from, before) = if above == 0 { (0, 0.0) } else { points[above - 1] };
                let (to, until) = points[above];
                from as f64 + (to - from) as f64 * ((q - before) / (until - before)).clamp(0.0, 1.0)
            }
            Size::Lognormal { mu, sigma } => {
                libm::exp(mu - sigma * std::f64::consts::SQRT_2 * erfc_inv(2.0 * q))
            }
            Size::Pareto { alpha, min_bytes, max_bytes } => {
                let (min, ratio) = (*min_bytes as f64, *min_bytes as f64 / *max_bytes as f64);
                min * libm::pow(1.0 - q * (1.0 - libm::pow(ratio, *alpha)), -1.0 / alpha)
            }
            Size::Exponential { mean_bytes } => -(*mean_bytes as f64) * libm::log1p(-q),
        }
    }

    /// The expected size, but for the rounding to whole bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Size::Fixed { bytes } => *bytes as f64,
            Size::Points { points } => {
                let before = std::iter::once(&(0, 0.0)).chain(points);
                before.zip(points).map(|((from, p), (to, q))| (q - p) * (from + to) as f64 / 2.0).sum()
            }
            Size::Lognormal { mu, sigma } => libm::exp(mu + sigma * sigma / 2.0),
            Size::Pareto { alpha, min_bytes, max_bytes } => {
                let (min, max) = (*min_bytes as f64, *max_bytes as f64);
                let share = 1.0 - libm::pow(min / max, *alpha);
                // The integral of alpha min^alpha x^-alpha.
                let integral = if (alpha - 1.0).abs() < 1e-9 {
                    libm::log(max / min)
                } else {
                    (1.0 - libm::pow(min / max, alpha - 1.0)) / (alpha - 1.0)
                };
                alpha * min * integral / share
            }
            Size::Exponential { mean_bytes } => *mean_bytes as f64,
        }
    }

    /// The expected bytes of a transfer of `flow` on the wire: payload and headers, without losses and the handshake.
    pub fn mean_wire_bytes(&self, flow: &Flow) -> f64 {
        let payload = f64::from(flow.payload_bytes);
        let quantile = |i| (f64::from(i) + 0.5) / f64::from(QUANTILES);
        let rest = |i| {
            let pkts = self.quantile(quantile(i)) as f64 / payload;
            pkts.ceil() - pkts
        };
        let rest = (0..QUANTILES).map(rest).sum::<f64>() / f64::from(QUANTILES);
        let mean_bytes = self.mean_bytes();
        mean_bytes + (mean_bytes / payload + rest) * f64::from(flow.stack.header_bytes)
    }
}

impl Requests {
    /// One response, without a pause.
    pub const ONE: Requests = Requests { count: 1, think_ns: 0, barrier: None };
}

impl Flow {
    /// Sizes of its transfers. None: it sends without an end, or datagrams.
    pub fn size(&self) -> Option<&Size> {
        self.traffic.as_ref()?.size.as_ref()
    }

    /// Arrivals of its transfers. None: it is one connection.
    pub fn arrivals(&self) -> Option<&Arrivals> {
        self.traffic.as_ref()?.arrivals.as_ref()
    }

    /// The number that it shares with the flows whose responses its next request waits for.
    pub fn barrier(&self) -> Option<u32> {
        self.traffic.as_ref()?.requests?.barrier
    }
}
