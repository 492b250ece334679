//! A connection's facts in one place, for the causes.

use crate::connection::Connection;
use crate::half::{Half, Loss};
use crate::slots::{NONE, Slot};
use serde::Serialize;

/// A part of the RTT below this share is the delay of a machine, not of a path.
const NEAR: f64 = 0.1;

/// Where the capture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// At the sender of the data: ACKs release data at once.
    Sender,
    /// At the receiver: data are acknowledged at once.
    Receiver,
    /// Between them: both delays are parts of the RTT.
    Middle,
    /// There are no RTTs.
    Unknown,
}

/// Facts of the direction that sent more.
pub(crate) struct Facts<'a> {
    pub half: &'a Half,
    pub mss: u32,
    pub place: Place,
    /// Least RTT.
    pub base_us: u32,
    /// The scale of the receiver's window was in the handshake.
    pub scale_known: bool,
    pub width_ns: u64,
    pub slots: Vec<Slot>,
    /// RTT of each slot, at least; `NONE` without a sample.
    pub rtts: Vec<u32>,
    pub begin_ns: u64,
    pub end_ns: u64,
}

impl<'a> Facts<'a> {
    /// Facts of a connection whose halves are closed; `None` if it sent no data.
    pub fn of(connection: &'a Connection) -> Option<Self> {
        let sender = connection.sender();
        let half = &connection.halves[sender];
        let begin_ns = half.first_data_ns?;
        let (responder, client) = connection.handshake_ns();
        let (data, release) = if sender == 0 { (responder, client) } else { (client, responder) };
        let us = |ns: Option<u64>| ns.map(|ns| (ns / 1000).min(u64::from(NONE - 1)) as u32);
        let data_us = [us(data), Some(half.rtt_min_us).filter(|&us| us != NONE)].into_iter().flatten().min();
        let release_us =
            [us(release), Some(half.release_min_us).filter(|&us| us != NONE)].into_iter().flatten().min();
        let place = match (data_us, release_us) {
            (Some(data), Some(release)) => {
                let near = NEAR * f64::from(data.saturating_add(release));
                if f64::from(release) <= near {
                    Place::Sender
                } else if f64::from(data) <= near {
                    Place::Receiver
                } else {
                    Place::Middle
                }
            }
            _ => Place::Unknown,
        };
        let release_us = release_us.unwrap_or(0);
        let slots = half.slots.dense(connection.last_ns);
        let rtts: Vec<u32> = slots.iter().map(|slot| rtt_of(place, slot, release_us)).collect();
        let sampled = rtts.iter().copied().min().unwrap_or(NONE);
        let parts_us = data_us.unwrap_or(0).saturating_add(release_us).min(NONE - 1);
        let base_us = if sampled == NONE { parts_us } else { sampled };
        // The delay of the handshake is a sample, too, when it is of the whole path.
        let handshake_us = us(responder).zip(us(client)).map(|(a, b)| a.saturating_add(b));
        let base_us = handshake_us.filter(|_| connection.handshake).map_or(base_us, |us| us.min(base_us));
        Some(Facts {
            half,
            mss: connection.segment(sender),
            place,
            base_us,
            scale_known: connection.scale_of(1 - sender).is_some(),
            width_ns: half.slots.width_ns,
            slots,
            rtts,
            begin_ns,
            end_ns: connection.last_ns,
        })
    }

    /// Losses, retransmissions that were probes apart.
    pub fn losses(&self) -> &[Loss] {
        &self.half.losses
    }
}

fn rtt_of(place: Place, slot: &Slot, release_us: u32) -> u32 {
    match place {
        Place::Receiver => slot.release_min,
        Place::Middle if slot.rtt_min != NONE => {
            let release = if slot.release_min == NONE { release_us } else { slot.release_min };
            slot.rtt_min.saturating_add(release)
        }
        _ => slot.rtt_min,
    }
}
