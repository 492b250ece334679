//! Runs on worker threads while the calling thread watches.

use cwnd_engine::Control;
use cwnd_results::Run;
use cwnd_scenario::{End, Scenario};
use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two calls of `watch`.
const WATCH: Duration = Duration::from_millis(50);

/// Finished runs that may wait for `watch`; with more, the threads wait.
const WAITING: usize = 1024;

/// One scenario with one seed.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub scenario: &'a Scenario,
    pub seed: u64,
}

impl Job<'_> {
    /// How much time is simulated for it, at most: results as of the last arrival take two runs.
    pub(crate) fn simulated_ns(&self) -> f64 {
        let runs = if self.scenario.end == End::LastArrival { 2.0 } else { 1.0 };
        runs * self.scenario.duration_ns as f64
    }
}

/// A finished run, and the index of its job.
pub struct Done {
    pub job: usize,
    pub run: Run,
    pub begin: Instant,
    pub end: Instant,
}

/// Why not all jobs were run. `E` is the caller's error, `R` a run's.
#[derive(Debug)]
pub enum Ended<E, R> {
    /// The caller stopped the runs, with its error if it had one.
    Stopped(Option<E>),
    /// No thread could be made.
    NoThread(io::Error),
    /// The run of the job with this index could not go on.
    Unfinished(usize, R),
}

/// How many threads there are of `asked` ones: at most one per core, which 0 stands for.
pub fn threads_for(asked: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if asked == 0 { cores } else { asked.min(cores) }
}

/// Runs the jobs, begun in their order, on `threads` threads: at most one per core, which 0 stands for, and fewer if
/// the system makes no more. Results do not depend on the number. A run that cannot go on stops the others.
///
/// `run` makes the run of the job with an index: it adds what it has simulated to `control`, and ends when `control`
/// says so. `watch` gets the finished runs
/// every 50 ms, in no particular order, and the simulated share of all jobs; it may take runs, and `false` or an error
/// from it stops the others, as `control` does. Returns the finished runs that `watch` did not take, and the reason if
/// some jobs were not run.
pub fn run_jobs<E, R: Send>(
    jobs: &[Job],
    threads: usize,
    control: &Control,
    run: impl Fn(usize, &Job) -> Result<Run, R> + Sync,
    mut watch: impl FnMut(&mut Vec<Done>, f64) -> Result<bool, E>,
) -> (Vec<Done>, Result<(), Ended<E, R>>) {
    let threads = threads_for(threads);
    let total_ns: f64 = jobs.iter().map(|job| job.simulated_ns()).sum();
    let next = AtomicUsize::new(0);
    let unfinished = Mutex::new(None);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        for made in 0..threads.min(jobs.len()) {
            let sender = sender.clone();
            let serve = || serve(jobs, &next, control, &run, &unfinished, sender);
            match thread::Builder::new().spawn_scoped(scope, serve) {
                Ok(_) => {}
                Err(reason) if made == 0 => return (Vec::new(), Err(Ended::NoThread(reason))),
                Err(_) => break,
            }
        }
        drop(sender);
        let mut going = Ok(true);
        let mut done = Vec::new();
        let mut watched = Instant::now();
        loop {
            match receiver.recv_timeout(WATCH) {
                Ok(run) => done.push(run),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if matches!(going, Ok(true)) && watched.elapsed() >= WATCH {
                let simulated_ns = control.simulated_ns.load(Relaxed) as f64;
                going = watch(&mut done, (simulated_ns / total_ns).min(1.0));
                watched = Instant::now();
                if !matches!(going, Ok(true)) {
                    control.stop.store(true, Relaxed);
                }
            }
        }
        let unfinished = unfinished.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = match (going, unfinished) {
            (Ok(_), Some((job, reason))) => Err(Ended::Unfinished(job, reason)),
            (Ok(_), None) if control.stop.load(Relaxed) => Err(Ended::Stopped(None)),
            (Ok(_), None) => Ok(()),
            (Err(reason), _) => Err(Ended::Stopped(Some(reason))),
        };
        (done, ended)
    })
}

/// Runs jobs until none is left or they are stopped.
fn serve<R>(
    jobs: &[Job],
    next: &AtomicUsize,
    control: &Control,
    run: &(impl Fn(usize, &Job) -> Result<Run, R> + Sync),
    unfinished: &Mutex<Option<(usize, R)>>,
    sender: mpsc::SyncSender<Done>,
) {
    while !control.stop.load(Relaxed) {
        let job = next.fetch_add(1, Relaxed);
        let Some(asked) = jobs.get(job) else { return };
        let begin = Instant::now();
        let answer = run(job, asked);
        // A short run may end before it sees that it is stopped, by a custom algorithm that failed in it.
        if control.stop.load(Relaxed) {
            return;
        }
        let run = match answer {
            Ok(run) => run,
            Err(reason) => {
                *unfinished.lock().unwrap_or_else(PoisonError::into_inner) = Some((job, reason));
                control.stop.store(true, Relaxed);
                return;
            }
        };
        // The receiver lives until every sender is dropped.
        let _ = sender.send(Done { job, run, begin, end: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        let text = "duration = \"1 s\"\n[dumbbell]\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\nbuffer = 20\nper = 1e-3\n[[flows]]\ncca = \"reno\"\n";
        Scenario::from_toml(text, "test.toml", &[]).unwrap()
    }

    fn run_all(threads: usize) -> Vec<Done> {
        let scenario = scenario();
        let jobs: Vec<Job> = (0..20).map(|seed| Job { scenario: &scenario, seed }).collect();
        let watch = |_: &mut Vec<Done>, _| Ok::<_, ()>(true);
        let control = Control::default();
        let run = |_, job: &Job| cwnd_engine::run(job.scenario, job.seed, &|_| None, &control);
        let (mut done, ended) = run_jobs(&jobs, threads, &control, run, watch);
        assert!(ended.is_ok());
        done.sort_by_key(|done| done.job);
        done
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let (one, four) = (run_all(1), run_all(4));
        assert_eq!(one.len(), 20);
        assert!(one.iter().zip(&four).all(|(one, four)| one.job == four.job && one.run == four.run));
    }

    #[test]
    fn a_caller_that_stops_gets_the_finished_runs_and_no_more_is_begun() {
        let mut scenario = scenario().with(|scenario| scenario.duration_ns = 864_000_000_000_000);
        scenario.flows[0].stop_ns = scenario.duration_ns;
        let jobs = [Job { scenario: &scenario, seed: 1 }; 3];
        let control = Control::default();
        let run = |_, job: &Job| cwnd_engine::run(job.scenario, job.seed, &|_| None, &control);
        let (done, ended) = run_jobs(&jobs, 1, &control, run, |_: &mut Vec<Done>, _| Err("enough"));
        assert!(done.is_empty());
        assert!(matches!(ended, Err(Ended::Stopped(Some("enough")))));
    }
}
