//! Paths judged: how near an algorithm is to failing on each of them, and whether another one does not fail there.
//!
//! A [`Question`] is a scenario whose first flow is the subject. [`evaluate`] runs it, measures the run ([`Measures`]) and
//! scores each [`Goal`]; where the subject fails by itself, references run on the same path. [`evaluate_all`] does that on
//! threads. The same questions have the same answers, with any number of threads.

#![warn(missing_docs)]

mod evaluate;
mod goal;
mod measure;
mod path;
mod threads;
mod window;

pub use evaluate::{Answer, Custom, Fault, Question, SUBJECT, Score, evaluate, measure_run};
pub use goal::Goal;
pub use measure::Measures;
pub use threads::evaluate_all;
pub use window::{FIXED_WINDOW, FixedWindow};
