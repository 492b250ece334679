//! Runs of scenarios: [`run_jobs`] does many on threads, reports progress and can be stopped at any time;
//! [`run_jobs_alone`] does so on the calling thread; [`JobKeys`] names runs by everything that they depend on.

mod alone;
mod key;
mod threads;

pub use alone::run_jobs_alone;
pub use key::JobKeys;
pub use threads::{Done, Ended, Job, run_jobs, threads_for};
