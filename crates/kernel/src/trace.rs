//! Traces the machine's live TCP connections at the tracepoint `tcp_probe`.

use crate::btf::Btf;
use crate::loader::{self, Ops};
use crate::sys::{self, Memory, RingBuffer};
use crate::{Error, Host, refuse};
use serde::Serialize;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, io};

const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/trace.rs"));

/// How often the ring buffer is emptied: often enough for half a million records a second.
const EMPTIED_EVERY: Duration = Duration::from_millis(50);

/// Which connections are traced, and how often.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Port of either end; None: any.
    pub port: Option<u16>,
    /// The algorithm's name in the kernel; None: any.
    pub cca: Option<String>,
    /// The least time between two records of a connection. 0: a record at each ACK.
    pub interval_us: u32,
}

impl Filter {
    /// As in `struct trace_params` of `ebpf/trace.c`.
    fn words(&self) -> Vec<u32> {
        let mut cca = [0; 16];
        let name = self.cca.as_deref().unwrap_or_default().as_bytes();
        cca[..name.len()].copy_from_slice(name);
        let mut words = vec![self.port.unwrap_or(0).into(), self.interval_us];
        words.extend(cca.chunks_exact(4).map(|part| u32::from_ne_bytes(part.try_into().expect("four"))));
        words
    }
}

/// A connection's state at an ACK: `struct record` of `ebpf/trace.c`.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    time_ns: u64,
    cookie: u64,
    sent_bytes: u64,
    acked_bytes: u64,
    pacing_rate: u64,
    netns: u32,
    cwnd: u32,
    ssthresh: u32,
    in_flight: u32,
    srtt_us: u32,
    sent_pkts: u32,
    retransmitted_pkts: u32,
    delivered_pkts: u32,
    lost_pkts: u32,
    tcp_header_bytes: u32,
    local: SocketAddr,
    remote: SocketAddr,
    state: u32,
    cca: String,
    min_rtt_us: u32,
    min_cwnd: u32,
    max_cwnd: u32,
}

const RECORD_WORDS: usize = 20;

impl Record {
    fn of(words: &[u64; RECORD_WORDS]) -> Record {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let ipv6 = number(120) != 0;
        let end = |at: usize, port: usize| {
            let address: [u8; 16] = bytes[at..at + 16].try_into().expect("sixteen bytes");
            let address = match ipv6 {
                // A dual-stack socket has IPv4 as mapped addresses.
                true => IpAddr::V6(Ipv6Addr::from(address)).to_canonical(),
                false => IpAddr::V4(Ipv4Addr::new(address[0], address[1], address[2], address[3])),
            };
            SocketAddr::new(address, number(port) as u16)
        };
        let cca = bytes[128..144].split(|&byte| byte == 0).next().unwrap_or_default();
        Record {
            time_ns: words[0],
            cookie: words[1],
            sent_bytes: words[2],
            acked_bytes: words[3],
            pacing_rate: words[4],
            netns: number(40),
            cwnd: number(44),
            ssthresh: number(48),
            in_flight: number(52),
            srtt_us: number(56),
            sent_pkts: number(60),
            retransmitted_pkts: number(64),
            delivered_pkts: number(68),
            lost_pkts: number(72),
            tcp_header_bytes: number(76),
            local: end(80, 112),
            remote: end(96, 116),
            state: number(124),
            cca: String::from_utf8_lossy(cca).into_owned(),
            min_rtt_us: number(144),
            min_cwnd: number(148),
            max_cwnd: number(152),
        }
    }

    fn header_bytes(&self) -> u32 {
        self.tcp_header_bytes + if self.local.is_ipv4() { 20 } else { 40 }
    }
}

/// A connection, with totals over the time that it was traced. When it changes its algorithm, a new entry begins.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    pub flow: u32,
    /// The algorithm's name in the kernel.
    pub cca: String,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// The number of its network namespace.
    pub netns: u32,
    pub start_s: f64,
    pub stop_s: f64,
    pub sent_pkts: u32,
    pub retransmitted_pkts: u32,
    pub delivered_pkts: u32,
    pub lost_pkts: u32,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Delivered, with headers.
    pub delivered_bytes: f64,
    /// The least round-trip time, as the kernel has it for the last minutes (`tcp_min_rtt_wlen`).
    pub min_rtt_ms: Option<f64>,
}

/// Columns of the same length, a row for each record.
#[derive(Debug, Default)]
pub struct TraceSamples {
    pub time_s: Vec<f64>,
    pub flow: Vec<u32>,
    pub cwnd_pkts: Vec<u32>,
    /// Over the ACKs since the connection's previous record.
    pub min_cwnd_pkts: Vec<u32>,
    pub max_cwnd_pkts: Vec<u32>,
    pub ssthresh_pkts: Vec<u32>,
    pub in_flight_pkts: Vec<u32>,
    /// Smoothed.
    pub rtt_ms: Vec<f64>,
    /// Since the connection's previous record; NaN at the first.
    pub throughput_mbps: Vec<f64>,
    /// 0: not paced.
    pub pacing_mbps: Vec<f64>,
    /// Values of `enum tcp_ca_state`.
    pub state: Vec<u32>,
}

/// Numbers the connections, and turns counters into rates.
#[derive(Default)]
struct Connections {
    start_ns: u64,
    flows: HashMap<(u64, String), usize>,
    known: Vec<(Connection, Record)>,
}

impl Connections {
    fn take(&mut self, record: Record, samples: &mut TraceSamples) {
        let time_s = record.time_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let flow = *self.flows.entry((record.cookie, record.cca.clone())).or_insert_with(|| {
            let connection = Connection {
                flow: self.known.len() as u32,
                cca: record.cca.clone(),
                local: record.local,
                remote: record.remote,
                netns: record.netns,
                start_s: time_s,
                stop_s: time_s,
                sent_pkts: 0,
                retransmitted_pkts: 0,
                delivered_pkts: 0,
                lost_pkts: 0,
                acked_bytes: 0,
                delivered_bytes: 0.0,
                min_rtt_ms: None,
            };
            self.known.push((connection, record.clone()));
            self.known.len() - 1
        });
        let (connection, before) = &mut self.known[flow];
        let delivered = record.delivered_pkts.wrapping_sub(before.delivered_pkts);
        let sent = record.sent_pkts.wrapping_sub(before.sent_pkts);
        // The kernel counts segments of any size: those delivered are taken to be as large as those sent meanwhile.
        let (payload, segments) = match sent {
            0 => (record.sent_bytes, record.sent_pkts),
            _ => (record.sent_bytes - before.sent_bytes, sent),
        };
        let payload = payload as f64 / f64::from(segments.max(1));
        let bytes = f64::from(delivered) * (payload + f64::from(record.header_bytes()));
        connection.stop_s = time_s;
        connection.sent_pkts += sent;
        connection.retransmitted_pkts += record.retransmitted_pkts.wrapping_sub(before.retransmitted_pkts);
        connection.delivered_pkts += delivered;
        connection.lost_pkts += record.lost_pkts.wrapping_sub(before.lost_pkts);
        connection.acked_bytes += record.acked_bytes.wrapping_sub(before.acked_bytes);
        connection.delivered_bytes += bytes;
        // The kernel has all bits set before the first sample.
        if record.min_rtt_us != u32::MAX {
            let here = f64::from(record.min_rtt_us) / 1e3;
            connection.min_rtt_ms = Some(connection.min_rtt_ms.map_or(here, |least| least.min(here)));
        }
        samples.time_s.push(time_s);
        samples.flow.push(flow as u32);
        samples.cwnd_pkts.push(record.cwnd);
        samples.min_cwnd_pkts.push(record.min_cwnd);
        samples.max_cwnd_pkts.push(record.max_cwnd);
        samples.ssthresh_pkts.push(record.ssthresh);
        samples.in_flight_pkts.push(record.in_flight);
        samples.rtt_ms.push(f64::from(record.srtt_us) / 1e3);
        let seconds = record.time_ns.saturating_sub(before.time_ns) as f64 / 1e9;
        samples.throughput_mbps.push(if seconds > 0.0 { bytes * 8e-6 / seconds } else { f64::NAN });
        samples.pacing_mbps.push(record.pacing_rate as f64 * 8e-6);
        samples.state.push(record.state);
        *before = record;
    }
}

/// Traces connections from `start` to `stop`, or until it is dropped.
pub struct ConnectionTrace {
    connections: Connections,
    arrived: Arc<Mutex<Vec<Record>>>,
    stopped: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    program: OwnedFd,
    dropped: Memory,
    each_ack: bool,
}

impl ConnectionTrace {
    pub fn start(host: &Host, filter: &Filter) -> Result<ConnectionTrace, Error> {
        host.check()?;
        let known = host.available();
        if let Some(cca) = filter.cca.as_ref().filter(|cca| !known.contains(cca)) {
            let shown: String = cca.chars().flat_map(char::escape_default).take(40).collect();
            return Err(refuse(format!("'{shown}' is not in the kernel; there is {}", known.join(", "))));
        }
        let types = fs::read(&host.btf).expect("checked with the host");
        let types = Btf::parse(&types).expect("checked with the host");
        let ops = Ops::find(&types).expect("checked with the host");
        let (_, elf) = OBJECTS[0];
        let mut programs = loader::programs(elf, "cwnd_trace", &filter.words(), &types, &ops)?;
        let failed = |error: io::Error| {
            refuse(format!("the kernel does not let this program trace connections: {error}"))
        };
        let mut ring = RingBuffer::of(programs.map(".maps.ring"), loader::RING_BYTES).map_err(failed)?;
        let dropped = Memory::of(programs.map(".data.dropped")).map_err(failed)?;
        let (_, program) = programs.programs.pop().expect("it has one");
        let start_ns = sys::monotonic_ns();
        let link = sys::trace(&program).map_err(failed)?;
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let reader = thread::spawn({
            let (arrived, stopped) = (arrived.clone(), stopped.clone());
            move || {
                let mut link = Some(link);
                loop {
                    if stopped.load(Ordering::Relaxed) {
                        link = None;
                    }
                    let records: Vec<Record> =
                        std::iter::from_fn(|| ring.next()).map(|words| Record::of(&words)).collect();
                    arrived.lock().unwrap_or_else(PoisonError::into_inner).extend(records);
                    if link.is_none() {
                        return;
                    }
                    thread::park_timeout(EMPTIED_EVERY);
                }
            }
        });
        let connections = Connections { start_ns, ..Connections::default() };
        let each_ack = filter.interval_us == 0;
        Ok(ConnectionTrace {
            connections,
            arrived,
            stopped,
            reader: Some(reader),
            program,
            dropped,
            each_ack,
        })
    }

    /// The records since the last call.
    pub fn read(&mut self) -> TraceSamples {
        let records = std::mem::take(&mut *self.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        let mut samples = TraceSamples::default();
        for record in records {
            self.connections.take(record, &mut samples);
        }
        samples
    }

    /// The connections that have a record so far, in order of their first.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.connections.known.iter().map(|(connection, _)| connection)
    }

    /// Records that are missing: the ring buffer was full, or an ACK came while the program worked on another one on
    /// the same core. With an interval, the next ACK makes the record in the second case.
    pub fn dropped(&self) -> u64 {
        let misses = sys::program_info(&self.program).map_or(0, |info| info.misses);
        self.dropped.read::<u64>(0) + if self.each_ack { misses } else { 0 }
    }

    /// Seconds since the start.
    pub fn elapsed_s(&self) -> f64 {
        (sys::monotonic_ns() - self.connections.start_ns) as f64 / 1e9
    }

    /// Ends the tracing; records made until now can still be read.
    pub fn stop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.thread().unpark();
            // The panic was reported where it happened.
            let _ = reader.join();
        }
    }
}

impl Drop for ConnectionTrace {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a record as the C struct has them, field by field.
    fn words(ipv6: bool, numbers: [u32; 10]) -> [u64; RECORD_WORDS] {
        let mut bytes = Vec::new();
        for word in [5_000_000_000_u64, 77, 1_448_000, 1_000_000, 6_250_000] {
            bytes.extend(word.to_ne_bytes());
        }
        for number in numbers {
            bytes.extend(number.to_ne_bytes());
        }
        let (local, remote) = match ipv6 {
            true => (
                Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).octets(),
                Ipv4Addr::new(192, 0, 2, 7).to_ipv6_mapped().octets(),
            ),
            false => (
                [10, 99, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                [10, 99, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            ),
        };
        bytes.extend(local);
        bytes.extend(remote);
        for number in [40_000_u32, 5201, ipv6.into(), 3] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(*b"elastic\0\0\0\0\0\0\0\0\0");
        for number in [30_500_u32, 84, 168] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.resize(8 * RECORD_WORDS, 0);
        std::array::from_fn(|i| u64::from_ne_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap()))
    }

    const NUMBERS: [u32; 10] = [4_026_531_840, 120, 84, 118, 32_100, 1_000, 20, 900, 22, 32];

    #[test]
    fn a_record_is_read_field_by_field() {
        let record = Record::of(&words(false, NUMBERS));
        assert_eq!((record.time_ns, record.cookie), (5_000_000_000, 77));
        assert_eq!(
            (record.sent_bytes, record.acked_bytes, record.pacing_rate),
            (1_448_000, 1_000_000, 6_250_000)
        );
        assert_eq!((record.netns, record.cwnd, record.ssthresh), (4_026_531_840, 120, 84));
        assert_eq!((record.in_flight, record.srtt_us, record.sent_pkts), (118, 32_100, 1_000));
        assert_eq!((record.retransmitted_pkts, record.delivered_pkts, record.lost_pkts), (20, 900, 22));
        assert_eq!(
            (record.local.to_string(), record.remote.to_string()),
            ("10.99.1.1:40000".into(), "10.99.2.2:5201".into())
        );
        assert_eq!((record.state, record.cca.as_str(), record.header_bytes()), (3, "elastic", 52));
        assert_eq!((record.min_rtt_us, record.min_cwnd, record.max_cwnd), (30_500, 84, 168));
    }

    #[test]
    fn ipv4_in_a_dual_stack_socket_is_shown_as_ipv4() {
        let record = Record::of(&words(true, NUMBERS));
        assert_eq!(record.local.to_string(), "[2001:db8::1]:40000");
        assert_eq!(record.remote.to_string(), "192.0.2.7:5201");
    }

    #[test]
    fn rates_and_totals_follow_from_the_counters_of_two_records() {
        let mut connections = Connections { start_ns: 4_000_000_000, ..Connections::default() };
        let mut samples = TraceSamples::default();
        let first = Record::of(&words(false, NUMBERS));
        // 100 ms later 500 segments more were sent and delivered, each of 1448 bytes and 52 of headers.
        let mut second = first.clone();
        second.time_ns += 100_000_000;
        (second.sent_pkts, second.sent_bytes) = (1_500, 1_500 * 1_448);
        second.delivered_pkts = 1_400;
        second.acked_bytes += 700_000;
        second.retransmitted_pkts = 21;
        second.min_rtt_us = u32::MAX;
        connections.take(first.clone(), &mut samples);
        connections.take(second.clone(), &mut samples);
        assert_eq!((samples.flow.as_slice(), samples.time_s.as_slice()), (&[0, 0][..], &[1.0, 1.1][..]));
        assert!(samples.throughput_mbps[0].is_nan());
        // 500 * 1500 bytes in 100 ms
        assert!((samples.throughput_mbps[1] - 60.0).abs() < 1e-9);
        assert_eq!((samples.rtt_ms[1], samples.pacing_mbps[1]), (32.1, 50.0));
        let (traced, _) = &connections.known[0];
        assert_eq!((traced.sent_pkts, traced.delivered_pkts, traced.retransmitted_pkts), (500, 500, 1));
        assert_eq!((traced.acked_bytes, traced.delivered_bytes), (700_000, 750_000.0));
        assert_eq!((traced.start_s, traced.stop_s, traced.min_rtt_ms), (1.0, 1.1, Some(30.5)));
        // Another algorithm, another flow; another cookie, too.
        connections.take(Record { cca: "cubic".into(), ..second.clone() }, &mut samples);
        connections.take(Record { cookie: 78, ..second }, &mut samples);
        assert_eq!(samples.flow, [0, 0, 1, 2]);
    }

    #[test]
    fn counters_of_32_bits_go_on_after_their_end() {
        let mut connections = Connections::default();
        let mut samples = TraceSamples::default();
        let first = Record { delivered_pkts: u32::MAX - 9, ..Record::of(&words(false, NUMBERS)) };
        connections.take(first.clone(), &mut samples);
        connections.take(Record { delivered_pkts: 10, ..first }, &mut samples);
        assert_eq!(connections.known[0].0.delivered_pkts, 20);
    }

    #[test]
    fn a_filter_is_laid_out_as_the_program_reads_it() {
        let filter = Filter { port: Some(443), cca: Some("bbr".into()), interval_us: 10_000 };
        let name = u32::from_ne_bytes(*b"bbr\0");
        assert_eq!(filter.words(), [443, 10_000, name, 0, 0, 0]);
        assert_eq!(Filter::default().words(), [0; 6]);
    }
}
