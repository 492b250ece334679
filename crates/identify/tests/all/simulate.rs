//! Captures of simulated flows: a tap around the ends of a flow, and what it saw as a pcap.

use cwnd_engine::net::{Packet, Parts, Segment, SelectiveAck, Side, Tap};
use cwnd_engine::{BorrowedSimulation, Control};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes of a segment's payload.
const MSS: u64 = 1448;
const CLIENT: [u8; 6] = [10, 0, 0, 1, 0x9c, 0x40];
const SERVER: [u8; 6] = [10, 0, 0, 2, 0, 80];
/// The flow begins so late, so that its handshake has room.
const BEFORE_NS: u64 = 2_000_000_000;
const SYN: u8 = 2;
const ACK: u8 = 16;
const ECE: u8 = 64;

/// The end where a capture is taken.
#[derive(Clone, Copy, PartialEq)]
pub enum At {
    Sender,
    Receiver,
}

/// A flow's packets as a pcap in nanoseconds.
pub struct Tape {
    at: At,
    bytes: Vec<u8>,
    /// Timestamp of the last ACK that the sender got.
    echo: u32,
    /// Echoes of data under way, by number and time.
    echoes: HashMap<(u64, u64), u32>,
    most: usize,
}

fn option(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[1, 1, kind, content.len() as u8 + 2], content].concat()
}

fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    option(8, &[value.to_be_bytes(), echo.to_be_bytes()].concat())
}

fn ms(ns: u64) -> u32 {
    ((ns + BEFORE_NS) / 1_000_000) as u32
}

impl Tape {
    fn new(at: At, start_ns: u64, rtt_ns: u64, most: usize) -> Tape {
        let mut bytes = Vec::new();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 128, 101] {
            bytes.extend(word.to_le_bytes());
        }
        let mut tape = Tape { at, bytes, echo: 0, echoes: HashMap::new(), most };
        let mss = [2, 4, 5, 0xb4]; // 1460, less 12 for timestamps
        let sack = [1, 1, 4, 2];
        let scale = [1, 3, 3, 14];
        let options = [&mss[..], &sack, &scale, &timestamps(1, 0)].concat();
        let base = (start_ns + BEFORE_NS).saturating_sub(rtt_ns);
        let (first, second, third) = match at {
            At::Sender => (base, base + rtt_ns, base + rtt_ns),
            At::Receiver => (base + rtt_ns / 2, base + rtt_ns / 2, base + rtt_ns + rtt_ns / 2),
        };
        tape.packet(first, true, 0, 0, SYN, 0, &options);
        tape.packet(second, false, 0, 1, SYN | ACK, 0, &options);
        tape.packet(third, true, 1, 1, ACK, 0, &timestamps(1, 1));
        tape
    }

    #[allow(clippy::too_many_arguments)]
    fn packet(&mut self, ns: u64, up: bool, seq: u32, ack: u32, flags: u8, len: u64, options: &[u8]) {
        if self.most == 0 {
            return;
        }
        self.most -= 1;
        let header = 40 + options.len();
        let total = header + len as usize;
        for word in [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, header as u32, total as u32] {
            self.bytes.extend(word.to_le_bytes());
        }
        self.bytes.extend([0x45, 0]);
        self.bytes.extend((total as u16).to_be_bytes());
        self.bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        let (from, to) = if up { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        self.bytes.extend(&from[..4]);
        self.bytes.extend(&to[..4]);
        self.bytes.extend(&from[4..]);
        self.bytes.extend(&to[4..]);
        self.bytes.extend(seq.to_be_bytes());
        self.bytes.extend(ack.to_be_bytes());
        self.bytes.extend([((5 + options.len() / 4) << 4) as u8, flags]);
        self.bytes.extend(60_000_u16.to_be_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(options);
    }

    fn data(&mut self, now_ns: u64, segment: &Segment) {
        let seq = 1 + segment.tag.seq() * MSS;
        let echo = self.echoes.remove(&(segment.tag.seq(), segment.sent_ns)).unwrap_or(self.echo);
        let options = timestamps(ms(segment.sent_ns), echo);
        self.packet(now_ns + BEFORE_NS, true, seq as u32, 1, ACK, MSS, &options);
    }

    fn ack(&mut self, now_ns: u64, ack: &SelectiveAck) {
        let number = |segment: u64| (1 + segment * MSS) as u32;
        let returned = ms(ack.ack.returned_ns);
        let mut options = timestamps(returned, ms(ack.ack.echo_ns));
        let mut blocks: Vec<u8> = Vec::new();
        let block = |start: u64, end: u64| [number(start).to_be_bytes(), number(end).to_be_bytes()].concat();
        if ack.ack.duplicate {
            blocks.extend(block(ack.ack.cause, ack.ack.cause + 1));
        }
        for range in ack.blocks.iter().filter(|range| !range.is_empty()) {
            if blocks.len() < 24 {
                blocks.extend(block(range.start, range.end));
            }
        }
        if !blocks.is_empty() {
            options.extend(option(5, &blocks));
        }
        let flags = if ack.ack.ece { ACK | ECE } else { ACK };
        self.packet(now_ns + BEFORE_NS, false, 1, number(ack.ack.next), flags, 0, &options);
    }
}

struct Recorder {
    tape: Rc<RefCell<Tape>>,
}

impl Tap for Recorder {
    fn see(&mut self, at: Side, now_ns: u64, packet: &Packet) {
        let mut tape = self.tape.borrow_mut();
        let here = at == if tape.at == At::Sender { Side::Sender } else { Side::Receiver };
        match packet {
            Packet::Data(segment) if here => tape.data(now_ns, segment),
            Packet::Data(segment) if at == Side::Sender => {
                let echo = tape.echo;
                tape.echoes.insert((segment.tag.seq(), segment.sent_ns), echo);
            }
            Packet::Ack(ack) => {
                if here {
                    tape.ack(now_ns, ack);
                }
                if at == Side::Sender {
                    tape.echo = ms(ack.ack.returned_ns);
                }
            }
            _ => {}
        }
    }
}

/// The pcap of the first flow of a scenario, of at most `most` packets.
pub fn pcap(text: &str, at: At, most: usize) -> Vec<u8> {
    let scenario = cwnd_scenario::Scenario::from_toml(text, "scenario", &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let tape = Rc::new(RefCell::new(Tape::new(at, scenario.flows[0].start_ns, scenario.rtt_ns(0), most)));
    let taps = |id: u32, _| -> Option<Box<dyn Tap + '_>> {
        (id == 0).then(|| Box::new(Recorder { tape: Rc::clone(&tape) }) as Box<dyn Tap>)
    };
    let control = Control::default();
    let parts = Parts { taps: &taps, ..Parts::default() };
    BorrowedSimulation::plain(&scenario, scenario.seed, parts, &control).finish().expect("nobody stops it");
    Rc::try_unwrap(tape).map(|tape| tape.into_inner().bytes).unwrap_or_default()
}
