//! The registry and the presets as JSON.

use crate::refuse;
use cwnd_scenario::catalogue;
use pyo3::prelude::*;

/// The registry in its order, as a JSON list.
#[pyfunction]
pub fn algorithms() -> String {
    catalogue::algorithms().to_string()
}

/// The presets, as a JSON list.
#[pyfunction]
pub fn presets() -> String {
    catalogue::presets().to_string()
}

/// The names that a key of a scenario accepts, such as "queue".
#[pyfunction]
pub fn choices(key: &str) -> PyResult<Vec<&'static str>> {
    catalogue::choices(key).map_err(refuse)
}

/// The tables of a scenario with their keys, as a JSON list.
#[pyfunction]
pub fn keys() -> String {
    catalogue::keys().to_string()
}

/// The JSON Schema of scenarios.
#[pyfunction]
pub fn schema() -> String {
    catalogue::schema().to_string()
}

/// One algorithm of the registry or one preset, as a JSON object. The error suggests the nearest name.
#[pyfunction]
pub fn algorithm(name: &str) -> PyResult<String> {
    catalogue::algorithm(name).map(|found| found.to_string()).map_err(refuse)
}
