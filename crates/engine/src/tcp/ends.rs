//! The two ends of a TCP connection whose caller has the clock and carries their packets.

use crate::tcp::packet::{AckPacket, CONGESTION, RETRANSMISSION, SYN, Segment, SelectiveAck};
use crate::tcp::receiver::{Receiver, SackBlocks};
use crate::tcp::sender::Sender;
use crate::tcp::ticks::Ticks;
use crate::time::NEVER;
use cwnd_algorithms::{Instance, SSTHRESH_INFINITE};
use cwnd_scenario::{Flow, Scenario};
use std::collections::VecDeque;

/// A packet of the sender.
#[derive(Clone, Copy, Debug)]
pub struct TcpSegment(Segment);

impl TcpSegment {
    /// On the wire.
    pub fn bytes(&self) -> u32 {
        self.0.tag.bytes()
    }

    /// Whether queues may mark it where the flow has ECN: neither a SYN nor a retransmission (RFC 3168, 6.1.1 and 6.1.5).
    pub fn is_ect(&self) -> bool {
        !self.0.tag.has(RETRANSMISSION | SYN)
    }

    /// A queue marks it (RFC 3168, CE).
    pub fn mark(&mut self) {
        self.0.tag = self.0.tag.with(CONGESTION);
    }
}

/// An ACK of the receiver, with its SACK blocks.
#[derive(Clone, Debug)]
pub struct TcpAck(SelectiveAck);

/// A sender that always has data, and its receiver.
pub struct TcpEnds<'a> {
    sender: Sender<'a, Instance>,
    receiver: Receiver,
    /// Sent by the receiver, and not taken yet.
    acks: VecDeque<TcpAck>,
}

impl<'a> TcpEnds<'a> {
    /// The ends of flow `index`, which begin at `start_ns`, with the random numbers of `seed`. An error for an algorithm that is not in the registry.
    pub fn new(
        scenario: &'a Scenario,
        index: usize,
        start_ns: u64,
        seed: u64,
    ) -> Result<TcpEnds<'a>, cwnd_algorithms::Error> {
        let flow: &Flow = &scenario.flows[index];
        let (algorithm, params) = flow.cca.resolve()?;
        let mut sender = Sender::new(algorithm.build(&params), flow, start_ns, None);
        sender.draw_chance(seed, Ticks::new(scenario, seed), index);
        Ok(TcpEnds {
            sender,
            receiver: Receiver::new(&flow.stack, scenario.may_reorder(index), scenario.rtt_ns(index)),
            acks: VecDeque::new(),
        })
    }

    /// The next packet that the sender sends at `now_ns`; None: it waits for an ACK or its timer.
    pub fn next_segment(&mut self, now_ns: u64) -> Option<TcpSegment> {
        if !self.sender.started {
            self.sender.start();
        }
        self.sender.next_segment(now_ns).map(|tag| TcpSegment(self.sender.packet(now_ns, tag)))
    }

    /// The next ACK that the receiver has sent.
    pub fn next_ack(&mut self) -> Option<TcpAck> {
        self.acks.pop_front()
    }

    /// A packet is at the receiver.
    pub fn receive_segment(&mut self, now_ns: u64, segment: TcpSegment) {
        let ack = self.receiver.receive(now_ns, segment.0);
        self.send_ack(now_ns, ack);
    }

    fn send_ack(&mut self, now_ns: u64, ack: Option<AckPacket>) {
        let blocks = self.receiver.first_blocks();
        let sent = ack.map(|ack| AckPacket { returned_ns: now_ns, ..ack });
        self.acks.extend(sent.map(|ack| TcpAck(SelectiveAck { ack, blocks })));
    }

    /// An ACK is at the sender; returns the RTT that it shows, in nanoseconds, if it does. [`TcpEnds::next_segment`] has what
    /// the sender sends then.
    pub fn receive_ack(&mut self, now_ns: u64, ack: TcpAck) -> Option<u64> {
        let sum_before = self.sender.rtts.sum();
        let TcpAck(SelectiveAck { ack, blocks }) = ack;
        if self.sender.takes_fast_path(&ack) && blocks[0].is_empty() {
            self.sender.on_fast_path_ack(now_ns, ack.next, ack.sent_ns, ack.echo_ns);
        } else {
            self.sender.on_ack(now_ns, &ack, SackBlocks::Carried(&blocks));
        }
        // An ACK gives one sample at most.
        Some((self.sender.rtts.sum() - sum_before) as u64).filter(|&rtt_ns| rtt_ns > 0)
    }

    /// When [`TcpEnds::wake_sender`] is to be called; None: not before an ACK.
    pub fn sender_due_ns(&self) -> Option<u64> {
        Some(self.sender.timer_at()).filter(|&at_ns| at_ns != NEVER)
    }

    /// A timer of the sender has run out; returns a packet to send at once, if any. [`TcpEnds::next_segment`] has the rest.
    pub fn wake_sender(&mut self, now_ns: u64) -> Option<TcpSegment> {
        let tag = self.sender.on_timer(now_ns)?;
        Some(TcpSegment(self.sender.packet(now_ns, tag)))
    }

    /// When [`TcpEnds::wake_receiver`] is to be called; None: no ACK waits.
    pub fn receiver_due_ns(&self) -> Option<u64> {
        self.receiver.ack_due_ns()
    }

    /// An ACK has waited long enough.
    pub fn wake_receiver(&mut self, now_ns: u64) {
        let ack = self.receiver.acknowledge_waiting();
        self.send_ack(now_ns, ack);
    }

    /// In segments.
    pub fn cwnd_pkts(&self) -> u32 {
        self.sender.cwnd()
    }

    /// In segments; None before the first reduction.
    pub fn ssthresh_pkts(&self) -> Option<u32> {
        Some(self.sender.ssthresh()).filter(|ssthresh| *ssthresh < SSTHRESH_INFINITE)
    }

    /// In segments.
    pub fn in_flight_pkts(&self) -> u64 {
        self.sender.in_flight()
    }

    /// 0: no sample yet.
    pub fn srtt_ns(&self) -> u64 {
        self.sender.srtt_ns()
    }

    /// Bytes of payload that the receiver has in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.receiver.in_order() * u64::from(self.sender.flow.payload_bytes)
    }

    /// Bytes of payload that the receiver has beyond a missing segment.
    pub fn early_bytes(&self) -> u64 {
        self.receiver.early().count() as u64 * u64::from(self.sender.flow.payload_bytes)
    }

    pub fn retransmissions(&self) -> u64 {
        self.sender.retransmissions
    }

    pub fn timeouts(&self) -> u64 {
        self.sender.timeouts
    }
}
