//! The QUIC worlds as an extension module of their own: the module of `cwnd` calls it with scenarios as JSON, and gets
//! runs as bytes. Both are of the same version.

use cwnd_quic_world::{Crypto, Stack};
use cwnd_scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

#[pymodule]
mod _cwnd_quic {
    #[pymodule_export]
    use super::World;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// A QUIC stack in virtual time.
#[pyclass(frozen, module = "_cwnd_quic")]
struct World {
    stack: Stack,
    crypto: Crypto,
}

#[pymethods]
impl World {
    /// The world of that name. Raises `ValueError` if there is none.
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        let found = Stack::in_world(name).map(|(stack, crypto)| World { stack, crypto });
        found.ok_or_else(|| PyValueError::new_err(format!("'{name}' is not a world of a QUIC stack")))
    }

    /// The version of the stack's package.
    #[getter]
    fn version(&self) -> &'static str {
        self.stack.version()
    }

    /// Inputs of runs besides their scenario, for their keys.
    #[getter]
    fn essence<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &cwnd_quic_world::essence(self.stack, self.crypto))
    }

    /// Raises `ValueError`, a line, if the scenario asks what the stack cannot do.
    fn check(&self, scenario: &str) -> PyResult<()> {
        cwnd_quic_world::check(self.stack, &read(scenario)?).map_err(refuse)
    }

    /// Runs a scenario, which was checked, and returns the run as bytes; None: stopped.
    ///
    /// `watch` is called now and then with the nanoseconds that were simulated; it answers whether the run goes on.
    ///
    /// Raises `ValueError`, a line, if the stack gives up a connection.
    fn run<'py>(
        &self,
        py: Python<'py>,
        scenario: &str,
        seed: u64,
        watch: Py<PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let scenario = read(scenario)?;
        let raised = Mutex::new(None);
        let goes_on = |reached_ns: u64| {
            let asked = Python::attach(|py| watch.call1(py, (reached_ns,))?.extract::<bool>(py));
            asked.unwrap_or_else(|error| {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            })
        };
        let settings = self.crypto.into();
        let run = py.detach(|| {
            let run = cwnd_quic_world::run_with(self.stack, settings, &scenario, seed, &goes_on);
            run.map(|run| run.map(|run| run.to_bytes()))
        });
        if let Some(error) = raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        Ok(run.map_err(refuse)?.map(|bytes| PyBytes::new(py, &bytes)))
    }
}

fn refuse(error: cwnd_quic_world::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn read(scenario: &str) -> PyResult<Scenario> {
    serde_json::from_str(scenario)
        .map_err(|error| PyValueError::new_err(format!("not the JSON of a scenario; {error}")))
}
