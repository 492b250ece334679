//! Single runs of many scenarios: their keys, and their results as they come.

use crate::results::Runs;
use crate::run::{self, Job};
use crate::scenario::Scenario;
use cwnd_results::Run;
use cwnd_runner::{Done, JobKeys};
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Between two batches of finished jobs.
const BATCH: Duration = Duration::from_millis(200);

/// 32 hex digits that name the run of `scenario` with `seed` by all that it depends on. `extra` is what else
/// that is, such as the source of its custom algorithms.
#[pyfunction]
#[pyo3(signature = (scenario, seed, extra=&[][..]), text_signature = "(scenario, seed, extra=b'')")]
pub fn job_key(scenario: &Scenario, seed: u64, extra: &[u8]) -> String {
    cwnd_runner::job_key(&scenario.inner, seed, extra)
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
/// `take` gets finished runs now and then, and at the end: the places of their jobs, and the runs in that order. When
/// it returns False the rest is left out; an exception of its own ends the runs too. Before a signal or an exception of
/// a custom algorithm is raised it gets the finished runs: the job whose algorithm raised is the first that is missing.
#[pyfunction]
pub fn run_jobs(py: Python, jobs: Vec<(Py<Scenario>, u64)>, threads: usize, take: Py<PyAny>) -> PyResult<()> {
    let _running = run::Running::begin();
    let queue: Vec<Job> =
        jobs.iter().map(|(scenario, seed)| Job { question: scenario.get(), seed: *seed }).collect();
    let hand_over = |batch: &mut Vec<Done>| -> PyResult<bool> {
        if batch.is_empty() {
            return Ok(true);
        }
        let (places, runs): (Vec<usize>, Vec<Run>) =
            std::mem::take(batch).into_iter().map(|done| (done.job, done.run)).unzip();
        Python::attach(|py| {
            let answer = take.call1(py, (places, Runs::new(runs, Duration::ZERO)))?;
            Ok(!answer.bind(py).is(pyo3::types::PyBool::new(py, false)))
        })
    };
    let mut handed = Instant::now();
    let mut taking = Ok(true);
    let watch = |batch: &mut Vec<Done>, _: f64| {
        Python::attach(|py| py.check_signals())?;
        if handed.elapsed() < BATCH {
            return Ok(true);
        }
        taking = hand_over(batch);
        handed = Instant::now();
        // An exception of `take` is kept apart from signals: it gets no more runs.
        Ok(matches!(taking, Ok(true)))
    };
    let (mut rest, ended) = py.detach(|| run::work(&queue, threads, watch));
    if taking? {
        hand_over(&mut rest)?;
    }
    ended
}
