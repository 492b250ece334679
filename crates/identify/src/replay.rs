//! A candidate's window on a connection's events: the header itself, called by the driver.

use crate::candidates::Candidate;
use crate::rounds::Rounds;
use crate::sender::{AckSeen, Event};
use cwnd_algorithms::{Ack, CWND_LIMITED, Driver, Instance, Lowering, State, Window};

/// Linux's initial window (RFC 6928).
const INITIAL_WINDOW: u32 = 10;
/// A candidate's window this near to the flight keeps its own value at a loss.
const NEAR: f64 = 0.03;

/// The flight that a candidate's window and pacing would have led to, behind each event of `rounds`.
pub(crate) fn replay(candidate: &Candidate, events: &[Event], rounds: &Rounds, start: Start) -> Vec<f64> {
    let mut replay = Replay::new(candidate, start);
    let mut wanted = rounds.rounds.iter().peekable();
    let mut flights = Vec::with_capacity(rounds.rounds.len());
    for (index, event) in events.iter().enumerate() {
        replay.take(event, rounds.before[index], rounds.limited[index]);
        while wanted.next_if(|round| round.at <= index).is_some() {
            flights.push(replay.flight);
        }
    }
    flights
}

/// How a connection begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Bytes of a segment.
    pub mss: u32,
    /// Segments in flight, of a capture that begins in the middle.
    pub flight: Option<u32>,
}

struct Replay {
    driver: Driver<Instance>,
    /// The sending that pacing allowed so far, in segments, at times.
    paced: Vec<(u64, f64)>,
    flight: f64,
}

impl Replay {
    fn new(candidate: &Candidate, start: Start) -> Self {
        let mut window = Window::new(INITIAL_WINDOW);
        if let Some(flight) = start.flight {
            (window.cwnd, window.ssthresh) = (flight.max(2), flight.max(2));
        }
        let ack = Ack { mss: start.mss, snd_wnd: u32::MAX, flags: CWND_LIMITED, ..Ack::default() };
        let mut driver = Driver::new(candidate.algorithm.build(&candidate.params), window, ack);
        driver.start();
        Replay { driver, paced: Vec::new(), flight: f64::from(window.cwnd) }
    }

    fn take(&mut self, event: &Event, before: u32, limited: bool) {
        match *event {
            Event::Ack(ack) => self.acknowledge(&ack, limited),
            Event::Loss => {
                self.settle(before);
                if self.driver.state() == State::Cwr {
                    self.driver.on_further_loss();
                } else {
                    self.driver.on_loss(Lowering::ToSsthresh);
                }
            }
            Event::Mark => {
                self.settle(before);
                self.driver.on_congestion(Lowering::ToSsthresh, 0);
            }
            Event::Recovered => {
                let window = self.driver.window;
                let cwnd = if self.driver.state() == State::Loss {
                    window.cwnd
                } else {
                    window.ssthresh.min(window.cwnd_clamp)
                };
                self.driver.on_recovered(cwnd.max(1));
            }
            Event::Timeout { lost } => {
                let reduces = !matches!(self.driver.state(), State::Recovery | State::Loss);
                if reduces {
                    self.settle(before);
                }
                self.driver.on_timeout(reduces, lost);
                self.flight = 1.0;
            }
            Event::Restart { idle_us } => {
                let rto = (self.driver.ack.srtt_us * 2).max(200_000);
                if idle_us > u64::from(rto) {
                    self.driver.on_idle((idle_us - 1) / u64::from(rto), INITIAL_WINDOW);
                }
                self.driver.on_first_send();
            }
            Event::Needless => {}
        }
    }

    /// Sets the window to the flight that was seen, unless they agree.
    fn settle(&mut self, flight: u32) {
        let cwnd = f64::from(self.driver.window.cwnd);
        let apart = (cwnd - f64::from(flight)).abs();
        if flight > 0 && apart > (NEAR * f64::from(flight)).max(1.5) && !self.driver.controls_window() {
            self.driver.window.cwnd = flight.max(2);
        }
    }

    fn acknowledge(&mut self, seen: &AckSeen, limited: bool) {
        let Ack { mss, state, .. } = self.driver.ack;
        let flags = seen.ack.flags | if limited { CWND_LIMITED } else { 0 };
        self.driver.ack = Ack { mss, state, flags, ..seen.ack };
        if seen.ack.rtt_us > 0 {
            self.driver.on_rtt_sample();
        }
        if self.driver.controls_window() {
            for _ in 0..seen.ack.lost {
                self.driver.on_segment_lost(seen.ack.rate_in_flight, seen.ack.rate_lost, !limited);
            }
            self.driver.control();
        } else if seen.is_forward
            && seen.ack.acked > 0
            && !matches!(self.driver.state(), State::Cwr | State::Recovery)
        {
            self.driver.grow();
        }
        self.predict(&seen.ack);
    }

    fn predict(&mut self, seen: &Ack) {
        let window = &self.driver.window;
        let mut target = f64::from(window.cwnd);
        if window.pacing_rate > 0 {
            let rate = window.pacing_rate as f64 / f64::from(self.driver.ack.mss) / 1e6;
            let (last_us, last) = self.paced.last().copied().unwrap_or((seen.now_us, 0.0));
            self.paced.push((seen.now_us, last + rate * (seen.now_us - last_us) as f64));
            let rtt = u64::from(if seen.rtt_us > 0 { seen.rtt_us } else { seen.srtt_us });
            let from = seen.now_us.saturating_sub(rtt);
            let at = self.paced.partition_point(|(time, _)| *time < from);
            let now = self.paced[self.paced.len() - 1].1;
            if at > 0 {
                target = target.min(now - self.paced[at - 1].1);
            }
        }
        self.flight = target.max(self.flight - f64::from(seen.acked));
    }
}
