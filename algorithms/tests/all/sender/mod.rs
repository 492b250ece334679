//! A stack that reports to an algorithm's driver what a test makes up.

use cwnd_algorithms::{
    APP_LIMITED, Ack, CWND_LIMITED, CongestionControl, Driver, Instance, Lowering, RATE_APP_LIMITED,
    SSTHRESH_INFINITE, State, Window,
};

pub struct Sender<A = Instance> {
    pub driver: Driver<A>,
}

/// Content of one ACK.
pub struct Arrival {
    pub acked: u32,
    pub gap_us: u64,
    /// 0: no sample.
    pub rtt_us: u32,
    pub limited: bool,
    pub state: State,
    pub snd_wnd: u32,
    /// The delivery rate sample: segments, and in how long; (0, 0): none.
    pub rate: (u32, u32),
    /// Segments that it shows to be lost.
    pub lost: u32,
    /// Segments that it reports as marked.
    pub ce: u32,
    /// The one-way delay; 0: no sample.
    pub owd_us: u32,
    /// None: cwnd.
    pub prior_in_flight: Option<u32>,
}

impl<A: CongestionControl> Sender<A> {
    pub fn new(algorithm: A, cwnd: u32, ssthresh: u32, delivered: u64) -> Self {
        let window = Window { cwnd, ssthresh, cwnd_clamp: u32::MAX, ..Window::default() };
        let ack =
            Ack { now_us: 1_000_000, delivered, snd_wnd: SSTHRESH_INFINITE, mss: 1448, ..Ack::default() };
        let mut driver = Driver::new(algorithm, window, ack);
        driver.start();
        Self { driver }
    }

    /// In whatever state the test wants, without the way there.
    pub fn ack(&mut self, arrival: &Arrival) {
        let cwnd = self.driver.window.cwnd;
        let a = &mut self.driver.ack;
        a.now_us += arrival.gap_us;
        a.chance = a.now_us as u32;
        a.acked = arrival.acked;
        a.lost = arrival.lost;
        a.delivered += u64::from(arrival.acked);
        a.ce = arrival.ce;
        a.delivered_ce += u64::from(arrival.ce);
        (a.rate_delivered, a.rate_interval_us) = arrival.rate;
        a.rate_prior_delivered = a.delivered.saturating_sub(u64::from(arrival.rate.0));
        a.prior_in_flight = arrival.prior_in_flight.unwrap_or(cwnd);
        a.in_flight = a.prior_in_flight.saturating_sub(arrival.acked);
        a.snd_wnd = arrival.snd_wnd;
        a.state = arrival.state as u8;
        a.flags = if arrival.limited { CWND_LIMITED } else { APP_LIMITED | RATE_APP_LIMITED };
        (a.rtt_us, a.owd_us) = (arrival.rtt_us, arrival.owd_us);
        if a.rtt_us > 0 {
            a.srtt_us = a.rtt_us;
            a.min_rtt_us = if a.min_rtt_us == 0 { a.rtt_us } else { a.min_rtt_us.min(a.rtt_us) };
        }
        (a.rate_in_flight, a.rate_lost) = (arrival.rate.0.saturating_add(arrival.lost), arrival.lost);
        a.lost_total += u64::from(arrival.lost);
        if arrival.lost == 0 || !self.driver.controls_window() {
            self.driver.on_ack();
            return;
        }
        if arrival.rtt_us > 0 {
            self.driver.on_rtt_sample();
        }
        // One by one, but the last of them only if there are very many.
        for lost in arrival.lost.saturating_sub(100)..arrival.lost {
            self.driver.on_segment_lost(self.driver.ack.rate_in_flight, lost + 1, !arrival.limited);
        }
        self.driver.control();
    }

    /// A fast retransmit whose repair takes no time. Returns the ssthresh of the repair.
    pub fn lose(&mut self) -> u32 {
        self.driver.ack.state = State::Open as u8;
        self.driver.on_loss(Lowering::ToSsthresh);
        let window = self.driver.window;
        self.driver.on_recovered(if window.repair_cwnd > 0 { window.repair_cwnd } else { window.cwnd });
        window.ssthresh
    }

    /// A mark: the window is being reduced until [`Sender::reduced`].
    pub fn mark(&mut self) {
        self.driver.ack.state = State::Open as u8;
        self.driver.on_congestion(Lowering::ToSsthresh, 0);
    }

    pub fn reduced(&mut self) {
        self.driver.ack.state = State::Cwr as u8;
        self.driver.on_recovered(self.driver.window.ssthresh);
    }

    pub fn time_out(&mut self) {
        self.driver.on_timeout(true, self.driver.ack.lost);
    }

    pub fn undo(&mut self) {
        self.driver.undo(self.driver.window.ssthresh);
    }
}
