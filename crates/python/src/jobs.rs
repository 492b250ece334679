//! Single runs of many scenarios: their names, and what they answer as it comes.

use crate::Error;
use crate::run::{self, Job};
use crate::scenario::Scenario;
use cwnd_engine::JobKeys;
use cwnd_engine::results::Run;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Between two batches of finished jobs.
const BATCH: Duration = Duration::from_millis(200);

/// 32 hex digits that name the run of `scenario` with `seed` by all that it depends on. `extra` is what else
/// that is, such as the source of its custom algorithms.
#[pyfunction]
#[pyo3(signature = (scenario, seed, extra=&[][..]), text_signature = "(scenario, seed, extra=b'')")]
pub fn job_key(scenario: &Scenario, seed: u64, extra: &[u8]) -> String {
    cwnd_engine::job_key(&scenario.inner, seed, extra)
}

/// The key of each of `seeds`, at the price of one.
#[pyfunction]
#[pyo3(signature = (scenario, seeds, extra=&[][..]), text_signature = "(scenario, seeds, extra=b'')")]
pub fn job_keys(scenario: &Scenario, seeds: Vec<u64>, extra: &[u8]) -> Vec<String> {
    let keys = JobKeys::new(&scenario.inner, extra);
    seeds.into_iter().map(|seed| keys.key(seed)).collect()
}

/// Runs each scenario with its seed, `threads` at a time (0: one per core), begun in their order.
///
/// `take` gets what is done now and then, and at the end: pairs of a job's index and its run as JSON. When it
/// returns False the rest is left out; what it raises ends the runs too. Before a signal or an exception of a
/// custom algorithm is raised it gets what was done: the job whose algorithm raised is the first that is missing.
#[pyfunction]
pub fn run_jobs(py: Python, jobs: Vec<(Py<Scenario>, u64)>, threads: usize, take: Py<PyAny>) -> PyResult<()> {
    let _running = run::Running::begin();
    let queue: Vec<Job> =
        jobs.iter().map(|(scenario, seed)| Job { question: scenario.get(), seed: *seed }).collect();
    let hand_over = |batch: &mut Vec<(usize, String)>| -> PyResult<bool> {
        if batch.is_empty() {
            return Ok(true);
        }
        let answer = Python::attach(|py| take.call1(py, (std::mem::take(batch),)))?;
        Python::attach(|py| Ok(!answer.bind(py).is(pyo3::types::PyBool::new(py, false))))
    };
    let mut handed = Instant::now();
    let mut taking = Ok(true);
    let watch = |batch: &mut Vec<(usize, String)>, _: f64| {
        Python::attach(|py| py.check_signals())?;
        if handed.elapsed() < BATCH {
            return Ok(true);
        }
        taking = hand_over(batch);
        handed = Instant::now();
        // What `take` raises is kept apart from signals: it gets no more.
        Ok(matches!(taking, Ok(true)))
    };
    let finish = |job: usize, run: Run, _: Instant| (job, to_json(&run));
    let (mut rest, ended) = py.detach(|| run::work(&queue, threads, finish, watch));
    if taking? {
        hand_over(&mut rest)?;
    }
    ended
}

/// Statistics over runs of one scenario, without keeping the runs.
#[pyclass(module = "cwnd._cwnd")]
pub struct Summarizer {
    scenario: Py<Scenario>,
    inner: cwnd_engine::Summarizer,
    runs: usize,
}

#[pymethods]
impl Summarizer {
    #[new]
    fn new(scenario: Py<Scenario>) -> Self {
        Summarizer { scenario, inner: cwnd_engine::Summarizer::default(), runs: 0 }
    }

    /// Adds a run, given as JSON. Raises `Error` when it is not a run of this scenario.
    fn add(&mut self, run: &str) -> PyResult<()> {
        let scenario = &self.scenario.get().inner;
        let run: Run =
            serde_json::from_str(run).map_err(|error| Error::new_err(format!("not a run; {error}")))?;
        if run.flows.iter().any(|flow| flow.flow as usize >= scenario.flows.len()) {
            return Err(Error::new_err("a run of another scenario; its flows are not those of this one"));
        }
        self.inner.add(scenario, &run);
        self.runs += 1;
        Ok(())
    }

    /// Means and 95 % intervals of each metric, as JSON. Raises `Error` without a run.
    fn json(&self) -> PyResult<String> {
        if self.runs == 0 {
            return Err(Error::new_err("no runs; give at least one"));
        }
        Ok(serde_json::to_string(&self.inner.summary()).expect("a summary has no map with odd keys"))
    }
}

fn to_json(run: &Run) -> String {
    serde_json::to_string(run).expect("a run has no map with odd keys")
}
