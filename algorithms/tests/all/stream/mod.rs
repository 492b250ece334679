//! Any bytes as a stream of events, and what must hold while an algorithm sees it.

use super::sender::{Arrival, Sender};
use cwnd_algorithms::{Algorithm, CongestionControl, Params, State};

#[derive(Clone, Debug)]
pub struct Stream {
    cwnd: u32,
    ssthresh: u32,
    delivered: u64,
    /// Where each parameter lies between its smallest and largest value, or among the names of a number, which
    /// are a quarter; `None`: the default.
    params: Vec<Option<f64>>,
    happenings: Vec<Happening>,
}

#[derive(Clone, Debug)]
enum Happening {
    Acks(Acks),
    Loss,
    Mark,
    Reduced,
    Timeout,
    Undo,
    TxStart,
    CwndRestart,
    /// The stack sets the window.
    Window(u32),
}

#[derive(Clone, Debug)]
struct Acks {
    count: u32,
    acked: u32,
    gap_us: u32,
    rtt_us: u32,
    limited: bool,
    state: State,
    snd_wnd: u32,
    rate: (u32, u32),
    lost: u32,
    ce: u32,
    owd_us: u32,
}

/// Largest cwnd, and most segments at once.
const LARGEST: u32 = 0x7fff_ffff;
const TEN_MINUTES_US: u32 = 600_000_000;
const PARAMS_MAX: usize = 16;
const HAPPENINGS_MAX: usize = 60;

/// Zeros without end behind the last one.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn one_in(&mut self, n: u8) -> bool {
        self.byte() % n == n - 1
    }

    /// 0 to 1.
    fn part(&mut self) -> f64 {
        f64::from(u16::from_le_bytes([self.byte(), self.byte()])) / f64::from(u16::MAX)
    }

    /// 1 to `largest`, every order of magnitude alike.
    fn magnitude(&mut self, largest: u32) -> u32 {
        f64::from(largest).powf(self.part()).round() as u32
    }

    fn acks(&mut self) -> Acks {
        Acks {
            count: u32::from(self.byte() % 60) + 1,
            acked: self.magnitude(LARGEST),
            gap_us: self.magnitude(TEN_MINUTES_US),
            rtt_us: if self.one_in(7) { 0 } else { self.magnitude(TEN_MINUTES_US) },
            limited: !self.one_in(4),
            state: match self.byte() % 10 {
                0..6 => State::Open,
                6 => State::Disorder,
                7 => State::Cwr,
                8 => State::Recovery,
                _ => State::Loss,
            },
            snd_wnd: self.magnitude(LARGEST),
            rate: if self.one_in(2) {
                (self.magnitude(LARGEST), self.magnitude(TEN_MINUTES_US))
            } else {
                (0, 0)
            },
            lost: if self.one_in(7) { self.magnitude(LARGEST) } else { 0 },
            ce: if self.one_in(3) { self.magnitude(LARGEST) } else { 0 },
            owd_us: if self.one_in(7) { 0 } else { self.magnitude(u32::MAX) },
        }
    }

    fn happening(&mut self) -> Happening {
        match self.byte() % 22 {
            0..12 => Happening::Acks(self.acks()),
            12..15 => Happening::Loss,
            15 => Happening::Timeout,
            16 => Happening::Undo,
            17 => Happening::TxStart,
            18 => Happening::CwndRestart,
            19 => Happening::Mark,
            20 => Happening::Reduced,
            _ => Happening::Window(self.magnitude(LARGEST)),
        }
    }
}

impl Stream {
    pub fn new(bytes: &[u8]) -> Stream {
        let mut bytes = Bytes(bytes.iter());
        let mut stream = Stream {
            cwnd: bytes.magnitude(LARGEST),
            ssthresh: bytes.magnitude(LARGEST - 1).max(2),
            delivered: if bytes.one_in(2) { 1_000_000_000_000 } else { 0 },
            params: (0..PARAMS_MAX).map(|_| bytes.one_in(2).then(|| bytes.part())).collect(),
            happenings: Vec::new(),
        };
        while bytes.0.len() > 0 && stream.happenings.len() < HAPPENINGS_MAX {
            stream.happenings.push(bytes.happening());
        }
        stream
    }

    pub fn params(&self, algorithm: &Algorithm) -> Params {
        let mut params = algorithm.defaults();
        assert!(algorithm.params.len() <= self.params.len(), "{} has more parameters", algorithm.name);
        for (p, place) in algorithm.params.iter().zip(&self.params) {
            let Some(place) = place else { continue };
            let names = if p.is_number() { p.choices.len() as u32 } else { 0 };
            let stored = match place {
                0.0..0.25 if names > 0 => (4.0 * place * f64::from(names)) as u32,
                _ => p.min + (f64::from(p.max - p.min) * place).round() as u32,
            };
            algorithm.set(&mut params, p.name, &p.show(stored)).expect("it is between the bounds");
        }
        params
    }
}

/// Ends the function unless something holds.
macro_rules! hold {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}

/// How an algorithm may grow on an ACK.
#[derive(Clone, Copy)]
enum Growth {
    /// As in slow start, by what the ACK acknowledges.
    SlowStart,
    /// And one segment more.
    SlowStartAndCredit,
    /// By what slow start would have grown by since the stack last set the window.
    Rtt,
    /// To a window that it had, or to this one.
    BackTo(u32),
    Any,
}

/// Bound of ssthresh after a loss.
#[derive(Clone, Copy)]
enum Ssthresh {
    /// No more than cwnd before it.
    Cwnd,
    /// As [`Ssthresh::Cwnd`], but after a timeout no more than any window before it.
    CwndUnlessTimeout,
    /// Or what it was.
    Kept,
    Any,
}

/// The exceptions.
fn bounds(algorithm: &Algorithm, params: &Params) -> (Growth, Ssthresh) {
    let paper = algorithm.show(params).contains(&("variant", "spec".to_owned()));
    match algorithm.name.as_str() {
        // It goes on from an earlier window after a repair and after PROBE_RTT, from min_cwnd (at most 100) at
        // least; it does not use ssthresh.
        "bbr" | "bbr3" => (Growth::BackTo(100), Ssthresh::Kept),
        // As in Linux, a credit gathered under a larger count is one more segment at once.
        "bic" => (Growth::SlowStartAndCredit, Ssthresh::Cwnd),
        // It grows once per RTT; as ns-2 has it, in slow start too.
        "compound" => (Growth::Rtt, Ssthresh::Cwnd),
        // One that fails goes back to the ssthresh before it.
        "fast-start" => (Growth::SlowStart, Ssthresh::Kept),
        // It does not use ssthresh, and has two segments at least.
        "copa" => (Growth::BackTo(2), Ssthresh::Kept),
        // A timeout in a slowdown leads to half of the window before it.
        "ledbat-plus" => (Growth::SlowStart, Ssthresh::CwndUnlessTimeout),
        // It reduces at a loss, not when it is asked for ssthresh; a mark leaves it.
        "prague" => (Growth::SlowStart, Ssthresh::Kept),
        // 2^rho - 1 segments per segment acknowledged is how it grows: rho times faster in time.
        "hybla" => (Growth::Any, Ssthresh::Cwnd),
        // The kernel's spends all the segments counted so far when alpha rises or the window falls.
        "illinois" if !paper => (Growth::Any, Ssthresh::Cwnd),
        // The kernels' have two segments at least, and may grow by one more on the same ACK.
        "vegas"
            if ["linux", "ns2"]
                .iter()
                .any(|name| algorithm.show(params).contains(&("variant", (*name).to_owned()))) =>
        {
            (Growth::BackTo(3), Ssthresh::Cwnd)
        }
        // That of ns-2's own agent begins at 1 and is the initial window an ACK later.
        "vegas" if algorithm.show(params).contains(&("variant", "ns2-agent".to_owned())) => {
            (Growth::Any, Ssthresh::Cwnd)
        }
        // The kernel's takes the estimated window even where it is above cwnd.
        "westwood" if !paper => (Growth::SlowStart, Ssthresh::Any),
        _ => (Growth::SlowStart, Ssthresh::Cwnd),
    }
}

/// The windows after each happening, or what did not hold.
#[allow(dead_code, reason = "crates/kernel builds the algorithm in another way")]
pub fn run(algorithm: &Algorithm, stream: &Stream) -> Result<Vec<u32>, String> {
    let params = stream.params(algorithm);
    run_on(algorithm, stream, &params, algorithm.build(&params))
}

/// Runs the stream on an algorithm that was built with these parameters, whoever built it; returns what [`run`] returns.
pub fn run_on<A: CongestionControl>(
    algorithm: &Algorithm,
    stream: &Stream,
    params: &Params,
    built: A,
) -> Result<Vec<u32>, String> {
    let name = &algorithm.name;
    let mut sender = Sender::new(built, stream.cwnd, stream.ssthresh, stream.delivered);
    sender.driver.window.cwnd_clamp = LARGEST;
    let bounds = bounds(algorithm, params);
    let mut history =
        History { largest: sender.driver.window.cwnd, slow_start: 2 * u64::from(sender.driver.window.cwnd) };
    let mut windows = Vec::new();
    for happening in &stream.happenings {
        let (before, ssthresh) = (sender.driver.window.cwnd, sender.driver.window.ssthresh);
        let mut asked = None;
        match happening {
            Happening::Acks(acks) => acknowledge(name, bounds.0, &mut sender, acks, &mut history)?,
            Happening::Loss => asked = Some(sender.lose()),
            Happening::Mark => sender.mark(),
            Happening::Reduced => sender.reduced(),
            Happening::Timeout => sender.time_out(),
            Happening::Undo => sender.undo(),
            Happening::TxStart => sender.driver.on_first_send(),
            Happening::CwndRestart => sender.driver.on_idle(1, 10),
            Happening::Window(cwnd) => sender.driver.window.cwnd = *cwnd,
        }
        if matches!(happening, Happening::Loss | Happening::Mark | Happening::Timeout) {
            let most = match bounds.1 {
                Ssthresh::Cwnd => before.max(2),
                Ssthresh::CwndUnlessTimeout if !matches!(happening, Happening::Timeout) => before.max(2),
                Ssthresh::CwndUnlessTimeout => history.largest.max(ssthresh),
                Ssthresh::Kept => before.max(ssthresh),
                Ssthresh::Any => LARGEST,
            };
            let set = asked.unwrap_or(sender.driver.window.ssthresh);
            hold!((2..=most).contains(&set), "{name}: ssthresh {set} after a loss at cwnd {before}");
        }
        if matches!(happening, Happening::Timeout) {
            hold!(
                sender.driver.window.cwnd == 1,
                "{name}: cwnd {} after a timeout",
                sender.driver.window.cwnd
            );
        }
        let cwnd = sender.driver.window.cwnd;
        hold!((1..=LARGEST).contains(&cwnd), "{name}: cwnd {cwnd} after {happening:?}");
        if !matches!(happening, Happening::Acks(_)) {
            history.slow_start = history.slow_start.max(2 * u64::from(cwnd));
        }
        history.largest = history.largest.max(cwnd);
        windows.push(cwnd);
    }
    Ok(windows)
}

struct History {
    largest: u32,
    /// Window that slow start could have reached.
    slow_start: u64,
}

fn acknowledge<A: CongestionControl>(
    name: &str,
    growth: Growth,
    sender: &mut Sender<A>,
    acks: &Acks,
    history: &mut History,
) -> Result<(), String> {
    let &Acks { count, gap_us, rtt_us, limited, state, snd_wnd, rate, lost, ce, owd_us, .. } = acks;
    for _ in 0..count {
        let before = sender.driver.window.cwnd;
        let acked = acks.acked.clamp(1, before);
        let (gap_us, ce) = (u64::from(gap_us), ce.min(acked));
        sender.ack(&Arrival {
            acked,
            gap_us,
            rtt_us,
            limited,
            state,
            snd_wnd,
            rate,
            lost,
            ce,
            owd_us,
            prior_in_flight: None,
        });
        let after = sender.driver.window.cwnd;
        hold!((1..=LARGEST).contains(&after), "{name}: cwnd {after}");
        history.slow_start += 2 * u64::from(acked);
        let slow_start = u64::from(before) + u64::from(acked);
        let most = match growth {
            Growth::SlowStart => slow_start,
            Growth::SlowStartAndCredit => slow_start + 1,
            Growth::Rtt => history.slow_start,
            Growth::BackTo(least) => {
                slow_start.max(u64::from(history.largest) + u64::from(acked)).max(least.into())
            }
            Growth::Any => LARGEST.into(),
        };
        hold!(u64::from(after) <= most, "{name}: {before} -> {after}, {acked} acked, at most {most}");
        history.largest = history.largest.max(after);
    }
    Ok(())
}
