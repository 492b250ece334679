//! Runs of any scenario, of a bounded number of packets.

use cwnd_algorithms::{Ack, CongestionControl, Event, Instance, State, Window};
use cwnd_engine::{Control, run};
use cwnd_scenario::{Cca, Samples, Scenario};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const HOOKS_MAX: u64 = 50_000;
const ROWS_MAX: u64 = 100_000;

/// Runs it if it is small; the run goes no further than some thousand packets, and a run that ends is the same
/// again without what counts them. Says what did not hold.
pub fn try_run(scenario: &Scenario) -> Result<(), String> {
    let parts = scenario.links.len() + scenario.flows.len();
    let rows = match scenario.samples {
        Samples::Interval { interval_ns } => scenario.duration_ns / interval_ns * parts as u64,
        Samples::Off | Samples::Change => 0,
    };
    // A custom algorithm may have the name of a registered one, and parameters of its own.
    let custom = scenario.flows.iter().any(|flow| flow.cca.resolve().is_err());
    if parts > 40 || rows > ROWS_MAX || custom {
        return Ok(());
    }
    let control = Arc::new(Control::default());
    let hooks = Arc::new(AtomicU64::new(0));
    let counted = |cca: &Cca| -> Option<Box<dyn CongestionControl>> {
        let (algorithm, params) = cca.resolve().expect("none is custom");
        let inner = algorithm.build(&params);
        Some(Box::new(Counted { inner, hooks: Arc::clone(&hooks), control: Arc::clone(&control) }))
    };
    let Ok(counted) = run(scenario, scenario.seed, &counted, &control) else { return Ok(()) };
    let plain = run(scenario, scenario.seed, &|_| None, &Control::default());
    if plain.as_ref() == Ok(&counted) { Ok(()) } else { Err(format!("another run: {scenario:?}")) }
}

/// Ends the run after this many calls.
struct Counted {
    inner: Instance,
    hooks: Arc<AtomicU64>,
    control: Arc<Control>,
}

impl Counted {
    fn count(&mut self) -> &mut Instance {
        if self.hooks.fetch_add(1, Relaxed) > HOOKS_MAX {
            self.control.stop.store(true, Relaxed);
        }
        &mut self.inner
    }
}

impl CongestionControl for Counted {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        self.count().init(w, a);
    }
    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        self.count().pkts_acked(w, a);
    }
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        self.count().cong_avoid(w, a);
    }
    fn has_cong_control(&self) -> bool {
        self.inner.has_cong_control()
    }
    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        self.count().cong_control(w, a);
    }
    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        self.count().segment_lost(w, a);
    }
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        self.count().ssthresh(w, a)
    }
    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        self.count().set_state(w, a, state);
    }
    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        self.count().cwnd_event(w, a, event);
    }
    fn undo_cwnd(&mut self, w: &mut Window, a: &Ack) -> u32 {
        self.count().undo_cwnd(w, a)
    }
}
