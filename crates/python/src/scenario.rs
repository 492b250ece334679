//! Scenarios for Python.

use crate::{Error, refuse};
use cwnd_scenario::{Cca, Samples};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// A scenario, with the classes of its custom algorithms by name.
#[pyclass(frozen, name = "Scenario", module = "cwnd._cwnd")]
pub struct PyScenario {
    pub inner: cwnd_scenario::Scenario,
    pub classes: HashMap<String, Py<PyAny>>,
}

#[pymethods]
impl PyScenario {
    /// Reads TOML. `source`, the name of the text in errors, is its file: files that the text names are next to it.
    #[new]
    fn new(text: &str, source: &str, classes: HashMap<String, Py<PyAny>>) -> PyResult<Self> {
        let custom: Vec<&str> = classes.keys().map(String::as_str).collect();
        let files = |name: &str| read_file(source, name);
        let inner = cwnd_scenario::Scenario::from_toml_with_files(text, source, &custom, &files);
        let inner = inner.map_err(refuse_text)?;
        Ok(PyScenario { inner, classes })
    }

    /// Reads what [`PyScenario::json`] wrote, without custom algorithms.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let inner: cwnd_scenario::Scenario = serde_json::from_str(text).map_err(no_scenario)?;
        inner.check().map_err(no_scenario)?;
        Ok(PyScenario { inner, classes: HashMap::new() })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    #[getter]
    fn repeat(&self) -> u32 {
        self.inner.repeat
    }

    /// Everything a run depends on, as JSON.
    fn json(&self) -> String {
        serde_json::to_string(&self.inner).expect("a scenario has no map with odd keys")
    }

    /// Describes the scenario as JSON: round-trip times, bandwidth-delay products, buffers in these units.
    fn describe(&self) -> String {
        serde_json::to_string(&self.inner.describe()).expect("a description has no map with odd keys")
    }

    /// A copy with another name, first seed or number of repetitions.
    #[pyo3(signature = (*, name=None, seed=None, repeat=None))]
    fn replace(&self, py: Python, name: Option<String>, seed: Option<u64>, repeat: Option<u32>) -> Self {
        let mut inner = self.inner.clone();
        inner.name = name.unwrap_or(inner.name);
        inner.seed = seed.unwrap_or(inner.seed);
        inner.repeat = repeat.unwrap_or(inner.repeat);
        PyScenario { inner, classes: copy(py, &self.classes) }
    }

    /// A copy without time series.
    fn without_samples(&self, py: Python) -> Self {
        let mut inner = self.inner.clone();
        (inner.samples, inner.sample_groups) = (Samples::Off, Vec::new());
        PyScenario { inner, classes: copy(py, &self.classes) }
    }

    /// Rows in the tables of a run: one per flow and one per link.
    #[getter]
    fn rows(&self) -> usize {
        self.inner.flows.len() + self.inner.links.len()
    }

    /// Rows in the time series of a run. Samples by change count as none: their number is not known before the run.
    #[getter]
    fn sample_rows(&self) -> u64 {
        match self.inner.samples {
            Samples::Interval { interval_ns } => {
                (self.inner.duration_ns / interval_ns + 1).saturating_mul(self.inner.rows_per_sample() as u64)
            }
            Samples::Off | Samples::Change => 0,
        }
    }

    /// A copy in which the flows of `cca` have these parameters, and the number of such flows.
    fn with_params(&self, py: Python, cca: &str, params: Vec<(String, String)>) -> PyResult<(Self, usize)> {
        let mut inner = self.inner.clone();
        let custom = self.classes.contains_key(cca);
        let mut count = 0;
        // Flows that share an algorithm share the changed one.
        let mut last: Option<(Arc<Cca>, Arc<Cca>)> = None;
        for flow in inner.flows.iter_mut().filter(|flow| flow.cca.name == cca) {
            count += 1;
            if let Some((_, changed)) = last.as_ref().filter(|(before, _)| Arc::ptr_eq(before, &flow.cca)) {
                flow.cca = changed.clone();
                continue;
            }
            let before = flow.cca.clone();
            for (param, value) in &params {
                Arc::make_mut(&mut flow.cca).set(param, value, custom).map_err(refuse)?;
            }
            last = Some((before, flow.cca.clone()));
        }
        Ok((PyScenario { inner, classes: copy(py, &self.classes) }, count))
    }
}

pub fn no_scenario(error: impl std::fmt::Display) -> PyErr {
    Error::new_err(format!("not the JSON of a scenario; {error}"))
}

/// A scenario names no longer files.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The text of the file that the scenario in the file `source` calls `name`.
fn read_file(source: &str, name: &str) -> io::Result<String> {
    let path = Path::new(source).parent().unwrap_or(Path::new("")).join(name);
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// Reads TOML that may have `[sweep]`: the swept values of each point, as a JSON object, and its scenario.
#[pyfunction]
pub fn sweep(
    py: Python,
    text: &str,
    source: &str,
    classes: HashMap<String, Py<PyAny>>,
) -> PyResult<Vec<(String, PyScenario)>> {
    let custom: Vec<&str> = classes.keys().map(String::as_str).collect();
    let mut signal = Ok(());
    let mut go_on = || {
        signal = Python::attach(|py| py.check_signals());
        signal.is_ok()
    };
    let read = py.detach(|| {
        let files = |name: &str| read_file(source, name);
        cwnd_scenario::Sweep::from_toml_while(text, source, &custom, &files, &mut go_on)
    });
    signal?;
    let sweep = read.map_err(refuse_text)?;
    let point = |point: cwnd_scenario::SweepPoint| {
        let values = serde_json::to_string(&point.values()).expect("a point has no map with odd keys");
        (values, PyScenario { inner: point.scenario, classes: copy(py, &classes) })
    };
    Ok(sweep.points.into_iter().map(point).collect())
}

fn copy(py: Python, classes: &HashMap<String, Py<PyAny>>) -> HashMap<String, Py<PyAny>> {
    classes.iter().map(|(name, class)| (name.clone(), class.clone_ref(py))).collect()
}

/// The error, with its key and its reason as attributes for callers that know the key by another name.
fn refuse_text(error: cwnd_scenario::Error) -> PyErr {
    let refused = refuse(&error);
    let cwnd_scenario::Error::Text { key, found, accepted, .. } = error else { return refused };
    Python::attach(|py| {
        let value = refused.value(py);
        let reason = format!("{found}; {accepted}");
        match value.setattr("key", key).and_then(|()| value.setattr("reason", reason)) {
            Ok(()) => refused,
            Err(failed) => failed,
        }
    })
}

/// A time as scenarios write it, such as "10 ms", between `least` and `most`, which `limits` puts in words.
#[pyfunction]
pub fn time_ns(text: &str, least: u64, most: u64, limits: &str) -> PyResult<u64> {
    cwnd_scenario::time_of(text, least..=most, limits).map_err(refuse)
}

/// Reads a text of `[[expect]]` tables for a scenario, as the JSON list that the scenario's own would be.
#[pyfunction]
pub fn expectations(text: &str, source: &str, scenario: &PyScenario) -> PyResult<String> {
    let inner = &scenario.inner;
    let links: Vec<&str> = inner.links.iter().map(|link| link.name.as_str()).collect();
    let (duration_ns, flows) = (inner.duration_ns, inner.flows.len());
    let read = cwnd_scenario::Expectation::from_toml(text, source, duration_ns, flows, &links);
    let read = read.map_err(refuse_text)?;
    Ok(serde_json::to_string(&read).expect("an expectation has no map with odd keys"))
}
