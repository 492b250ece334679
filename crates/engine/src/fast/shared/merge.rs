//! Packets that arrive at a link in a span from several shards, in the order of time.

use crate::fast::link::timing::Timing;
use crate::fast::shard::Shard;
use crate::fast::shared::arrivals::{Arrivals, Tied};
use crate::net::events::sort_tied;
use crate::time::NEVER;

/// Packets of all shards that arrive at a link in a span, in order.
pub struct Merge<'m, 'a, C, T: Timing> {
    shards: &'m [Shard<'a, C, T>],
    arrivals: &'m [Arrivals<T::SubNanosecond>],
    /// By shard: how many of its packets were taken, and when the next arrives, or NEVER.
    heads: Vec<(usize, u64)>,
    /// The next packet.
    next: Option<Tied>,
    /// Those that arrive at the same instant and after it, the last first.
    tied: Vec<Tied>,
}

impl<'m, 'a, C, T: Timing> Merge<'m, 'a, C, T> {
    pub fn new(
        shards: &'m [Shard<'a, C, T>],
        arrivals: &'m [Arrivals<T::SubNanosecond>],
    ) -> Merge<'m, 'a, C, T> {
        let heads = arrivals.iter().map(|arrivals| (0, arrivals.instant(0).unwrap_or(NEVER))).collect();
        let mut merge = Merge { shards, arrivals, heads, next: None, tied: Vec::new() };
        merge.advance();
        merge
    }

    /// The next packet; None: all were gone through.
    #[inline(always)]
    pub fn next(&self) -> Option<Tied> {
        self.next
    }

    /// Goes on to the packet after the next.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.next = self.tied.pop();
        if self.next.is_none() {
            self.next = self.take_first();
        }
    }

    #[inline(always)]
    fn take_to(&mut self, shard: usize, index: usize) {
        self.heads[shard] = (index, self.arrivals[shard].instant(index).unwrap_or(NEVER));
    }

    /// Takes the first of those not taken. If others arrive at the same instant, they are taken, too, and wait in `tied`.
    #[inline(always)]
    fn take_first(&mut self) -> Option<Tied> {
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
        self.take_to(shard, index + 1);
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
        let packet = |Tied { shard, index }: Tied| arrivals[shard].packet(arrivals[shard].order[index]);
        let rank = |tied: Tied| shards[tied.shard].network.rank(packet(tied));
        sort_tied(&mut self.tied, rank, |tied| (tied.shard, packet(tied).hop));
        self.tied.reverse();
        self.tied.pop()
    }
}
