//! Headers that Python has compiled to libraries, called as those of the registry are.

#![expect(unsafe_code, reason = "calls hooks of a library that Python has loaded")]

use cwnd_algorithms::Instance;
use pyo3::prelude::*;
use std::collections::HashMap;

/// The address of the table of each class that is made of a header's library; Python never unloads such a library.
pub struct Libraries(HashMap<String, usize>);

impl Libraries {
    /// Those of `classes`, which have the address in `TABLE`.
    pub fn of(py: Python, classes: &HashMap<String, Py<PyAny>>) -> PyResult<Libraries> {
        let mut tables = HashMap::new();
        for (name, class) in classes {
            if let Some(table) = class.bind(py).getattr_opt("TABLE")? {
                tables.insert(name.clone(), table.extract()?);
            }
        }
        Ok(Libraries(tables))
    }

    /// Returns true if every class is one of them.
    pub fn are_all(&self, classes: &HashMap<String, Py<PyAny>>) -> bool {
        self.0.len() == classes.len()
    }

    /// An instance of the algorithm of that name; None: its class is Python.
    pub fn instance(&self, name: &str) -> Option<Instance> {
        // SAFETY: `header_files.py` compiles the library from the package's `table.c`, and keeps it.
        self.0.get(name).map(|&table| unsafe { Instance::of_library(table) })
    }
}
