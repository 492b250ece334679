//! A link whose queue a discipline manages.

use crate::net::link::accounting::Totals;
use crate::net::link::policer::Policer;
use crate::net::link::queue::discipline::{Codepoint, Discipline, LinkPart, Next, Queued};
use crate::net::link::rate::{Begun, Rate};
use crate::net::link::turns::Turns;
use crate::net::link::waits::Waits;
use crate::net::link::wire::{Passage, Wire};
use crate::tcp::packet::{CONGESTION, RETRANSMISSION, SYN, Segment};
use crate::time::{NEVER, Tick};
use std::marker::PhantomData;

pub struct ManagedLink<T> {
    discipline: Box<dyn Discipline>,
    /// Retransmissions count as not ECT (RFC 3168, 6.1.5). Droptail marks them, too.
    spares_retransmissions: bool,
    policer: Option<Policer>,
    rate: Rate,
    /// None: packets leave one by one.
    turns: Option<Box<Turns<Departure>>>,
    pub wire: Wire,
    /// Packets that it marked, and sent.
    pub marked_pkts: u64,
    /// When the packet that is being sent, or was sent last, has been sent.
    free_at: u64,
    /// When to ask for the next packet, or NEVER.
    ask_at: u64,
    busy_since_ns: u64,
    busy_ticks: u64,
    /// Bytes of packets that it has begun to send.
    begun_bytes: u64,
    /// The part of a packet that takes none of a trace's opportunities.
    frame_bytes: u32,
    /// When packets were sent or dropped, added up, less when packets arrived: the time that they were held, if none waits. With a
    /// trace a packet is held until its first opportunity.
    held_ticks: i128,
    max_queue: u64,
    dropped: u64,
    waiting_pkts: u64,
    waiting_bytes: u64,
    /// How long the link takes for all that wait, at its fixed rate.
    waiting_ticks: u64,
    waits: Waits,
    /// Packets that the discipline has dropped, until they are counted.
    newly_dropped: Vec<Queued>,
    /// Packets that were dropped and not taken yet: the label of each.
    lost: Vec<(u32, Segment)>,
    tick: PhantomData<T>,
}

/// A packet that arrives.
#[derive(Clone, Copy)]
pub struct Arriving {
    pub now_ns: u64,
    pub segment: Segment,
    /// Value of [`Departure::label`] for this packet.
    pub label: u32,
    /// The connection's number; see [`Queued::flow`](crate::net::link::queue::discipline::Queued::flow).
    pub flow: u32,
    /// Codepoint of the flow's packets.
    pub codepoint: Codepoint,
}

/// A packet that a link starts to send, and when it is at the far end of its wire, or one that it lost.
#[derive(Clone, Copy)]
pub struct Departure {
    pub label: u32,
    pub segment: Segment,
    pub marked: bool,
    pub busy_since_ns: u64,
    pub passage: Passage,
}

impl Departure {
    /// A packet that was dropped or lost.
    pub fn lost(label: u32, segment: Segment) -> Departure {
        Departure {
            label,
            segment,
            marked: false,
            busy_since_ns: 0,
            passage: Passage { copies: 0, at_ns: 0, marked: false },
        }
    }
}

impl<T: Tick> ManagedLink<T> {
    /// `frame_bytes`: the part of each packet that takes none of a trace's opportunities.
    pub fn new(
        discipline: Box<dyn Discipline>,
        link: &cwnd_scenario::Link,
        frame_bytes: u32,
        seed: u64,
    ) -> ManagedLink<T> {
        ManagedLink {
            discipline,
            spares_retransmissions: link.queue.is_some(),
            policer: link
                .variation
                .as_ref()
                .and_then(|variation| variation.policer.as_ref())
                .map(Policer::new),
            rate: Rate::new(link),
            turns: link
                .variation
                .as_ref()
                .and_then(|variation| variation.aggregation)
                .map(|turns| Box::new(Turns::new(turns))),
            wire: Wire::new(link, seed),
            marked_pkts: 0,
            free_at: 0,
            ask_at: NEVER,
            busy_since_ns: 0,
            busy_ticks: 0,
            begun_bytes: 0,
            frame_bytes,
            held_ticks: 0,
            max_queue: 0,
            dropped: 0,
            waiting_pkts: 0,
            waiting_bytes: 0,
            waiting_ticks: 0,
            waits: Waits::new(),
            newly_dropped: Vec::new(),
            lost: Vec::new(),
            tick: PhantomData,
        }
    }

    /// When the link asks for its next packet, in nanoseconds, or NEVER.
    pub fn next_departure_ns(&self) -> u64 {
        if self.ask_at == NEVER { NEVER } else { T::ns_after(self.ask_at) }
    }

    /// Returns [`ManagedLink::next_departure_ns`] in ticks.
    pub fn next_departure_ticks(&self) -> u64 {
        self.ask_at
    }

    /// Returns true if packets leave by the opportunities of a trace: one at the instant of an arrival comes before it.
    pub fn takes_opportunities(&self) -> bool {
        self.rate.takes_opportunities()
    }

    /// Returns true if an arrival at `now_ns` comes before the next departure.
    pub fn precedes_departure(&self, now_ns: u64) -> bool {
        let now = T::count(now_ns);
        now < self.ask_at || now == self.ask_at && !self.rate.takes_opportunities()
    }

    /// Returns true if packets may be at the far end in another order than they were sent in.
    pub fn reorders(&self) -> bool {
        self.wire.reorders()
    }

    #[inline(always)]
    pub fn has_dropped(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The packets that were dropped since they were taken last, with their hops.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = (u32, Segment)> {
        self.lost.drain(..)
    }

    /// A packet arrives, which takes `tx_ticks` to send at the link's fixed rate.
    #[inline(always)]
    pub fn accept(&mut self, arriving: Arriving, tx_ticks: u64) {
        let Arriving { now_ns, mut segment, label, flow, codepoint } = arriving;
        let now = T::count(now_ns);
        let bytes = segment.tag.bytes();
        let spared = self.spares_retransmissions && segment.tag.has(RETRANSMISSION | SYN);
        let codepoint = if spared { Codepoint::NotEct } else { codepoint };
        let mut marked = false;
        if let Some(policer) = &mut self.policer
            && !policer.passes(now_ns, bytes)
        {
            if !(policer.marks && codepoint.is_ect()) {
                self.dropped += 1;
                self.lost.push((label, segment));
                return;
            }
            segment.tag = segment.tag.with(CONGESTION);
            marked = true;
        }
        let link_part = LinkPart { label, segment, tx_ticks };
        let seen = Queued { flow, bytes, codepoint, marked, arrived_ns: now_ns, link_part };
        self.held_ticks -= i128::from(now);
        let in_queue = !self.rate.takes_opportunities();
        let sending = self.begun_bytes > 0 && self.free_at >= now && in_queue;
        self.discipline.enqueue(now_ns, seen, sending, &mut self.newly_dropped);
        self.waiting_pkts += 1;
        self.waiting_bytes += u64::from(bytes);
        self.waiting_ticks = self.waiting_ticks.saturating_add(tx_ticks);
        self.count_dropped(now);
        self.max_queue = self.max_queue.max(self.waiting_pkts + u64::from(self.free_at > now && in_queue));
        // An arrival may go at once although others wait for their time.
        if self.waiting_pkts > 0 {
            let ready = if self.free_at > now {
                self.rate.ready_when_sent::<T>(self.free_at)
            } else {
                self.rate.ready_when_idle::<T>(now, true)
            };
            let ready = match &self.turns {
                Some(turns) => turns.ready::<T>(&self.rate, ready),
                None => ready,
            };
            self.ask_at = self.ask_at.min(ready);
        }
    }

    /// The link asks for its next packet.
    #[inline(always)]
    pub fn depart(&mut self) -> Option<Departure> {
        if self.turns.is_some() {
            return self.depart_together();
        }
        let now = self.ask_at;
        let now_ns = T::ns_after(now);
        let next = self.discipline.dequeue(now_ns, &mut self.newly_dropped);
        self.count_dropped(now);
        self.ask_at = match next {
            Next::Wait(until_ns) => self.rate.ready_when_idle::<T>(T::count(until_ns).max(now + 1), false),
            Next::Empty | Next::Send(_) => NEVER,
        };
        debug_assert!(!matches!(next, Next::Empty) || self.waiting_pkts == 0, "packets wait");
        let Next::Send(seen) = next else { return None };
        self.leave_queue(&seen, now_ns);
        if self.free_at < now {
            self.busy_since_ns = now_ns;
        }
        let takes_opportunities = self.rate.takes_opportunities();
        let bytes = seen.bytes
            - if takes_opportunities { self.frame_bytes.min(seen.bytes.saturating_sub(1)) } else { 0 };
        self.begun_bytes += u64::from(bytes);
        self.free_at = self.rate.send::<T>(now, bytes.into(), seen.link_part.tx_ticks);
        self.held_ticks += i128::from(if takes_opportunities { now } else { self.free_at });
        if self.free_at == NEVER {
            return None;
        }
        self.busy_ticks += self.free_at - now;
        if self.waiting_pkts > 0 {
            self.ask_at = self.rate.ready_when_sent::<T>(self.free_at);
        }
        Some(self.put_on_wire(&seen))
    }

    /// A packet no longer waits.
    #[inline(always)]
    fn leave_queue(&mut self, seen: &Queued, now_ns: u64) {
        self.waiting_pkts -= 1;
        self.waiting_bytes -= u64::from(seen.bytes);
        self.waits.note(now_ns, seen.arrived_ns, || now_ns);
        self.waiting_ticks = self.waiting_ticks.saturating_sub(seen.link_part.tx_ticks);
    }

    /// Draws what the wire does with a packet that begins to be sent; it is on the wire once its last bit is sent.
    #[inline(always)]
    fn put_on_wire(&mut self, seen: &Queued) -> Departure {
        let passage = self.wire.pass(T::ns_after(self.free_at));
        let marked = seen.marked || passage.marked && seen.codepoint.is_ect();
        self.marked_pkts += u64::from(marked && passage.copies > 0);
        let LinkPart { label, segment, .. } = seen.link_part;
        Departure { label, segment, marked, busy_since_ns: self.busy_since_ns, passage }
    }

    /// The next packet of a turn. A turn begins with all of its packets at once: they count as one packet in the queue until the last
    /// of them is sent, and are on the wire then.
    #[inline(never)]
    fn depart_together(&mut self) -> Option<Departure> {
        let mut turns = self.turns.take()?;
        if turns.leaving.is_empty() {
            self.begin_turn(&mut turns);
        }
        let departure = turns.leaving.pop_front();
        if turns.leaving.is_empty() {
            self.ask_at = turns.next_at;
        }
        self.turns = Some(turns);
        departure
    }

    fn begin_turn(&mut self, turns: &mut Turns<Departure>) {
        let now = self.ask_at;
        let now_ns = T::ns_after(now);
        if self.free_at < now {
            self.busy_since_ns = now_ns;
        }
        let mut free_at = now;
        let mut sent: Vec<Queued> = Vec::new();
        let mut wait_until = now;
        while sent.len() < turns.most_pkts as usize {
            let next = self.discipline.dequeue(now_ns, &mut self.newly_dropped);
            self.count_dropped(now);
            match next {
                Next::Send(seen) => {
                    self.leave_queue(&seen, now_ns);
                    self.begun_bytes += u64::from(seen.bytes);
                    self.held_ticks += i128::from(now);
                    free_at = self.rate.send::<T>(free_at, seen.bytes.into(), seen.link_part.tx_ticks);
                    sent.push(seen);
                }
                Next::Wait(until_ns) => {
                    wait_until = T::count(until_ns).max(now + 1);
                    break;
                }
                Next::Empty => break,
            }
        }
        if !sent.is_empty() {
            self.busy_ticks += free_at - now;
            self.held_ticks += i128::from(free_at - now);
            self.free_at = free_at;
        }
        for seen in sent {
            turns.leaving.push_back(self.put_on_wire(&seen));
        }
        turns.next_at = if self.waiting_pkts == 0 {
            NEVER
        } else {
            turns.ready::<T>(&self.rate, wait_until.max(free_at).max(now + 1))
        };
    }

    /// Counts what the discipline just dropped.
    #[inline(always)]
    fn count_dropped(&mut self, now: u64) {
        if !self.newly_dropped.is_empty() {
            self.count_some_dropped(now);
        }
    }

    #[cold]
    fn count_some_dropped(&mut self, now: u64) {
        for packet in self.newly_dropped.drain(..) {
            self.dropped += 1;
            self.waiting_pkts -= 1;
            self.waiting_bytes -= u64::from(packet.bytes);
            self.waiting_ticks = self.waiting_ticks.saturating_sub(packet.link_part.tx_ticks);
            self.held_ticks += i128::from(now);
            self.lost.push((packet.link_part.label, packet.link_part.segment));
        }
    }

    /// Returns true if the discipline's decisions depend on the flow of a packet.
    pub fn tells_flows_apart(&self) -> bool {
        self.discipline.tells_flows_apart()
    }

    pub fn waiting_pkts(&self) -> usize {
        self.waiting_pkts as usize
    }

    /// Packets held at `now_ns`, after the last arrival and departure of that instant: the one being sent included, of a trace only
    /// if no other waits.
    pub fn held_pkts(&self, now_ns: u64) -> u64 {
        let sending = u64::from(self.free_at > T::count(now_ns));
        if self.rate.takes_opportunities() {
            self.waiting_pkts.max(sending)
        } else {
            self.waiting_pkts + sending
        }
    }

    /// Totals up to `end_ns`, the time of the last arrival or later.
    pub fn totals(&self, end_ns: u64) -> Totals {
        let end = T::count(end_ns);
        let unsent = if self.rate.takes_opportunities() { 0 } else { self.free_at.saturating_sub(end) };
        // Those that wait are held to the end.
        let held = self.held_ticks + i128::from(self.waiting_pkts) * i128::from(end) - i128::from(unsent);
        let begun = Begun { ticks: self.busy_ticks, bytes: self.begun_bytes, free_at: self.free_at };
        let (sent, offered) = self.rate.sent_and_offered::<T>(begun, end);
        Totals {
            dropped: self.dropped,
            corrupted: self.wire.counts.lost,
            sent,
            offered,
            held_ns: T::as_ns(held.unsigned_abs()),
            max_queue: self.max_queue,
            p95_wait_ns: self.waits.quantile_ns(0.95),
        }
    }

    /// How long a packet that arrives at `now_ns` would wait, if all that wait are sent before it, or NEVER.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        let now = T::count(now_ns);
        let mut free_at = self.free_at.max(now);
        if let Some(turns) = &self.turns {
            let mut rate = self.rate.clone();
            let mut left_pkts = self.waiting_pkts;
            while left_pkts > 0 {
                let pkts = left_pkts.min(turns.most_pkts.into());
                let part =
                    |of: u64| (u128::from(of) * u128::from(pkts) / u128::from(self.waiting_pkts)) as u64;
                let turn_at = turns.ready::<T>(&self.rate, free_at);
                free_at = rate.send::<T>(turn_at, part(self.waiting_bytes), part(self.waiting_ticks));
                left_pkts -= pkts;
            }
            return T::ns_after(turns.ready::<T>(&self.rate, free_at) - now);
        }
        if self.waiting_bytes > 0 && free_at < NEVER {
            let frame_bytes = if self.rate.takes_opportunities() { self.frame_bytes } else { 0 };
            let bytes = self.waiting_bytes.saturating_sub(self.waiting_pkts * u64::from(frame_bytes)).max(1);
            free_at = self.rate.clone().send::<T>(free_at, bytes, self.waiting_ticks);
        }
        if free_at == NEVER { NEVER } else { T::ns_after(free_at - now) }
    }

    /// Packets that the queue dropped or the wire lost.
    pub fn lost_pkts(&self) -> u64 {
        self.dropped + self.wire.counts.lost
    }

    /// The most packets held and the waits are those from `now_ns` on.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        self.max_queue = self.held_pkts(now_ns);
        self.waits.begin_measuring(now_ns);
    }
}
