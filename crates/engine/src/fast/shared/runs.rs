//! Packets that stand in a few runs, each in the order of time, as those of a few flows do: merged while they are gone through.

use crate::fast::shared::inbox::InTransit;
use crate::net::events::sort_tied;
use crate::time::NEVER;

/// Packets that arrive before a time, in order, from `N` runs at most, of which there are no more than eight.
pub struct Runs<const N: usize> {
    until: u64,
    /// By run: when its next packet arrives, in nanoseconds that fit in 61 bits, and below that the run; NEVER: nothing is left before `until`.
    keys: [u64; N],
    /// By run: the key of the packet behind its next one. That key is then known without waiting for a packet.
    following: [u64; N],
    /// By run: the places of its next packet and of its end.
    places: [(usize, usize); N],
    /// The least of the keys, SEVERAL or NEVER.
    next: u64,
    /// Places of packets that arrive at one instant, the last first.
    tied: Vec<usize>,
}

const RUN_BITS: u32 = 3;
const RUNS_MAX: usize = 1 << RUN_BITS;
/// In place of a key: `tied` has the next packet.
const SEVERAL: u64 = NEVER - 1;

/// Where each of the runs ends in which `packets` stand, and how many there are; None: more than eight. Of one hop, packets that
/// arrive at the same instant stay in their order.
pub fn find_runs<E>(packets: &[InTransit<E>]) -> Option<([usize; RUNS_MAX], usize)> {
    let (mut ends, mut count) = ([0; RUNS_MAX], 0);
    let mut before_ns = NEVER;
    for (place, packet) in packets.iter().enumerate() {
        if packet.at <= before_ns
            && place > 0
            && (packet.at < before_ns || packet.hop != packets[place - 1].hop)
        {
            *ends.get_mut(count)? = place;
            count += 1;
        }
        before_ns = packet.at;
    }
    *ends.get_mut(count)? = packets.len();
    Some((ends, count + 1))
}

impl<const N: usize> Runs<N> {
    /// `packets` stand in runs that end at `ends`.
    pub fn new<E>(packets: &[InTransit<E>], ends: &[usize], until: u64) -> Runs<N> {
        let mut runs = Runs {
            until,
            keys: [NEVER; N],
            following: [NEVER; N],
            places: [(0, 0); N],
            next: NEVER,
            tied: Vec::new(),
        };
        let mut place = 0;
        for (run, &end) in ends.iter().enumerate() {
            runs.places[run] = (place, end);
            runs.keys[run] = runs.key(packets, run, place);
            runs.following[run] = runs.key(packets, run, place + 1);
            place = end;
        }
        runs.find_next();
        runs
    }

    /// Returns the key of the packet at `place` in a run, if the run has one there.
    #[inline(always)]
    fn key<E>(&self, packets: &[InTransit<E>], run: usize, place: usize) -> u64 {
        match packets[..self.places[run].1].get(place) {
            Some(packet) if packet.at < self.until => packet.at << RUN_BITS | run as u64,
            _ => NEVER,
        }
    }

    /// Finds the least key.
    #[inline(always)]
    fn find_next(&mut self) {
        // In pairs: no comparison then waits for many others.
        let (mut least, mut count) = (self.keys, N);
        while count > 1 {
            count /= 2;
            for run in 0..count {
                least[run] = least[run].min(least[run + count]);
            }
        }
        self.next = least[0];
    }

    /// Goes on in the run of the next packet; returns the place of that.
    #[inline(always)]
    fn advance<E>(&mut self, packets: &[InTransit<E>]) -> usize {
        let run = (self.next & ((1 << RUN_BITS) - 1)) as usize;
        let place = self.places[run].0;
        self.places[run].0 += 1;
        self.keys[run] = self.following[run];
        self.following[run] = self.key(packets, run, place + 2);
        self.find_next();
        place
    }

    /// Returns the packet that arrives next, or None after the last. Of packets that arrive at the same instant the one with the
    /// least `rank` comes first.
    #[inline(always)]
    pub fn next<'p, E, R: Ord>(
        &mut self,
        packets: &'p [InTransit<E>],
        rank: impl Fn(&InTransit<E>) -> R,
    ) -> Option<&'p InTransit<E>> {
        let instant = self.next >> RUN_BITS;
        if self.next >= SEVERAL {
            return self.next_tied(packets);
        }
        let place = self.advance(packets);
        if self.next >> RUN_BITS == instant {
            return self.take_tied(place, packets, rank);
        }
        Some(&packets[place])
    }

    /// [`Runs::next`] of those in `tied`, or at the end.
    #[cold]
    fn next_tied<'p, E>(&mut self, packets: &'p [InTransit<E>]) -> Option<&'p InTransit<E>> {
        let place = self.tied.pop()?;
        if self.tied.is_empty() {
            self.find_next();
        }
        Some(&packets[place])
    }

    /// Others arrive at the same instant as the packet at `place`: returns the first.
    #[cold]
    fn take_tied<'p, E, R: Ord>(
        &mut self,
        place: usize,
        packets: &'p [InTransit<E>],
        rank: impl Fn(&InTransit<E>) -> R,
    ) -> Option<&'p InTransit<E>> {
        let instant = packets[place].at;
        self.tied.push(place);
        while self.next >> RUN_BITS == instant {
            let place = self.advance(packets);
            self.tied.push(place);
        }
        self.tied.sort_unstable();
        sort_tied(&mut self.tied, |index| rank(&packets[index]), |index| packets[index].hop);
        self.tied.reverse();
        self.next = SEVERAL;
        self.next_tied(packets)
    }

    /// When the first of those arrives that are left, or NEVER.
    pub fn earliest_left<E>(&self, packets: &[InTransit<E>]) -> u64 {
        let left = self.places.iter().filter(|(place, end)| place < end);
        left.map(|&(place, _)| packets[place].at).min().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::packet::Segment;
    use proptest::prelude::*;

    fn packet(at: u64, hop: u32) -> InTransit<()> {
        InTransit { at, sub_ns: (), segment: Segment::default(), busy_since: 0, hop }
    }

    /// The packets in the order in which `Runs` gives them, by place, and when the first of the others arrives.
    fn merged<const N: usize>(packets: &[InTransit<()>], ends: &[usize], until: u64) -> (Vec<usize>, u64) {
        let mut runs = Runs::<N>::new(packets, ends, until);
        let next = || runs.next(packets, |packet| 100 - packet.hop);
        let places = std::iter::from_fn(next).map(|packet| {
            let is_it = |other: &&InTransit<()>| std::ptr::eq(*other, packet);
            packets.iter().take_while(|other| !is_it(other)).count()
        });
        (places.collect(), runs.earliest_left(packets))
    }

    proptest! {
        #[test]
        fn packets_of_few_flows_come_in_the_order_of_time_and_those_of_an_instant_by_their_rank(
            flows in prop::collection::vec(prop::collection::vec(0..4_u64, 1..12), 1..9),
            until in 0..40_u64,
        ) {
            let flow = |(hop, gaps): (u32, &Vec<u64>)| {
                let at = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) });
                at.map(|at| packet(at, hop)).collect::<Vec<_>>()
            };
            let packets: Vec<_> = (0..).zip(&flows).flat_map(flow).collect();
            let Some((ends, count)) = find_runs(&packets) else { return Ok(()) };
            let mut expected: Vec<usize> = (0..packets.len()).filter(|&place| packets[place].at < until).collect();
            expected.sort_by_key(|&place| (packets[place].at, 100 - packets[place].hop));
            let left = packets.iter().map(|packet| packet.at).filter(|at| *at >= until).min();
            let expected = (expected, left.unwrap_or(NEVER));
            prop_assert_eq!(merged::<8>(&packets, &ends[..count], until), expected.clone());
            if count <= 4 {
                prop_assert_eq!(merged::<4>(&packets, &ends[..count], until), expected);
            }
        }
    }

    #[test]
    fn more_than_eight_runs_are_not_few() {
        let falling = |runs: u64| -> Vec<_> { (0..runs).map(|k| packet(100 - k, 0)).collect() };
        assert_eq!(find_runs(&falling(8)).map(|(_, count)| count), Some(8));
        assert!(find_runs(&falling(9)).is_none());
        assert_eq!(find_runs::<()>(&[]).map(|(_, count)| count), Some(1));
    }
}
