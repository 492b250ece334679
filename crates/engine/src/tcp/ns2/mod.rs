//! The parts of ns-2.35's senders that its quirks need ([`Ns2Quirks`](cwnd_scenario::Ns2Quirks)).

pub mod retransmissions;
pub mod timer;
