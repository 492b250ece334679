//! The sending end of a TCP connection: loss detection, recovery, timeouts, and the calls into the
//! congestion control algorithm. What differs without SACK is in `plain.rs`.

use crate::memory::sum::Sum;
use crate::tcp::application::Application;
use crate::tcp::delivery_rate::RateSampler;
use crate::tcp::non_sack::Plain;
use crate::tcp::packet::{Ack, CWR, RETRANSMISSION, Tag};
use crate::tcp::receiver::Receiver;
use crate::tcp::rtt::{Distribution, Rto};
use crate::tcp::scoreboard::{DUP_THRESH, Scoreboard};
use crate::time::NEVER;
use cwnd_algorithms::{
    APP_LIMITED, CWND_LIMITED, CongestionControl, ECE, Event, RATE_APP_LIMITED, SSTHRESH_INFINITE, State,
    Window,
};
use cwnd_scenario::{Flow, Handshake, Recovery};
use std::num::NonZeroU64;
use std::ops::Range;

/// Sequence numbers count segments, from 0. What a usual ACK needs comes first, close together.
#[repr(C)]
pub struct Sender<'a, C> {
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    pub(crate) board: Scoreboard,
    /// The last segment, if a probe retransmitted it, or NEVER.
    probed: u64,
    /// When pacing or the application will let go what the window allows, or NEVER.
    wake_at: u64,
    /// When the retransmission timer fires, or NEVER.
    pub(crate) rto_at: u64,
    /// When few SACKs are taken for losses rather than for reordering (RFC 8985, 6), or NEVER.
    reorder_at: u64,
    pub(crate) state: State,
    pub(crate) recovery: Recovery,
    /// What few senders have, and the path of the others need not look for: `cong_control`, an application with
    /// limits, ECN, a handshake, no SACK.
    special: bool,
    /// None of these but a handshake.
    ordinary: bool,
    /// The algorithm has `cong_control`: the stack leaves cwnd to it.
    pub(crate) controls: bool,
    /// No segment from here on is new: the application has closed.
    pub closed: bool,
    pub started: bool,
    /// The retransmission timer fires early, for a probe of the tail (RFC 8985, 7).
    probing: bool,
    /// The SYN has yet to be acknowledged.
    handshake: bool,
    /// Data went with the SYN, which has yet to be acknowledged: its RTT is not that of a segment.
    overlapped: bool,
    /// The receiver is to be told that the window was reduced (RFC 3168, CWR).
    pub(crate) tell_reduction: bool,
    /// RTTs are told to the algorithm in whole microseconds that are over.
    whole_rtt: bool,
    pub(crate) rto: Rto,
    pub(crate) ack: cwnd_algorithms::Ack,
    pub(crate) window: Window,
    /// What may be in flight now; `window.cwnd` but in recovery.
    pub(crate) allowance: u64,
    pub sent: u64,
    last_sent_ns: u64,
    pub rtts: Distribution,
    cwnd_time: CwndTime,
    pub(crate) cc: C,

    /// No segment from here on was ever sent. As `nxt`, but for senders that go back.
    pub(crate) first_unsent: u64,
    /// Recovery, loss or CWR ends when this segment is reached.
    pub(crate) recovery_end: u64,
    /// Pacing: nothing is sent before.
    paced_until_ns: u64,
    rate: Option<Box<RateSampler>>,
    /// Once something was missing.
    repairs: Option<Box<Repairs>>,
    pub(crate) flow: &'a Flow,
    pub start_ns: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
}

/// What a sender needs that has missed something.
#[derive(Default)]
struct Repairs {
    reduction: Reduction,
    /// A timeout that may prove spurious: when it fired, and the ssthresh before it.
    undo: Option<(u64, u32)>,
    /// Without SACK.
    plain: Plain,
}

/// How the allowance falls during recovery.
#[derive(Default)]
struct Reduction {
    /// RFC 9937: in flight before recovery began; delivered and sent since.
    recover_fs: u64,
    delivered: u64,
    out: u64,
    /// Rate halving: the least in flight after an ACK, before it let anything go.
    in_flight: u64,
}

/// The time integral of cwnd.
struct CwndTime {
    sum: Sum,
    since_ns: u64,
    cwnd: u32,
}

impl CwndTime {
    #[inline]
    fn changed(&mut self, now: u64, cwnd: u32) {
        self.sum.add(u128::from(now - self.since_ns) * u128::from(self.cwnd));
        self.since_ns = now;
        self.cwnd = cwnd;
    }
}

impl<'a, C: CongestionControl> Sender<'a, C> {
    pub fn new(cc: C, flow: &'a Flow, start_ns: u64) -> Sender<'a, C> {
        let stack = &flow.stack;
        let window = Window {
            cwnd: stack.initial_window_pkts,
            ssthresh: stack.initial_ssthresh_pkts.unwrap_or(SSTHRESH_INFINITE),
            cwnd_clamp: SSTHRESH_INFINITE,
            ..Window::default()
        };
        let ack = cwnd_algorithms::Ack {
            now_us: start_ns / 1000,
            snd_wnd: stack.receive_window_pkts.unwrap_or(u32::MAX),
            mss: flow.payload_bytes,
            ..Default::default()
        };
        let controls = cc.has_cong_control();
        let ordinary = !controls
            && flow.app_rate_bps.is_none()
            && flow.on_off_ns.is_none()
            && !stack.ecn
            && stack.recovery.uses_sack();
        Sender {
            una: 0,
            nxt: 0,
            board: Scoreboard::new(stack),
            probed: NEVER,
            wake_at: NEVER,
            rto_at: NEVER,
            reorder_at: NEVER,
            state: State::Open,
            recovery: stack.recovery,
            special: !ordinary || stack.handshake != Handshake::Off,
            ordinary,
            controls,
            closed: false,
            started: false,
            probing: false,
            handshake: stack.handshake == Handshake::First,
            overlapped: stack.handshake == Handshake::Overlapped,
            tell_reduction: false,
            whole_rtt: stack.recovery == Recovery::RateHalving && !stack.round_rtt,
            rto: Rto::new(stack),
            ack,
            window,
            allowance: u64::from(stack.initial_window_pkts),
            sent: 0,
            last_sent_ns: start_ns,
            rtts: Distribution::new(),
            cwnd_time: CwndTime { sum: Sum::default(), since_ns: start_ns, cwnd: stack.initial_window_pkts },
            cc,
            first_unsent: 0,
            recovery_end: 0,
            paced_until_ns: 0,
            rate: controls.then(|| Box::new(RateSampler::new())),
            repairs: None,
            flow,
            start_ns,
            retransmissions: 0,
            timeouts: 0,
        }
    }

    /// It is `start_ns`.
    pub fn start(&mut self) {
        self.started = true;
        if self.handshake {
            self.allowance = 1;
        } else if !self.overlapped {
            self.cc.init(&mut self.window, &self.ack);
            self.allowance = u64::from(self.window.cwnd);
            self.cwnd_time.cwnd = self.window.cwnd;
        }
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
        self.nxt - self.una - self.board.sacked_out - self.board.lost_out + self.board.retrans_out
    }

    #[inline(always)]
    fn receive_window(&self) -> u64 {
        u64::from(self.ack.snd_wnd)
    }

    fn repairs(&mut self) -> &mut Repairs {
        self.repairs.get_or_insert_default()
    }

    pub(crate) fn plain(&mut self) -> &mut Plain {
        &mut self.repairs().plain
    }

    /// When the sender must act without an ACK, or NEVER.
    #[inline]
    pub fn timer_at(&self) -> u64 {
        self.rto_at.min(self.wake_at).min(self.reorder_at)
    }

    /// More is to be sent at `at`.
    pub fn wake_at(&mut self, at: u64) {
        self.wake_at = at;
    }

    /// Nothing is sent from now on.
    pub fn close(&mut self) {
        self.closed = true;
        (self.rto_at, self.wake_at, self.reorder_at) = (NEVER, NEVER, NEVER);
    }

    /// Mean cwnd until `now`.
    pub fn mean_cwnd(&self, now: u64) -> f64 {
        let rest = u128::from(now.saturating_sub(self.cwnd_time.since_ns)) * u128::from(self.cwnd_time.cwnd);
        (self.cwnd_time.sum.get() + rest) as f64 / (now - self.start_ns).max(1) as f64
    }

    /// The next segment that may be sent at `now`, if any.
    #[inline(never)]
    pub fn next_segment(&mut self, now: u64) -> Option<Tag> {
        if self.special { self.next::<true>(now) } else { self.next::<false>(now) }
    }

    /// The same after [`Sender::on_usual_ack`] for all that may be sent: new segments, `most` of them. None: ask for one after
    /// the other.
    #[inline(always)]
    pub fn next_usual_segments(&mut self, now: u64, most: u64) -> Option<Range<u64>> {
        if self.closed || self.window.pacing_rate > 0 || self.nxt == self.una {
            return None;
        }
        let first = self.nxt;
        let allowed = self.una + self.allowance.min(self.receive_window());
        if allowed > first {
            if allowed - first > most {
                return None;
            }
            self.nxt = allowed;
            self.sent += allowed - first;
            self.last_sent_ns = now;
        }
        if self.nxt - self.una >= self.allowance {
            self.ack.flags = self.ack.flags & !APP_LIMITED | CWND_LIMITED;
        } else {
            self.ack.flags &= !CWND_LIMITED;
        }
        Some(first..self.nxt)
    }

    #[inline(always)]
    fn next<const SPECIAL: bool>(&mut self, now: u64) -> Option<Tag> {
        if self.closed || self.in_flight() >= self.allowance && !(SPECIAL && self.must_repair()) {
            if self.in_flight() >= u64::from(self.window.cwnd) {
                self.ack.flags = self.ack.flags & !APP_LIMITED | CWND_LIMITED;
            }
            return None;
        }
        if self.window.pacing_rate > 0 && self.paced_until_ns > now {
            self.wake_at = self.paced_until_ns;
            return None;
        }
        if self.board.lost_out > self.board.retrans_out
            && let Some(seq) = self.board.next_retransmission(now, self.una, self.nxt)
        {
            // As in Linux: the timer waits for the retransmission of the first segment anew.
            return Some(self.send::<SPECIAL>(now, seq, RETRANSMISSION, seq == self.una));
        }
        if SPECIAL && self.must_repair() {
            self.plain().repair = false;
            return Some(self.send::<SPECIAL>(now, self.una, RETRANSMISSION, true));
        }
        if self.nxt - self.una >= self.receive_window() {
            self.ack.flags &= !CWND_LIMITED;
            return None;
        }
        if SPECIAL && self.nxt == self.first_unsent && self.wait_for_application(now) {
            return None;
        }
        if self.nxt == self.una && !(SPECIAL && (self.handshake || self.overlapped)) {
            self.start_from_idle(now);
        }
        let seq = self.nxt;
        self.nxt += 1;
        let again = SPECIAL && seq < self.first_unsent;
        Some(self.send::<SPECIAL>(now, seq, if again { RETRANSMISSION } else { 0 }, false))
    }

    /// Without SACK: the first segment is to be retransmitted whatever is in flight.
    fn must_repair(&self) -> bool {
        self.repairs.as_ref().is_some_and(|repairs| repairs.plain.repair)
    }

    /// Segment `seq` is sent; a timer that runs already starts anew if it is to `restart`.
    #[inline(always)]
    fn send<const SPECIAL: bool>(&mut self, now: u64, seq: u64, flags: u8, restart: bool) -> Tag {
        let mut flags = flags;
        if flags & RETRANSMISSION != 0 {
            self.retransmissions += 1;
        }
        if SPECIAL {
            if flags & RETRANSMISSION == 0 {
                self.first_unsent = seq + 1;
                if self.tell_reduction {
                    self.tell_reduction = false;
                    flags |= CWR;
                }
            }
            if let Some(rate) = &mut self.rate {
                let nxt = if flags & RETRANSMISSION != 0 { self.nxt } else { seq };
                rate.on_send(now, seq, self.una, nxt, self.ack.delivered);
            }
        }
        if self.window.pacing_rate > 0 {
            let gap_ns = u128::from(self.ack.mss) * 1_000_000_000 / u128::from(self.window.pacing_rate);
            self.paced_until_ns = now.saturating_add(u64::try_from(gap_ns).unwrap_or(u64::MAX));
        }
        if SPECIAL && self.recovery == Recovery::Vegas {
            let una = self.una;
            self.plain().note_sent(now, seq, una);
        }
        self.sent += 1;
        if matches!(self.state, State::Recovery | State::Cwr)
            && let Some(repairs) = &mut self.repairs
        {
            repairs.reduction.out += 1;
        }
        self.last_sent_ns = now;
        if self.rto_at == NEVER || restart {
            self.set_timer(now);
        }
        Tag::new(seq, flags)
    }

    /// Nothing is in flight. A window that was not used for longer than the RTO says nothing about the path:
    /// it is halved for every RTO, down to the initial window (RFC 2861).
    #[cold]
    fn start_from_idle(&mut self, now: u64) {
        self.ack.now_us = now / 1000;
        let rto_ns = self.rto.timeout_ns();
        let mut idle_ns = now - self.last_sent_ns;
        if self.flow.stack.idle_restart && idle_ns > rto_ns && !self.controls && self.sent > 0 {
            let window = &mut self.window;
            self.cc.cwnd_event(window, &self.ack, Event::CwndRestart);
            window.prior_cwnd = window.cwnd;
            window.ssthresh = window.ssthresh.max(window.cwnd - window.cwnd / 4);
            let least = self.flow.stack.initial_window_pkts.min(window.cwnd);
            while idle_ns > rto_ns && window.cwnd > least {
                idle_ns -= rto_ns;
                window.cwnd /= 2;
            }
            window.cwnd = window.cwnd.max(least);
            window.cwnd_cnt = 0;
        }
        self.cc.cwnd_event(&mut self.window, &self.ack, Event::TxStart);
        self.allowance = u64::from(self.window.cwnd);
        self.cwnd_time.changed(now, self.window.cwnd);
    }

    /// Whether the application has yet to write the next new segment.
    fn wait_for_application(&mut self, now: u64) -> bool {
        let Some(application) = Application::new(self.flow, self.start_ns) else { return false };
        let ready_at = application.ready_at(self.nxt, now);
        if ready_at <= now {
            return false;
        }
        self.wake_at = ready_at;
        self.ack.flags = self.ack.flags & !CWND_LIMITED | APP_LIMITED;
        if let Some(rate) = &mut self.rate {
            let in_flight =
                self.nxt - self.una - self.board.sacked_out - self.board.lost_out + self.board.retrans_out;
            rate.on_app_limited(self.ack.delivered, in_flight);
        }
        true
    }

    /// The retransmission timer starts, or that of a tail loss probe, which is no later and comes first.
    #[inline]
    pub(crate) fn set_timer(&mut self, now: u64) {
        self.rto_at = now + self.rto.timeout_ns();
        self.probing = false;
        if self.recovery == Recovery::Prr
            && self.board.is_clear()
            && self.probed == NEVER
            && matches!(self.state, State::Open | State::Cwr)
        {
            let one_left = self.nxt - self.una <= 1;
            if let Some(probe_ns) = self.rto.probe_ns(one_left) {
                self.probing = true;
                self.rto_at = self.rto_at.min(now + probe_ns);
            }
        }
    }

    /// Nothing is missing, as far as is known, and nothing is special: most ACKs come so.
    #[inline(always)]
    pub fn expects_usual_ack(&self) -> bool {
        !self.special && self.state == State::Open && self.board.is_clear() && self.probed == NEVER
    }

    /// `ack` is such an ACK.
    #[inline]
    pub fn is_usual(&self, ack: &Ack) -> bool {
        self.expects_usual_ack() && ack.sacked.is_none() && !ack.retransmission && ack.next > self.una
    }

    /// Such an ACK arrives at `now`, and moves the left edge to `next`; what caused it was sent once. For the rest see
    /// [`Ack`].
    #[inline(always)]
    pub fn on_usual_ack(&mut self, now: u64, next: u64, sent_ns: u64, echo_ns: u64) {
        let acked = next - self.una;
        self.wake_at = NEVER;
        self.ack.now_us = now / 1000;
        self.ack.prior_in_flight = (self.nxt - self.una) as u32;
        self.ack.in_flight = (self.nxt - next) as u32;
        self.ack.delivered += acked;
        self.ack.acked = acked as u32;
        self.ack.lost = 0;
        self.una = next;
        self.note_rtt(now, now - echo_ns);
        if self.recovery == Recovery::Prr {
            self.note_segment_rtt(now - sent_ns);
        }
        self.cc.pkts_acked(&mut self.window, &self.ack);
        if self.nxt > next && !self.closed {
            self.set_timer(now);
        } else {
            self.rto_at = NEVER;
        }
        self.cc.cong_avoid(&mut self.window, &self.ack);
        self.allowance = u64::from(self.window.cwnd);
        self.cwnd_may_have_changed(now);
    }

    /// An ACK of `receiver` arrives at `now`. What may be sent then, [`Sender::next_segment`] tells.
    #[inline(never)]
    pub fn on_ack(&mut self, now: u64, ack: Ack, receiver: &Receiver) {
        self.wake_at = NEVER;
        if self.special {
            self.on_special_ack(now, ack, receiver);
        } else {
            self.on_sack::<false>(now, ack, receiver);
        }
        self.cwnd_may_have_changed(now);
    }

    /// The SYN is acknowledged: the algorithm begins, and knows an RTT.
    #[cold]
    fn on_handshake(&mut self, now: u64, ack: Ack) {
        self.note_rate(ack);
        self.board.mark_none_lost(self.una, self.nxt);
        (self.handshake, self.una, self.rto_at) = (false, ack.next, NEVER);
        self.ack.delivered += ack.next;
        self.describe(now, ack.next, 1);
        self.nxt = self.nxt.max(ack.next);
        if self.flow.stack.timestamps || !ack.retransmission {
            self.note_rtt(now, now - ack.echo_ns);
        }
        self.cc.init(&mut self.window, &self.ack);
        self.allowance = u64::from(self.window.cwnd);
    }

    /// Data went with the SYN: the algorithm begins when the first ACK arrives, or should.
    #[cold]
    fn begin_overlapped(&mut self, now: u64) {
        self.ack.now_us = now / 1000;
        self.ack.in_flight = self.in_flight() as u32;
        self.cc.init(&mut self.window, &self.ack);
    }

    #[inline(never)]
    fn on_special_ack(&mut self, now: u64, ack: Ack, receiver: &Receiver) {
        if self.overlapped {
            self.begin_overlapped(now);
        }
        if self.handshake {
            self.on_handshake(now, ack);
        } else if self.recovery.uses_sack() {
            self.on_sack::<true>(now, ack, receiver);
        } else {
            self.on_plain_ack(now, ack);
        }
        // Once the connection stands, its handshake is nothing special.
        self.overlapped = false;
        self.special = !self.ordinary || self.is_timeless(ack);
    }

    /// In ns-2 time zero is no time: the algorithm hears nothing of the RTT of a segment that was sent then.
    fn is_timeless(&self, ack: Ack) -> bool {
        self.whole_rtt && ack.echo_ns == 0 && self.flow.stack.handshake == Handshake::Overlapped
    }

    #[inline(always)]
    fn on_sack<const SPECIAL: bool>(&mut self, now: u64, ack: Ack, receiver: &Receiver) {
        if ack.next < self.una {
            return;
        }
        let prior_in_flight = self.in_flight();
        let acked = ack.next - self.una;
        let mut delivered = acked;
        let mut lost = 0;
        if SPECIAL && self.rate.is_some() {
            self.note_rate(ack);
        }
        if !self.board.is_clear() {
            delivered -= self.board.forget(self.una, ack.next);
        }
        self.una = ack.next;
        if let Some(seq) = ack.sacked.map(NonZeroU64::get)
            && self.board.sack(seq, self.una, self.nxt)
        {
            delivered += 1;
        }
        if self.board.forgotten > 0 {
            let sacked = self.board.sacked_out;
            self.board.sack_all(receiver.blocks(), self.una, self.nxt);
            self.ack.delivered += self.board.sacked_out - sacked;
        }
        let as_ns2 = self.recovery == Recovery::RateHalving;
        if as_ns2 && acked == 0 {
            self.time_duplicate(now);
        }
        // In ns-2 an ACK that tells nothing new still goes through what is missing.
        let repairing = as_ns2 && !self.board.is_clear();
        if delivered == 0 && !repairing && !(SPECIAL && ack.ece) {
            return;
        }
        if self.board.sacked_out | self.board.lost_out != 0 {
            lost = self.detect_losses(now, ack);
        } else {
            self.reorder_at = NEVER;
        }

        self.ack.delivered += delivered;
        self.ack.lost = lost as u32;
        self.describe(now, delivered, prior_in_flight);
        if SPECIAL {
            self.note_ece(ack.ece);
        }
        // RFC 7323, 4.1: an ACK that moves the left edge gives a sample, in Linux a SACK of an original does too;
        // RFC 6298, 3: without timestamps, one of a retransmission does not.
        if !ack.retransmission || acked > 0 && self.flow.stack.timestamps {
            if self.recovery == Recovery::Prr {
                self.note_rtt(now, now - ack.echo_ns);
                self.note_segment_rtt(now - ack.sent_ns);
                self.cc.pkts_acked(&mut self.window, &self.ack);
            } else if SPECIAL && (self.overlapped || acked > 0 && self.is_timeless(ack)) {
                self.time_rtt(now, now - ack.echo_ns); // that of a SYN: not for the algorithm
            } else if acked > 0 && self.recovery == Recovery::RateHalving && self.state == State::Recovery {
                self.note_rtt(now, now - ack.echo_ns); // nor is one during a repair
            } else if acked > 0 {
                self.sample_rtt(now, now - ack.echo_ns);
            }
        }
        if as_ns2
            && (acked == 0
                || SPECIAL && !self.overlapped && self.is_timeless(ack)
                || self.state != State::Open)
        {
            let moved = cwnd_algorithms::Ack { acked: acked as u32, ..self.ack };
            self.cc.cwnd_event(&mut self.window, &moved, Event::SlowAck);
        }
        if acked > 0 {
            if self.probed != NEVER {
                self.end_probe(ack);
            }
            if self.nxt > self.una && !self.closed {
                self.set_timer(now);
            } else {
                self.rto_at = NEVER;
            }
        }

        if self.state == State::Open
            && self.board.sacked_out | self.board.lost_out == 0
            && !(SPECIAL && (self.controls || ack.ece))
        {
            self.cc.cong_avoid(&mut self.window, &self.ack);
            self.allowance = u64::from(self.window.cwnd);
        } else {
            self.on_dubious_ack(ack, acked, delivered);
            if self.controls {
                self.control(now);
            }
        }
    }

    #[inline]
    fn cwnd_may_have_changed(&mut self, now: u64) {
        if self.window.cwnd != self.cwnd_time.cwnd && !self.closed {
            self.cwnd_time.changed(now, self.window.cwnd);
        }
    }

    /// What the algorithm is to know of an ACK that delivered `delivered` segments.
    #[inline]
    pub(crate) fn describe(&mut self, now: u64, delivered: u64, prior_in_flight: u64) {
        self.ack.now_us = now / 1000;
        self.ack.acked = delivered as u32;
        self.ack.prior_in_flight = prior_in_flight as u32;
        self.ack.in_flight = self.in_flight() as u32;
        self.ack.rtt_us = 0;
    }

    pub(crate) fn note_ece(&mut self, ece: bool) {
        self.ack.flags = self.ack.flags & !ECE | if ece { ECE } else { 0 };
    }

    #[inline(always)]
    pub(crate) fn sample_rtt(&mut self, now: u64, rtt_ns: u64) {
        self.note_rtt(now, rtt_ns);
        self.cc.pkts_acked(&mut self.window, &self.ack);
    }

    /// A sample for the timer.
    #[inline(always)]
    fn time_rtt(&mut self, now: u64, rtt_ns: u64) {
        self.rto.sample(now, rtt_ns);
        self.rtts.add(rtt_ns);
        self.ack.srtt_us = to_us(self.rto.srtt_ns());
    }

    /// In ns-2 every ACK starts the timer anew, and times an RTT.
    fn time_duplicate(&mut self, now: u64) {
        if self.flow.stack.timestamps {
            self.rto.sample_again(now);
        }
        if self.nxt > self.una && !self.closed {
            self.set_timer(now);
        }
    }

    #[inline(always)]
    fn note_rtt(&mut self, now: u64, rtt_ns: u64) {
        self.time_rtt(now, rtt_ns);
        let rtt_us =
            if self.whole_rtt { (rtt_ns / 1000).clamp(1, u64::from(u32::MAX)) as u32 } else { to_us(rtt_ns) };
        self.ack.rtt_us = rtt_us;
        if self.ack.min_rtt_us == 0 || rtt_us < self.ack.min_rtt_us {
            self.ack.min_rtt_us = rtt_us;
        }
    }

    /// The RTT of the segment that caused an ACK: the algorithm's, where the timer's is that of the first that waited.
    #[inline]
    fn note_segment_rtt(&mut self, rtt_ns: u64) {
        self.ack.rtt_us = to_us(rtt_ns);
        self.ack.min_rtt_us = self.ack.min_rtt_us.min(self.ack.rtt_us);
    }

    /// What an ACK says to have arrived, for the delivery rate.
    pub(crate) fn note_rate(&mut self, ack: Ack) {
        let Some(rate) = &mut self.rate else { return };
        for seq in self.una..ack.next {
            if !self.board.is_sacked(seq) {
                rate.on_delivered(seq - self.una);
            }
        }
        if let Some(seq) = ack.sacked.map(NonZeroU64::get)
            && seq >= ack.next
            && !self.board.is_sacked(seq)
        {
            rate.on_delivered(seq - self.una);
        }
        rate.forget(ack.next - self.una);
    }

    /// The algorithm sets its window and its pacing.
    pub(crate) fn control(&mut self, now: u64) {
        if let Some(rate) = &mut self.rate {
            // Up to half a microsecond more than the RTT that was rounded.
            let min_rtt_ns = (u64::from(self.ack.min_rtt_us) * 1000).saturating_sub(500);
            let sample = rate.sample(now, self.ack.delivered, min_rtt_ns);
            self.ack.rate_prior_delivered = sample.prior_delivered;
            self.ack.rate_delivered = sample.delivered as u32;
            self.ack.rate_interval_us = if sample.interval_ns == 0 { 0 } else { to_us(sample.interval_ns) };
            self.ack.flags &= !RATE_APP_LIMITED;
            if sample.app_limited {
                self.ack.flags |= RATE_APP_LIMITED;
            }
        }
        self.cc.cong_control(&mut self.window, &self.ack);
        self.allowance = u64::from(self.window.cwnd);
    }

    /// Marks as lost what the SACKs show to be so; says how many.
    #[inline(never)]
    fn detect_losses(&mut self, now: u64, ack: Ack) -> u64 {
        let edge = match self.recovery {
            // RFC 6675, IsLost: three segments above it have arrived.
            Recovery::Sack => self.board.third_highest_sacked(),
            // Forward acknowledgement: the highest is more than three above it.
            Recovery::RateHalving => self.board.highest_sacked().saturating_sub(DUP_THRESH),
            // It is three above the first missing; then all below it has left the network.
            Recovery::Fack => match self.board.highest_sacked() {
                fack if self.state == State::Recovery || fack >= self.una + DUP_THRESH => fack,
                _ => 0,
            },
            Recovery::Prr => self.rack_edge(now, ack),
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno | Recovery::Vegas => 0,
        };
        let mut lost = self.board.mark_lost(self.una, edge);
        if self.board.logs_retransmissions {
            lost += if self.board.as_ns2 {
                self.board.mark_overtaken_retransmissions(self.una)
            } else {
                self.board.mark_lost_retransmissions(self.una, ack.sent_ns)
            };
        }
        lost
    }

    /// RFC 8985 on a path that keeps the order: what was sent before a segment that has arrived is lost, at once
    /// in recovery or with three segments SACKed, else after a quarter of the smallest RTT.
    fn rack_edge(&mut self, now: u64, ack: Ack) -> u64 {
        self.reorder_at = NEVER;
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        // A probe is sent long after all else.
        let probed = ack.sacked.is_some_and(|seq| seq.get() == self.probed);
        if !repairing && !probed && self.board.sacked_out < DUP_THRESH {
            if self.board.sacked_out > 0 {
                let wait_us = (self.ack.min_rtt_us / 4).min(self.ack.srtt_us);
                self.reorder_at = now + u64::from(wait_us) * 1000;
            }
            return 0;
        }
        let sent_before =
            if ack.retransmission { self.board.sent_before_retransmission(ack.sent_ns) } else { 0 };
        self.board.highest_sacked().max(sent_before)
    }

    /// Few segments were SACKed, and no more came: those below the highest are lost.
    fn on_reorder_timer(&mut self, now: u64) {
        self.reorder_at = NEVER;
        self.ack.now_us = now / 1000;
        self.ack.lost = self.board.mark_lost(self.una, self.board.highest_sacked()) as u32;
        if self.ack.lost > 0 && !matches!(self.state, State::Recovery | State::Loss) {
            self.begin_recovery(0);
            self.reduce(0, 0);
        }
    }

    /// Nothing was heard for two RTTs: one more segment makes the receiver tell what it has (RFC 8985, 7.3).
    fn send_probe(&mut self, now: u64) -> Tag {
        let new =
            !self.closed && self.nxt - self.una < self.receive_window() && !self.wait_for_application(now);
        let (seq, flags) = if new { (self.nxt, 0) } else { (self.nxt - 1, RETRANSMISSION) };
        self.nxt = seq + 1;
        self.probed = seq;
        self.send::<true>(now, seq, flags, true)
    }

    /// The left edge moved since a probe was sent. If the probe repaired a loss, the window is reduced for it.
    fn end_probe(&mut self, ack: Ack) {
        if ack.next > self.probed {
            self.probed = NEVER;
            if ack.retransmission && matches!(self.state, State::Open | State::Disorder) {
                self.begin_reduction(State::Cwr, 0);
                self.recovery_end = self.nxt;
            }
        }
    }

    /// An ACK while something is missing, or the first after that, or one that echoes congestion.
    #[inline(never)]
    fn on_dubious_ack(&mut self, ack: Ack, acked: u64, delivered: u64) {
        let as_ns2 = self.recovery == Recovery::RateHalving;
        let mut may_grow = acked > 0;
        // The echo stops when the segment that tells of the reduction has arrived, the first from `recovery_end` on.
        let echo = self.state == State::Cwr && ack.ece && self.una == self.recovery_end;
        if matches!(self.state, State::Recovery | State::Loss | State::Cwr)
            && self.una >= self.recovery_end
            && !echo
        {
            // Linux 2.6 did not grow on the ACK that ended a recovery, and grew before the end of a loss.
            if as_ns2 && self.state == State::Loss && may_grow && !self.controls {
                self.cc.cong_avoid(&mut self.window, &self.ack);
            }
            may_grow &= !as_ns2;
            if as_ns2 && self.state == State::Recovery {
                // ns-2 forgets what was SACKed, until the next ACKs tell it again.
                self.ack.delivered -= self.board.sacked_out;
                self.ack.in_flight += self.board.sacked_out as u32;
                self.board.clear(self.una, self.nxt);
            }
            self.end_recovery();
        }
        if self.state == State::Loss
            && let Some((fired, ssthresh)) = self.repairs().undo
            && acked > 0
            && !ack.retransmission
            && ack.sent_ns < fired
        {
            self.undo_timeout(ssthresh);
        }
        // In ns-2 a retransmission that is lost after a timeout is answered like any loss.
        let begins = match self.state {
            State::Recovery => false,
            State::Loss => as_ns2 && self.ack.lost > 0,
            State::Open | State::Disorder | State::Cwr => true,
        };
        if self.board.lost_out > 0 && begins {
            may_grow &= as_ns2 && self.state != State::Cwr;
            if may_grow && !self.controls {
                self.cc.cong_avoid(&mut self.window, &self.ack);
            }
            self.begin_recovery(delivered);
        } else if ack.ece && matches!(self.state, State::Open | State::Disorder) {
            self.begin_reduction(State::Cwr, delivered);
        }
        match self.state {
            State::Recovery | State::Cwr => self.reduce(acked, delivered),
            _ => {
                if self.state != State::Loss {
                    self.enter(if self.board.sacked_out > 0 { State::Disorder } else { State::Open });
                }
                if may_grow && !self.controls {
                    self.cc.cong_avoid(&mut self.window, &self.ack);
                }
                self.allowance = u64::from(self.window.cwnd);
            }
        }
    }

    fn no_undo(&mut self) {
        if let Some(repairs) = &mut self.repairs {
            repairs.undo = None;
        }
    }

    pub(crate) fn enter(&mut self, state: State) {
        if state != self.state {
            self.cc.set_state(&mut self.window, &self.ack, state);
            self.state = state;
            self.ack.state = state as u8;
        }
    }

    /// Fast retransmit, on an ACK that delivered `delivered` segments.
    fn begin_recovery(&mut self, delivered: u64) {
        self.no_undo();
        self.probed = NEVER;
        if self.state == State::Cwr {
            // The window is being reduced already.
            self.recovery_end = self.nxt;
            self.enter(State::Recovery);
        } else {
            self.begin_reduction(State::Recovery, delivered);
        }
    }

    /// The window is to be reduced, on an ACK that delivered `delivered` segments.
    fn begin_reduction(&mut self, state: State, delivered: u64) {
        // RecoverFS: what was SACKed before counts neither here nor as delivered during recovery.
        let recover_fs = self.nxt - self.una - self.board.sacked_out + delivered;
        self.window.prior_cwnd = self.window.cwnd;
        self.recovery_end = self.nxt;
        self.window.ssthresh = self.cc.ssthresh(&mut self.window, &self.ack);
        self.window.cwnd_cnt = 0;
        self.tell_reduction = true;
        let at_one = self.flow.stack.restart_at_one && state == State::Recovery && !self.controls;
        if at_one {
            self.window.cwnd = 1; // before the algorithm hears of the recovery: it keeps no fraction of one
        }
        self.enter(state);
        let in_flight = u64::from(self.window.prior_cwnd);
        self.repairs().reduction =
            Reduction { recover_fs: recover_fs.max(1), in_flight, ..Reduction::default() };
        if self.controls {
            return;
        }
        if self.recovery != Recovery::Prr && !at_one {
            self.window.cwnd = self.window.ssthresh.max(1);
        }
        if self.flow.stack.restart_at_half_ssthresh && !at_one {
            let cwnd = match self.window.repair_cwnd {
                0 => self.window.ssthresh / 2,
                cwnd => cwnd,
            };
            self.window.cwnd = cwnd.max(1);
        }
        self.allowance = u64::from(self.window.prior_cwnd);
    }

    /// What may be in flight after an ACK in recovery that moved the left edge by `acked` and delivered `delivered`
    /// segments.
    fn reduce(&mut self, acked: u64, delivered: u64) {
        if self.controls {
            return;
        }
        let in_flight = self.in_flight();
        match self.recovery {
            Recovery::Sack | Recovery::Fack => {
                // Not on the ACK that began it.
                if self.flow.stack.restart_at_one
                    && self.state == State::Recovery
                    && self.repairs().reduction.out > 0
                {
                    self.cc.cong_avoid(&mut self.window, &self.ack);
                }
                // RFC 6675, 5, step 4.3: the fast retransmit itself waits for nothing.
                let first = u64::from(self.repairs().reduction.out == 0 && self.board.lost_out > 0);
                self.allowance = u64::from(self.window.cwnd).max(in_flight + first);
            }
            Recovery::Prr => {
                let ssthresh = u64::from(self.window.ssthresh);
                let reduction = &mut self.repairs.get_or_insert_default().reduction;
                reduction.delivered += delivered;
                let mut send = if in_flight > ssthresh {
                    (reduction.delivered * ssthresh)
                        .div_ceil(reduction.recover_fs)
                        .saturating_sub(reduction.out)
                } else {
                    let limit = reduction.delivered.saturating_sub(reduction.out).max(delivered);
                    // SafeACK: the ACK moves the left edge and shows no further loss.
                    let safe = u64::from(acked > 0 && self.ack.lost == 0);
                    (limit + safe).min(ssthresh - in_flight)
                };
                if reduction.out == 0 && self.board.lost_out > 0 {
                    send = send.max(1); // the fast retransmit itself
                }
                self.allowance = in_flight + send;
                self.window.cwnd = self.allowance.max(1) as u32;
            }
            Recovery::RateHalving => {
                // Once each ACK takes one segment out, every other one lets one go.
                let target = u64::from(self.window.cwnd);
                let reduction = &mut self.repairs().reduction;
                let allowance = reduction.in_flight.min(in_flight + 1).max(target);
                reduction.in_flight = reduction.in_flight.min(in_flight);
                self.allowance = allowance;
            }
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno | Recovery::Vegas => {}
        }
    }

    fn end_recovery(&mut self) {
        if matches!(self.state, State::Recovery | State::Cwr) && !self.controls {
            match self.recovery {
                Recovery::Fack if self.flow.stack.restart_at_one && self.state == State::Recovery => {}
                Recovery::RateHalving if self.window.cwnd < self.window.ssthresh => {
                    let burst = (self.nxt - self.una + DUP_THRESH) as u32;
                    self.window.cwnd = self.window.ssthresh.min(burst);
                }
                Recovery::RateHalving => {}
                _ => self.window.cwnd = self.window.ssthresh.max(1),
            }
            self.window.cwnd_cnt = 0;
            self.cc.cwnd_event(&mut self.window, &self.ack, Event::CompleteCwr);
        }
        self.no_undo();
        self.enter(State::Open);
    }

    /// A timer fires; the segment to send at once, if any.
    pub fn on_timer(&mut self, now: u64) -> Option<Tag> {
        self.wake_at = if self.wake_at <= now { NEVER } else { self.wake_at };
        if self.reorder_at <= now {
            self.on_reorder_timer(now);
        }
        if self.rto_at <= now {
            if self.probing {
                return Some(self.send_probe(now));
            }
            self.on_timeout(now);
        }
        self.cwnd_may_have_changed(now);
        None
    }

    /// The retransmission timer fires (RFC 6298, 5.4 to 5.6).
    fn on_timeout(&mut self, now: u64) {
        self.timeouts += 1;
        self.ack.now_us = now / 1000;
        self.ack.rtt_us = 0;
        if self.handshake {
            self.on_handshake_timeout(now);
            return;
        }
        if self.overlapped {
            self.begin_overlapped(now);
            self.overlapped = false;
        }
        // One reduction for a window of data: not again for a loss already answered, but in ns-2.
        if !matches!(self.state, State::Recovery | State::Loss)
            || self.una >= self.recovery_end
            || self.recovery == Recovery::RateHalving
        {
            self.window.prior_cwnd = self.window.cwnd;
            let undo = self.flow.stack.undo_spurious_rto.then_some((now, self.window.ssthresh));
            self.repairs().undo = undo;
            self.window.ssthresh = self.cc.ssthresh(&mut self.window, &self.ack);
        }
        self.cc.cwnd_event(&mut self.window, &self.ack, Event::Rto);
        self.window.cwnd = 1;
        self.window.cwnd_cnt = 0;
        self.tell_reduction = true;
        self.allowance = 1;
        self.ack.lost = self.in_flight() as u32;
        if self.recovery.uses_sack() {
            self.recovery_end = self.nxt;
            self.board.mark_all_lost(self.una, self.nxt);
        } else {
            self.recovery_end = self.first_unsent;
            self.go_back();
        }
        self.enter(State::Loss);
        (self.probed, self.reorder_at) = (NEVER, NEVER);
        self.rto.back_off();
        self.rto_at = now + self.rto.timeout_ns();
        self.probing = false;
        self.paced_until_ns = 0;
    }

    /// The SYN is sent again, and one segment when it is acknowledged (RFC 5681, 3.1).
    #[cold]
    fn on_handshake_timeout(&mut self, now: u64) {
        self.window.cwnd = 1;
        if self.recovery.uses_sack() {
            self.board.mark_all_lost(self.una, self.nxt);
        } else {
            self.go_back();
        }
        self.rto.back_off();
        self.rto_at = now + self.rto.timeout_ns();
    }

    /// An ACK of an original segment arrives after the timeout: nothing was lost.
    fn undo_timeout(&mut self, ssthresh: u32) {
        self.window.cwnd = self.cc.undo_cwnd(&mut self.window, &self.ack);
        self.window.ssthresh = ssthresh;
        self.board.mark_none_lost(self.una, self.nxt);
        self.no_undo();
        self.enter(State::Open);
    }
}

#[inline]
fn to_us(ns: u64) -> u32 {
    ((ns + 500) / 1000).clamp(1, u64::from(u32::MAX)) as u32
}
