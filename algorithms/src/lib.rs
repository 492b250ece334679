#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod driver;
mod ffi;
mod names;
mod rate_limited;
mod tokens;

pub use driver::{Driver, Lowering};
pub use names::nearest;
pub use tokens::c_tokens;

use std::fmt;
use std::sync::{Arc, OnceLock};

/// State that an algorithm may change: `struct cc_window` of `cc.h`. Windows are in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Window {
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Segments acknowledged towards the next increase of `cwnd`.
    pub cwnd_cnt: u32,
    /// Slow start threshold, in segments.
    pub ssthresh: u32,
    /// Upper limit of `cwnd`.
    pub cwnd_clamp: u32,
    /// `cwnd` just before the last reduction, kept by the stack.
    pub prior_cwnd: u32,
    /// Set by `ssthresh`, for ns-2's stack: `cwnd` during fast retransmit; 0: half of `ssthresh`.
    pub repair_cwnd: u32,
    /// Bytes per second; 0: not paced.
    pub pacing_rate: u64,
}

impl Window {
    /// As a connection begins, with `cwnd` segments.
    pub fn new(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: SSTHRESH_INFINITE, cwnd_clamp: SSTHRESH_INFINITE, ..Window::default() }
    }
}

/// State that an algorithm may read: `struct cc_ack` of `cc.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ack {
    /// Time of the hook.
    pub now_us: u64,
    /// Segments delivered so far, in order or SACKed.
    pub delivered: u64,
    /// `delivered` when the newest segment that this ACK acknowledges was sent. The delivery rate sample is
    /// only for algorithms with `cong_control`.
    pub rate_prior_delivered: u64,
    /// Delivered segments that were reported as marked (RFC 3168, CE).
    pub delivered_ce: u64,
    /// Segments marked lost so far.
    pub lost_total: u64,
    /// Segments that arrived in `rate_interval_us`.
    pub rate_delivered: u32,
    /// 0: no sample.
    pub rate_interval_us: u32,
    /// Segments in flight when the newest segment acknowledged here was sent, that segment included.
    pub rate_in_flight: u32,
    /// Segments marked lost since then.
    pub rate_lost: u32,
    /// This ACK's RTT sample; 0: none.
    pub rtt_us: u32,
    /// Smoothed RTT (RFC 6298); 0: no sample yet.
    pub srtt_us: u32,
    /// Smallest sample of the connection; 0: no sample yet.
    pub min_rtt_us: u32,
    /// Segments that it newly reports to have arrived, in order or SACKed.
    pub acked: u32,
    /// Segments newly reported as marked.
    pub ce: u32,
    /// Segments newly marked lost.
    pub lost: u32,
    /// From the sending of a segment to its arrival, plus a constant: the clocks' difference; 0: no sample.
    pub owd_us: u32,
    /// Segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// Segments in flight now.
    pub in_flight: u32,
    /// Receive window in segments.
    pub snd_wnd: u32,
    /// Bytes of payload in a segment.
    pub mss: u32,
    /// For random numbers, another one with each ACK; only for algorithms with `cong_control`. In the simulator it comes
    /// from the seed.
    pub chance: u32,
    /// A [`State`].
    pub state: u8,
    /// [`CWND_LIMITED`], [`APP_LIMITED`], [`ECE`], [`RATE_APP_LIMITED`].
    pub flags: u8,
    /// Zero.
    pub reserved: [u8; 2],
}

/// `cwnd` was what limited the sender: it may grow.
pub const CWND_LIMITED: u8 = 1;
/// The application had nothing to send.
pub const APP_LIMITED: u8 = 2;
/// The ACK echoes congestion experienced.
pub const ECE: u8 = 4;
/// The application limited the sender while the delivery rate was sampled.
pub const RATE_APP_LIMITED: u8 = 8;

/// `ssthresh` before the first loss.
pub const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// Longest RTT that `cc.h` lets a caller report, in microseconds: 36 minutes.
pub const RTT_MAX_US: u32 = 0x7fff_ffff;

/// Returns the RTT in microseconds that [`Ack`] allows and that is nearest: from 1 to [`RTT_MAX_US`].
#[inline(always)]
pub fn bound_rtt_us(rtt_us: u64) -> u32 {
    rtt_us.clamp(1, u64::from(RTT_MAX_US)) as u32
}

/// The sender's state, with the values of the kernel's `enum tcp_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing is missing.
    Open = 0,
    /// Duplicate ACKs have come, or SACKs.
    Disorder = 1,
    /// The window comes down for a mark of congestion.
    Cwr = 2,
    /// Losses are repaired by fast recovery.
    Recovery = 3,
    /// Losses are repaired after a timeout.
    Loss = 4,
}

/// Events besides the ACKs of `pkts_acked`: `enum cc_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Event {
    /// The first segment is sent when nothing is in flight.
    TxStart = 0,
    /// The window restarts after a pause.
    CwndRestart = 1,
    /// A recovery, or a reduction for a mark, has ended.
    CompleteCwr = 2,
    /// The retransmission timer has expired.
    Rto = 3,
    /// An ACK is processed off the fast path.
    SlowAck = 6,
}

/// A congestion control algorithm at work on one connection. Hooks are those of `cc.h`.
pub trait CongestionControl: Send {
    /// The connection is established.
    fn init(&mut self, _w: &mut Window, _a: &Ack) {}
    /// An ACK carries an RTT sample.
    fn pkts_acked(&mut self, _w: &mut Window, _a: &Ack) {}
    /// An ACK moves the left edge; `a.acked` segments arrived: grow.
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack);
    /// Does [`CongestionControl::cong_control`] take the place of `cong_avoid` and of the stack's reductions?
    fn has_cong_control(&self) -> bool {
        false
    }
    /// Every ACK, if there is this hook: sets `cwnd` and `pacing_rate`.
    fn cong_control(&mut self, _w: &mut Window, _a: &Ack) {}
    /// A segment is marked lost, for algorithms with `cong_control`. The fields of the rate sample that are about losses
    /// are those of that segment.
    fn segment_lost(&mut self, _w: &mut Window, _a: &Ack) {}
    /// A loss: the new ssthresh. The stack lowers `cwnd`.
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32;
    /// The sender enters `state`.
    fn set_state(&mut self, _w: &mut Window, _a: &Ack, _state: State) {}
    /// An event happens.
    fn cwnd_event(&mut self, _w: &mut Window, _a: &Ack, _event: Event) {}
    /// The last reduction was spurious: the `cwnd` to restore.
    fn undo_cwnd(&mut self, w: &mut Window, _a: &Ack) -> u32 {
        w.cwnd.max(w.prior_cwnd)
    }
}

impl<T: CongestionControl + ?Sized> CongestionControl for Box<T> {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        (**self).init(w, a)
    }
    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        (**self).pkts_acked(w, a)
    }
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        (**self).cong_avoid(w, a)
    }
    fn has_cong_control(&self) -> bool {
        (**self).has_cong_control()
    }
    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        (**self).cong_control(w, a)
    }
    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        (**self).segment_lost(w, a)
    }
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        (**self).ssthresh(w, a)
    }
    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        (**self).set_state(w, a, state)
    }
    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        (**self).cwnd_event(w, a, event)
    }
    fn undo_cwnd(&mut self, w: &mut Window, a: &Ack) -> u32 {
        (**self).undo_cwnd(w, a)
    }
}

/// One line of `registry.h`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Algorithm {
    /// As people write it: `agile-sd`.
    pub name: String,
    /// Name for people.
    pub title: &'static str,
    /// Year of the publication.
    pub year: u32,
    /// Source of the algorithm.
    pub paper: &'static str,
    /// `loss`, `delay`, `hybrid`, `model` or `ecn`.
    pub kind: &'static str,
    /// `published`, `rfc` or `reconstruction`.
    pub status: &'static str,
    /// Size of the state of a connection.
    pub state_bytes: u32,
    /// In the order of the header.
    pub params: Vec<Param>,
    index: usize,
}

/// A parameter of an algorithm. Stored values are in units of `1 / one`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// Name in scenarios and on command lines.
    pub name: &'static str,
    /// The names of the stored values from 0 on: all of a choice's, those that are not numbers of a number.
    pub choices: Vec<&'static str>,
    /// Meaning and source, as the header has them.
    pub doc: &'static str,
    /// Stored value of the default.
    pub default: u32,
    /// Stored value that stands for 1; 1 for whole numbers.
    pub one: u32,
    /// The least stored value.
    pub min: u32,
    /// The largest stored value.
    pub max: u32,
}

/// Why a name or a value was refused. Displays as one line that says what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No algorithm of the registry has the name.
    UnknownAlgorithm {
        /// The name that was asked for.
        name: String,
        /// The nearest name, if one is like it.
        nearest: Option<String>,
    },
    /// The algorithm has no parameter of the name.
    UnknownParam {
        /// The algorithm.
        algorithm: String,
        /// The name that was asked for.
        name: String,
        /// The parameters that there are.
        accepted: Vec<&'static str>,
    },
    /// The value is no number of the parameter's range, or none of its choices.
    BadValue {
        /// The parameter.
        param: &'static str,
        /// The value that was given.
        found: String,
        /// The range or the choices, in words.
        accepted: String,
    },
}

/// Parameters of one algorithm, in the order of [`Algorithm::params`], stored values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params(Arc<[u32]>);

impl Params {
    /// The values as `struct NAME_params` has them.
    pub fn stored(&self) -> &[u32] {
        &self.0
    }
}

/// An algorithm of the registry at work on one connection. A clone goes on by itself.
#[derive(Clone)]
pub struct Instance {
    entry: &'static ffi::Entry,
    params: Arc<[u32]>,
    state: [u64; ffi::STATE_WORDS],
}

/// Every algorithm, in the order of `registry.h`.
pub fn all() -> Vec<Algorithm> {
    ffi::entries().iter().enumerate().map(|(index, entry)| ffi::describe(index, entry)).collect()
}

/// The algorithm that people call `name`. The error suggests the nearest name.
pub fn find(name: &str) -> Result<Algorithm, Error> {
    let same = |entry: &'static ffi::Entry| {
        ffi::name(entry).chars().map(|c| if c == '_' { '-' } else { c }).eq(name.chars())
    };
    if let Some(index) = ffi::entries().iter().position(same) {
        return Ok(ffi::describe(index, &ffi::entries()[index]));
    }
    let known = all();
    let nearest = nearest(name, known.iter().map(|algorithm| algorithm.name.as_str())).map(str::to_owned);
    Err(Error::UnknownAlgorithm { name: name.to_owned(), nearest })
}

/// The headers and what they include, each with its path, in the order of `registry.h`.
const TEXTS: &[&[(&str, &str)]] = &include!(concat!(env!("OUT_DIR"), "/texts.rs"));

/// The contract, which every header includes.
const CONTRACT: &str = include_str!("../cc.h");

/// By algorithm, once it was asked for.
static CODE: [OnceLock<String>; TEXTS.len()] = [const { OnceLock::new() }; TEXTS.len()];

impl Algorithm {
    /// The source of all that it decides: its header, those that it includes, and the contract.
    pub fn texts(&self) -> impl Iterator<Item = &'static str> + use<> {
        TEXTS[self.index].iter().map(|(_, text)| *text).chain([CONTRACT])
    }

    /// The tokens of its texts: another comment or other white space leaves them as they are.
    pub fn code(&self) -> &'static str {
        CODE[self.index].get_or_init(|| self.texts().map(c_tokens).collect::<Vec<_>>().join("\0"))
    }

    /// The header's account of the algorithm, then those of the variants in headers of their own and of the parameter
    /// slow_start: the first comment of each after the licence, as text. Equations are indented.
    pub fn essay(&self) -> String {
        let (header, others) = TEXTS[self.index].split_first().expect("an algorithm has a header");
        let has_slow_start = self.params.iter().any(|param| param.name == "slow_start");
        let is_described =
            |path: &str| path.starts_with("variants/") || (path == "parts/slow_start.h" && has_slow_start);
        let others = others.iter().filter(|(path, _)| is_described(path));
        let essays: Vec<String> =
            std::iter::once(header).chain(others).map(|(_, text)| essay(text)).collect();
        essays.join("\n\n")
    }

    /// Returns true if it sets its window and its rate at every ACK (`cong_control`).
    pub fn controls_window(&self) -> bool {
        ffi::entries()[self.index].controls_window()
    }

    /// Returns the defaults: the paper's or the RFC's.
    pub fn defaults(&self) -> Params {
        Params(self.params.iter().map(|p| p.default).collect())
    }

    /// Sets the parameter called `name` from what a person wrote: a number or the name of a choice.
    pub fn set(&self, params: &mut Params, name: &str, value: &str) -> Result<(), Error> {
        let index = self.params.iter().position(|p| p.name == name).ok_or_else(|| Error::UnknownParam {
            algorithm: self.name.clone(),
            name: name.to_owned(),
            accepted: self.params.iter().map(|p| p.name).collect(),
        })?;
        Arc::make_mut(&mut params.0)[index] = self.params[index].parse(value)?;
        Ok(())
    }

    /// The value of each parameter as a person would write it.
    pub fn show(&self, params: &Params) -> Vec<(&'static str, String)> {
        self.params.iter().zip(params.stored()).map(|(p, &stored)| (p.name, p.show(stored))).collect()
    }

    /// An instance for one connection; those that are given the same parameters share them.
    pub fn build(&self, params: &Params) -> Instance {
        Instance {
            entry: &ffi::entries()[self.index],
            params: params.0.clone(),
            state: [0; ffi::STATE_WORDS],
        }
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instance").field(&ffi::name(self.entry)).finish()
    }
}

fn essay(header: &str) -> String {
    let comment = header.split_once("\n/*\n").and_then(|(_, rest)| rest.split_once("\n */"));
    let (comment, _) = comment.expect("a header begins with its licence and an essay");
    let lines: Vec<&str> = comment
        .lines()
        .map(|line| line.strip_prefix(" * ").unwrap_or_else(|| line.trim_start_matches(" *")))
        .collect();
    lines.join("\n")
}

impl Param {
    fn parse(&self, value: &str) -> Result<u32, Error> {
        let refuse =
            || Error::BadValue { param: self.name, found: value.to_owned(), accepted: self.accepted() };
        if let Some(index) = self.choices.iter().position(|c| *c == value) {
            return Ok(index as u32);
        }
        if !self.is_number() {
            return Err(refuse());
        }
        let number: f64 = value.parse().map_err(|_| refuse())?;
        let stored = (number * f64::from(self.one)).round();
        if stored >= f64::from(self.min) && stored <= f64::from(self.max) {
            Ok(stored as u32)
        } else {
            Err(refuse())
        }
    }

    /// Returns true if the values from `min` to `max` are numbers; a choice has a name for each.
    pub fn is_number(&self) -> bool {
        self.min as usize >= self.choices.len()
    }

    /// Returns its meaning, and where its default comes from.
    pub fn meaning_and_source(&self) -> (&'static str, &'static str) {
        self.doc.rsplit_once("; ").unwrap_or((self.doc, ""))
    }

    /// A stored value as a person would write it.
    pub fn show(&self, stored: u32) -> String {
        match self.choices.get(stored as usize) {
            Some(choice) => (*choice).to_owned(),
            None if self.one == 1 => stored.to_string(),
            None => {
                // Four digits distinguish any two neighbouring values of a unit down to 1/1024.
                let value = format!("{:.4}", f64::from(stored) / f64::from(self.one));
                value.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }

    /// Returns the accepted values, in words.
    pub fn accepted(&self) -> String {
        let names = self.choices.join(", ");
        if !self.is_number() {
            return names;
        }
        let numbers = format!("{} to {}", self.show(self.min), self.show(self.max));
        if names.is_empty() { numbers } else { format!("{numbers}, or {names}") }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownAlgorithm { name, nearest: Some(nearest) } => {
                write!(f, "unknown algorithm '{name}'; did you mean '{nearest}'?")
            }
            Error::UnknownAlgorithm { name, nearest: None } => {
                let names: Vec<String> = all().into_iter().map(|a| a.name).collect();
                write!(f, "unknown algorithm '{name}'; there are {}", names.join(", "))
            }
            Error::UnknownParam { algorithm, name, accepted } if accepted.is_empty() => {
                write!(f, "'{algorithm}' has no parameter '{name}', nor any other")
            }
            Error::UnknownParam { algorithm, name, accepted } => {
                write!(f, "'{algorithm}' has no parameter '{name}'; it has {}", accepted.join(", "))
            }
            Error::BadValue { param, found, accepted } => {
                write!(f, "'{param}' cannot be '{found}'; accepted: {accepted}")
            }
        }
    }
}

impl std::error::Error for Error {}
