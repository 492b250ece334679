//! Packets that arrive at a link in a span, in the order of time.

use crate::fast::link::passing::{Facts, Fate};
use crate::fast::shared::inbox::InTransit;
use crate::memory::prefetch::prefetch_at;
use crate::memory::radix::Radix;
use crate::net::events::sort_tied;
use crate::net::link::managed::{Arriving, Departure};
use crate::time::{NEVER, Span};

/// If more packets than these do not arrive later than the one before, all are sorted by digits, else by merging.
const DESCENTS_TO_MERGE: usize = 4;

/// Pairs of neighbours that are looked at together: mostly none of them arrives at one instant.
const PAIRS_PER_LOOK: usize = 64;

/// Packets of one shard that arrive at a link in a span.
pub struct Arrivals<E> {
    /// Those that arrive after the span, too.
    pub packets: Vec<InTransit<E>>,
    /// Sorted: when each arrives, counted from the span's beginning, and its place among the packets.
    pub order: Vec<u64>,
    /// Room to sort in.
    radix: Radix,
    /// By packet, where a link decides on all before anything is done: what it decides by.
    pub facts: Vec<Facts>,
    /// The facts in order, where several shards meet or packets go on in order.
    pub facts_in_order: Vec<Facts>,
    /// Packets of one hop that stand one behind another: the hop, and how many.
    pub stretches: Vec<(u32, u32)>,
    /// In order: how each arrives at a managed link.
    pub arriving: Vec<Arriving>,
    /// When the first of those arrives that come after the span, or NEVER.
    pub earliest: u64,
}

/// Outcome of the packets of one shard at a link in a span.
#[derive(Default)]
pub struct Outcome {
    /// In the order in which they arrived, where several shards meet or packets go on in order.
    pub fates: Vec<Fate>,
    /// The fates by packet, if packets do not go on in the order of arrival.
    pub fates_by_packet: Vec<Fate>,
    /// In the order in which they arrived, if they go on in it: since when the link had been sending without a pause.
    pub busy_since_ns: Vec<u64>,
    /// Departures from a managed link, in order.
    pub departures: Vec<Departure>,
}

impl<E> Default for Arrivals<E> {
    fn default() -> Self {
        Arrivals {
            packets: Vec::new(),
            order: Vec::new(),
            radix: Radix::default(),
            facts: Vec::new(),
            facts_in_order: Vec::new(),
            stretches: Vec::new(),
            arriving: Vec::new(),
            earliest: 0,
        }
    }
}

/// When the packet arrives, counted from the span's beginning.
#[inline(always)]
fn instant(order: u64) -> u64 {
    order >> 32
}

/// An entry of [`Arrivals::order`]: when the packet arrives, counted from the span's beginning, and its place.
#[inline(always)]
pub fn entry(order: u64) -> (u64, usize) {
    (instant(order), order as u32 as usize)
}

impl<E: Copy> Arrivals<E> {
    /// In the span.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The packet of an entry of `order`.
    #[inline(always)]
    pub fn packet(&self, order: u64) -> &InTransit<E> {
        &self.packets[order as u32 as usize]
    }

    /// Prefetches the packet of an entry of `order`.
    #[inline(always)]
    pub fn prefetch(&self, order: u64) {
        prefetch_at(&self.packets, order as u32 as usize);
    }

    /// When entry `index` of `order` arrives, counted from the span's beginning; None: there is no such entry.
    #[inline(always)]
    pub fn instant(&self, index: usize) -> Option<u64> {
        self.order.get(index).map(|&order| instant(order))
    }

    /// Sorts the packets that arrive in the span, and lets `see` all packets as they stand. Returns whether they stood in another
    /// order, or some arrive at the same instant.
    #[inline(always)]
    pub fn set_order(&mut self, Span { from, until, .. }: Span, mut see: impl FnMut(&InTransit<E>)) -> bool {
        self.earliest = NEVER;
        self.order.resize(self.packets.len(), 0);
        let (mut len, mut instant_end, mut descents) = (0, 0, 0);
        for (place, packet) in self.packets.iter().enumerate() {
            see(packet);
            if packet.at < until {
                let at_and_place = packet.at.saturating_sub(from) << 32 | place as u64;
                descents += usize::from(at_and_place < instant_end);
                instant_end = at_and_place | u64::from(u32::MAX);
                self.order[len] = at_and_place;
                len += 1;
            } else {
                self.earliest = self.earliest.min(packet.at);
            }
        }
        self.order.truncate(len);
        if descents > DESCENTS_TO_MERGE {
            self.radix.sort_by_upper_half(&mut self.order, until - from);
        } else if descents > 0 {
            self.order.sort();
        }
        descents > 0
    }

    /// Sorts the packets that arrive at the same instant by their `rank`.
    pub fn sort_ties<R: Ord>(&mut self, rank: impl Fn(&InTransit<E>) -> R) {
        let mut end = 0;
        while let Some(first) = self.next_tie(end) {
            let at = self.instant(first);
            end = first + 2;
            while self.instant(end) == at {
                end += 1;
            }
            let mut order = std::mem::take(&mut self.order);
            sort_tied(
                &mut order[first..end],
                |entry| rank(self.packet(entry)),
                |entry| self.packet(entry).hop,
            );
            self.order = order;
        }
    }

    /// The first entry from `from` on that arrives at the same instant as the one behind it.
    fn next_tie(&self, from: usize) -> Option<usize> {
        let same_instant = |(&one, &next): (&u64, &u64)| instant(one) == instant(next);
        let order = &self.order[from..];
        let looks = order.chunks(PAIRS_PER_LOOK).zip(order.get(1..)?.chunks(PAIRS_PER_LOOK));
        for (look, (ones, nexts)) in looks.enumerate() {
            let mut pairs = ones.iter().zip(nexts);
            // Without a branch for each pair.
            if pairs.clone().fold(false, |any, pair| any | same_instant(pair)) {
                return pairs.position(same_instant).map(|place| from + PAIRS_PER_LOOK * look + place);
            }
        }
        None
    }
}

/// One of the packets that arrive at the same instant, by its entry in its shard's order.
#[derive(Clone, Copy)]
pub struct Tied {
    pub shard: usize,
    pub index: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::packet::Segment;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_of_an_instant_are_in_the_order_of_their_rank_and_those_of_a_hop_as_they_came(
            waits_ns in prop::collection::vec(0..2000_u64, 9),
            gaps_ns in prop::collection::vec((0..9_u32, prop_oneof![99 => 1..2000_u64, 1 => Just(0)], 0..5_u64), 0..1500),
        ) {
            let packets = (0..9).zip(&waits_ns).flat_map(|(hop, &wait_ns)| {
                let own = gaps_ns.iter().filter(move |(of, ..)| *of == hop);
                own.scan(wait_ns, move |at, &(_, gap_ns, busy_since)| {
                    *at += gap_ns;
                    Some(InTransit { at: *at, sub_ns: (), segment: Segment::default(), busy_since, hop })
                })
            });
            let mut arrivals = Arrivals { packets: packets.collect(), ..Arrivals::default() };
            let rank = |packet: &InTransit<()>| (packet.busy_since, packet.hop);
            let span = Span { from: 0, until: 150_000, usual_ns: 150_000 };
            if arrivals.set_order(span, |_| {}) {
                arrivals.sort_ties(rank);
            }
            let order: Vec<usize> = arrivals.order.iter().map(|&order| entry(order).1).collect();
            let at_and_hop = |&place: &usize| (arrivals.packets[place].at, arrivals.packets[place].hop);
            // A sort of all packets by time and by the rank of the first of their hop and instant.
            let mut firsts = std::collections::BTreeMap::new();
            for packet in &arrivals.packets {
                firsts.entry((packet.at, packet.hop)).or_insert(rank(packet));
            }
            let mut sorted: Vec<&InTransit<()>> =
                arrivals.packets.iter().filter(|packet| packet.at < span.until).collect();
            sorted.sort_by_key(|packet| (packet.at, firsts[&(packet.at, packet.hop)]));
            let expected: Vec<_> = sorted.iter().map(|packet| (packet.at, packet.hop)).collect();
            prop_assert_eq!(order.iter().map(at_and_hop).collect::<Vec<_>>(), expected);
            for hop in 0..9 {
                prop_assert!(order.iter().filter(|place| at_and_hop(place).1 == hop).is_sorted());
            }
        }
    }
}
