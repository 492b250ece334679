//! A TCP connection of the engine, beside QUIC's on the same links.

use crate::end::{Connection, Datagram, Shared, Side};
use crate::network::HEADER_BYTES;
use crate::received::Received;
use crate::run::{PACKETS_MAX, datagram_bytes};
use crate::seen::Seen;
use bytes::BytesMut;
use cwnd_engine::{TcpAck, TcpEnds, TcpSegment};
use cwnd_scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

/// A datagram has room for the packet's number.
const NUMBER_BYTES: usize = 8;

/// Of a way, newest packets that may still arrive: no more datagrams are ever under way.
const KEPT_MAX: u64 = PACKETS_MAX as u64;

/// On the wire.
pub const PACKET_BYTES_MIN: u32 = HEADER_BYTES + NUMBER_BYTES as u32;

/// Sent packets by number, until they arrive: of lost ones the last `KEPT_MAX` numbers. A datagram begins with the number of its packet.
struct Packets<T> {
    sent: u64,
    packets: BTreeMap<u64, T>,
    /// A wire of the way makes copies, so that a packet may arrive again.
    are_copied: bool,
}

impl<T: Clone> Packets<T> {
    fn new(scenario: &Scenario, route: &[u32]) -> Packets<T> {
        let copies = |link: &u32| {
            let impairments = scenario.links[*link as usize].impairments.as_ref();
            impairments.is_some_and(|impairments| impairments.duplicate > 0.0)
        };
        Packets { sent: 0, packets: BTreeMap::new(), are_copied: route.iter().any(copies) }
    }

    /// The datagram of a packet that has `packet_bytes` on the wire.
    fn send(&mut self, packet: T, packet_bytes: u32) -> BytesMut {
        let mut data = BytesMut::zeroed((packet_bytes - HEADER_BYTES) as usize);
        data[..NUMBER_BYTES].copy_from_slice(&self.sent.to_le_bytes());
        self.packets.insert(self.sent, packet);
        self.sent += 1;
        while self.packets.first_key_value().is_some_and(|(number, _)| number + KEPT_MAX < self.sent) {
            self.packets.pop_first();
        }
        data
    }

    fn receive(&mut self, data: &[u8]) -> Option<T> {
        let number = u64::from_le_bytes(*data.first_chunk()?);
        if self.are_copied { self.packets.get(&number).cloned() } else { self.packets.remove(&number) }
    }
}

pub struct Tcp<'a> {
    ends: TcpEnds<'a>,
    seen: Shared,
    segments: Packets<TcpSegment>,
    acks: Packets<TcpAck>,
    /// As windows are counted.
    datagram_bytes: u64,
    ack_bytes: u32,
    /// Whether slow start has an end: not of an algorithm that sets its window at every ACK.
    has_ssthresh: bool,
    /// What a timer sends at once.
    woken: Option<TcpSegment>,
    received: Received,
}

impl<'a> Tcp<'a> {
    /// The ends of flow `index`, which begin at `start_ns`, in the run of `seed`.
    pub fn new(
        scenario: &'a Scenario,
        index: usize,
        start_ns: u64,
        seed: u64,
        seen: Shared,
    ) -> Result<Tcp<'a>, String> {
        let flow = &scenario.flows[index];
        Ok(Tcp {
            ends: TcpEnds::new(scenario, index, start_ns, seed).map_err(|error| error.to_string())?,
            seen,
            segments: Packets::new(scenario, &flow.path),
            acks: Packets::new(scenario, &flow.reverse_path),
            datagram_bytes: datagram_bytes(flow).into(),
            ack_bytes: flow.stack.ack_bytes,
            has_ssthresh: !flow.cca.controls_window(),
            woken: None,
            received: Received::default(),
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sender has done all that it does at `now_ns`.
    fn note(&self, now_ns: u64) {
        let bytes = |pkts: u64| pkts * self.datagram_bytes;
        let ssthresh_bytes = self.ends.ssthresh_pkts().map_or(u64::MAX, |pkts| bytes(pkts.into()));
        let ssthresh_bytes = Some(ssthresh_bytes).filter(|_| self.has_ssthresh);
        let mut seen = self.seen();
        seen.set_window(now_ns, bytes(self.ends.cwnd_pkts().into()), ssthresh_bytes);
        seen.set_in_flight(bytes(self.ends.in_flight_pkts()));
    }
}

impl Connection for Tcp<'_> {
    fn transmit(&mut self, side: Side, now_ns: u64) -> Option<Datagram> {
        let (data, is_ect) = match side {
            Side::Sender => {
                let Some(segment) = self.woken.take().or_else(|| self.ends.next_segment(now_ns)) else {
                    self.note(now_ns);
                    return None;
                };
                (self.segments.send(segment, segment.bytes()), segment.is_ect())
            }
            Side::Receiver => {
                let ack = self.ends.next_ack()?;
                (self.acks.send(ack, self.ack_bytes), false)
            }
        };
        Some(Datagram { data, is_ect, is_ce: false })
    }

    fn receive(&mut self, side: Side, now_ns: u64, datagram: Datagram) {
        match side {
            Side::Sender => {
                let Some(ack) = self.acks.receive(&datagram.data) else { return };
                if let Some(rtt_ns) = self.ends.receive_ack(now_ns, ack) {
                    let in_flight_bytes = self.ends.in_flight_pkts() * self.datagram_bytes;
                    self.seen().acknowledge(in_flight_bytes, rtt_ns, self.ends.srtt_ns());
                }
            }
            Side::Receiver => {
                let Some(mut segment) = self.segments.receive(&datagram.data) else { return };
                if datagram.is_ce {
                    segment.mark();
                }
                let before_bytes = self.ends.delivered_bytes();
                self.ends.receive_segment(now_ns, segment);
                let now_bytes = self.ends.delivered_bytes();
                if now_bytes > before_bytes {
                    self.received.add(now_ns, before_bytes, now_bytes);
                }
            }
        }
    }

    fn due_ns(&mut self, side: Side) -> Option<u64> {
        match side {
            Side::Sender => self.ends.sender_due_ns(),
            Side::Receiver => self.ends.receiver_due_ns(),
        }
    }

    fn wake(&mut self, side: Side, now_ns: u64) {
        match side {
            Side::Sender => {
                let timeouts = self.ends.timeouts();
                self.woken = self.ends.wake_sender(now_ns);
                if self.ends.timeouts() > timeouts {
                    self.seen().lose(0, true);
                }
            }
            Side::Receiver => self.ends.wake_receiver(now_ns),
        }
    }

    fn finished_ns(&self) -> Option<u64> {
        None
    }

    fn received(&self) -> &Received {
        &self.received
    }

    fn early_bytes(&self) -> u64 {
        self.ends.early_bytes()
    }

    fn held_lost_pkts(&mut self) -> u64 {
        self.ends.retransmissions()
    }

    fn fault(&self) -> Option<&str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_never_arrive_are_forgotten_when_no_datagram_can_be_that_old() {
        let mut packets = Packets { sent: 0, packets: BTreeMap::new(), are_copied: false };
        let first = packets.send('a', PACKET_BYTES_MIN);
        let second = packets.send('b', PACKET_BYTES_MIN);
        (2..=KEPT_MAX).for_each(|_| _ = packets.send('c', PACKET_BYTES_MIN));
        assert_eq!((packets.packets.len() as u64, packets.receive(&first)), (KEPT_MAX, None));
        assert_eq!(packets.receive(&second), Some('b'));
    }
}
