//! Time series of a connection, a value for each of its slots.

use crate::facts::Facts;
use crate::half::Half;
use crate::slots::{NONE, Slot, State};
use serde::Serialize;

/// Connections whose time series are wanted. A series has up to 4096 rows, so that not all are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// None of them.
    #[default]
    Nothing,
    /// The connection with the most bytes.
    First,
    /// The connection with this number.
    Number(usize),
}

/// A loss: a segment that was sent again, probes apart.
#[derive(Clone, Debug, Serialize)]
pub struct LossAt {
    /// Seconds since the connection's first packet.
    pub at_s: f64,
    /// Largest RTT of the segments that left beside the lost one; none if there was no RTT.
    pub rtt_ms: Option<f64>,
}

/// Values by slot, from the connection's first packet on.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Length of a slot.
    pub step_s: f64,
    /// Delivered bits a second, by the ACKs.
    pub rate_bps: Vec<f64>,
    /// New bits sent a second.
    pub sent_bps: Vec<f64>,
    /// Largest flight; 0 while all that was sent is acknowledged, none where something is in flight and no packet was seen.
    pub flight_bytes: Vec<Option<u32>>,
    /// Largest advertised window; none where no ACK was seen.
    pub window_bytes: Vec<Option<u32>>,
    /// Least RTT; none without a sample.
    pub rtt_ms: Vec<Option<f64>>,
    /// Losses, the first 4096 of them.
    pub losses: Vec<LossAt>,
}

impl Series {
    /// The series of a connection with data.
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let step_s = facts.width_ns as f64 / 1e9;
        let bps = |bytes: u64| (bytes as f64 * 8.0 / step_s).round();
        let some = |value: u32| (value > 0).then_some(value);
        let flight = |slot: &Slot| some(slot.flight).or((slot.state == State::Idle).then_some(0));
        let ms = |us: u32| (us != NONE).then(|| f64::from(us) / 1000.0);
        Series {
            step_s,
            rate_bps: facts.slots.iter().map(|slot| bps(slot.delivered)).collect(),
            sent_bps: facts.slots.iter().map(|slot| bps(slot.sent)).collect(),
            flight_bytes: facts.slots.iter().map(flight).collect(),
            window_bytes: facts.slots.iter().map(|slot| some(slot.window)).collect(),
            rtt_ms: facts.rtts.iter().map(|&us| ms(us)).collect(),
            losses: losses(facts.half),
        }
    }
}

fn losses(half: &Half) -> Vec<LossAt> {
    half.losses
        .iter()
        .map(|loss| LossAt {
            at_s: loss.at_ns as f64 / 1e9,
            rtt_ms: (loss.peak_us > 0 && loss.peak_us != NONE).then(|| f64::from(loss.peak_us) / 1000.0),
        })
        .collect()
}
