//! Runs on worker threads while the calling thread watches for signals.

use crate::custom::{Failure, PythonControl};
use crate::report::Report;
use crate::scenario::Scenario;
use cwnd_algorithms::CongestionControl;
use cwnd_engine::{Control, results::Run};
use cwnd_scenario::Cca;
use pyo3::prelude::*;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at signals and progress.
const WATCH: Duration = Duration::from_millis(50);

/// One scenario with one seed.
struct Job<'a> {
    scenario: usize,
    question: &'a Scenario,
    seed: u64,
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
    let questions: Vec<&Scenario> = scenarios.iter().map(|scenario| scenario.get()).collect();
    let queue = line_up(&questions);
    let threads = match jobs {
        _ if questions.iter().any(|question| !question.classes.is_empty()) => 1,
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        _ => jobs,
    };
    let control = Arc::new(Control::default());
    let failure = Arc::new(Failure::default());
    let total_ns: f64 = queue.iter().map(|job| job.question.inner.duration_ns as f64).sum();
    let watch = || {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                let simulated_ns = control.simulated_ns.load(Relaxed) as f64;
                progress.call1(py, ((simulated_ns / total_ns).min(1.0),))?;
            }
            Ok(())
        })
    };
    let done = py.detach(|| work(&queue, threads.min(queue.len()), &control, &failure, watch))?;
    if let Some(error) = failure.take() {
        return Err(error);
    }
    if let Some(progress) = &progress {
        progress.call1(py, (1.0,))?;
    }
    let mut answers: Vec<Vec<Done>> = questions.iter().map(|_| Vec::new()).collect();
    for answer in done {
        answers[queue[answer.job].scenario].push(answer);
    }
    Ok(questions.iter().zip(answers).map(|(question, answers)| report(question, answers)).collect())
}

fn line_up<'a>(questions: &[&'a Scenario]) -> Vec<Job<'a>> {
    let jobs = |(scenario, question): (usize, &&'a Scenario)| {
        let question = *question;
        let seeds = (0..u64::from(question.inner.repeat)).map(|i| question.inner.seed.wrapping_add(i));
        seeds.map(move |seed| Job { scenario, question, seed }).collect::<Vec<_>>()
    };
    questions.iter().enumerate().flat_map(jobs).collect()
}

/// The answers in the order of the queue; short when the runs were stopped.
fn work(
    queue: &[Job],
    threads: usize,
    control: &Arc<Control>,
    failure: &Arc<Failure>,
    mut watch: impl FnMut() -> PyResult<()>,
) -> PyResult<Vec<Done>> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let sender = sender.clone();
            scope.spawn(|| serve(queue, &next, control, failure, sender));
        }
        drop(sender);
        let mut interrupted = Ok(());
        let mut done: Vec<Done> = Vec::with_capacity(queue.len());
        let mut watched = Instant::now();
        loop {
            match receiver.recv_timeout(WATCH) {
                Ok(answer) => done.push(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if interrupted.is_ok() && watched.elapsed() >= WATCH {
                watched = Instant::now();
                interrupted = watch();
                if interrupted.is_err() {
                    control.stop.store(true, Relaxed);
                }
            }
        }
        done.sort_by_key(|answer| answer.job);
        interrupted.map(|()| done)
    })
}

/// Takes jobs from the queue until it is empty or the runs are stopped.
fn serve(
    queue: &[Job],
    next: &AtomicUsize,
    control: &Arc<Control>,
    failure: &Arc<Failure>,
    sender: mpsc::Sender<Done>,
) {
    while !control.stop.load(Relaxed) {
        let job = next.fetch_add(1, Relaxed);
        let Some(Job { question, seed, .. }) = queue.get(job) else { return };
        let custom = |cca: &Cca| -> Option<Box<dyn CongestionControl>> {
            let class = question.classes.get(&cca.name)?;
            let flow = question.inner.flows.iter().position(|flow| std::ptr::eq(&flow.cca, cca));
            Some(Box::new(PythonControl::new(class, cca, flow, *seed, control, failure)))
        };
        let begin = Instant::now();
        let Ok(run) = cwnd_engine::run(&question.inner, *seed, &custom, control) else { return };
        // The receiver is there until every sender is gone.
        let _ = sender.send(Done { job, run, begin, end: Instant::now() });
    }
}

fn report(question: &Scenario, answers: Vec<Done>) -> Report {
    let begin = answers.iter().map(|answer| answer.begin).min();
    let end = answers.iter().map(|answer| answer.end).max();
    let wall = begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin);
    Report::new(question.inner.clone(), answers.into_iter().map(|answer| answer.run).collect(), wall)
}
