//! What arrives at a link in a span, in order.

use crate::inbox::InTransit;
use crate::network::Network;
use crate::path::timing::Timing;
use crate::shard::Shard;
use crate::time::NEVER;

/// What arrives at a link in a span, of one shard.
pub struct Arrivals<E> {
    /// Those that arrive after the span, too.
    pub packets: Vec<InTransit<E>>,
    /// Sorted: when each arrives, counted from the span's beginning, and its place among the packets.
    pub order: Vec<u64>,
    /// When the first of those arrives that come after the span, or NEVER.
    pub earliest: u64,
}

impl<E> Default for Arrivals<E> {
    fn default() -> Self {
        Arrivals { packets: Vec::new(), order: Vec::new(), earliest: 0 }
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

    /// Sets the order of those that arrive before `until`, from `from` on. Returns whether it is not that of their places, or
    /// some arrive at the same instant.
    #[inline(always)]
    pub fn set_order(&mut self, from: u64, until: u64) -> bool {
        self.earliest = NEVER;
        let (mut instant_end, mut in_order) = (0, true);
        for (place, packet) in self.packets.iter().enumerate() {
            if packet.at < until {
                let at_and_place = packet.at.saturating_sub(from) << 32 | place as u64;
                in_order &= at_and_place > instant_end;
                instant_end = at_and_place | u64::from(u32::MAX);
                self.order.push(at_and_place);
            } else {
                self.earliest = self.earliest.min(packet.at);
            }
        }
        if !in_order {
            self.order.sort();
        }
        !in_order
    }
}

/// One of the packets that arrive at the same instant.
#[derive(Clone, Copy)]
struct Tied {
    shard: usize,
    order: u64,
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
    let by_place = tied.to_vec();
    tied.sort_by_key(|&tied| {
        let (network, packet) = packet(tied);
        let hop = &network.topology.hops[packet.hop as usize];
        let rank = (!hop.through_inbox).then(|| T::rank(packet.exact, packet.busy_since));
        (rank, network.ranks[hop.flow as usize])
    });
    let mut by_hop = by_place;
    by_hop.sort_by_key(|&tied| hop(tied));
    let mut taken = vec![0; by_hop.len()];
    for tied in tied {
        let first = by_hop.partition_point(|&other| hop(other) < hop(*tied));
        *tied = by_hop[first + taken[first]];
        taken[first] += 1;
    }
}

/// Sorts those of one shard that arrive at the same instant.
pub fn sort_ties<T: Timing>(arrivals: &mut Arrivals<T::Exact>, network: &Network<T>) {
    let Arrivals { packets, order, .. } = arrivals;
    let mut rest = order.as_mut_slice();
    while let Some(first) = rest.windows(2).position(|pair| instant(pair[0]) == instant(pair[1])) {
        let at = instant(rest[first]);
        let count = rest[first..].partition_point(|&order| instant(order) == at);
        let (same, later) = rest[first..].split_at_mut(count);
        let mut tied: Vec<Tied> = same.iter().map(|&order| Tied { shard: 0, order }).collect();
        sort_tied(&mut tied, |tied| (network, packets[tied.order as u32 as usize]));
        same.iter_mut().zip(tied).for_each(|(order, tied)| *order = tied.order);
        rest = later;
    }
}

/// What arrives at a link in a span, of all shards, in order.
pub struct Merge<'m, 'a, C, T: Timing> {
    shards: &'m [Shard<'a, C, T>],
    arrivals: &'m [Arrivals<T::Exact>],
    /// By shard: how many of its packets were taken.
    taken: Vec<usize>,
    /// Packets that arrive at the same instant and come next, the first last.
    tied: Vec<Tied>,
}

impl<'m, 'a, C, T: Timing> Merge<'m, 'a, C, T> {
    pub fn new(shards: &'m [Shard<'a, C, T>], arrivals: &'m [Arrivals<T::Exact>]) -> Merge<'m, 'a, C, T> {
        Merge { shards, arrivals, taken: vec![0; shards.len()], tied: Vec::new() }
    }

    pub fn network(&self, shard: usize) -> &'m Network<'a, T> {
        &self.shards[shard].network
    }

    /// The next packet and its shard, if `wanted` holds for it.
    #[inline(always)]
    pub fn next_if(
        &mut self,
        wanted: impl FnOnce(&InTransit<T::Exact>) -> bool,
    ) -> Option<(usize, &'m InTransit<T::Exact>)> {
        let Tied { shard, order } = match self.tied.last() {
            Some(&tied) => tied,
            None => self.first()?,
        };
        let packet = self.arrivals[shard].packet(order);
        if !wanted(packet) {
            return None;
        }
        if self.tied.pop().is_none() {
            self.taken[shard] += 1;
        }
        Some((shard, packet))
    }

    /// The next of those not taken. If others arrive at the same instant, they are all taken, and wait in `tied`.
    #[inline(always)]
    fn first(&mut self) -> Option<Tied> {
        let head = |shard: usize| self.arrivals[shard].order.get(self.taken[shard]);
        let (mut first, mut is_tied) = (None::<Tied>, false);
        for shard in 0..self.arrivals.len() {
            let Some(&order) = head(shard) else { continue };
            match first {
                Some(before) if instant(before.order) < instant(order) => continue,
                Some(before) if instant(before.order) == instant(order) => is_tied = true,
                _ => (first, is_tied) = (Some(Tied { shard, order }), false),
            }
        }
        let tied = first?;
        let next = self.arrivals[tied.shard].order.get(self.taken[tied.shard] + 1);
        if is_tied || next.is_some_and(|&next| instant(next) == instant(tied.order)) {
            return self.take_tied(instant(tied.order));
        }
        Some(tied)
    }

    #[cold]
    fn take_tied(&mut self, at: u64) -> Option<Tied> {
        for (shard, (arrivals, taken)) in self.arrivals.iter().zip(&mut self.taken).enumerate() {
            let rest = &arrivals.order[*taken..];
            let same = rest.iter().take_while(|&&order| instant(order) == at);
            let before = self.tied.len();
            self.tied.extend(same.map(|&order| Tied { shard, order }));
            *taken += self.tied.len() - before;
        }
        let (shards, arrivals) = (self.shards, self.arrivals);
        let packet = |tied: Tied| (&shards[tied.shard].network, *arrivals[tied.shard].packet(tied.order));
        sort_tied(&mut self.tied, packet);
        self.tied.reverse();
        self.tied.last().copied()
    }
}
