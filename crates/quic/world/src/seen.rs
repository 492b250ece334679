//! Record of a sender's congestion controller, for results and samples.

use cwnd_engine::Distribution;

/// Windows and packets in flight in bytes of datagrams, as stacks count them.
pub struct Seen {
    datagram_bytes: u64,
    window_bytes: u64,
    ssthresh_bytes: Option<u64>,
    /// True if the controller reports an ssthresh.
    has_ssthresh: bool,
    in_flight_bytes: u64,
    pub srtt_ns: u64,
    /// RTTs of packets acknowledged: from sending to the ACK, its delay included.
    rtts: Distribution,
    /// Start of the time that is measured.
    from_ns: u64,
    /// Integral of the window over time, up to the last change.
    window_byte_ns: u128,
    changed_ns: u64,
    /// The least and the greatest window since the last row of samples.
    range_bytes: (u64, u64),
    /// When slow start ended for the first time.
    slow_start_end_ns: Option<u64>,
    /// Number of persistent congestions: all packets of a longer time were lost (RFC 9002, 7.6). TCP's counterpart is a timeout.
    persistent_congestions: u64,
}

/// A flow at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub cwnd_pkts: u32,
    /// Since the look before.
    pub min_cwnd_pkts: u32,
    pub max_cwnd_pkts: u32,
    /// None: not set.
    pub ssthresh_pkts: Option<u32>,
    pub in_flight_pkts: u32,
}

impl Seen {
    /// Starts the record of a flow that starts at `start_ns`.
    pub fn new(datagram_bytes: u16, start_ns: u64) -> Seen {
        Seen {
            datagram_bytes: datagram_bytes.into(),
            window_bytes: 0,
            ssthresh_bytes: None,
            has_ssthresh: false,
            in_flight_bytes: 0,
            srtt_ns: 0,
            rtts: Distribution::new(),
            from_ns: start_ns,
            window_byte_ns: 0,
            changed_ns: start_ns,
            range_bytes: (u64::MAX, 0),
            slow_start_end_ns: None,
            persistent_congestions: 0,
        }
    }

    /// The warmup ends.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        self.from_ns = now_ns.max(self.from_ns);
        self.changed_ns = self.from_ns;
        self.window_byte_ns = 0;
        self.rtts = Distribution::new();
    }

    /// The controller's window is `window_bytes` from now on. An `ssthresh_bytes` of more than 2⁶² stands for none.
    pub fn set_window(&mut self, now_ns: u64, window_bytes: u64, ssthresh_bytes: Option<u64>) {
        self.add_window(now_ns);
        self.window_bytes = window_bytes;
        let (min, max) = self.range_bytes;
        self.range_bytes = (min.min(window_bytes), max.max(window_bytes));
        self.has_ssthresh |= ssthresh_bytes.is_some();
        self.ssthresh_bytes = ssthresh_bytes.filter(|&bytes| bytes < 1 << 62);
        if self.ssthresh_bytes.is_some() && self.slow_start_end_ns.is_none() {
            self.slow_start_end_ns = Some(now_ns);
        }
    }

    fn add_window(&mut self, now_ns: u64) {
        let span_ns = now_ns.saturating_sub(self.changed_ns);
        self.window_byte_ns += u128::from(self.window_bytes) * u128::from(span_ns);
        self.changed_ns = now_ns.max(self.changed_ns);
    }

    pub fn send(&mut self, bytes: u64) {
        self.in_flight_bytes += bytes;
    }

    pub fn lose(&mut self, bytes: u64, is_persistent: bool) {
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(bytes);
        self.persistent_congestions += u64::from(is_persistent);
    }

    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    pub fn set_in_flight(&mut self, bytes: u64) {
        self.in_flight_bytes = bytes;
    }

    /// An ACK has been read, of which the newest packet was sent `rtt_ns` ago.
    pub fn acknowledge(&mut self, in_flight_bytes: u64, rtt_ns: u64, srtt_ns: u64) {
        self.in_flight_bytes = in_flight_bytes;
        self.rtts.add(rtt_ns);
        self.srtt_ns = srtt_ns;
    }

    /// For a row of samples.
    pub fn look(&mut self) -> Look {
        let (min, max) = self.range_bytes;
        self.range_bytes = (self.window_bytes, self.window_bytes);
        let pkts = |bytes: u64| u32::try_from(bytes / self.datagram_bytes).unwrap_or(u32::MAX);
        Look {
            cwnd_pkts: pkts(self.window_bytes),
            min_cwnd_pkts: pkts(min.min(self.window_bytes)),
            max_cwnd_pkts: pkts(max),
            ssthresh_pkts: self.ssthresh_bytes.map(pkts),
            in_flight_pkts: pkts(self.in_flight_bytes),
        }
    }

    /// Over the time measured, up to `end_ns`.
    pub fn mean_cwnd_pkts(&mut self, end_ns: u64) -> f64 {
        self.add_window(end_ns);
        let span_ns = end_ns.saturating_sub(self.from_ns).max(1) as f64;
        self.window_byte_ns as f64 / span_ns / self.datagram_bytes as f64
    }

    pub fn mean_rtt_ms(&self) -> Option<f64> {
        self.rtts.mean().map(|ns| ns * 1e-6)
    }

    pub fn p95_rtt_ms(&self) -> Option<f64> {
        self.rtts.quantile(0.95).map(|ns| ns * 1e-6)
    }

    /// When slow start ended, or `stop_ns` if it did not; None: the controller has no ssthresh.
    pub fn slow_start_end_ns(&self, stop_ns: u64) -> Option<u64> {
        self.has_ssthresh.then(|| self.slow_start_end_ns.unwrap_or(stop_ns))
    }

    pub fn persistent_congestions(&self) -> u64 {
        self.persistent_congestions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_window_is_weighted_by_time() {
        let mut seen = Seen::new(1000, 1_000_000);
        seen.set_window(1_000_000, 10_000, None);
        seen.set_window(2_000_000, 30_000, Some(u64::MAX));
        // 1 ms of 10 packets and 3 ms of 30: 25 packets.
        assert_eq!(seen.mean_cwnd_pkts(5_000_000), 25.0);
        assert_eq!(seen.slow_start_end_ns(9_000_000), Some(9_000_000));
        seen.set_window(5_000_000, 15_000, Some(15_000));
        assert_eq!(seen.slow_start_end_ns(9_000_000), Some(5_000_000));
        assert_eq!(seen.look().ssthresh_pkts, Some(15));
    }

    #[test]
    fn a_look_has_the_range_of_the_window_since_the_look_before() {
        let mut seen = Seen::new(1000, 0);
        for (now_ns, window_bytes) in [(0, 10_000), (1, 40_000), (2, 20_000)] {
            seen.set_window(now_ns, window_bytes, None);
        }
        let range = |look: Look| (look.min_cwnd_pkts, look.cwnd_pkts, look.max_cwnd_pkts);
        assert_eq!(range(seen.look()), (10, 20, 40));
        assert_eq!(range(seen.look()), (20, 20, 20));
        seen.set_window(3, 30_000, None);
        assert_eq!(range(seen.look()), (20, 30, 30));
    }

    #[test]
    fn the_mean_window_after_a_warmup_leaves_out_what_was_before() {
        let mut seen = Seen::new(1000, 0);
        seen.set_window(0, 10_000, None);
        seen.begin_measuring(2_000_000);
        seen.set_window(3_000_000, 20_000, None);
        assert_eq!(seen.mean_cwnd_pkts(4_000_000), 15.0);
    }
}
