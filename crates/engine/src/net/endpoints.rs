//! The interface of the network to the two ends of a connection: a transport is a file that implements it.

use crate::net::link::queue::discipline::Codepoint;
use crate::net::measure::counts::Counts;
use crate::net::measure::samples::FlowLook;
use crate::tcp::packet::{Segment, SelectiveAck};
use crate::tcp::sender::Sender;
use crate::tcp::source::TransferRow;
use cwnd_algorithms::CongestionControl;
use cwnd_results::FlowResult;
use std::any::Any;

pub type TcpSender<'a> = Sender<'a, Box<dyn CongestionControl>>;

/// A packet between the two ends.
#[derive(Clone)]
pub enum Packet {
    /// To the receiver.
    Data(Segment),
    /// To the sender.
    Ack(Box<SelectiveAck>),
    /// Either way, of a transport that has packets of its own.
    Datagram(Box<Datagram>),
}

/// Which end of a connection: data goes from the sender to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The end that sends data.
    Sender,
    /// The end that receives data.
    Receiver,
}

impl Side {
    /// Returns the other end.
    pub fn other(self) -> Side {
        match self {
            Side::Sender => Side::Receiver,
            Side::Receiver => Side::Sender,
        }
    }
}

/// A packet of which the network knows its size alone.
pub struct Datagram {
    /// The end that it goes to.
    pub to: Side,
    /// On the wire.
    pub bytes: u32,
    /// Codepoint of ECN with which it was sent.
    pub codepoint: Codepoint,
    /// A queue has marked it.
    pub marked: bool,
    /// Content that the transport reads when the packet arrives.
    pub content: Box<dyn Content>,
}

/// The content of a datagram, of which a wire may make a copy.
pub trait Content: Any {
    /// Returns a copy, for a wire that delivers a packet twice.
    fn copy(&self) -> Box<dyn Content>;
}

impl<T: Any + Clone> Content for T {
    fn copy(&self) -> Box<dyn Content> {
        Box::new(self.clone())
    }
}

impl Clone for Datagram {
    fn clone(&self) -> Datagram {
        Datagram { content: (*self.content).copy(), ..*self }
    }
}

impl Packet {
    /// The end that it goes to.
    pub fn to(&self) -> Side {
        match self {
            Packet::Data(_) => Side::Receiver,
            Packet::Ack(_) => Side::Sender,
            Packet::Datagram(datagram) => datagram.to,
        }
    }
}

/// Both ends of a connection: what they do when a packet arrives or a timer runs out. What they send goes to `out`.
pub trait Endpoints<'a> {
    /// When the flow starts.
    fn start_ns(&self) -> u64;

    /// When [`Endpoints::on_timer`] is to be called, which is never in the past, or [`NEVER`](crate::time::NEVER).
    fn next_due_ns(&self) -> u64;

    /// The time is [`Endpoints::next_due_ns`], which is later afterwards. What is sent is appended to `out`.
    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Packet>);

    /// Data is at the receiver.
    fn on_data(&mut self, _now_ns: u64, _segment: Segment, _out: &mut Vec<Packet>) {}

    /// An ACK is at the sender.
    fn on_ack(&mut self, _now_ns: u64, _ack: &SelectiveAck, _out: &mut Vec<Packet>) {}

    /// A datagram is at one end.
    fn on_datagram(&mut self, _now_ns: u64, _datagram: Datagram, _out: &mut Vec<Packet>) {}

    /// The size of an ACK on the wire.
    fn ack_bytes(&self, _ack: &SelectiveAck) -> u32 {
        0
    }

    /// The sender sends nothing new any more.
    fn is_closed(&self) -> bool;

    /// Returns the counts of packets sent and arrived so far; `lost` is left at 0.
    fn counts(&self) -> Counts;

    /// When the last packet was at the receiver; 0: none was.
    fn last_arrival_ns(&self) -> u64;

    /// The warmup ends at `now_ns`: RTTs and windows are those from now on.
    fn begin_measuring(&mut self, _now_ns: u64) {}

    /// The segments that have arrived beyond a missing one, each with its payload.
    fn out_of_order(&self) -> Vec<(u64, u32)> {
        Vec::new()
    }

    /// The row of the flow `id` at `end_ns`, of which these `counts` are since `measured_from_ns`.
    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult;

    /// Returns a sample at `now_ns`, if the transport has a window to sample; None: the flow does not last then.
    fn look(&mut self, _now_ns: u64) -> Option<FlowLook> {
        None
    }

    /// The transfers that have begun by `end_ns`, if what is sent has an end.
    fn transfers(&self, _end_ns: u64) -> Vec<TransferRow> {
        Vec::new()
    }

    /// Returns a note on the connection for a reader of the results, at the end of the run.
    fn note(&self, _end_ns: u64) -> Option<String> {
        None
    }

    /// Returns the sender, if the transport is TCP.
    fn sender(&self) -> Option<&TcpSender<'a>> {
        None
    }

    /// The sender of TCP, where there is one.
    fn sender_mut(&mut self) -> Option<&mut TcpSender<'a>> {
        None
    }
}
