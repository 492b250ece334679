//! The world `live`: this machine's kernel at both ends, the plain network between them, in real time.

mod algorithms;
mod checks;
mod ends;
mod error;
mod namespace;
mod pace;
mod packet;
mod path;
mod preflight;
mod shared;
mod sys;
mod traffic;

use cwnd_results::Run;
use cwnd_scenario::Scenario;
use namespace::Namespace;
use path::Report;
use shared::Shared;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// The name of this world in results.
pub const WORLD: &str = "live";

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The receiver of flow 0; the others count up.
const FIRST_PORT: u16 = 40_000;
/// IPv4 and TCP with timestamps.
const HEADER_BYTES: u32 = 52;

/// Gets the time that the run has reached, now and then; answers whether it is to go on.
pub trait Watch: Fn(u64) -> bool + Sync {}

impl<T: Fn(u64) -> bool + Sync> Watch for T {}

pub use checks::check;
pub use error::Error;

/// Answers `scenario` with `seed`, in about its duration; None: stopped by `watch`. A note of the run begins with
/// `not valid: ` if the path was not what the scenario asks for.
///
/// # Errors
///
/// If this world does not support the scenario, or this machine cannot do what it asks for.
pub fn run(scenario: &Scenario, seed: u64, watch: &impl Watch) -> Result<Option<Run>, Error> {
    checks::check(scenario)?;
    let algorithms = algorithms::Loaded::new(scenario)?;
    let Some(measured) = preflight::measure(scenario, seed, watch)? else { return Ok(None) };
    let traffic = |ends: &Ends| traffic::run(scenario, &algorithms.names, ends, watch);
    let dropped_before_pkts = sys::backlog_drops();
    let (outcome, report) = over_path(scenario, seed, traffic)?;
    let Some(traffic) = outcome? else { return Ok(None) };
    let mut run = traffic.over(report.run);
    run.notes.push(measured);
    let limit_ns = (scenario.rtt_ns(0) / 100).max(500_000);
    if report.late_p99_ns > limit_ns {
        run.notes.push(format!(
            "not valid: the emulator was late by {:.2} ms or more for one packet in a hundred, at most {:.2} ms is \
             accepted; leave it a core of its own, or ask for less",
            report.late_p99_ns as f64 * 1e-6,
            limit_ns as f64 * 1e-6
        ));
    }
    let dropped_pkts = sys::backlog_drops() - dropped_before_pkts;
    if dropped_pkts > 0 {
        run.notes.push(format!(
            "not valid: the kernel dropped {dropped_pkts} packets that waited for a processor; raise \
             net.core.netdev_max_backlog, or leave it the machine"
        ));
    }
    Ok(Some(run))
}

/// The two ends of a path, and what is known of the packets between them.
pub struct Ends {
    pub near: Namespace,
    pub far: Namespace,
    pub shared: Arc<Shared>,
}

/// Makes the path of `scenario`, calls `body` with its ends, and removes it.
fn over_path<T>(scenario: &Scenario, seed: u64, body: impl FnOnce(&Ends) -> T) -> Result<(T, Report), Error> {
    let mtu = scenario.flows[0].payload_bytes + HEADER_BYTES;
    let ecn = scenario.flows[0].stack.ecn.is_on();
    let buffer_bytes = checks::buffer_bytes(scenario);
    let (near, near_device) = Namespace::new(NEAR, mtu, ecn, buffer_bytes)?;
    let (far, far_device) = Namespace::new(FAR, mtu, ecn, buffer_bytes)?;
    let shared = Shared::new(scenario.flows.len());
    thread::scope(|scope| {
        let seen = &*shared;
        let emulator = scope.spawn(move || path::carry(scenario, seed, mtu, seen, near_device, far_device));
        let ends = Ends { near, far, shared: Arc::clone(&shared) };
        let outcome = body(&ends);
        shared.stop.store(true, Relaxed);
        let report = emulator.join().expect("the emulator does not panic");
        Ok((outcome, report.map_err(Error::of("the emulator"))?))
    })
}
