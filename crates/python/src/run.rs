//! Runs on worker threads while the calling thread watches for signals.

use crate::custom::{Failure, PythonControl};
use crate::results::Runs;
use crate::scenario::PyScenario;
use crate::world::PyWorld;
use crate::{Error, Fault};
use cwnd_algorithms::CongestionControl;
use cwnd_engine::Control;
use cwnd_results::Run;
use cwnd_runner::{Done, Ended};
use cwnd_scenario::{Cca, Flow};
use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many calls are running, a signal when one of them ends, and whether the interpreter is ending.
static RUNNING: Mutex<usize> = Mutex::new(0);
static CALL_ENDED: Condvar = Condvar::new();
static ENDING: AtomicBool = AtomicBool::new(false);

/// How long the end of the interpreter waits for calls in other threads.
const END: Duration = Duration::from_secs(5);

/// A running call, from before it releases the interpreter until after it has it again.
pub struct Running;

impl Running {
    pub fn begin() -> Self {
        *running() += 1;
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *running() -= 1;
        CALL_ENDED.notify_all();
    }
}

fn running() -> MutexGuard<'static, usize> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops the runs of daemon threads and waits for them: a thread that returns to an interpreter that has ended aborts
/// the process.
#[pyfunction]
pub fn end_runs(py: Python) {
    ENDING.store(true, Relaxed);
    py.detach(|| drop(CALL_ENDED.wait_timeout_while(running(), END, |calls| *calls > 0)));
}

/// One scenario with one seed.
pub struct PyJob<'a> {
    pub scenario: &'a PyScenario,
    pub seed: u64,
}

/// Runs every scenario with each of its seeds, `jobs` at a time (0: one per core): in the engine, or in `world`.
///
/// `progress` is called now and then with the share that is done, from 0 to 1, and at the end with 1. The results do
/// not depend on `jobs` or `threads`. If a scenario has custom algorithms, which share the interpreter, one run goes at a
/// time, on one thread. In the engine others go on `threads` threads each (0: on the cores that no other run has, if all gain from it).
#[pyfunction]
#[pyo3(signature = (scenarios, jobs, progress=None, world=None, threads=0))]
pub fn run(
    py: Python,
    scenarios: Vec<Py<PyScenario>>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
    world: Option<Py<PyWorld>>,
    threads: usize,
) -> PyResult<Vec<Runs>> {
    let _running = Running::begin();
    let scenarios: Vec<&PyScenario> = scenarios.iter().map(|scenario| scenario.get()).collect();
    let queue: Vec<PyJob> = scenarios.iter().flat_map(|scenario| line_up(scenario)).collect();
    let watch = |_: &mut Vec<Done>, share: f64| {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (share,))?;
            }
            Ok(true)
        })
    };
    let world = world.as_ref().map(|world| world.get());
    let (mut done, ended) = py.detach(|| work(&queue, jobs, threads, world, watch));
    ended?;
    if let Some(progress) = &progress {
        progress.call1(py, (1.0,))?;
    }
    done.sort_by_key(|answer| answer.job);
    let mut done = done.into_iter();
    let mut answers = |scenario: &PyScenario| done.by_ref().take(scenario.inner.repeat as usize).collect();
    Ok(scenarios.iter().map(|scenario| in_order(answers(scenario))).collect())
}

fn line_up(scenario: &PyScenario) -> impl Iterator<Item = PyJob<'_>> {
    let seeds = (0..u64::from(scenario.inner.repeat)).map(|i| scenario.inner.seed.wrapping_add(i));
    seeds.map(move |seed| PyJob { scenario, seed })
}

/// [`cwnd_runner::run_jobs`] with custom algorithms in Python, which share the interpreter: one run goes at a time.
///
/// Returns the runs that `watch` did not take, and the reason if not all jobs were run: an error, an exception of a
/// class or the end of the interpreter.
pub fn work(
    queue: &[PyJob],
    jobs: usize,
    threads: usize,
    world: Option<&PyWorld>,
    mut watch: impl FnMut(&mut Vec<Done>, f64) -> PyResult<bool>,
) -> (Vec<Done>, PyResult<()>) {
    let custom = queue.iter().any(|job| !job.scenario.classes.is_empty());
    let at_once = if custom { 1 } else { jobs };
    let at_once = world.map_or(at_once, |world| world.threads(at_once));
    let threads = if custom { 1 } else { threads_of_a_run(queue, at_once, threads) };
    let jobs: Vec<cwnd_runner::Job> =
        queue.iter().map(|job| cwnd_runner::Job { scenario: &job.scenario.inner, seed: job.seed }).collect();
    let control = Arc::new(Control::with_threads(threads));
    let failure = Arc::new(Failure::default());
    let last = LastFlow::default();
    let custom = |job: usize, cca: &Cca| -> Option<Box<dyn CongestionControl>> {
        let PyJob { scenario, seed } = &queue[job];
        let class = scenario.classes.get(&cca.name)?;
        let flows = &scenario.inner.flows;
        let flow = last.of(flows, cca);
        let profile = flow.map_or("linux", |flow| &flows[flow].stack.profile);
        Some(Box::new(PythonControl::new(class, cca, (flow, profile), *seed, &control, &failure)))
    };
    let watch_end = |done: &mut Vec<Done>, share: f64| {
        if ENDING.load(Relaxed) {
            return Err(PySystemExit::new_err("the interpreter ends"));
        }
        watch(done, share)
    };
    let run = |index: usize, job: &cwnd_runner::Job| -> Result<Run, Fault> {
        match world {
            None => {
                job.scenario.check_algorithms()?;
                Ok(cwnd_engine::run(job.scenario, job.seed, &|cca| custom(index, cca), &control)?)
            }
            Some(world) => world.run(job.scenario, job.seed, &control),
        }
    };
    let (done, ended) = cwnd_runner::run_jobs(&jobs, at_once, &control, run, watch_end);
    let ended = match ended {
        Ok(()) | Err(Ended::Stopped(None)) => Ok(()),
        Err(Ended::Stopped(Some(reason))) => Err(reason),
        Err(Ended::NoThread(reason)) => {
            let reason = format!("no thread can be made ({reason}); leave more memory or processes");
            Err(Error::new_err(reason))
        }
        Err(Ended::Unfinished(job, reason)) => {
            let PyJob { scenario, seed } = &queue[job];
            let name = &scenario.inner.name;
            let refused = Error::new_err(format!("{name}, seed {seed}: {reason}"));
            Python::attach(|py| refused.value(py).setattr("scenario", name)).and(Err(refused))
        }
    };
    (done, failure.take().map_or(ended, Err))
}

/// On how many threads each run goes, if `at_once` of them do (0: one per core) and `threads` were asked for (0: on the cores
/// that no other run has, if all gain from it).
fn threads_of_a_run(queue: &[PyJob], at_once: usize, threads: usize) -> usize {
    match threads {
        0 if queue.iter().all(|job| cwnd_engine::gains_from_threads(&job.scenario.inner)) => {
            cwnd_runner::threads_for(0) / cwnd_runner::threads_for(at_once).min(queue.len()).max(1)
        }
        0 => 1,
        threads => threads,
    }
}

fn in_order(answers: Vec<Done>) -> Runs {
    let begin = answers.iter().map(|answer| answer.begin).min();
    let end = answers.iter().map(|answer| answer.end).max();
    let wall = begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin);
    Runs::new(answers.into_iter().map(|answer| answer.run).collect(), wall)
}

/// The flow that was asked for last. Flows are asked for in their order: the search for one begins at the one before.
#[derive(Default)]
pub struct LastFlow(AtomicUsize);

impl LastFlow {
    /// The index of the flow whose algorithm is this very one.
    pub fn of(&self, flows: &[Flow], cca: &Cca) -> Option<usize> {
        let mut places = (0..flows.len()).cycle().skip(self.0.load(Relaxed)).take(flows.len());
        let flow = places.find(|&flow| std::ptr::eq(&*flows[flow].cca, cca));
        self.0.store(flow.unwrap_or(0), Relaxed);
        flow
    }
}
