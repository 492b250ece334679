//! A flow over QUIC: a connection of the stack as the two ends of a flow of the plain network.

use crate::end::{Asked, Connection, Datagram, Shared, Side};
use crate::own::Own;
use crate::received::Missing;
use crate::seen::Seen;
use crate::{Settings, Stack};
use cwnd_engine::Codepoint;
use cwnd_engine::net::{self, Counts, Endpoints, FlowLook, NEVER, Packet, Received, TransferRow, counted};
use cwnd_results::{FlowResult, FlowRow};
use cwnd_scenario::{Flow, Scenario, Size};
use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Payload that is missing for less may be on its way.
const MISSING_NS: u64 = 1_000_000_000;

/// As samples write it: not set.
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

const SIDES: [Side; 2] = [Side::Sender, Side::Receiver];

/// Before a datagram on the wire: Ethernet without its checksum, IPv4, UDP.
pub const HEADER_BYTES: u32 = 14 + 20 + 8;
/// In datagrams of UDP.
pub fn datagram_bytes(flow: &Flow) -> u32 {
    flow.packet_bytes().saturating_sub(HEADER_BYTES)
}

/// Returns true if the flow is a connection of the stack; others are TCP, or datagrams, as in the simulator.
pub fn is_of_stack(flow: &Flow) -> bool {
    !flow.cca.is_over_tcp() && !flow.cca.is_udp()
}

pub struct Quic<'a> {
    stack: Stack,
    settings: Settings,
    own: Option<&'a Own>,
    index: u32,
    flow: &'a Flow,
    /// Payload of UDP in a full datagram.
    datagram_bytes: u16,
    start_ns: u64,
    seed: [u8; 16],
    /// None: it has yet to begin. Some stacks change as they are asked for their counts.
    connection: RefCell<Option<Box<dyn Connection>>>,
    seen: Shared,
    /// By end: when a timer runs out, or NEVER.
    due_ns: [u64; 2],
    sent_pkts: u64,
    /// Without payload, which the connection counts.
    arrived: Received,
    /// Payload that had arrived when the flow had stopped or finished; set by the first arrival after that.
    at_stop: Option<Received>,
    stopped_ns: Option<u64>,
    last_arrival_ns: u64,
    /// Why the stack has given up a connection of the run.
    fault: &'a RefCell<Option<String>>,
}

fn size_bytes(flow: &Flow) -> Option<u64> {
    match flow.size()? {
        Size::Fixed { bytes } => Some(*bytes),
        _ => None,
    }
}

impl<'a> Quic<'a> {
    /// Makes the flow with number `index`, which begins at `start_ns`.
    pub fn new(
        (stack, settings, own): (Stack, Settings, Option<&'a Own>),
        scenario: &'a Scenario,
        (index, start_ns): (u32, u64),
        seed: u64,
        fault: &'a RefCell<Option<String>>,
    ) -> Quic<'a> {
        let flow = &scenario.flows[index as usize];
        let mut of_flow = [0; 16];
        of_flow[..8].copy_from_slice(&seed.to_le_bytes());
        of_flow[8..].copy_from_slice(&u64::from(index).to_le_bytes());
        let datagram_bytes = u16::try_from(datagram_bytes(flow)).expect("the size was checked");
        Quic {
            stack,
            settings,
            own,
            index,
            flow,
            datagram_bytes,
            start_ns,
            seed: of_flow,
            connection: RefCell::new(None),
            seen: Arc::new(Mutex::new(Seen::new(datagram_bytes, start_ns))),
            due_ns: [NEVER; 2],
            sent_pkts: 0,
            arrived: Received::default(),
            at_stop: None,
            stopped_ns: None,
            last_arrival_ns: 0,
            fault,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&mut self, now_ns: u64) {
        let asked = Asked {
            cca: &self.flow.cca,
            datagram_bytes: self.datagram_bytes,
            size_bytes: size_bytes(self.flow),
            seed: self.seed,
            settings: self.settings,
            own: self.own.map(|own| (own.instead_of.as_str(), &own.controllers)),
        };
        match self.stack.connect(&asked, now_ns, Arc::clone(&self.seen)) {
            Ok(connection) => self.connection = RefCell::new(Some(connection)),
            Err(line) => self.give_up(now_ns, line),
        }
    }

    fn give_up(&mut self, now_ns: u64, line: String) {
        self.fault.borrow_mut().get_or_insert(line);
        self.stop(now_ns);
    }

    /// From now on the ends neither send nor receive.
    fn stop(&mut self, now_ns: u64) {
        self.stopped_ns.get_or_insert(now_ns);
    }

    /// Sends what an end has to send, after anything has happened to it.
    fn serve(&mut self, now_ns: u64, side: Side, out: &mut Vec<Packet>) {
        let has_ecn = self.flow.stack.ecn.is_on();
        let Some(connection) = self.connection.get_mut() else { return };
        while let Some(datagram) = connection.transmit(side, now_ns) {
            let (is_ect, is_ce) = (has_ecn && datagram.is_ect, has_ecn && datagram.is_ce);
            self.sent_pkts += u64::from(side == Side::Sender);
            out.push(Packet::Datagram(Box::new(net::Datagram {
                to: side.other(),
                bytes: datagram.data.len() as u32 + HEADER_BYTES,
                codepoint: if is_ect { Codepoint::Ect0 } else { Codepoint::NotEct },
                marked: is_ce,
                content: Box::new(Datagram { is_ect, is_ce, ..datagram }),
            })));
        }
        self.due_ns[side as usize] = connection.due_ns(side).unwrap_or(NEVER).max(now_ns);
        let has_finished = connection.finished_ns().is_some();
        if let Some(fault) = connection.fault() {
            let (flow, stack, at_s) = (self.index, self.stack.name(), now_ns as f64 / 1e9);
            let line = format!("flow {flow}: {stack} gave up the connection at {at_s} s: {fault}");
            self.give_up(now_ns, line);
        } else if has_finished {
            self.stop(now_ns);
        }
    }

    fn received(&self) -> Received {
        let delivered_bytes = self.connection.borrow().as_ref().map_or(0, |own| own.received().bytes());
        Received { delivered_bytes, ..self.arrived }
    }

    fn held_lost_pkts(&self) -> u64 {
        self.connection.borrow_mut().as_mut().map_or(0, |connection| connection.held_lost_pkts())
    }

    fn finished_ns(&self) -> Option<u64> {
        self.connection.borrow().as_ref().and_then(|connection| connection.finished_ns())
    }

    fn stop_ns(&self, end_ns: u64) -> u64 {
        self.stopped_ns.unwrap_or(self.flow.stop_ns).min(end_ns)
    }
}

impl<'a> Endpoints<'a> for Quic<'a> {
    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    fn next_due_ns(&self) -> u64 {
        if self.stopped_ns.is_some() {
            NEVER
        } else if self.connection.borrow().is_none() {
            self.start_ns
        } else {
            self.due_ns.into_iter().min().unwrap_or(NEVER).min(self.flow.stop_ns)
        }
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Packet>) {
        if self.connection.get_mut().is_none() {
            self.begin(now_ns);
            self.serve(now_ns, Side::Sender, out);
        }
        for side in SIDES {
            if self.stopped_ns.is_none()
                && self.due_ns[side as usize] <= now_ns
                && let Some(connection) = self.connection.get_mut()
            {
                connection.wake(side, now_ns);
                self.serve(now_ns, side, out);
            }
        }
        if self.flow.stop_ns <= now_ns {
            self.stop(now_ns);
        }
    }

    fn on_datagram(&mut self, now_ns: u64, datagram: net::Datagram, out: &mut Vec<Packet>) {
        let net::Datagram { to: side, bytes, marked, content, .. } = datagram;
        if side == Side::Receiver {
            if self.stopped_ns.is_some_and(|stopped_ns| now_ns > stopped_ns) && self.at_stop.is_none() {
                self.at_stop = Some(self.received());
            }
            self.arrived.pkts += 1;
            self.arrived.bytes += u64::from(bytes);
            self.arrived.marked_pkts += u64::from(marked);
            self.last_arrival_ns = now_ns;
        }
        let content: Box<dyn Any> = content;
        let datagram = content.downcast::<Datagram>().expect("its ends sent it");
        if self.stopped_ns.is_none()
            && let Some(connection) = self.connection.get_mut()
        {
            connection.receive(side, now_ns, Datagram { is_ce: marked, ..*datagram });
            self.serve(now_ns, side, out);
        }
    }

    fn is_closed(&self) -> bool {
        self.stopped_ns.is_some()
    }

    fn counts(&self) -> Counts {
        Counts {
            sent: self.sent_pkts,
            retransmissions: self.held_lost_pkts(),
            timeouts: self.seen().persistent_congestions(),
            lost: 0,
            received: self.received().until(self.at_stop),
        }
    }

    fn last_arrival_ns(&self) -> u64 {
        self.last_arrival_ns
    }

    fn begin_measuring(&mut self, now_ns: u64) {
        self.seen().begin_measuring(now_ns);
    }

    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult {
        let stop_ns = self.stop_ns(end_ns);
        let from_ns = measured_from_ns.min(stop_ns);
        let fct_ms = self.finished_ns().map(|ns| (ns - self.start_ns) as f64 * 1e-6);
        let mut seen = self.seen();
        let mut row = counted(counts, stop_ns - from_ns);
        row.flow = id;
        row.cca = self.flow.cca.name.clone();
        row.start_s = self.start_ns as f64 / 1e9;
        row.stop_s = stop_ns as f64 / 1e9;
        row.mean_rtt_ms = seen.mean_rtt_ms();
        row.p95_rtt_ms = seen.p95_rtt_ms();
        row.mean_cwnd_pkts = seen.mean_cwnd_pkts(stop_ns);
        // Of a transfer that began in the warmup nothing is measured.
        row.fct_ms = fct_ms.filter(|_| self.start_ns >= from_ns);
        row.slow_start_s = seen.slow_start_end_ns(stop_ns).map(|ns| (ns - self.start_ns) as f64 / 1e9);
        row
    }

    fn look(&mut self, now_ns: u64) -> Option<FlowLook> {
        let has_begun = self.connection.get_mut().is_some();
        if !has_begun || self.stopped_ns.is_some_and(|stopped_ns| now_ns > stopped_ns) {
            return None;
        }
        let mut seen = self.seen();
        let look = seen.look();
        let row = FlowRow {
            cwnd_pkts: look.cwnd_pkts,
            cwnd_range_pkts: (look.min_cwnd_pkts, look.max_cwnd_pkts),
            ssthresh_pkts: look.ssthresh_pkts.unwrap_or(SSTHRESH_INFINITE),
            in_flight_pkts: look.in_flight_pkts,
            srtt_ns: seen.srtt_ns,
            ..FlowRow::default()
        };
        Some(FlowLook { row, start_ns: self.start_ns, is_over: false })
    }

    fn transfers(&self, _: u64) -> Vec<TransferRow> {
        let row = |bytes| TransferRow {
            start_ns: self.start_ns,
            bytes,
            end_ns: self.finished_ns(),
            retransmitted_pkts: self.held_lost_pkts(),
        };
        let has_begun = self.connection.borrow().is_some();
        size_bytes(self.flow).filter(|_| has_begun).map(row).into_iter().collect()
    }

    fn note(&self, end_ns: u64) -> Option<String> {
        let connection = self.connection.borrow();
        let Missing { bytes, holes, since_ns } = connection.as_ref()?.received().missing()?;
        let waited_ns = self.stop_ns(end_ns).saturating_sub(since_ns);
        (waited_ns >= MISSING_NS).then(|| {
            format!(
                "flow {}: at the end {bytes} bytes of payload in {holes} places had not reached the application for up to {:.1} s; \
                 {} {} may have lost them",
                self.index,
                waited_ns as f64 / 1e9,
                self.stack.name(),
                self.stack.version()
            )
        })
    }
}
