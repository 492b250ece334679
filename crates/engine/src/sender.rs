//! The sending end of a TCP connection: loss detection, recovery, timeouts, and the calls into the
//! congestion control algorithm.

use crate::bits::BitRing;
use crate::receiver::Segment;
use crate::rtt::{Distribution, Rto};
use crate::scheduler::NEVER;
use cwnd_algorithms::{CWND_LIMITED, CongestionControl, Event, SSTHRESH_INFINITE, State, Window};
use cwnd_scenario::{Recovery, Stack};

/// An ACK as it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Everything before this segment has arrived.
    pub next: u64,
    /// The segment beyond it that caused this ACK.
    pub sacked: Option<u64>,
    /// When the segment that caused it was sent.
    pub sent_ns: u64,
    pub retransmission: bool,
}

const DUP_THRESH: u64 = 3;

/// Sequence numbers count segments, from 0.
pub struct Sender<C> {
    cc: C,
    window: Window,
    ack: cwnd_algorithms::Ack,
    state: State,
    una: u64,
    nxt: u64,
    receive_window: u64,
    /// No segment from here on is new: the application has closed.
    closed: bool,

    sacked: BitRing,
    retransmitted: BitRing,
    sacked_out: u64,
    lost_out: u64,
    /// Retransmissions in flight.
    retrans_out: u64,
    /// The highest SACKed segments, descending; 0 is none, for segment 0 is never SACKed above itself.
    top_sacked: [u64; DUP_THRESH as usize],
    /// Every segment before it that was not SACKed is lost.
    lost_edge: u64,
    /// No segment before it needs retransmission.
    retransmit_from: u64,
    /// Retransmissions in the order sent, each with its time.
    retransmission_log: std::collections::VecDeque<(u64, u64)>,

    /// Recovery or loss ends when this segment is reached.
    recovery_end: u64,
    /// What may be in flight now; `window.cwnd` but in recovery.
    allowance: u64,
    pace: Pace,
    rto: Rto,
    /// When the retransmission timer fires, or NEVER.
    rto_at: u64,
    /// A timeout that may prove spurious: when it fired, and the ssthresh before it.
    undo: Option<(u64, u32)>,

    recovery: Recovery,
    restart_at_half_ssthresh: bool,
    detect_lost_retransmissions: bool,
    undo_spurious_rto: bool,
    timestamps: bool,

    cwnd_time: CwndTime,
    pub rtts: Distribution,
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
}

/// How the allowance falls during recovery.
#[derive(Default)]
struct Pace {
    /// RFC 9937: in flight before recovery began; delivered and sent since.
    recover_fs: u64,
    delivered: u64,
    out: u64,
    /// Rate halving: every other ACK takes one segment off.
    odd: bool,
}

/// The time integral of cwnd.
struct CwndTime {
    sum: u128,
    since_ns: u64,
    cwnd: u32,
}

impl CwndTime {
    #[inline]
    fn changed(&mut self, now: u64, cwnd: u32) {
        self.sum += u128::from(now - self.since_ns) * u128::from(self.cwnd);
        self.since_ns = now;
        self.cwnd = cwnd;
    }
}

impl<C: CongestionControl> Sender<C> {
    pub fn new(cc: C, stack: &Stack, now: u64) -> Sender<C> {
        let window = Window {
            cwnd: stack.initial_window_pkts,
            ssthresh: SSTHRESH_INFINITE,
            cwnd_clamp: SSTHRESH_INFINITE,
            ..Window::default()
        };
        let snd_wnd = stack.receive_window_pkts.unwrap_or(u32::MAX);
        let mut sender = Sender {
            cc,
            window,
            ack: cwnd_algorithms::Ack { now_us: now / 1000, snd_wnd, ..Default::default() },
            state: State::Open,
            una: 0,
            nxt: 0,
            receive_window: u64::from(snd_wnd),
            closed: false,
            sacked: BitRing::new(),
            retransmitted: BitRing::new(),
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            top_sacked: [0; DUP_THRESH as usize],
            lost_edge: 0,
            retransmit_from: 0,
            retransmission_log: Default::default(),
            recovery_end: 0,
            allowance: u64::from(stack.initial_window_pkts),
            pace: Pace::default(),
            rto: Rto::new(stack),
            rto_at: NEVER,
            undo: None,
            recovery: stack.recovery,
            restart_at_half_ssthresh: stack.restart_at_half_ssthresh,
            detect_lost_retransmissions: stack.detect_lost_retransmissions,
            undo_spurious_rto: stack.undo_spurious_rto,
            timestamps: stack.timestamps,
            cwnd_time: CwndTime { sum: 0, since_ns: now, cwnd: stack.initial_window_pkts },
            rtts: Distribution::new(),
            sent: 0,
            retransmissions: 0,
            timeouts: 0,
        };
        sender.cc.init(&mut sender.window, &sender.ack);
        sender.cc.cwnd_event(&mut sender.window, &sender.ack, Event::TxStart);
        sender.allowance = u64::from(sender.window.cwnd);
        sender.cwnd_time.cwnd = sender.window.cwnd;
        sender
    }

    pub fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    pub fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    pub fn srtt_ns(&self) -> u64 {
        self.rto.srtt_ns()
    }

    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.nxt - self.una - self.sacked_out - self.lost_out + self.retrans_out
    }

    /// When the retransmission timer fires, or NEVER.
    #[inline]
    pub fn rto_at(&self) -> u64 {
        self.rto_at
    }

    /// Nothing is sent from now on.
    pub fn close(&mut self) {
        self.closed = true;
        self.rto_at = NEVER;
    }

    /// Mean cwnd from the start to `now`.
    pub fn mean_cwnd(&self, start: u64, now: u64) -> f64 {
        let rest = u128::from(now - self.cwnd_time.since_ns) * u128::from(self.cwnd_time.cwnd);
        (self.cwnd_time.sum + rest) as f64 / (now - start).max(1) as f64
    }

    /// The next segment that may be sent at `now`, if any.
    #[inline]
    pub fn next_segment(&mut self, now: u64) -> Option<Segment> {
        if self.closed || self.in_flight() >= self.allowance {
            if self.in_flight() >= u64::from(self.window.cwnd) {
                self.ack.flags |= CWND_LIMITED;
            }
            return None;
        }
        if self.lost_out > self.retrans_out
            && let Some(segment) = self.next_retransmission(now)
        {
            return Some(segment);
        }
        if self.nxt - self.una >= self.receive_window {
            self.ack.flags &= !CWND_LIMITED;
            return None;
        }
        let seq = self.nxt;
        self.nxt += 1;
        self.sent += 1;
        self.pace.out += 1;
        if self.rto_at == NEVER {
            self.rto_at = now + self.rto.timeout_ns();
        }
        Some(Segment { seq, sent_ns: now, retransmission: false })
    }

    fn next_retransmission(&mut self, now: u64) -> Option<Segment> {
        self.reserve();
        let from = self.retransmit_from.max(self.una);
        let Some(seq) = self.sacked.first_in_neither(&self.retransmitted, from, self.lost_edge) else {
            self.retransmit_from = self.lost_edge;
            return None;
        };
        self.retransmit_from = seq + 1;
        self.retransmitted.insert(seq);
        self.retrans_out += 1;
        if self.detect_lost_retransmissions {
            self.retransmission_log.push_back((seq, now));
        }
        self.sent += 1;
        self.retransmissions += 1;
        self.pace.out += 1;
        // As in Linux: the timer waits for the retransmission of the first segment anew.
        if self.rto_at == NEVER || seq == self.una {
            self.rto_at = now + self.rto.timeout_ns();
        }
        Some(Segment { seq, sent_ns: now, retransmission: true })
    }

    /// An ACK arrives at `now`. What may be sent then, [`Sender::next_segment`] tells.
    #[inline]
    pub fn on_ack(&mut self, now: u64, ack: Ack) {
        if ack.next < self.una {
            return;
        }
        let prior_in_flight = self.in_flight();
        let acked = ack.next - self.una;
        let mut delivered = acked;
        let mut lost = 0;
        if self.sacked_out | self.lost_out | self.retrans_out != 0 {
            delivered -= self.forget_acked(ack.next);
        }
        self.una = ack.next;
        if let Some(seq) = ack.sacked
            && self.sack(seq)
        {
            delivered += 1;
        }
        if delivered == 0 {
            return;
        }
        if self.sacked_out | self.lost_out != 0 {
            lost = self.detect_losses(ack.sent_ns);
        }

        self.ack.now_us = now / 1000;
        self.ack.delivered += delivered;
        self.ack.acked = delivered as u32;
        self.ack.lost = lost as u32;
        self.ack.prior_in_flight = prior_in_flight as u32;
        self.ack.in_flight = self.in_flight() as u32;
        self.ack.rtt_us = 0;
        if acked > 0 {
            // RFC 7323, 4.1: an ACK that moves the left edge gives a sample; RFC 6298, 3: without
            // timestamps, one of a retransmission does not.
            if self.timestamps || !ack.retransmission {
                self.sample_rtt(now - ack.sent_ns);
            }
            self.rto_at =
                if self.nxt > self.una && !self.closed { now + self.rto.timeout_ns() } else { NEVER };
        }

        if self.state == State::Open && self.sacked_out | self.lost_out == 0 {
            self.cc.cong_avoid(&mut self.window, &self.ack);
            self.allowance = u64::from(self.window.cwnd);
        } else {
            self.on_dubious_ack(ack, acked, delivered);
        }
        if self.window.cwnd != self.cwnd_time.cwnd && !self.closed {
            self.cwnd_time.changed(now, self.window.cwnd);
        }
    }

    #[inline]
    fn sample_rtt(&mut self, rtt_ns: u64) {
        self.rto.sample(rtt_ns);
        self.rtts.add(rtt_ns);
        let rtt_us = to_us(rtt_ns);
        self.ack.rtt_us = rtt_us;
        self.ack.srtt_us = to_us(self.rto.srtt_ns());
        if self.ack.min_rtt_us == 0 || rtt_us < self.ack.min_rtt_us {
            self.ack.min_rtt_us = rtt_us;
        }
        self.cc.pkts_acked(&mut self.window, &self.ack);
    }

    /// Drops what the scoreboard knows of segments before `next`; says how many of them were SACKed.
    fn forget_acked(&mut self, next: u64) -> u64 {
        let lost_until = self.lost_edge.clamp(self.una, next);
        let sacked_among_lost = self.sacked.take(self.una, lost_until);
        let sacked = sacked_among_lost + self.sacked.take(lost_until, next);
        self.sacked_out -= sacked;
        self.lost_out -= lost_until - self.una - sacked_among_lost;
        self.retrans_out -= self.retransmitted.take(self.una, next);
        sacked
    }

    /// Makes room in both halves of the scoreboard for everything that is in flight.
    fn reserve(&mut self) {
        self.sacked.reserve(self.una, self.nxt);
        self.retransmitted.reserve(self.una, self.nxt);
    }

    /// Marks `seq` as arrived; false if that was known.
    fn sack(&mut self, seq: u64) -> bool {
        self.reserve();
        if seq < self.una || self.sacked.contains(seq) {
            return false;
        }
        self.sacked.insert(seq);
        self.sacked_out += 1;
        if seq < self.lost_edge {
            self.lost_out -= 1;
        }
        self.retrans_out -= self.retransmitted.take(seq, seq + 1);
        let mut seq = seq;
        for top in &mut self.top_sacked {
            if seq > *top {
                std::mem::swap(top, &mut seq);
            }
        }
        true
    }

    /// Marks as lost what the SACKs show to be so; says how many.
    fn detect_losses(&mut self, cause_sent_ns: u64) -> u64 {
        let edge = match self.recovery {
            // RFC 6675, IsLost: three segments above it have arrived.
            Recovery::Sack | Recovery::Prr => self.top_sacked[DUP_THRESH as usize - 1],
            // Forward acknowledgement: the highest is three above it.
            Recovery::RateHalving => (self.top_sacked[0] + 1).saturating_sub(DUP_THRESH),
        };
        let mut lost = 0;
        if edge > self.lost_edge.max(self.una) {
            let from = self.lost_edge.max(self.una);
            lost = edge - from - self.sacked.count(from, edge);
            self.lost_out += lost;
            self.lost_edge = edge;
        }
        // The path keeps the order: what was sent before this ACK's cause and has not arrived is lost.
        while let Some(&(seq, sent_ns)) = self.retransmission_log.front()
            && sent_ns < cause_sent_ns
        {
            self.retransmission_log.pop_front();
            if seq >= self.una && self.retransmitted.contains(seq) {
                self.retransmitted.remove(seq);
                self.retrans_out -= 1;
                self.retransmit_from = self.retransmit_from.min(seq);
                lost += 1;
            }
        }
        lost
    }

    /// An ACK while something is missing, or the first after that.
    fn on_dubious_ack(&mut self, ack: Ack, acked: u64, delivered: u64) {
        let mut may_grow = acked > 0;
        if matches!(self.state, State::Recovery | State::Loss) && self.una >= self.recovery_end {
            // Linux 2.6 did not grow on the ACK that ended a recovery.
            may_grow = self.state == State::Loss || self.recovery != Recovery::RateHalving;
            self.end_recovery();
        }
        if self.state == State::Loss
            && let Some((fired, ssthresh)) = self.undo
            && acked > 0
            && !ack.retransmission
            && ack.sent_ns < fired
        {
            self.undo_timeout(ssthresh);
        }
        if self.lost_out > 0 && !matches!(self.state, State::Recovery | State::Loss) {
            self.begin_recovery(delivered);
        }
        match self.state {
            State::Recovery => self.reduce(delivered),
            _ => {
                if self.state != State::Loss {
                    self.enter(if self.sacked_out > 0 { State::Disorder } else { State::Open });
                }
                if may_grow {
                    self.cc.cong_avoid(&mut self.window, &self.ack);
                }
                self.allowance = u64::from(self.window.cwnd);
            }
        }
    }

    fn enter(&mut self, state: State) {
        if state != self.state {
            self.cc.set_state(&mut self.window, &self.ack, state);
            self.state = state;
            self.ack.state = state as u8;
        }
    }

    /// Fast retransmit, on an ACK that delivered `delivered` segments.
    fn begin_recovery(&mut self, delivered: u64) {
        // RecoverFS: what was SACKed before counts neither here nor as delivered during recovery.
        let recover_fs = self.nxt - self.una - self.sacked_out + delivered;
        self.undo = None;
        self.window.prior_cwnd = self.window.cwnd;
        self.recovery_end = self.nxt;
        self.window.ssthresh = self.cc.ssthresh(&mut self.window, &self.ack);
        self.window.cwnd_cnt = 0;
        self.enter(State::Recovery);
        self.pace = Pace { recover_fs, ..Pace::default() };
        if self.recovery != Recovery::Prr {
            self.window.cwnd = self.window.ssthresh.max(1);
        }
        if self.restart_at_half_ssthresh {
            self.window.cwnd = (self.window.ssthresh / 2).max(1);
        }
        self.allowance = u64::from(self.window.prior_cwnd);
    }

    /// What may be in flight after an ACK in recovery that delivered `delivered` segments.
    fn reduce(&mut self, delivered: u64) {
        let in_flight = self.in_flight();
        match self.recovery {
            Recovery::Sack => {
                // RFC 6675, 5, step 4.3: the fast retransmit itself waits for nothing.
                let first = u64::from(self.pace.out == 0);
                self.allowance = u64::from(self.window.cwnd).max(in_flight + first);
            }
            Recovery::Prr => {
                let ssthresh = u64::from(self.window.ssthresh);
                self.pace.delivered += delivered;
                let mut send = if in_flight > ssthresh {
                    (self.pace.delivered * ssthresh)
                        .div_ceil(self.pace.recover_fs)
                        .saturating_sub(self.pace.out)
                } else {
                    let mut limit = self.pace.delivered.saturating_sub(self.pace.out);
                    // SafeACK: the ACK makes progress and shows no further loss.
                    if self.ack.acked > 0 && self.ack.lost == 0 {
                        limit = limit.max(delivered) + 1;
                    }
                    limit.min(ssthresh - in_flight)
                };
                if self.pace.out == 0 {
                    send = send.max(1); // the fast retransmit itself
                }
                self.allowance = in_flight + send;
                self.window.cwnd = self.allowance as u32;
            }
            Recovery::RateHalving => {
                self.pace.odd = !self.pace.odd;
                let fall = if self.pace.odd { 0 } else { 1 };
                let target = u64::from(self.window.cwnd);
                self.allowance = (self.allowance - fall).min(in_flight + 1).max(target);
            }
        }
    }

    fn end_recovery(&mut self) {
        if self.state == State::Recovery {
            match self.recovery {
                Recovery::Sack | Recovery::Prr => self.window.cwnd = self.window.ssthresh.max(1),
                Recovery::RateHalving if self.window.cwnd < self.window.ssthresh => {
                    let burst = self.in_flight() as u32 + DUP_THRESH as u32;
                    self.window.cwnd = self.window.ssthresh.min(burst);
                }
                Recovery::RateHalving => {}
            }
            self.window.cwnd_cnt = 0;
            self.cc.cwnd_event(&mut self.window, &self.ack, Event::CompleteCwr);
        }
        self.undo = None;
        self.enter(State::Open);
    }

    /// The retransmission timer fires (RFC 6298, 5.4 to 5.6).
    pub fn on_timeout(&mut self, now: u64) {
        self.timeouts += 1;
        self.ack.now_us = now / 1000;
        self.ack.rtt_us = 0;
        // One reduction for a window of data: not again for a loss already answered.
        if !matches!(self.state, State::Recovery | State::Loss) || self.una >= self.recovery_end {
            self.window.prior_cwnd = self.window.cwnd;
            self.undo = self.undo_spurious_rto.then_some((now, self.window.ssthresh));
            self.window.ssthresh = self.cc.ssthresh(&mut self.window, &self.ack);
        }
        self.cc.cwnd_event(&mut self.window, &self.ack, Event::Rto);
        self.window.cwnd = 1;
        self.window.cwnd_cnt = 0;
        self.allowance = 1;
        self.enter(State::Loss);
        self.cwnd_time.changed(now, 1);
        self.recovery_end = self.nxt;
        self.lost_edge = self.nxt;
        self.lost_out = self.nxt - self.una - self.sacked_out;
        self.retransmitted.take(self.una, self.nxt);
        self.retrans_out = 0;
        self.retransmit_from = self.una;
        self.retransmission_log.clear();
        self.rto.back_off();
        self.rto_at = now + self.rto.timeout_ns();
    }

    /// An ACK of an original segment arrives after the timeout: nothing was lost.
    fn undo_timeout(&mut self, ssthresh: u32) {
        self.window.cwnd = self.cc.undo_cwnd(&mut self.window, &self.ack);
        self.window.ssthresh = ssthresh;
        self.lost_edge = self.una;
        self.retransmit_from = self.una;
        self.lost_out = 0;
        self.retrans_out = 0;
        self.retransmitted.take(self.una, self.nxt);
        self.undo = None;
        self.enter(State::Open);
    }
}

#[inline]
fn to_us(ns: u64) -> u32 {
    ((ns + 500) / 1000).clamp(1, u64::from(u32::MAX)) as u32
}
