//! What a run shows while it goes on: observations, and the time series of links.

use crate::acks::AckCounts;
use crate::links::Links;
use crate::network::Network;
use crate::path::link::PathLink;
use crate::path::managed::ManagedLink;
use crate::path::timing::Timing;
use crate::path::wire::WireCounts;
use crate::samples::arrivals;
use crate::shard::{Numbering, Shard};
use crate::tcp::packet::Segment;
use crate::time::NEVER;
use crate::topology::DelayOnlyLink;
use crate::traffic::group::Group;
use cwnd_algorithms::CongestionControl;
use cwnd_results::LinkSamples;
use cwnd_scenario::{Samples, Scenario};

/// A run at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub now_ns: u64,
    /// In the order of the scenario.
    pub flows: Vec<FlowObservation>,
    pub links: Vec<LinkObservation>,
}

/// Of a flow with arrivals, the sums over its connections: windows and packets in flight of those that are open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowObservation {
    pub cwnd_pkts: u32,
    pub ssthresh_pkts: u32,
    pub in_flight_pkts: u64,
    /// Smoothed (RFC 6298); 0: no sample yet.
    pub srtt_ns: u64,
    pub sent_pkts: u64,
    /// Packets that have arrived at the receiver, duplicates included.
    pub delivered_pkts: u64,
    /// None: its ACKs cross no links.
    pub acks: Option<AckCounts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkObservation {
    /// The packet being sent included.
    pub queue_pkts: u64,
    /// None: no discipline manages its queue.
    pub wire: Option<WireCounts>,
}

/// Takes the time series of the links at intervals.
pub struct LinkSampler {
    /// None: no samples at intervals.
    pub interval_ns: Option<u64>,
    /// When the next sample is due, or NEVER.
    pub due_ns: u64,
    /// Of each link that has rows: packets lost and marked by the last.
    before: Vec<(u32, (u64, u64))>,
    pub samples: LinkSamples,
}

impl LinkSampler {
    pub fn new(scenario: &Scenario) -> LinkSampler {
        let interval_ns = match scenario.samples {
            Samples::Interval { interval_ns } => Some(interval_ns),
            Samples::Off | Samples::Change => None,
        };
        LinkSampler {
            interval_ns,
            due_ns: interval_ns.map_or(NEVER, |_| 0),
            before: match interval_ns {
                Some(_) => scenario.sampled_links().into_iter().map(|link| (link, (0, 0))).collect(),
                None => Vec::new(),
            },
            samples: LinkSamples::default(),
        }
    }

    /// A sample is due now.
    #[inline(never)]
    pub fn sample<C: CongestionControl, T: Timing>(
        &mut self,
        shards: &mut [Shard<C, T>],
        links: &mut Links<T>,
    ) {
        let looks = look_at_links(shards, links, self.due_ns);
        self.push(|link| looks[link as usize]);
    }

    /// The rows of what is due now; `look` at a link.
    pub fn push(&mut self, look: impl Fn(u32) -> LinkLook) {
        let (now, Some(interval_ns)) = (self.due_ns, self.interval_ns) else { return };
        self.due_ns = now + interval_ns;
        let samples = &mut self.samples;
        for (id, before) in &mut self.before {
            let LinkLook { queue_pkts, wait_ns, lost_pkts, marked_pkts } = look(*id);
            let (lost_before, marked_before) = std::mem::replace(before, (lost_pkts, marked_pkts));
            samples.time_s.push(now as f64 / 1e9);
            samples.link.push(*id);
            samples.queue_pkts.push(queue_pkts as u32);
            samples.queue_ms.push(if wait_ns == NEVER { f64::INFINITY } else { wait_ns as f64 * 1e-6 });
            samples.dropped_pkts.push(lost_pkts - lost_before);
            samples.marked_pkts.push(marked_pkts - marked_before);
        }
    }
}

/// The run of `flows` flows at `now`. All that happens by then has happened.
pub fn observe<C: CongestionControl, T: Timing>(
    now: u64,
    flows: u32,
    groups: &[Group],
    numbering: Numbering,
    shards: &mut [Shard<C, T>],
    links: &mut Links<T>,
) -> Observation {
    let looks = look_at_links(shards, links, now);
    let wire = |id| links.managed.get(&id).map(|link: &ManagedLink<_>| link.wire.counts);
    let links =
        (0..).zip(looks).map(|(id, link)| LinkObservation { queue_pkts: link.queue_pkts, wire: wire(id) });
    let links = links.collect();
    let observed = |id: u32| {
        let Shard { network, flows, .. } = &shards[numbering.shard(id)];
        let flow = &flows[numbering.local(id) as usize];
        let observation = FlowObservation {
            cwnd_pkts: flow.sender.cwnd(),
            ssthresh_pkts: flow.sender.ssthresh(),
            in_flight_pkts: flow.sender.in_flight(),
            srtt_ns: flow.sender.srtt_ns(),
            sent_pkts: flow.sender.sent,
            delivered_pkts: arrivals(flow, network, now),
            acks: flow.first_back_hop.map(|_| network.acks[flow.id as usize].counts),
        };
        (observation, flow.sender.closed)
    };
    let mut all: Vec<FlowObservation> = (0..flows).map(|id| observed(id).0).collect();
    for (shard, Shard { network, flows, udps, .. }) in shards.iter().enumerate() {
        for udp in udps {
            let on_the_way = arrivals(&flows[udp.id as usize], network, now);
            let (sent_pkts, delivered_pkts) = (udp.sent, udp.arrived + on_the_way);
            all[numbering.id(shard, udp.id) as usize] =
                FlowObservation { sent_pkts, delivered_pkts, ..FlowObservation::default() };
        }
    }
    for group in groups {
        let (sent_pkts, delivered_pkts) = (group.totals.all.sent, group.totals.all.received.pkts);
        let mut sum = FlowObservation { sent_pkts, delivered_pkts, ..FlowObservation::default() };
        for &slot in &group.slots {
            let (one, closed) = observed(slot);
            sum.sent_pkts += one.sent_pkts;
            sum.delivered_pkts += one.delivered_pkts;
            if let Some(acks) = one.acks {
                *sum.acks.get_or_insert_default() += acks;
            }
            if !closed {
                sum.cwnd_pkts += one.cwnd_pkts;
                sum.in_flight_pkts += one.in_flight_pkts;
            }
        }
        all[group.id as usize] = sum;
    }
    Observation { now_ns: now, flows: all, links }
}

/// A link at one moment.
#[derive(Clone, Copy, Default)]
pub struct LinkLook {
    /// The packet being sent included.
    pub queue_pkts: u64,
    /// How long a packet that arrives now would wait, or NEVER.
    pub wait_ns: u64,
    /// Dropped or lost so far.
    pub lost_pkts: u64,
    /// Marked and sent so far.
    pub marked_pkts: u64,
}

/// Each link at `now`.
fn look_at_links<C: CongestionControl, T: Timing>(
    shards: &mut [Shard<C, T>],
    links: &mut Links<T>,
    now: u64,
) -> Vec<LinkLook> {
    let mut looks = links.look_at_each(
        shards,
        |link| LinkLook {
            queue_pkts: link.state.held_pkts(now),
            wait_ns: link.state.wait_ns(now),
            lost_pkts: link.state.lost_pkts(now),
            marked_pkts: link.marked_pkts(now),
        },
        |_, managed| LinkLook {
            queue_pkts: managed.held_pkts(now),
            wait_ns: managed.wait_ns(now),
            lost_pkts: managed.lost_pkts(),
            marked_pkts: managed.marked_pkts,
        },
    );
    for Shard { network, .. } in shards {
        for delay_only in &network.topology.delay_only {
            let wait_ns = busy_ns(network, delay_only, now);
            let look = &mut looks[delay_only.link as usize];
            (look.queue_pkts, look.wait_ns) = (u64::from(wait_ns > 0), wait_ns);
        }
    }
    looks
}

/// How long a delay-only link is still busy with the packet that it is sending at `now`; 0: it sends none.
fn busy_ns<T: Timing>(network: &Network<T>, link: &DelayOnlyLink, now: u64) -> u64 {
    let topology = &network.topology;
    let hop = &topology.hops[link.hop as usize];
    let delay_ns = topology.link(link.link).delay_ns;
    let full = topology.delay_only_times(link, hop.bytes);
    // When the link has sent a packet that arrives at `at`, and how long that takes.
    let sending = |at: u64, segment: Segment| {
        let bytes = segment.tag.bytes();
        let times = if bytes == hop.bytes { full } else { topology.delay_only_times(link, bytes) };
        (at.saturating_sub(delay_ns + times.rest_ns), times.tx_ns)
    };
    let busy_ns = |at: u64, segment: Segment| {
        let (sent_at, tx_ns) = sending(at, segment);
        if (sent_at.saturating_sub(tx_ns)..sent_at).contains(&now) { sent_at - now } else { 0 }
    };
    if hop.leads_to_link() {
        let packets = network.inboxes[hop.next as usize].packets();
        let own = packets.filter(|packet| packet.hop == link.hop + 1);
        own.map(|packet| busy_ns(packet.at, packet.segment)).max().unwrap_or(0)
    } else {
        let packets = &network.to_receiver[hop.flow as usize];
        let next = packets.partition_point(|packet| sending(packet.at, packet.segment).0 <= now);
        packets.get(next).map_or(0, |packet| busy_ns(packet.at, packet.segment))
    }
}
