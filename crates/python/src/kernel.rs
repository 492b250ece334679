//! The algorithms in the running kernel.

use crate::refuse;
use pyo3::prelude::*;

pub use linux::KernelTrace;

/// Loads an algorithm; returns its name in the kernel.
#[pyfunction]
pub fn kernel_load(
    py: Python,
    algorithm: &str,
    name: Option<&str>,
    params: Vec<(String, String)>,
    default: bool,
    force: bool,
) -> PyResult<String> {
    let algorithm = cwnd_algorithms::find(algorithm).map_err(refuse)?;
    let mut values = algorithm.defaults();
    for (param, value) in &params {
        algorithm.set(&mut values, param, value).map_err(refuse)?;
    }
    let name = name.map_or_else(|| algorithm.name.replace('-', "_"), str::to_owned);
    py.detach(|| linux::load(&algorithm, &values, &name, default, force)).map_err(refuse)?;
    Ok(name)
}

/// Unloads the algorithm of this name; if it was the default, returns the restored default.
#[pyfunction]
pub fn kernel_unload(py: Python, name: &str) -> PyResult<Option<String>> {
    py.detach(|| linux::unload(name)).map_err(refuse)
}

/// The loaded algorithms, as a JSON list.
#[pyfunction]
pub fn kernel_status(py: Python) -> PyResult<String> {
    py.detach(linux::status).map_err(refuse)
}

/// Lists what loading needs and whether this machine has it, as JSON.
#[pyfunction]
pub fn kernel_doctor(py: Python) -> PyResult<String> {
    py.detach(linux::doctor).map_err(refuse)
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::refuse;
    use crate::results::{doubles, words};
    use cwnd_algorithms::{Algorithm, Params};
    use cwnd_kernel::{ConnectionTrace, Error, Filter, Host};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    /// Traces live connections from its creation until `stop`.
    #[pyclass(module = "cwnd._cwnd")]
    pub struct KernelTrace {
        inner: ConnectionTrace,
    }

    #[pymethods]
    impl KernelTrace {
        /// Where traces are made, as results have it.
        #[getter]
        fn world(&self) -> &'static str {
            cwnd_emulator::WORLD
        }

        /// `port` is of either end, `cca` the algorithm's name in the kernel; None: any. `interval_us` is the least
        /// time between two samples of a connection; 0: a sample at each ACK.
        #[new]
        fn new(py: Python, port: Option<u16>, cca: Option<String>, interval_us: u32) -> PyResult<Self> {
            let inner = py
                .detach(|| ConnectionTrace::start(&Host::this(), &Filter { port, cca, interval_us }))
                .map_err(refuse)?;
            Ok(KernelTrace { inner })
        }

        /// The samples since the last call, a column each, as little-endian numbers: `f64` for times and rates, `u32`
        /// for the rest.
        fn read<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            let samples = self.inner.read();
            let columns = PyDict::new(py);
            columns.set_item("time_s", doubles(py, &samples.time_s)?)?;
            columns.set_item("flow", words(py, &samples.flow)?)?;
            columns.set_item("cwnd_pkts", words(py, &samples.cwnd_pkts)?)?;
            columns.set_item("min_cwnd_pkts", words(py, &samples.min_cwnd_pkts)?)?;
            columns.set_item("max_cwnd_pkts", words(py, &samples.max_cwnd_pkts)?)?;
            columns.set_item("ssthresh_pkts", words(py, &samples.ssthresh_pkts)?)?;
            columns.set_item("in_flight_pkts", words(py, &samples.in_flight_pkts)?)?;
            columns.set_item("rtt_ms", doubles(py, &samples.rtt_ms)?)?;
            columns.set_item("throughput_mbps", doubles(py, &samples.throughput_mbps)?)?;
            columns.set_item("pacing_mbps", doubles(py, &samples.pacing_mbps)?)?;
            columns.set_item("state", words(py, &samples.state)?)?;
            Ok(columns)
        }

        /// The connections of the samples read so far, as a JSON list.
        fn connections(&self) -> String {
            let connections: Vec<_> = self.inner.connections().collect();
            serde_json::to_string(&connections).expect("a connection has no map with odd keys")
        }

        /// Records that are missing.
        fn dropped(&self) -> u64 {
            self.inner.dropped()
        }

        /// Seconds since the beginning.
        fn elapsed_s(&self) -> f64 {
            self.inner.elapsed_s()
        }

        /// Ends the tracing; samples until now can still be read.
        fn stop(&mut self, py: Python) {
            py.detach(|| self.inner.stop());
        }
    }

    pub fn load(
        algorithm: &Algorithm,
        params: &Params,
        name: &str,
        default: bool,
        force: bool,
    ) -> Result<(), Error> {
        cwnd_kernel::load(&Host::this(), algorithm, params, name, default, force)
    }

    pub fn unload(name: &str) -> Result<Option<String>, Error> {
        cwnd_kernel::unload(&Host::this(), name)
    }

    pub fn status() -> Result<String, Error> {
        let status = cwnd_kernel::status(&Host::this())?;
        Ok(serde_json::to_string(&status).expect("a status has no map with odd keys"))
    }

    pub fn doctor() -> Result<String, Error> {
        Ok(serde_json::to_string(&Host::this().checks()).expect("a check has no map with odd keys"))
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use crate::Error;
    use cwnd_algorithms::{Algorithm, Params};
    use pyo3::prelude::*;

    const ELSEWHERE: &str = "only Linux can load algorithms and trace connections; this is another system";

    #[pyclass(module = "cwnd._cwnd")]
    pub struct KernelTrace;

    #[pymethods]
    impl KernelTrace {
        #[new]
        fn new(_: Option<u16>, _: Option<String>, _: u32) -> PyResult<Self> {
            Err(Error::new_err(ELSEWHERE))
        }
    }

    pub fn load(_: &Algorithm, _: &Params, _: &str, _: bool, _: bool) -> Result<(), &'static str> {
        Err(ELSEWHERE)
    }

    pub fn unload(_: &str) -> Result<Option<String>, &'static str> {
        Err(ELSEWHERE)
    }

    pub fn status() -> Result<String, &'static str> {
        Err(ELSEWHERE)
    }

    pub fn doctor() -> Result<String, &'static str> {
        Err(ELSEWHERE)
    }
}
