//! Measures whole scenarios, each in a process of its own: packets per second, nanoseconds per packet, peak
//! memory. `cwnd-bench [FILE...]`; without a file, the reference scenario for 100 and for 400 simulated seconds.

use cwnd_engine::{Control, run};
use cwnd_scenario::Scenario;
use std::process::{Command, ExitCode};
use std::time::Instant;

const REFERENCE: &str = include_str!("../../scenarios/reference.toml");
/// The best of so many runs: what disturbs a measurement only makes it slower.
const RUNS: usize = 5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, text] = args.as_slice()
        && flag == "--measure"
    {
        return measure(name, text);
    }
    let mut scenarios = vec![
        ("reference, 100 s".to_owned(), REFERENCE.to_owned()),
        ("reference, 400 s".to_owned(), REFERENCE.replace("duration = \"100 s\"", "duration = \"400 s\"")),
    ];
    if !args.is_empty() {
        scenarios.clear();
        for file in args {
            match std::fs::read_to_string(&file) {
                Ok(text) => scenarios.push((file, text)),
                Err(error) => {
                    eprintln!("cwnd-bench: error: {file}: {error}");
                    return ExitCode::from(2);
                }
            }
        }
    }
    println!(
        "{:<24} {:>12} {:>14} {:>12} {:>12}",
        "scenario", "packets", "packets/s", "ns/packet", "peak MiB"
    );
    for (name, text) in scenarios {
        let itself = std::env::current_exe().expect("this program has a path");
        let status = Command::new(itself).args(["--measure", &name, &text]).status();
        if !status.is_ok_and(|status| status.success()) {
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn measure(name: &str, text: &str) -> ExitCode {
    let scenario = match Scenario::from_toml(text, name, &[]) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("cwnd-bench: error: {error}");
            return ExitCode::from(2);
        }
    };
    let timed = || {
        let start = Instant::now();
        let run = run(&scenario, scenario.seed, &|_| None, &Control::default()).expect("nothing stops it");
        (start.elapsed().as_secs_f64(), run.packets)
    };
    let (wall_s, packets) =
        (0..RUNS).map(|_| timed()).min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are runs");
    println!(
        "{name:<24} {packets:>12} {:>14.0} {:>12.1} {:>12}",
        packets as f64 / wall_s,
        wall_s * 1e9 / packets as f64,
        peak_mib().map_or_else(|| "-".to_owned(), |mib| format!("{mib:.1}")),
    );
    ExitCode::SUCCESS
}

/// The most memory this process has held, where the system tells (Linux).
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
}
