//! Runs on the calling thread, where there are no threads and no clocks: in a web page.

use crate::{Ended, Job};
use cwnd_algorithms::CongestionControl;
use cwnd_engine::{BorrowedSimulation, Control, Unfinished, until_last_arrival};
use cwnd_results::Run;
use cwnd_scenario::{Cca, Scenario};

/// In this many steps a run is advanced.
const STEPS: u64 = 100;

/// Runs the jobs one after the other. Results are those of [`run_jobs`](crate::run_jobs).
///
/// `custom` makes the algorithms that the registry lacks, for the job with an index. `watch` gets the simulated share of
/// all jobs, a hundred times for each run; `false` or an error from it stops the runs. Returns the finished runs, and the
/// reason if some jobs were not run.
pub fn run_jobs_alone<E>(
    jobs: &[Job],
    custom: impl Fn(usize, &Cca) -> Option<Box<dyn CongestionControl>> + Sync,
    mut watch: impl FnMut(f64) -> Result<bool, E>,
) -> (Vec<Run>, Result<(), Ended<E, Unfinished>>) {
    let total_ns: f64 = jobs.iter().map(|job| job.simulated_ns()).sum();
    let (mut done, mut done_ns) = (Vec::new(), 0.0);
    for (index, job) in jobs.iter().enumerate() {
        let control = Control::default();
        let own = |cca: &Cca| custom(index, cca);
        let mut step = |scenario: &Scenario, done_ns: f64| {
            let mut simulation = BorrowedSimulation::new(scenario, job.seed, &own, &control);
            for step in 1..=STEPS {
                let until_ns =
                    (u128::from(scenario.duration_ns) * u128::from(step) / u128::from(STEPS)) as u64;
                simulation.advance(until_ns).map_err(|reason| Ended::Unfinished(index, reason))?;
                match watch(((done_ns + until_ns as f64) / total_ns).min(1.0)) {
                    Ok(true) => {}
                    Ok(false) => return Err(Ended::Stopped(None)),
                    Err(reason) => return Err(Ended::Stopped(Some(reason))),
                }
            }
            simulation.finish().map_err(|reason| Ended::Unfinished(index, reason))
        };
        let run = step(job.scenario, done_ns).and_then(|run| match until_last_arrival(job.scenario, &run) {
            None => Ok(run),
            Some(shorter) => step(&shorter, done_ns + job.scenario.duration_ns as f64),
        });
        match run {
            Ok(run) => done.push(run),
            Err(ended) => return (done, Err(ended)),
        }
        done_ns += job.simulated_ns();
    }
    (done, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwnd_engine::run;

    fn scenario(end: &str) -> Scenario {
        let text = format!(
            "duration = \"1 s\"\nend = \"{end}\"\n[dumbbell]\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\nbuffer = 20\nper = 1e-3\n[[flows]]\ncca = \"reno\"\n"
        );
        Scenario::from_toml(&text, "test.toml", &[]).unwrap()
    }

    #[test]
    fn runs_alone_are_those_of_threads() {
        for end in ["duration", "last-arrival"] {
            let scenario = scenario(end);
            let jobs: Vec<Job> = (0..5).map(|seed| Job { scenario: &scenario, seed }).collect();
            let mut shares = Vec::new();
            let (alone, ended) = run_jobs_alone(
                &jobs,
                |_, _| None,
                |share| {
                    shares.push(share);
                    Ok::<_, ()>(true)
                },
            );
            assert!(
                ended.is_ok() && shares.is_sorted() && shares.len() % 500 == 0 && shares.last() > Some(&0.99)
            );
            for (job, alone) in jobs.iter().zip(&alone) {
                let run = run(&scenario, job.seed, &|_| None, &Control::default()).unwrap();
                assert_eq!(run, *alone, "{end}");
            }
        }
    }

    #[test]
    fn a_caller_can_stop_in_the_middle_of_a_run() {
        let scenario = scenario("duration");
        let jobs = [Job { scenario: &scenario, seed: 1 }; 3];
        let (done, ended) =
            run_jobs_alone(&jobs, |_, _| None, |share| if share < 0.5 { Ok(true) } else { Err("enough") });
        assert_eq!(done.len(), 1);
        assert!(matches!(ended, Err(Ended::Stopped(Some("enough")))));
    }
}
