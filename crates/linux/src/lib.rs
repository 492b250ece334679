//! The world `linux`: a scenario on a real kernel in virtual time.
//!
//! [`plan`](plan::write) turns a scenario into namespaces, devices and queues; [`Machine`] is the kernel and the
//! emulator that `cwnd linux setup` has put into a cache; [`run`] boots one guest for one run and returns its rows.

mod answer;
mod boot;
mod calls;
mod error;
mod filter;
mod guest;
mod image;
mod machine;
mod nodes;
mod plan;
mod probes;
mod queue;
mod refusal;
mod resources;
mod way;

pub use boot::Watch;
pub use error::Error;
pub use guest::{INIT, read_types, run};
pub use machine::Machine;
pub use plan::Algorithms;

use cwnd_scenario::Scenario;

/// The version of what this crate makes of a scenario, a part of the keys of runs.
///
/// It is raised with every change after which some run may have another result: of the plans that guests get, of the
/// emulator's machine and the kernel's command line, of how a report is read, of the shim between the kernel and our
/// algorithms (`crates/kernel/shim` and `ebpf`). The program inside guests needs none: it is in the keys as it is compiled,
/// which no comment changes. Not every machine can run guests, so a test watches what they get instead.
pub const RESULTS_VERSION: u32 = 9;

/// The part of a key for everything that a run depends on besides its scenario: the kernel, whose algorithms run, this crate,
/// and the program inside guests.
pub fn essence(machine: &Machine, algorithms: Algorithms) -> Vec<u8> {
    let head = format!("{} {algorithms:?} {RESULTS_VERSION}\n", machine.release);
    [head.as_bytes(), INIT].concat()
}

/// The processors that this process may use: a guest each.
pub fn processors() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None);
    let is_allowed = |core: &usize| allowed.as_ref().is_ok_and(|set| set.is_set(*core));
    (0..rustix::thread::CpuSet::MAX_CPU).filter(is_allowed).collect()
}

/// Checks that the scenario can run here.
///
/// # Errors
///
/// [`Error::Unsupported`].
pub fn check(scenario: &Scenario, algorithms: Algorithms) -> Result<(), Error> {
    plan::write(scenario, scenario.seed, algorithms).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwnd_algorithms::c_tokens;
    use sha2::{Digest, Sha256};
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    /// The hash of everything watched, under RESULTS_VERSION.
    const SEEN: &str = "77a251a5fb66bbcb";

    const SCENARIOS: [&str; 10] = [
        "[dumbbell]\nrate = '20 Mbps'\nrtt = '40 ms'\nbuffer = 40\n[[flows]]\ncca = 'cubic'",
        "samples = '100 ms'\n[dumbbell]\nrate = '1 Gbps'\nrtt = '100 ms'\nbuffer = '1 BDP'\nper = 1e-5\n\
         [[flows]]\ncca = 'elastic'\ncount = 2\nstart_jitter = '1 s'\n[[flows]]\ncca = 'hybla'",
        "[dumbbell]\nrate = '50 Mbps'\ndelay = '10 ms'\nbuffer = 200\nqueue = { discipline = 'fq-codel', ecn = true }\n\
         [[flows]]\ncca = 'dctcp'\nstack = { ecn = 'dctcp' }\n[[flows]]\ncca = 'bbr'\nstack = { pacing = 'fq' }",
        "[dumbbell]\nrate = '50 Mbps'\ndelay = '10 ms'\nbuffer = 200\nqueue = { discipline = 'red', variant = 'linux' }\n[[flows]]\ncca = 'reno'",
        "[dumbbell]\nrate = '50 Mbps'\ndelay = '10 ms'\nbuffer = 200\nqueue = { discipline = 'codel' }\n[[flows]]\ncca = 'reno'",
        "[dumbbell]\nrate = '50 Mbps'\ndelay = '10 ms'\nbuffer = 200\nqueue = { discipline = 'pie' }\n[[flows]]\ncca = 'reno'",
        "[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\nreverse = { rate = '1 Mbps', buffer = 50 }\n\
         access = { rate = '100 Mbps', delay = '2 ms' }\n[[flows]]\ncca = 'vegas'\nstack = { timestamps = true }",
        "[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\nreverse = { rate = '9 Mbps', delay = '15 ms', per = 1e-3 }\n\
         [[flows]]\ncca = 'reno'\n[[flows]]\ncca = 'hybla'\ndirection = 'up'",
        "[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = '60 KB'\n[[flows]]\ncca = 'westwood'\nsize = '1 MB'\n\
         [[flows]]\ncca = 'cubic'\napp_rate = '2 Mbps'\nstack = { receive_window = 30, ack_every = 1 }",
        "[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\nlosses = [3, [7, 9], ['1 s', '2 s']]\nmarks = [12]\n\
         [[flows]]\ncca = 'reno'\nstack = { initial_ssthresh = 20, ecn = true, handshake = 'first' }",
    ];

    /// A report as a guest with this plan could make it.
    fn report(plan: &plan::Plan) -> Vec<String> {
        let mut lines = vec!["idle 0.5".to_owned(), "short-of-memory 0".to_owned()];
        for flow in 0..plan.starts_ns.len() {
            lines
                .push(format!("flow {flow} 1000 10 1 990 1400000 5 2 33.5 20500 25000 300000000 2000000000"));
            for (at, delivered) in [(100_000_000, 50), (200_000_000, 120)] {
                lines.push(format!("flow-row {flow} {at} 30 20 40 2147483647 25 20500 {delivered} 3"));
            }
        }
        for link in 0..plan.watched.len() + plan.wires.len() {
            lines.push(format!("link {link} 990 1500000 10 5 12.5 40 38"));
            lines.extend([100_000_000, 200_000_000].map(|at| format!("link-row {link} {at} 12 0 4 2")));
        }
        lines.extend(plan.trips.iter().map(|trip| format!("trip {} 41000000", trip.flow)));
        lines.extend(plan.bursts.iter().map(|burst| format!("burst {} 6 3000000 39 1", burst.flow)));
        lines
    }

    /// A guest's input for a scenario, and the run that is read from a report of it.
    fn seen_of(scenario: &Scenario, algorithms: Algorithms) -> String {
        let plan = plan::write(scenario, 7, algorithms).unwrap();
        let run = answer::read(scenario, 7, &plan, &report(&plan)).unwrap();
        let (samples, links, transfers) = (&run.flow_samples, &run.link_samples, &run.transfers);
        let mut seen = format!("{}{:?}{:?}", plan.text, plan.modules, plan.programs);
        seen += &boot::command_line(plan.speed, plan.memory_mib, 7);
        seen += &serde_json::to_string(&run).unwrap();
        write!(seen, "{:?}{:?}", samples.time_s, samples.throughput_mbps).unwrap();
        write!(seen, "{:?}{:?}", links.time_s, links.queue_ms).unwrap();
        write!(seen, "{:?}{:?}{:?}", transfers.size_bytes, transfers.fct_ms, run.notes).unwrap();
        seen
    }

    #[test]
    fn guests_get_what_they_got_and_their_reports_are_read_as_they_were() {
        let mut hash = Sha256::new_with_prefix(boot::MACHINE);
        for text in SCENARIOS {
            let scenario =
                Scenario::from_toml(&format!("duration = '5 s'\n{text}"), "test.toml", &[]).unwrap();
            for algorithms in [Algorithms::Kernel, Algorithms::Ours] {
                hash.update(seen_of(&scenario, algorithms));
            }
        }
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel");
        for file in ["shim/hooks.h", "shim/names.h", "shim/shim.h", "ebpf/program.h", "ebpf/ops.c"] {
            hash.update(c_tokens(&fs::read_to_string(kernel.join(file)).unwrap()));
        }
        let seen =
            hash.finalize()[..8].iter().fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
        assert!(
            seen == SEEN,
            "results of this world may have moved: raise RESULTS_VERSION in crates/linux/src/lib.rs, or, if they have not, \
             leave it; then set SEEN there to \"{seen}\""
        );
    }
}
