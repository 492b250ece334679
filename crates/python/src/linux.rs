//! Guests of a real kernel for Python.

use crate::Error;
use crate::scenario::PyScenario;
use cwnd_engine::Control;
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

#[cfg(target_os = "linux")]
mod inner {
    use super::*;
    use cwnd_linux::{Algorithms, Machine};
    use std::path::Path;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;

    pub struct Inner {
        machine: Machine,
        algorithms: Algorithms,
        /// Processors that no guest uses.
        free: Mutex<Vec<usize>>,
    }

    impl Inner {
        pub fn open(folder: &str, ours: bool) -> Result<Inner, String> {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            Ok(Inner {
                machine: Machine::open(Path::new(folder))?,
                algorithms: if ours { Algorithms::Ours } else { Algorithms::Kernel },
                free: Mutex::new((0..cores).collect()),
            })
        }

        pub fn release(&self) -> &str {
            &self.machine.release
        }

        pub fn read_types(&self, watch: &(impl Fn(u64) -> bool + Sync)) -> Result<Option<Vec<u8>>, String> {
            cwnd_linux::read_types(&self.machine, watch)
        }

        pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
            cwnd_linux::check(scenario, self.algorithms)
        }

        pub fn run(&self, scenario: &Scenario, seed: u64, control: &Control) -> Result<Run, String> {
            let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let core = free().pop();
            let seen_ns = AtomicU64::new(0);
            let watch = |reached_ns: u64| {
                let before_ns = seen_ns.swap(reached_ns, Relaxed);
                control.simulated_ns.fetch_add(reached_ns - before_ns, Relaxed);
                !control.stop.load(Relaxed)
            };
            let run = cwnd_linux::run(scenario, seed, self.algorithms, &self.machine, core, &watch);
            free().extend(core);
            run?.ok_or_else(|| "stopped".to_owned())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod inner {
    use super::*;

    pub struct Inner {}

    impl Inner {
        pub fn open(_: &str, _: bool) -> Result<Inner, String> {
            Err("guests need a machine with Linux".to_owned())
        }

        pub fn release(&self) -> &str {
            ""
        }

        pub fn read_types(&self, _: &(impl Fn(u64) -> bool + Sync)) -> Result<Option<Vec<u8>>, String> {
            Err("guests need a machine with Linux".to_owned())
        }

        pub fn check(&self, _: &Scenario) -> Result<(), String> {
            Ok(())
        }

        pub fn run(&self, _: &Scenario, _: u64, _: &Control) -> Result<Run, String> {
            Err("guests need a machine with Linux".to_owned())
        }
    }
}

/// A kernel and an emulator in a folder, and whose algorithms run there: with `ours`, this project's as eBPF.
#[pyclass(frozen, name = "Linux", module = "cwnd._cwnd")]
pub struct PyLinux(inner::Inner);

#[pymethods]
impl PyLinux {
    #[new]
    fn new(folder: &str, ours: bool) -> PyResult<Self> {
        inner::Inner::open(folder, ours).map(PyLinux).map_err(Error::new_err)
    }

    /// The kernel's, as `uname -r` prints it.
    #[getter]
    fn release(&self) -> &str {
        self.0.release()
    }

    /// Boots a guest and returns the kernel's description of its types.
    fn read_types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let interrupted = Mutex::new(None);
        let watch = |_: u64| match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(reason) => {
                *interrupted.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
                false
            }
        };
        let types = py.detach(|| self.0.read_types(&watch)).map_err(Error::new_err)?;
        match (types, interrupted.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Some(types), _) => Ok(PyBytes::new(py, &types)),
            (None, reason) => Err(reason.unwrap_or_else(|| Error::new_err("stopped"))),
        }
    }

    /// Raises an error if the scenario asks what a guest cannot do.
    fn check(&self, scenario: &PyScenario) -> PyResult<()> {
        if let Some(name) = scenario.classes.keys().next() {
            return Err(Error::new_err(format!("cca: the Python class {name} cannot be had --on linux")));
        }
        self.0.check(&scenario.inner).map_err(Error::new_err)
    }
}

impl PyLinux {
    pub fn run(&self, scenario: &Scenario, seed: u64, control: &Control) -> Result<Run, String> {
        self.0.run(scenario, seed, control)
    }
}
