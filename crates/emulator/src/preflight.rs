//! Measures the path before the run, with datagrams over the same devices, queue and delays.

use crate::path::Report;
use crate::shared::Shared;
use crate::{Error, FAR, FIRST_PORT, NEAR, Watch, over_path, sys};
use cwnd_scenario::{Link, Scenario};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

const TO: SocketAddrV4 = SocketAddrV4::new(FAR, FIRST_PORT);
const PROBES: u32 = 10;
const ATTEMPTS: u32 = 3;
/// Arrivals are counted for so long, while more is sent than the link carries.
const OVERLOAD_NS: u64 = 300_000_000;
/// A path that passes less than this of the rate is not what was asked for.
const RATE_SHARE: f64 = 0.99;
/// A thread that moves packets for more of the time has no room for TCP, whose packets take longer than datagrams.
const BUSY_MAX: f64 = 0.7;

fn bind(address: Ipv4Addr) -> Result<UdpSocket, Error> {
    let socket = UdpSocket::bind(SocketAddrV4::new(address, FIRST_PORT)).map_err(Error::of("preflight"))?;
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time that is not zero");
    Ok(socket)
}

/// Packets and work of the emulator up to a moment.
#[derive(Clone, Copy)]
struct Passed {
    pkts: u64,
    at_ns: u64,
    worked_ns: u64,
}

impl Passed {
    fn now(shared: &Shared) -> Passed {
        Passed {
            pkts: shared.flows[0].delivered_pkts.load(Relaxed),
            at_ns: shared.last_arrival_ns.load(Relaxed),
            worked_ns: shared.worked_ns.load(Relaxed),
        }
    }
}

/// Measurements of the path by datagrams.
struct Seen {
    rtt_ns: Option<u64>,
    /// While more was sent than the link carries.
    from: Passed,
    to: Passed,
    arrived_pkts: u64,
}

/// A sentence with what was measured; None: stopped. A machine that is too slow is looked at again: it may have been at
/// other work.
pub fn measure(scenario: &Scenario, seed: u64, watch: &impl Watch) -> Result<Option<String>, Error> {
    let mut measured = measure_once(scenario, seed, watch);
    for _ in 1..ATTEMPTS {
        if !matches!(measured, Err(Error::Machine(_, None))) {
            break;
        }
        measured = measure_once(scenario, seed, watch);
    }
    measured
}

fn measure_once(scenario: &Scenario, seed: u64, watch: &impl Watch) -> Result<Option<String>, Error> {
    // Probes need no clean path; a probe is a datagram of one byte.
    let quiet = scenario.clone().with(|quiet| quiet.warmup_ns = 0);
    let (outcome, report) = over_path(&quiet, seed, |ends| -> Result<_, Error> {
        let far = bind_in(&ends.far, FAR)?;
        let near = bind_in(&ends.near, NEAR)?;
        let probes = Arc::new(AtomicBool::new(true));
        let echoes = thread::spawn({
            let probes = Arc::clone(&probes);
            move || echo(far, &probes)
        });
        let rtt_ns = probe(&near, scenario, watch);
        probes.store(false, Relaxed);
        // Nobody reads what comes next: the emulator counts it.
        let _far = echoes.join().expect("the receiver does not panic");
        let rtt_ns = rtt_ns?;
        let (from, to) = overload(&near, scenario, &ends.shared, watch)?;
        // What waits in the queue arrives; a queue without a limit is not waited for.
        thread::sleep(Duration::from_nanos(least_rtt_ns(scenario) + 50_000_000));
        Ok(Seen { rtt_ns, from, to, arrived_pkts: Passed::now(&ends.shared).pkts })
    })?;
    if !watch(0) {
        return Ok(None);
    }
    let seen = outcome?;
    judge(scenario, &seen, &report).map(Some)
}

/// Sends probes back while there are any; returns the socket, which stays open.
fn echo(far: UdpSocket, probes: &AtomicBool) -> UdpSocket {
    let mut data = [0; 1];
    while probes.load(Relaxed) {
        if let Ok((_, from)) = far.recv_from(&mut data) {
            let _ = far.send_to(&data, from);
        }
    }
    far
}

/// Describes the measurements in a sentence, which begins with "not valid: " if the path is not what was asked for.
///
/// # Errors
///
/// If this machine is too slow for the rate.
fn judge(scenario: &Scenario, seen: &Seen, report: &Report) -> Result<String, Error> {
    let link = scenario.bottleneck(0);
    let asked_mbps = link.rate_bps as f64 * 1e-6;
    let seconds = (seen.to.at_ns - seen.from.at_ns).max(1) as f64 * 1e-9;
    let wire_bytes = f64::from(scenario.flows[0].packet_bytes());
    let mbps = (seen.to.pkts - seen.from.pkts) as f64 * wire_bytes * 8e-6 / seconds;
    let busy = (seen.to.worked_ns - seen.from.worked_ns) as f64 * 1e-9 / seconds;
    let is_steady = scenario.links.iter().all(|link| link.variation.is_none() && link.impairments.is_none());
    let per: f64 = scenario.links.iter().map(|link| link.per).sum();
    if is_steady && (mbps < asked_mbps * (RATE_SHARE - per) || busy > BUSY_MAX) {
        let line = format!(
            "rate: this machine passes {mbps:.0} of {asked_mbps:.0} Mbit/s --on live, with the emulator at work for \
             {:.0} % of the time; {:.0} % of the rate at {:.0} % are needed: ask for a lower rate",
            busy * 100.0,
            RATE_SHARE * 100.0,
            BUSY_MAX * 100.0
        );
        return Err(Error::Machine(line, None));
    }
    let asked_rtt_ns = least_rtt_ns(scenario);
    let is_late = seen.rtt_ns.is_none_or(|rtt_ns| rtt_ns > asked_rtt_ns + (asked_rtt_ns / 100).max(500_000));
    let drops_early = matches!(
        (report.held_at_drop_pkts, link.buffer_pkts),
        (Some(held), Some(limit)) if link.queue.is_none() && held != u64::from(limit)
    );
    let valid = if is_steady && (is_late || drops_early) { "not valid: " } else { "" };
    let rtt =
        seen.rtt_ns.map_or_else(|| "not measured".to_owned(), |ns| format!("{:.2} ms", ns as f64 * 1e-6));
    let drops = report
        .held_at_drop_pkts
        .map_or_else(|| "no drop".to_owned(), |pkts| format!("the first drop with {pkts} packets held"));
    let lost: u64 = report.run.links.iter().map(|link| link.error_pkts).sum();
    let lost = if per > 0.0 {
        format!("{lost} lost on the wire beside {} that arrived, ", seen.arrived_pkts)
    } else {
        String::new()
    };
    Ok(format!(
        "{valid}preflight: {mbps:.1} of {asked_mbps:.1} Mbit/s, RTT {rtt} of {:.2} ms, {drops}, {lost}the emulator \
         at work for {:.0} % of the time and late by less than {:.2} ms for 99 % of the packets",
        asked_rtt_ns as f64 * 1e-6,
        busy * 100.0,
        report.late_p99_ns as f64 * 1e-6 + 0.001
    ))
}

/// Returns the RTT of short packets over the path of flow 0, without queueing.
fn least_rtt_ns(scenario: &Scenario) -> u64 {
    let flow = &scenario.flows[0];
    let links = flow.path.iter().chain(&flow.reverse_path).map(|&link| &scenario.links[link as usize]);
    let sending = |link: &Link| link.delay_ns + link.sending_ns(flow.stack.ack_bytes);
    links.map(sending).sum::<u64>() + flow.return_delay_ns
}

fn bind_in(namespace: &crate::Namespace, address: Ipv4Addr) -> Result<UdpSocket, Error> {
    namespace.spawn(move || bind(address)).join().expect("it does not panic")
}

/// The least RTT of the probes, if one came back.
fn probe(near: &UdpSocket, scenario: &Scenario, watch: &impl Watch) -> Result<Option<u64>, Error> {
    let patience_ns = 2 * least_rtt_ns(scenario) + 50_000_000;
    near.set_read_timeout(Some(Duration::from_nanos(patience_ns))).expect("a time that is not zero");
    let mut least_ns = None;
    for _ in 0..PROBES {
        if !watch(0) {
            return Ok(None);
        }
        let sent_ns = sys::now_ns();
        near.send_to(&[0], TO).map_err(failed)?;
        match near.recv_from(&mut [0; 8]) {
            Ok(_) => {
                let rtt_ns = sys::now_ns() - sent_ns;
                least_ns = Some(least_ns.map_or(rtt_ns, |least: u64| least.min(rtt_ns)));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(least_ns)
}

/// Sends more than the link carries, and returns what had arrived when the path was full, and at the end.
fn overload(
    near: &UdpSocket,
    scenario: &Scenario,
    shared: &Shared,
    watch: &impl Watch,
) -> Result<(Passed, Passed), Error> {
    let link = scenario.bottleneck(0);
    let data = vec![0; scenario.flows[0].payload_bytes as usize];
    let wire_bytes = scenario.flows[0].packet_bytes();
    // Enough to fill the queue at once, although it is sent meanwhile; then a twentieth more than the link sends.
    let fill = link.buffer_pkts.map_or(100, |pkts| pkts.min(20_000) * 5 / 4 + 50);
    for _ in 0..fill {
        near.send_to(&data, TO).map_err(failed)?;
    }
    let begin_ns = sys::now_ns();
    // What is sent now arrives so much later.
    let way_ns = scenario.way_there_ns(0);
    let mut from = None;
    let mut sent = 0;
    loop {
        let passed_ns = sys::now_ns() - begin_ns;
        if passed_ns > way_ns + OVERLOAD_NS / 10 && from.is_none() {
            from = Some(Passed::now(shared));
        }
        if passed_ns > way_ns + OVERLOAD_NS || !watch(0) {
            let to = Passed::now(shared);
            return Ok((from.unwrap_or(to), to));
        }
        let due = u128::from(passed_ns) * u128::from(link.rate_bps) * 21
            / 20
            / (u128::from(wire_bytes) * 8_000_000_000);
        while sent < due {
            near.send_to(&data, TO).map_err(failed)?;
            sent += 1;
        }
        thread::sleep(Duration::from_micros(200));
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::of("preflight")(error)
}
