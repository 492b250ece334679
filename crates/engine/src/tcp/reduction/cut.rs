//! The window is cut at once (RFC 5681, RFC 6675): nothing is sent until enough has left the network.

/// How much may be in flight. The fast retransmit itself waits for nothing (RFC 6675, 5, step 4.3).
pub fn send_window(in_flight: u64, cwnd: u64, fast_retransmit: bool) -> u64 {
    cwnd.max(in_flight + u64::from(fast_retransmit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6675, 5: 20 in flight, of which one is lost and three were SACKed above it; cwnd is 10.
    #[test]
    fn the_fast_retransmit_leaves_at_once_and_the_next_segment_when_ten_are_in_flight() {
        let sent = |in_flight, fast_retransmit| send_window(in_flight, 10, fast_retransmit) - in_flight;
        assert_eq!(sent(16, true), 1);
        assert_eq!([16, 12, 10, 9].map(|in_flight| sent(in_flight, false)), [0, 0, 0, 1]);
    }
}
