//! The answer as Python reads it.

use cwnd_engine::results::{Run, Summary};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;
use std::time::Duration;

/// The runs of one scenario.
#[pyclass(frozen, module = "cwnd._cwnd")]
pub struct Report {
    scenario: cwnd_scenario::Scenario,
    runs: Vec<Run>,
    wall: Duration,
}

#[derive(Serialize)]
struct Answer<'a> {
    scenario: &'a cwnd_scenario::Scenario,
    runs: &'a [Run],
    summary: Summary,
    engine: Engine,
}

#[derive(Serialize)]
struct Engine {
    wall_s: f64,
    packets: u64,
    packets_per_s: f64,
    version: &'static str,
}

impl Report {
    /// `wall`: from the beginning of the first run to the end of the last.
    pub fn new(scenario: cwnd_scenario::Scenario, runs: Vec<Run>, wall: Duration) -> Self {
        Report { scenario, runs, wall }
    }
}

#[pymethods]
impl Report {
    /// `{"scenario", "runs", "summary", "engine"}`.
    fn json(&self) -> String {
        let packets = self.runs.iter().map(|run| run.packets).sum();
        let wall_s = self.wall.as_secs_f64();
        let answer = Answer {
            scenario: &self.scenario,
            runs: &self.runs,
            summary: cwnd_engine::summarize(&self.scenario, &self.runs),
            engine: Engine {
                wall_s,
                packets,
                packets_per_s: if wall_s > 0.0 { packets as f64 / wall_s } else { 0.0 },
                version: env!("CARGO_PKG_VERSION"),
            },
        };
        serde_json::to_string(&answer).expect("an answer has no map with odd keys")
    }

    /// The flows' time series of one run: for each column its little-endian numbers, `f64` for those in
    /// units of time or rate, `u32` for the others.
    fn flow_samples<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let samples = &self.run(run)?.flow_samples;
        let columns = PyDict::new(py);
        columns.set_item("time_s", doubles(py, &samples.time_s)?)?;
        columns.set_item("flow", words(py, &samples.flow)?)?;
        columns.set_item("cwnd_pkts", words(py, &samples.cwnd_pkts)?)?;
        columns.set_item("ssthresh_pkts", words(py, &samples.ssthresh_pkts)?)?;
        columns.set_item("in_flight_pkts", words(py, &samples.in_flight_pkts)?)?;
        columns.set_item("rtt_ms", doubles(py, &samples.rtt_ms)?)?;
        columns.set_item("throughput_mbps", doubles(py, &samples.throughput_mbps)?)?;
        Ok(columns)
    }

    /// The links' time series of one run, in the same way.
    fn link_samples<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let samples = &self.run(run)?.link_samples;
        let columns = PyDict::new(py);
        columns.set_item("time_s", doubles(py, &samples.time_s)?)?;
        columns.set_item("link", words(py, &samples.link)?)?;
        columns.set_item("queue_pkts", words(py, &samples.queue_pkts)?)?;
        Ok(columns)
    }
}

impl Report {
    fn run(&self, index: usize) -> PyResult<&Run> {
        self.runs.get(index).ok_or_else(|| pyo3::exceptions::PyIndexError::new_err(index))
    }
}

pub fn doubles<'py>(py: Python<'py>, column: &[f64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(column), |bytes| {
        for (to, from) in bytes.chunks_exact_mut(8).zip(column) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        Ok(())
    })
}

pub fn words<'py>(py: Python<'py>, column: &[u32]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(column), |bytes| {
        for (to, from) in bytes.chunks_exact_mut(4).zip(column) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        Ok(())
    })
}
