//! Verdicts on expectations of runs whose quantities Python has.

use crate::refuse;
use cwnd_results::expect::{self, FlowSample, Moment, SHOWN, Series, Source, Unseen, Verdict};
use cwnd_scenario::Expectation;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::cell::RefCell;

/// The reason why a run does not show a quantity, or the quantity.
#[derive(FromPyObject)]
enum Shown<T> {
    Unseen(String),
    Seen(T),
}

/// Columns of little-endian numbers: times and values, doubles, and the rows of calls, 64 bits each.
type Columns = (PyBackedBytes, PyBackedBytes, Option<PyBackedBytes>);

/// A run as functions of Python. The first exception ends the verdict.
struct Functions<'a, 'py> {
    metric: &'a Bound<'py, PyAny>,
    series: &'a Bound<'py, PyAny>,
    events: &'a Bound<'py, PyAny>,
    raised: RefCell<Option<PyErr>>,
}

impl Functions<'_, '_> {
    fn taken<T>(&self, answer: PyResult<Shown<T>>) -> Result<T, Unseen> {
        match answer {
            Ok(Shown::Seen(value)) => Ok(value),
            Ok(Shown::Unseen(reason)) => Err(Unseen(reason)),
            Err(raised) => {
                self.raised.borrow_mut().get_or_insert(raised);
                Err(Unseen(String::new()))
            }
        }
    }
}

impl Source for Functions<'_, '_> {
    fn metric(&self, _: &Expectation) -> Result<f64, Unseen> {
        self.taken(self.metric.call0().and_then(|answer| answer.extract()))
    }

    fn series(&self, _: &Expectation) -> Result<Series, Unseen> {
        let answer = self.series.call0().and_then(|answer| answer.extract::<Shown<Columns>>());
        let (time_s, values, calls) = self.taken(answer)?;
        let numbers =
            |column: &PyBackedBytes| column.as_chunks().0.iter().copied().map(f64::from_le_bytes).collect();
        let rows =
            |column: &PyBackedBytes| column.as_chunks().0.iter().copied().map(u64::from_le_bytes).collect();
        let series =
            Series { time_s: numbers(&time_s), values: numbers(&values), calls: calls.as_ref().map(rows) };
        let is_even = series.time_s.len() == series.values.len()
            && series.calls.as_ref().is_none_or(|calls| calls.len() == series.time_s.len());
        self.taken(if is_even {
            Ok(Shown::Seen(series))
        } else {
            Err(PyValueError::new_err("columns of different lengths"))
        })
    }

    fn events(&self, flow: u32, kind: &str) -> Result<Vec<Moment>, Unseen> {
        let answer = self.events.call1((flow, kind)).and_then(|answer| answer.extract());
        let rows: Vec<(f64, f64, u64)> = self.taken(answer)?;
        Ok(rows.into_iter().map(|(time_s, round_s, call)| Moment { time_s, round_s, call }).collect())
    }
}

/// The verdict on an expectation (JSON): "pass", "fail" or "cannot be seen", the value that it is on and the expectation, in words.
///
/// `metric()` answers a number, `series()` columns of times, values and rows of calls, `events(flow, kind)` a time, a smoothed RTT and
/// a row of calls for each; where the run does not show them, the reason as a text.
#[pyfunction]
pub fn judge(
    expectation: &str,
    metric: &Bound<PyAny>,
    series: &Bound<PyAny>,
    events: &Bound<PyAny>,
) -> PyResult<(&'static str, String, String)> {
    let expectation: Expectation = serde_json::from_str(expectation).map_err(refuse)?;
    let run = Functions { metric, series, events, raised: RefCell::default() };
    let Verdict { outcome, found, expected, .. } = expect::judge(&expectation, &run);
    match run.raised.into_inner() {
        Some(raised) => Err(raised),
        None => Ok((outcome.as_str(), found, expected)),
    }
}

/// Kinds of events that samples show.
#[pyfunction]
pub fn sampled_events() -> Vec<&'static str> {
    SHOWN.to_vec()
}

/// The events that the samples of one flow show: kind, time and smoothed RTT of each, in the order of time.
#[pyfunction]
pub fn sightings(
    time_s: Vec<f64>,
    cwnd_pkts: Vec<f64>,
    ssthresh_pkts: Vec<Option<f64>>,
    rtt_ms: Vec<Option<f64>>,
) -> Vec<(&'static str, f64, f64)> {
    let rows = time_s.into_iter().zip(cwnd_pkts).zip(ssthresh_pkts).zip(rtt_ms);
    let rows = rows.map(|(((time_s, cwnd_pkts), ssthresh_pkts), rtt_ms)| FlowSample {
        time_s,
        cwnd_pkts,
        ssthresh_pkts,
        rtt_ms,
    });
    let seen = expect::sightings(&rows.collect::<Vec<_>>());
    seen.into_iter().map(|one| (one.kind, one.time_s, one.round_s)).collect()
}
