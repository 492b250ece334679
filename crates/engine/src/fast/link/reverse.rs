//! The way back, from the receiver to the sender.

use cwnd_scenario::Flow;

/// A constant delay: nobody else uses the way back, and no ACK waits or is lost. Of a flow whose ACKs cross links there is
/// none: they are packets like any other (`acks.rs`), and what the receiver does shows there at once.
#[derive(Clone, Copy)]
pub struct ReversePath {
    delay_ns: u64,
}

impl ReversePath {
    pub fn new(flow: &Flow) -> ReversePath {
        let constant = flow.reverse_path.is_empty();
        ReversePath { delay_ns: if constant { flow.return_delay_ns } else { 0 } }
    }

    /// When an ACK that is sent at `sent_ns` is at the sender.
    #[inline(always)]
    pub fn ack_arrival_ns(self, sent_ns: u64) -> u64 {
        sent_ns + self.delay_ns
    }

    /// No ACK is at the sender sooner than this after it was sent.
    pub fn least_ns(self) -> u64 {
        self.delay_ns
    }
}
