//! Counts of a connection, and the part of them that a warmup leaves out.

use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Handshake;

/// Packets that a connection, or several, sent, lost and received.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets dropped by queues or lost on wires.
    pub lost: u64,
    /// Counts of the receiver.
    pub received: Received,
}

/// Packets and bytes that the receiver has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    /// Duplicates included.
    pub pkts: u64,
    /// Packets that arrived with a mark of congestion.
    pub marked_pkts: u64,
    /// On the wire.
    pub bytes: u64,
    /// The segments before this one.
    pub in_order: u64,
    /// Bytes of payload in order.
    pub delivered_bytes: u64,
}

impl Counts {
    /// Returns the counts since `before`.
    #[must_use]
    pub fn since(self, before: Counts) -> Counts {
        Counts {
            sent: self.sent - before.sent,
            retransmissions: self.retransmissions - before.retransmissions,
            timeouts: self.timeouts - before.timeouts,
            lost: self.lost - before.lost,
            received: self.received.since(before.received),
        }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.sent += other.sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.lost += other.lost;
        self.received.pkts += other.received.pkts;
        self.received.marked_pkts += other.received.marked_pkts;
        self.received.bytes += other.received.bytes;
        self.received.delivered_bytes += other.received.delivered_bytes;
    }
}

impl Received {
    /// Returns the counts of a TCP connection so far.
    pub fn of<C: CongestionControl>(sender: &Sender<C>, receiver: &Receiver) -> Received {
        let Sender { flow, source, .. } = sender;
        let (pkts, in_order, syn_pkts) = (receiver.arrived(), receiver.in_order(), receiver.syn_pkts());
        let (bytes, delivered_bytes) = match source {
            Some(source) => (source.arrived_bytes, source.delivered_bytes(in_order)),
            None => {
                let is_syn = in_order > 0 && flow.stack.handshake != Handshake::Off;
                let full_bytes = (pkts - syn_pkts) * u64::from(flow.packet_bytes());
                (
                    full_bytes + syn_pkts * u64::from(flow.stack.ack_bytes),
                    (in_order - u64::from(is_syn)) * u64::from(flow.payload_bytes),
                )
            }
        };
        Received { pkts, marked_pkts: receiver.marked_pkts(), bytes, in_order, delivered_bytes }
    }

    /// Bytes count until the flow stopped; packets that were under way then count, too.
    #[must_use]
    pub fn until(self, at_stop: Option<Received>) -> Received {
        Received { pkts: self.pkts, marked_pkts: self.marked_pkts, ..at_stop.unwrap_or(self) }
    }

    /// Returns the counts since `before`: nothing of a flow that stopped before the warmup ended.
    #[must_use]
    pub fn since(self, before: Received) -> Received {
        Received {
            pkts: self.pkts.saturating_sub(before.pkts),
            marked_pkts: self.marked_pkts.saturating_sub(before.marked_pkts),
            bytes: self.bytes.saturating_sub(before.bytes),
            in_order: self.in_order,
            delivered_bytes: self.delivered_bytes.saturating_sub(before.delivered_bytes),
        }
    }
}
