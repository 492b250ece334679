//! Retransmission timers: that of Agent/TCP/Linux, in milliseconds, and the finer one of Agent/TCP/Vegas.

const MILLISECOND: u64 = 1_000_000;

/// The RTT as Linux 2.6 estimates it, in whole milliseconds.
#[derive(Default)]
pub struct MillisecondTimer {
    /// Eight times the smoothed RTT.
    srtt8_ms: u32,
    /// Four times its deviation.
    rttvar4_ms: u32,
    /// When the segment was sent that moved the left edge last; before one has, the first that arrived.
    sent_ns: u64,
}

impl MillisecondTimer {
    /// At `now` an ACK moves the left edge; returns the timeout.
    pub fn sample(&mut self, now: u64, rtt_ns: u64) -> u64 {
        self.sent_ns = now - rtt_ns;
        self.add(rtt_ns)
    }

    /// At `now` an ACK does not move the left edge: it echoes the time of the segment that moved it last (RFC 7323, 4.3), or of
    /// the first that arrived. If it is the first ACK, that is the one which caused it, sent at `sent_ns`. Returns the timeout.
    pub fn sample_again(&mut self, now: u64, sent_ns: u64) -> u64 {
        if self.srtt8_ms == 0 {
            self.sent_ns = sent_ns;
        }
        self.add(now - self.sent_ns)
    }

    /// Means are rounded down, and a deviation below the mean counts an eighth.
    fn add(&mut self, rtt_ns: u64) -> u64 {
        let rtt = ((rtt_ns + MILLISECOND / 2) / MILLISECOND).clamp(1, u64::from(u32::MAX / 16)) as u32;
        if self.srtt8_ms == 0 {
            (self.srtt8_ms, self.rttvar4_ms) = (8 * rtt, 2 * rtt);
        } else {
            let (srtt, rttvar) = (self.srtt8_ms / 8, self.rttvar4_ms / 4);
            let off = rtt.abs_diff(srtt);
            let more = off.saturating_sub(rttvar) >> if rtt < srtt { 3 } else { 0 };
            self.rttvar4_ms = self.rttvar4_ms + more - rttvar.saturating_sub(off);
            self.srtt8_ms = self.srtt8_ms + rtt - srtt;
        }
        u64::from(self.srtt8_ms / 8 + self.rttvar4_ms) * MILLISECOND
    }
}

/// How long Vegas waits for the ACK of a segment before a duplicate ACK makes it retransmit.
pub fn fine_timeout_ns(srtt_ns: u64, rttvar_ns: u64) -> u64 {
    (srtt_ns + 2 * rttvar_ns) * 17 / 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_that_of_tcp_rtt_estimator_of_linux_2_6() {
        let mut timer = MillisecondTimer::default();
        // The sample; eight times srtt and four times rttvar, in ms.
        for (ms, srtt8, rttvar4) in [(29, 232, 58), (30, 233, 45), (400, 604, 405), (35, 564, 344)] {
            let timeout_ns = timer.sample(1000 * MILLISECOND, ms * MILLISECOND + 499_999);
            assert_eq!((timer.srtt8_ms, timer.rttvar4_ms), (srtt8, rttvar4));
            assert_eq!(timeout_ns, u64::from(srtt8 / 8 + rttvar4) * MILLISECOND);
        }
        // 100 ms later nothing has moved the left edge: 135 ms, the first srtt above which is 70.
        timer.sample_again(1100 * MILLISECOND, 1000 * MILLISECOND);
        assert_eq!(timer.srtt8_ms, 564 + 135 - 70);
    }

    #[test]
    fn before_the_left_edge_has_moved_duplicates_echo_the_first_segment_that_arrived() {
        // Two segments sent 101 ms apart, the second for the first's ACK. ns-2.35 waits 303 ms, then 366 ms.
        let mut timer = MillisecondTimer::default();
        assert_eq!(timer.sample_again(5101 * MILLISECOND, 5000 * MILLISECOND), 303 * MILLISECOND);
        assert_eq!(timer.sample_again(5202 * MILLISECOND, 5101 * MILLISECOND), 366 * MILLISECOND);
    }
}
