//! How a sender finds losses and repairs them: four choices, bundled under the names that scenarios use.

use serde::{Deserialize, Serialize};

/// The name of a bundle of [`RecoveryChoices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// No SACK: back to the first missing segment, cwnd = 1 (Jacobson 1988).
    Tahoe,
    /// No SACK: fast recovery, until the first new ACK (RFC 5681).
    Reno,
    /// No SACK: fast recovery, one segment per RTT, until all that was in flight is acknowledged (RFC 6582).
    #[serde(rename = "newreno")]
    NewReno,
    /// No SACK: as `Reno`, but a finer clock finds losses before three duplicate ACKs (Brakmo, Peterson 1995).
    Vegas,
    /// RFC 6675: the window is cut at once.
    Sack,
    /// Forward acknowledgement: all below the highest SACKed segment has left the network (Mathis, Mahdavi 1996).
    Fack,
    /// Proportional rate reduction (RFC 9937), losses found by time and probes of the tail (RACK-TLP, RFC 8985).
    Prr,
    /// Linux 2.6 and Agent/TCP/Linux of ns-2.35: one segment for every two ACKs until the window is met.
    RateHalving,
}

/// Choices of a sender for finding and repairing losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryChoices {
    /// How losses are found.
    pub detection: Detection,
    /// How the window comes down.
    pub reduction: Reduction,
    /// A segment is sent when the ACKs of the last ones are late (RFC 8985, 7).
    pub tail_probe: bool,
    /// The algorithm gets the RTT of the segment that caused an ACK, SACKed or not; without this, that of the first
    /// segment that waited for the ACK, if the ACK moves the left edge. Where an ACK of a retransmission reports nothing new
    /// besides, the RTT is that of the timestamps, in whole ticks, for the timer too.
    pub times_causing_segment: bool,
    /// Behaviour of ns-2 beside.
    pub quirks: Ns2Quirks,
}

/// How a loss is found, besides a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// By three duplicate ACKs (RFC 5681).
    DupAcks,
    /// By them, and by each ACK of a part of what was in flight when a recovery began (RFC 6582).
    PartialAcks,
    /// By them, and by a timer for each segment that is shorter than the RTO (Brakmo, Peterson 1995).
    FineTimer,
    /// By three SACKed segments above the lost one (RFC 6675).
    Sack,
    /// By a SACKed segment three above the first missing one: then all missing below it is lost (Mathis, Mahdavi 1996).
    Fack,
    /// By a SACKed segment more than three above the lost one (Linux 2.6).
    FackDistance,
    /// By the time at which segments were sent (RFC 8985).
    Rack,
}

/// How the window comes down after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// To one segment, and up again in slow start, from the first missing segment on (Jacobson 1988).
    SlowStart,
    /// To ssthresh at once (RFC 5681, RFC 6675).
    Cut,
    /// In proportion to what is delivered (RFC 9937).
    Prr,
    /// By one segment for every two ACKs (Linux 2.6).
    RateHalving,
}

/// Behaviour of ns-2.35's senders that no RFC asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ns2Quirks {
    /// A window that restarted at one and grew during the recovery stays as it is when the recovery ends.
    pub keeps_regrown_window: bool,
    /// Timeouts are calculated in whole milliseconds.
    pub times_in_milliseconds: bool,
    /// The algorithm gets RTTs rounded down to microseconds, and none of a segment sent at time zero.
    pub rounds_rtt_down: bool,
    /// The algorithm gets no RTT during a recovery.
    pub hides_rtt_in_recovery: bool,
    /// An ACK that does not move the left edge restarts the timer.
    pub duplicates_restart_timer: bool,
    /// While something is missing, an ACK without news is processed like any other.
    pub processes_every_ack: bool,
    /// The algorithm sees the event of ACKs off the fast path, `CC_SLOW_ACK`.
    pub reports_slow_acks: bool,
    /// An ACK grows the window as the state before it allows, not as the state after it does.
    pub grows_before_state_changes: bool,
    /// A loss that is found during the repair after a timeout begins a recovery and a reduction of its own.
    pub recovers_after_timeout: bool,
    /// At the end of a recovery the sender forgets the SACKed segments, until the next ACKs report them again.
    pub forgets_sacks_after_recovery: bool,
    /// Every timeout lowers ssthresh, also one for a window of data that was reduced already.
    pub reduces_at_each_timeout: bool,
    /// A retransmission is lost once the fifth one after it has arrived; without this, once any segment sent after it has.
    pub waits_for_fifth_retransmission: bool,
}

impl Detection {
    /// Returns true if the receiver reports which segments have arrived (RFC 2018).
    #[inline]
    pub fn uses_sack(self) -> bool {
        matches!(self, Detection::Sack | Detection::Fack | Detection::FackDistance | Detection::Rack)
    }
}

impl Ns2Quirks {
    /// No behaviour of ns-2.
    pub const NONE: Ns2Quirks = Ns2Quirks {
        keeps_regrown_window: false,
        times_in_milliseconds: false,
        rounds_rtt_down: false,
        hides_rtt_in_recovery: false,
        duplicates_restart_timer: false,
        processes_every_ack: false,
        reports_slow_acks: false,
        grows_before_state_changes: false,
        recovers_after_timeout: false,
        forgets_sacks_after_recovery: false,
        reduces_at_each_timeout: false,
        waits_for_fifth_retransmission: false,
    };
}

const fn without_quirks(detection: Detection, reduction: Reduction) -> RecoveryChoices {
    RecoveryChoices {
        detection,
        reduction,
        tail_probe: false,
        times_causing_segment: false,
        quirks: Ns2Quirks::NONE,
    }
}

static TAHOE: RecoveryChoices = without_quirks(Detection::DupAcks, Reduction::SlowStart);
static RENO: RecoveryChoices = without_quirks(Detection::DupAcks, Reduction::Cut);
static NEW_RENO: RecoveryChoices = without_quirks(Detection::PartialAcks, Reduction::Cut);
static VEGAS: RecoveryChoices = without_quirks(Detection::FineTimer, Reduction::Cut);
static SACK: RecoveryChoices = without_quirks(Detection::Sack, Reduction::Cut);
static FACK: RecoveryChoices = RecoveryChoices {
    quirks: Ns2Quirks { keeps_regrown_window: true, ..Ns2Quirks::NONE },
    ..without_quirks(Detection::Fack, Reduction::Cut)
};
static PRR: RecoveryChoices = RecoveryChoices {
    tail_probe: true,
    times_causing_segment: true,
    ..without_quirks(Detection::Rack, Reduction::Prr)
};
static RATE_HALVING: RecoveryChoices = RecoveryChoices {
    quirks: Ns2Quirks {
        times_in_milliseconds: true,
        rounds_rtt_down: true,
        hides_rtt_in_recovery: true,
        duplicates_restart_timer: true,
        processes_every_ack: true,
        reports_slow_acks: true,
        grows_before_state_changes: true,
        recovers_after_timeout: true,
        forgets_sacks_after_recovery: true,
        reduces_at_each_timeout: true,
        waits_for_fifth_retransmission: true,
        ..Ns2Quirks::NONE
    },
    ..without_quirks(Detection::FackDistance, Reduction::RateHalving)
};

impl Recovery {
    /// The names in scenarios and results, in the order of their reference.
    pub const NAMES: [(&str, Recovery); 8] = [
        ("tahoe", Recovery::Tahoe),
        ("reno", Recovery::Reno),
        ("newreno", Recovery::NewReno),
        ("vegas", Recovery::Vegas),
        ("sack", Recovery::Sack),
        ("fack", Recovery::Fack),
        ("prr", Recovery::Prr),
        ("rate-halving", Recovery::RateHalving),
    ];

    /// Returns the choices that the bundle stands for.
    pub fn choices(self) -> &'static RecoveryChoices {
        match self {
            Recovery::Tahoe => &TAHOE,
            Recovery::Reno => &RENO,
            Recovery::NewReno => &NEW_RENO,
            Recovery::Vegas => &VEGAS,
            Recovery::Sack => &SACK,
            Recovery::Fack => &FACK,
            Recovery::Prr => &PRR,
            Recovery::RateHalving => &RATE_HALVING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_is_read_and_written_by_its_name() {
        for (name, recovery) in Recovery::NAMES {
            let text = format!("\"{name}\"");
            assert_eq!(serde_json::to_string(&recovery).unwrap(), text);
            assert_eq!(serde_json::from_str::<Recovery>(&text).unwrap(), recovery);
        }
    }

    #[test]
    fn no_two_recoveries_make_the_same_choices() {
        for (place, (name, one)) in Recovery::NAMES.iter().enumerate() {
            let others = &Recovery::NAMES[..place];
            assert!(others.iter().all(|(_, other)| other.choices() != one.choices()), "{name}");
        }
    }
}
