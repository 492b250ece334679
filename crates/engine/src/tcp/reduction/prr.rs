//! Proportional rate reduction (RFC 9937): the window comes down in proportion to what is delivered.

#[derive(Default)]
pub struct Prr {
    /// RecoverFS: in flight before the reduction began; in Linux 6.12 cwnd then.
    recover_fs: u64,
    /// prr_delivered: delivered since.
    delivered: u64,
}

/// State of the sender after an ACK.
pub struct Progress {
    pub in_flight: u64,
    pub ssthresh: u64,
    /// Segments that this ACK delivered.
    pub delivered: u64,
    /// prr_out: segments sent since the reduction began.
    pub sent: u64,
    /// SafeACK: the ACK moves the left edge and shows no further loss.
    pub safe: bool,
    /// The first retransmission is still to be sent: it waits for nothing.
    pub fast_retransmit: bool,
}

impl Prr {
    /// In flight are no segments that were SACKed before the ACK that shows the loss.
    pub fn new(recover_fs: u64) -> Prr {
        Prr { recover_fs: recover_fs.max(1), delivered: 0 }
    }

    /// How much may be in flight.
    pub fn send_window(&mut self, ack: &Progress) -> u64 {
        self.delivered += ack.delivered;
        let segments = if ack.in_flight > ack.ssthresh {
            (self.delivered * ack.ssthresh).div_ceil(self.recover_fs).saturating_sub(ack.sent)
        } else {
            let limit = self.delivered.saturating_sub(ack.sent).max(ack.delivered);
            (limit + u64::from(ack.safe)).min(ack.ssthresh - ack.in_flight)
        };
        ack.in_flight + segments.max(u64::from(ack.fast_retransmit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments sent in answer to each of a row of ACKs that deliver one segment: 20 were in flight, and this many are lost.
    fn sent(acks: usize, ssthresh: u64, lost: u64, safe: bool) -> Vec<u64> {
        let (mut prr, mut in_flight, mut sent) = (Prr::new(20), 20 - lost, 0);
        let mut answer = |place| {
            in_flight -= 1;
            let fast_retransmit = place == 0;
            let progress = Progress { in_flight, ssthresh, delivered: 1, sent, safe, fast_retransmit };
            let segments = prr.send_window(&progress) - in_flight;
            sent += segments;
            in_flight += segments;
            segments
        };
        (0..acks).map(&mut answer).collect()
    }

    /// RFC 9937: sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out, while inflight > ssthresh.
    #[test]
    fn renos_half_lets_every_other_ack_send_one_and_cubics_seven_tenths_seven_of_ten() {
        assert_eq!(sent(8, 10, 1, false), [1, 0, 1, 0, 1, 0, 1, 0]);
        // ceil(0.7 k) for k = 1 to 10 is 1, 2, 3, 3, 4, 5, 5, 6, 7, 7: seven segments while ten arrive.
        let seven_tenths: u64 = sent(10, 14, 1, false)[..5].iter().sum();
        assert_eq!(seven_tenths, 4);
    }

    /// RFC 9937: at or below ssthresh, MAX(prr_delivered - prr_out, DeliveredData), and one more on a SafeACK.
    #[test]
    fn below_ssthresh_a_safe_ack_lets_one_more_segment_out_up_to_ssthresh() {
        // Fifteen are lost: five in flight, and four after the first ACK.
        assert_eq!(sent(4, 10, 15, false), [1, 1, 1, 1], "packet conservation");
        assert_eq!(sent(7, 10, 15, true), [2, 2, 2, 2, 2, 1, 1], "4 + 2 = 6, 7, 8, 9, 10 in flight");
    }
}
