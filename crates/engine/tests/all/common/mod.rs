//! Shared code of the tests: runs of a scenario's text, and algorithms that make a hand calculation possible.
#![allow(dead_code)] // no test file uses all of it

pub mod one_link;

use cwnd_algorithms::{Ack, CongestionControl, Event, State, Window};
use cwnd_engine::parts::{Parts, run_with};
use cwnd_engine::{Control, Simulation, run};
use cwnd_results::Run;
use cwnd_scenario::{Cca, Scenario};
use std::sync::{Arc, Mutex};

const CUSTOM: [&str; 7] = ["fixed", "overshoot", "pulse", "reno-in-rust", "then-reno", "paced", "model"];

/// Reads a scenario that may name the algorithms of this module.
pub fn read(toml: &str) -> Scenario {
    let scenario = Scenario::from_toml(toml, "test.toml", &CUSTOM);
    scenario.unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

/// Reads a scenario that names one file, a trace of these lines.
pub fn read_with_trace(toml: &str, trace: &str) -> Scenario {
    let scenario = Scenario::from_toml_with_files(toml, "test.toml", &CUSTOM, &|_| Ok(trace.to_owned()));
    scenario.unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

/// Reads a scenario, of which the name of each trace is its lines, with commas between them.
pub fn read_with_files(toml: &str) -> Result<Scenario, String> {
    let files = |name: &str| Ok(name.replace(',', "\n"));
    Scenario::from_toml_with_files(toml, "test.toml", &CUSTOM, &files).map_err(|error| error.to_string())
}

/// Begins a run of `scenario`.
pub fn begin(scenario: &Scenario) -> Simulation {
    Simulation::new(Arc::new(scenario.clone()), scenario.seed, custom, Arc::default())
}

pub fn answer(toml: &str) -> Run {
    answer_scenario(&read(toml))
}

pub fn answer_scenario(scenario: &Scenario) -> Run {
    run(scenario, scenario.seed, &custom, &Control::default()).expect("nobody stops it")
}

/// Runs `scenario` on this many `threads`.
pub fn answer_on_threads(scenario: &Scenario, threads: usize) -> Run {
    let control = Control::with_threads(threads);
    run(scenario, scenario.seed, &custom, &control).expect("nobody stops it")
}

/// Runs `scenario` in spans of a nanosecond: event by event.
pub fn answer_by_events(scenario: &Scenario) -> Run {
    let parts = Parts { longest_span_ns: 1, ..Parts::default() };
    let run = run_with(scenario, scenario.seed, &custom, &Control::default(), parts);
    run.expect("nobody stops it")
}

/// The run, and what the algorithm of its flows saw.
pub fn watch(toml: &str) -> (Run, Vec<Seen>) {
    watch_scenario(&read(toml))
}

/// Runs `scenario`, and returns what the algorithm of its flows saw, too.
pub fn watch_scenario(scenario: &Scenario) -> (Run, Vec<Seen>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let watched = |cca: &Cca| -> Option<Box<dyn CongestionControl>> {
        let inner = custom(cca).unwrap_or_else(|| registered(cca));
        Some(Box::new(Watched { inner, log: Arc::clone(&log) }))
    };
    let run = run(scenario, scenario.seed, &watched, &Control::default()).expect("nobody stops it");
    let seen = std::mem::take(&mut *log.lock().unwrap());
    (run, seen)
}

fn registered(cca: &Cca) -> Box<dyn CongestionControl> {
    let algorithm = cwnd_algorithms::find(&cca.algorithm).unwrap();
    let mut params = algorithm.defaults();
    for (name, value) in &cca.params {
        algorithm.set(&mut params, name, value).unwrap();
    }
    Box::new(algorithm.build(&params))
}

pub fn custom(cca: &Cca) -> Option<Box<dyn CongestionControl>> {
    let param = |name: &str| {
        let value = cca.params.iter().find(|(known, _)| known == name);
        value.map(|(_, value)| value.parse::<u32>().expect("a number"))
    };
    match cca.name.as_str() {
        "fixed" => Some(Box::new(Fixed(param("window").unwrap()))),
        "overshoot" => {
            let (window, after_loss) = (param("window").unwrap(), param("after_loss").unwrap());
            Some(Box::new(Overshoot { window, after_loss }))
        }
        "pulse" => Some(Box::new(Pulse { at_ack: param("at_ack").unwrap(), acks: 0 })),
        "reno-in-rust" => Some(Box::new(Reno)),
        "then-reno" => Some(Box::new(ThenReno(param("window").unwrap()))),
        "paced" => {
            let (window, rate) = (param("window").unwrap(), param("rate").unwrap());
            Some(Box::new(Paced { window, rate }))
        }
        "model" => Some(Box::new(Model { rate: 0 })),
        _ => None,
    }
}

/// `window` from the first packet on, whatever happens.
struct Fixed(u32);

impl CongestionControl for Fixed {
    fn init(&mut self, w: &mut Window, _: &Ack) {
        w.cwnd = self.0;
    }
    fn cong_avoid(&mut self, w: &mut Window, _: &Ack) {
        w.cwnd = self.0;
    }
    fn ssthresh(&mut self, _: &mut Window, _: &Ack) -> u32 {
        self.0
    }
}

/// `window` from the first packet on, `after_loss` from the first loss on.
struct Overshoot {
    window: u32,
    after_loss: u32,
}

impl CongestionControl for Overshoot {
    fn init(&mut self, w: &mut Window, _: &Ack) {
        w.cwnd = self.window;
    }
    fn cong_avoid(&mut self, _: &mut Window, _: &Ack) {}
    fn ssthresh(&mut self, _: &mut Window, _: &Ack) -> u32 {
        self.after_loss
    }
}

/// One packet at a time, but two from ACK `at_ack` to the next; ACK 0 is the start.
struct Pulse {
    at_ack: u32,
    acks: u32,
}

impl CongestionControl for Pulse {
    fn init(&mut self, w: &mut Window, _: &Ack) {
        w.cwnd = if self.at_ack == 0 { 2 } else { 1 };
    }
    fn cong_avoid(&mut self, w: &mut Window, _: &Ack) {
        self.acks += 1;
        w.cwnd = if self.acks == self.at_ack { 2 } else { 1 };
    }
    fn ssthresh(&mut self, _: &mut Window, _: &Ack) -> u32 {
        2
    }
}

/// RFC 5681: one segment for each that is acknowledged, then one for each window of them.
struct Reno;

impl CongestionControl for Reno {
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        if a.flags & cwnd_algorithms::CWND_LIMITED == 0 {
            return;
        }
        let slow_start = a.acked.min(w.ssthresh.saturating_sub(w.cwnd));
        w.cwnd += slow_start;
        if slow_start == a.acked {
            return;
        }
        let segments = w.cwnd_cnt + a.acked - slow_start;
        (w.cwnd, w.cwnd_cnt) = (w.cwnd + segments / w.cwnd, segments % w.cwnd);
    }
    fn ssthresh(&mut self, w: &mut Window, _: &Ack) -> u32 {
        (w.cwnd / 2).max(2)
    }
}

/// `window` up to the first loss, then Reno; ssthresh is half of cwnd.
struct ThenReno(u32);

impl CongestionControl for ThenReno {
    fn init(&mut self, w: &mut Window, _: &Ack) {
        w.cwnd = self.0;
    }
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        if w.ssthresh < cwnd_algorithms::SSTHRESH_INFINITE {
            Reno.cong_avoid(w, &Ack { flags: a.flags | cwnd_algorithms::CWND_LIMITED, ..*a });
        }
    }
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        Reno.ssthresh(w, a)
    }
}

/// `window`, paced at `rate` bytes per second (0: not at all), by `cong_control`.
struct Paced {
    window: u32,
    rate: u32,
}

impl CongestionControl for Paced {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        self.cong_control(w, a);
    }
    fn cong_avoid(&mut self, _: &mut Window, _: &Ack) {
        unreachable!("cong_control takes its place");
    }
    fn has_cong_control(&self) -> bool {
        true
    }
    fn cong_control(&mut self, w: &mut Window, _: &Ack) {
        (w.cwnd, w.pacing_rate) = (self.window, u64::from(self.rate));
    }
    fn ssthresh(&mut self, w: &mut Window, _: &Ack) -> u32 {
        w.ssthresh
    }
}

/// Sends a quarter faster than the fastest delivery seen, with twice that times the smallest RTT in flight.
struct Model {
    /// In segments per second.
    rate: u64,
}

impl CongestionControl for Model {
    fn cong_avoid(&mut self, _: &mut Window, _: &Ack) {
        unreachable!("cong_control takes its place");
    }
    fn has_cong_control(&self) -> bool {
        true
    }
    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        if let Some(rate) =
            (u64::from(a.rate_delivered) * 1_000_000).checked_div(u64::from(a.rate_interval_us))
            && (rate > self.rate || a.flags & cwnd_algorithms::RATE_APP_LIMITED == 0)
        {
            self.rate = rate.max(self.rate - self.rate / 16);
        }
        w.pacing_rate = self.rate * u64::from(a.mss) * 5 / 4;
        w.cwnd = (2 * self.rate * u64::from(a.min_rtt_us) / 1_000_000).clamp(4, 1000) as u32;
    }
    fn ssthresh(&mut self, w: &mut Window, _: &Ack) -> u32 {
        w.ssthresh
    }
}

/// A call of a hook: the window after it, and the ACK that it saw.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub hook: Hook,
    pub window: Window,
    pub ack: Ack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Acked,
    Grow,
    Control,
    SegmentLost,
    Loss,
    State(State),
    Event(Event),
    Undo,
}

impl Seen {
    pub fn at_us(&self) -> u64 {
        self.ack.now_us
    }
}

/// The times in microseconds at which `hook` was called.
pub fn times_us(seen: &[Seen], hook: Hook) -> Vec<u64> {
    seen.iter().filter(|seen| seen.hook == hook).map(Seen::at_us).collect()
}

/// The RTT samples in the order of their ACKs.
pub fn rtts_us(seen: &[Seen]) -> Vec<u32> {
    seen.iter().filter(|seen| seen.hook == Hook::Acked).map(|seen| seen.ack.rtt_us).collect()
}

struct Watched {
    inner: Box<dyn CongestionControl>,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Watched {
    fn saw(&mut self, hook: Hook, w: &Window, a: &Ack) {
        self.log.lock().unwrap().push(Seen { hook, window: *w, ack: *a });
    }
}

impl CongestionControl for Watched {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        self.inner.init(w, a);
    }
    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        self.inner.pkts_acked(w, a);
        self.saw(Hook::Acked, w, a);
    }
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        self.inner.cong_avoid(w, a);
        self.saw(Hook::Grow, w, a);
    }
    fn has_cong_control(&self) -> bool {
        self.inner.has_cong_control()
    }
    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        self.inner.cong_control(w, a);
        self.saw(Hook::Control, w, a);
    }
    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        self.inner.segment_lost(w, a);
        self.saw(Hook::SegmentLost, w, a);
    }
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        let ssthresh = self.inner.ssthresh(w, a);
        self.saw(Hook::Loss, w, a);
        ssthresh
    }
    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        self.inner.set_state(w, a, state);
        self.saw(Hook::State(state), w, a);
    }
    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        self.inner.cwnd_event(w, a, event);
        self.saw(Hook::Event(event), w, a);
    }
    fn undo_cwnd(&mut self, w: &mut Window, a: &Ack) -> u32 {
        let cwnd = self.inner.undo_cwnd(w, a);
        self.saw(Hook::Undo, w, a);
        cwnd
    }
}
