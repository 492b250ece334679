//! The question as Python holds it.

use crate::Error;
use pyo3::prelude::*;
use std::collections::HashMap;

/// A scenario that was read and understood, with the classes of its custom algorithms by name.
#[pyclass(frozen, module = "cwnd._cwnd")]
pub struct Scenario {
    pub inner: cwnd_scenario::Scenario,
    pub classes: HashMap<String, Py<PyAny>>,
}

#[pymethods]
impl Scenario {
    /// Reads TOML. `source` is what errors call the text.
    #[new]
    fn new(text: &str, source: &str, classes: HashMap<String, Py<PyAny>>) -> PyResult<Self> {
        let custom: Vec<&str> = classes.keys().map(String::as_str).collect();
        let inner = cwnd_scenario::Scenario::from_toml(text, source, &custom).map_err(refuse)?;
        Ok(Scenario { inner, classes })
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

    /// What follows from it, as JSON: round-trip times, bandwidth-delay products, buffers in them.
    fn describe(&self) -> String {
        serde_json::to_string(&self.inner.describe()).expect("a description has no map with odd keys")
    }

    /// The same question with another name, first seed or number of repetitions.
    #[pyo3(signature = (*, name=None, seed=None, repeat=None))]
    fn replace(&self, py: Python, name: Option<String>, seed: Option<u64>, repeat: Option<u32>) -> Self {
        let mut inner = self.inner.clone();
        inner.name = name.unwrap_or(inner.name);
        inner.seed = seed.unwrap_or(inner.seed);
        inner.repeat = repeat.unwrap_or(inner.repeat);
        let classes = self.classes.iter().map(|(name, class)| (name.clone(), class.clone_ref(py))).collect();
        Scenario { inner, classes }
    }
}

/// The error with the key it is about and what is wrong with it, for callers that know the key by another
/// name.
fn refuse(error: cwnd_scenario::Error) -> PyErr {
    Python::attach(|py| {
        let refused = Error::new_err(error.to_string());
        let value = refused.value(py);
        let reason = format!("{}; {}", error.found, error.accepted);
        match value.setattr("key", error.key).and_then(|()| value.setattr("reason", reason)) {
            Ok(()) => refused,
            Err(failed) => failed,
        }
    })
}
