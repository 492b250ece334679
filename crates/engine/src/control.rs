//! How others watch a run and stop it, and why a run may have no result.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Progress of a run under way for others to read, and their means to stop it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Control {
    /// Set to end every run that shares this control, within some thousand packets.
    pub stop: AtomicBool,
    /// Simulated time so far, added up over the runs.
    pub simulated_ns: AtomicU64,
    /// On how many threads each run may be simulated; 0 and 1: on the calling one; at most 256. Results do not
    /// depend on the number; near a limit, whether a run is refused may.
    pub threads: usize,
}

impl Control {
    /// A control for runs on this many threads each; 0: on the calling one.
    pub fn with_threads(threads: usize) -> Control {
        Control { threads, ..Control::default() }
    }
}

/// Why a run has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfinished {
    /// It was ended through [`Control::stop`].
    Stopped,
    /// More packets than these were under way at one time.
    Crowded {
        /// The limit of packets.
        packets_max: usize,
        /// Simulated time at which the run ended.
        at_ns: u64,
    },
    /// Samples by change had more rows than these.
    TooManyRows {
        /// The limit of rows.
        rows_max: usize,
        /// Simulated time at which the run ended.
        at_ns: u64,
    },
    /// More transfers of a flow with arrivals than these had begun and not ended.
    TooManyTransfers {
        /// The limit of transfers.
        transfers_max: usize,
        /// Simulated time at which the run ended.
        at_ns: u64,
    },
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Unfinished::Stopped => write!(f, "stopped"),
            Unfinished::Crowded { packets_max, at_ns } => write!(
                f,
                "more than {packets_max} packets under way at {} s, which take up to 4 GB of memory; \
                 set a 'receive_window', a smaller buffer, a lower rate or shorter delays",
                at_ns as f64 / 1e9
            ),
            Unfinished::TooManyRows { rows_max, at_ns } => write!(
                f,
                "more than {rows_max} rows of samples at {} s, which take up to 2 GB of memory; \
                 set 'samples' to an interval or 'off', or a shorter duration",
                at_ns as f64 / 1e9
            ),
            Unfinished::TooManyTransfers { transfers_max, at_ns } => write!(
                f,
                "more than {transfers_max} transfers of one flow at {} s: they arrive faster than they end; \
                 set a lower 'load' or 'rate' of arrivals, or a shorter duration",
                at_ns as f64 / 1e9
            ),
        }
    }
}

impl std::error::Error for Unfinished {}
