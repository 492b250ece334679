//! The links that connections share, and what each does with the packets that arrive at it.

use crate::arrivals::Arrivals;
use crate::inbox::InTransit;
use crate::memory::ring::Ring;
use crate::merge::Merge;
use crate::network::{Network, PACKETS_PER_LOOK};
use crate::path::link::PathLink;
use crate::path::managed::{Arriving, Departure, ManagedLink};
use crate::path::passing::{Link, Passing};
use crate::path::timing::Timing;
use crate::path::wire::Passage;
use crate::shard::{Numbering, Shard};
use crate::threads::Threads;
use crate::time::{NEVER, Tick};
use crate::topology::Hop;
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
    /// For packets of several shards.
    timing: Option<T>,
}

impl<T: Timing> Links<T> {
    /// `ids`: of the links in the scenario.
    pub fn new(
        scenario: &Scenario,
        ids: Vec<u32>,
        managed: BTreeMap<u32, ManagedLink<T::Tick>>,
        numbering: Numbering,
        seed: u64,
    ) -> Links<T> {
        let new_link = |id: &u32| Link::new(T::new_link(&scenario.links[*id as usize], seed));
        let links = ids.iter().map(new_link).collect();
        Links { ids, links, managed, numbering, timing: T::without_connections() }
    }

    /// When the next packet leaves a managed link, or NEVER.
    pub fn next_departure_ns(&self) -> u64 {
        self.managed.values().map(ManagedLink::next_departure_ns).min().unwrap_or(NEVER)
    }

    /// Packets in the queues of managed links.
    pub fn waiting_pkts(&self) -> usize {
        self.managed.values().map(ManagedLink::waiting_pkts).sum()
    }

    /// What links show of the most packets held and of waits is that from `now` on.
    pub fn begin_measuring(&mut self, now: u64) {
        self.links.iter_mut().for_each(|link| link.state.begin_measuring(now));
        self.managed.values_mut().for_each(|link| link.begin_measuring(now));
    }

    /// What `closed_form` or `managed` reports of each link of the scenario, and the default for a link that no packet enters.
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

    /// What arrives at the links before `until`, from `from` on, crosses them, link after link; returns how many packets.
    #[inline(always)]
    pub fn serve<C: CongestionControl>(
        &mut self,
        shards: &mut [Shard<C, T>],
        threads: &Threads,
        from: u64,
        until: u64,
    ) -> usize {
        let mut arrived = 0;
        for place in 0..self.ids.len() {
            let arrives = shards.iter().any(|shard| shard.network.inboxes[place].earliest < until);
            let managed = self.managed.get_mut(&self.ids[place]);
            let departs = managed.as_ref().is_some_and(|link| link.next_departure_ns() < until);
            if !arrives && !departs {
                continue;
            }
            arrived += match (&mut *shards, managed) {
                ([shard], None) => {
                    serve_closed_form(&mut self.links[place], place, &mut shard.network, from, until)
                }
                ([shard], Some(managed)) => {
                    serve_managed_alone(managed, place, &mut shard.network, from, until)
                }
                (shards, _) => self.serve_together(place, shards, threads, from, until),
            }
        }
        arrived
    }

    /// Has the arrivals at a link sorted by shard, decides what becomes of them in the order of time, and has that done by
    /// shard.
    fn serve_together<C: CongestionControl>(
        &mut self,
        place: usize,
        shards: &mut [Shard<C, T>],
        threads: &Threads,
        from: u64,
        until: u64,
    ) -> usize {
        threads.for_each(shards, |shard| shard.network.take_passing(place, from, until));
        let arrivals: Vec<_> =
            shards.iter_mut().map(|shard| std::mem::take(&mut shard.network.arrivals)).collect();
        let mut departures: Vec<_> =
            shards.iter_mut().map(|shard| std::mem::take(&mut shard.network.departures)).collect();
        let mut sides = Shards {
            arrivals: Merge::new(shards, &arrivals),
            departures: &mut departures,
            numbering: self.numbering,
        };
        let mut reorders = false;
        match self.managed.get_mut(&self.ids[place]) {
            Some(managed) => {
                serve_managed(managed, &mut sides, until);
                reorders = managed.reorders();
            }
            None => {
                let timing = self.timing.as_mut().expect("there are several shards");
                sides.pass_closed_form(&mut self.links[place], timing);
            }
        }
        let arrived = arrivals.iter().map(Arrivals::len).sum();
        for ((shard, arrivals), departures) in shards.iter_mut().zip(arrivals).zip(departures) {
            (shard.network.arrivals, shard.network.departures) = (arrivals, departures);
        }
        threads.for_each(shards, |shard| {
            shard.network.put_back(place, until, until - from);
            shard.network.let_depart(reorders);
        });
        arrived
    }
}

/// Before and behind a link: where packets come from, and where they go.
trait Sides {
    /// The next arrival, if `wanted` holds for its time.
    fn next_if(&mut self, wanted: impl FnOnce(u64) -> bool) -> Option<Arriving>;

    /// How long the link is busy with a packet of a labelled hop and size, and the packet under way.
    fn times(&self, label: u32, bytes: u32) -> (u64, u64);

    /// A packet of a labelled hop leaves the link.
    fn leave(&mut self, departure: Departure);

    fn must_end(&self) -> bool;
}

/// The connections of one shard. A hop's label is its index.
struct OneShard<'m, 'a, T: Timing> {
    network: &'m mut Network<'a, T>,
    arrivals: &'m Arrivals<T::Exact>,
    taken: usize,
    reorders: bool,
}

impl<T: Timing> Sides for OneShard<'_, '_, T> {
    #[inline(always)]
    fn next_if(&mut self, wanted: impl FnOnce(u64) -> bool) -> Option<Arriving> {
        let &InTransit { at: now_ns, segment, hop: label, .. } =
            self.arrivals.packet(*self.arrivals.order.get(self.taken)?);
        if !wanted(now_ns) {
            return None;
        }
        self.taken += 1;
        let &Hop { flow, codepoint, .. } = &self.network.topology.hops[label as usize];
        Some(Arriving { now_ns, segment, label, flow, codepoint })
    }

    #[inline(always)]
    fn times(&self, label: u32, bytes: u32) -> (u64, u64) {
        self.network.topology.times(label, bytes)
    }

    #[inline(always)]
    fn leave(&mut self, departure: Departure) {
        self.network.leave(departure, self.reorders);
    }

    fn must_end(&self) -> bool {
        self.network.control.stop.load(Relaxed)
    }
}

/// The connections of several shards. A hop's label is its number among the hops of all.
struct Shards<'m, 'a, C, T: Timing> {
    arrivals: Merge<'m, 'a, C, T>,
    /// By shard.
    departures: &'m mut [Vec<Departure>],
    numbering: Numbering,
}

impl<C, T: Timing> Shards<'_, '_, C, T> {
    /// A link where a packet's departure is known when it arrives.
    fn pass_closed_form(&mut self, link: &mut Link<T::Link>, timing: &mut T) {
        let mut passed = 0;
        while let Some((shard, passing)) = self.arrivals.next_if(|_| true) {
            passed += 1;
            if passed % PACKETS_PER_LOOK == 0 && self.must_end() {
                return;
            }
            let Passing { hop, segment, .. } = *passing;
            self.departures[shard].push(match link.pass(timing, *passing) {
                Some(InTransit { at, segment, busy_since, .. }) => Departure {
                    hop,
                    segment,
                    marked: false,
                    busy_since_ns: busy_since,
                    passage: Passage { copies: 1, at_ns: at },
                },
                None => Departure::lost(hop, segment),
            });
        }
    }
}

impl<C, T: Timing> Sides for Shards<'_, '_, C, T> {
    #[inline(always)]
    fn next_if(&mut self, wanted: impl FnOnce(u64) -> bool) -> Option<Arriving> {
        let (shard, &Passing { hop, now: now_ns, segment, flow, codepoint, .. }) =
            self.arrivals.next_if(wanted)?;
        let [label, flow] = [hop, flow].map(|local| self.numbering.id(shard, local));
        Some(Arriving { now_ns, segment, label, flow, codepoint })
    }

    #[inline(always)]
    fn times(&self, label: u32, bytes: u32) -> (u64, u64) {
        let topology = &self.arrivals.network(self.numbering.shard(label)).topology;
        topology.times(self.numbering.local(label), bytes)
    }

    #[inline(always)]
    fn leave(&mut self, departure: Departure) {
        let label = departure.hop;
        let hop = self.numbering.local(label);
        self.departures[self.numbering.shard(label)].push(Departure { hop, ..departure });
    }

    fn must_end(&self) -> bool {
        self.arrivals.network(0).control.stop.load(Relaxed)
    }
}

/// A link whose queue a discipline manages: arrivals and departures in the order of time.
#[inline(always)]
fn serve_managed<T: Tick>(managed: &mut ManagedLink<T>, sides: &mut impl Sides, until: u64) {
    let mut events = 0;
    while events % PACKETS_PER_LOOK != 0 || !sides.must_end() {
        events += 1;
        if let Some(next) = sides.next_if(|now_ns| managed.precedes_departure(now_ns)) {
            managed.accept(next);
        } else if managed.next_departure_ns() < until {
            if let Some(departure) = managed.depart(|label, bytes| sides.times(label, bytes)) {
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

/// A link whose queue a discipline manages, which connections of one shard cross; returns how many packets arrived.
fn serve_managed_alone<T: Timing>(
    managed: &mut ManagedLink<T::Tick>,
    place: usize,
    network: &mut Network<T>,
    from: u64,
    until: u64,
) -> usize {
    network.take_arrivals(place, from, until);
    let arrivals = std::mem::take(&mut network.arrivals);
    let reorders = managed.reorders();
    serve_managed(managed, &mut OneShard { network, arrivals: &arrivals, taken: 0, reorders }, until);
    let arrived = arrivals.len();
    network.arrivals = arrivals;
    network.put_back(place, until, until - from);
    arrived
}

/// A link where a packet's departure is known when it arrives, which connections of one shard cross;
/// returns how many packets arrived.
fn serve_closed_form<T: Timing>(
    link: &mut Link<T::Link>,
    place: usize,
    network: &mut Network<T>,
    from: u64,
    until: u64,
) -> usize {
    if let Some(line) = network.inboxes[place].take_line() {
        return serve_line(link, place, line, network, until);
    }
    network.take_arrivals(place, from, until);
    let arrivals = std::mem::take(&mut network.arrivals);
    for part in arrivals.order.chunks(PACKETS_PER_LOOK) {
        if network.control.stop.load(Relaxed) {
            break;
        }
        for (next, &order) in part.iter().enumerate() {
            if network.has_many_flows() {
                let ahead = |ahead: usize| part.get(next + ahead).map(|&order| arrivals.packet(order));
                network.prefetch_packets(ahead);
            }
            network.cross(link, arrivals.packet(order));
        }
    }
    let arrived = arrivals.len();
    network.arrivals = arrivals;
    network.put_back(place, until, until - from);
    arrived
}

/// The same where the packets stand in a `line`.
#[inline(always)]
fn serve_line<T: Timing>(
    link: &mut Link<T::Link>,
    place: usize,
    mut line: Ring<InTransit<T::Exact>>,
    network: &mut Network<T>,
    until: u64,
) -> usize {
    let mut arrived = 0;
    'parts: for part in line.parts() {
        if network.control.stop.load(Relaxed) {
            break;
        }
        for (next, packet) in part.iter().enumerate() {
            if packet.at >= until {
                break 'parts;
            }
            if network.has_many_flows() {
                network.prefetch_packets(|ahead| part.get(next + ahead));
            }
            network.cross(link, packet);
            arrived += 1;
        }
    }
    line.skip(arrived);
    network.inboxes[place].put_back_line(line);
    arrived
}
