//! Growth in congestion avoidance where fixed point is at its limits: windows of up to 2^31 segments, and of one.

use cwnd_algorithms::{Ack, CWND_LIMITED, Driver, Instance, Lowering, Window, find};

/// 100 ms.
const RTT_US: u32 = 100_000;

/// A flow in congestion avoidance.
struct Flow {
    driver: Driver<Instance>,
    rtt_us: u32,
}

impl Flow {
    fn new(name: &str, params: &[(&str, &str)], cwnd: u32) -> Flow {
        let algorithm = find(name).unwrap();
        let mut values = algorithm.defaults();
        for (param, value) in params {
            algorithm.set(&mut values, param, value).unwrap();
        }
        let window = Window { ssthresh: cwnd.max(2), cwnd_clamp: 1 << 31, ..Window::new(cwnd) };
        let ack =
            Ack { now_us: 1_000_000, snd_wnd: u32::MAX, mss: 1448, flags: CWND_LIMITED, ..Ack::default() };
        let mut driver = Driver::new(algorithm.build(&values), window, ack);
        driver.start();
        // Some have a window of their own at first.
        driver.window.cwnd = cwnd;
        Flow { driver, rtt_us: RTT_US }
    }

    /// An ACK of `acked` segments; the segments of an RTT arrive one after another.
    fn ack(&mut self, acked: u32) {
        let cwnd = self.driver.window.cwnd;
        let ack = &mut self.driver.ack;
        ack.now_us += u64::from(acked) * u64::from(self.rtt_us) / u64::from(cwnd);
        ack.delivered += u64::from(acked);
        (ack.acked, ack.prior_in_flight, ack.in_flight) = (acked, cwnd, cwnd - acked);
        (ack.rtt_us, ack.srtt_us) = (self.rtt_us, self.rtt_us);
        ack.min_rtt_us = if ack.min_rtt_us == 0 { self.rtt_us } else { ack.min_rtt_us.min(self.rtt_us) };
        self.driver.on_ack();
    }

    /// Returns how much the window grows in `rtts` RTTs of ACKs of `acked` segments.
    fn grown(&mut self, rtts: u32, acked: u32) -> u32 {
        let before = self.driver.window.cwnd;
        for _ in 0..rtts {
            for _ in 0..self.driver.window.cwnd / acked {
                self.ack(acked);
            }
        }
        self.driver.window.cwnd - before
    }

    fn lose(&mut self) {
        self.driver.on_loss(Lowering::ToSsthresh);
        self.driver.on_recovered(self.driver.window.ssthresh);
    }
}

/// Reno grows by a segment an RTT, whatever the window (RFC 5681, 3.1). Before the first loss Agile-SD has lambda = 1,
/// and so grows as Reno does; so does H-TCP within Delta_L of an event.
#[test]
fn what_grows_as_reno_does_so_up_to_the_largest_window() {
    for name in ["reno", "agile-sd", "htcp", "veno", "westwood", "dctcp"] {
        for (cwnd, acked) in [(600_000, 1), (1_300_000, 2), (2_140_000_000, 1 << 11)] {
            let grown = Flow::new(name, &[], cwnd).grown(4, acked);
            assert!((3..=4).contains(&grown), "{name}: {cwnd} segments grew by {grown} in 4 RTTs");
        }
    }
}

/// The queueing delay of TCP Fusion, 8 ms, is between Dmin and three times Dmin: its window is Reno's.
#[test]
fn fusion_follows_reno_up_to_the_largest_window() {
    for (cwnd, acked) in [(1_300_000, 1), (2_140_000_000, 500)] {
        let mut fusion = Flow::new("fusion", &[], cwnd);
        fusion.driver.ack.min_rtt_us = RTT_US - 8000;
        let grown = fusion.grown(4, acked);
        assert!((3..=4).contains(&grown), "{cwnd} segments grew by {grown} in 4 RTTs");
    }
}

/// As congested as at the last loss, TCP Adaptive Reno is Reno.
#[test]
fn adaptive_reno_follows_reno_up_to_the_largest_window() {
    let mut adaptive = Flow::new("adaptive-reno", &[], 2_140_000_000);
    adaptive.driver.ack.min_rtt_us = RTT_US / 2;
    adaptive.ack(1 << 20);
    adaptive.lose();
    adaptive.driver.window.cwnd = 2_140_000_000;
    let grown = adaptive.grown(4, 500);
    assert!((3..=4).contains(&grown), "grew by {grown} in 4 RTTs");
}

/// Prague grows by (SRTT / vrtt)^2 segments an RTT (draft-briscoe-iccrg-prague-congestion-control, 2.4.4): by 0.01 at
/// 2.5 ms for a vrtt of 25 ms.
#[test]
fn prague_grows_at_short_rtts_up_to_the_largest_window() {
    for cwnd in [3_000_000, 130_000_000] {
        let mut prague = Flow::new("prague", &[("rtt_independent", "0")], cwnd);
        prague.rtt_us = 2500;
        let grown = prague.grown(400, 1 << 15);
        assert!((3..=5).contains(&grown), "{cwnd} segments grew by {grown} in 400 RTTs, not by 4");
    }
}

/// BIC halves the distance to the window of the last loss until a step is below Smin, and then probes beyond it.
#[test]
fn bic_comes_past_the_largest_window_of_the_last_loss() {
    let cwnd = 1_000_000_000;
    let mut bic = Flow::new("bic", &[("s_min", "0.001")], cwnd);
    bic.lose();
    bic.driver.window.cwnd = cwnd - 1;
    bic.grown(30, 1 << 14);
    assert!(bic.driver.window.cwnd > cwnd, "{}", bic.driver.window.cwnd);
}

/// FAST asks for gamma alpha = 0.001 segments more an RTT where no queue stands.
#[test]
fn fast_grows_however_little_it_asks_for() {
    let mut fast = Flow::new("fast", &[("alpha", "1"), ("gamma", "0.001")], 100_000_000);
    let grown = fast.grown(1000, 1 << 18);
    assert!((1..100).contains(&grown), "grew by {grown} in 1000 RTTs");
}

/// lambda = 0.001 is a segment in 1000 RTTs.
#[test]
fn agile_grows_however_small_its_agility_is() {
    let params = [("lambda_min", "0.001"), ("combine", "switch")];
    let grown = Flow::new("agile", &params, 100_000_000).grown(1000, 1 << 18);
    assert!((1..100).contains(&grown), "grew by {grown} in 1000 RTTs");
}

/// H-TCP grows by 2 (1 - beta) alpha segments an RTT, and beta = RTTmin / RTTmax may be 0.999.
#[test]
fn htcp_grows_however_near_to_1_its_decrease_is() {
    let mut htcp = Flow::new("htcp", &[("beta_max", "0.999"), ("delta_l", "100")], 2_000_000_000);
    for _ in 0..2 {
        htcp.grown(3, 1 << 24);
        htcp.lose();
        htcp.driver.window.cwnd = 2_000_000_000;
    }
    let grown = htcp.grown(20, 1 << 20);
    assert!((1..20).contains(&grown), "grew by {grown} in 20 RTTs");
}

/// A segment for each segment acknowledged is slow start's growth (RFC 5681, 3.1), and congestion avoidance is no faster.
#[test]
fn one_segment_grows_to_two_whatever_credit_it_has() {
    for name in ["reno", "cubic", "bic", "vegas", "westwood", "highspeed", "scalable", "yeah"] {
        for credit in [0, 1, 7] {
            let mut flow = Flow::new(name, &[], 1);
            flow.driver.window.cwnd_cnt = credit;
            flow.ack(1);
            assert!(flow.driver.window.cwnd <= 2, "{name}: {}, credit {credit}", flow.driver.window.cwnd);
        }
    }
}
