//! Measures the cost of a packet in whole scenarios. Each run has a process of its own, so that none warms another's memory.
//!
//! `cwnd-bench [--base PROGRAM] [FILE...]` prints a table; without a file, of the scenarios in `bench/scenarios` and of
//! the reference, and what memory and a second run at the same time cost. PROGRAM is another build of this one, whose
//! runs take turns with ours.
//!
//! `cwnd-bench --instructions PROGRAM` prints instructions per packet of this build and of PROGRAM for some of the
//! scenarios, and exits with 1 if this build needs more than 1.02 times as many in one of them.
//!
//! `cwnd-bench --measure NAME [SECONDS [THREADS]]` runs the scenario on its standard input once, at most SECONDS simulated
//! seconds, on one thread or THREADS, and prints a line of JSON. NAME is what errors call it.

mod heap;
mod one;

use cwnd_scenario::Scenario;
use one::Measured;
use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A scenario, what errors call it, and the simulated seconds between which its instructions are counted: few, for
/// counting is slow, and after all flows have begun.
#[derive(Clone, Copy)]
struct Question<'a> {
    name: &'a str,
    text: &'a str,
    counted_s: [f64; 2],
}

macro_rules! question {
    ($name:literal, $folder:literal, $counted_s:expr) => {
        Question {
            name: $name,
            text: include_str!(concat!("../../", $folder, "/", $name, ".toml")),
            counted_s: $counted_s,
        }
    };
}

const REFERENCE: Question = question!("reference", "scenarios", [5.0, 8.0]);
const QUESTIONS: [Question; 13] = [
    REFERENCE,
    question!("one-flow-100g", "bench/scenarios", [1.8, 1.9]),
    question!("random-loss", "bench/scenarios", [30.0, 90.0]),
    question!("hops-32", "bench/scenarios", [1.0, 1.5]),
    question!("flows-1000", "bench/scenarios", [0.4, 0.6]),
    question!("flows-10000", "bench/scenarios", [0.3, 0.5]),
    question!("short-flows", "bench/scenarios", [1.0, 2.0]),
    question!("codel", "bench/scenarios", [5.0, 8.0]),
    question!("fq-codel", "bench/scenarios", [5.0, 8.0]),
    question!("reverse", "bench/scenarios", [5.0, 8.0]),
    question!("jitter-reverse", "bench/scenarios", [5.0, 15.0]),
    question!("newreno", "bench/scenarios", [5.0, 8.0]),
    question!("newreno-access", "bench/scenarios", [5.0, 8.0]),
];

/// Runs of which the best counts, since disturbances only make a run slower; fewer if they take long.
const RUNS: usize = 5;
const RUNS_S: f64 = 2.0;

/// The scenarios whose instructions are compared with those of another build.
const GUARDED: [&str; 7] =
    ["reference", "newreno", "flows-1000", "flows-10000", "short-flows", "hops-32", "jitter-reverse"];
const RATIO_MAX: f64 = 1.02;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--measure", name] => measure(name, None, "1"),
        ["--measure", name, seconds] => measure(name, Some(seconds), "1"),
        ["--measure", name, seconds, threads] => measure(name, Some(seconds), threads),
        ["--base", base, files @ ..] => bench(Some(Path::new(base)), files),
        ["--instructions", base] => match compare_instructions(Path::new(base)) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => Err(error),
        },
        files => bench(None, files),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cwnd-bench: error: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(name: &str, seconds: Option<&str>, threads: &str) -> Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut scenario = Scenario::from_toml(&text, name, &[])?;
    if let Some(seconds) = seconds {
        let accepted = || format!("SECONDS: '{seconds}' is not a number above 0");
        let seconds = seconds.parse().ok().filter(|&seconds: &f64| seconds > 0.0).ok_or_else(accepted)?;
        one::cut(&mut scenario, seconds);
    }
    let accepted = || format!("THREADS: '{threads}' is not a whole number from 1 on");
    let threads = threads.parse().ok().filter(|&threads: &usize| threads > 0).ok_or_else(accepted)?;
    println!("{}", serde_json::to_string(&one::measure(&scenario, threads))?);
    Ok(())
}

fn bench(base: Option<&Path>, files: &[&str]) -> Result<()> {
    let this = std::env::current_exe()?;
    let programs: Vec<(&str, PathBuf)> = match base {
        Some(base) => vec![("this", this.clone()), ("base", base.to_owned())],
        None => vec![("", this.clone())],
    };
    let mut texts = Vec::new();
    for file in files {
        texts.push(std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?);
    }
    let mut questions = QUESTIONS.to_vec();
    if !files.is_empty() {
        questions.clear();
    }
    for (name, text) in files.iter().zip(&texts) {
        let duration_s = Scenario::from_toml(text, name, &[])?.duration_ns as f64 * 1e-9;
        questions.push(Question { name, text, counted_s: [duration_s / 20.0, duration_s / 10.0] });
    }
    let counts = Command::new("valgrind").arg("--version").output().is_ok();
    println!(
        "{:<16} {:>4} {:>10} {:>10} {:>9} {:>12} {:>9}",
        "scenario", "", "packets", "packets/s", "ns/packet", "instr/packet", "peak MiB"
    );
    for question in questions {
        table_rows(question, &programs, counts)?;
    }
    if !counts {
        println!("instr/packet: install valgrind, whose callgrind counts them");
    }
    if files.is_empty() {
        for (which, program) in &programs {
            memory(program, which)?;
        }
        two_at_once(&this)?;
    }
    Ok(())
}

/// A scenario's row for each program, and how the first compares with the second.
fn table_rows(question: Question, programs: &[(&str, PathBuf)], counts: bool) -> Result<()> {
    let mut best: Vec<Option<Measured>> = programs.iter().map(|_| None).collect();
    let mut spent_s = 0.0;
    for _ in 0..RUNS {
        for ((_, program), best) in programs.iter().zip(&mut best) {
            let run = finish(start(Command::new(program), question, None)?)?.0;
            spent_s += run.wall_s / programs.len() as f64;
            if best.as_ref().is_none_or(|best| run.cpu_s < best.cpu_s) {
                *best = Some(run);
            }
        }
        if spent_s > RUNS_S {
            break;
        }
    }
    let mut rows = Vec::new();
    for ((which, program), best) in programs.iter().zip(best) {
        let best = best.ok_or("no run")?;
        let instructions = if counts { instructions_per_packet(program, question)? } else { None };
        let row = (best.ns_per_packet(), instructions, best.heap_bytes as f64 / f64::from(1 << 20));
        println!(
            "{:<16} {which:>4} {:>10} {:>10.0} {:>9.1} {:>12} {:>9.1}",
            question.name,
            best.packets,
            1e9 / row.0,
            row.0,
            row.1.map_or_else(|| "-".to_owned(), |count| format!("{count:.0}")),
            row.2
        );
        rows.push(row);
    }
    if let [this, base] = rows.as_slice() {
        println!(
            "{:<16} {:>4} {:>10} {:>10.3} {:>9.3} {:>12} {:>9.3}",
            "",
            "t/b",
            "",
            base.0 / this.0,
            this.0 / base.0,
            this.1.zip(base.1).map_or_else(|| "-".to_owned(), |(this, base)| format!("{:.3}", this / base)),
            this.2 / base.2
        );
    }
    Ok(())
}

/// Starts a run of `question` by `program`, whose arguments say how.
fn start(mut program: Command, question: Question, seconds: Option<f64>) -> Result<Child> {
    program.args(["--measure", question.name]).args(seconds.map(|seconds| seconds.to_string()));
    let name = program.get_program().display().to_string();
    let failed = |error| format!("{name}: {error}");
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    child.stdin.take().ok_or("no standard input")?.write_all(question.text.as_bytes())?;
    Ok(child)
}

/// Returns the measurements of the run, and its standard error if that was caught.
fn finish(child: Child) -> Result<(Measured, String)> {
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err("a run failed".into());
    }
    Ok((serde_json::from_slice(&output.stdout)?, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// As callgrind counts them; None: no packets were sent meanwhile.
fn instructions_per_packet(program: &Path, question: Question) -> Result<Option<f64>> {
    let mut counts = [(0, 0); 2];
    for (count, seconds) in counts.iter_mut().zip(question.counted_s) {
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .stderr(Stdio::piped());
        let (run, printed) = finish(start(valgrind, question, Some(seconds))?)?;
        let total = printed.split("Collected : ").nth(1).and_then(|rest| rest.split_whitespace().next());
        *count = (total.ok_or("valgrind says no count")?.parse::<u64>()?, run.packets);
    }
    let [(first, before), (last, after)] = counts;
    Ok((after > before).then(|| (last - first) as f64 / (after - before) as f64))
}

/// Prints a row for each guarded scenario; whether all are within `RATIO_MAX`.
fn compare_instructions(base: &Path) -> Result<bool> {
    let this = std::env::current_exe()?;
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("valgrind counts instructions: apt-get install valgrind".into());
    }
    println!("{:<16} {:>12} {:>12} {:>9}", "instr/packet", "this", "base", "this/base");
    let mut all = true;
    for question in QUESTIONS.iter().filter(|question| GUARDED.contains(&question.name)) {
        let count = |program| -> Result<f64> {
            Ok(instructions_per_packet(program, *question)?.ok_or("no packets were sent")?)
        };
        let (this, base) = (count(&this)?, count(base)?);
        let within = this / base <= RATIO_MAX;
        let verdict = if within { "" } else { "  more than 1.02" };
        println!("{:<16} {this:>12.1} {base:>12.1} {:>9.4}{verdict}", question.name, this / base);
        all &= within;
    }
    Ok(all)
}

/// Bytes of a flow and of a packet in flight: by how much peaks differ when there are more of them.
fn memory(program: &Path, which: &str) -> Result<()> {
    let peak = |text: &str| -> Result<f64> {
        let question = Question { name: "memory", text, counted_s: [0.0; 2] };
        Ok(finish(start(Command::new(program), question, None)?)?.0.heap_bytes as f64)
    };
    let link =
        "samples = \"off\"\n[[chain]]\nrate = \"100 Gbps\"\ndelay = \"50 ms\"\nbuffer = \"unlimited\"\n";
    // Each has sent a packet, which has been acknowledged; the next is written a second after the end.
    let idle = |flows: u32| {
        format!(
            "duration = \"1 s\"\n{link}[[flows]]\ncca = \"cubic\"\ncount = {flows}\npacket = \"1000 bytes\"\n\
            app_rate = \"8 Mbps\"\non = \"1 ms\"\noff = \"2 s\""
        )
    };
    let [few, many] = [1_000, 10_000];
    let per_flow = (peak(&idle(many))? - peak(&idle(few))?) / f64::from(many - few);
    let held = |profile: &str, window: u32| {
        format!(
            "duration = \"2 s\"\n\
            stack = {{ profile = \"{profile}\", initial_window = 1000, receive_window = {window} }}\n{link}\
            [[flows]]\ncca = \"cubic\"\npacket = \"500 bytes\""
        )
    };
    let [small, large] = [125_000, 1_250_000];
    let per_packet = |profile| -> Result<f64> {
        Ok((peak(&held(profile, large))? - peak(&held(profile, small))?) / f64::from(large - small))
    };
    println!(
        "{which}{}bytes per idle flow {per_flow:.0}, per packet in flight {:.0}, with delayed ACKs {:.0}",
        if which.is_empty() { "" } else { ": " },
        per_packet("ns2")?,
        per_packet("linux")?,
    );
    Ok(())
}

/// How much longer a run takes beside another.
fn two_at_once(program: &Path) -> Result<()> {
    let wall_s = |runs: usize| -> Result<f64> {
        let children: Vec<Child> =
            (0..runs).map(|_| start(Command::new(program), REFERENCE, None)).collect::<Result<_>>()?;
        children.into_iter().try_fold(0.0, |most: f64, child| Ok(most.max(finish(child)?.0.wall_s)))
    };
    let [mut alone, mut beside] = [f64::INFINITY; 2];
    for _ in 0..2 {
        alone = alone.min(wall_s(1)?);
        beside = beside.min(wall_s(2)?);
    }
    println!("two runs at once take {:.2} times as long as one", beside / alone);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(question: Question) -> Scenario {
        Scenario::from_toml(question.text, question.name, &[]).unwrap()
    }

    #[test]
    fn every_scenario_says_what_it_is_and_runs() {
        for question in QUESTIONS {
            let name = question.name;
            assert!(question.text.starts_with("# "), "{name}");
            let mut scenario = read(question);
            assert!(question.counted_s[1] * 1e9 <= scenario.duration_ns as f64, "{name}");
            one::cut(&mut scenario, 0.2);
            let run = one::measure(&scenario, 1);
            assert!(run.packets > 0 && run.cpu_s > 0.0, "{name}: {run:?}");
        }
    }

    #[test]
    fn the_scenarios_are_of_the_size_that_they_promise() {
        let questions = QUESTIONS.map(read);
        let [
            reference,
            fast,
            lossy,
            chain,
            thousand,
            ten_thousand,
            short,
            codel,
            fq_codel,
            reverse,
            jitter,
            bare,
            access,
        ] = &questions;
        assert_eq!(
            (reference.flows.len(), reference.duration_ns, reference.rtt_ns(0) / 1_000_000),
            (4, 100_000_000_000, 204)
        );
        let link = fast.links.iter().min_by_key(|link| link.rate_bps).unwrap();
        // 100 Gbps for 100 ms in packets of 1500 bytes, and the queue.
        let window = 1e11 * 0.1 / 8.0 / 1500.0 + f64::from(link.buffer_pkts.unwrap());
        assert_eq!(
            (link.rate_bps, fast.rtt_ns(0) / 1_000_000, fast.flows[0].packet_bytes()),
            (100_000_000_000, 100, 1500)
        );
        assert!((window - 1.25e6).abs() < 1.0, "{window}");
        assert!(lossy.links.iter().any(|link| link.per == 0.01));
        assert_eq!((chain.links.len(), chain.flows[3].path.len()), (32, 32));
        assert_eq!(
            [thousand.flows.len(), ten_thousand.flows.len(), short.flows.len()],
            [1000, 10_000, 10_000]
        );
        for (scenario, managed, links) in [(codel, 1, 9), (fq_codel, 1, 9), (reverse, 0, 10)] {
            assert_eq!(scenario.links.iter().filter(|link| link.queue.is_some()).count(), managed);
            assert_eq!((scenario.links.len(), &scenario.flows[0].cca), (links, &reference.flows[0].cca));
        }
        assert_eq!((jitter.flows.len(), jitter.links.len(), jitter.flows[0].reverse_path.len()), (1, 4, 1));
        assert_eq!([bare, access].map(|scenario| scenario.links.len()), [1, 9]);
        assert_eq!([bare, access].map(|scenario| scenario.rtt_ns(0) / 1_000_000), [204; 2]);
        let uses_sack =
            |scenario: &Scenario| scenario.flows[0].stack.recovery.choices().detection.uses_sack();
        assert!(!uses_sack(bare) && !uses_sack(access));
    }
}
