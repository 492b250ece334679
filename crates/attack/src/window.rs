//! A window fixed at the bandwidth-delay product: a reference that knows its path.

use crate::path::Path;
use cwnd_algorithms::{Ack, CongestionControl, Window};
use cwnd_scenario::Scenario;

/// The name by which scenarios call a [`FixedWindow`].
pub const FIXED_WINDOW: &str = "fixed-window";

/// The least window: one that losses can be repaired with by duplicate ACKs; on a path with less room, what a delayed ACK needs.
const WINDOW_MIN_PKTS: f64 = 4.0;
const WINDOW_LEAST_PKTS: f64 = 2.0;

/// A sender that knows its path: at any time its window is its share of the bandwidth-delay product that datagrams of others leave
/// free then, sent at its share of that rate. It begins with the stack's initial window, and losses do not matter to it.
#[derive(Clone, Debug)]
pub struct FixedWindow {
    path: Path,
    /// Number of flows that the path is shared by.
    sharers: f64,
    /// Segments that the receiver may hold back an ACK for.
    held_back_pkts: f64,
}

impl FixedWindow {
    /// A sender for the path of the scenario's first flow, which all of its flows share evenly. Datagrams get none.
    pub fn new(scenario: &Scenario) -> FixedWindow {
        let sharers = scenario.flows.iter().filter(|flow| !flow.cca.is_udp()).count().max(1);
        let held_back_pkts = f64::from(scenario.flows[0].stack.ack_every_pkts);
        FixedWindow { path: Path::new(scenario), sharers: sharers as f64, held_back_pkts }
    }

    fn set(&self, w: &mut Window, a: &Ack) {
        let now_s = a.now_us as f64 / 1e6;
        let rate = self.path.free_rate_at(now_s);
        let bdp_pkts = rate * self.path.rtt_at(now_s) / self.path.packet_bits;
        let window = bdp_pkts / self.sharers + self.held_back_pkts;
        let room_pkts = (bdp_pkts + self.path.buffer_pkts) / self.sharers;
        let least = WINDOW_MIN_PKTS.min(room_pkts.floor()).max(WINDOW_LEAST_PKTS);
        w.cwnd = window.ceil().min(room_pkts.floor()).max(least) as u32;
        w.pacing_rate = (rate * self.path.payload_share / 8.0 / self.sharers).ceil() as u64;
    }
}

impl CongestionControl for FixedWindow {
    fn cong_avoid(&mut self, _: &mut Window, _: &Ack) {}

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        self.set(w, a);
    }

    fn ssthresh(&mut self, w: &mut Window, _: &Ack) -> u32 {
        w.cwnd.max(2)
    }
}
