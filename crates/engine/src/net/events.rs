//! The order of events in time, and the one rule for ties.

use crate::time::NEVER;
use std::cmp::Reverse;
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
    /// The link is free: a packet may leave.
    Free,
}

impl Order {
    /// A number of 37 bits that compares as the order does.
    #[inline]
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
        class << 34 | u64::from(index) << 2 | part
    }

    /// The order that has this `key`.
    #[inline]
    fn of(key: u64) -> Order {
        const PARTS: [AtLink; 3] = [AtLink::Opportunity, AtLink::Arrival, AtLink::Free];
        let index = (key >> 2) as u32;
        match key >> 34 {
            0 => Order::Transfer(index),
            1 => Order::Timer,
            2 => Order::Ack,
            3 => Order::Data,
            4 => Order::Link(index, PARTS[key as usize & 3]),
            5 => Order::Warmup,
            _ => Order::Sample,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happens, in the ticks of links.
    pub at_ticks: u64,
    pub order: Order,
    /// The index of what it happens to: a group, a connection, a packet.
    pub subject: u32,
}

/// An event but for its time, in one number: from its highest bit on the key of its order, how many events were scheduled before it
/// (59 bits), and its subject (32 bits). Of events of one instant the least comes first.
type Turn = u128;

fn order_of(turn: Turn) -> Order {
    Order::of((turn >> 91) as u64)
}

/// A digit of a time has so many bits.
const DIGIT_BITS: u32 = 5;
const VALUES: usize = 1 << DIGIT_BITS;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;

/// The events that are scheduled, in a radix heap: the present only moves on, and so a later event need not be compared with others
/// before its instant is near.
///
/// An event has a place: the highest digit in which its time differs from the present, and the value of this digit. All digits
/// above are those of the present. So the next event is at the lowest digit that has events, in its least value. When its instant
/// becomes the present, the others of its place differ from the present in lower digits only, and move there: no event moves more
/// often than a time has digits. Events of the present are in a binary heap, by their order.
#[derive(Default)]
pub struct Events {
    now_ticks: u64,
    present: BinaryHeap<Reverse<Turn>>,
    /// By digit, the lowest first, and by value.
    later: [[Vec<(u64, Turn)>; VALUES]; DIGITS],
    /// By digit: a bit for each value with events.
    occupied: [u32; DIGITS],
    scheduled: u64,
}

impl Events {
    /// Nothing is scheduled at [`NEVER`], nor before the present.
    pub fn schedule(&mut self, at_ticks: u64, order: Order, subject: u32) {
        if at_ticks != NEVER {
            let turn = Turn::from(order.key()) << 91 | Turn::from(self.scheduled) << 32 | Turn::from(subject);
            self.scheduled += 1;
            self.place(at_ticks, turn);
        }
    }

    #[inline]
    fn place(&mut self, at_ticks: u64, turn: Turn) {
        debug_assert!(at_ticks >= self.now_ticks, "the present only moves on");
        let Some(highest_bit) = (at_ticks ^ self.now_ticks).checked_ilog2() else {
            return self.present.push(Reverse(turn));
        };
        let digit = highest_bit / DIGIT_BITS;
        let value = (at_ticks >> (digit * DIGIT_BITS)) as usize % VALUES;
        self.later[digit as usize][value].push((at_ticks, turn));
        self.occupied[digit as usize] |= 1 << value;
    }

    /// The next event, if it comes by `until_ticks`.
    pub fn next_by(&mut self, until_ticks: u64) -> Option<Event> {
        if self.present.is_empty() {
            self.go_on(until_ticks)?;
        }
        let Reverse(turn) = self.present.pop()?;
        Some(Event { at_ticks: self.now_ticks, order: order_of(turn), subject: turn as u32 })
    }

    /// The subject of the next event, if it comes at the present and has this `order`.
    pub fn next_tied(&mut self, order: Order) -> Option<u32> {
        self.present.peek().filter(|Reverse(turn)| order_of(*turn) == order)?;
        self.present.pop().map(|Reverse(turn)| turn as u32)
    }

    /// When the next event comes.
    pub fn next_ticks(&self) -> Option<u64> {
        if self.present.is_empty() { Some(self.next_place()?.2) } else { Some(self.now_ticks) }
    }

    /// The place of the next event after the present, by digit and value, and when it comes.
    fn next_place(&self) -> Option<(usize, usize, u64)> {
        let digit = self.occupied.iter().position(|values| *values != 0)?;
        let value = self.occupied[digit].trailing_zeros() as usize;
        let next_ticks = self.later[digit][value].iter().map(|(at_ticks, _)| *at_ticks).min()?;
        Some((digit, value, next_ticks))
    }

    /// The instant of the next event becomes the present, unless it is after `until_ticks`.
    fn go_on(&mut self, until_ticks: u64) -> Option<()> {
        let (digit, value, next_ticks) = self.next_place()?;
        if next_ticks > until_ticks {
            return None;
        }
        self.now_ticks = next_ticks;
        self.occupied[digit] &= !(1 << value);
        let mut near = std::mem::take(&mut self.later[digit][value]);
        near.drain(..).for_each(|(at_ticks, turn)| self.place(at_ticks, turn));
        self.later[digit][value] = near; // with its memory
        Some(())
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
    use proptest::prelude::*;

    fn all(events: &mut Events) -> impl Iterator<Item = Event> {
        std::iter::from_fn(|| events.next_by(NEVER))
    }

    #[test]
    fn an_arrival_precedes_a_departure_of_its_instant_and_follows_an_opportunity() {
        let mut events = Events::default();
        let in_order = [
            Order::Transfer(2),
            Order::Timer,
            Order::Ack,
            Order::Data,
            Order::Link(0, AtLink::Free),
            Order::Link(1, AtLink::Opportunity),
            Order::Link(1, AtLink::Arrival),
            Order::Link(1, AtLink::Free),
            Order::Warmup,
            Order::Sample,
        ];
        in_order.iter().rev().for_each(|&order| events.schedule(5, order, 0));
        events.schedule(4, Order::Sample, 1);
        assert_eq!(events.next_by(NEVER).map(|event| event.subject), Some(1));
        assert!(all(&mut events).map(|event| event.order).eq(in_order));
    }

    #[test]
    fn equal_events_come_as_they_were_scheduled_and_only_those_that_are_wanted() {
        let mut events = Events::default();
        (0..3).for_each(|subject| events.schedule(9, Order::Ack, subject));
        events.schedule(NEVER, Order::Ack, 3);
        assert_eq!(events.next_by(8), None);
        assert!(all(&mut events).map(|event| event.subject).eq(0..3));
    }

    proptest! {
        #[test]
        fn events_come_by_time_then_order_then_as_they_were_scheduled(
            // Scheduled at a time: so many bits later than the last that came, of which the lowest are drawn, or not at all.
            steps in prop::collection::vec((prop::option::of((0..40_u32, any::<u64>())), 0..4_u32), 0..300),
        ) {
            let (mut events, mut expected, mut now_ticks) = (Events::default(), Vec::new(), 0);
            for (number, (later, index)) in (0..).zip(steps) {
                if let Some((bits, draw)) = later {
                    let (at_ticks, order) = (now_ticks + draw % (1 << bits), Order::Link(index, AtLink::Arrival));
                    events.schedule(at_ticks, order, number);
                    expected.push((at_ticks, index, number));
                } else {
                    expected.sort_unstable();
                    let until_ticks = now_ticks + (1 << (10 * index));
                    let next = expected.first().copied().filter(|(at_ticks, ..)| *at_ticks <= until_ticks);
                    let came = events.next_by(until_ticks);
                    prop_assert_eq!(came.map(|event| (event.at_ticks, event.subject)), next.map(|(at, _, number)| (at, number)));
                    if let Some((at_ticks, ..)) = next {
                        now_ticks = at_ticks;
                        expected.remove(0);
                    }
                }
            }
        }
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
