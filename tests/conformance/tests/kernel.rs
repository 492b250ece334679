//! Linux as judge: the kernel's own modules, compiled in user space, get the events that the headers get, and
//! must decide the same windows at each of them.

mod flow;
mod judge;

use cwnd_algorithms::{Algorithm, Params, find};
use flow::{ANSWER_BYTES, Answer, Flow, Kind, RECORD_BYTES};
use std::env;
use std::path::Path;

struct Case {
    /// The kernel's module and its parameters.
    module: &'static [&'static str],
    name: &'static str,
    params: &'static [(&'static str, &'static str)],
}

const LINUX: &[(&str, &str)] = &[("arithmetic", "linux")];

const CASES: &[Case] = &[
    Case { module: &["reno"], name: "reno", params: &[] },
    Case {
        module: &["cubic", "--by-delivery"],
        name: "cubic",
        params: &[("arithmetic", "linux"), ("hystart", "linux")],
    },
    Case {
        module: &["cubic", "hystart=0"],
        name: "cubic",
        params: &[("arithmetic", "linux"), ("hystart", "off")],
    },
    Case { module: &["bic"], name: "bic", params: LINUX },
    Case { module: &["htcp"], name: "htcp", params: LINUX },
    Case { module: &["highspeed"], name: "highspeed", params: LINUX },
    Case { module: &["scalable"], name: "scalable", params: LINUX },
    Case { module: &["hybla"], name: "hybla", params: LINUX },
    Case { module: &["illinois", "--sacked-once", "--by-delivery"], name: "illinois", params: LINUX },
    Case {
        module: &["vegas", "--by-delivery"],
        name: "vegas",
        params: &[("arithmetic", "linux"), ("alpha", "2"), ("beta", "4")],
    },
    // Not yet judged: westwood. See DIFFERENCES.md.
    Case { module: &["yeah", "--by-delivery"], name: "yeah", params: LINUX },
    Case { module: &["bbr"], name: "bbr", params: &[] },
];

/// Cases whose header has no such variant yet.
const NOT_YET: &[&str] = &[];

const FLOWS: u64 = 48;
const ACKS: usize = 1500;

#[test]
fn the_kernels_modules_decide_the_same_windows() {
    let program = match judge::build() {
        Ok(program) => program,
        Err(why) if env::var_os("CI").is_some() => panic!("{why}"),
        Err(why) => {
            eprintln!("skipped: no Linux to compare with ({why})");
            return;
        }
    };
    let (mut failures, mut missing) = (Vec::new(), Vec::new());
    for case in CASES {
        let label = case.module.join(" ");
        let Some((algorithm, params)) = variant(case) else {
            missing.push(label);
            continue;
        };
        match judge_case(&program, case.module, &algorithm, &params) {
            Ok(events) => println!("{label}: {events} events"),
            Err(why) => failures.push(format!("{label}: {why}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(missing, NOT_YET, "cases without a header");
}

fn variant(case: &Case) -> Option<(Algorithm, Params)> {
    let algorithm = find(case.name).ok()?;
    let mut params = algorithm.defaults();
    for (name, value) in case.params {
        algorithm.set(&mut params, name, value).ok()?;
    }
    Some((algorithm, params))
}

/// Says how many events were compared, or where the two part.
fn judge_case(
    program: &Path,
    module: &[&str],
    algorithm: &Algorithm,
    params: &Params,
) -> Result<usize, String> {
    let mut events = 0;
    for seed in 1..=FLOWS {
        let flow = Flow::run(algorithm, params, seed, ACKS);
        let mut bytes = Vec::with_capacity(flow.records.len() * RECORD_BYTES);
        flow.records.iter().for_each(|record| record.write(&mut bytes));
        let output = judge::answers(program, module, &bytes);
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
        events += flow.records.len();
    }
    Ok(events)
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
