//! State that a sender keeps once a segment was missing.

use crate::tcp::loss::fine_timer::FineTimer;
use crate::tcp::reduction::prr::Prr;
use crate::tcp::reduction::rate_halving::RateHalving;
use crate::tcp::send_buffer::SendBuffer;

#[derive(Default)]
pub struct Repairs {
    pub reducing: Reducing,
    /// The last reduction, if it may prove needless.
    pub undo: Option<Undo>,
    /// When an ACK showed last that a retransmission is needless which is under way: then nothing more is sent again.
    pub held_back_ns: Option<u64>,
    pub non_sack: NonSack,
    /// If the stack has a limited one.
    pub send_buffer: Option<SendBuffer>,
}

/// A reduction of the window that is undone if nothing was lost.
pub struct Undo {
    /// Before it.
    pub ssthresh: u32,
    /// The first unacknowledged segment then.
    pub una: u64,
    /// When it began or, in a fast recovery, the first segment was sent again, or NEVER.
    pub sent_again_ns: u64,
    /// Segments sent again for it.
    pub sent_again: u64,
    /// Segments of these that have arrived twice.
    pub arrived_twice: u64,
}

impl Undo {
    /// All that was sent again has arrived twice (RFC 3708).
    pub fn is_due(&self) -> bool {
        self.sent_again > 0 && self.arrived_twice >= self.sent_again
    }
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
