//! Pacing: when the next segment may leave that the window allows.

use crate::tcp::sender::Sender;
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Handshake;

/// Linux does not pace the first segments of a connection.
const UNPACED_PKTS: u64 = 10;
/// Percent of the window in an RTT: below half of ssthresh, and from there on.
const SLOW_START_PERCENT: u128 = 200;
const AVOIDANCE_PERCENT: u128 = 120;

impl<C: CongestionControl> Sender<'_, C> {
    /// A segment leaves at `now`: the next one waits.
    pub(super) fn pace(&mut self, now: u64) {
        let own_rate = u128::from(self.driver.window.pacing_rate);
        let mss = u128::from(self.driver.ack.mss);
        let fq = self.paced_by_fq;
        let rate = if own_rate == 0 && fq { self.fq_rate() } else { own_rate };
        if rate == 0 || fq && self.data_pkts() < UNPACED_PKTS {
            return;
        }
        let mut gap_ns = u64::try_from(mss * 1_000_000_000 / rate).unwrap_or(u64::MAX);
        if fq {
            let late_ns = now.saturating_sub(self.paced_until_ns);
            gap_ns -= late_ns.min(gap_ns / 2);
        }
        self.paced_until_ns = now.saturating_add(gap_ns);
    }

    /// Segments with data so far, the one that leaves now among them.
    fn data_pkts(&self) -> u64 {
        let stack = &self.flow.stack;
        let of_handshake = u64::from(stack.handshake != Handshake::Off) + u64::from(stack.answers_syn_ack());
        (self.sent + 1).saturating_sub(of_handshake)
    }

    /// In bytes of payload per second; 0: no RTT is known.
    fn fq_rate(&self) -> u128 {
        let cwnd = self.cwnd();
        let percent = if cwnd < self.ssthresh() / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let window_bytes = u128::from(cwnd) * u128::from(self.driver.ack.mss);
        (window_bytes * percent * 10_000_000).checked_div(u128::from(self.srtt_ns())).unwrap_or(0)
    }
}
