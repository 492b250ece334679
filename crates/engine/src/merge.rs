//! What arrives at a link in a span, in order.

use crate::inbox::InTransit;
use crate::links::Passing;
use crate::memory::radix::sort_by_upper_half;
use crate::network::Network;
use crate::path::timing::Timing;
use crate::shard::Shard;
use crate::time::NEVER;

/// More runs of packets that are in order, and shorter ones, are sorted by digits and not by merging.
const RUNS_TO_MERGE: usize = 500;
const PACKETS_PER_RUN: usize = 8;

/// What arrives at a link in a span, of one shard.
pub struct Arrivals<E> {
    /// Those that arrive after the span, too.
    pub packets: Vec<InTransit<E>>,
    /// Sorted: when each arrives, counted from the span's beginning, and its place among the packets.
    pub order: Vec<u64>,
    /// Room to sort in.
    spare: Vec<u64>,
    /// In that order: how each arrives at the link, where other shards' arrivals come in between.
    pub passing: Vec<Passing>,
    /// When the first of those arrives that come after the span, or NEVER.
    pub earliest: u64,
}

impl<E> Default for Arrivals<E> {
    fn default() -> Self {
        Arrivals {
            packets: Vec::new(),
            order: Vec::new(),
            spare: Vec::new(),
            passing: Vec::new(),
            earliest: 0,
        }
    }
}

/// When the packet arrives, counted from the span's beginning.
#[inline(always)]
fn instant(order: u64) -> u64 {
    order >> 32
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

    /// When entry `index` of `order` arrives, counted from the span's beginning; None: there is no such entry.
    #[inline(always)]
    fn instant(&self, index: usize) -> Option<u64> {
        self.order.get(index).map(|&order| instant(order))
    }

    /// Sets the order of those that arrive before `until`, from `from` on. Returns whether it is not that of their places, or
    /// some arrive at the same instant.
    #[inline(always)]
    pub fn set_order(&mut self, from: u64, until: u64) -> bool {
        self.earliest = NEVER;
        let (mut instant_end, mut descents) = (0, 0);
        for (place, packet) in self.packets.iter().enumerate() {
            if packet.at < until {
                let at_and_place = packet.at.saturating_sub(from) << 32 | place as u64;
                descents += usize::from(at_and_place <= instant_end);
                instant_end = at_and_place | u64::from(u32::MAX);
                self.order.push(at_and_place);
            } else {
                self.earliest = self.earliest.min(packet.at);
            }
        }
        if descents > RUNS_TO_MERGE && descents > self.order.len() / PACKETS_PER_RUN {
            sort_by_upper_half(&mut self.order, &mut self.spare, until - from);
        } else if descents > 0 {
            self.order.sort();
        }
        descents > 0
    }
}

/// One of the packets that arrive at the same instant, by its entry in its shard's order.
#[derive(Clone, Copy)]
struct Tied {
    shard: usize,
    index: usize,
}

/// Packets that arrive at the same instant: first those that flows send just then, then the one whose last link began
/// sending without a pause latest, then the lower flow and the earlier of its transfers. In a simulator that runs simultaneous events in the order in
/// which they were scheduled this is the order, too; and no flow wins every time. Those of a hop stay in their order: a
/// link with jitter may deliver several at once.
#[cold]
fn sort_tied<'n, 'a: 'n, T: Timing + 'n>(
    tied: &mut [Tied],
    packet: impl Fn(Tied) -> (&'n Network<'a, T>, InTransit<T::Exact>),
) {
    let hop = |tied: Tied| (tied.shard, packet(tied).1.hop);
    let mut by_hop = tied.to_vec();
    by_hop.sort_by_key(|&tied| hop(tied));
    tied.sort_by_key(|&tied| {
        let (network, packet) = packet(tied);
        let hop = &network.topology.hops[packet.hop as usize];
        let rank = (!hop.through_inbox).then(|| T::rank(packet.exact, packet.busy_since));
        (rank, network.ranks[hop.flow as usize])
    });
    let mut taken = vec![0; by_hop.len()];
    for tied in tied {
        let first = by_hop.partition_point(|&other| hop(other) < hop(*tied));
        *tied = by_hop[first + taken[first]];
        taken[first] += 1;
    }
}

/// Sorts those of one shard that arrive at the same instant.
pub fn sort_ties<T: Timing>(arrivals: &mut Arrivals<T::Exact>, network: &Network<T>) {
    let mut first = 0;
    while let Some(at) = arrivals.instant(first) {
        let mut end = first + 1;
        while arrivals.instant(end) == Some(at) {
            end += 1;
        }
        if end > first + 1 {
            let mut tied: Vec<Tied> = (first..end).map(|index| Tied { shard: 0, index }).collect();
            sort_tied(&mut tied, |tied| (network, *arrivals.packet(arrivals.order[tied.index])));
            let sorted: Vec<u64> = tied.iter().map(|tied| arrivals.order[tied.index]).collect();
            arrivals.order[first..end].copy_from_slice(&sorted);
        }
        first = end;
    }
}

/// What arrives at a link in a span, of all shards, in order.
pub struct Merge<'m, 'a, C, T: Timing> {
    shards: &'m [Shard<'a, C, T>],
    arrivals: &'m [Arrivals<T::Exact>],
    /// By shard: how many of its packets were taken, and when the next arrives, or NEVER.
    heads: Vec<(usize, u64)>,
    /// Packets that arrive at the same instant and come next, the first last.
    tied: Vec<Tied>,
}

impl<'m, 'a, C, T: Timing> Merge<'m, 'a, C, T> {
    pub fn new(shards: &'m [Shard<'a, C, T>], arrivals: &'m [Arrivals<T::Exact>]) -> Merge<'m, 'a, C, T> {
        let heads = arrivals.iter().map(|arrivals| (0, arrivals.instant(0).unwrap_or(NEVER))).collect();
        Merge { shards, arrivals, heads, tied: Vec::new() }
    }

    pub fn network(&self, shard: usize) -> &'m Network<'a, T> {
        &self.shards[shard].network
    }

    /// The shard of the next packet and how it arrives, if `wanted` holds for when it does.
    #[inline(always)]
    pub fn next_if(&mut self, wanted: impl FnOnce(u64) -> bool) -> Option<(usize, &'m Passing)> {
        let Tied { shard, index } = match self.tied.last() {
            Some(&tied) => tied,
            None => self.first()?,
        };
        let passing = &self.arrivals[shard].passing[index];
        if !wanted(passing.now) {
            return None;
        }
        if self.tied.pop().is_none() {
            self.take_to(shard, index + 1);
        }
        Some((shard, passing))
    }

    #[inline(always)]
    fn take_to(&mut self, shard: usize, index: usize) {
        self.heads[shard] = (index, self.arrivals[shard].instant(index).unwrap_or(NEVER));
    }

    /// The next of those not taken. If others arrive at the same instant, they are all taken, and wait in `tied`.
    #[inline(always)]
    fn first(&mut self) -> Option<Tied> {
        let (mut shard, mut at, mut is_tied) = (0, self.heads[0].1, false);
        for (other, &(_, instant)) in self.heads.iter().enumerate().skip(1) {
            is_tied = instant == at || is_tied && instant > at;
            if instant < at {
                (shard, at) = (other, instant);
            }
        }
        if at == NEVER {
            return None;
        }
        let index = self.heads[shard].0;
        if is_tied || self.arrivals[shard].instant(index + 1) == Some(at) {
            return self.take_tied(at);
        }
        Some(Tied { shard, index })
    }

    #[cold]
    fn take_tied(&mut self, at: u64) -> Option<Tied> {
        for (shard, arrivals) in self.arrivals.iter().enumerate() {
            let mut index = self.heads[shard].0;
            while arrivals.instant(index) == Some(at) {
                self.tied.push(Tied { shard, index });
                index += 1;
            }
            self.take_to(shard, index);
        }
        let (shards, arrivals) = (self.shards, self.arrivals);
        let packet = |Tied { shard, index }| {
            (&shards[shard].network, *arrivals[shard].packet(arrivals[shard].order[index]))
        };
        sort_tied(&mut self.tied, packet);
        self.tied.reverse();
        self.tied.last().copied()
    }
}
