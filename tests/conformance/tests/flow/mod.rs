//! A pseudo-random flow: a path, a stack of few words, and a record of every hook that the stack calls.
//!
//! The algorithm under test decides. Afterwards the kernel's module gets the same calls with the same facts, and must
//! answer each with the same windows.

mod random;
mod record;

use cwnd_algorithms::{
    APP_LIMITED, Ack, Algorithm, CWND_LIMITED, CongestionControl, Event, Instance, Params, RATE_APP_LIMITED,
    SSTHRESH_INFINITE, State, Window,
};
use random::Random;
use record::{EVENTS, Record, STATES, Stack};
use std::collections::VecDeque;

pub use record::{ANSWER_BYTES, Answer, Kind, RECORD_BYTES};

struct Path {
    base_us: u64,
    segment_ns: u64,
    /// Segments in flight that overflow it.
    room: u32,
    jitter_us: u64,
    /// One ACK in this many brings a loss; 0: none.
    loss: u64,
    /// Most segments that an ACK covers.
    stretch: u64,
}

struct Flight {
    end: u32,
    sent_us: u64,
    delivered: u64,
    delivered_us: u64,
    app_limited: bool,
}

pub struct Flow {
    cc: Instance,
    random: Random,
    path: Path,
    w: Window,
    a: Ack,
    s: Stack,
    now_us: u64,
    srtt_8us: u64,
    /// The bottleneck is busy until then.
    busy_ns: u64,
    /// The next segment to arrive.
    arriving: u32,
    flight: VecDeque<Flight>,
    /// The part of cwnd that the application fills, in 1/16.
    wants: u64,
    prior_ssthresh: u32,
    /// Further rounds that count as limited by the application.
    limited_rounds: u32,
    round_end: u32,
    /// ACKs tell of marks.
    marks: bool,
    pub records: Vec<Record>,
    pub answers: Vec<Answer>,
}

/// Number of marked segments of the `n` up to the `delivered`th: none, some or all in turn, for a few or for thousands of segments.
fn marked(delivered: u64, n: u32) -> u32 {
    let share = (delivered >> 4) * 7 + (delivered >> 11) * 3;
    match share % 8 {
        0..4 => 0,
        4..6 => n / 2,
        _ => n,
    }
}

impl Flow {
    /// A whole flow of about `acks` ACKs.
    pub fn run(algorithm: &Algorithm, params: &Params, seed: u64, acks: usize) -> Flow {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        let base_us = random.magnitude(1e3, 500e3) as u64;
        let bdp = random.magnitude(4.0, 50e3);
        let cc = algorithm.build(params);
        let mut path = Path {
            base_us,
            segment_ns: (base_us as f64 * 1e3 / bdp) as u64,
            room: (bdp * random.magnitude(1.1, 4.0)) as u32 + 4,
            jitter_us: if random.one_in(2) { 0 } else { random.below(base_us / 8) },
            loss: if random.one_in(3) { 0 } else { random.magnitude(50.0, 5000.0) as u64 },
            stretch: [1, 2, 2, 4, 64][random.below(5) as usize],
        };
        let now_us = 1_000_000 + random.below(7_200_000_000);
        let mss = if cc.has_cong_control() {
            // Less than 1.2 Mbit/s, even at the gain of STARTUP: see DIFFERENCES.md.
            path.segment_ns = path.segment_ns.max(83_000);
            let per_s = (1e9 / path.segment_ns as f64).max(10e6 / base_us as f64);
            (12e3 / per_s).clamp(1.0, 1448.0) as u32
        } else {
            [536, 1448, 8948][random.below(3) as usize]
        };
        let srtt_us = base_us as u32; // the handshake's
        let w = Window { cwnd: 10, ssthresh: SSTHRESH_INFINITE, cwnd_clamp: u32::MAX, ..Window::default() };
        let mut flow = Flow {
            cc,
            w,
            a: Ack {
                now_us,
                srtt_us,
                min_rtt_us: srtt_us,
                snd_wnd: SSTHRESH_INFINITE,
                mss,
                ..Ack::default()
            },
            s: Stack { delivered_us: now_us, last_sent_us: now_us, ..Stack::default() },
            now_us,
            srtt_8us: 8 * u64::from(srtt_us),
            busy_ns: 0,
            arriving: 0,
            flight: VecDeque::new(),
            wants: 16,
            prior_ssthresh: 0,
            limited_rounds: 0,
            round_end: 0,
            marks: algorithm.name == "dctcp",
            records: Vec::new(),
            answers: Vec::new(),
            random,
            path,
        };
        flow.emit(Kind::Start, 10);
        flow.emit(Kind::CwndEvent, Event::TxStart as u32);
        if flow.random.one_in(3) {
            let cwnd = flow.random.magnitude(10.0, 100e3) as u32;
            let ssthresh = (f64::from(cwnd) * flow.random.magnitude(0.2, 4.0)) as u32;
            flow.emit(Kind::SetCwnd, cwnd);
            flow.emit(Kind::SetSsthresh, ssthresh.max(2));
        }
        flow.send();
        for _ in 0..acks {
            flow.happen();
        }
        flow
    }

    /// Calls the hook of an event and records both.
    fn emit(&mut self, kind: Kind, arg: u32) {
        let (cc, w, a) = (&mut self.cc, &mut self.w, &self.a);
        let mut returned = 0;
        self.records.push(Record { kind, arg, a: *a, s: self.s });
        match kind {
            Kind::Start => cc.init(w, a),
            Kind::PktsAcked if a.rtt_us > 0 => cc.pkts_acked(w, a),
            Kind::CongAvoid => cc.cong_avoid(w, a),
            Kind::CongControl => cc.cong_control(w, a),
            Kind::Ssthresh => {
                w.prior_cwnd = w.cwnd;
                returned = cc.ssthresh(w, a);
                w.ssthresh = returned;
                w.cwnd_cnt = 0;
            }
            Kind::SetState => {
                let state = STATES[arg as usize];
                cc.set_state(w, a, state);
                self.a.state = state as u8;
            }
            Kind::CwndEvent => cc.cwnd_event(w, a, EVENTS[arg as usize]),
            Kind::Undo => {
                returned = cc.undo_cwnd(w, a);
                w.cwnd = returned;
            }
            Kind::SetCwnd => w.cwnd = arg,
            Kind::SetSsthresh => w.ssthresh = arg,
            Kind::PktsAcked | Kind::AckSeen | Kind::AckDone => {}
        }
        let w = &self.w;
        let pacing_rate = if self.cc.has_cong_control() { w.pacing_rate } else { 0 };
        self.answers.push(Answer { cwnd: w.cwnd, ssthresh: w.ssthresh, returned, pacing_rate });
    }

    fn enter(&mut self, state: State) {
        if self.a.state != state as u8 {
            self.emit(Kind::SetState, state as u32);
        }
    }

    fn in_flight(&self) -> u32 {
        self.s.nxt - self.s.una - self.s.sacked - self.s.lost + self.s.retransmitted
    }

    fn happen(&mut self) {
        if self.random.one_in(200) {
            self.wants = [16, 16, 16, 14, 8, 4, 1][self.random.below(7) as usize];
        }
        if self.flight.is_empty() {
            return self.idle(0);
        }
        let full = self.in_flight() > self.path.room;
        if self.in_flight() >= 4 && (full || self.path.loss > 0 && self.random.one_in(self.path.loss)) {
            match self.random.below(16) {
                0 => self.reduced_by_ece(),
                1 => self.time_out(),
                2 => self.spurious_timeout(),
                _ => self.recover(),
            }
        } else if self.random.one_in(1500) {
            self.drain();
            let pause = self.random.magnitude(1e3, 60e6) as u64;
            self.idle(pause);
        } else {
            let most = self.random.below(self.path.stretch) as u32 + 1;
            self.arrive(most);
            self.seen();
            self.grow();
            self.send();
        }
    }

    /// At most this many of the next segments arrive, and their ACK moves the left edge unless there is a hole.
    /// Says how many.
    fn arrive(&mut self, most: u32) -> u32 {
        let front = self.flight.front().expect("something is in flight");
        let n = most.min(front.end - self.arriving);
        let in_flight = self.in_flight();
        self.busy_ns = self.busy_ns.max((front.sent_us + self.path.base_us) * 1000)
            + u64::from(n) * self.path.segment_ns;
        let jitter = self.random.below(self.path.jitter_us + 1);
        self.now_us = self.now_us.max(self.busy_ns / 1000 + jitter);
        self.arriving += n;
        self.acknowledge(n, in_flight);
        let front = self.flight.front().expect("as above");
        let rtt_us = (self.now_us - front.sent_us).max(1) as u32;
        self.a.rate_prior_delivered = front.delivered;
        self.a.rate_delivered = (self.a.delivered - front.delivered) as u32;
        self.a.rate_interval_us = (self.now_us - front.delivered_us) as u32;
        // PROBE_RTT and some rounds after it: see DIFFERENCES.md.
        if self.cc.has_cong_control() && self.w.cwnd <= 4 {
            self.limited_rounds = 4;
        }
        let limited = self.limited_rounds > 0;
        if limited && self.arriving > self.round_end {
            self.round_end = self.s.nxt;
            self.limited_rounds -= 1;
        }
        if front.app_limited || limited {
            self.a.flags |= RATE_APP_LIMITED;
        }
        if self.arriving == front.end {
            self.flight.pop_front();
        }
        if self.s.sacked + self.s.lost == 0 && self.a.state != State::Disorder as u8 {
            self.s.una += n;
            self.s.advance = n;
            self.sample(rtt_us);
        } else {
            self.s.sacked += n;
        }
        // The kernel takes no rate over less than the smallest RTT.
        if self.a.rate_interval_us < self.a.min_rtt_us {
            self.a.rate_interval_us = 0;
        }
        self.a.in_flight = self.in_flight();
        n
    }

    /// An ACK delivers n segments.
    fn acknowledge(&mut self, n: u32, prior_in_flight: u32) {
        let a = &mut self.a;
        a.now_us = self.now_us;
        a.chance = self.now_us as u32;
        a.delivered += u64::from(n);
        a.acked = n;
        a.ce = if self.marks { marked(a.delivered, n) } else { 0 };
        a.delivered_ce += u64::from(a.ce);
        a.lost = 0;
        a.rtt_us = 0;
        a.rate_interval_us = 0;
        a.rate_delivered = 0;
        a.flags &= !RATE_APP_LIMITED;
        a.prior_in_flight = prior_in_flight;
        self.s.advance = 0;
        self.s.delivered_us = self.now_us;
    }

    fn sample(&mut self, rtt_us: u32) {
        let a = &mut self.a;
        a.rtt_us = rtt_us;
        a.min_rtt_us = a.min_rtt_us.min(rtt_us);
        self.srtt_8us = self.srtt_8us - self.srtt_8us / 8 + u64::from(rtt_us);
        a.srtt_us = (self.srtt_8us / 8).max(1) as u32;
    }

    fn seen(&mut self) {
        self.emit(Kind::AckSeen, 0);
        self.emit(Kind::PktsAcked, 0);
    }

    /// The end of an ACK that moved the left edge.
    fn grow(&mut self) {
        if self.cc.has_cong_control() {
            self.emit(Kind::CongControl, 0);
        } else if self.a.state != State::Cwr as u8 && self.a.state != State::Recovery as u8 {
            self.emit(Kind::CongAvoid, 0);
        }
        self.emit(Kind::AckDone, 0);
    }

    /// The end of one that did not.
    fn stand(&mut self) {
        if self.cc.has_cong_control() {
            self.emit(Kind::CongControl, 0);
        }
        self.emit(Kind::AckDone, 0);
    }

    fn send(&mut self) {
        let w = &self.w;
        let wanted = (u64::from(w.cwnd) * self.wants).div_ceil(16).clamp(1, 1 << 20) as u32;
        if wanted > self.in_flight() {
            self.s.nxt += wanted - self.in_flight();
            self.flight.push_back(Flight {
                end: self.s.nxt,
                sent_us: self.now_us,
                delivered: self.a.delivered,
                delivered_us: self.s.delivered_us,
                app_limited: self.wants < 16,
            });
            self.s.last_sent_us = self.now_us;
        }
        let in_flight = self.in_flight();
        let limited =
            in_flight >= w.cwnd || w.cwnd < w.ssthresh && u64::from(w.cwnd) < 2 * u64::from(in_flight);
        self.a.flags = if limited { CWND_LIMITED } else { 0 } | if self.wants < 16 { APP_LIMITED } else { 0 };
    }

    /// A loss: the new ssthresh, and the stack's memory for undoing it.
    fn reduce(&mut self, state: State) {
        self.prior_ssthresh = self.current_ssthresh();
        self.emit(Kind::Ssthresh, 0);
        if state == State::Loss {
            self.emit(Kind::CwndEvent, Event::Rto as u32);
            self.emit(Kind::SetCwnd, 1);
        }
        self.emit(Kind::SetState, state as u32);
    }

    /// The kernel's tcp_current_ssthresh outside of a reduction.
    fn current_ssthresh(&self) -> u32 {
        self.w.ssthresh.max(self.w.cwnd / 2 + self.w.cwnd / 4)
    }

    fn undo(&mut self) {
        self.emit(Kind::Undo, 0);
        if self.prior_ssthresh > self.w.ssthresh {
            self.emit(Kind::SetSsthresh, self.prior_ssthresh);
        }
    }

    /// The stack lowers cwnd during a recovery: at once, or as segments arrive.
    fn lower(&mut self, at_once: bool) {
        if self.cc.has_cong_control() {
            return;
        }
        let cwnd =
            if at_once { self.w.ssthresh } else { (self.in_flight() + self.random.below(2) as u32).max(1) };
        if cwnd != self.w.cwnd {
            self.emit(Kind::SetCwnd, cwnd);
        }
    }

    fn reduction_over(&mut self) {
        if !self.cc.has_cong_control() {
            self.emit(Kind::SetCwnd, self.w.ssthresh);
            self.emit(Kind::CwndEvent, Event::CompleteCwr as u32);
        }
    }

    /// Fast retransmit.
    fn recover(&mut self) {
        let most = u64::from((self.in_flight() / 4).min(20));
        let holes = (self.random.below(most) as u32 + 1).min(self.in_flight() - 3);
        let (at_once, spurious) = (self.random.one_in(2), self.random.one_in(6));
        self.enter(State::Disorder);
        self.skip(holes);
        for _ in 0..2 {
            if !self.flight.is_empty() {
                self.arrive(1);
                self.seen();
                self.stand();
            }
        }
        if self.flight.is_empty() {
            self.send_more();
        }
        self.arrive(1);
        self.a.lost = holes;
        self.s.lost = holes;
        self.s.lost_ever += holes;
        self.a.in_flight = self.in_flight();
        self.seen();
        let (end, since_us) = (self.s.nxt, self.now_us);
        self.reduce(State::Recovery);
        self.lower(at_once);
        self.stand();
        self.s.retransmitted = 1;
        let chunk = (end - self.arriving) / 40 + 1;
        while self.arriving < end {
            if self.s.lost > 1 && self.random.one_in(8) {
                self.repair(1, since_us);
            } else {
                self.arrive(chunk);
            }
            self.seen();
            self.lower(at_once);
            self.stand();
            self.s.retransmitted = (self.s.retransmitted + 1).min(self.s.lost);
            self.send();
        }
        self.repair(self.s.lost, since_us);
        self.seen();
        if spurious {
            self.undo();
            if !self.cc.has_cong_control() {
                self.emit(Kind::CwndEvent, Event::CompleteCwr as u32);
            }
        } else {
            self.reduction_over();
        }
        self.enter(State::Open);
        self.grow();
        self.send();
    }

    /// Segments that will not arrive.
    fn skip(&mut self, n: u32) {
        self.arriving += n;
        while self.flight.front().is_some_and(|front| front.end <= self.arriving) {
            self.flight.pop_front();
        }
    }

    fn send_more(&mut self) {
        self.s.nxt += 1;
        self.flight.push_back(Flight {
            end: self.s.nxt,
            sent_us: self.now_us,
            delivered: self.a.delivered,
            delivered_us: self.s.delivered_us,
            app_limited: false,
        });
        self.s.last_sent_us = self.now_us;
    }

    /// An ACK of n retransmitted segments, the first holes.
    fn repair(&mut self, n: u32, since_us: u64) {
        let in_flight = self.in_flight();
        self.now_us = self.now_us.max(since_us + self.path.base_us) + 1;
        self.acknowledge(n, in_flight);
        self.s.lost -= n;
        self.s.retransmitted = self.s.retransmitted.min(self.s.lost);
        self.s.advance = n;
        self.s.una += n;
        if self.s.lost == 0 {
            self.s.advance += self.s.sacked;
            self.s.una += self.s.sacked;
            self.s.sacked = 0;
        }
        self.sample((self.now_us - since_us) as u32);
        self.a.in_flight = self.in_flight();
    }

    /// Congestion experienced.
    fn reduced_by_ece(&mut self) {
        let (end, at_once) = (self.s.nxt, self.random.one_in(2));
        self.arrive(1);
        self.seen();
        self.reduce(State::Cwr);
        self.lower(at_once);
        self.stand();
        let chunk = (end - self.arriving) / 40 + 1;
        while self.arriving < end {
            self.arrive(chunk);
            self.seen();
            if self.arriving >= end {
                self.reduction_over();
                self.enter(State::Open);
            } else {
                self.lower(at_once);
            }
            self.grow();
            self.send();
        }
        if self.a.state == State::Cwr as u8 {
            self.reduction_over();
            self.enter(State::Open);
        }
    }

    /// Nothing arrives for an RTO.
    fn wait_for_timeout(&mut self) {
        self.now_us += 200_000 + self.srtt_8us / 4;
        self.a.now_us = self.now_us;
        self.a.rtt_us = 0;
        self.a.lost = 0;
        self.a.acked = 0;
    }

    fn time_out(&mut self) {
        let holes = (self.random.below(50) as u32 + 1).min(self.in_flight());
        self.skip(holes);
        if self.arriving < self.s.nxt {
            self.enter(State::Disorder);
        }
        while self.arriving < self.s.nxt {
            let chunk = (self.s.nxt - self.arriving) / 4 + 1;
            self.arrive(chunk);
            self.seen();
            self.stand();
        }
        self.flight.clear();
        self.wait_for_timeout();
        self.s.lost = holes;
        self.reduce(State::Loss);
        while self.s.lost > 0 {
            let since_us = self.now_us;
            self.s.retransmitted = self.w.cwnd.min(self.s.lost);
            let mut flight = self.s.retransmitted;
            self.a.flags = CWND_LIMITED;
            while flight > 0 {
                let n = flight.min(self.random.below(self.path.stretch.min(2)) as u32 + 1);
                flight -= n;
                self.repair(n, since_us);
                self.s.retransmitted = flight;
                self.a.in_flight = self.in_flight();
                self.seen();
                if self.s.lost == 0 {
                    self.enter(State::Open);
                }
                self.grow();
            }
        }
        self.send();
    }

    /// The ACKs were only late.
    fn spurious_timeout(&mut self) {
        let (arriving, una) = (self.arriving, self.s.una);
        assert_eq!(arriving, una);
        self.wait_for_timeout();
        self.busy_ns = self.now_us * 1000; // the path stood still
        let outstanding = self.in_flight();
        self.s.lost = outstanding;
        self.reduce(State::Loss);
        self.s.lost = 0;
        self.arrive(1);
        self.seen();
        self.undo();
        self.enter(State::Open);
        self.grow();
        self.send();
    }

    /// The application stops; everything arrives.
    fn drain(&mut self) {
        self.a.flags = APP_LIMITED;
        while !self.flight.is_empty() {
            let chunk = (self.s.nxt - self.arriving) / 40 + 1;
            self.arrive(chunk);
            self.seen();
            self.grow();
        }
    }

    /// The application starts again after a pause.
    fn idle(&mut self, pause_us: u64) {
        let rto_us = 200_000 + self.srtt_8us / 4;
        self.now_us += pause_us;
        self.a.now_us = self.now_us;
        if pause_us > rto_us && !self.cc.has_cong_control() {
            self.emit(Kind::CwndEvent, Event::CwndRestart as u32);
            self.emit(Kind::SetSsthresh, self.current_ssthresh());
            let halvings = (pause_us / rto_us).min(31) as u32;
            self.emit(Kind::SetCwnd, (self.w.cwnd >> halvings).max(self.w.cwnd.min(10)));
        }
        self.emit(Kind::CwndEvent, Event::TxStart as u32);
        self.s.delivered_us = self.now_us;
        self.send();
    }
}
