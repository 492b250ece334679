//! The registry as JSON.

use crate::Error;
use cwnd_algorithms::{Algorithm, Param};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// The registry in its order, as a JSON list.
#[pyfunction]
pub fn algorithms() -> String {
    cwnd_algorithms::all().iter().map(describe).collect::<Value>().to_string()
}

/// One algorithm of the registry, as a JSON object. The error suggests the nearest name.
#[pyfunction]
pub fn algorithm(name: &str) -> PyResult<String> {
    match cwnd_algorithms::find(name) {
        Ok(found) => Ok(describe(&found).to_string()),
        Err(unknown) => Err(Error::new_err(unknown.to_string())),
    }
}

fn describe(algorithm: &Algorithm) -> Value {
    json!({
        "name": algorithm.name,
        "title": algorithm.title,
        "year": algorithm.year,
        "paper": algorithm.paper,
        "kind": algorithm.kind,
        "status": algorithm.status,
        "state_bytes": algorithm.state_bytes,
        "params": algorithm.params.iter().map(describe_param).collect::<Value>(),
    })
}

fn describe_param(param: &Param) -> Value {
    json!({
        "name": param.name,
        "default": written(param, param.default),
        "accepted": param.accepted(),
        "doc": param.doc,
    })
}

/// A stored value as JSON: a number, or the name of a choice.
fn written(param: &Param, stored: u32) -> Value {
    let text = param.show(stored);
    if param.choices.is_empty() { text.parse().unwrap_or(Value::String(text)) } else { Value::String(text) }
}
