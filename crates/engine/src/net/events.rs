//! The order of events in time, and the one rule for ties.

use crate::time::NEVER;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The order of events at one instant: the first comes first. Events of equal order come as they were scheduled, but for packets
/// that arrive at one link, which [`sort_tied`] sorts.
///
/// Both ends of all connections precede all links: a packet that an end sends at an instant is at its first link at that instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A transfer of a flow with arrivals begins; by flow.
    Transfer(u32),
    /// A timer runs out at an end of a connection.
    Timer,
    /// An ACK is at its sender, or behind the last link of its way, where its constant delay begins.
    Ack,
    /// Data is at its receiver.
    Data,
    /// Something happens at a link: the links come by their numbers.
    Link(u32, AtLink),
    /// The warmup ends.
    Warmup,
    /// A sample is due.
    Sample,
}

/// The order of events at one link at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtLink {
    /// A packet may leave by the opportunity of a trace, which one that arrives at this instant has missed.
    Opportunity,
    /// A packet arrives. It finds one that leaves at this instant still there.
    Arrival,
    /// A packet may leave.
    Departure,
}

impl Order {
    /// A number that compares as the order does, and sooner than an enum.
    fn key(self) -> u64 {
        let (class, index, part) = match self {
            Order::Transfer(flow) => (0, flow, 0),
            Order::Timer => (1, 0, 0),
            Order::Ack => (2, 0, 0),
            Order::Data => (3, 0, 0),
            Order::Link(link, part) => (4, link, part as u64),
            Order::Warmup => (5, 0, 0),
            Order::Sample => (6, 0, 0),
        };
        class << 40 | u64::from(index) << 8 | part
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happens, in the ticks of links.
    pub at_ticks: u64,
    /// Result of [`Order::key`].
    key: u64,
    /// Events are numbered as they are scheduled.
    number: u64,
    pub order: Order,
    /// The index of what it happens to: a group, a connection, a packet.
    pub subject: u32,
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        let key = |event: &Event| (event.at_ticks, event.key, event.number);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<Event>>,
    scheduled: u64,
}

impl Events {
    /// Nothing is scheduled at [`NEVER`].
    pub fn schedule(&mut self, at_ticks: u64, order: Order, subject: u32) {
        if at_ticks != NEVER {
            let (key, number) = (order.key(), self.scheduled);
            self.heap.push(Reverse(Event { at_ticks, key, number, order, subject }));
            self.scheduled += 1;
        }
    }

    /// When the next event comes.
    pub fn next_ticks(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(event)| event.at_ticks)
    }

    /// The next event, if it is `wanted`.
    pub fn next_if(&mut self, wanted: impl FnOnce(&Event) -> bool) -> Option<Event> {
        self.heap.peek().filter(|Reverse(event)| wanted(event))?;
        self.heap.pop().map(|Reverse(event)| event)
    }
}

/// Rank of a packet among the packets that arrive at a link at one instant; the least is first. A packet that an end has just sent
/// comes before a packet from another link. Among packets from links, the first is the packet whose link has been sending without
/// a pause for the shortest time: where two equal links deliver in step, one flow would else be first until the end of the run, and
/// with a full queue have all its packets accepted. A pause of its own link changes the order. Packets with links that began
/// together, or with one link that delivers them together, rank by flow, then by transfer.
pub type Rank = (Option<Reverse<u64>>, u32, u64);

/// Sorts packets that arrive at one instant, and stand as they were sent, by their `rank`. Packets of one `origin`, a connection and
/// the link before, keep their order and have the rank of their first: a wire with jitter may deliver several at once.
pub fn sort_tied<P: Copy, R: Ord, O: Ord>(tied: &mut [P], rank: impl Fn(P) -> R, origin: impl Fn(P) -> O) {
    if tied.len() > FEW_TIED {
        return sort_many_tied(tied, rank, origin);
    }
    // Those before `next` stand in order, and the first of an origin before its others.
    let rank_at = |tied: &[P], at: usize| {
        let own = origin(tied[at]);
        rank(*tied[..at].iter().find(|other| origin(**other) == own).unwrap_or(&tied[at]))
    };
    for next in 1..tied.len() {
        let own = rank_at(tied, next);
        let place =
            (0..next).rev().find(|&before| rank_at(tied, before) <= own).map_or(0, |before| before + 1);
        tied[place..=next].rotate_right(1);
    }
}

/// So many packets are sorted without memory of their own.
const FEW_TIED: usize = 8;

#[cold]
fn sort_many_tied<P: Copy, R: Ord, O: Ord>(tied: &mut [P], rank: impl Fn(P) -> R, origin: impl Fn(P) -> O) {
    let mut by_origin: Vec<(O, P)> = tied.iter().map(|&one| (origin(one), one)).collect();
    by_origin.sort_by(|(one, _), (other, _)| one.cmp(other));
    tied.sort_by_cached_key(|&one| {
        let own = origin(one);
        let first = by_origin.partition_point(|(other, _)| *other < own);
        rank(by_origin[first].1)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(events: &mut Events) -> impl Iterator<Item = Event> {
        std::iter::from_fn(|| events.next_if(|_| true))
    }

    #[test]
    fn an_arrival_precedes_a_departure_of_its_instant_and_follows_an_opportunity() {
        let mut events = Events::default();
        let in_order = [
            Order::Transfer(2),
            Order::Timer,
            Order::Ack,
            Order::Data,
            Order::Link(0, AtLink::Departure),
            Order::Link(1, AtLink::Opportunity),
            Order::Link(1, AtLink::Arrival),
            Order::Link(1, AtLink::Departure),
            Order::Warmup,
            Order::Sample,
        ];
        in_order.iter().rev().for_each(|&order| events.schedule(5, order, 0));
        events.schedule(4, Order::Sample, 1);
        assert_eq!(events.next_if(|_| true).map(|event| event.subject), Some(1));
        assert!(all(&mut events).map(|event| event.order).eq(in_order));
    }

    #[test]
    fn equal_events_come_as_they_were_scheduled_and_only_those_that_are_wanted() {
        let mut events = Events::default();
        (0..3).for_each(|subject| events.schedule(9, Order::Ack, subject));
        events.schedule(NEVER, Order::Ack, 3);
        assert_eq!(events.next_if(|event| event.at_ticks < 9), None);
        assert!(all(&mut events).map(|event| event.subject).eq(0..3));
    }

    #[test]
    fn what_ends_send_is_first_then_the_link_that_began_latest_and_packets_of_one_link_stay_in_order() {
        // By packet: since when its link has been sending, if it comes from one, and its flow.
        let packets = [(Some(100), 3), (Some(900), 4), (Some(100), 2), (Some(950), 3), (None, 5)];
        let mut tied = [0, 1, 2, 3, 4];
        let rank = |packet: u32| -> Rank {
            let (busy_since_ns, flow) = packets[packet as usize];
            (busy_since_ns.map(Reverse), flow, 0)
        };
        sort_tied(&mut tied, rank, |packet| packets[packet as usize].1);
        assert_eq!(tied, [4, 1, 2, 0, 3]);
    }

    #[test]
    fn few_are_sorted_as_many_are() {
        let mut bits = 1_u64;
        let mut draw = |below: u64| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (bits >> 33) % below
        };
        for count in 2..=FEW_TIED {
            for _ in 0..200 {
                let packets: Vec<(u64, u64)> = (0..count).map(|_| (draw(4), draw(3))).collect();
                let [mut few, mut many]: [Vec<usize>; 2] = std::array::from_fn(|_| (0..count).collect());
                let (rank, origin) = (|one: usize| packets[one].0, |one: usize| packets[one].1);
                sort_tied(&mut few, rank, origin);
                sort_many_tied(&mut many, rank, origin);
                assert_eq!(few, many, "{packets:?}");
            }
        }
    }
}
