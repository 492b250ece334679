//! TCP: a sender and its receiver.

use crate::net::endpoints::{Endpoints, Packet, TcpSender};
use crate::net::measure::counts::{Counts, Received};
use crate::net::measure::rows::sender_row;
use crate::net::measure::samples::FlowLook;
use crate::tcp::packet::{AckPacket, Segment, SelectiveAck, Tag};
use crate::tcp::receiver::{Receiver, SackBlocks};
use crate::tcp::sender::Sender;
use crate::tcp::source::{Source, TransferRow};
use crate::tcp::ticks::Ticks;
use crate::time::NEVER;
use cwnd_algorithms::CongestionControl;
use cwnd_results::FlowResult;
use cwnd_scenario::receive_memory::ReceiveWindow;
use cwnd_scenario::{Flow, Scenario};
use std::fmt::Display;

pub struct Tcp<'a> {
    sender: TcpSender<'a>,
    receiver: Receiver,
    last_arrival_ns: u64,
    /// Counts of the receiver when the flow stopped; set by the first arrival after that.
    at_stop: Option<Received>,
}

/// The path of a flow, as its ends know it.
pub struct Path {
    /// Packets may arrive in another order than they were sent in.
    reordered: bool,
    /// Without queues.
    rtt_ns: u64,
    receive_window: ReceiveWindow,
}

impl Path {
    pub fn of(scenario: &Scenario, flow: usize) -> Path {
        Path {
            reordered: scenario.may_reorder(flow),
            rtt_ns: scenario.rtt_ns(flow),
            receive_window: scenario.receive_window(flow),
        }
    }
}

impl<'a> Tcp<'a> {
    /// `name` and `seed` choose the random numbers of the algorithm.
    pub fn new(
        flow: &'a Flow,
        cc: Box<dyn CongestionControl>,
        start_ns: u64,
        source: Option<Source<'a>>,
        path: Path,
        (seed, ticks, name): (u64, Ticks, impl Display),
    ) -> Tcp<'a> {
        let mut sender = Sender::new(cc, flow, start_ns, source, path.receive_window);
        sender.draw_chance(seed, ticks, name);
        let receiver = Receiver::new(&flow.stack, path.reordered, path.rtt_ns);
        Tcp { sender, receiver, last_arrival_ns: 0, at_stop: None }
    }

    /// Sends what the window allows.
    fn transmit(&mut self, now_ns: u64, out: &mut Vec<Packet>) {
        while let Some(tag) = self.sender.next_segment(now_ns) {
            self.send(now_ns, tag, out);
        }
    }

    fn send(&mut self, now_ns: u64, tag: Tag, out: &mut Vec<Packet>) {
        out.push(Packet::Data(self.sender.packet(now_ns, tag)));
    }

    /// The receiver sends an ACK, with the SACK blocks that it has now.
    fn acknowledge(&mut self, now_ns: u64, ack: Option<AckPacket>, out: &mut Vec<Packet>) {
        let blocks = self.receiver.first_blocks();
        let sent = ack.map(|ack| AckPacket { returned_ns: now_ns, ..ack });
        out.extend(sent.map(|ack| Packet::Ack(Box::new(SelectiveAck { ack, blocks }))));
    }

    fn received(&self) -> Received {
        Received::of(&self.sender, &self.receiver)
    }

    /// No transfer begins.
    pub fn close(&mut self) {
        self.sender.close();
    }
}

impl<'a> Endpoints<'a> for Tcp<'a> {
    fn start_ns(&self) -> u64 {
        self.sender.start_ns
    }

    fn next_due_ns(&self) -> u64 {
        let start_ns = if self.sender.started { NEVER } else { self.sender.start_ns };
        let stop_ns = if self.sender.closed { NEVER } else { self.sender.flow.stop_ns };
        let ack_due_ns = self.receiver.ack_due_ns().unwrap_or(NEVER);
        start_ns.min(stop_ns).min(self.sender.timer_at()).min(ack_due_ns)
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Packet>) {
        if !self.sender.started && self.sender.start_ns <= now_ns {
            self.sender.start();
            self.transmit(now_ns, out);
        }
        if !self.sender.closed && self.sender.flow.stop_ns <= now_ns {
            self.sender.close();
        } else if self.sender.timer_at() <= now_ns {
            if let Some(tag) = self.sender.on_timer(now_ns) {
                self.send(now_ns, tag, out);
            }
            self.transmit(now_ns, out);
        }
        if self.receiver.ack_due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            let ack = self.receiver.acknowledge_waiting();
            self.acknowledge(now_ns, ack, out);
        }
    }

    fn on_data(&mut self, now_ns: u64, segment: Segment, out: &mut Vec<Packet>) {
        let stop_ns = self.sender.flow.stop_ns;
        if now_ns > stop_ns && self.at_stop.is_none() {
            self.at_stop = Some(self.received());
        }
        if let Some(source) = &mut self.sender.source {
            source.note_arrival(now_ns, stop_ns, segment.tag.bytes());
        }
        self.last_arrival_ns = now_ns;
        let ack = self.receiver.receive(now_ns, segment);
        self.acknowledge(now_ns, ack, out);
    }

    fn on_ack(&mut self, now_ns: u64, ack: &SelectiveAck, out: &mut Vec<Packet>) {
        self.sender.on_ack(now_ns, &ack.ack, SackBlocks::Carried(&ack.blocks));
        self.sender.end_transfer(now_ns);
        self.transmit(now_ns, out);
    }

    fn counts(&self) -> Counts {
        let Sender { sent, retransmissions, timeouts, .. } = self.sender;
        Counts { sent, retransmissions, timeouts, lost: 0, received: self.received().until(self.at_stop) }
    }

    fn last_arrival_ns(&self) -> u64 {
        self.last_arrival_ns
    }

    fn is_closed(&self) -> bool {
        self.sender.closed
    }

    fn ack_bytes(&self, ack: &SelectiveAck) -> u32 {
        let options_bytes = if self.sender.uses_sack() { ack.sack_bytes() } else { 0 };
        self.sender.flow.stack.ack_bytes + options_bytes
    }

    fn begin_measuring(&mut self, now_ns: u64) {
        self.sender.begin_measuring(now_ns);
    }

    fn out_of_order(&self) -> Vec<(u64, u32)> {
        self.sender.with_payload_bytes(self.receiver.out_of_order()).collect()
    }

    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult {
        sender_row(id, &self.sender, counts, (measured_from_ns, self.sender.flow.stop_ns), end_ns)
    }

    fn look(&mut self, now_ns: u64) -> Option<FlowLook> {
        FlowLook::new(now_ns, &mut self.sender)
    }

    fn transfers(&self, end_ns: u64) -> Vec<TransferRow> {
        let Sender { source, started, retransmissions, .. } = &self.sender;
        let source = source.iter().filter(|_| *started);
        source.flat_map(|source| source.all_rows(end_ns, *retransmissions)).collect()
    }

    fn sender(&self) -> Option<&TcpSender<'a>> {
        Some(&self.sender)
    }

    fn sender_mut(&mut self) -> Option<&mut TcpSender<'a>> {
        Some(&mut self.sender)
    }
}
