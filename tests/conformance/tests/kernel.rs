//! Linux as judge: the kernel's own modules, compiled in user space, get the events that the headers get, and
//! must decide the same windows at each of them.

mod flow;
mod judge;

use cwnd_algorithms::find;
use flow::{ANSWER_BYTES, Answer, Flow, Kind, RECORD_BYTES};
use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Case {
    /// The kernel's module and its parameters.
    module: &'static [&'static str],
    /// Where the module's inputs differ from those of Linux's stack: DIFFERENCES.md.
    exceptions: &'static [&'static str],
    name: &'static str,
    params: &'static [(&'static str, &'static str)],
}

const LINUX: &[(&str, &str)] = &[("variant", "linux")];

const fn case(module: &'static [&'static str], name: &'static str) -> Case {
    Case { module, exceptions: &[], name, params: LINUX }
}

const CASES: &[Case] = &[
    Case { params: &[], ..case(&["reno"], "reno") },
    Case {
        exceptions: &["--by-delivery"],
        params: &[("variant", "linux"), ("slow_start", "hystart")],
        ..case(&["cubic"], "cubic")
    },
    Case {
        params: &[("variant", "linux"), ("slow_start", "standard")],
        ..case(&["cubic", "hystart=0"], "cubic")
    },
    case(&["bic"], "bic"),
    case(&["htcp"], "htcp"),
    case(&["highspeed"], "highspeed"),
    case(&["scalable"], "scalable"),
    case(&["hybla"], "hybla"),
    Case { exceptions: &["--sacked-once", "--by-delivery"], ..case(&["illinois"], "illinois") },
    Case { params: &[("variant", "linux"), ("alpha", "2"), ("beta", "4")], ..case(&["vegas"], "vegas") },
    Case { exceptions: &["--by-delivery", "--edge-acks"], ..case(&["westwood"], "westwood") },
    case(&["yeah"], "yeah"),
    case(&["veno"], "veno"),
    Case { params: &[], ..case(&["bbr"], "bbr") },
    Case { exceptions: &["--by-delivery", "--edge-acks"], ..case(&["dctcp"], "dctcp") },
];

const FLOWS: u64 = 48;
const ACKS: usize = 1500;
/// Least number of events of an algorithm.
const LEAST_EVENTS: usize = 300_000;

#[test]
#[ignore = "slow"]
fn the_kernels_modules_decide_the_same_windows() {
    let Some(program) = judge::program() else { return };
    let work: Vec<_> = CASES.iter().flat_map(|case| (1..=FLOWS).map(move |seed| (case, seed))).collect();
    let events = in_parallel(&work, |(case, seed)| compare(program, case, case.exceptions, *seed));
    let mut failures = String::new();
    for (case, flows) in CASES.iter().zip(events.chunks(FLOWS as usize)) {
        let label = case.module.join(" ");
        match flows.iter().find_map(|flow| flow.as_ref().err()) {
            Some(why) => failures += &format!("{label}: {why}\n"),
            None => {
                let events: usize = flows.iter().flatten().sum();
                println!("{label}: {events} events");
                assert!(events >= LEAST_EVENTS, "{label}: only {events} events");
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn every_algorithm_of_linux_that_has_a_header_is_judged() {
    let judged: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
    let listed = [
        "bbr",
        "bic",
        "cubic",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "reno",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ];
    assert!(judged.iter().eq(&listed), "{judged:?}");
}

#[test]
fn without_any_one_of_its_exceptions_a_case_differs() {
    let Some(program) = judge::program() else { return };
    let excepted = CASES.iter().filter(|case| !case.exceptions.is_empty());
    let work: Vec<_> =
        excepted.flat_map(|case| (0..case.exceptions.len()).map(move |left_out| (case, left_out))).collect();
    let differs = in_parallel(&work, |&(case, left_out)| {
        let mut exceptions = case.exceptions.to_vec();
        exceptions.remove(left_out);
        (1..=FLOWS).any(|seed| compare(program, case, &exceptions, seed).is_err())
    });
    for ((case, left_out), differs) in work.iter().zip(differs) {
        assert!(differs, "{:?} does not need {}", case.module, case.exceptions[*left_out]);
    }
}

/// In the order of the work.
fn in_parallel<T: Sync, R: Send>(work: &[T], job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..thread::available_parallelism().map_or(1, NonZero::get))
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = work.get(i) else { return done };
                        done.push((i, job(item)));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
    });
    results.sort_by_key(|result| result.0);
    results.into_iter().map(|result| result.1).collect()
}

/// Says how many events of a flow were compared, or where the two part.
fn compare(program: &Path, case: &Case, exceptions: &[&str], seed: u64) -> Result<usize, String> {
    let algorithm = find(case.name).expect("every case has a header");
    let mut params = algorithm.defaults();
    for (name, value) in case.params {
        algorithm.set(&mut params, name, value).expect("a parameter of the header");
    }
    let flow = Flow::run(&algorithm, &params, seed, ACKS);
    let mut bytes = Vec::with_capacity(flow.records.len() * RECORD_BYTES);
    flow.records.iter().for_each(|record| record.write(&mut bytes));
    let output = judge::answers(program, &[case.module, exceptions].concat(), &bytes);
    assert_eq!(output.len(), flow.records.len() * ANSWER_BYTES, "an answer to each event");
    let paces = flow.answers.iter().any(|answer| answer.pacing_rate > 0);
    for (i, (ours, answer)) in flow.answers.iter().zip(output.chunks_exact(ANSWER_BYTES)).enumerate() {
        let mut kernels = Answer::read(answer);
        if !paces {
            kernels.pacing_rate = 0;
        }
        if *ours != kernels {
            return Err(format!("seed {seed}, event {i}:\n{}", difference(&flow, i, &kernels)));
        }
    }
    Ok(flow.records.len())
}

/// The last events and both answers to the last of them.
fn difference(flow: &Flow, at: usize, kernels: &Answer) -> String {
    let shown: Vec<usize> = (0..=at)
        .rev()
        .filter(|&i| !matches!(flow.records[i].kind, Kind::AckSeen | Kind::AckDone))
        .take(8)
        .collect();
    let mut text = String::new();
    for i in shown.into_iter().rev() {
        text += &format!("  {i} {}\n    -> {:?}\n", flow.records[i], flow.answers[i]);
    }
    text + &format!("  Linux: {kernels:?}")
}
