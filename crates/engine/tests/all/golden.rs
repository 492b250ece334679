//! The results of `tests/golden` are what they were, to the byte: a rebuilt engine gives the same answers.
//!
//! `results.csv` has the version of the results, then a hash of each scenario's, time series included, and some totals that
//! show what differs. `CWND_GOLDEN=write` replaces it; where results are meant to move, RESULTS_VERSION is raised before.
//! `CWND_GOLDEN=DIR` writes each scenario's results to a file in DIR; do that with two engines and compare the directories.

#[path = "../../../../tests/golden/rule.rs"]
mod rule;

use cwnd_engine::{Control, RESULTS_VERSION, run};
use cwnd_results::Run;
use cwnd_scenario::Sweep;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// The file that has RESULTS_VERSION.
const HOME: &str = "crates/engine/src/lib.rs";
const HEAD: &str = "scenario,sha256,sent_pkts,retransmitted_pkts,lost_pkts,timeouts,goodput_mbps\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// The results of every scenario by its name, in the order of the files and their points, on so many threads.
fn answers(threads: usize) -> Vec<(String, Run)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let points = files.iter().flat_map(|file| {
        let text = fs::read_to_string(file).unwrap();
        let sweep = Sweep::from_toml(&text, file.to_str().unwrap(), &[]).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        sweep
            .points
            .into_iter()
            .enumerate()
            .map(move |(index, point)| (format!("{stem}-{index}"), point.scenario))
    });
    let points: Vec<_> = points.collect();
    let control = Control::with_threads(threads);
    let answer = |(name, scenario): (String, cwnd_scenario::Scenario)| {
        (name, run(&scenario, scenario.seed, &|_| None, &control).expect("nobody stops it"))
    };
    points.into_par_iter().map(answer).collect()
}

/// Everything that a run answers.
fn text(run: &Run) -> String {
    let tables = serde_json::to_string_pretty(run).unwrap();
    let Run { flow_samples, group_samples, link_samples, transfers, .. } = run;
    format!("{tables}\n{flow_samples:?}\n{group_samples:?}\n{link_samples:?}\n{transfers:?}\n")
}

fn row(name: &str, run: &Run) -> String {
    let digest = Sha256::digest(text(run));
    let hash = digest[..8].iter().fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
    let mut totals = [0; 4];
    for flow in &run.flows {
        let counts = [flow.sent_pkts, flow.retransmitted_pkts, flow.lost_pkts, flow.timeouts];
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    let [sent, retransmitted, lost, timeouts] = totals;
    let goodput_mbps: f64 = run.flows.iter().map(|flow| flow.goodput_mbps).sum();
    format!("{name},{hash},{sent},{retransmitted},{lost},{timeouts},{goodput_mbps:.6}\n")
}

#[test]
fn results_are_what_they_were() {
    let answers = answers(1);
    assert!(answers.len() > 200);
    let rows = answers.iter().fold(HEAD.to_owned(), |rows, (name, run)| rows + &row(name, run));
    let now = rule::with_version(RESULTS_VERSION, &rows);
    let file = folder().join("results.csv");
    let before = fs::read_to_string(&file).unwrap();
    match std::env::var("CWND_GOLDEN").as_deref() {
        Ok("write") => {
            rule::check_replacement(&before, &now, HOME).unwrap_or_else(|line| panic!("{line}"));
            fs::write(&file, &now).unwrap();
            return;
        }
        Ok(out) => {
            fs::create_dir_all(out).unwrap();
            for (name, run) in &answers {
                fs::write(Path::new(out).join(name), text(run)).unwrap();
            }
        }
        Err(_) => {}
    }
    let equal = now.lines().skip(2).filter(|row| before.lines().any(|before| before == *row)).count();
    println!("golden results: {equal} of {} equal", answers.len());
    rule::compare(&before, &now, HOME).unwrap_or_else(|line| panic!("{line}"));
}

#[test]
fn rows_that_differ_are_replaced_only_under_a_new_version() {
    let before = rule::with_version(3, "scenario,sent\na-0,10\na-1,20\n");
    let moved = "scenario,sent\na-0,11\na-1,20\n";
    let replace = |version: u32, rows: &str| {
        rule::check_replacement(&before, &rule::with_version(version, rows), "src/lib.rs")
    };
    let line = replace(3, moved).unwrap_err();
    assert_eq!(line, "results of version 3 moved (a-0; 1 in all): raise RESULTS_VERSION in src/lib.rs first");
    assert_eq!(replace(4, moved), Ok(()));
    assert!(replace(2, moved).unwrap_err().contains("does not come back"));
    // Rows that come, go or change places move no result.
    for rows in [
        "scenario,sent\na-0,10\na-1,20\nb-0,5\n",
        "scenario,sent\na-1,20\n",
        "scenario,sent\na-1,20\na-0,10\n",
    ] {
        assert_eq!(replace(3, rows), Ok(()), "{rows}");
    }
}

#[test]
fn a_build_with_other_rows_or_another_version_than_the_file_fails() {
    let rows = "scenario,sent\na-0,10\na-1,20\n";
    let before = rule::with_version(3, rows);
    let compare =
        |version: u32, rows: &str| rule::compare(&before, &rule::with_version(version, rows), "src/lib.rs");
    assert_eq!(compare(3, rows), Ok(()));
    let line = compare(3, &rows.replace("20", "21")).unwrap_err();
    assert!(
        line.starts_with("results moved;") && line.contains("raise RESULTS_VERSION in src/lib.rs"),
        "{line}"
    );
    assert!(line.ends_with("\nwas a-1,20\nis  a-1,21"), "{line}");
    let line = compare(4, rows).unwrap_err();
    assert_eq!(
        line,
        "RESULTS_VERSION in src/lib.rs is 4, the golden file's is 3: write the file anew with CWND_GOLDEN=write"
    );
    let line = compare(3, "scenario,sent\na-0,10\nb-0,5\n").unwrap_err();
    assert!(line.starts_with("the golden file has other scenarios"), "{line}");
    assert!(line.ends_with("\nwas a-1,20\nis  missing\nwas missing\nis  b-0,5"), "{line}");
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let alone = answers(1);
    for threads in [2, 3, 7] {
        for ((name, alone), (_, together)) in alone.iter().zip(answers(threads)) {
            // As text: the time of a transfer that did not finish is not a number, which equals nothing.
            assert!(format!("{alone:?}") == format!("{together:?}"), "{name} on {threads} threads");
        }
    }
}
