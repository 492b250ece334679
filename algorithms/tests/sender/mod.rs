//! A sender that does for an algorithm what the contract says a stack does, and nothing else.

use cwnd_algorithms::{
    APP_LIMITED, Ack, CWND_LIMITED, CongestionControl, Event, Instance, RATE_APP_LIMITED, SSTHRESH_INFINITE,
    State, Window,
};

pub struct Sender<A = Instance> {
    pub algorithm: A,
    pub w: Window,
    pub a: Ack,
}

/// What one ACK brings.
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
    /// Segments that it tells to be lost.
    pub lost: u32,
}

impl<A: CongestionControl> Sender<A> {
    pub fn new(algorithm: A, cwnd: u32, ssthresh: u32, delivered: u64) -> Self {
        let w = Window { cwnd, ssthresh, cwnd_clamp: u32::MAX, ..Window::default() };
        let a = Ack { now_us: 1_000_000, delivered, snd_wnd: SSTHRESH_INFINITE, mss: 1448, ..Ack::default() };
        let mut sender = Self { algorithm, w, a };
        sender.algorithm.init(&mut sender.w, &sender.a);
        sender
    }

    pub fn ack(&mut self, arrival: &Arrival) {
        let a = &mut self.a;
        a.now_us += arrival.gap_us;
        a.acked = arrival.acked;
        a.lost = arrival.lost;
        a.delivered += u64::from(arrival.acked);
        (a.rate_delivered, a.rate_interval_us) = arrival.rate;
        a.rate_prior_delivered = a.delivered.saturating_sub(u64::from(arrival.rate.0));
        a.prior_in_flight = self.w.cwnd;
        a.in_flight = self.w.cwnd.saturating_sub(arrival.acked);
        a.snd_wnd = arrival.snd_wnd;
        a.state = arrival.state as u8;
        a.flags = if arrival.limited { CWND_LIMITED } else { APP_LIMITED | RATE_APP_LIMITED };
        a.rtt_us = arrival.rtt_us;
        if a.rtt_us > 0 {
            a.srtt_us = a.rtt_us;
            a.min_rtt_us = if a.min_rtt_us == 0 { a.rtt_us } else { a.min_rtt_us.min(a.rtt_us) };
            self.algorithm.pkts_acked(&mut self.w, &self.a);
        }
        if self.algorithm.has_cong_control() {
            self.algorithm.cong_control(&mut self.w, &self.a);
        } else if !matches!(arrival.state, State::Cwr | State::Recovery) {
            self.algorithm.cong_avoid(&mut self.w, &self.a);
        }
    }

    /// A fast retransmit whose repair takes no time.
    pub fn lose(&mut self) {
        self.w.prior_cwnd = self.w.cwnd;
        let ssthresh = self.algorithm.ssthresh(&mut self.w, &self.a);
        self.algorithm.set_state(&mut self.w, &self.a, State::Recovery);
        self.w.ssthresh = ssthresh;
        if !self.algorithm.has_cong_control() {
            self.w.cwnd = if self.w.repair_cwnd > 0 { self.w.repair_cwnd } else { ssthresh };
        }
        self.w.cwnd_cnt = 0;
        self.event(Event::CompleteCwr);
        self.algorithm.set_state(&mut self.w, &self.a, State::Open);
    }

    pub fn time_out(&mut self) {
        self.w.prior_cwnd = self.w.cwnd;
        self.w.ssthresh = self.algorithm.ssthresh(&mut self.w, &self.a);
        self.event(Event::Rto);
        self.w.cwnd = 1;
        self.w.cwnd_cnt = 0;
        self.algorithm.set_state(&mut self.w, &self.a, State::Loss);
    }

    pub fn undo(&mut self) {
        self.w.cwnd = self.algorithm.undo_cwnd(&mut self.w, &self.a);
    }

    pub fn event(&mut self, event: Event) {
        self.algorithm.cwnd_event(&mut self.w, &self.a, event);
    }
}
