//! Worlds other than the engine, for Python: guests of a real kernel, this machine's own, and those of another extension
//! module.

use crate::scenario::PyScenario;
use crate::{Error, Fault, refuse};
use cwnd_engine::Control;
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(target_os = "linux")]
mod inner {
    use super::*;
    use cwnd_linux::{Algorithms, Machine};
    use std::path::Path;

    pub enum Inner {
        Guests {
            machine: Machine,
            algorithms: Algorithms,
            /// Processors that no guest uses.
            free: Mutex<Vec<usize>>,
        },
        /// The kernel's release.
        Live(String),
    }

    impl Inner {
        pub fn guests(folder: &str, ours: bool) -> Result<Inner, Fault> {
            Ok(Inner::Guests {
                machine: Machine::open(Path::new(folder))?,
                algorithms: if ours { Algorithms::Ours } else { Algorithms::Kernel },
                free: Mutex::new(cwnd_linux::processors()),
            })
        }

        pub fn live() -> Result<Inner, Fault> {
            let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
            Ok(Inner::Live(release.trim().to_owned()))
        }

        pub fn release(&self) -> &str {
            match self {
                Inner::Guests { machine, .. } => &machine.release,
                Inner::Live(release) => release,
            }
        }

        pub fn read_types(&self, watch: &(impl Fn(u64) -> bool + Sync)) -> Result<Option<Vec<u8>>, Fault> {
            match self {
                Inner::Guests { machine, .. } => Ok(cwnd_linux::read_types(machine, watch)?),
                Inner::Live(_) => Ok(None),
            }
        }

        pub fn check(&self, scenario: &Scenario) -> Result<(), Fault> {
            match self {
                Inner::Guests { algorithms, .. } => Ok(cwnd_linux::check(scenario, *algorithms)?),
                Inner::Live(_) => Ok(cwnd_emulator::check(scenario)?),
            }
        }

        pub fn essence(&self) -> Vec<u8> {
            match self {
                Inner::Guests { machine, algorithms, .. } => cwnd_linux::essence(machine, *algorithms),
                // The emulator's network is the engine's.
                Inner::Live(release) => {
                    format!("live {release} {}", cwnd_engine::RESULTS_VERSION).into_bytes()
                }
            }
        }

        pub fn is_live(&self) -> bool {
            matches!(self, Inner::Live(_))
        }

        pub fn run(&self, scenario: &Scenario, seed: u64, control: &Arc<Control>) -> Result<Run, Fault> {
            let watch = Watch::new(control);
            let watch = |reached_ns| watch.reach(reached_ns);
            let run = match self {
                Inner::Guests { machine, algorithms, free } => {
                    let free = || free.lock().unwrap_or_else(PoisonError::into_inner);
                    let core = free().pop();
                    let run = cwnd_linux::run(scenario, seed, *algorithms, machine, core, &watch);
                    free().extend(core);
                    run?
                }
                Inner::Live(_) => cwnd_emulator::run(scenario, seed, &watch)?,
            };
            run.ok_or_else(|| "stopped".into())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod inner {
    use super::*;

    const NEEDS: &str = "a real kernel needs a machine with Linux";

    pub enum Inner {}

    impl Inner {
        pub fn guests(_: &str, _: bool) -> Result<Inner, Fault> {
            Err(NEEDS.into())
        }

        pub fn live() -> Result<Inner, Fault> {
            Err(NEEDS.into())
        }

        pub fn release(&self) -> &str {
            match *self {}
        }

        pub fn read_types(&self, _: &(impl Fn(u64) -> bool + Sync)) -> Result<Option<Vec<u8>>, Fault> {
            match *self {}
        }

        pub fn check(&self, _: &Scenario) -> Result<(), Fault> {
            match *self {}
        }

        pub fn essence(&self) -> Vec<u8> {
            match *self {}
        }

        pub fn is_live(&self) -> bool {
            match *self {}
        }

        pub fn run(&self, _: &Scenario, _: u64, _: &Arc<Control>) -> Result<Run, Fault> {
            match *self {}
        }
    }
}

/// Watches one run of a world.
#[pyclass(frozen, module = "cwnd._cwnd")]
struct Watch {
    seen_ns: AtomicU64,
    control: Arc<Control>,
}

#[pymethods]
impl Watch {
    fn __call__(&self, reached_ns: u64) -> bool {
        self.reach(reached_ns)
    }
}

impl Watch {
    fn new(control: &Arc<Control>) -> Self {
        Watch { seen_ns: AtomicU64::new(0), control: Arc::clone(control) }
    }

    /// Adds the time that the run has reached to the simulated time of all runs. Returns whether the run is to go on.
    fn reach(&self, reached_ns: u64) -> bool {
        let before_ns = self.seen_ns.swap(reached_ns, Relaxed);
        self.control.simulated_ns.fetch_add(reached_ns - before_ns, Relaxed);
        !self.control.stop.load(Relaxed)
    }
}

/// A world of another extension module: a Python object that takes scenarios as JSON and answers with runs as bytes
/// ([`Run::to_bytes`]). It raises `ValueError` with a line for the user.
struct Extension {
    world: Py<PyAny>,
    version: String,
    essence: Vec<u8>,
}

impl Extension {
    fn new(world: &Bound<PyAny>) -> PyResult<Self> {
        Ok(Extension {
            world: world.clone().unbind(),
            version: world.getattr("version")?.extract()?,
            essence: world.getattr("essence")?.extract()?,
        })
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Fault> {
        Python::attach(|py| self.world.call_method1(py, "check", (json(scenario),)).map(drop)).map_err(line)
    }

    fn run(&self, scenario: &Scenario, seed: u64, control: &Arc<Control>) -> Result<Run, Fault> {
        let answer = Python::attach(|py| -> PyResult<Option<PyBackedBytes>> {
            let answer = self.world.call_method1(py, "run", (json(scenario), seed, Watch::new(control)))?;
            Ok(answer.extract(py)?)
        });
        match answer.map_err(line)? {
            Some(bytes) => {
                Run::from_bytes(&bytes).map_err(|reason| format!("the run cannot be read; {reason}").into())
            }
            None => Err("stopped".into()),
        }
    }
}

fn json(scenario: &Scenario) -> String {
    serde_json::to_string(scenario).expect("a scenario has no map with odd keys")
}

fn line(error: PyErr) -> Fault {
    Python::attach(|py| error.value(py).to_string()).into()
}

/// Where runs are made, other than the engine.
#[pyclass(frozen, name = "World", module = "cwnd._cwnd")]
pub struct PyWorld(Place);

enum Place {
    Kernel(inner::Inner),
    Extension(Extension),
}

#[pymethods]
impl PyWorld {
    /// Guests of the kernel and the emulator in a folder; with `ours`, this project's algorithms as eBPF.
    #[staticmethod]
    fn guests(folder: &str, ours: bool) -> PyResult<Self> {
        inner::Inner::guests(folder, ours).map(PyWorld::kernel).map_err(refuse)
    }

    /// This machine's kernel, in real time.
    #[staticmethod]
    fn live() -> PyResult<Self> {
        inner::Inner::live().map(PyWorld::kernel).map_err(refuse)
    }

    /// A world of another extension module.
    #[staticmethod]
    fn of(world: &Bound<PyAny>) -> PyResult<Self> {
        Extension::new(world).map(|world| PyWorld(Place::Extension(world)))
    }

    /// Software at the ends, for results: the kernel as `uname -r` prints it, or the version of a stack.
    #[getter]
    fn ends(&self) -> (&'static str, &str) {
        match &self.0 {
            Place::Kernel(kernel) => ("kernel", kernel.release()),
            Place::Extension(world) => ("stack", &world.version),
        }
    }

    /// Inputs of runs besides their scenario, for `job_keys`.
    #[getter]
    fn essence<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        match &self.0 {
            Place::Kernel(kernel) => PyBytes::new(py, &kernel.essence()),
            Place::Extension(world) => PyBytes::new(py, &world.essence),
        }
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
        let Place::Kernel(kernel) = &self.0 else { return Err(Error::new_err("a QUIC stack has no kernel")) };
        let types = py.detach(|| kernel.read_types(&watch)).map_err(refuse)?;
        match (types, interrupted.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Some(types), _) => Ok(PyBytes::new(py, &types)),
            (None, reason) => Err(reason.unwrap_or_else(|| Error::new_err("stopped"))),
        }
    }

    /// Raises an error if the scenario asks what this world cannot do.
    fn check(&self, scenario: &PyScenario) -> PyResult<()> {
        let name = &scenario.inner.name;
        if let Some(class) = scenario.classes.keys().next() {
            let reason = "runs in the simulator alone; choose an algorithm of 'cwnd algorithms'";
            return Err(Error::new_err(format!("{name}: cca: the Python class {class} {reason}")));
        }
        let checked = match &self.0 {
            Place::Kernel(kernel) => kernel.check(&scenario.inner),
            Place::Extension(world) => world.check(&scenario.inner),
        };
        checked.map_err(|line| Error::new_err(format!("{name}: {line}")))
    }
}

impl PyWorld {
    fn kernel(kernel: inner::Inner) -> PyWorld {
        PyWorld(Place::Kernel(kernel))
    }

    pub fn run(&self, scenario: &Scenario, seed: u64, control: &Arc<Control>) -> Result<Run, Fault> {
        match &self.0 {
            Place::Kernel(kernel) => kernel.run(scenario, seed, control),
            Place::Extension(world) => world.run(scenario, seed, control),
        }
    }

    /// How many runs may go at a time, of `threads` that were asked for: live ones would take the processor from each
    /// other.
    pub fn threads(&self, threads: usize) -> usize {
        match &self.0 {
            Place::Kernel(kernel) if kernel.is_live() => 1,
            _ => threads,
        }
    }
}
