//! What a sender keeps once a segment was missing.

use crate::tcp::loss::fine_timer::FineTimer;
use crate::tcp::reduction::prr::Prr;
use crate::tcp::reduction::rate_halving::RateHalving;

#[derive(Default)]
pub struct Repairs {
    pub reducing: Reducing,
    /// A timeout that may prove spurious: when it fired, and the ssthresh before it.
    pub undo: Option<(u64, u32)>,
    pub non_sack: NonSack,
}

/// A reduction of the window under way.
#[derive(Default)]
pub struct Reducing {
    /// Segments sent since it began.
    pub sent: u64,
    pub prr: Prr,
    pub rate_halving: RateHalving,
}

/// For a sender without SACK. The duplicate ACKs that inflate its window (RFC 5681, 3.2), and the first two, which let
/// a new segment out each (RFC 3042), are in `Scoreboard::sacked_out`.
#[derive(Default)]
pub struct NonSack {
    pub dup_acks: u64,
    /// Segments beyond `una` that have arrived, as duplicate ACKs show.
    pub arrived: u64,
    /// The first segment is to be retransmitted, however much is in flight.
    pub must_retransmit: bool,
    /// A partial ACK restarted the timer of this recovery: further ones do not (RFC 6582, 4).
    pub restarted_timer: bool,
    /// CWR lasts until more than this is acknowledged: then the receiver knows of it, and echoes no more.
    pub reduced_until: u64,
    fine_timer: Option<Box<FineTimer>>,
}

impl NonSack {
    /// Duplicate ACKs are not forgotten yet, or a segment is to be sent again.
    pub fn is_repairing(&self) -> bool {
        self.dup_acks | self.arrived > 0 || self.must_retransmit
    }

    pub fn fine_timer(&mut self) -> &mut FineTimer {
        self.fine_timer.get_or_insert_default()
    }
}
