//! The two ends of a connection.

use crate::acks::SelectiveAck;
use crate::counts::{Counts, Received};
use crate::tcp::packet::{AckPacket, Segment, Tag};
use crate::tcp::receiver::{Receiver, SackBlocks};
use crate::tcp::sender::Sender;
use crate::tcp::ticks::Ticks;
use crate::time::NEVER;
use crate::traffic::source::Source;
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::{Flow, Handshake};
use std::fmt::Display;

/// What travels between the two ends.
#[derive(Clone)]
pub enum Load {
    /// To the receiver.
    Data(Segment),
    /// To the sender.
    Ack(Box<SelectiveAck>),
}

/// Both ends of a connection: what they do when a packet arrives or a timer runs out. What they send goes to `out`.
pub trait Endpoints {
    /// When [`Endpoints::on_timer`] is to be called, or [`NEVER`].
    fn next_due_ns(&self) -> u64;

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Load>);

    /// Data is at the receiver.
    fn on_data(&mut self, now_ns: u64, segment: Segment, out: &mut Vec<Load>);

    /// An ACK is at the sender.
    fn on_ack(&mut self, now_ns: u64, ack: &SelectiveAck, out: &mut Vec<Load>);

    /// What was sent and has arrived so far; `lost` is left at 0.
    fn counts(&self) -> Counts;

    /// When the last packet was at the receiver; 0: none was.
    fn last_arrival_ns(&self) -> u64;
}

pub struct Tcp<'a> {
    pub sender: Sender<'a, Box<dyn CongestionControl>>,
    pub receiver: Receiver,
    last_arrival_ns: u64,
    /// What the receiver had when the flow stopped; set by the first arrival after that.
    at_stop: Option<Received>,
}

impl<'a> Tcp<'a> {
    /// `reordered`: whether packets may arrive in another order than they were sent in. `rtt_ns` is that without queues. `name`
    /// and `seed` choose the random numbers of the algorithm.
    pub fn new(
        flow: &'a Flow,
        cc: Box<dyn CongestionControl>,
        start_ns: u64,
        source: Option<Source<'a>>,
        (reordered, rtt_ns): (bool, u64),
        (seed, ticks, name): (u64, Ticks, impl Display),
    ) -> Tcp<'a> {
        let mut sender = Sender::new(cc, flow, start_ns, source);
        sender.draw_chance(seed, ticks, name);
        let receiver = Receiver::new(&flow.stack, reordered, rtt_ns);
        Tcp { sender, receiver, last_arrival_ns: 0, at_stop: None }
    }

    /// Sends what the window allows.
    fn transmit(&mut self, now_ns: u64, out: &mut Vec<Load>) {
        while let Some(tag) = self.sender.next_segment(now_ns) {
            self.send(now_ns, tag, out);
        }
    }

    fn send(&mut self, now_ns: u64, tag: Tag, out: &mut Vec<Load>) {
        out.push(Load::Data(self.sender.packet(now_ns, tag)));
    }

    /// The receiver sends an ACK, with the SACK blocks that it has now.
    fn acknowledge(&mut self, now_ns: u64, ack: Option<AckPacket>, out: &mut Vec<Load>) {
        let blocks = self.receiver.first_blocks();
        let sent = ack.map(|ack| AckPacket { returned_ns: now_ns, ..ack });
        out.extend(sent.map(|ack| Load::Ack(Box::new(SelectiveAck { ack, blocks }))));
    }

    fn received(&self) -> Received {
        let Sender { flow, source, .. } = &self.sender;
        let (pkts, in_order) = (self.receiver.arrived(), self.receiver.in_order());
        let (bytes, delivered_bytes) = match source {
            Some(source) => (source.arrived_bytes, source.delivered_bytes(in_order)),
            None => {
                let syn_pkts = self.receiver.syn_pkts();
                let is_syn = in_order > 0 && flow.stack.handshake != Handshake::Off;
                (
                    (pkts - syn_pkts) * u64::from(flow.packet_bytes())
                        + syn_pkts * u64::from(flow.stack.ack_bytes),
                    (in_order - u64::from(is_syn)) * u64::from(flow.payload_bytes),
                )
            }
        };
        Received { pkts, marked_pkts: self.receiver.marked_pkts(), bytes, in_order, delivered_bytes }
    }

    /// The bytes of packets that have arrived while the flow or its transfers lasted.
    pub fn arrived_bytes(&self) -> u64 {
        self.received().bytes
    }

    /// The segments beyond a missing one, each with its payload.
    pub fn early(&self) -> Vec<(u64, u32)> {
        let payload_bytes = |seq| match &self.sender.source {
            Some(source) => source.payload_bytes(seq),
            None => self.sender.flow.payload_bytes,
        };
        self.receiver.early().map(|seq| (seq, payload_bytes(seq))).collect()
    }
}

impl Endpoints for Tcp<'_> {
    fn next_due_ns(&self) -> u64 {
        let start_ns = if self.sender.started { NEVER } else { self.sender.start_ns };
        let stop_ns = if self.sender.closed { NEVER } else { self.sender.flow.stop_ns };
        let ack_due_ns = self.receiver.ack_due_ns().unwrap_or(NEVER);
        start_ns.min(stop_ns).min(self.sender.timer_at()).min(ack_due_ns)
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Load>) {
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

    fn on_data(&mut self, now_ns: u64, segment: Segment, out: &mut Vec<Load>) {
        let stop_ns = self.sender.flow.stop_ns;
        if now_ns > stop_ns && self.at_stop.is_none() {
            self.at_stop = Some(self.received());
        }
        if let Some(source) = &mut self.sender.source
            && now_ns <= stop_ns.min(source.finished_ns.unwrap_or(NEVER))
        {
            source.arrived_bytes += u64::from(segment.tag.bytes());
        }
        self.last_arrival_ns = now_ns;
        let ack = self.receiver.receive(now_ns, segment);
        self.acknowledge(now_ns, ack, out);
    }

    fn on_ack(&mut self, now_ns: u64, ack: &SelectiveAck, out: &mut Vec<Load>) {
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
}

/// Datagrams at a constant rate: no ACKs, no retransmissions, no marks.
pub struct Datagrams<'a> {
    pub flow: &'a Flow,
    pub start_ns: u64,
    sent_pkts: u64,
    arrived_pkts: u64,
    last_arrival_ns: u64,
    at_stop: Option<Received>,
}

impl<'a> Datagrams<'a> {
    pub fn new(flow: &'a Flow, start_ns: u64) -> Datagrams<'a> {
        Datagrams { flow, start_ns, sent_pkts: 0, arrived_pkts: 0, last_arrival_ns: 0, at_stop: None }
    }

    fn received(&self) -> Received {
        Received {
            pkts: self.arrived_pkts,
            marked_pkts: 0,
            in_order: self.arrived_pkts,
            bytes: self.arrived_pkts * u64::from(self.flow.packet_bytes()),
            delivered_bytes: self.arrived_pkts * u64::from(self.flow.payload_bytes),
        }
    }
}

impl Endpoints for Datagrams<'_> {
    /// Counted from the start, so that rounding does not add up.
    fn next_due_ns(&self) -> u64 {
        let bits = u128::from(self.sent_pkts) * 8 * u128::from(self.flow.payload_bytes);
        let since_ns =
            bits * 1_000_000_000 / u128::from(self.flow.app_rate_bps.expect("datagrams have a rate"));
        let next_ns =
            u64::try_from(since_ns).map_or(NEVER, |since_ns| self.start_ns.saturating_add(since_ns));
        if next_ns < self.flow.stop_ns { next_ns } else { NEVER }
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Load>) {
        let tag = Tag::new(self.sent_pkts, 0).sized(self.flow.packet_bytes());
        self.sent_pkts += 1;
        out.push(Load::Data(Segment { tag, sent_ns: now_ns }));
    }

    fn on_data(&mut self, now_ns: u64, _: Segment, _: &mut Vec<Load>) {
        if now_ns > self.flow.stop_ns && self.at_stop.is_none() {
            self.at_stop = Some(self.received());
        }
        self.arrived_pkts += 1;
        self.last_arrival_ns = now_ns;
    }

    fn on_ack(&mut self, _: u64, _: &SelectiveAck, _: &mut Vec<Load>) {}

    fn counts(&self) -> Counts {
        let received = self.received().until(self.at_stop);
        Counts { sent: self.sent_pkts, received, ..Counts::default() }
    }

    fn last_arrival_ns(&self) -> u64 {
        self.last_arrival_ns
    }
}
