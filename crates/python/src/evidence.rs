//! Captures for Python.

use crate::{Error, refuse};
use cwnd_evidence::Wanted;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex};

/// A reader that ends when Python has a signal for the user: a capture may take long, and standard input may wait.
struct Interruptible<R> {
    reader: R,
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            if let Ok(mut place) = self.raised.lock() {
                *place = Some(raised);
            }
            return Err(io::Error::other("interrupted"));
        }
        self.reader.read(buffer)
    }
}

/// An `OSError` with its number, which Python shows without Rust's "(os error 2)".
fn os_error(failed: io::Error) -> PyErr {
    match failed.raw_os_error() {
        Some(number) => PyOSError::new_err((number, failed.to_string())),
        None => failed.into(),
    }
}

/// Explains a capture as JSON: the one in `capture`, of the file `path`, or of standard input.
///
/// `rest`: standard input goes on behind `capture`. `series` is the number of the connection whose time series
/// are wanted, 0 that with the most bytes.
#[pyfunction]
#[pyo3(signature = (path=None, capture=None, *, rest=false, series=None))]
pub fn explain(
    py: Python,
    path: Option<&str>,
    capture: Option<Vec<u8>>,
    rest: bool,
    series: Option<usize>,
) -> PyResult<String> {
    let series = match series {
        None => Wanted::Nothing,
        Some(0) => Wanted::First,
        Some(number) => Wanted::Number(number),
    };
    answer(py, path, capture, rest, |reader| cwnd_evidence::explain_with(reader, series))
}

/// Identifies the algorithms of a capture as JSON: the one in `capture`, of the file `path`, or of standard input.
#[pyfunction]
#[pyo3(signature = (path=None, capture=None))]
pub fn identify(py: Python, path: Option<&str>, capture: Option<Vec<u8>>) -> PyResult<String> {
    answer(py, path, capture, false, cwnd_identify::identify)
}

fn answer<T: Serialize + Send>(
    py: Python,
    path: Option<&str>,
    capture: Option<Vec<u8>>,
    rest: bool,
    ask: impl FnOnce(Box<dyn Read>) -> Result<T, cwnd_evidence::Error> + Send,
) -> PyResult<String> {
    let reader: Box<dyn Read + Send> = match (capture, path) {
        (Some(bytes), _) if rest => Box::new(Cursor::new(bytes).chain(io::stdin())),
        (Some(bytes), _) => Box::new(Cursor::new(bytes)),
        (None, Some(path)) => Box::new(File::open(path).map_err(os_error)?),
        (None, None) => Box::new(io::stdin()),
    };
    let raised = Arc::new(Mutex::new(None));
    let reader = Interruptible { reader, raised: Arc::clone(&raised) };
    let answered = py.detach(|| ask(Box::new(reader)));
    if let Some(raised) = raised.lock().ok().and_then(|mut place| place.take()) {
        return Err(raised);
    }
    let answered = answered.map_err(refuse)?;
    serde_json::to_string(&answered).map_err(|failed| Error::new_err(failed.to_string()))
}
