//! Runs of scenarios: [`run_jobs`] does many on threads, with progress and an end at any time; [`JobKeys`] names them
//! by all that they depend on.

mod key;
mod threads;

pub use key::{JobKeys, job_key};
pub use threads::{Done, Ended, Job, run_jobs};
