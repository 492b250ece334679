//! The sending end of a TCP connection: its state, and what it sends.
//!
//! The rest of it is in the files around: `fast_path.rs` is what most ACKs take, `acknowledgement.rs` is what the algorithm
//! sees of an ACK, `loss/` finds losses, `recovery.rs` lowers the window for them with one of `reduction/`, `undo.rs` takes
//! that back, `handshake.rs` begins a connection.

use crate::memory::distribution::Distribution;
use crate::random::random_stream;
use crate::tcp::application::Application;
use crate::tcp::cwnd_time::CwndTime;
use crate::tcp::delivery_rate::RateSampler;
use crate::tcp::packet::{AckPacket, CWR, RETRANSMISSION, SYN, Segment, Tag};
use crate::tcp::rack::Rack;
use crate::tcp::receiver::SackBlocks;
use crate::tcp::repairs::{NonSack, Repairs};
use crate::tcp::rtt::Rto;
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::sent_times::SentTimes;
use crate::tcp::source::Source;
use crate::tcp::ticks::Ticks;
use crate::tcp::window_use::WindowUse;
use crate::time::NEVER;
use chacha20::rand_core::Rng;
use cwnd_algorithms::{
    APP_LIMITED, CWND_LIMITED, CongestionControl, Driver, SSTHRESH_INFINITE, State, Window,
};
use cwnd_scenario::receive_memory::ReceiveWindow;
use cwnd_scenario::{Detection, Flow, Handshake, Pacing, RateLimited, RecoveryChoices};
use std::fmt::Display;
use std::mem::offset_of;

/// Sequence numbers count segments, from 0. What the fast path needs comes first, close together.
#[repr(C)]
pub struct Sender<'a, C> {
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) scoreboard: Scoreboard,
    /// The segment that a tail probe sent, until it is acknowledged, or NEVER.
    pub(super) probed: u64,
    /// When pacing or the application lets the next segment go that the window allows, or NEVER.
    pub(super) wake_at: u64,
    /// When the retransmission timer fires, or NEVER.
    pub(super) rto_at: u64,
    /// When few SACKs are taken for losses rather than for reordering (RFC 8985, 6), or NEVER.
    pub(super) reorder_at: u64,
    pub(super) choices: &'static RecoveryChoices,
    /// Traffic of the application beside a rate and constant pauses, if it has any.
    pub source: Option<Box<Source<'a>>>,
    /// Size of a segment on the wire, without a source.
    pub packet_bytes: u32,
    /// Marked packets that ACKs have reported, if they carry the number.
    pub(super) marked_pkts: u32,
    pub(super) slow_path: SlowPath,
    /// Every ACK takes the slow path, after the handshake and without losses, too.
    acks_are_extra: bool,
    /// Segments are paced even if the algorithm has no rate.
    pub(super) paced_by_fq: bool,
    /// No segment from here on is new: the application has closed.
    pub closed: bool,
    pub started: bool,
    /// The segment of `probed` repaired a loss, and no more than it is acknowledged.
    pub(super) probe_repaired: bool,
    /// The retransmission timer fires early, for a probe of the tail (RFC 8985, 7).
    pub(super) probing: bool,
    /// The SYN has yet to be acknowledged.
    pub(super) handshake: bool,
    /// Data went with the SYN, which has yet to be acknowledged: its RTT is not that of a segment.
    pub(super) overlapped: bool,
    /// The SYN is acknowledged, and this has yet to be.
    pub(super) answers_syn_ack: bool,
    /// The next new segment reports to the receiver that the window was reduced (RFC 3168, CWR).
    pub(super) report_reduction: bool,
    /// The algorithm gets RTTs in whole microseconds that are over.
    pub(super) rounds_rtt_down: bool,
    /// Those of the stack that losses ask for: the flow's description is far from here.
    pub(super) timestamps: bool,
    pub(super) restart_at_one: bool,
    pub(super) restart_at_half_ssthresh: bool,
    pub(super) rto: Rto,
    /// How much may be in flight now: cwnd, except during a reduction.
    pub(super) send_window: u64,
    /// The receive window when it last limited the sender.
    pub(super) receive_window_pkts: u64,
    pub(super) receive_window: ReceiveWindow,
    pub(super) window_use: WindowUse,
    pub sent: u64,
    pub(super) last_sent_ns: u64,
    pub rtts: Distribution,
    pub(super) cwnd_time: CwndTime,
    pub(super) driver: Driver<C>,
    /// If losses are found by time.
    pub(super) sent_times: SentTimes,

    /// No segment from here on was ever sent: `nxt`, unless the sender went back to `una` without SACK. On the fast path it
    /// lags behind.
    pub(super) first_unsent: u64,
    /// Recovery, loss or CWR ends when this segment is reached.
    pub(super) recovery_end: u64,
    /// Pacing: nothing is sent before.
    pub(super) paced_until_ns: u64,
    pub(super) rate: Option<Box<RateSampler>>,
    /// Without a source: when the application writes, if not all at once.
    pub(super) application: Option<Box<Application>>,
    /// Once a segment was missing, if losses are found by time.
    pub(super) rack: Option<Box<Rack>>,
    /// Once a segment was missing.
    pub(super) repairs: Option<Box<Repairs>>,
    pub(crate) flow: &'a Flow,
    pub start_ns: u64,
    pub(super) ticks: Ticks,
    pub retransmissions: u64,
    pub timeouts: u64,
}

/// Reasons for the slow path, which few senders have.
#[derive(Clone, Copy)]
pub(super) struct SlowPath {
    /// Every ACK takes the slow path: `cong_control`, ECN, a handshake under way, without SACK a segment that may be missing.
    pub(super) acks: bool,
    /// Each segment is asked for on its own: all of these, an application with limits, `fq`, and once it is closed.
    pub(super) segments: bool,
    /// Only because an application, which has no source, writes at a rate or pauses.
    pub(super) by_application: bool,
}

impl<'a, C: CongestionControl> Sender<'a, C> {
    /// Offset of the fields that few packets need.
    pub const COLD_FROM: usize = offset_of!(Self, first_unsent);

    pub fn new(
        cc: C,
        flow: &'a Flow,
        start_ns: u64,
        source: Option<Source<'a>>,
        receive_window: ReceiveWindow,
    ) -> Sender<'a, C> {
        let stack = &flow.stack;
        let choices = stack.recovery.choices();
        let window = Window {
            // Two segments at least, as after a loss (RFC 5681, 3.1): headers rely on it.
            ssthresh: stack.initial_ssthresh_pkts.map_or(SSTHRESH_INFINITE, |pkts| pkts.max(2)),
            ..Window::new(stack.initial_window_pkts)
        };
        let ack = cwnd_algorithms::Ack {
            now_us: start_ns / 1000,
            snd_wnd: receive_window.pkts,
            mss: flow.payload_bytes,
            ..Default::default()
        };
        let mut driver = Driver::new(cc, window, ack);
        if stack.rate_limited == RateLimited::Draft {
            driver.limit_increase();
        }
        let rate = driver.controls_window().then(|| Box::new(RateSampler::new()));
        let mut sender = Sender {
            una: 0,
            nxt: 0,
            scoreboard: Scoreboard::new(stack),
            probed: NEVER,
            probe_repaired: false,
            wake_at: NEVER,
            rto_at: NEVER,
            reorder_at: NEVER,
            choices,
            application: Application::new(flow, start_ns).filter(|_| source.is_none()).map(Box::new),
            source: source.map(Box::new),
            packet_bytes: flow.packet_bytes(),
            slow_path: SlowPath { acks: true, segments: true, by_application: false },
            acks_are_extra: true,
            paced_by_fq: stack.pacing == Pacing::Fq,
            closed: false,
            started: false,
            probing: false,
            handshake: stack.handshake == Handshake::First,
            overlapped: stack.handshake == Handshake::Overlapped,
            answers_syn_ack: false,
            report_reduction: false,
            timestamps: stack.timestamps,
            restart_at_one: stack.restart_at_one,
            restart_at_half_ssthresh: stack.restart_at_half_ssthresh,
            rounds_rtt_down: choices.quirks.rounds_rtt_down && !stack.round_rtt,
            marked_pkts: 0,
            rto: Rto::new(stack),
            driver,
            sent_times: SentTimes::default(),
            send_window: u64::from(stack.initial_window_pkts),
            receive_window_pkts: receive_window.after(0),
            receive_window,
            window_use: WindowUse::default(),
            sent: 0,
            last_sent_ns: start_ns,
            rtts: Distribution::new(),
            cwnd_time: CwndTime::new(start_ns, stack.initial_window_pkts),
            first_unsent: 0,
            recovery_end: 0,
            paced_until_ns: 0,
            rate,
            rack: None,
            repairs: None,
            flow,
            start_ns,
            ticks: Ticks::default(),
            retransmissions: 0,
            timeouts: 0,
        };
        sender.acks_are_extra = sender.driver.controls_window()
            || stack.ecn.is_on()
            || stack.one_way_delays
            || stack.rate_limited == RateLimited::Draft
            || choices.detection == Detection::FineTimer;
        sender.note_slow_path(stack.handshake != Handshake::Off);
        sender
    }

    /// Sets what depends on the seed, for the connection called `name`: the phase of the host's ticks, and the random numbers of an
    /// algorithm with `cong_control`.
    pub fn draw_chance(&mut self, seed: u64, ticks: Ticks, name: impl Display) {
        self.ticks = ticks.of_connection(self.start_ns);
        if self.driver.controls_window() {
            self.driver.ack.chance = random_stream(seed, &format!("algorithm-{name}")).next_u32();
        }
    }

    /// Notes the reasons for the slow path; a connection that `begins` may have a handshake.
    pub(super) fn note_slow_path(&mut self, begins: bool) {
        let acks = self.acks_are_extra || begins || self.repairs_without_sack();
        let others = acks || self.source.is_some() || self.paced_by_fq || self.closed;
        let limited = self.application.is_some();
        self.slow_path = SlowPath { acks, segments: others || limited, by_application: limited && !others };
    }

    /// It is `start_ns`.
    pub fn start(&mut self) {
        self.started = true;
        if self.handshake {
            self.send_window = 1;
        } else if !self.overlapped {
            self.driver.start();
            self.send_window = u64::from(self.cwnd());
            self.cwnd_time = CwndTime::new(self.start_ns, self.cwnd());
        }
    }

    pub fn uses_sack(&self) -> bool {
        self.choices.detection.uses_sack()
    }

    /// The first segment that is not acknowledged.
    #[inline(always)]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The segment that is sent next, if none is sent again.
    #[inline(always)]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    pub fn cwnd(&self) -> u32 {
        self.driver.window.cwnd
    }

    pub fn ssthresh(&self) -> u32 {
        self.driver.window.ssthresh
    }

    pub fn srtt_ns(&self) -> u64 {
        self.rto.srtt_ns()
    }

    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.nxt - self.una - self.scoreboard.sacked_out - self.scoreboard.lost_out
            + self.scoreboard.retrans_out
    }

    pub(super) fn repairs(&mut self) -> &mut Repairs {
        self.repairs.get_or_insert_default()
    }

    pub(super) fn non_sack(&mut self) -> &mut NonSack {
        &mut self.repairs().non_sack
    }

    /// When the sender must act without an ACK, or NEVER.
    #[inline]
    pub fn timer_at(&self) -> u64 {
        self.rto_at.min(self.wake_at).min(self.reorder_at)
    }

    /// When the retransmission timer fires, or NEVER.
    #[inline(always)]
    pub fn rto_at(&self) -> u64 {
        self.rto_at
    }

    /// More is to be sent at `at`.
    pub fn wake_at(&mut self, at: u64) {
        self.wake_at = at;
    }

    /// Nothing is sent from now on.
    pub fn close(&mut self) {
        self.closed = true;
        self.slow_path = SlowPath { segments: true, by_application: false, ..self.slow_path };
        (self.rto_at, self.wake_at, self.reorder_at) = (NEVER, NEVER, NEVER);
    }

    /// There is nothing to do for long: what is kept for segments in flight goes if there are none.
    pub fn rest(&mut self) {
        if self.nxt == self.una {
            self.sent_times.forget();
        }
    }

    /// It is closed, and no packet or ACK of it is in the network.
    pub fn forget(&mut self) {
        self.scoreboard.forget_segments();
        self.sent_times.forget();
        (self.rate, self.rack, self.repairs) = (None, None, None);
    }

    /// The RTTs and the mean of cwnd are those from `now` on.
    pub fn begin_measuring(&mut self, now: u64) {
        self.rtts = Distribution::new();
        self.cwnd_time.begin_measuring(now);
    }

    /// The least and the greatest cwnd since the last call, as it was then included.
    pub fn take_cwnd_range(&mut self) -> (u32, u32) {
        self.cwnd_time.take_range(self.cwnd())
    }

    /// How long the first slow start lasted, until `stop_ns` at most, in whole milliseconds; None: the algorithm sets no
    /// ssthresh.
    pub fn slow_start_s(&self, stop_ns: u64) -> Option<f64> {
        let end_ns = match self.cwnd_time.slow_start_end_ms {
            u32::MAX => stop_ns,
            end_ms => (u64::from(end_ms) * 1_000_000).clamp(self.start_ns, stop_ns.max(self.start_ns)),
        };
        (!self.driver.controls_window()).then(|| end_ns.saturating_sub(self.start_ns) as f64 / 1e9)
    }

    /// Time integral of cwnd until `now`, since it is measured.
    pub fn cwnd_ns(&self, now: u64) -> u128 {
        self.cwnd_time.integral(now)
    }

    /// Mean cwnd from `from` until `now`.
    pub fn mean_cwnd(&self, from: u64, now: u64) -> f64 {
        self.cwnd_ns(now) as f64 / now.saturating_sub(from).max(1) as f64
    }

    /// The window is full.
    #[inline(always)]
    pub(super) fn note_full_window(&mut self) {
        if !self.window_use.is_full {
            self.window_use.is_full = true;
            let flags = &mut self.driver.ack.flags;
            *flags = *flags & !APP_LIMITED | CWND_LIMITED;
        }
    }

    /// Something else than the window keeps the sender from sending more.
    pub(super) fn note_unused_window(&mut self) {
        let may_grow = self.choices.detection == Detection::Rack
            && self.window_use.is_limit(self.una, self.nxt, &self.driver.window);
        self.window_use.is_full = false;
        let flags = &mut self.driver.ack.flags;
        *flags = *flags & !CWND_LIMITED | if may_grow { CWND_LIMITED } else { 0 };
    }

    /// The next segment that may be sent at `now`, if any.
    #[inline(never)]
    pub fn next_segment(&mut self, now: u64) -> Option<Tag> {
        if self.slow_path.segments { self.next::<true>(now) } else { self.next::<false>(now) }
    }

    #[inline(always)]
    fn next<const SLOW_PATH: bool>(&mut self, now: u64) -> Option<Tag> {
        if SLOW_PATH && self.answers_syn_ack && !self.closed {
            return Some(self.answer_syn_ack());
        }
        if self.closed || self.in_flight() >= self.send_window && !(SLOW_PATH && self.must_retransmit()) {
            if self.in_flight() >= u64::from(self.cwnd()) {
                self.note_full_window();
            }
            return None;
        }
        let paced = self.driver.window.pacing_rate > 0 || SLOW_PATH && self.paced_by_fq;
        if paced && self.paced_until_ns > now {
            self.wake_at = self.paced_until_ns;
            return None;
        }
        if self.scoreboard.lost_out > self.scoreboard.retrans_out
            && !self.holds_back(now)
            && let Some(seq) = self.scoreboard.next_retransmission(now, self.una, self.nxt)
        {
            // As in Linux, the retransmission of the first segment restarts the timer.
            return Some(self.send::<SLOW_PATH>(now, seq, RETRANSMISSION, seq == self.una));
        }
        if SLOW_PATH && self.must_retransmit() {
            self.non_sack().must_retransmit = false;
            return Some(self.send::<SLOW_PATH>(now, self.una, RETRANSMISSION, true));
        }
        if !self.has_room_for_new() {
            self.note_unused_window();
            return None;
        }
        if SLOW_PATH && self.nxt == self.first_unsent && self.wait_for_application(now) {
            return None;
        }
        if self.nxt == self.una && !(SLOW_PATH && (self.handshake || self.overlapped)) {
            self.start_from_idle(now);
        }
        let seq = self.nxt;
        self.nxt += 1;
        let again = SLOW_PATH && seq < self.first_unsent;
        Some(self.send::<SLOW_PATH>(now, seq, if again { RETRANSMISSION } else { 0 }, false))
    }

    /// Without SACK: the first segment is to be retransmitted, however much is in flight.
    fn must_retransmit(&self) -> bool {
        self.repairs.as_ref().is_some_and(|repairs| repairs.non_sack.must_retransmit)
    }

    /// Segment `seq` is sent; a timer that runs already starts anew if it is to `restart`.
    #[inline(always)]
    pub(super) fn send<const SLOW_PATH: bool>(
        &mut self,
        now: u64,
        seq: u64,
        flags: u8,
        restart: bool,
    ) -> Tag {
        let mut flags = flags;
        if flags & RETRANSMISSION != 0 {
            self.retransmissions += 1;
            self.note_sent_again(now);
        } else if self.choices.detection == Detection::Rack {
            self.sent_times.note(now, seq, self.una);
        }
        if SLOW_PATH {
            if flags & RETRANSMISSION == 0 {
                self.first_unsent = seq + 1;
                if self.report_reduction {
                    self.report_reduction = false;
                    flags |= CWR;
                }
            }
            let in_flight = if self.rate.is_some() { self.in_flight() } else { 0 };
            if let Some(rate) = &mut self.rate {
                let nxt = if flags & RETRANSMISSION != 0 { self.nxt } else { seq };
                rate.on_send(now, seq, [self.una, nxt], self.driver.ack.delivered, in_flight);
            }
        }
        if self.driver.window.pacing_rate > 0 || SLOW_PATH && self.paced_by_fq {
            self.pace(now);
        }
        if SLOW_PATH && self.choices.detection == Detection::FineTimer {
            let una = self.una;
            self.non_sack().fine_timer().note_sent(now, seq, una);
        }
        self.sent += 1;
        if matches!(self.driver.state(), State::Recovery | State::Cwr)
            && let Some(repairs) = &mut self.repairs
        {
            repairs.reducing.sent += 1;
        }
        self.last_sent_ns = now;
        if self.rto_at == NEVER || restart {
            self.set_timer(now);
        } else if seq == self.una + 1 {
            self.hasten_probe(now);
        }
        Tag::new(seq, flags)
    }

    /// Nothing is in flight.
    #[cold]
    fn start_from_idle(&mut self, now: u64) {
        self.driver.ack.now_us = now / 1000;
        let (idle_ns, rto_ns) = (now - self.last_sent_ns, self.rto.timeout_ns());
        let stack = &self.flow.stack;
        if stack.idle_restart && idle_ns > rto_ns && self.sent > 0 {
            self.driver.on_idle((idle_ns - 1) / rto_ns, stack.initial_window_pkts);
        }
        self.driver.on_first_send();
        self.send_window = u64::from(self.cwnd());
        self.cwnd_time.changed(now, self.cwnd(), self.ssthresh());
    }

    /// An ACK arrives at `now`. [`Sender::next_segment`] has the segments that may be sent then.
    #[inline(never)]
    pub fn on_ack(&mut self, now: u64, ack: &AckPacket, blocks: SackBlocks) {
        self.wake_at = NEVER;
        if self.slow_path.acks {
            self.on_ack_with_extras(now, ack, blocks);
        } else if self.choices.detection.uses_sack() {
            self.on_sack::<false>(now, ack, blocks);
        } else {
            self.on_non_sack(now, ack);
            self.note_slow_path(false);
        }
        self.cwnd_may_have_changed(now);
    }

    #[inline(never)]
    fn on_ack_with_extras(&mut self, now: u64, ack: &AckPacket, blocks: SackBlocks) {
        let ack = &mut ack.clone();
        if self.flow.stack.ecn.is_accurate() {
            ack.marked_pkts = self.newly_marked(ack.marked_pkts);
            ack.ece = ack.marked_pkts > 0;
        }
        if self.flow.stack.one_way_delays {
            self.note_one_way_delay(ack);
        }
        if self.overlapped {
            self.begin_overlapped(now);
        }
        if self.handshake {
            self.on_handshake(now, ack);
        } else if self.choices.detection.uses_sack() {
            self.on_sack::<true>(now, ack, blocks);
        } else {
            self.on_non_sack(now, ack);
        }
        self.overlapped = false;
        self.note_slow_path(self.is_timeless(ack) || self.answers_syn_ack);
    }

    /// A segment as it is sent at `now`.
    #[inline(always)]
    pub fn packet(&self, now: u64, tag: Tag) -> Segment {
        let tag = if tag.may_be_of_handshake() {
            self.first_tag()
        } else {
            tag.sized(self.segment_bytes(tag.seq()))
        };
        Segment { tag, sent_ns: now }
    }

    /// Out of line: the first segment alone needs the flow's description, which is in another cache line.
    #[cold]
    #[inline(never)]
    fn first_tag(&self) -> Tag {
        let (tag, stack) = (Tag::new(0, 0), &self.flow.stack);
        match stack.handshake {
            Handshake::Off => tag.sized(self.segment_bytes(0)),
            _ => tag.with(SYN).sized(stack.ack_bytes),
        }
    }

    /// Segment `seq` on the wire.
    pub fn segment_bytes(&self, seq: u64) -> u32 {
        match &self.source {
            Some(source) => source.payload_bytes(seq) + self.flow.stack.header_bytes,
            None => self.packet_bytes,
        }
    }

    /// Each of the segments, which have been sent, with its payload.
    pub fn with_payload_bytes(
        &self,
        segments: impl Iterator<Item = u64>,
    ) -> impl Iterator<Item = (u64, u32)> {
        segments.map(|seq| match &self.source {
            Some(source) => (seq, source.payload_bytes(seq)),
            None => (seq, self.flow.payload_bytes),
        })
    }

    #[inline]
    pub(super) fn cwnd_may_have_changed(&mut self, now: u64) {
        if self.cwnd() != self.cwnd_time.cwnd && !self.closed {
            self.cwnd_time.changed(now, self.cwnd(), self.ssthresh());
        }
    }

    /// A timer fires; returns the segment to send at once, if any.
    pub fn on_timer(&mut self, now: u64) -> Option<Tag> {
        self.wake_at = if self.wake_at <= now { NEVER } else { self.wake_at };
        if self.reorder_at <= now {
            self.on_reorder_timer(now);
        }
        if self.rto_at <= now {
            if !self.probing {
                self.on_timeout(now);
            } else {
                self.rto_at = self.probes_at();
                if self.rto_at <= now {
                    return Some(self.send_probe(now));
                }
            }
        }
        self.cwnd_may_have_changed(now);
        None
    }
}
