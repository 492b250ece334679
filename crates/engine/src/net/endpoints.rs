//! What the network asks of the two ends of a connection: a transport is a file that answers.

use crate::net::measure::counts::Counts;
use crate::tcp::packet::{Segment, SelectiveAck};
use crate::tcp::sender::Sender;
use cwnd_algorithms::CongestionControl;
use cwnd_results::FlowResult;

pub type TcpSender<'a> = Sender<'a, Box<dyn CongestionControl>>;

/// What travels between the two ends.
#[derive(Clone)]
pub enum Load {
    /// To the receiver.
    Data(Segment),
    /// To the sender.
    Ack(Box<SelectiveAck>),
}

/// Both ends of a connection: what they do when a packet arrives or a timer runs out. What they send goes to `out`.
pub trait Endpoints<'a> {
    fn start_ns(&self) -> u64;

    /// When [`Endpoints::on_timer`] is to be called, or [`NEVER`](crate::time::NEVER).
    fn next_due_ns(&self) -> u64;

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Load>);

    /// Data is at the receiver.
    fn on_data(&mut self, now_ns: u64, segment: Segment, out: &mut Vec<Load>);

    /// An ACK is at the sender.
    fn on_ack(&mut self, _now_ns: u64, _ack: &SelectiveAck, _out: &mut Vec<Load>) {}

    /// The size of an ACK on the wire.
    fn ack_bytes(&self, _ack: &SelectiveAck) -> u32 {
        0
    }

    /// The sender sends nothing new any more.
    fn is_closed(&self) -> bool;

    /// What was sent and has arrived so far; `lost` is left at 0.
    fn counts(&self) -> Counts;

    /// When the last packet was at the receiver; 0: none was.
    fn last_arrival_ns(&self) -> u64;

    /// The warmup ends at `now_ns`: RTTs and windows are those from now on.
    fn begin_measuring(&mut self, _now_ns: u64) {}

    /// The segments that have arrived beyond a missing one, each with its payload.
    fn early(&self) -> Vec<(u64, u32)> {
        Vec::new()
    }

    /// The row of the flow `id` at `end_ns`, of which these `counts` are since `measured_from_ns`.
    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult;

    /// Of a transport that has a window to sample, and transfers.
    fn sender(&self) -> Option<&TcpSender<'a>> {
        None
    }

    fn sender_mut(&mut self) -> Option<&mut TcpSender<'a>> {
        None
    }
}
