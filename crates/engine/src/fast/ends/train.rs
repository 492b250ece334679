//! Trains: packets that arrive at a receiver as they were sent, and whose ACKs take the fast path of the sender.
//!
//! Nothing comes between them, so what holds for all is looked at once. The segments that their ACKs allow enter the network
//! together, each at its time: no packet that enters during a span is back at the ends of its flow before the span is over.

use crate::fast::ends::connection::Connection;
use crate::fast::link::timing::{Sending, Timing};
use crate::fast::network::{Network, PACKETS_PER_LOOK};
use crate::tcp::packet::Tag;
use crate::tcp::receiver::{AckPolicy, Delayed};
use cwnd_algorithms::CongestionControl;

impl<C: CongestionControl> Connection<'_, C> {
    /// A packet is due before the timers and `until`. If it begins a train, takes that, or a part of it; returns whether it did.
    #[inline(always)]
    pub fn try_train<T: Timing>(&mut self, until: u64, network: &mut Network<T>) -> bool {
        self.sender.waits_for_acks_alone()
            && match self.receiver.ack_policy() {
                AckPolicy::AcknowledgesEach => self.take_train::<T, false>(until, network),
                AckPolicy::DelaysAcks => self.take_train::<T, true>(until, network),
                AckPolicy::Other => false,
            }
    }

    /// Goes through the packets in one piece of memory, up to the first that is not of the train. Returns whether there were some.
    #[inline(never)]
    fn take_train<T: Timing, const DELAYS: bool>(&mut self, until: u64, network: &mut Network<T>) -> bool {
        let Network { to_receiver, timing, sendings, .. } = network;
        let packets = &mut to_receiver[self.id as usize];
        let piece = packets.parts().next().unwrap_or_default();
        let first = self.sender.nxt();
        // Up to here nothing is to be noted of an arrival.
        let before_note = self.way_back.ack_arrival_ns(self.note_after_ns.min(until)) + 1;
        // Before this nothing else is due.
        let mut before = until.min(self.timers_at).min(before_note);
        let (mut taken, mut sends_singly) = (0, None);
        sendings.clear();
        let size = Tag::default().sized(self.sender.packet_bytes);
        let mut expected = size.numbered(self.receiver.in_order());
        for packet in piece {
            let (at, segment) = (packet.at, packet.segment);
            let due = self.way_back.ack_arrival_ns(at);
            if due >= before || segment.tag != expected {
                break;
            }
            taken += 1;
            expected = expected.following();
            let (next, echo_ns, blocks) = if DELAYS {
                match self.receiver.receive_delayed(at, segment.sent_ns) {
                    Delayed::Acknowledged { next, echo_ns } => (next, echo_ns, None),
                    Delayed::Waits => {
                        if self.ack_due_ns() < self.timers_at {
                            self.set_timers();
                            before = before.min(self.timers_at);
                        }
                        continue;
                    }
                }
            } else {
                (self.receiver.receive_next(), segment.sent_ns, Some(|| 0))
            };
            let now = timing.return_ack(self.id, due, packet.sub_ns, blocks);
            self.sender.take_ack(now, next, segment.sent_ns, echo_ns, false);
            let Some(segments) = self.sender.next_segments(now, PACKETS_PER_LOOK as u64, false) else {
                sends_singly = Some(Sending { now, sub_ns: timing.now() });
                break;
            };
            segments.for_each(|_| sendings.push(Sending { now, sub_ns: timing.now() }));
            if self.sender.rto_at() < self.timers_at {
                self.set_timers();
                before = before.min(self.timers_at);
            }
        }
        if taken == 0 {
            return false;
        }
        self.last_arrival_ns = piece[taken - 1].at;
        packets.skip(taken);
        network.enter_train(self.first_hop, size.numbered(first));
        if let Some(Sending { now, sub_ns }) = sends_singly {
            network.timing.set_now(sub_ns);
            self.go_on(now, network);
        }
        true
    }
}
