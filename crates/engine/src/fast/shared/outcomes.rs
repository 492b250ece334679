//! Effects of a link's decisions on the packets of a span: packets go on, or are lost.

use crate::fast::link::passing::Fate;
use crate::fast::link::timing::Timing;
use crate::fast::network::{Ahead, HOPS_AHEAD, Network};
use crate::fast::onward::Arrival;
use crate::fast::shared::arrivals::{Outcome, entry};
use crate::fast::shared::inbox::InTransit;
use crate::fast::topology::{Hop, RECEIVER};
use crate::net::link::managed::Departure;
use crate::tcp::packet::Segment;

impl<T: Timing> Network<'_, T> {
    /// Indexes the fates of packets, which are in the order of arrivals, by packet.
    pub fn arrange_fates(&mut self) {
        let Outcome { fates, fates_by_packet, .. } = &mut self.outcome;
        for (&order, &fate) in self.arrivals.order.iter().zip(&*fates) {
            fates_by_packet[entry(order).1] = fate;
        }
    }

    /// Forwards or loses the packets that arrived, as decided, in the order of their arrivals.
    pub fn let_pass_in_order(&mut self) {
        let (arrivals, outcome) = (std::mem::take(&mut self.arrivals), std::mem::take(&mut self.outcome));
        let Outcome { fates, busy_since_ns, .. } = &outcome;
        let decided = arrivals.order.iter().zip(fates).zip(busy_since_ns);
        let mut ahead = Ahead::default();
        for (next, ((&order, &fate), &busy_since_ns)) in decided.enumerate() {
            let order_ahead = arrivals.order.get(next + HOPS_AHEAD);
            self.prefetch(&mut ahead, order_ahead.map(|&order| arrivals.packet(order).hop));
            self.pass_on(arrivals.packet(order), fate, busy_since_ns);
        }
        (self.arrivals, self.outcome) = (arrivals, outcome);
    }

    /// Forwards or loses the packets that arrived before `until`, as decided, flow by flow.
    pub fn let_pass(&mut self, until: u64) {
        let (arrivals, outcome) = (std::mem::take(&mut self.arrivals), std::mem::take(&mut self.outcome));
        let (mut packets, mut fates) = (&*arrivals.packets, &*outcome.fates_by_packet);
        let mut ahead = Ahead::default();
        for (next, &(_, pkts)) in arrivals.stretches.iter().enumerate() {
            self.prefetch(&mut ahead, arrivals.stretches.get(next + HOPS_AHEAD).map(|&(hop, _)| hop));
            let (stretch, stretch_fates);
            (stretch, packets) = packets.split_at(pkts as usize);
            (stretch_fates, fates) = fates.split_at(pkts as usize);
            self.let_stretch_pass(stretch, stretch_fates, until);
        }
        (self.arrivals, self.outcome) = (arrivals, outcome);
    }

    /// Forwards or loses packets of one hop, as decided.
    #[inline(always)]
    fn let_stretch_pass(&mut self, stretch: &[InTransit<T::SubNanosecond>], fates: &[Fate], until: u64) {
        let Network { topology, to_receiver, agenda, late_losses, .. } = self;
        let hop = &mut topology.hops[stretch[0].hop as usize];
        let decided = || stretch.iter().zip(fates);
        let mut taken = 0;
        if hop.next == RECEIVER {
            let Hop { bytes, onward_ns, .. } = *hop;
            let packets = &mut to_receiver[hop.flow as usize];
            let is_idle = packets.len() == 0;
            let (mut passed, mut lost) = (0, 0);
            for (packet, &fate) in decided() {
                if packet.segment.tag.bytes() != bytes {
                    break;
                }
                taken += 1;
                if packet.at >= until {
                    continue;
                }
                let (departure_ns, marked) = match fate.departure() {
                    Ok(departure) => departure,
                    Err(lost_ns) => {
                        lost += 1;
                        late_losses.note(packet.at, lost_ns, packet.hop);
                        continue;
                    }
                };
                let at = departure_ns + onward_ns;
                let segment = packet.segment.marked_if(marked);
                packets.push_back(Arrival { at, sub_ns: T::from_ns(at), segment });
                passed += 1;
            }
            hop.passed += passed;
            hop.lost += lost;
            if is_idle && let Some(first) = packets.front() {
                agenda.hasten(hop.flow, first.at + hop.after_ns);
            }
        }
        let others = decided().skip(taken).filter(|(packet, _)| packet.at < until);
        others.for_each(|(packet, &fate)| self.pass_on(packet, fate, 0));
    }

    /// Forwards or loses `packet`, as decided.
    #[inline(always)]
    fn pass_on(&mut self, packet: &InTransit<T::SubNanosecond>, fate: Fate, busy_since: u64) {
        let &InTransit { hop, segment, .. } = packet;
        let (departure_ns, marked) = match fate.departure() {
            Ok(departure) => departure,
            Err(lost_ns) => return self.lose_later(hop, segment, packet.at, lost_ns),
        };
        let segment = segment.marked_if(marked);
        let bytes = segment.tag.bytes();
        let at = departure_ns + self.topology.times(hop, bytes).1;
        let sub_ns = T::from_ns(at);
        self.go_on(hop, InTransit { at, sub_ns, segment, busy_since, hop: hop + 1 });
        if bytes != self.topology.hops[hop as usize].bytes {
            self.note_other_size(hop, segment);
        }
    }

    /// Forwards or loses the packets that a managed link has finished with.
    pub fn let_depart(&mut self, reorders: bool) {
        let mut departures = std::mem::take(&mut self.outcome.departures);
        let mut ahead = Ahead::default();
        for (next, &departure) in departures.iter().enumerate() {
            if self.has_many_flows() {
                self.prefetch(&mut ahead, departures.get(next + HOPS_AHEAD).map(|departure| departure.label));
            }
            self.leave(departure, reorders);
        }
        departures.clear();
        self.outcome.departures = departures;
    }

    /// Forwards or loses a packet that a managed link has finished with. The link may have delivered it more than once, or, if it
    /// `reorders`, before others that it sent sooner.
    #[inline(always)]
    pub fn leave(&mut self, departure: Departure, reorders: bool) {
        let Departure { label: hop, segment, marked, busy_since_ns, passage } = departure;
        if passage.copies == 0 {
            return self.lose(hop, segment);
        }
        let segment = segment.marked_if(marked);
        let bytes = segment.tag.bytes();
        let at = passage.at_ns + self.topology.behind_ns(hop, bytes);
        let onward =
            InTransit { at, sub_ns: T::from_ns(at), segment, busy_since: busy_since_ns, hop: hop + 1 };
        if passage.copies == 1 && bytes == self.topology.hops[hop as usize].bytes && !reorders {
            self.go_on(hop, onward);
        } else {
            self.leave_otherwise(hop, onward, passage.copies, reorders);
        }
    }

    /// A packet is delivered twice, or not in order, or of another size than most.
    fn leave_otherwise(
        &mut self,
        hop: u32,
        mut packet: InTransit<T::SubNanosecond>,
        copies: u32,
        reorders: bool,
    ) {
        let Hop { flow, back, bytes: usual_bytes, .. } = self.topology.hops[hop as usize];
        let bytes = packet.segment.tag.bytes();
        for copy in 0..copies {
            if copy > 0 && back {
                let copy = self.acks[flow as usize].copy(packet.segment);
                packet.segment = Segment { tag: copy.tag.sized(bytes), ..copy };
            } else if copy > 0 {
                *self.copies.entry(flow).or_default() += 1;
            }
            self.go_on(hop, packet);
            if reorders {
                self.settle_last(hop);
            }
            if bytes != usual_bytes {
                self.note_other_size(hop, packet.segment);
            }
        }
    }

    /// The packet that has crossed the link of `hop` last takes its place among those on their way to the receiver.
    fn settle_last(&mut self, hop: u32) {
        let from = &self.topology.hops[hop as usize];
        if from.next != RECEIVER {
            return;
        }
        let packets = &mut self.to_receiver[from.flow as usize];
        let Some(&mut Arrival { at, .. }) = packets.back_mut() else { return };
        if packets.settle_back(|before| before.at > at) == 0 {
            self.agenda.hasten(from.flow, at + from.after_ns);
        }
    }
}
