//! One sender and one receiver for each flow, and what the kernel reports of them.

use crate::shared::Shared;
use crate::sys::{self, TcpInfo};
use crate::{Ends, Error, FAR, FIRST_PORT, WORLD, Watch};
use cwnd_results::{FlowResult, FlowRow, FlowSamples, GroupSamples, Run, Transfers, time_series};
use cwnd_scenario::{Flow, Samples, Scenario, Size};
use std::io::{ErrorKind, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The kernel is asked at least so often.
const LOOK_NS: u64 = 10_000_000;
const LEAST_LOOK_NS: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_millis(50);
const CHUNK_BYTES: usize = 256 * 1024;
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// A flow as its threads and the observer share it.
#[derive(Default)]
struct Live {
    /// While it is connected.
    stream: Mutex<Option<TcpStream>>,
    received_bytes: AtomicU64,
    /// 0: not yet.
    stopped_ns: AtomicU64,
    last: Mutex<TcpInfo>,
    /// The transfer is acknowledged.
    finished: AtomicBool,
}

/// Counts of a flow at one moment.
#[derive(Clone, Copy, Default)]
struct Counts {
    delivered_pkts: u64,
    delivered_bytes: u64,
    marked_pkts: u64,
    received_bytes: u64,
    info: TcpInfo,
}

impl Counts {
    fn now(shared: &Shared, live: &Live, flow: usize) -> Counts {
        let counts = &shared.flows[flow];
        Counts {
            delivered_pkts: counts.delivered_pkts.load(Relaxed),
            delivered_bytes: counts.delivered_bytes.load(Relaxed),
            marked_pkts: counts.marked_pkts.load(Relaxed),
            received_bytes: live.received_bytes.load(Relaxed),
            info: live.look(),
        }
    }
}

fn own<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    /// Returns the kernel's report of now, or else its last one.
    fn look(&self) -> TcpInfo {
        let stream = own(&self.stream);
        let mut last = own(&self.last);
        if let Some(info) = stream.as_ref().and_then(|stream| sys::tcp_info(stream).ok()) {
            *last = info;
        }
        *last
    }

    fn is_connected(&self) -> bool {
        own(&self.stream).is_some()
    }
}

/// All that is known without the emulator.
pub struct Traffic {
    flows: Vec<FlowResult>,
    samples: (FlowSamples, GroupSamples),
    transfers: Transfers,
    last_arrival_ns: u64,
}

impl Traffic {
    /// Completes the `run` of the path, which has the links and what each flow lost.
    pub fn over(self, mut run: Run) -> Run {
        let lost = run.flows.iter().map(|flow| flow.lost_pkts);
        let lose = |(mut flow, lost_pkts): (FlowResult, u64)| {
            flow.lost_pkts = lost_pkts;
            flow.with_loss_ratio()
        };
        run.flows = self.flows.into_iter().zip(lost).map(lose).collect();
        run.world = WORLD.into();
        run.flow_samples = self.samples.0;
        run.group_samples = self.samples.1;
        run.transfers = self.transfers;
        run.last_arrival_ns = self.last_arrival_ns;
        run
    }
}

fn size_of(flow: &Flow) -> Option<u64> {
    match flow.traffic.as_ref()?.size.as_ref()? {
        Size::Fixed { bytes } => Some(*bytes),
        _ => None,
    }
}

/// Sends for the scenario's duration, or until all flows have ended and nothing is under way; `names` are the
/// algorithms by flow. None: stopped.
pub fn run(
    scenario: &Scenario,
    names: &[String],
    ends: &Ends,
    watch: &impl Watch,
) -> Result<Option<Traffic>, Error> {
    let lives: Vec<Arc<Live>> = scenario.flows.iter().map(|_| Arc::default()).collect();
    let mut receivers = Vec::new();
    for (flow, live) in lives.iter().enumerate() {
        let port = FIRST_PORT + flow as u16;
        let listen = move || TcpListener::bind(SocketAddrV4::new(FAR, port));
        let listener = ends.far.spawn(listen).join().expect("it does not panic");
        let listener = listener.map_err(Error::of(format!("port {port}")))?;
        let window_bytes = scenario.flows[flow].receive_window_bytes();
        let window_bytes = window_bytes.map(|bytes| bytes.try_into().unwrap_or(i32::MAX));
        if let Some(bytes) = window_bytes {
            sys::limit_window(&listener, bytes).map_err(Error::of("a receive window"))?;
        }
        listener
            .set_nonblocking(true)
            .map_err(|error| Error::Machine(error.to_string(), Some(error.into())))?;
        let (shared, live) = (Arc::clone(&ends.shared), Arc::clone(live));
        receivers.push(ends.far.spawn(move || receive(&listener, window_bytes, &shared, &live)));
    }
    // Starts count from here: making sockets has taken some time.
    let base_ns = ends.shared.now_ns();
    let mut senders = Vec::new();
    for (flow, live) in lives.iter().enumerate() {
        let (shared, live) = (Arc::clone(&ends.shared), Arc::clone(live));
        let (described, name) = (scenario.flows[flow].clone(), names[flow].clone());
        let to = SocketAddrV4::new(FAR, FIRST_PORT + flow as u16);
        senders.push(ends.near.spawn(move || send(to, &described, &name, base_ns, &shared, &live)));
    }
    let mut observer = Observer::new(scenario, &ends.shared, &lives, base_ns);
    let mut goes_on = true;
    while goes_on {
        let now_ns = ends.shared.now_ns() - base_ns;
        observer.look(now_ns);
        if now_ns >= scenario.duration_ns {
            break;
        }
        if now_ns >= scenario.warmup_ns && ends.shared.is_quiet.load(Acquire) {
            ends.shared.end_ns.store(base_ns + scenario.duration_ns, Relaxed);
            break;
        }
        if senders.iter().all(thread::JoinHandle::is_finished) {
            ends.shared.flows_ended.store(true, Release);
        }
        goes_on = watch(now_ns);
        let next_ns = (now_ns / observer.tick_ns + 1) * observer.tick_ns;
        thread::sleep(Duration::from_nanos(next_ns.min(scenario.duration_ns) - now_ns));
    }
    let traffic = observer.finish();
    ends.shared.stop.store(true, Relaxed);
    lives.iter().for_each(|live| drop(own(&live.stream).take()));
    let outcomes: Vec<_> =
        senders.into_iter().map(|sender| sender.join().expect("it does not panic")).collect();
    receivers.into_iter().for_each(|receiver| receiver.join().expect("it does not panic"));
    if !goes_on {
        return Ok(None);
    }
    for (flow, outcome) in outcomes.into_iter().enumerate() {
        outcome.map_err(|line| Error::Machine(format!("flow {flow}: {line}"), None))?;
    }
    Ok(Some(traffic))
}

fn receive(listener: &TcpListener, window_bytes: Option<i32>, shared: &Shared, live: &Live) {
    let stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) if shared.stop.load(Relaxed) => return,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(PATIENCE));
    // Reads must not cause ACKs of their own, nor wait for more than the window.
    let at_least = window_bytes.map_or(i32::MAX, |bytes| bytes / 4).min(CHUNK_BYTES as i32 / 4);
    let _ = sys::read_at_least(&stream, at_least);
    while !shared.stop.load(Relaxed) {
        match sys::discard(&stream, 4 * CHUNK_BYTES) {
            Ok(0) => return,
            Ok(bytes) => {
                live.received_bytes.fetch_add(bytes as u64, Relaxed);
                // The kernel raises the limit when it learns how large packets are in memory.
                if let Some(bytes) = window_bytes {
                    let _ = sys::limit_window(&stream, bytes);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return,
        }
    }
}

fn send(
    to: SocketAddrV4,
    flow: &Flow,
    cca: &str,
    base_ns: u64,
    shared: &Shared,
    live: &Live,
) -> Result<(), String> {
    let now_ns = || shared.now_ns() - base_ns;
    let ended = || shared.stop.load(Relaxed) || now_ns() >= flow.stop_ns;
    while now_ns() < flow.start_ns {
        if shared.stop.load(Relaxed) {
            return Ok(());
        }
        thread::sleep(Duration::from_nanos((flow.start_ns - now_ns().min(flow.start_ns)).min(20_000_000)));
    }
    let mut stream = match sys::connect(to, cca) {
        Err(_) if ended() => return Ok(()),
        outcome => outcome.map_err(|error| format!("it cannot connect with '{cca}': {error}"))?,
    };
    let failed = |error: std::io::Error| error.to_string();
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    sys::abort_when_closed(&stream).map_err(failed)?;
    *own(&live.stream) = Some(stream.try_clone().map_err(failed)?);
    let data = vec![0; CHUNK_BYTES];
    let size = size_of(flow);
    let mut left = size.unwrap_or(u64::MAX);
    while left > 0 && !ended() {
        match stream.write(&data[..(left.min(CHUNK_BYTES as u64)) as usize]) {
            Ok(bytes) if size.is_some() => left -= bytes as u64,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) if ended() => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    if let Some(size) = size {
        let _ = stream.shutdown(Shutdown::Write);
        while !ended() && live.look().acked_bytes < size {
            thread::sleep(Duration::from_micros(200));
        }
        live.finished.store(live.look().acked_bytes >= size, Relaxed);
    }
    live.look();
    live.stopped_ns.store(now_ns(), Relaxed);
    *own(&live.stream) = None;
    Ok(())
}

/// Reads the kernel's counts while the flows send.
struct Observer<'a> {
    scenario: &'a Scenario,
    shared: &'a Shared,
    lives: &'a [Arc<Live>],
    base_ns: u64,
    tick_ns: u64,
    interval_ns: Option<u64>,
    sample_at_ns: u64,
    /// Rows, each with its time and its flow.
    samples: Vec<(u64, u32, FlowRow)>,
    before: Vec<Option<Counts>>,
    /// Since the last row: when, bytes and marks.
    rows: Vec<(u64, u64, u64)>,
    /// The least and the greatest window that was looked at since the last row.
    ranges: Vec<(u32, u32)>,
    cwnds: Vec<(u64, u64)>,
    /// RTTs as they were looked at, and the ACKs since the look before, which gave about as many samples.
    rtts_us: Vec<Vec<(u32, u32)>>,
    acks: Vec<u32>,
    slow_start_ns: Vec<Option<u64>>,
}

impl<'a> Observer<'a> {
    fn new(scenario: &'a Scenario, shared: &'a Shared, lives: &'a [Arc<Live>], base_ns: u64) -> Observer<'a> {
        let interval_ns = match scenario.samples {
            Samples::Interval { interval_ns } => Some(interval_ns),
            _ => None,
        };
        let flows = lives.len();
        Observer {
            scenario,
            shared,
            lives,
            base_ns,
            tick_ns: interval_ns.unwrap_or(LOOK_NS).clamp(LEAST_LOOK_NS, LOOK_NS),
            interval_ns,
            sample_at_ns: 0,
            samples: Vec::new(),
            before: vec![None; flows],
            rows: vec![(0, 0, 0); flows],
            ranges: vec![(u32::MAX, 0); flows],
            cwnds: vec![(0, 0); flows],
            rtts_us: vec![Vec::new(); flows],
            acks: vec![0; flows],
            slow_start_ns: vec![None; flows],
        }
    }

    fn look(&mut self, now_ns: u64) {
        let sampled = self.interval_ns.filter(|_| now_ns >= self.sample_at_ns);
        let row_ns = sampled.map_or(0, |interval_ns| now_ns / interval_ns * interval_ns);
        for (flow, live) in self.lives.iter().enumerate() {
            let measures = now_ns >= self.scenario.warmup_ns;
            if measures && self.before[flow].is_none() {
                self.before[flow] = Some(Counts::now(self.shared, live, flow));
            }
            if !live.is_connected() {
                continue;
            }
            let counts = Counts::now(self.shared, live, flow);
            if counts.info.ssthresh < SSTHRESH_INFINITE && self.slow_start_ns[flow].is_none() {
                self.slow_start_ns[flow] = Some(now_ns);
            }
            if measures {
                self.cwnds[flow].0 += u64::from(counts.info.cwnd);
                self.cwnds[flow].1 += 1;
                if counts.info.rtt_us > 0 {
                    self.rtts_us[flow]
                        .push((counts.info.rtt_us, counts.info.acks.saturating_sub(self.acks[flow])));
                }
            }
            self.acks[flow] = counts.info.acks;
            let cwnd = counts.info.cwnd;
            let (min, max) = self.ranges[flow];
            let (min, max) = (min.min(cwnd), max.max(cwnd));
            self.ranges[flow] = (min, max);
            if sampled.is_some() {
                let (at_ns, bytes, marks) = self.rows[flow];
                let row = FlowRow {
                    cwnd_pkts: cwnd,
                    cwnd_range_pkts: (min, max),
                    ssthresh_pkts: counts.info.ssthresh,
                    in_flight_pkts: counts.info.in_flight,
                    srtt_ns: 1000 * u64::from(counts.info.rtt_us),
                    bits: 8 * (counts.delivered_bytes - bytes),
                    span_ns: now_ns.saturating_sub(at_ns).max(1),
                    marked_pkts: counts.marked_pkts - marks,
                };
                self.samples.push((row_ns, flow as u32, row));
                self.rows[flow] = (now_ns, counts.delivered_bytes, counts.marked_pkts);
                self.ranges[flow] = (cwnd, cwnd);
            }
        }
        if let Some(interval_ns) = sampled {
            self.sample_at_ns = row_ns + interval_ns;
        }
    }

    fn finish(mut self) -> Traffic {
        let end_ns = (self.shared.now_ns() - self.base_ns).min(self.scenario.duration_ns);
        let mut transfers = Transfers::default();
        let mut flows = Vec::new();
        for (flow, live) in self.lives.iter().enumerate() {
            let described = &self.scenario.flows[flow];
            let mut row = self.flow(flow, described, live, end_ns);
            if let Some(size) = size_of(described) {
                let finished = live.finished.load(Relaxed);
                let fct_ms = if finished { (row.stop_s - row.start_s) * 1e3 } else { f64::NAN };
                let slowdown = fct_ms * 1e6 / self.scenario.ideal_fct_ns(flow, size);
                transfers.flow.push(flow as u32);
                transfers.start_s.push(row.start_s);
                transfers.size_bytes.push(size);
                transfers.fct_ms.push(fct_ms);
                transfers.slowdown.push(slowdown);
                transfers.retransmitted_pkts.push(row.retransmitted_pkts);
                row.fct_ms = finished.then_some(fct_ms);
            }
            flows.push(row);
        }
        transfers.set_quantiles(&mut flows, self.scenario.warmup_ns);
        Traffic {
            flows,
            samples: time_series(self.samples, &self.scenario.sample_groups),
            transfers,
            last_arrival_ns: self.shared.last_arrival_ns.load(Relaxed).saturating_sub(self.base_ns),
        }
    }

    fn flow(&mut self, flow: usize, described: &Flow, live: &Live, end_ns: u64) -> FlowResult {
        let now = Counts::now(self.shared, live, flow);
        let before = self.before[flow].unwrap_or_default();
        let stop_ns = match live.stopped_ns.load(Relaxed) {
            0 => described.stop_ns.min(end_ns),
            stopped_ns => stopped_ns.min(end_ns),
        };
        let from_ns = described.start_ns.max(self.scenario.warmup_ns).min(stop_ns);
        let span_ns = (stop_ns - from_ns).max(1);
        let rtts = &mut self.rtts_us[flow];
        rtts.sort_unstable();
        let sent_pkts = u64::from(now.info.sent - before.info.sent);
        let (cwnds, looks) = self.cwnds[flow];
        let slow_start_end_ns = self.slow_start_ns[flow].unwrap_or(stop_ns);
        let mut row = FlowResult::default();
        row.flow = flow as u32;
        row.cca = described.cca.name.clone();
        row.start_s = described.start_ns as f64 / 1e9;
        row.stop_s = stop_ns as f64 / 1e9;
        row.sent_pkts = sent_pkts;
        row.retransmitted_pkts = u64::from(now.info.retransmitted - before.info.retransmitted);
        row.delivered_pkts = now.delivered_pkts - before.delivered_pkts;
        row.timeouts = u64::from(now.info.timeouts.saturating_sub(before.info.timeouts));
        row.throughput_mbps = mbps(now.delivered_bytes - before.delivered_bytes, span_ns);
        row.goodput_mbps = mbps(now.received_bytes - before.received_bytes, span_ns);
        row.mean_rtt_ms = mean(rtts).map(|us| us * 1e-3);
        row.p95_rtt_ms = quantile(rtts, 0.95).map(|us| us * 1e-3);
        row.mean_cwnd_pkts = cwnds as f64 / looks.max(1) as f64;
        row.marked_pkts = now.marked_pkts - before.marked_pkts;
        row.slow_start_s = (looks > 0 && !described.cca.controls_window())
            .then(|| slow_start_end_ns.saturating_sub(described.start_ns) as f64 / 1e9);
        row
    }
}

fn mbps(bytes: u64, span_ns: u64) -> f64 {
    bytes as f64 * 8e3 / span_ns as f64
}

/// Returns the mean of values with weights; `None` if they weigh nothing.
fn mean(weighted: &[(u32, u32)]) -> Option<f64> {
    let weight: u64 = weighted.iter().map(|&(_, weight)| u64::from(weight)).sum();
    let sum: f64 = weighted.iter().map(|&(value, weight)| f64::from(value) * f64::from(weight)).sum();
    (weight > 0).then(|| sum / weight as f64)
}

/// The value that a share `q` of the weight does not exceed, of sorted values.
fn quantile(sorted: &[(u32, u32)], q: f64) -> Option<f64> {
    let weight: u64 = sorted.iter().map(|&(_, weight)| u64::from(weight)).sum();
    let wanted = (q * weight as f64).ceil() as u64;
    let mut below = 0;
    let reaches = |&&(_, weight): &&(u32, u32)| {
        below += u64::from(weight);
        below >= wanted && below > 0
    };
    sorted.iter().find(reaches).map(|&(value, _)| f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_and_a_quantile_weigh_a_look_by_its_acks() {
        let looks = [(10, 90), (20, 0), (30, 6), (40, 4)];
        assert_eq!(mean(&looks), Some((900.0 + 180.0 + 160.0) / 100.0));
        assert_eq!([0.5, 0.9, 0.95, 0.97].map(|q| quantile(&looks, q)), [10.0, 10.0, 30.0, 40.0].map(Some));
        assert_eq!((mean(&[(5, 0)]), quantile(&[(5, 0)], 0.95), mean(&[])), (None, None, None));
    }
}
