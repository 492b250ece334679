//! The way back, from the receiver to the sender.

use cwnd_scenario::Flow;

/// A constant delay: nobody else uses the way back, and no ACK waits or is lost.
#[derive(Clone, Copy)]
pub struct ReversePath {
    delay_ns: u64,
}

impl ReversePath {
    pub fn new(flow: &Flow) -> ReversePath {
        ReversePath { delay_ns: flow.return_delay_ns }
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
