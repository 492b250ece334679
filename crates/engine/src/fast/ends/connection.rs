//! A flow: its two ends and their timers.

use crate::fast::ends::acks::ArrivingAck;
use crate::fast::ends::noted::Noted;
use crate::fast::link::reverse::ReversePath;
use crate::fast::link::timing::Timing;
use crate::fast::network::{Network, PACKETS_PER_LOOK};
use crate::fast::onward::Arrival;
use crate::fast::topology::{Route, Topology};
use crate::memory::prefetch::prefetch;
use crate::net::group::Totals;
use crate::net::measure::counts::{Counts, Received};
use crate::tcp::packet::{AckPacket, BLOCKS_MAX, Block, Segment, SelectiveAck, Tag};
use crate::tcp::receiver::{AckPolicy, Delayed, Receiver, SackBlocks};
use crate::tcp::sender::Sender;
use crate::tcp::source::Source;
use crate::time::{NEVER, Tick};
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Flow;
use std::mem::offset_of;

#[repr(C, align(64))] // cache lines
pub struct Connection<'a, C> {
    /// When to look at the timers: not after the first of them.
    pub timers_at: u64,
    pub way_back: ReversePath,
    pub stop_ns: u64,
    pub id: u32,
    pub first_hop: u32,
    /// First hop of the way back, if ACKs cross links.
    pub first_back_hop: Option<u32>,
    /// When the last packet arrived at the receiver.
    pub last_arrival_ns: u64,
    /// After this time a packet that arrives shows what to note, or NEVER.
    pub note_after_ns: u64,
    /// If there is a warmup, or once more has arrived after the flow stopped.
    noted: Option<Box<Noted>>,
    pub receiver: Receiver,
    pub sender: Sender<'a, C>,
}

impl<'a, C: CongestionControl> Connection<'a, C> {
    pub fn new(
        id: u32,
        flow: &'a Flow,
        cc: C,
        start_ns: u64,
        route: Route,
        source: Option<Source<'a>>,
        warmup_ns: u64,
    ) -> Connection<'a, C> {
        Connection {
            timers_at: start_ns,
            way_back: ReversePath::new(flow),
            stop_ns: flow.stop_ns,
            id,
            first_hop: route.first_hop,
            first_back_hop: route.first_back_hop,
            receiver: Receiver::new(&flow.stack, route.reordered, route.rtt_ns),
            sender: Sender::new(cc, flow, start_ns, source, route.receive_window),
            noted: (warmup_ns > start_ns).then(|| Box::new(Noted::new(warmup_ns, flow.stop_ns))),
            note_after_ns: if warmup_ns > start_ns { warmup_ns.min(flow.stop_ns) } else { flow.stop_ns },
            last_arrival_ns: 0,
        }
    }

    /// Packets that were dropped or lost.
    pub fn lost<T: Tick>(&self, topology: &Topology<T>) -> u64 {
        let lost_before = self.sender.source.as_ref().map_or(0, |source| source.lost_before);
        topology.lost_pkts(self.first_hop) - lost_before
    }

    /// Nothing is to be sent, and neither a packet nor an ACK is in the network.
    pub fn is_over<T: Timing>(&self, network: &Network<T>) -> bool {
        let acks = self.first_back_hop.map(|_| &network.acks[self.id as usize]);
        let copies = network.copies.get(&self.id).unwrap_or(&0);
        self.sender.closed
            && acks.is_none_or(|acks| acks.counts.are_all_settled())
            && self.sender.sent + copies == self.receiver.arrived() + self.lost(&network.topology)
    }

    /// The connection is over: what it had for segments in flight goes.
    pub fn forget(&mut self) {
        self.receiver.forget();
        self.sender.forget();
    }

    /// The connection in `slot`, if there is one, will be needed soon.
    #[inline(always)]
    pub fn prefetch(slot: &Option<Self>) {
        let first: *const u8 = (&raw const *slot).cast();
        let lines = (offset_of!(Self, sender) + Sender::<C>::COLD_FROM).div_ceil(64);
        (0..lines).for_each(|line| prefetch(first.wrapping_add(64 * line)));
    }

    /// Prefetches what the connection has elsewhere, after [`Connection::prefetch`].
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        self.sender.rtts.prefetch();
        if !self.sender.misses_nothing() {
            self.sender.prefetch_repairs();
            self.receiver.prefetch_out_of_order();
        }
    }

    /// Prefetches what only the memory of [`Connection::prefetch_rest`] leads to, after it.
    #[inline(always)]
    pub fn prefetch_last(&self) {
        if !self.sender.misses_nothing() {
            self.sender.prefetch_retransmissions();
        }
    }

    /// Does what the two ends do before `until`; returns when they have something to do then. `after_each`: is called after
    /// each event.
    #[inline(always)]
    pub fn advance<T: Timing>(
        &mut self,
        until: u64,
        network: &mut Network<T>,
        mut after_each: Option<impl FnMut(u64, &Self)>,
    ) -> u64 {
        if let Some(back) = self.first_back_hop {
            return self.advance_both_ends(until, back, network, after_each);
        }
        loop {
            // What the receiver does shows when its ACK is at the sender.
            let first = network.to_receiver[self.id as usize].front();
            let arrival = first.map_or(NEVER, |packet| self.way_back.ack_arrival_ns(packet.at));
            let due = self.timers_at.min(arrival);
            if due >= until {
                return due;
            }
            if arrival >= self.timers_at {
                self.on_timers(due, network);
            } else if after_each.is_some() || !self.try_train(until, network) {
                let packet = network.to_receiver[self.id as usize].pop_front().expect("a packet is due");
                self.on_arrival(packet, network);
            }
            if let Some(after_event) = &mut after_each {
                after_event(due, self);
            }
        }
    }

    /// As [`Connection::advance`], where ACKs cross links: `back` is the first on their way.
    #[inline(never)]
    fn advance_both_ends<T: Timing>(
        &mut self,
        until: u64,
        back: u32,
        network: &mut Network<T>,
        mut after_each: Option<impl FnMut(u64, &Self)>,
    ) -> u64 {
        let id = self.id as usize;
        loop {
            let arrival = network.to_receiver[id].front().map_or(NEVER, |packet| packet.at);
            let ack = network.acks[id].next_ns().unwrap_or(NEVER);
            let due = self.timers_at.min(arrival).min(ack);
            if due >= until {
                return due;
            }
            if due == self.timers_at {
                self.on_timers(due, network);
            } else if due == ack {
                let ack = network.acks[id].take().expect("an ACK is due");
                self.on_arriving_ack(due, ack, network);
            } else {
                let packet = network.to_receiver[id].pop_front().expect("a packet is due");
                self.note_arrival(packet.at);
                self.receive(packet.at, packet.segment, back, network);
            }
            if let Some(after_event) = &mut after_each {
                after_event(due, self);
            }
        }
    }

    /// An ACK that has crossed links arrives at the sender.
    #[inline(always)]
    fn on_arriving_ack<T: Timing>(&mut self, now: u64, ack: ArrivingAck, network: &mut Network<T>) {
        match ack {
            ArrivingAck::Cumulative { next, sent_ns } => {
                if self.sender.is_on_fast_path() && next > self.sender.una() {
                    let first_sent_ns = self.sender.first_sent_ns(next, sent_ns);
                    self.take_fast_path(now, next, sent_ns, first_sent_ns, network);
                } else {
                    let ack = AckPacket {
                        next,
                        cause: next - 1,
                        sent_ns,
                        echo_ns: sent_ns,
                        ..AckPacket::default()
                    };
                    self.on_ack(now, &ack, Some(&Default::default()), network);
                }
            }
            ArrivingAck::Selective(SelectiveAck { ack, blocks }) => {
                self.on_ack(now, &ack, Some(&blocks), network)
            }
        }
    }

    /// A packet arrives at the receiver, whose ACKs cross links; `back` is the first on their way.
    #[inline(always)]
    fn receive<T: Timing>(&mut self, now: u64, segment: Segment, back: u32, network: &mut Network<T>) {
        self.note_bytes(now, segment);
        if self.receiver.ack_policy() == AckPolicy::AcknowledgesEach && self.receiver.expects(segment) {
            let next = self.receiver.receive_next();
            return network.enter_ack(back, now, self.id, 0, |acks| acks.cumulative(next, segment.sent_ns));
        }
        if let Some(ack) = self.receiver.receive(now, segment) {
            self.send_ack(now, ack, back, network);
        }
        if self.ack_due_ns() < self.timers_at {
            self.set_timers();
        }
    }

    /// The receiver sends `ack` at `now`; `back` is the first hop of its way.
    fn send_ack<T: Timing>(&mut self, now: u64, ack: AckPacket, back: u32, network: &mut Network<T>) {
        let (ack, blocks) = (AckPacket { returned_ns: now, ..ack }, self.receiver.first_blocks());
        let ack = SelectiveAck { ack, blocks };
        let options_bytes = if self.sender.uses_sack() { ack.sack_bytes() } else { 0 };
        network.enter_ack(back, now, self.id, options_bytes, |acks| acks.selective(ack));
    }

    /// Start, stop, retransmission timeout, delayed ACK.
    #[inline(never)]
    fn on_timers<T: Timing>(&mut self, due: u64, network: &mut Network<T>) {
        let now = network.timing.reach_sender(self.id, due);
        if !self.sender.started {
            self.sender.start();
            self.transmit(now, network);
        }
        if self.stop_ns <= now && !self.sender.closed {
            self.sender.close();
        } else if self.sender.timer_at() <= now {
            if let Some(tag) = self.sender.on_timer(now) {
                self.send(now, tag, network);
            }
            self.transmit(now, network);
        }
        if self.ack_due_ns() <= now
            && let Some(mut ack) = self.receiver.acknowledge_waiting()
        {
            match self.first_back_hop {
                Some(back) => self.send_ack(now, ack, back, network),
                None => self.on_own_ack(now, &mut ack, network),
            }
        }
        self.set_timers();
    }

    /// When a delayed ACK, if there is one, is at the sender, or NEVER.
    #[inline]
    pub fn ack_due_ns(&self) -> u64 {
        self.receiver.ack_due_ns().map_or(NEVER, |due_ns| self.way_back.ack_arrival_ns(due_ns))
    }

    /// A packet arrives at the receiver, whose ACKs do not cross links.
    #[inline(never)]
    fn on_arrival<T: Timing>(&mut self, packet: Arrival<T::SubNanosecond>, network: &mut Network<T>) {
        let Arrival { at, segment, sub_ns } = packet;
        self.note_arrival(at);
        let is_delayed = self.receiver.ack_policy() == AckPolicy::DelaysAcks;
        if !is_delayed || !self.sender.takes_fast_acks() || !self.receiver.expects(segment) {
            return self.on_other_arrival(at, segment, sub_ns, network);
        }
        self.note_bytes(at, segment);
        match self.receiver.receive_delayed(at, segment.sent_ns) {
            Delayed::Waits => {
                if self.ack_due_ns() < self.timers_at {
                    self.set_timers();
                }
            }
            Delayed::Acknowledged { next, echo_ns } => {
                let due = self.way_back.ack_arrival_ns(at);
                let now = network.timing.return_ack(self.id, due, sub_ns, None::<fn() -> usize>);
                self.take_fast_path(now, next, segment.sent_ns, echo_ns, network);
            }
        }
    }

    /// A packet arrives at the receiver at `at`.
    #[inline(always)]
    pub fn note_arrival(&mut self, at: u64) {
        if at > self.note_after_ns {
            self.note_received(at);
        }
        self.last_arrival_ns = at;
    }

    #[cold]
    fn note_received(&mut self, at: u64) {
        let received = self.received();
        let early = self.sender.with_payload_bytes(self.receiver.out_of_order());
        let noted = self.noted.get_or_insert_with(|| Box::new(Noted::new(0, self.stop_ns)));
        self.note_after_ns = noted.note(at, received, early);
    }

    /// The warmup ends at `now`.
    pub fn begin_measuring<T: Tick>(&mut self, now: u64, topology: &Topology<T>) {
        let counts = self.counts(topology);
        if let Some(noted) = &mut self.noted {
            noted.sent_before = counts;
            self.sender.begin_measuring(now);
        }
    }

    /// Counts the bytes of a packet of a source that arrives.
    #[inline(always)]
    pub fn note_bytes(&mut self, at: u64, segment: Segment) {
        if let Some(source) = &mut self.sender.source {
            source.note_arrival(at, self.stop_ns, segment.tag.bytes());
        }
    }

    pub fn received(&self) -> Received {
        Received::of(&self.sender, &self.receiver)
    }

    /// Returns the counts of the connection.
    pub fn counts<T: Tick>(&self, topology: &Topology<T>) -> Counts {
        let Sender { sent, retransmissions, timeouts, .. } = self.sender;
        let received = self.received().until(self.noted.as_ref().and_then(|noted| noted.at_stop));
        Counts { sent, retransmissions, timeouts, lost: self.lost(topology), received }
    }

    /// The counts since the warmup.
    pub fn measured<T: Tick>(&self, topology: &Topology<T>) -> Counts {
        let counts = self.counts(topology);
        let Some(noted) = self.noted.as_ref().filter(|noted| noted.warmup_ns > 0) else { return counts };
        // What has arrived so far had arrived then, unless it is noted.
        let received = noted.at_warmup.unwrap_or_else(|| self.received());
        let before = Counts { received, ..noted.sent_before };
        let mut measured = counts.since(before);
        // What arrived before the warmup ended, and was in order after it.
        let early_bytes = noted.early_bytes_before(counts.received.in_order);
        measured.received.delivered_bytes = measured.received.delivered_bytes.saturating_sub(early_bytes);
        measured
    }

    /// Adds the connection with `number` among the transfers of its flow, which is over, or at the end of the run.
    pub fn add_to<T: Tick>(&self, totals: &mut Totals, topology: &Topology<T>, number: u64, end_ns: u64) {
        let counts = [self.counts(topology), self.measured(topology)];
        let measured = (self.measured_from_ns(), self.stop_ns);
        totals.add_sender(&self.sender, counts, measured, self.last_arrival_ns, number, end_ns);
    }

    /// From when on the flow is measured.
    pub fn measured_from_ns(&self) -> u64 {
        self.sender.start_ns.max(self.noted.as_ref().map_or(0, |noted| noted.warmup_ns))
    }

    #[inline(never)]
    fn on_other_arrival<T: Timing>(
        &mut self,
        at: u64,
        segment: Segment,
        sub_ns: T::SubNanosecond,
        network: &mut Network<T>,
    ) {
        self.sender.prefetch_repairs();
        self.note_bytes(at, segment);
        // Not moved: a copy would wait for what was just written.
        if let Some(ack) = &mut self.receiver.receive(at, segment) {
            let due = self.way_back.ack_arrival_ns(at);
            let blocks = self.receiver.acknowledges_each().then_some(|| self.receiver.blocks().count());
            let now = network.timing.return_ack(self.id, due, sub_ns, blocks);
            self.on_own_ack(now, ack, network);
        }
        if self.ack_due_ns() < self.timers_at {
            self.set_timers();
        }
    }

    /// An ACK arrives at the sender that cannot have been lost.
    #[inline(always)]
    fn on_own_ack<T: Timing>(&mut self, now: u64, ack: &mut AckPacket, network: &mut Network<T>) {
        ack.returned_ns = now - self.way_back.least_ns();
        if ack.gathered {
            self.on_ack(now, ack, Some(&self.receiver.first_blocks()), network);
        } else {
            self.on_ack(now, ack, None, network);
        }
    }

    /// An ACK arrives at the sender. `carried`: its SACK blocks, if others have been held back or may have been lost.
    #[inline(always)]
    fn on_ack<T: Timing>(
        &mut self,
        now: u64,
        ack: &AckPacket,
        carried: Option<&[Block; BLOCKS_MAX]>,
        network: &mut Network<T>,
    ) {
        if self.sender.takes_fast_path(ack) && carried.is_none_or(|blocks| blocks[0].is_empty()) {
            let first_sent_ns = match carried {
                Some(_) => self.sender.first_sent_ns(ack.next, ack.echo_ns),
                None => ack.echo_ns,
            };
            self.take_fast_path(now, ack.next, ack.sent_ns, first_sent_ns, network);
        } else {
            let blocks = carried.map_or(SackBlocks::All(&self.receiver), SackBlocks::Carried);
            self.sender.on_ack(now, ack, blocks);
            self.go_on(now, network);
        }
    }

    /// Goes on at `now` after an ACK: ends a transfer that is acknowledged, and sends what the window allows.
    pub fn go_on<T: Timing>(&mut self, now: u64, network: &mut Network<T>) {
        if self.sender.source.is_some() {
            self.end_transfer(now);
        }
        self.transmit(now, network);
    }

    /// Begins the next transfer if the last is acknowledged, or closes after the last.
    #[cold]
    fn end_transfer(&mut self, now: u64) {
        self.sender.end_transfer(now);
        if self.sender.closed {
            self.set_timers();
        }
    }

    /// An ACK arrives at the sender, which takes the fast path.
    #[inline(always)]
    fn take_fast_path<T: Timing>(
        &mut self,
        now: u64,
        next: u64,
        sent_ns: u64,
        echo_ns: u64,
        network: &mut Network<T>,
    ) {
        self.sender.on_fast_path_ack(now, next, sent_ns, echo_ns);
        let Some(segments) = self.sender.next_fast_path_segments(now, PACKETS_PER_LOOK as u64) else {
            return self.go_on(now, network);
        };
        let size = Tag::default().sized(self.sender.packet_bytes);
        for seq in segments {
            let segment = Segment { tag: size.numbered(seq), sent_ns: now };
            network.enter(self.first_hop, now, segment);
        }
        self.hasten_timers();
    }

    /// Sends what the window allows.
    #[inline(never)]
    fn transmit<T: Timing>(&mut self, now: u64, network: &mut Network<T>) {
        for _ in 0..PACKETS_PER_LOOK {
            let Some(tag) = self.sender.next_segment(now) else { return self.hasten_timers() };
            self.send(now, tag, network);
        }
        if network.must_end() {
            self.sender.close();
        } else {
            self.sender.wake_at(now);
        }
        self.hasten_timers();
    }

    /// The retransmission timer moves with every ACK: when its old time comes, it is looked at again.
    #[inline(always)]
    fn hasten_timers(&mut self) {
        if self.sender.timer_at() < self.timers_at {
            self.set_timers();
        }
    }

    #[inline]
    fn send<T: Timing>(&mut self, now: u64, tag: Tag, network: &mut Network<T>) {
        network.enter(self.first_hop, now, self.sender.packet(now, tag));
    }

    /// The earliest of the timers.
    #[inline(never)]
    pub fn set_timers(&mut self) {
        let stop = if self.sender.closed { NEVER } else { self.stop_ns };
        self.timers_at = stop.min(self.sender.timer_at()).min(self.ack_due_ns());
    }
}
