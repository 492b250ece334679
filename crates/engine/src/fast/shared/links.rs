//! The links that connections share, and what each does with the packets that arrive at it.

use crate::control::Control;
use crate::fast::link::fifo::PathLink;
use crate::fast::link::passing::{Facts, Link};
use crate::fast::link::timing::Timing;
use crate::fast::network::{Ahead, HOPS_AHEAD, Network, PACKETS_AHEAD, PACKETS_PER_LOOK};
use crate::fast::shard::{Numbering, Shard};
use crate::fast::shared::arrivals::{Arrivals, Outcome, Tied, entry};
use crate::fast::shared::inbox::InTransit;
use crate::fast::shared::merge::Merge;
use crate::fast::shared::runs::{Runs, find_runs};
use crate::fast::threads::Threads;
use crate::memory::ring::Ring;
use crate::net::link::managed::{Arriving, Departure, ManagedLink};
use crate::time::{NEVER, Span, Tick};
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// All shared links of a run.
pub struct Links<T: Timing> {
    /// By place: the link of the scenario, in the order of the routes.
    pub ids: Vec<u32>,
    pub links: Vec<Link<T::Link>>,
    /// By link of the scenario: those whose queue a discipline manages.
    pub managed: BTreeMap<u32, ManagedLink<T::Tick>>,
    numbering: Numbering,
    /// By place: whether packets go on from it in the order in which they came.
    in_order: Vec<bool>,
    /// Places, in the order of the routes.
    before_ends: Vec<usize>,
    after_ends: Vec<usize>,
}

impl<T: Timing> Links<T> {
    /// `ids`: of the links in the scenario; `in_order`: by place, whether packets must go on from it in the order in which they
    /// came, since they come to another link, or those of a flow may have overtaken each other; `before_ends`: by place, whether it
    /// is served before the ends of the flows act.
    pub fn new(
        scenario: &Scenario,
        ids: Vec<u32>,
        in_order: Vec<bool>,
        before_ends: &[bool],
        managed: BTreeMap<u32, ManagedLink<T::Tick>>,
        numbering: Numbering,
        seed: u64,
    ) -> Links<T> {
        let new_link = |id: &u32| Link::new(T::new_link(&scenario.links[*id as usize], seed));
        let links = ids.iter().map(new_link).collect();
        let (before_ends, after_ends) = (0..ids.len()).partition(|&place| before_ends[place]);
        Links { ids, links, managed, numbering, in_order, before_ends, after_ends }
    }

    /// When the next packet leaves a managed link, or NEVER.
    pub fn next_departure_ns(&self) -> u64 {
        self.managed.values().map(ManagedLink::next_departure_ns).min().unwrap_or(NEVER)
    }

    /// Packets in the queues of managed links.
    pub fn waiting_pkts(&self) -> usize {
        self.managed.values().map(ManagedLink::waiting_pkts).sum()
    }

    /// Begins the measurement of waits, and of the most packets held, at `now`.
    pub fn begin_measuring(&mut self, now: u64) {
        self.links.iter_mut().for_each(|link| link.state.begin_measuring(now));
        self.managed.values_mut().for_each(|link| link.begin_measuring(now));
    }

    /// Returns what `closed_form` or `managed` reports of each link of the scenario, and the default for a link that no packet enters.
    pub fn look_at_each<C: CongestionControl, R: Clone + Default>(
        &mut self,
        shards: &mut [Shard<C, T>],
        closed_form: impl Fn(&mut Link<T::Link>) -> R,
        managed: impl Fn(u32, &ManagedLink<T::Tick>) -> R,
    ) -> Vec<R> {
        let mut seen = vec![R::default(); shards[0].network.topology.links().len()];
        for (&id, link) in self.ids.iter().zip(&mut self.links) {
            seen[id as usize] = closed_form(link);
        }
        for Shard { network, .. } in shards {
            for (&id, link) in network.topology.own_links.iter().zip(&mut network.own_links) {
                seen[id as usize] = closed_form(link);
            }
        }
        for (&id, link) in &self.managed {
            seen[id as usize] = managed(id, link);
        }
        seen
    }

    /// Forwards the packets that arrive in `span` at the links which are served before the ends act; returns how many packets.
    #[inline(always)]
    pub fn serve_before_ends<C: CongestionControl>(
        &mut self,
        shards: &mut [Shard<C, T>],
        threads: &Threads,
        span: Span,
    ) -> usize {
        self.serve(|links| &links.before_ends, shards, threads, span)
    }

    /// Forwards the packets that arrive in `span` at the other links; returns how many packets.
    #[inline(always)]
    pub fn serve_after_ends<C: CongestionControl>(
        &mut self,
        shards: &mut [Shard<C, T>],
        threads: &Threads,
        span: Span,
    ) -> usize {
        self.serve(|links| &links.after_ends, shards, threads, span)
    }

    /// Forwards the packets that arrive at `places` in `span`, link after link; returns how many packets.
    #[inline(always)]
    fn serve<C: CongestionControl>(
        &mut self,
        places: impl Fn(&Self) -> &[usize],
        shards: &mut [Shard<C, T>],
        threads: &Threads,
        span: Span,
    ) -> usize {
        let mut arrived = 0;
        for index in 0..places(self).len() {
            let place = places(self)[index];
            let arrives = shards.iter().any(|shard| shard.network.inboxes[place].earliest < span.until);
            let managed = self.managed.get(&self.ids[place]);
            if !arrives && managed.is_none_or(|link| link.next_departure_ns() >= span.until) {
                continue;
            }
            arrived += match &mut *shards {
                [shard] if self.passes_one_by_one(place, &shard.network) => {
                    self.serve_one_by_one(place, &mut shard.network, span)
                }
                shards => self.serve_together(place, shards, threads, span),
            };
        }
        arrived
    }

    /// Returns true if a link finishes with each packet before the next, rather than decide on all first. Decisions made first can be
    /// carried out in another order: that of flows, whose state is then needed once. That is no gain where caches hold it, nor,
    /// without a discipline, where packets stand in a line or must go on in order.
    #[inline(always)]
    fn passes_one_by_one(&self, place: usize, network: &Network<T>) -> bool {
        T::TAKE_IN.is_none()
            || !network.outgrows_caches()
            || !self.managed.contains_key(&self.ids[place])
                && (self.in_order[place] || network.inboxes[place].is_line())
    }

    /// A link that connections of one shard cross finishes with each packet before the next; returns how many arrived.
    #[inline(always)]
    fn serve_one_by_one(&mut self, place: usize, network: &mut Network<T>, span: Span) -> usize {
        let id = self.ids[place];
        match self.managed.get_mut(&id) {
            Some(managed) => serve_managed_alone(managed, id, place, network, span),
            None => serve_closed_form(&mut self.links[place], place, network, span),
        }
    }

    /// The arrivals at a link are sorted by shard, the link decides on all in the order of time, and that is done by shard;
    /// returns how many arrived.
    fn serve_together<C: CongestionControl>(
        &mut self,
        place: usize,
        shards: &mut [Shard<C, T>],
        threads: &Threads,
        span: Span,
    ) -> usize {
        let (id, in_order) = (self.ids[place], self.in_order[place]);
        // Of a managed link.
        let reorders = self.managed.get(&id).map(ManagedLink::reorders);
        let marks = shards[0].network.topology.link(id).ecn_threshold_pkts.is_some();
        let by_packet = shards.len() == 1 && !in_order;
        threads.for_each(shards, |shard| match reorders {
            Some(_) => shard.network.take_arriving(place, span),
            None => shard.network.take_facts(place, span, marks, by_packet),
        });
        let arrivals = take_each(shards, |network| &mut network.arrivals);
        let mut outcomes = take_each(shards, |network| &mut network.outcome);
        match self.managed.get_mut(&id) {
            Some(managed) => {
                let mut sides = Shards {
                    index_bits: u32::BITS - shards.len().next_power_of_two().trailing_zeros(),
                    arrivals: &arrivals,
                    merge: Merge::new(shards, &arrivals),
                    outcomes: &mut outcomes,
                    numbering: self.numbering,
                };
                let Network { topology, control, .. } = &shards[0].network;
                serve_managed(managed, &mut sides, control, topology.tx_ticks_at(id), span.until);
            }
            None => self.decide(place, shards, &arrivals, &mut outcomes, span.from, by_packet),
        }
        let arrived = arrivals.iter().map(Arrivals::len).sum();
        give_each(shards, |network| &mut network.arrivals, arrivals);
        give_each(shards, |network| &mut network.outcome, outcomes);
        threads.for_each(shards, |shard| {
            match reorders {
                Some(reorders) => shard.network.let_depart(reorders),
                None if in_order => shard.network.let_pass_in_order(),
                None => {
                    if !by_packet {
                        shard.network.arrange_fates();
                    }
                    shard.network.let_pass(span.until);
                }
            }
            shard.network.put_back(place, span);
        });
        arrived
    }

    /// At a link where a packet's departure is known when it arrives: decides on what arrives from `from` on. `by_packet`: there is
    /// one shard, whose packets go on flow by flow.
    fn decide<C: CongestionControl>(
        &mut self,
        place: usize,
        shards: &[Shard<C, T>],
        arrivals: &[Arrivals<T::SubNanosecond>],
        outcomes: &mut [Outcome],
        from: u64,
        by_packet: bool,
    ) {
        let take_in = T::TAKE_IN.expect("connections do not matter");
        let (id, in_order, link) = (self.ids[place], self.in_order[place], &mut self.links[place]);
        let Network { topology, control, .. } = &shards[0].network;
        let mut tx_ticks = topology.tx_ticks_at(id);
        let mut decide = |instant: u64, facts: Facts| {
            let fate = link.decide(take_in, from + instant, tx_ticks(facts.bytes()), facts);
            (fate, link.state.busy_since_ns())
        };
        if by_packet {
            let (arrivals, outcome) = (&arrivals[0], &mut outcomes[0]);
            for part in arrivals.order.chunks(PACKETS_PER_LOOK) {
                if control.stop.load(Relaxed) {
                    return;
                }
                for &order in part {
                    let (instant, packet) = entry(order);
                    outcome.fates_by_packet[packet] = decide(instant, arrivals.facts[packet]).0;
                }
            }
            return;
        }
        let mut merge = Merge::new(shards, arrivals);
        let mut decided = 0;
        while let Some(Tied { shard, index }) = merge.next() {
            merge.advance();
            let (instant, packet) = entry(arrivals[shard].order[index]);
            debug_assert_eq!(arrivals[shard].packets[packet].at, from + instant);
            let (fate, busy_since_ns) = decide(instant, arrivals[shard].facts_in_order[index]);
            let outcome = &mut outcomes[shard];
            outcome.fates[index] = fate;
            if in_order {
                outcome.busy_since_ns[index] = busy_since_ns;
            }
            decided += 1;
            if decided % PACKETS_PER_LOOK == 0 && control.stop.load(Relaxed) {
                return;
            }
        }
    }
}

/// Takes `part` out of each shard's network.
fn take_each<'a, C, T: Timing, P: Default>(
    shards: &mut [Shard<'a, C, T>],
    part: impl for<'n> Fn(&'n mut Network<'a, T>) -> &'n mut P,
) -> Vec<P> {
    shards.iter_mut().map(|shard| std::mem::take(part(&mut shard.network))).collect()
}

/// Gives back what [`take_each`] took out.
fn give_each<'a, C, T: Timing, P>(
    shards: &mut [Shard<'a, C, T>],
    part: impl for<'n> Fn(&'n mut Network<'a, T>) -> &'n mut P,
    parts: Vec<P>,
) {
    shards.iter_mut().zip(parts).for_each(|(shard, taken)| *part(&mut shard.network) = taken);
}

/// Before and behind a link: where packets come from, and where they go.
trait Sides {
    /// The next arrival, if `wanted` holds for its time.
    fn next_if(&mut self, wanted: impl FnOnce(u64) -> bool) -> Option<Arriving>;

    /// A packet of a labelled hop leaves the link.
    fn leave(&mut self, departure: Departure);
}

/// The connections of one shard, whose packets go on as they leave. A hop's label is its index.
struct OneShard<'m, 'a, T: Timing> {
    network: &'m mut Network<'a, T>,
    arrivals: &'m Arrivals<T::SubNanosecond>,
    taken: usize,
    reorders: bool,
}

impl<T: Timing> Sides for OneShard<'_, '_, T> {
    #[inline(always)]
    fn next_if(&mut self, wanted: impl FnOnce(u64) -> bool) -> Option<Arriving> {
        let packet = self.arrivals.packet(*self.arrivals.order.get(self.taken)?);
        if !wanted(packet.at) {
            return None;
        }
        self.taken += 1;
        Some(self.network.arriving(packet))
    }

    #[inline(always)]
    fn leave(&mut self, departure: Departure) {
        self.network.leave(departure, self.reorders);
    }
}

/// The connections of all shards, whose packets go on when all have left. A hop's label is its shard, above its index.
struct Shards<'m, 'a, C, T: Timing> {
    /// Bits of a label that hold the index.
    index_bits: u32,
    /// By shard.
    arrivals: &'m [Arrivals<T::SubNanosecond>],
    merge: Merge<'m, 'a, C, T>,
    /// By shard.
    outcomes: &'m mut [Outcome],
    numbering: Numbering,
}

impl<C, T: Timing> Sides for Shards<'_, '_, C, T> {
    #[inline(always)]
    fn next_if(&mut self, wanted: impl FnOnce(u64) -> bool) -> Option<Arriving> {
        let arriving = |Tied { shard, index }: Tied| &self.arrivals[shard].arriving[index];
        let next = self.merge.next()?;
        let &Arriving { now_ns, label: index, flow, .. } = arriving(next);
        if !wanted(now_ns) {
            return None;
        }
        self.merge.advance();
        let label = ((next.shard as u64) << self.index_bits) as u32 | index;
        let flow = self.numbering.id(next.shard, flow);
        Some(Arriving { label, flow, ..*arriving(next) })
    }

    #[inline(always)]
    fn leave(&mut self, departure: Departure) {
        let label = u64::from(departure.label);
        let (shard, hop) = (label >> self.index_bits, (label & ((1 << self.index_bits) - 1)) as u32);
        self.outcomes[shard as usize].departures.push(Departure { label: hop, ..departure });
    }
}

/// A link whose queue a discipline manages: arrivals and departures in the order of time. `tx_ticks`: how long it is busy with a
/// packet of a size.
#[inline(always)]
fn serve_managed<T: Tick>(
    managed: &mut ManagedLink<T>,
    sides: &mut impl Sides,
    control: &Control,
    mut tx_ticks: impl FnMut(u32) -> u64,
    until: u64,
) {
    let mut events = 0;
    while events % PACKETS_PER_LOOK != 0 || !control.stop.load(Relaxed) {
        events += 1;
        if let Some(next) = sides.next_if(|now_ns| managed.precedes_departure(now_ns)) {
            managed.accept(next, tx_ticks(next.segment.tag.bytes()));
        } else if managed.next_departure_ns() < until {
            if let Some(departure) = managed.depart() {
                sides.leave(departure);
            }
        } else {
            return;
        }
        if managed.has_dropped() {
            managed.take_dropped().for_each(|(hop, segment)| sides.leave(Departure::lost(hop, segment)));
        }
    }
}

/// A link whose queue a discipline manages, which connections of one shard cross; returns how many packets arrived. It finishes
/// with each before the next. `id`: its number in the scenario.
fn serve_managed_alone<T: Timing>(
    managed: &mut ManagedLink<T::Tick>,
    id: u32,
    place: usize,
    network: &mut Network<T>,
    span: Span,
) -> usize {
    network.take_soon(place, span);
    network.sort_arrivals(span);
    let arrivals = std::mem::take(&mut network.arrivals);
    let (reorders, control, tx_ticks) =
        (managed.reorders(), network.control, network.topology.tx_ticks_at(id));
    let sides = &mut OneShard { network, arrivals: &arrivals, taken: 0, reorders };
    serve_managed(managed, sides, control, tx_ticks, span.until);
    let arrived = arrivals.len();
    network.arrivals = arrivals;
    network.put_back(place, span);
    arrived
}

/// A link where a packet's departure is known when it arrives, which connections of one shard cross; returns how many packets
/// arrived. It finishes with each before the next.
fn serve_closed_form<T: Timing>(
    link: &mut Link<T::Link>,
    place: usize,
    network: &mut Network<T>,
    span: Span,
) -> usize {
    if let Some(line) = network.inboxes[place].take_line() {
        let serve = if network.has_many_flows() { serve_line::<T, true> } else { serve_line::<T, false> };
        return serve(link, place, line, network, span.until);
    }
    network.take_soon(place, span);
    if !network.has_many_flows()
        && let Some((ends, count)) = find_runs(&network.arrivals.packets)
    {
        let ends = &ends[..count];
        return if count <= 4 {
            serve_runs::<T, 4>(link, place, ends, network, span)
        } else {
            serve_runs::<T, 8>(link, place, ends, network, span)
        };
    }
    network.sort_arrivals(span);
    let arrivals = std::mem::take(&mut network.arrivals);
    let mut ahead = network.has_many_flows().then(Ahead::default);
    for part in arrivals.order.chunks(PACKETS_PER_LOOK) {
        if network.control.stop.load(Relaxed) {
            break;
        }
        for (next, &order) in part.iter().enumerate() {
            if let Some(ahead) = &mut ahead {
                part.get(next + PACKETS_AHEAD).into_iter().for_each(|&order| arrivals.prefetch(order));
                let order_ahead = part.get(next + HOPS_AHEAD);
                network.prefetch(ahead, order_ahead.map(|&order| arrivals.packet(order).hop));
            }
            network.cross(link, arrivals.packet(order));
        }
    }
    let arrived = arrivals.len();
    network.arrivals = arrivals;
    network.put_back(place, span);
    arrived
}

/// Serves a link as [`serve_closed_form`], where the packets stand in `N` runs at most, which end at `ends`.
#[inline(never)]
fn serve_runs<T: Timing, const N: usize>(
    link: &mut Link<T::Link>,
    place: usize,
    ends: &[usize],
    network: &mut Network<T>,
    span: Span,
) -> usize {
    let packets = std::mem::take(&mut network.arrivals.packets);
    let mut runs = Runs::<N>::new(&packets, ends, span.until);
    let mut arrived = 0;
    while let Some(packet) = runs.next(&packets, |packet| network.rank(packet)) {
        network.cross(link, packet);
        arrived += 1;
        if arrived % PACKETS_PER_LOOK == 0 && network.control.stop.load(Relaxed) {
            break;
        }
    }
    let earliest_left = runs.earliest_left(&packets);
    network.inboxes[place].put_back(packets, span, earliest_left);
    arrived
}

/// Serves a link as [`serve_closed_form`], where the packets stand in a `line`.
#[inline(always)]
fn serve_line<T: Timing, const HAS_MANY_FLOWS: bool>(
    link: &mut Link<T::Link>,
    place: usize,
    mut line: Ring<InTransit<T::SubNanosecond>>,
    network: &mut Network<T>,
    until: u64,
) -> usize {
    let (mut arrived, mut ahead) = (0, Ahead::default());
    for part in line.parts() {
        let mut next = 0;
        while let Some(packet) = part.get(next)
            && packet.at < until
        {
            if HAS_MANY_FLOWS {
                network.prefetch(&mut ahead, part.get(next + HOPS_AHEAD).map(|packet| packet.hop));
            }
            network.cross(link, packet);
            next += 1;
        }
        arrived += next;
        if next < part.len() || network.control.stop.load(Relaxed) {
            break;
        }
    }
    line.skip(arrived);
    network.inboxes[place].put_back_line(line);
    arrived
}
