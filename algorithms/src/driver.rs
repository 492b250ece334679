//! The caller's half of the contract: which hook is called when, and what the stack does in between.
//!
//! `cc.h` says what each hook means; this file is the only one that calls them. A stack reports to a [`Driver`] what
//! happened, and reads from [`Driver::window`] what it may send.
//!
//! | what happens | function | hooks and the stack's own steps, in order |
//! |---|---|---|
//! | the connection is established | [`start`](Driver::start) | `init` |
//! | an ACK | [`on_ack`](Driver::on_ack) | `pkts_acked`, if it has an RTT sample; `cong_avoid`, but in CWR and RECOVERY; or `cong_control` instead of that, always |
//! | the ACK shows the first loss of a window | [`on_loss`](Driver::on_loss) | `ssthresh`, `set_state(RECOVERY)`, lower `cwnd` |
//! | a loss where the window was reduced already | [`on_further_loss`](Driver::on_further_loss) | `set_state(RECOVERY)` |
//! | the ACK echoes congestion | [`on_congestion`](Driver::on_congestion) | `ssthresh`, `set_state(CWR)`, lower `cwnd` |
//! | a segment is marked lost | [`on_segment_lost`](Driver::on_segment_lost) | `segment_lost` |
//! | the window of a loss or an echo is acknowledged | [`on_recovered`](Driver::on_recovered) | `cwnd_event(COMPLETE_CWR)`, `set_state(OPEN)` |
//! | the retransmission timer; persistent congestion of QUIC | [`on_timeout`](Driver::on_timeout) | `ssthresh`, `cwnd_event(RTO)`, `cwnd = 1`, `set_state(LOSS)` |
//! | the last reduction was needless | [`undo`](Driver::undo) | `undo_cwnd`, restore both windows, `set_state(OPEN)` |
//! | segments are missing, none is known to be lost; or none is missing any more | [`on_disorder`](Driver::on_disorder) | `set_state(DISORDER)` or `set_state(OPEN)` |
//! | an ACK off the fast path, for a stack that reports these | [`on_slow_ack`](Driver::on_slow_ack) | `cwnd_event(SLOW_ACK)` |
//! | nothing was in flight for longer than the RTO | [`on_idle`](Driver::on_idle) | `cwnd_event(CWND_RESTART)`, lower `cwnd` |
//! | the first segment while nothing is in flight | [`on_first_send`](Driver::on_first_send) | `cwnd_event(TX_START)` |
//!
//! On one ACK the steps are: fill in [`Driver::ack`]; [`Driver::on_rtt_sample`]; [`Driver::on_segment_lost`] for each loss, if the
//! algorithm [controls its window](Driver::controls_window); what the ACK shows ([`Driver::on_recovered`],
//! [`Driver::undo`], [`Driver::on_loss`], [`Driver::on_further_loss`], [`Driver::on_congestion`], [`Driver::on_disorder`]); then [`Driver::grow`] or
//! [`Driver::control`]. [`Driver::on_ack`] does the first and the last for an ACK that shows nothing else.
//!
//! With `cong_control` the algorithm sets `cwnd` itself: the stack lowers it at a timeout only, and there is no
//! `cwnd_event(COMPLETE_CWR)`.
//!
//! # Example
//!
//! Reno over a pipe that holds 20 segments: one segment more each round trip, half of the window at a loss.
//!
//! ```
//! use cwnd_algorithms::{Ack, CWND_LIMITED, Driver, Lowering, Window, find};
//!
//! let reno = find("reno").unwrap();
//! let window = Window { ssthresh: 10, ..Window::new(10) };
//! let ack = Ack { mss: 1448, snd_wnd: u32::MAX, flags: CWND_LIMITED, ..Ack::default() };
//! let mut driver = Driver::new(reno.build(&reno.defaults()), window, ack);
//! driver.start();
//! let mut windows = Vec::new();
//! for _ in 0..24 {
//!     let sent = driver.window.cwnd;
//!     windows.push(sent);
//!     for _ in 0..sent.min(20) {
//!         let ack = &mut driver.ack;
//!         ack.now_us += u64::from(100_000 / sent);
//!         ack.delivered += 1;
//!         (ack.acked, ack.prior_in_flight, ack.in_flight) = (1, sent, sent - 1);
//!         (ack.rtt_us, ack.srtt_us, ack.min_rtt_us) = (100_000, 100_000, 100_000);
//!         driver.on_ack();
//!     }
//!     if sent > 20 {
//!         driver.on_loss(Lowering::ToSsthresh);
//!         driver.on_recovered(driver.window.ssthresh);
//!     }
//! }
//! assert_eq!(windows[..12], [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
//! assert_eq!(windows[12..], [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
//! ```

use crate::ffi::out_of_range;
use crate::rate_limited::RateLimited;
use crate::{APP_LIMITED, Ack, CWND_LIMITED, CongestionControl, Event, RATE_APP_LIMITED, State, Window};

/// An algorithm at work on one connection, with what it sees and what it decides.
///
/// The stack fills in [`Ack`] before it reports what happened; it may set [`Window`] when its own rules ask for that.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Driver<C> {
    /// Input of the algorithm. The driver keeps `state`, and `lost` at a timeout; the stack fills in the rest.
    pub ack: Ack,
    /// The window, which hooks change.
    pub window: Window,
    algorithm: C,
    /// None: the algorithm alone decides if a window that is not used grows.
    rate_limited: Option<Box<RateLimited>>,
}

/// How far the stack lowers `cwnd` when a reduction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// To ssthresh.
    ToSsthresh,
    /// To the window that the algorithm asks for during the repair, else to half of ssthresh.
    ToRepairWindow,
    /// To one segment, before the algorithm sees the new state: it keeps no fraction of a segment.
    ToOne,
    /// Not yet: the stack lowers it as ACKs arrive.
    Later,
}

impl<C: CongestionControl> Driver<C> {
    /// A connection that begins with this window; `ack` has its first values.
    pub fn new(algorithm: C, window: Window, ack: Ack) -> Driver<C> {
        Driver { ack, window, algorithm, rate_limited: None }
    }

    /// Applies the rule of draft-ietf-ccwg-ratelimited-increase-10 to the window, from now on: it grows whether or not it is
    /// used, but no further than the ACKs of the largest flight since its last reduction would let it. Not to one that the
    /// algorithm [controls](Driver::controls_window) by itself.
    pub fn limit_increase(&mut self) {
        self.rate_limited = (!self.controls_window()).then(|| Box::new(RateLimited::new(self.window.cwnd)));
    }

    /// Returns the sender's state.
    #[inline]
    pub fn state(&self) -> State {
        match self.ack.state {
            0 => State::Open,
            1 => State::Disorder,
            2 => State::Cwr,
            3 => State::Recovery,
            _ => State::Loss,
        }
    }

    /// Returns true if the algorithm has `cong_control`, and so sets its window at every ACK, during reductions, too.
    #[inline]
    pub fn controls_window(&self) -> bool {
        self.algorithm.has_cong_control()
    }

    /// The connection is established.
    pub fn start(&mut self) {
        self.assert_ranges();
        self.algorithm.init(&mut self.window, &self.ack);
        if self.rate_limited.is_some() {
            self.limit_increase();
        }
    }

    /// An ACK that shows neither a loss nor congestion. Its RTT sample is in `ack.rtt_us`; 0: it has none.
    #[inline]
    pub fn on_ack(&mut self) {
        if self.ack.rtt_us > 0 {
            self.on_rtt_sample();
        }
        if self.controls_window() {
            self.control();
        } else if !matches!(self.state(), State::Cwr | State::Recovery) {
            self.grow();
        }
    }

    /// The ACK has an RTT sample, in `ack.rtt_us`.
    #[inline(always)]
    pub fn on_rtt_sample(&mut self) {
        self.assert_ranges();
        debug_assert!(self.ack.rtt_us > 0, "pkts_acked without an RTT");
        self.algorithm.pkts_acked(&mut self.window, &self.ack);
    }

    /// The ACK lets the window grow: it reports new segments, and no reduction is under way. Not for an algorithm that
    /// [controls its window](Driver::controls_window).
    #[inline(always)]
    pub fn grow(&mut self) {
        if self.rate_limited.is_some() {
            self.grow_within_limit();
        } else {
            self.grow_freely();
        }
    }

    /// Calls [`Driver::grow`] for a stack that knows that [`Driver::limit_increase`] was not called.
    #[inline(always)]
    pub fn grow_freely(&mut self) {
        self.assert_ranges();
        debug_assert!(self.ack.acked > 0, "cong_avoid without segments");
        debug_assert!(!self.controls_window() && self.rate_limited.is_none());
        self.algorithm.cong_avoid(&mut self.window, &self.ack);
    }

    #[inline(never)]
    fn grow_within_limit(&mut self) {
        let Some(limit) = &mut self.rate_limited else { return };
        let before = self.window;
        limit.see_flight(self.ack.prior_in_flight);
        // An algorithm leaves a window alone that is not used: here the limit decides.
        let ack = Ack { flags: self.ack.flags & !APP_LIMITED | CWND_LIMITED, ..self.ack };
        self.algorithm.cong_avoid(&mut self.window, &ack);
        limit.cap(&before, &mut self.window, self.ack.acked);
    }

    /// The window was lowered.
    fn note_reduction(&mut self) {
        if let Some(limit) = &mut self.rate_limited {
            limit.forget();
        }
    }

    /// Every ACK, as its last step, of an algorithm that [controls its window](Driver::controls_window): it sets cwnd and
    /// its pacing rate.
    #[inline]
    pub fn control(&mut self) {
        self.assert_ranges();
        self.algorithm.cong_control(&mut self.window, &self.ack);
    }

    /// A segment is marked lost. `in_flight` were so when it was sent, with it, and `lost` were marked so since, with it;
    /// `app_limited`: the application limited the sender then.
    pub fn on_segment_lost(&mut self, in_flight: u32, lost: u32, app_limited: bool) {
        let limited = if app_limited { RATE_APP_LIMITED } else { 0 };
        let flags = self.ack.flags & !RATE_APP_LIMITED | limited;
        let ack = Ack { rate_in_flight: in_flight, rate_lost: lost, flags, ..self.ack };
        self.algorithm.segment_lost(&mut self.window, &ack);
    }

    /// The ACK shows the first loss of a window of data.
    pub fn on_loss(&mut self, lowering: Lowering) {
        self.reduce(State::Recovery, lowering, 0);
    }

    /// The ACK shows a loss in a window of data for which the window was reduced already: for congestion, or for a loss.
    pub fn on_further_loss(&mut self) {
        self.enter(State::Recovery);
    }

    /// Congestion with nothing to repair: a mark (RFC 3168), or a loss that a probe of the tail has repaired. ssthresh is
    /// not lowered below `least_ssthresh` (ABE, RFC 8511; 0: as far as the algorithm says). Whether a reduction begins: one
    /// is enough for a window of data.
    pub fn on_congestion(&mut self, lowering: Lowering, least_ssthresh: u32) -> bool {
        let reduces = matches!(self.state(), State::Open | State::Disorder);
        if reduces {
            self.reduce(State::Cwr, lowering, least_ssthresh);
        }
        reduces
    }

    fn reduce(&mut self, state: State, lowering: Lowering, least_ssthresh: u32) {
        self.lower_ssthresh();
        self.window.ssthresh = self.window.ssthresh.max(least_ssthresh);
        self.window.cwnd_cnt = 0;
        let lowers = !self.controls_window();
        if lowers && lowering == Lowering::ToOne {
            self.window.cwnd = 1;
        }
        self.enter(state);
        if lowers {
            let window = &mut self.window;
            window.cwnd = match lowering {
                Lowering::ToSsthresh => window.ssthresh.max(1),
                Lowering::ToRepairWindow if window.repair_cwnd > 0 => window.repair_cwnd,
                Lowering::ToRepairWindow => (window.ssthresh / 2).max(1),
                Lowering::ToOne | Lowering::Later => window.cwnd,
            };
        }
    }

    fn lower_ssthresh(&mut self) {
        self.note_reduction();
        self.window.prior_cwnd = self.window.cwnd;
        self.assert_ranges();
        self.window.ssthresh = self.algorithm.ssthresh(&mut self.window, &self.ack);
    }

    /// Segments are missing, but none of them is known to be lost; or none is missing any more.
    pub fn on_disorder(&mut self, missing: bool) {
        self.enter(if missing { State::Disorder } else { State::Open });
    }

    /// All that was in flight at the last loss, congestion or timeout is acknowledged. A reduction ends with `cwnd`.
    pub fn on_recovered(&mut self, cwnd: u32) {
        if matches!(self.state(), State::Recovery | State::Cwr) && !self.controls_window() {
            self.window.cwnd = cwnd;
            // Until now the window came down, and what was sent before is no measure of it.
            self.note_reduction();
            self.event(Event::CompleteCwr);
        }
        self.enter(State::Open);
    }

    /// The retransmission timer fires, with `lost` segments outstanding. It lowers ssthresh if it `reduces` the window: not
    /// for a window of data that was reduced already.
    pub fn on_timeout(&mut self, reduces: bool, lost: u32) {
        if reduces {
            self.lower_ssthresh();
        }
        self.event(Event::Rto);
        self.note_reduction();
        self.window.cwnd = 1;
        self.window.cwnd_cnt = 0;
        self.ack.lost = lost;
        self.enter(State::Loss);
    }

    /// The last reduction was needless: the windows are those before it, `ssthresh` as given.
    pub fn undo(&mut self, ssthresh: u32) {
        self.assert_ranges();
        self.window.cwnd = self.algorithm.undo_cwnd(&mut self.window, &self.ack);
        self.window.ssthresh = ssthresh;
        if let Some(limit) = &mut self.rate_limited {
            limit.restore();
        }
        self.enter(State::Open);
    }

    /// Nothing was in flight for longer than the RTO: the window is no longer evidence of what the path can carry. It is
    /// halved `timeouts` times, once for each RTO, down to `initial_cwnd` (RFC 2861); 0: the stack lowers it by itself.
    pub fn on_idle(&mut self, timeouts: u64, initial_cwnd: u32) {
        if self.controls_window() {
            return;
        }
        self.event(Event::CwndRestart);
        if timeouts > 0 {
            self.note_reduction();
            let window = &mut self.window;
            let least = initial_cwnd.min(window.cwnd);
            window.prior_cwnd = window.cwnd;
            window.ssthresh = window.ssthresh.max(window.cwnd - window.cwnd / 4);
            window.cwnd = (window.cwnd >> timeouts.min(31)).max(least);
            window.cwnd_cnt = 0;
        }
    }

    /// A segment is about to be sent while nothing is in flight.
    pub fn on_first_send(&mut self) {
        self.event(Event::TxStart);
    }

    /// An ACK off the fast path, which moves the left edge by `acked` segments; only for a stack that reports these.
    pub fn on_slow_ack(&mut self, acked: u32) {
        let ack = Ack { acked, ..self.ack };
        self.algorithm.cwnd_event(&mut self.window, &ack, Event::SlowAck);
    }

    fn event(&mut self, event: Event) {
        self.assert_ranges();
        self.algorithm.cwnd_event(&mut self.window, &self.ack, event);
    }

    /// In debug builds: the fields have the ranges and relations that `cc.h` promises to an algorithm.
    #[inline(always)]
    fn assert_ranges(&self) {
        debug_assert_eq!(out_of_range(&self.window, &self.ack), None, "{:?} {:?}", self.window, self.ack);
    }

    fn enter(&mut self, state: State) {
        if state != self.state() {
            self.assert_ranges();
            self.algorithm.set_state(&mut self.window, &self.ack, state);
            self.ack.state = state as u8;
        }
    }
}
