//! Runs of scenarios: [`run_jobs`] does many on threads, reports progress and can be stopped at any time; [`JobKeys`] names runs
//! by everything that they depend on.

mod key;
mod threads;

pub use key::JobKeys;
pub use threads::{Done, Ended, Job, run_jobs, threads_for};
