//! The links that connections share, and what each does with the packets that arrive at it.

use crate::inbox::InTransit;
use crate::memory::ring::prefetch;
use crate::merge::{Arrivals, Merge};
use crate::network::{Network, PACKETS_AHEAD, PACKETS_PER_LOOK};
use crate::path::link::PathLink;
use crate::path::managed::{Departure, ManagedLink};
use crate::path::queue::discipline::Codepoint;
use crate::path::timing::{Crossing, Timing};
use crate::path::wire::Passage;
use crate::shard::{Numbering, Shard};
use crate::tcp::packet::{CONGESTION, Segment, Tag};
use crate::threads::Threads;
use crate::time::NEVER;
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// A link where a packet's departure is known when it arrives.
pub struct Link<L> {
    pub state: L,
    /// Packets that it marked, and sent.
    pub marked_pkts: u64,
}

/// A packet that arrives at the link of hop `hop`. The link is busy with it for `times.0` ticks; it is `times.1` nanoseconds
/// from its departure to the next hop or the receiver.
#[derive(Clone, Copy)]
pub struct Passing {
    pub hop: u32,
    pub now: u64,
    pub segment: Segment,
    pub times: (u64, u64),
}

impl<L: PathLink> Link<L> {
    pub fn new(state: L) -> Link<L> {
        Link { state, marked_pkts: 0 }
    }

    /// The packet on its way to the next hop; None: dropped or lost.
    #[inline(always)]
    pub fn pass<T: Timing<Link = L>>(
        &mut self,
        timing: &mut T,
        codepoint: Codepoint,
        Passing { hop, now, mut segment, times: (tx_ticks, onward_ns) }: Passing,
    ) -> Option<InTransit<T::Exact>> {
        let crossing = Crossing { now_ns: now, hop, bytes: segment.tag.bytes(), tx_ticks, onward_ns };
        let (at, exact) = timing.cross(&mut self.state, crossing)?;
        if codepoint.is_ect() && self.state.marks(now) {
            segment.tag = self.mark(segment.tag);
        }
        Some(InTransit { at, exact, segment, busy_since: self.state.busy_since_ns(), hop: hop + 1 })
    }

    #[cold]
    fn mark(&mut self, tag: Tag) -> Tag {
        self.marked_pkts += 1;
        tag.with(CONGESTION)
    }
}

/// All shared links of a run.
pub struct Links<T: Timing> {
    /// By place: the link of the scenario, in the order of the routes.
    pub ids: Vec<u32>,
    pub links: Vec<Link<T::Link>>,
    /// By link of the scenario: those whose queue a discipline manages.
    pub managed: BTreeMap<u32, ManagedLink<T::Exact, T::Tick>>,
    numbering: Numbering,
    /// Without knowledge of any connection.
    timing: Option<T>,
}

impl<T: Timing> Links<T> {
    /// `ids`: of the links in the scenario.
    pub fn new(
        scenario: &Scenario,
        ids: Vec<u32>,
        managed: BTreeMap<u32, ManagedLink<T::Exact, T::Tick>>,
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

    /// What `closed_form` and `managed` say of each link of the scenario; nothing is known of those that no packet enters.
    pub fn look_at_each<C: CongestionControl, R: Clone + Default>(
        &mut self,
        shards: &mut [Shard<C, T>],
        closed_form: impl Fn(&mut Link<T::Link>) -> R,
        managed: impl Fn(u32, &ManagedLink<T::Exact, T::Tick>) -> R,
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
            let id = self.ids[place];
            if !self.managed.is_empty()
                && let Some(link) = self.managed.get(&id)
            {
                if arrives || link.next_departure_ns() < until {
                    arrived += self.serve_with(place, shards, threads, from, until, Links::serve_managed);
                }
            } else if let ([shard], true) = (&mut *shards, arrives) {
                arrived += serve_closed_form(&mut self.links[place], place, &mut shard.network, from, until);
            } else if arrives {
                arrived += self.serve_with(place, shards, threads, from, until, Links::pass_closed_form);
            }
        }
        arrived
    }

    /// Has the arrivals at a link sorted by shard, what `decide` says becomes of them in the order of time, and that done by
    /// shard.
    fn serve_with<C: CongestionControl>(
        &mut self,
        place: usize,
        shards: &mut [Shard<C, T>],
        threads: &Threads,
        from: u64,
        until: u64,
        decide: impl FnOnce(&mut Links<T>, usize, Merge<C, T>, &mut [Vec<Departure>], u64),
    ) -> usize {
        threads.for_each(shards, |shard| shard.network.take_arrivals(place, from, until));
        let arrivals: Vec<_> =
            shards.iter_mut().map(|shard| std::mem::take(&mut shard.network.arrivals)).collect();
        let mut departures: Vec<_> =
            shards.iter_mut().map(|shard| std::mem::take(&mut shard.network.departures)).collect();
        decide(self, place, Merge::new(shards, &arrivals), &mut departures, until);
        let arrived = arrivals.iter().map(Arrivals::len).sum();
        for ((shard, arrivals), departures) in shards.iter_mut().zip(arrivals).zip(departures) {
            (shard.network.arrivals, shard.network.departures) = (arrivals, departures);
        }
        let reorders = self.managed.get(&self.ids[place]).is_some_and(ManagedLink::reorders);
        threads.for_each(shards, |shard| shard.network.let_depart(place, until, reorders));
        arrived
    }

    /// A link where a packet's departure is known when it arrives, which connections of several shards cross.
    fn pass_closed_form<C: CongestionControl>(
        &mut self,
        place: usize,
        mut arrivals: Merge<C, T>,
        departures: &mut [Vec<Departure>],
        _: u64,
    ) {
        let timing = self.timing.as_mut().expect("there are several shards");
        let link = &mut self.links[place];
        let mut passed = 0;
        while let Some((shard, packet)) = arrivals.next() {
            let network = arrivals.network(shard);
            passed += 1;
            if passed % PACKETS_PER_LOOK == 0 && network.control.stop.load(Relaxed) {
                return;
            }
            let InTransit { hop, at: now, segment, .. } = *packet;
            let times = network.topology.times(hop, segment.tag.bytes());
            let codepoint = network.topology.hops[hop as usize].codepoint;
            let onward = link.pass(timing, codepoint, Passing { hop, now, segment, times });
            departures[shard].push(match onward {
                Some(InTransit { at, segment, busy_since, .. }) => Departure {
                    hop,
                    marked: segment.tag.has(CONGESTION),
                    segment,
                    busy_since_ns: busy_since,
                    passage: Passage { copies: 1, at_ns: at },
                },
                None => Departure::lost(hop, segment),
            });
        }
    }

    /// A link whose queue a discipline manages: arrivals and departures in the order of time.
    fn serve_managed<C: CongestionControl>(
        &mut self,
        place: usize,
        mut arrivals: Merge<C, T>,
        departures: &mut [Vec<Departure>],
        until: u64,
    ) {
        let numbering = self.numbering;
        let managed = self.managed.get_mut(&self.ids[place]).expect("it was there");
        let mut events = 0;
        loop {
            events += 1;
            if events % PACKETS_PER_LOOK == 0 && arrivals.network(0).control.stop.load(Relaxed) {
                return;
            }
            if let Some((shard, packet)) = arrivals.next_if(|packet| managed.precedes_departure(packet.at)) {
                let hop = &arrivals.network(shard).topology.hops[packet.hop as usize];
                let labelled = InTransit { hop: numbering.id(shard, packet.hop), ..*packet };
                managed.accept(&labelled, numbering.id(shard, hop.flow), hop.codepoint);
            } else if managed.next_departure_ns() < until {
                let departure = managed.depart(|label, bytes| {
                    let topology = &arrivals.network(numbering.shard(label)).topology;
                    topology.times(numbering.local(label), bytes)
                });
                if let Some(departure) = departure {
                    let label = departure.hop;
                    let hop = numbering.local(label);
                    departures[numbering.shard(label)].push(Departure { hop, ..departure });
                }
            } else {
                return;
            }
            if managed.has_dropped() {
                for (label, segment) in managed.take_dropped() {
                    let lost = Departure::lost(numbering.local(label), segment);
                    departures[numbering.shard(label)].push(lost);
                }
            }
        }
    }
}

/// A link where a packet's departure is known when it arrives, which connections of one shard cross.
fn serve_closed_form<T: Timing>(
    link: &mut Link<T::Link>,
    place: usize,
    network: &mut Network<T>,
    from: u64,
    until: u64,
) -> usize {
    network.take_arrivals(place, from, until);
    let arrivals = std::mem::take(&mut network.arrivals);
    for part in arrivals.order.chunks(PACKETS_PER_LOOK) {
        if network.control.stop.load(Relaxed) {
            break;
        }
        for (next, &order) in part.iter().enumerate() {
            if network.has_many_flows() {
                let packet = |ahead: usize| part.get(next + ahead).map(|&order| arrivals.packet(order));
                if let Some(packet) = packet(4 * PACKETS_AHEAD) {
                    prefetch(packet);
                }
                network.prefetch(|ahead| packet(ahead).map(|packet| packet.hop));
            }
            network.cross(link, arrivals.packet(order));
        }
    }
    let arrived = arrivals.len();
    network.arrivals = arrivals;
    network.put_back(place, until);
    arrived
}
