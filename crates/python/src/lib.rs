//! The Python extension module: conversions, threads and errors. Other crates decide what a scenario means and what a
//! run answers.

mod algorithms;
mod attack;
mod capture;
mod custom;
mod evidence;
mod expect;
mod header;
mod hooks;
mod jobs;
mod kernel;
mod library;
mod memory;
mod quic;
mod record;
mod results;
mod run;
mod scenario;
mod world;

#[cfg(feature = "huge-pages")]
use cwnd_heap::Allocator;
#[cfg(not(feature = "huge-pages"))]
use std::alloc::System as Allocator;

#[global_allocator]
static ALLOCATOR: memory::OrEnd<Allocator> = memory::OrEnd(Allocator);

pyo3::create_exception!(
    cwnd,
    Error,
    pyo3::exceptions::PyValueError,
    "The request cannot be met: one line, with what was found and what is accepted."
);

/// An error of another crate, whose line is for the user.
type Fault = Box<dyn std::error::Error + Send + Sync>;

fn refuse(error: impl std::fmt::Display) -> pyo3::PyErr {
    Error::new_err(error.to_string())
}

#[pyo3::pymodule]
mod _cwnd {
    #[pymodule_export]
    use super::Error;
    #[pymodule_export]
    use super::algorithms::{algorithm, algorithms, choices, keys, presets, schema};
    #[pymodule_export]
    use super::attack::{attack_evaluate, attack_measure, attack_score};
    #[pymodule_export]
    use super::capture::capture;
    #[pymodule_export]
    use super::custom::{PyAck, PyWindow};
    #[pymodule_export]
    use super::evidence::{explain, identify};
    #[pymodule_export]
    use super::expect::{judge, sampled_events, sightings};
    #[pymodule_export]
    use super::header::{PyHeader, header_code, header_controls_window};
    #[pymodule_export]
    use super::hooks::PyHooks;
    #[pymodule_export]
    use super::jobs::{job_keys, run_jobs};
    #[pymodule_export]
    use super::kernel::{KernelTrace, kernel_doctor, kernel_load, kernel_status, kernel_unload};
    #[pymodule_export]
    use super::quic::{PyQuicBridge, PyQuicSetup, aioquic_algorithms};
    #[pymodule_export]
    use super::record::record;
    #[pymodule_export]
    use super::results::{Runs, estimate, metrics, t_quantile, t_tail};
    #[pymodule_export]
    use super::run::{end_runs, run};
    #[pymodule_export]
    use super::scenario::{PyScenario, expectations, sweep, time_ns};
    #[pymodule_export]
    use super::world::PyWorld;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &pyo3::Bound<pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyAnyMethods;
        let end = module.getattr("end_runs")?;
        module.py().import("atexit")?.call_method1("register", (end,)).map(|_| ())
    }
}
