//! The algorithms in the running kernel.

use crate::Error;
use pyo3::prelude::*;

/// Loads an algorithm; returns its name in the kernel.
#[pyfunction]
pub fn kernel_load(
    py: Python,
    algorithm: &str,
    name: Option<&str>,
    params: Vec<(String, String)>,
    default: bool,
) -> PyResult<String> {
    let algorithm = cwnd_algorithms::find(algorithm).map_err(refuse)?;
    let mut values = algorithm.defaults();
    for (param, value) in &params {
        algorithm.set(&mut values, param, value).map_err(refuse)?;
    }
    let name = name.map_or_else(|| algorithm.name.replace('-', "_"), str::to_owned);
    py.detach(|| linux::load(&algorithm, &values, &name, default)).map_err(Error::new_err)?;
    Ok(name)
}

/// Takes what was loaded under a name out again.
#[pyfunction]
pub fn kernel_unload(py: Python, name: &str) -> PyResult<()> {
    py.detach(|| linux::unload(name)).map_err(Error::new_err)
}

/// What is loaded, as a JSON list.
#[pyfunction]
pub fn kernel_status(py: Python) -> PyResult<String> {
    py.detach(linux::status).map_err(Error::new_err)
}

/// What loading needs and whether it is there, as a JSON list.
#[pyfunction]
pub fn kernel_doctor(py: Python) -> PyResult<String> {
    py.detach(linux::doctor).map_err(Error::new_err)
}

fn refuse(error: cwnd_algorithms::Error) -> PyErr {
    Error::new_err(error.to_string())
}

#[cfg(target_os = "linux")]
mod linux {
    use cwnd_algorithms::{Algorithm, Params};
    use cwnd_kernel::Host;

    pub fn load(algorithm: &Algorithm, params: &Params, name: &str, default: bool) -> Result<(), String> {
        cwnd_kernel::load(&Host::this(), algorithm, params, name, default).map_err(|error| error.to_string())
    }

    pub fn unload(name: &str) -> Result<(), String> {
        cwnd_kernel::unload(&Host::this(), name).map_err(|error| error.to_string())
    }

    pub fn status() -> Result<String, String> {
        let status = cwnd_kernel::status(&Host::this()).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&status).expect("a status has no map with odd keys"))
    }

    pub fn doctor() -> Result<String, String> {
        Ok(serde_json::to_string(&Host::this().checks()).expect("a check has no map with odd keys"))
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use cwnd_algorithms::{Algorithm, Params};

    const ELSEWHERE: &str = "only Linux can load algorithms; this is another system";

    pub fn load(_: &Algorithm, _: &Params, _: &str, _: bool) -> Result<(), String> {
        Err(ELSEWHERE.to_owned())
    }

    pub fn unload(_: &str) -> Result<(), String> {
        Err(ELSEWHERE.to_owned())
    }

    pub fn status() -> Result<String, String> {
        Err(ELSEWHERE.to_owned())
    }

    pub fn doctor() -> Result<String, String> {
        Err(ELSEWHERE.to_owned())
    }
}
