//! Every call of an algorithm's hooks in a run, with the window that it left.

use crate::custom::{Failure, PythonControl};
use crate::run::LastFlow;
use crate::scenario::PyScenario;
use crate::{Error, refuse};
use cwnd_algorithms::{Ack, CongestionControl, Event, State, Window};
use cwnd_engine::{Control, Unfinished};
use cwnd_scenario::Cca;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Some 1 GB of memory.
const ROWS_MAX: usize = 12_000_000;

/// The call that a row stands for.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Hook {
    Init = 0,
    PktsAcked = 1,
    CongAvoid = 2,
    CongControl = 3,
    SegmentLost = 4,
    Ssthresh = 5,
    SetState = 6,
    CwndEvent = 7,
    UndoCwnd = 8,
}

struct Row {
    flow: u32,
    hook: Hook,
    /// The state or the event of [`Hook::SetState`] and [`Hook::CwndEvent`].
    code: u8,
    window: Window,
    ack: Ack,
}

type Rows = Arc<Mutex<Vec<Row>>>;

/// An algorithm of one flow, and the rows of all.
struct Recorder {
    inner: Box<dyn CongestionControl>,
    flow: u32,
    rows: Rows,
    control: Arc<Control>,
}

impl Recorder {
    fn note(&self, hook: Hook, code: u8, window: &Window, ack: &Ack) {
        let mut rows = lock(&self.rows);
        if rows.len() >= ROWS_MAX {
            self.control.stop.store(true, Relaxed);
            return;
        }
        rows.push(Row { flow: self.flow, hook, code, window: *window, ack: *ack });
    }
}

fn lock(rows: &Rows) -> MutexGuard<'_, Vec<Row>> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CongestionControl for Recorder {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        self.inner.init(w, a);
        self.note(Hook::Init, 0, w, a);
    }

    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        self.inner.pkts_acked(w, a);
        self.note(Hook::PktsAcked, 0, w, a);
    }

    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        self.inner.cong_avoid(w, a);
        self.note(Hook::CongAvoid, 0, w, a);
    }

    fn has_cong_control(&self) -> bool {
        self.inner.has_cong_control()
    }

    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        self.inner.cong_control(w, a);
        self.note(Hook::CongControl, 0, w, a);
    }

    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        self.inner.segment_lost(w, a);
        self.note(Hook::SegmentLost, 0, w, a);
    }

    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        let ssthresh = self.inner.ssthresh(w, a);
        self.note(Hook::Ssthresh, 0, &Window { ssthresh, ..*w }, a);
        ssthresh
    }

    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        self.inner.set_state(w, a, state);
        self.note(Hook::SetState, state as u8, w, a);
    }

    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        self.inner.cwnd_event(w, a, event);
        self.note(Hook::CwndEvent, event as u8, w, a);
    }

    fn undo_cwnd(&mut self, w: &mut Window, a: &Ack) -> u32 {
        let cwnd = self.inner.undo_cwnd(w, a);
        self.note(Hook::UndoCwnd, 0, &Window { cwnd, ..*w }, a);
        cwnd
    }
}

/// Simulates a scenario with one seed as `run` does, and returns a row per call of a hook, as columns of little-endian
/// numbers. Flows of datagrams have no rows; a flow with arrivals has those of all its connections.
#[pyfunction]
pub fn record<'py>(py: Python<'py>, scenario: &PyScenario, seed: u64) -> PyResult<Bound<'py, PyDict>> {
    let _running = crate::run::Running::begin();
    // Each flow has an algorithm of its own, by whose address it is known.
    let asked = scenario.inner.clone().with(|asked| {
        for flow in &mut asked.flows {
            flow.cca = Arc::new((*flow.cca).clone());
        }
    });
    asked.check_algorithms().map_err(refuse)?;
    let rows = Rows::default();
    let control = Arc::new(Control::default());
    let failure = Arc::new(Failure::default());
    let last = LastFlow::default();
    let custom = |cca: &Cca| -> Option<Box<dyn CongestionControl>> {
        let flows = &asked.flows;
        let flow = last.of(flows, cca)?;
        let inner: Box<dyn CongestionControl> = match scenario.classes.get(&cca.name) {
            Some(class) => {
                let place = (Some(flow), &*flows[flow].stack.profile);
                Box::new(PythonControl::new(class, cca, place, seed, &control, &failure))
            }
            None if cca.is_udp() => return None,
            None => {
                let (algorithm, params) = cca.resolve().ok()?;
                Box::new(algorithm.build(&params))
            }
        };
        Some(Box::new(Recorder { inner, flow: flow as u32, rows: rows.clone(), control: control.clone() }))
    };
    let ended = py.detach(|| cwnd_engine::run(&asked, seed, &custom, &control));
    if let Some(raised) = failure.take() {
        return Err(raised);
    }
    let rows = std::mem::take(&mut *lock(&rows));
    match ended {
        Ok(_) => columns(py, &rows),
        Err(Unfinished::Stopped) => {
            let name = &scenario.inner.name;
            Err(Error::new_err(format!(
                "{name}: more than {ROWS_MAX} calls of hooks; set a shorter duration"
            )))
        }
        Err(reason) => Err(refuse(reason)),
    }
}

fn columns<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let wide = |name: &str, value: &dyn Fn(&Row) -> u64| {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| value(row).to_le_bytes()).collect();
        dict.set_item(name, PyBytes::new(py, &bytes))
    };
    wide("time_us", &|row| row.ack.now_us)?;
    wide("delivered", &|row| row.ack.delivered)?;
    wide("pacing_rate", &|row| row.window.pacing_rate)?;
    let word = |name: &str, value: &dyn Fn(&Row) -> u32| {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| value(row).to_le_bytes()).collect();
        dict.set_item(name, PyBytes::new(py, &bytes))
    };
    word("flow", &|row| row.flow)?;
    word("hook", &|row| row.hook as u32)?;
    word("code", &|row| row.code.into())?;
    word("state", &|row| row.ack.state.into())?;
    word("flags", &|row| row.ack.flags.into())?;
    word("cwnd", &|row| row.window.cwnd)?;
    word("ssthresh", &|row| row.window.ssthresh)?;
    word("prior_cwnd", &|row| row.window.prior_cwnd)?;
    word("in_flight", &|row| row.ack.in_flight)?;
    word("acked", &|row| row.ack.acked)?;
    word("ce", &|row| row.ack.ce)?;
    word("lost", &|row| row.ack.lost)?;
    word("rtt_us", &|row| row.ack.rtt_us)?;
    word("srtt_us", &|row| row.ack.srtt_us)?;
    Ok(dict)
}
