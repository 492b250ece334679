//! The hooks of a header, for a Python class that overrides some of them.

use crate::custom::{PyAck, PyWindow};
use crate::refuse;
use cwnd_algorithms::{CongestionControl, Event, Instance, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// An algorithm of the registry at work on one connection.
// Any thread may call it; no Python code runs while it is locked.
#[pyclass(frozen, name = "Header", module = "cwnd._cwnd")]
pub struct PyHeader(Mutex<Instance>);

#[pymethods]
impl PyHeader {
    /// `params` replace defaults of the header, written as in a scenario.
    #[new]
    fn new(algorithm: &str, params: Vec<(String, String)>) -> PyResult<Self> {
        let found = cwnd_algorithms::find(algorithm).map_err(refuse)?;
        let mut values = found.defaults();
        for (name, value) in &params {
            found.set(&mut values, name, value).map_err(refuse)?;
        }
        Ok(PyHeader(Mutex::new(found.build(&values))))
    }

    fn init(&self, window: &PyWindow, ack: &PyAck) {
        self.with(|header| header.init(&mut window.lock(), ack.inner()));
    }

    fn pkts_acked(&self, window: &PyWindow, ack: &PyAck) {
        self.with(|header| header.pkts_acked(&mut window.lock(), ack.inner()));
    }

    fn cong_avoid(&self, window: &PyWindow, ack: &PyAck) {
        self.with(|header| header.cong_avoid(&mut window.lock(), ack.inner()));
    }

    fn cong_control(&self, window: &PyWindow, ack: &PyAck) {
        self.with(|header| header.cong_control(&mut window.lock(), ack.inner()));
    }

    fn segment_lost(&self, window: &PyWindow, ack: &PyAck) {
        self.with(|header| header.segment_lost(&mut window.lock(), ack.inner()));
    }

    fn ssthresh(&self, window: &PyWindow, ack: &PyAck) -> u32 {
        self.with(|header| header.ssthresh(&mut window.lock(), ack.inner()))
    }

    fn set_state(&self, window: &PyWindow, ack: &PyAck, state: u8) -> PyResult<()> {
        let states = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss];
        let state = one_of("state", &states, state, |state| *state as u8)?;
        self.with(|header| header.set_state(&mut window.lock(), ack.inner(), state));
        Ok(())
    }

    fn cwnd_event(&self, window: &PyWindow, ack: &PyAck, event: u8) -> PyResult<()> {
        let events = [Event::TxStart, Event::CwndRestart, Event::CompleteCwr, Event::Rto, Event::SlowAck];
        let event = one_of("event", &events, event, |event| *event as u8)?;
        self.with(|header| header.cwnd_event(&mut window.lock(), ack.inner(), event));
        Ok(())
    }

    fn undo_cwnd(&self, window: &PyWindow, ack: &PyAck) -> u32 {
        self.with(|header| header.undo_cwnd(&mut window.lock(), ack.inner()))
    }
}

impl PyHeader {
    fn with<T>(&self, call: impl FnOnce(&mut Instance) -> T) -> T {
        call(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns true if the header has `cong_control` in place of `cong_avoid`.
#[pyfunction]
pub fn header_controls_window(algorithm: &str) -> PyResult<bool> {
    cwnd_algorithms::find(algorithm).map(|found| found.controls_window()).map_err(refuse)
}

/// The tokens of a header and of what it includes.
#[pyfunction]
pub fn header_code(algorithm: &str) -> PyResult<&'static str> {
    cwnd_algorithms::find(algorithm).map(|found| found.code()).map_err(refuse)
}

fn one_of<T: Copy>(what: &str, all: &[T], code: u8, code_of: impl Fn(&T) -> u8) -> PyResult<T> {
    let found = all.iter().find(|one| code_of(one) == code).copied();
    found.ok_or_else(|| PyValueError::new_err(format!("{code} is not a code of this {what}")))
}
