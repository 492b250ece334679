//! The routes of the flows: where their packets may wait, and what only delays them.

use crate::fast::link::reverse::ReversePath;
use crate::net::link::fineness::{count_users, finer_links};
use crate::net::link::queue::discipline::{Codepoint, codepoint};
use crate::time::{Fraction, Tick};
use cwnd_scenario::receive_memory::ReceiveWindow;
use cwnd_scenario::{Flow, Link, Scenario};
use std::marker::PhantomData;
use std::sync::Arc;

/// The routes of some connections as hops. A scenario lists its links in such an order that each route visits them in it.
pub struct Topology<'a, T> {
    scenario: &'a Scenario,
    facts: Arc<LinkFacts>,
    /// Connection by connection, in the order of the route.
    pub hops: Vec<Hop>,
    /// The links that a connection's packets enter without an inbox: it alone crosses them.
    pub own_links: Vec<u32>,
    /// The links that packets of any connection of the run come to through an inbox.
    pub shared_links: usize,
    /// By link: its place among them, in the order of the routes.
    shared_places: Arc<[u32]>,
    /// In the order of the hops that they follow.
    pub delay_only: Vec<DelayOnlyLink>,
    tick: PhantomData<T>,
}

/// Facts about each link that routes depend on.
pub struct LinkFacts {
    /// True if nanoseconds are too coarse for it.
    finer: Vec<bool>,
    /// How many flows cross it.
    users: Vec<u32>,
    /// True if a discipline manages its queue, so that all packets come through its inbox.
    managed: Vec<bool>,
}

impl LinkFacts {
    pub fn new(scenario: &Scenario, is_managed: impl Fn(u32) -> bool) -> LinkFacts {
        LinkFacts {
            finer: finer_links(scenario),
            users: count_users(scenario),
            managed: (0..scenario.links.len() as u32).map(is_managed).collect(),
        }
    }

    /// By link: its place among the `shared` ones, or [`NO_LINK`].
    pub fn places(&self, shared: &[u32]) -> Arc<[u32]> {
        let mut places = vec![NO_LINK; self.users.len()];
        for (place, &link) in (0..).zip(shared) {
            places[link as usize] = place;
        }
        places.into()
    }
}

/// The hops of a connection.
#[derive(Clone, Copy)]
pub struct Route {
    pub first_hop: u32,
    /// First hop of the way back, if ACKs cross links.
    pub first_back_hop: Option<u32>,
    /// True if packets may arrive in another order than they were sent in.
    pub reordered: bool,
    /// Both ways without queueing.
    pub rtt_ns: u64,
    pub receive_window: ReceiveWindow,
}

/// One link of a flow's route where packets may wait.
#[repr(align(64))] // a cache line
pub struct Hop {
    pub link: u32,
    /// The connection, by its number in the shard.
    pub flow: u32,
    /// Its place among the connections' own links, or, if packets come through an inbox, among the shared ones.
    pub place: u32,
    /// The link of the next hop: its number in the scenario, from [`Topology::place_links`] on its place among the shared ones;
    /// or [`RECEIVER`] or [`SENDER`].
    pub next: u32,
    /// Most packets have this size, and all ACKs. The times below are theirs.
    pub bytes: u32,
    /// True if this is the flow's first hop and its packets wait in the link's inbox.
    pub through_inbox: bool,
    pub codepoint: Codepoint,
    /// ACKs cross it, on their way back to the sender.
    pub back: bool,
    /// How long the link is busy with a packet.
    pub tx_ticks: u64,
    /// From the departure to the arrival at the next hop or the receiver.
    pub onward_ns: u64,
    /// From the arrival at the receiver to its effect at the sender: the way back.
    pub after_ns: u64,
    /// Packets that the link dropped or lost.
    pub lost: u64,
    /// Packets that the link accepted and will deliver.
    pub passed: u64,
}

/// In place of a link: it is not known yet.
const NO_LINK: u32 = u32::MAX;
/// Behind the last hop.
pub const RECEIVER: u32 = u32::MAX;
/// Behind the last hop of the way back.
pub const SENDER: u32 = u32::MAX - 1;

impl Hop {
    /// Returns true if another hop follows.
    #[inline(always)]
    pub fn leads_to_link(&self) -> bool {
        self.next < SENDER
    }
}

/// A link that only one flow crosses, behind one that is so much slower that packets come at least as far apart as it takes to
/// send them: none ever waits or is dropped, and the link is a fixed delay. For packets of one size that is a link that is no
/// faster. A smaller one follows a full one sooner.
pub struct DelayOnlyLink {
    pub link: u32,
    /// The hop that it follows.
    pub hop: u32,
}

/// A packet on a delay-only link.
#[derive(Clone, Copy)]
pub struct DelayOnlyTimes {
    pub tx_ns: u64,
    pub tx_ticks: u64,
    /// From the far end of this link to the next hop or the receiver.
    pub rest_ns: u64,
}

impl<'a, T: Tick> Topology<'a, T> {
    /// Creates the topology of one connection of each of `flows`. [`Topology::place_links`] follows.
    ///
    /// # Panics
    ///
    /// If a route visits links in another order than the scenario lists them in: a scenario that was checked has none.
    pub fn new(
        scenario: &'a Scenario,
        flows: impl Iterator<Item = u32> + Clone,
        facts: Arc<LinkFacts>,
    ) -> Topology<'a, T> {
        let mut topology = Topology {
            scenario,
            facts,
            hops: Vec::new(),
            own_links: Vec::new(),
            shared_links: 0,
            shared_places: Arc::from([]),
            delay_only: Vec::new(),
            tick: PhantomData,
        };
        let most_hops = |flow: u32| {
            let Flow { path, reverse_path, .. } = &scenario.flows[flow as usize];
            path.len() + reverse_path.len()
        };
        topology.hops.reserve(flows.clone().map(most_hops).sum());
        for (id, flow) in (0..).zip(flows) {
            topology.add_hops(id, flow);
        }
        topology.hops.shrink_to_fit();
        topology
    }

    /// The links that packets come to through an inbox.
    pub fn links_with_inbox(&self) -> impl Iterator<Item = u32> {
        let first = self.hops.iter().filter(|hop| hop.through_inbox).map(|hop| hop.link);
        first.chain(self.hops.iter().filter(|hop| hop.leads_to_link()).map(|hop| hop.next))
    }

    /// The places of the shared links behind which packets come to another link. After [`Topology::place_links`].
    pub fn leading_on(&self) -> impl Iterator<Item = u32> {
        let leads_on = |(index, hop): &(usize, &Hop)| {
            hop.leads_to_link() && (hop.through_inbox || self.comes_from_link(*index))
        };
        self.hops.iter().enumerate().filter(leads_on).map(|(_, hop)| hop.place)
    }

    /// Returns true if packets come to the hop at `index` from another of their route.
    fn comes_from_link(&self, index: usize) -> bool {
        index > 0 && self.hops[index - 1].leads_to_link()
    }

    /// Packets of the run's connections enter `count` links through an inbox. `places`: by link, its place among these.
    pub fn place_links(&mut self, count: usize, places: Arc<[u32]>) {
        (self.shared_links, self.shared_places) = (count, places);
        self.place_links_of_hops(0);
    }

    /// Places the links of the hops from index `first` on.
    fn place_links_of_hops(&mut self, first: usize) {
        let mut comes_from_link = false;
        for hop in &mut self.hops[first..] {
            if comes_from_link || hop.through_inbox {
                hop.place = self.shared_places[hop.link as usize];
            } else {
                hop.place = self.own_links.len() as u32;
                self.own_links.push(hop.link);
            }
            comes_from_link = hop.leads_to_link();
            if comes_from_link {
                hop.next = self.shared_places[hop.next as usize];
            }
        }
    }

    /// One more connection of `flow`.
    pub fn add_route(&mut self, id: u32, flow: u32) {
        let first = self.hops.len();
        self.add_hops(id, flow);
        self.place_links_of_hops(first);
    }

    /// The links of a flow's route where its packets may wait become hops, of connection `id`. They have no places yet.
    fn add_hops(&mut self, id: u32, flow: u32) {
        let reorders = self.scenario.may_reorder(flow as usize);
        let flow = &self.scenario.flows[flow as usize];
        assert!(
            flow.path.is_sorted_by(|before, after| before < after),
            "links are in the order of the routes"
        );
        let first_hop = self.hops.len();
        // A SYN is the first, unless others overtake it.
        let syn_bytes = if reorders { flow.stack.ack_bytes } else { u32::MAX };
        let smallest_bytes = flow.smallest_packet_bytes().min(syn_bytes);
        // From a packet that the hop before sends to the next, both full, or one of the smallest behind a full one.
        let (mut apart_ns, mut smallest_apart_ns) = (0, 0);
        for (place, &index) in flow.path.iter().enumerate() {
            let link = &self.scenario.links[index as usize];
            let sizes = [flow.packet_bytes(), flow.stack.ack_bytes, smallest_bytes];
            let ticks = sizes.map(|bytes| self.tx_ticks(index, bytes));
            let [tx_ns, syn_tx_ns, smallest_tx_ns] = ticks.map(T::ns_after);
            // A packet may come as the one before it is leaving: then two are there.
            let holds_two = link.buffer_pkts.is_none_or(|pkts| pkts >= 2)
                && link.ecn_threshold_pkts.is_none_or(|pkts| pkts >= 2);
            let alone = self.facts.users[index as usize] == 1;
            // What follows a larger SYN may wait for it, and a smaller packet for the full one before it.
            let no_slower = tx_ns <= apart_ns && syn_tx_ns <= tx_ns && tx_ns <= smallest_apart_ns;
            let managed = self.facts.managed[index as usize];
            // Where packets of others may arrive at the same instant, their order depends on the link before.
            let leads_to_others =
                || flow.path[place + 1..].iter().any(|&link| self.facts.users[link as usize] != 1);
            let only_delays =
                alone && link.per == 0.0 && no_slower && holds_two && !managed && !leads_to_others();
            let before = self.hops.len() as u32;
            if let Some(hop) = self.hops[first_hop..].last_mut() {
                if only_delays {
                    // A smaller packet comes nearer to the full one before it.
                    smallest_apart_ns -= tx_ns - smallest_tx_ns;
                    hop.onward_ns += tx_ns + link.delay_ns;
                    self.delay_only.push(DelayOnlyLink { link: index, hop: before - 1 });
                    continue;
                }
                hop.next = index;
            }
            self.hops.push(Hop {
                link: index,
                flow: id,
                place: NO_LINK,
                next: RECEIVER,
                bytes: flow.packet_bytes(),
                through_inbox: self.hops.len() == first_hop && (!alone || managed),
                codepoint: codepoint(flow),
                back: false,
                tx_ticks: ticks[0],
                onward_ns: link.delay_ns,
                after_ns: 0,
                lost: 0,
                passed: 0,
            });
            let steady = link.variation.is_none() && link.impairments.is_none();
            [apart_ns, _, smallest_apart_ns] =
                if steady { ticks.map(|ticks| ticks / T::count(1)) } else { [0; 3] };
        }
        if let Some(last) = self.hops.last_mut() {
            last.after_ns = ReversePath::new(flow).least_ns();
        }
        self.add_way_back(id, flow);
    }

    /// The links that a flow's ACKs cross become hops. None of them only delays: ACKs come in bursts.
    fn add_way_back(&mut self, id: u32, flow: &Flow) {
        assert!(
            flow.reverse_path.is_sorted_by(|before, after| before < after),
            "links are in the order of the routes"
        );
        let first_hop = self.hops.len();
        for (place, &link) in flow.reverse_path.iter().enumerate() {
            let bytes = flow.stack.ack_bytes;
            let last = place + 1 == flow.reverse_path.len();
            let alone = self.facts.users[link as usize] == 1;
            self.hops.push(Hop {
                link,
                flow: id,
                place: NO_LINK,
                next: flow.reverse_path.get(place + 1).copied().unwrap_or(SENDER),
                bytes,
                through_inbox: self.hops.len() == first_hop && (!alone || self.facts.managed[link as usize]),
                codepoint: Codepoint::NotEct,
                back: true,
                tx_ticks: self.tx_ticks(link, bytes),
                onward_ns: self.link(link).delay_ns + if last { flow.return_delay_ns } else { 0 },
                after_ns: 0,
                lost: 0,
                passed: 0,
            });
        }
    }

    /// Data packets that were dropped or lost at the hops of the connection that begins at `first_hop`.
    pub fn lost_pkts(&self, first_hop: u32) -> u64 {
        let hops = &self.hops[first_hop as usize..];
        let there = hops.iter().take_while(|hop| hop.flow == hops[0].flow && !hop.back);
        there.map(|hop| hop.lost).sum()
    }

    /// Returns the route of connection `id` of a flow of the scenario.
    pub fn route(&self, id: u32, flow: u32) -> Route {
        let first_hop = self.hops.partition_point(|hop| hop.flow < id) as u32;
        let mut hops = self.hops[first_hop as usize..].iter().take_while(|hop| hop.flow == id);
        let back = hops.clone().position(|hop| hop.back);
        Route {
            first_hop,
            first_back_hop: back.map(|place| first_hop + place as u32),
            reordered: hops.any(|hop| !hop.back && self.link(hop.link).may_reorder()),
            rtt_ns: self.scenario.rtt_ns(flow as usize),
            receive_window: self.scenario.receive_window(flow as usize),
        }
    }

    /// How long `link` is busy with a packet of some bytes. It is calculated when it differs from that of the packet before.
    pub fn tx_ticks_at(&self, link: u32) -> impl FnMut(u32) -> u64 + use<'a, T> {
        let (finer, link) = (self.facts.finer[link as usize], &self.scenario.links[link as usize]);
        let (mut known_bytes, mut ticks) = (0, 0);
        move |bytes| {
            if bytes != known_bytes {
                let calculate = || T::count(link.sending_ns(bytes));
                ticks = if finer { Fraction::sending_ticks(link, bytes) } else { calculate() };
                known_bytes = bytes;
            }
            ticks
        }
    }

    fn tx_ticks(&self, link: u32, bytes: u32) -> u64 {
        self.tx_ticks_at(link)(bytes)
    }

    fn tx_ns(&self, link: u32, bytes: u32) -> u64 {
        T::ns_after(self.tx_ticks(link, bytes))
    }

    /// `tx_ticks` and `onward_ns` of a packet of `bytes` at this hop.
    #[inline(always)]
    pub fn times(&self, hop: u32, bytes: u32) -> (u64, u64) {
        let known = &self.hops[hop as usize];
        if bytes == known.bytes { (known.tx_ticks, known.onward_ns) } else { self.other_times(hop, bytes) }
    }

    /// From the far end of the link of `hop` to the next hop or the receiver, for a packet of `bytes`.
    #[inline(always)]
    pub fn behind_ns(&self, hop: u32, bytes: u32) -> u64 {
        self.times(hop, bytes).1 - self.link(self.hops[hop as usize].link).delay_ns
    }

    #[cold]
    fn other_times(&self, hop: u32, bytes: u32) -> (u64, u64) {
        let known = &self.hops[hop as usize];
        let through_ns = |bytes| self.through_ns(hop, bytes, |_| true);
        let onward_ns = known.onward_ns - through_ns(known.bytes) + through_ns(bytes);
        (self.tx_ticks(known.link, bytes), onward_ns)
    }

    /// How long those delay-only links behind `hop` take for which `wanted` holds.
    fn through_ns(&self, hop: u32, bytes: u32, wanted: impl Fn(&DelayOnlyLink) -> bool) -> u64 {
        let links = self.delay_only_links(hop).iter().filter(|behind| wanted(behind));
        links.map(|&DelayOnlyLink { link, .. }| self.tx_ns(link, bytes) + self.link(link).delay_ns).sum()
    }

    /// The delay-only links between `hop` and the next, in the order of the route.
    pub fn delay_only_links(&self, hop: u32) -> &[DelayOnlyLink] {
        let first = self.delay_only.partition_point(|link| link.hop < hop);
        let count = self.delay_only[first..].iter().take_while(|link| link.hop == hop).count();
        &self.delay_only[first..first + count]
    }

    /// A packet of `bytes` on a delay-only link.
    pub fn delay_only_times(&self, on: &DelayOnlyLink, bytes: u32) -> DelayOnlyTimes {
        DelayOnlyTimes {
            tx_ns: self.tx_ns(on.link, bytes),
            tx_ticks: self.tx_ticks(on.link, bytes),
            rest_ns: self.through_ns(on.hop, bytes, |behind| behind.link > on.link),
        }
    }

    /// Those of the scenario.
    pub fn links(&self) -> &'a [Link] {
        &self.scenario.links
    }

    pub fn link(&self, link: u32) -> &'a Link {
        &self.scenario.links[link as usize]
    }

    /// Unmarks, by place, the shared links where packets of a route enter, or from which they go on to another link. The marked
    /// ones that are left end every route over them, behind another link. After [`Topology::place_links`].
    pub fn unmark_others_than_last(&self, last: &mut [bool]) {
        for (index, hop) in self.hops.iter().enumerate() {
            let comes_from_link = self.comes_from_link(index);
            if (comes_from_link || hop.through_inbox) && (hop.leads_to_link() || !comes_from_link) {
                last[hop.place as usize] = false;
            }
        }
    }

    /// The shortest time, over all flows and both ways, from a packet's arrival at its last hop to an event at one of its
    /// ends: the least that the elements of a route promise. Where the last hop is over a link with a mark in `last`, which is by
    /// place: from the arrival at the hop before to that at the last. `flow_of` gives the flow of a connection; `slack_ns`, by how
    /// much a route of this many links may be early, by rounding.
    pub fn lookahead_ns(
        &self,
        last: &[bool],
        flow_of: impl Fn(u32) -> &'a Flow,
        slack_ns: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let through_ns = |index: usize| {
            let hop = &self.hops[index];
            let flow = flow_of(hop.flow);
            let smallest = hop.bytes.min(flow.stack.ack_bytes);
            let onward_ns = hop.onward_ns.min(self.times(index as u32, smallest).1);
            let link = self.link(hop.link);
            let link_ns = link.least_sending_ns(smallest) + link.least_delay_ns();
            let ns = link_ns + onward_ns - link.delay_ns + hop.after_ns;
            ns.saturating_sub(slack_ns(flow.path.len() as u64))
        };
        let last_hops = self.hops.iter().enumerate().filter(|(_, hop)| !hop.leads_to_link());
        let before = |index: usize| {
            index - usize::from(self.comes_from_link(index) && last[self.hops[index].place as usize])
        };
        last_hops.map(|(index, _)| through_ns(before(index))).min()
    }
}
