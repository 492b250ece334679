//! Evaluations on threads, with the same answers for any number of them.

use crate::evaluate::{Answer, Custom, Fault, Question, evaluate};
use cwnd_engine::Control;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time between two calls of `watch`.
const WATCH: Duration = Duration::from_millis(50);

/// Evaluates the questions on `threads` threads (0: one per core); the answers are in the order of the questions.
///
/// `watch` is called now and then on the calling thread; if it returns an error, the runs end.
///
/// # Errors
///
/// The error of `watch`, or that of the first question without an answer.
pub fn evaluate_all<E: From<Fault>>(
    questions: &[Question],
    threads: usize,
    custom: Custom,
    control: &Control,
    mut watch: impl FnMut() -> Result<(), E>,
) -> Result<Vec<Answer>, E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let work = |sender: mpsc::Sender<(usize, Result<Answer, Fault>)>| {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(question) = questions.get(at) else { return };
            if control.stop.load(Relaxed) || sender.send((at, evaluate(question, custom, control))).is_err() {
                return;
            }
        }
    };
    let mut answers: Vec<Option<Result<Answer, Fault>>> = questions.iter().map(|_| None).collect();
    let mut ended = Ok(());
    thread::scope(|scope| {
        for _ in 0..cwnd_runner::threads_for(threads).min(questions.len()) {
            let sender = sender.clone();
            let work = &work;
            scope.spawn(move || work(sender));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(WATCH) {
                Ok((at, answer)) => answers[at] = Some(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if ended.is_ok() {
                ended = watch();
                if ended.is_err() {
                    control.stop.store(true, Relaxed);
                }
            }
        }
    });
    ended?;
    answers.into_iter().map(|answer| answer.unwrap_or(Err(Fault::Stopped)).map_err(E::from)).collect()
}
