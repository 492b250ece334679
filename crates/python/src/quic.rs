//! The algorithms in aioquic, which is written in Python.

use crate::refuse;
use cwnd_quic::{Bridge, Setup, Stack};
use pyo3::prelude::*;

/// The algorithms that run on aioquic.
#[pyfunction]
pub fn aioquic_algorithms() -> Vec<String> {
    Stack::Aioquic.algorithms().into_iter().map(|algorithm| algorithm.name).collect()
}

/// An algorithm with its parameters, for any number of connections.
#[pyclass(frozen, name = "QuicSetup", module = "cwnd._cwnd")]
pub struct PyQuicSetup(Setup);

#[pymethods]
impl PyQuicSetup {
    #[new]
    fn new(algorithm: &str, params: Vec<(String, String)>) -> PyResult<PyQuicSetup> {
        let params: Vec<(&str, &str)> =
            params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let setup = Setup::new(Stack::Aioquic, algorithm, &params);
        setup.map(PyQuicSetup).map_err(refuse)
    }

    /// A connection begins, with packets of `mtu_bytes` at most.
    fn start(&self, mtu_bytes: u16) -> PyQuicBridge {
        PyQuicBridge(self.0.start(mtu_bytes))
    }
}

/// An algorithm at work on one connection. Times are in seconds of one clock.
#[pyclass(name = "QuicBridge", module = "cwnd._cwnd")]
pub struct PyQuicBridge(Bridge);

#[pymethods]
impl PyQuicBridge {
    fn send(&mut self, now_s: f64, bytes: u64) {
        self.0.send(ns(now_s), bytes);
    }

    fn ack_packet(&mut self, sent_s: f64, bytes: u64) {
        self.0.ack_packet(ns(sent_s), bytes, None);
    }

    fn end_acks(&mut self, now_s: f64, app_limited: bool) {
        self.0.end_acks(ns(now_s), None, app_limited);
    }

    fn lose_packet(&mut self, bytes: u64) {
        self.0.lose_packet(bytes, None);
    }

    fn on_loss(&mut self, now_s: f64, sent_s: f64, persistent_congestion: bool) {
        self.0.on_loss(ns(now_s), ns(sent_s), persistent_congestion);
    }

    fn discard(&mut self, bytes: u64) {
        self.0.discard(bytes);
    }

    fn window_bytes(&self) -> u64 {
        self.0.window_bytes()
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.0.ssthresh_bytes()
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
