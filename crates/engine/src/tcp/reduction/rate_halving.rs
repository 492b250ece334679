//! Rate halving, as in Linux before 3.2: every other ACK lets a segment go, until the window is met.

#[derive(Default)]
pub struct RateHalving {
    /// The least in flight after an ACK, before that ACK let anything go.
    least_in_flight: u64,
}

impl RateHalving {
    pub fn new(in_flight: u64) -> RateHalving {
        RateHalving { least_in_flight: in_flight }
    }

    /// How much may be in flight after an ACK; `cwnd` is the window to come down to.
    pub fn send_window(&mut self, in_flight: u64, cwnd: u64) -> u64 {
        let window = self.least_in_flight.min(in_flight + 1).max(cwnd);
        self.least_in_flight = self.least_in_flight.min(in_flight);
        window
    }
}

/// The window when the reduction ends: one that was below ssthresh goes up to it, but lets no burst out.
pub fn final_cwnd(cwnd: u32, ssthresh: u32, outstanding: u64, burst: u64) -> u32 {
    if cwnd < ssthresh { ssthresh.min((outstanding + burst) as u32) } else { cwnd }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_ack_lets_a_segment_go_until_the_window_is_met() {
        let (mut reduction, mut in_flight) = (RateHalving::new(20), 20);
        let mut sent = || {
            in_flight -= 1;
            let segments = reduction.send_window(in_flight, 15) - in_flight;
            in_flight += segments;
            segments
        };
        // 20, 19, 19, 18, 18 ... in flight: the tenth ACK leaves 15, and each one after it lets a segment go.
        let answers: Vec<u64> = (0..13).map(|_| sent()).collect();
        assert_eq!(answers, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1]);
    }

    #[test]
    fn the_end_lets_a_burst_of_three_out_at_most() {
        assert_eq!(final_cwnd(5, 10, 4, 3), 7);
        assert_eq!(final_cwnd(5, 10, 9, 3), 10);
        assert_eq!(final_cwnd(12, 10, 4, 3), 12);
    }
}
