//! Runs on worker threads while the calling thread watches for signals.

use crate::custom::{Failure, PythonControl};
use crate::report::Report;
use crate::scenario::Scenario;
use cwnd_algorithms::CongestionControl;
use cwnd_engine::{Control, results::Run};
use cwnd_scenario::Cca;
use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at signals and progress.
const WATCH: Duration = Duration::from_millis(50);

/// Finished runs that wait to be looked at; more make the threads wait.
const WAITING: usize = 1024;

/// One scenario with one seed.
pub struct Job<'a> {
    pub question: &'a Scenario,
    pub seed: u64,
}

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

struct Done {
    job: usize,
    run: Run,
    begin: Instant,
    end: Instant,
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
) -> PyResult<Vec<Report>> {
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
    let finish = |job, run, begin| Done { job, run, begin, end: Instant::now() };
    let (mut done, ended) = py.detach(|| work(&queue, jobs, finish, watch));
    ended?;
    if let Some(progress) = &progress {
        progress.call1(py, (1.0,))?;
    }
    done.sort_by_key(|answer| answer.job);
    let mut done = done.into_iter();
    let mut answers = |question: &Scenario| done.by_ref().take(question.inner.repeat as usize).collect();
    Ok(questions.iter().map(|question| report(question, answers(question))).collect())
}

fn line_up(question: &Scenario) -> impl Iterator<Item = Job<'_>> {
    let seeds = (0..u64::from(question.inner.repeat)).map(|i| question.inner.seed.wrapping_add(i));
    seeds.map(move |seed| Job { question, seed })
}

/// Runs the jobs in their order on `threads` threads (0: one per core; one for custom algorithms, which share
/// the interpreter).
///
/// `finish` makes on such a thread what is kept of a run. `watch` sees it now and then, and the simulated share of
/// all; it may take what is there, and stops the runs by an error or by `false`. Returned is what it left, and
/// the error or the exception of a custom algorithm.
pub fn work<T: Send>(
    queue: &[Job],
    threads: usize,
    finish: impl Fn(usize, Run, Instant) -> T + Sync,
    mut watch: impl FnMut(&mut Vec<T>, f64) -> PyResult<bool>,
) -> (Vec<T>, PyResult<()>) {
    let threads = match threads {
        _ if queue.iter().any(|job| !job.question.classes.is_empty()) => 1,
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        _ => threads,
    };
    let control = Arc::new(Control::default());
    let failure = Arc::new(Failure::default());
    let total_ns: f64 = queue.iter().map(|job| job.question.inner.duration_ns as f64).sum();
    let next = AtomicUsize::new(0);
    let (done, ended) = thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        for _ in 0..threads.min(queue.len()) {
            let sender = sender.clone();
            scope.spawn(|| serve(queue, &next, &control, &failure, &finish, sender));
        }
        drop(sender);
        let mut going = Ok(true);
        let mut done: Vec<T> = Vec::new();
        let mut watched = Instant::now();
        loop {
            match receiver.recv_timeout(WATCH) {
                Ok(answer) => done.push(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if matches!(going, Ok(true)) && watched.elapsed() >= WATCH {
                let simulated_ns = control.simulated_ns.load(Relaxed) as f64;
                going = if ENDING.load(Relaxed) {
                    Err(PySystemExit::new_err("the interpreter ends"))
                } else {
                    watch(&mut done, (simulated_ns / total_ns).min(1.0))
                };
                watched = Instant::now();
                if !matches!(going, Ok(true)) {
                    control.stop.store(true, Relaxed);
                }
            }
        }
        (done, going.map(|_| ()))
    });
    (done, failure.take().map_or(ended, Err))
}

/// Takes jobs from the queue until it is empty or the runs are stopped.
fn serve<T>(
    queue: &[Job],
    next: &AtomicUsize,
    control: &Arc<Control>,
    failure: &Arc<Failure>,
    finish: &impl Fn(usize, Run, Instant) -> T,
    sender: mpsc::SyncSender<T>,
) {
    while !control.stop.load(Relaxed) {
        let job = next.fetch_add(1, Relaxed);
        let Some(Job { question, seed }) = queue.get(job) else { return };
        let custom = |cca: &Cca| -> Option<Box<dyn CongestionControl>> {
            let class = question.classes.get(&cca.name)?;
            let flow = question.inner.flows.iter().position(|flow| std::ptr::eq(&flow.cca, cca));
            Some(Box::new(PythonControl::new(class, cca, flow, *seed, control, failure)))
        };
        let begin = Instant::now();
        let Ok(run) = cwnd_engine::run(&question.inner, *seed, &custom, control) else { return };
        // A short run may end before it sees that it is stopped.
        if failure.is_some() {
            return;
        }
        // The receiver is there until every sender is gone.
        let _ = sender.send(finish(job, run, begin));
    }
}

fn report(question: &Scenario, answers: Vec<Done>) -> Report {
    let begin = answers.iter().map(|answer| answer.begin).min();
    let end = answers.iter().map(|answer| answer.end).max();
    let wall = begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin);
    Report::new(question.inner.clone(), answers.into_iter().map(|answer| answer.run).collect(), wall)
}
