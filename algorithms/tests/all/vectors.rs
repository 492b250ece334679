//! Event lists with the decisions that `vectors/check.py` computed from the papers' equations.

use crate::cases::{folder, read, run};
use cwnd_algorithms::all;
use std::process::Command;

#[test]
fn every_algorithm_decides_as_its_vectors_expect() {
    let mut wrong = String::new();
    for algorithm in all() {
        for case in read(&algorithm) {
            if let Err(line) = run(&algorithm, &case, |params| algorithm.build(params)) {
                wrong += &format!("{}, \"{}\": {line}\n", algorithm.name, case.name);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_vectors_cover_every_choice_of_every_parameter() {
    for algorithm in all() {
        let cases = read(&algorithm);
        for param in &algorithm.params {
            let mut values: Vec<String> =
                cases.iter().filter_map(|case| case.params.get(param.name).cloned()).collect();
            values.push(param.show(param.default));
            values.sort();
            values.dedup();
            let wanted = param.choices.len() + if param.is_number() { 2 } else { 0 };
            let named = param.choices.iter().all(|name| values.iter().any(|value| value == name));
            assert!(named && values.len() >= wanted, "{} {}: only {values:?}", algorithm.name, param.name);
        }
    }
}

#[test]
#[ignore = "slow"]
fn the_vectors_are_what_check_py_computes() {
    let script = folder().join("check.py");
    match Command::new("python3").arg(&script).arg("--check").output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "python3: {error}");
            eprintln!("SKIPPED: no python3 to run {}", script.display());
        }
    }
}
