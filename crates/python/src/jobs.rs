//! Single runs of many scenarios: their keys, and their results as they arrive.

use crate::results::Runs;
use crate::run::{self, PyJob};
use crate::scenario::PyScenario;
use crate::world::PyWorld;
use cwnd_results::Run;
use cwnd_runner::{Done, JobKeys};
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Time between two batches of finished jobs.
const BATCH: Duration = Duration::from_millis(200);

/// The key of each of `seeds`; the scenario is hashed once. `essence` is that of the world, None for the simulator.
#[pyfunction]
#[pyo3(
    signature = (scenario, seeds, extra=&[][..], essence=None),
    text_signature = "(scenario, seeds, extra=b'', essence=None)"
)]
pub fn job_keys(scenario: &PyScenario, seeds: Vec<u64>, extra: &[u8], essence: Option<&[u8]>) -> Vec<String> {
    let keys = JobKeys::new(&scenario.inner, essence, extra);
    seeds.into_iter().map(|seed| keys.key(seed)).collect()
}

/// Runs each scenario with its seed, `threads` at a time (0: one per core), begun in their order: in the engine, or in
/// `world`.
///
/// `take(indices, runs)` is called now and then, and at the end, with the finished jobs' indices and their runs in the
/// same order. If it returns False or raises, no further job is begun. Before a signal or a custom algorithm's
/// exception is raised, `take` gets the finished runs: the first missing job is the one whose algorithm raised.
#[pyfunction]
#[pyo3(signature = (jobs, threads, take, world=None))]
pub fn run_jobs(
    py: Python,
    jobs: Vec<(Py<PyScenario>, u64)>,
    threads: usize,
    take: Py<PyAny>,
    world: Option<Py<PyWorld>>,
) -> PyResult<()> {
    let _running = run::Running::begin();
    let queue: Vec<PyJob> =
        jobs.iter().map(|(scenario, seed)| PyJob { scenario: scenario.get(), seed: *seed }).collect();
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
        // Kept apart from signals: after an exception, `take` gets no more runs.
        Ok(matches!(taking, Ok(true)))
    };
    let world = world.as_ref().map(|world| world.get());
    let (mut rest, ended) = py.detach(|| run::work(&queue, threads, 1, world, watch));
    if taking? {
        hand_over(&mut rest)?;
    }
    ended
}
