//! Ends of a connection that show what they send and what reaches them.

use crate::net::endpoints::{Datagram, Endpoints, Packet, Side, TcpSender};
use crate::net::measure::counts::Counts;
use crate::net::measure::samples::FlowLook;
use crate::tcp::packet::{Segment, SelectiveAck};
use crate::tcp::source::TransferRow;
use cwnd_results::FlowResult;

/// A reader of what passes the two ends of a connection, in the order of time.
pub trait Tap {
    /// A packet is at the end `at`, which sends it or gets it: see [`Packet::to`].
    fn see(&mut self, at: Side, now_ns: u64, packet: &Packet);
}

/// Ends with a tap.
pub struct Tapped<'a> {
    ends: Box<dyn Endpoints<'a> + 'a>,
    tap: Box<dyn Tap + 'a>,
}

impl<'a> Tapped<'a> {
    /// The ends as they are, and what they send and get goes to the tap, too.
    pub fn new(ends: Box<dyn Endpoints<'a> + 'a>, tap: Box<dyn Tap + 'a>) -> Tapped<'a> {
        Tapped { ends, tap }
    }

    fn see_sent(&mut self, now_ns: u64, sent: &[Packet]) {
        for packet in sent {
            self.tap.see(packet.to().other(), now_ns, packet);
        }
    }
}

impl<'a> Endpoints<'a> for Tapped<'a> {
    fn start_ns(&self) -> u64 {
        self.ends.start_ns()
    }

    fn next_due_ns(&self) -> u64 {
        self.ends.next_due_ns()
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Packet>) {
        let before = out.len();
        self.ends.on_timer(now_ns, out);
        self.see_sent(now_ns, &out[before..]);
    }

    fn on_data(&mut self, now_ns: u64, segment: Segment, out: &mut Vec<Packet>) {
        self.tap.see(Side::Receiver, now_ns, &Packet::Data(segment));
        let before = out.len();
        self.ends.on_data(now_ns, segment, out);
        self.see_sent(now_ns, &out[before..]);
    }

    fn on_ack(&mut self, now_ns: u64, ack: &SelectiveAck, out: &mut Vec<Packet>) {
        self.tap.see(Side::Sender, now_ns, &Packet::Ack(Box::new(ack.clone())));
        let before = out.len();
        self.ends.on_ack(now_ns, ack, out);
        self.see_sent(now_ns, &out[before..]);
    }

    fn on_datagram(&mut self, now_ns: u64, datagram: Datagram, out: &mut Vec<Packet>) {
        let packet = Packet::Datagram(Box::new(datagram));
        self.tap.see(packet.to(), now_ns, &packet);
        let Packet::Datagram(datagram) = packet else { unreachable!("it was put there") };
        let (datagram, before) = (*datagram, out.len());
        self.ends.on_datagram(now_ns, datagram, out);
        self.see_sent(now_ns, &out[before..]);
    }

    fn ack_bytes(&self, ack: &SelectiveAck) -> u32 {
        self.ends.ack_bytes(ack)
    }

    fn is_closed(&self) -> bool {
        self.ends.is_closed()
    }

    fn counts(&self) -> Counts {
        self.ends.counts()
    }

    fn last_arrival_ns(&self) -> u64 {
        self.ends.last_arrival_ns()
    }

    fn begin_measuring(&mut self, now_ns: u64) {
        self.ends.begin_measuring(now_ns);
    }

    fn out_of_order(&self) -> Vec<(u64, u32)> {
        self.ends.out_of_order()
    }

    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult {
        self.ends.row(id, counts, measured_from_ns, end_ns)
    }

    fn look(&mut self, now_ns: u64) -> Option<FlowLook> {
        self.ends.look(now_ns)
    }

    fn transfers(&self, end_ns: u64) -> Vec<TransferRow> {
        self.ends.transfers(end_ns)
    }

    fn note(&self, end_ns: u64) -> Option<String> {
        self.ends.note(end_ns)
    }

    fn sender(&self) -> Option<&TcpSender<'a>> {
        self.ends.sender()
    }

    fn sender_mut(&mut self) -> Option<&mut TcpSender<'a>> {
        self.ends.sender_mut()
    }
}
