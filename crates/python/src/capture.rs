//! A simulated run as a packet capture, taken at one end of its connections.

use crate::scenario::PyScenario;
use crate::{Error, refuse};
use cwnd_engine::net::{Packet, Parts, Segment, SelectiveAck, Side, Tap};
use cwnd_engine::{BorrowedSimulation, Control};
use cwnd_evidence::write::{Frame, PAYLOAD_MAX, Writer};
use cwnd_scenario::receive_memory::ReceiveWindow;
use cwnd_scenario::{Ecn, Flow, Handshake, Scenario};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::net::Ipv4Addr;
use std::rc::Rc;

/// Times begin here: 2026-01-01, since a capture has a date and a simulation has none.
const EPOCH_NS: u64 = 1_767_225_600_000_000_000;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
/// Initial sequence numbers of the sender and the receiver.
const ISN: (u32, u32) = (1_000_000, 2_000_000);
/// The largest scale of a window (RFC 7323), for a receiver that sets no limit.
const SCALE_MAX: u8 = 14;
/// Parts of a run, between which Python may have a signal for the user.
const PARTS: u64 = 200;

/// A file under way, and the handshakes that come before what was written last.
struct Out<W: Write> {
    writer: Writer<W>,
    failed: Option<io::Error>,
    waiting: BTreeMap<(u64, usize), Made>,
    count: usize,
}

/// A segment with its bytes.
struct Made {
    time_ns: u64,
    up: bool,
    port: u16,
    flow: u32,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    options: Vec<u8>,
    payload: u32,
    ecn: u8,
}

impl<W: Write> Out<W> {
    fn wait(&mut self, made: Made) {
        self.count += 1;
        self.waiting.insert((made.time_ns, self.count), made);
    }

    fn add(&mut self, made: &Made) {
        self.flush(made.time_ns);
        self.write(made);
    }

    /// Writes what waits up to a time.
    fn flush(&mut self, until_ns: u64) {
        while let Some(first) = self.waiting.first_entry().filter(|one| one.key().0 <= until_ns) {
            let made = first.remove();
            self.write(&made);
        }
    }

    fn write(&mut self, made: &Made) {
        let [high, low] = (made.flow as u16).to_be_bytes();
        let ends = [(Ipv4Addr::new(10, 1, high, low), made.port), (Ipv4Addr::new(10, 2, high, low), 443)];
        let (from, to) = if made.up { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
        let frame = Frame {
            time_ns: EPOCH_NS + made.time_ns,
            from,
            to,
            seq: made.seq,
            ack: made.ack,
            flags: made.flags,
            window: made.window,
            options: &made.options,
            payload: made.payload,
            ecn: made.ecn,
        };
        if self.failed.is_none() {
            self.failed = self.writer.frame(&frame).err();
        }
    }
}

/// A tap on a connection.
struct Recorder<'a, W: Write> {
    out: Rc<RefCell<Out<W>>>,
    at: Side,
    flow: &'a Flow,
    number: u32,
    port: u16,
    window: ReceiveWindow,
    /// With which the field of the window holds it when it has opened (RFC 7323).
    scale: u8,
    /// Segments that the receiver has acknowledged.
    acknowledged_pkts: u64,
    /// By which all times are later, so that the first handshake has one.
    shift_ns: u64,
    /// First byte of each segment that was sent, and the end of the last.
    starts: Vec<u64>,
    /// The receiver has answered the SYN.
    answered: bool,
    /// Time of the last ACK that left, in milliseconds, which data echo.
    echo_ms: u32,
}

fn ms(ns: u64) -> u32 {
    (ns / 1_000_000) as u32
}

/// The scale with which 16 bits hold a window of so many bytes, or the largest.
fn scale(bytes: u64) -> u8 {
    (0..SCALE_MAX).find(|scale| bytes.div_ceil(1 << scale) <= u64::from(u16::MAX)).unwrap_or(SCALE_MAX)
}

impl<W: Write> Recorder<'_, W> {
    /// The field of the receiver's window.
    fn window_field(&self) -> u16 {
        let bytes = self.window.after(self.acknowledged_pkts) * u64::from(self.flow.payload_bytes);
        bytes.div_ceil(1 << self.scale).min(u64::from(u16::MAX)) as u16
    }

    fn options(&self, time_ns: u64, echo_ms: u32) -> Vec<u8> {
        let mut options = Vec::with_capacity(40);
        if self.flow.stack.timestamps {
            options.extend([1, 1, 8, 10]);
            options.extend(ms(time_ns).to_be_bytes());
            options.extend(echo_ms.to_be_bytes());
        }
        options
    }

    fn opening(&self, time_ns: u64, echo_ms: u32) -> Vec<u8> {
        let segment = self.flow.payload_bytes.min(u32::from(u16::MAX)) as u16;
        let [high, low] = segment.to_be_bytes();
        // MSS, SACK permitted, scale.
        let mut options = vec![2, 4, high, low, 1, 1, 4, 2, 1, 3, 3, self.scale];
        options.extend(self.options(time_ns, echo_ms));
        options
    }

    fn made(&self, time_ns: u64, up: bool) -> Made {
        Made {
            time_ns: time_ns + self.shift_ns,
            up,
            port: self.port,
            flow: self.number,
            seq: ISN.0.wrapping_add(1),
            ack: ISN.1.wrapping_add(1),
            flags: ACK,
            window: if up { u16::MAX } else { self.window_field() },
            options: Vec::new(),
            payload: 0,
            ecn: 0,
        }
    }

    fn syn(&self, time_ns: u64) -> Made {
        let options = self.opening(time_ns, 0);
        Made { seq: ISN.0, ack: 0, flags: SYN, options, ..self.made(time_ns, true) }
    }

    fn syn_ack(&self, time_ns: u64, echo_ms: u32) -> Made {
        let (seq, ack) = (ISN.1, ISN.0.wrapping_add(1));
        let options = self.opening(time_ns, echo_ms);
        Made { seq, ack, flags: SYN | ACK, options, ..self.made(time_ns, false) }
    }

    /// A handshake that the scenario does not have, over the RTT before the first segment.
    fn open(&mut self, start_ns: u64, rtt_ns: u64) {
        let half_ns = rtt_ns / 2;
        // Times of the recorder are later by `shift_ns`, which is an RTT or more.
        let made = |recorder: &Self, early_ns: u64, frame: Made| Made {
            time_ns: (start_ns + recorder.shift_ns).saturating_sub(early_ns),
            ..frame
        };
        let (syn, answer) = match self.at {
            Side::Sender => (rtt_ns, 0),
            Side::Receiver => (half_ns, half_ns),
        };
        let first = made(self, syn, self.syn(start_ns));
        let second = made(self, answer, self.syn_ack(start_ns, ms(start_ns)));
        let mut out = self.out.borrow_mut();
        out.wait(first);
        out.wait(second);
        drop(out);
        self.answered = true;
    }

    fn start_of(&self, seq: u64) -> u32 {
        let at = usize::try_from(seq).unwrap_or(usize::MAX).min(self.starts.len() - 1);
        ISN.0.wrapping_add(1).wrapping_add(self.starts[at] as u32)
    }

    fn data(&mut self, at: Side, now_ns: u64, segment: &Segment) {
        let tag = segment.tag;
        let payload = tag.bytes().saturating_sub(self.flow.stack.header_bytes);
        if at == Side::Sender && tag.seq() == self.starts.len() as u64 - 1 {
            self.starts.push(self.starts[self.starts.len() - 1] + u64::from(payload));
        }
        if at != self.at {
            return;
        }
        // A SYN, or the ACK of its answer.
        let of_handshake = payload == 0 && tag.seq() == 0;
        let made = if of_handshake && !self.answered {
            self.syn(now_ns)
        } else {
            let marked = tag.has(cwnd_engine::net::CONGESTION);
            let push = if !of_handshake && payload < self.flow.payload_bytes { PSH } else { 0 };
            let reduced = if tag.has(cwnd_engine::net::CWR) { CWR } else { 0 };
            Made {
                seq: self.start_of(tag.seq()),
                flags: ACK | push | reduced,
                options: self.options(segment.sent_ns, self.echo_ms),
                payload,
                ecn: match self.flow.stack.ecn {
                    _ if of_handshake => 0,
                    Ecn::Off => 0,
                    _ if marked => 3,
                    _ => 2,
                },
                ..self.made(now_ns, true)
            }
        };
        self.out.borrow_mut().add(&made);
    }

    fn ack(&mut self, at: Side, now_ns: u64, one: &SelectiveAck) {
        let ack = &one.ack;
        if at == Side::Sender {
            self.echo_ms = ms(ack.returned_ns);
        }
        if at != self.at {
            return;
        }
        if !self.answered {
            self.answered = true;
            let made = self.syn_ack(now_ns, ms(ack.echo_ns));
            self.out.borrow_mut().add(&made);
            return;
        }
        self.acknowledged_pkts = ack.next;
        let mut options = self.options(ack.returned_ns, ms(ack.echo_ns));
        let mut blocks: Vec<(u64, u64)> = Vec::new();
        if ack.duplicate {
            blocks.push((ack.cause, ack.cause + 1));
        }
        blocks.extend(
            one.blocks.iter().filter(|block| !block.is_empty()).map(|block| (block.start, block.end)),
        );
        blocks.truncate(3);
        if self.flow.stack.recovery.choices().detection.uses_sack() && !blocks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                options.extend(self.start_of(start).to_be_bytes());
                options.extend(self.start_of(end).to_be_bytes());
            }
        }
        let made = Made {
            seq: ISN.1.wrapping_add(1),
            ack: self.start_of(ack.next),
            flags: ACK | if ack.ece { ECE } else { 0 },
            options,
            ..self.made(now_ns, false)
        };
        self.out.borrow_mut().add(&made);
    }
}

impl<W: Write> Tap for Recorder<'_, W> {
    fn see(&mut self, at: Side, now_ns: u64, packet: &Packet) {
        match packet {
            Packet::Data(segment) => self.data(at, now_ns, segment),
            Packet::Ack(ack) => self.ack(at, now_ns, ack),
            Packet::Datagram(_) => {}
        }
    }
}

/// The reason why the flows of a scenario are no segments of TCP in a capture.
fn refused(scenario: &Scenario) -> Option<String> {
    let each = |flow: &Flow| {
        let stack = &flow.stack;
        let header = if stack.timestamps { 66 } else { 54 };
        if flow.cca.is_udp() {
            Some("'udp' has no segments of TCP".to_owned())
        } else if stack.header_bytes != header || stack.ack_bytes != header {
            let found = stack.header_bytes;
            Some(format!("headers of {found} bytes; Ethernet, IPv4 and TCP have {header}: stack = 'linux'"))
        } else if matches!(stack.ecn, Ecn::Accurate | Ecn::L4s) {
            Some("accurate ECN is not written; ecn = 'classic', 'dctcp' or 'off'".to_owned())
        } else if flow.payload_bytes > PAYLOAD_MAX {
            Some(format!("packets of more than {PAYLOAD_MAX} bytes"))
        } else if flow.arrivals().is_some() && stack.handshake == Handshake::Off {
            Some("arrivals without a handshake; stack = { handshake = 'first' }".to_owned())
        } else {
            None
        }
    };
    scenario.flows.iter().find_map(each)
}

/// Simulates a scenario with its first seed, and writes what passes the senders, or the receivers, into a file.
#[pyfunction]
#[pyo3(signature = (scenario, path, *, receiver))]
pub fn capture(py: Python, scenario: &PyScenario, path: &str, receiver: bool) -> PyResult<()> {
    if !scenario.classes.is_empty() {
        return Err(Error::new_err("algorithms written in Python cannot be captured"));
    }
    scenario.inner.check_algorithms().map_err(refuse)?;
    if let Some(why) = refused(&scenario.inner) {
        return Err(Error::new_err(why));
    }
    let at = if receiver { Side::Receiver } else { Side::Sender };
    let file = OpenOptions::new().write(true).open(path)?;
    py.detach(|| write(&scenario.inner, at, BufWriter::new(file)))
}

fn write<W: Write>(scenario: &Scenario, at: Side, file: W) -> PyResult<()> {
    let failed = |error: io::Error| PyErr::from(error);
    let writer = Writer::new(file).map_err(failed)?;
    let out = Rc::new(RefCell::new(Out { writer, failed: None, waiting: BTreeMap::new(), count: 0 }));
    let longest_ns = (0..scenario.flows.len()).map(|flow| scenario.rtt_ns(flow)).max().unwrap_or(0);
    let ports = RefCell::new(vec![0u16; scenario.flows.len()]);
    let taps = |number: u32, start_ns: u64| -> Option<Box<dyn Tap + '_>> {
        let flow = &scenario.flows[number as usize];
        let turn = &mut ports.borrow_mut()[number as usize];
        *turn = (*turn + 1) % 25_000;
        let window = scenario.receive_window(number as usize);
        let mut recorder = Recorder {
            out: Rc::clone(&out),
            at,
            flow,
            number,
            port: 40_000 + *turn,
            window,
            scale: scale(u64::from(window.pkts) * u64::from(flow.payload_bytes)),
            acknowledged_pkts: 0,
            shift_ns: longest_ns,
            starts: vec![0],
            answered: false,
            echo_ms: 0,
        };
        if flow.stack.handshake == Handshake::Off && start_ns < scenario.duration_ns {
            recorder.open(start_ns, scenario.rtt_ns(number as usize));
        }
        Some(Box::new(recorder))
    };
    let control = Control::default();
    let parts = Parts { taps: &taps, ..Parts::default() };
    let mut run = BorrowedSimulation::plain(scenario, scenario.seed, parts, &control);
    for part in 1..=PARTS {
        let until_ns = (u128::from(scenario.duration_ns) * u128::from(part) / u128::from(PARTS)) as u64;
        run.advance(until_ns).map_err(|ended| Error::new_err(ended.to_string()))?;
        Python::attach(|py| py.check_signals())?;
        if let Some(error) = out.borrow_mut().failed.take() {
            return Err(failed(error));
        }
    }
    drop(run);
    let mut out = out.borrow_mut();
    out.flush(u64::MAX);
    match out.failed.take() {
        Some(error) => Err(failed(error)),
        None => out.writer.flush().map_err(failed),
    }
}
