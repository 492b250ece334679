//! One run of one scenario, measured.

#![expect(unsafe_code, reason = "a clock of the process")]

use crate::heap;
use cwnd_engine::{Control, run};
use cwnd_scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::time::Instant;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Data packets that entered the network.
    pub packets: u64,
    pub lost_pkts: u64,
    /// All flows together, over the duration.
    pub throughput_mbps: f64,
    pub goodput_mbps: f64,
    pub wall_s: f64,
    /// Time on a CPU if the system reports it, else as `wall_s`.
    pub cpu_s: f64,
    /// The most memory that was allocated at a time: all of a run, but not the scenario.
    pub heap_bytes: usize,
}

impl Measured {
    pub fn ns_per_packet(&self) -> f64 {
        self.cpu_s * 1e9 / self.packets as f64
    }
}

/// On so many threads.
pub fn measure(scenario: &Scenario, threads: usize) -> Measured {
    if scenario.flows.is_empty() {
        return Measured::default();
    }
    let (cpu, start) = (cpu_s(), Instant::now());
    let mut control = Control::default();
    control.threads = threads;
    let (run, heap_bytes) =
        heap::watch(|| run(scenario, scenario.seed, &|_| None, &control).expect("nothing stops it"));
    let wall_s = start.elapsed().as_secs_f64();
    let seconds = scenario.duration_ns as f64 / 1e9;
    let total = |megabits: fn(&_) -> f64| run.flows.iter().map(megabits).sum::<f64>() / seconds;
    Measured {
        packets: run.packets,
        lost_pkts: run.flows.iter().map(|flow| flow.lost_pkts).sum(),
        throughput_mbps: total(|flow| flow.throughput_mbps * (flow.stop_s - flow.start_s)),
        goodput_mbps: total(|flow| flow.goodput_mbps * (flow.stop_s - flow.start_s)),
        wall_s,
        cpu_s: cpu.and_then(|before| Some(cpu_s()? - before)).unwrap_or(wall_s),
        heap_bytes,
    }
}

/// Ends `scenario` after `seconds`; flows that would start later are left out.
pub fn cut(scenario: &mut Scenario, seconds: f64) {
    scenario.duration_ns = ((seconds * 1e9) as u64).clamp(1, scenario.duration_ns);
    let end = scenario.duration_ns;
    scenario.flows.retain(|flow| flow.start_ns + flow.start_jitter_ns < end);
    for flow in &mut scenario.flows {
        flow.stop_ns = flow.stop_ns.min(end);
    }
}

/// How long the threads of this process have been on a CPU, added up.
#[cfg(unix)]
fn cpu_s() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `time` alone.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    (done == 0).then_some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn cpu_s() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_is_cut_ends_then_and_keeps_the_flows_that_have_started() {
        let text = "[dumbbell]\nrate = \"1 Mbps\"\ndelay = \"1 ms\"\nbuffer = 10\n\
            [[flows]]\ncca = \"reno\"\ncount = 3\nstagger = \"2 s\"\nstop = \"50 s\"";
        let mut scenario = Scenario::from_toml(text, "test", &[]).unwrap();
        cut(&mut scenario, 3.0);
        let times: Vec<_> = scenario.flows.iter().map(|flow| (flow.start_ns, flow.stop_ns)).collect();
        assert_eq!(
            (scenario.duration_ns, times),
            (3_000_000_000, vec![(0, 3_000_000_000), (2_000_000_000, 3_000_000_000)])
        );
        assert_eq!(scenario.check(), Ok(()));
    }
}
