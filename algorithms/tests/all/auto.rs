//! `lambda_max = auto` of Agile-SD against the equation that it solves, in real numbers.

use crate::compiler::{assert_success, headers, host, scratch};
use std::process::Command;
use std::sync::OnceLock;

/// Returns beta and lambda for every beta that is accepted, in thousandths both.
fn computed() -> &'static [(u32, u32)] {
    static COMPUTED: OnceLock<Vec<(u32, u32)>> = OnceLock::new();
    COMPUTED.get_or_init(compute)
}

fn compute() -> Vec<(u32, u32)> {
    let program = scratch("auto");
    assert_success(
        host()
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-I"])
            .arg(headers())
            .arg(headers().join("tests/auto.c"))
            .arg("-o")
            .arg(&program),
    );
    let lines = String::from_utf8(assert_success(&mut Command::new(program)).stdout).unwrap();
    let pair = |line: &str| {
        let (beta, lambda) = line.split_once(' ').unwrap();
        (beta.parse().unwrap(), lambda.parse().unwrap())
    };
    let pairs: Vec<(u32, u32)> = lines.lines().map(pair).collect();
    assert_eq!(pairs.len(), 900);
    pairs
}

/// Round trips until the window is back where it was lost, over those that Reno takes.
fn share_of_renos_time(beta: f64, lambda: f64) -> f64 {
    2.0 * (1.0 - beta) * (1.0 + lambda.ln()) / lambda
}

fn solved(beta: f64) -> f64 {
    let share = share_of_renos_time(0.9, 3.0);
    if share_of_renos_time(beta, 1.0) <= share {
        return 1.0;
    }
    let (mut low, mut high) = (1.0, 1000.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if share_of_renos_time(beta, middle) > share { low = middle } else { high = middle }
    }
    low
}

#[test]
fn auto_is_within_a_fifth_of_a_percent_of_the_equations_solution() {
    for &(beta, lambda) in computed() {
        let (found, exact) = (f64::from(lambda) / 1000.0, solved(f64::from(beta) / 1000.0));
        assert!((found / exact - 1.0).abs() < 0.002, "beta {beta}: {found} is not {exact}");
    }
}

#[test]
fn auto_is_the_authors_own_value_at_their_beta_and_falls_as_beta_rises() {
    let computed = computed();
    assert!(computed.contains(&(900, 3000)));
    assert!(computed.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    assert_eq!(computed.last(), Some(&(999, 1000)));
}

/// Round trip by round trip, as the header has it: lambda falls from lambda_max to 1 on the way back.
#[test]
fn with_auto_the_window_is_back_in_the_same_share_of_renos_time_at_every_beta() {
    let rounds = |beta: f64, lambda_max: f64| {
        let (top, steps) = (1e4, 20.0);
        let (mut window, mut rounds) = (beta * top, 0.0);
        while window < top {
            let lambda = f64::max(1.0, lambda_max * (top - window) / ((1.0 - beta) * top));
            window += lambda / steps;
            rounds += 1.0 / steps;
        }
        rounds
    };
    let reno = rounds(0.5, 1.0);
    for (beta, lambda) in computed().iter().filter(|(beta, _)| *beta < 930).step_by(103) {
        let share = rounds(f64::from(*beta) / 1000.0, f64::from(*lambda) / 1000.0) / reno;
        assert!((share / 0.1399 - 1.0).abs() < 0.003, "beta {beta}: {share}");
    }
}
