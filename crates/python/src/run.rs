//! Runs on worker threads while the calling thread watches for signals.

use crate::Error;
use crate::custom::{Failure, PythonControl};
use crate::results::Runs;
use crate::scenario::Scenario;
use cwnd_algorithms::CongestionControl;
use cwnd_engine::Control;
use cwnd_runner::{Done, Ended};
use cwnd_scenario::Cca;
use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many calls are at work, when one of them ends, and whether the interpreter ends.
static RUNNING: Mutex<usize> = Mutex::new(0);
static CALL_ENDED: Condvar = Condvar::new();
static ENDING: AtomicBool = AtomicBool::new(false);

/// How long the end of the interpreter waits for calls in other threads.
const END: Duration = Duration::from_secs(5);

/// A call at work, from before it lets go of the interpreter until after it has it again.
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

/// Stops the runs of daemon threads and waits for them: a thread that comes back to an interpreter that has ended
/// aborts the process.
#[pyfunction]
pub fn end_runs(py: Python) {
    ENDING.store(true, Relaxed);
    py.detach(|| drop(CALL_ENDED.wait_timeout_while(running(), END, |calls| *calls > 0)));
}

/// One scenario with one seed.
pub struct Job<'a> {
    pub question: &'a Scenario,
    pub seed: u64,
}

/// Answers every scenario with each of its seeds, `jobs` at a time (0: one per core).
///
/// `progress` is called now and then with the share that is done, from 0 to 1, and at the end with 1. The answers do not depend on
/// `jobs`. Scenarios with custom algorithms make all runs take turns: they share the interpreter.
#[pyfunction]
#[pyo3(signature = (scenarios, jobs, progress=None))]
pub fn run(
    py: Python,
    scenarios: Vec<Py<Scenario>>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Runs>> {
    let _running = Running::begin();
    let questions: Vec<&Scenario> = scenarios.iter().map(|scenario| scenario.get()).collect();
    let queue: Vec<Job> = questions.iter().flat_map(|question| line_up(question)).collect();
    let watch = |_: &mut Vec<Done>, share: f64| {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (share,))?;
            }
            Ok(true)
        })
    };
    let (mut done, ended) = py.detach(|| work(&queue, jobs, watch));
    ended?;
    if let Some(progress) = &progress {
        progress.call1(py, (1.0,))?;
    }
    done.sort_by_key(|answer| answer.job);
    let mut done = done.into_iter();
    let mut answers = |question: &Scenario| done.by_ref().take(question.inner.repeat as usize).collect();
    Ok(questions.iter().map(|question| in_order(answers(question))).collect())
}

fn line_up(question: &Scenario) -> impl Iterator<Item = Job<'_>> {
    let seeds = (0..u64::from(question.inner.repeat)).map(|i| question.inner.seed.wrapping_add(i));
    seeds.map(move |seed| Job { question, seed })
}

/// [`cwnd_runner::run_jobs`] with classes of Python, whose runs take turns: they share the interpreter.
///
/// Returned are the runs that `watch` left, and the error, the exception of a class or the end of the interpreter.
pub fn work(
    queue: &[Job],
    threads: usize,
    mut watch: impl FnMut(&mut Vec<Done>, f64) -> PyResult<bool>,
) -> (Vec<Done>, PyResult<()>) {
    let threads = if queue.iter().any(|job| !job.question.classes.is_empty()) { 1 } else { threads };
    let jobs: Vec<cwnd_runner::Job> =
        queue.iter().map(|job| cwnd_runner::Job { scenario: &job.question.inner, seed: job.seed }).collect();
    let control = Arc::new(Control::default());
    let failure = Arc::new(Failure::default());
    let custom = |job: usize, cca: &Cca| -> Option<Box<dyn CongestionControl>> {
        let Job { question, seed } = &queue[job];
        let class = question.classes.get(&cca.name)?;
        let flow = question.inner.flows.iter().position(|flow| std::ptr::eq(&flow.cca, cca));
        Some(Box::new(PythonControl::new(class, cca, flow, *seed, &control, &failure)))
    };
    let watch_end = |done: &mut Vec<Done>, share: f64| {
        if ENDING.load(Relaxed) {
            return Err(PySystemExit::new_err("the interpreter ends"));
        }
        watch(done, share)
    };
    let (done, ended) = cwnd_runner::run_jobs(&jobs, threads, &control, custom, watch_end);
    let ended = match ended {
        Ok(()) | Err(Ended::Stopped(None)) => Ok(()),
        Err(Ended::Stopped(Some(reason))) => Err(reason),
        Err(Ended::NoThread(reason)) => {
            let reason = format!("no thread can be made ({reason}); leave more memory or processes");
            Err(Error::new_err(reason))
        }
        Err(Ended::Unfinished(job, reason)) => {
            let Job { question, seed } = &queue[job];
            Err(Error::new_err(format!("{}, seed {seed}: {reason}", question.inner.name)))
        }
    };
    (done, failure.take().map_or(ended, Err))
}

fn in_order(answers: Vec<Done>) -> Runs {
    let begin = answers.iter().map(|answer| answer.begin).min();
    let end = answers.iter().map(|answer| answer.end).max();
    let wall = begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin);
    Runs::new(answers.into_iter().map(|answer| answer.run).collect(), wall)
}
