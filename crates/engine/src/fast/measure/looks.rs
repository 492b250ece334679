//! Looks at a run's shards and links while it goes on, for observations and for time series.

use crate::fast::ends::connection::Connection;
use crate::fast::link::fifo::PathLink;
use crate::fast::link::timing::Timing;
use crate::fast::network::Network;
use crate::fast::shard::{Numbering, Shard};
use crate::fast::shared::links::Links;
use crate::fast::topology::DelayOnlyLink;
use crate::net::endpoints::Endpoints;
use crate::net::group::Group;
use crate::net::link::managed::ManagedLink;
use crate::net::measure::counts::Counts;
use crate::net::measure::observe::{FlowObservation, LinkLook, LinkObservation, LinkSampler, Observation};
use crate::net::measure::samples::{FlowLook, FlowSampler};
use crate::tcp::packet::{CONGESTION, Segment};
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::Handshake;

/// A sample of the flows is due at `now`.
#[inline(never)]
pub fn sample_flows<C: CongestionControl, T: Timing>(
    sampler: &mut FlowSampler,
    now: u64,
    flows: &mut [Option<Connection<C>>],
    network: &Network<T>,
) {
    for (id, flow) in flows.iter_mut().enumerate().take(sampler.len()) {
        if let Some(flow) = flow
            && sampler.has_row(flow.sender.flow)
            && let Some(look) = FlowLook::new(now, &mut flow.sender)
        {
            let (bytes, marked) = (arrived_bytes(flow, network, now), marked(flow, network, now));
            sampler.sample_flow(now, id, look, bytes, marked);
        }
    }
}

/// A sample of the links is due.
#[inline(never)]
pub fn sample_links<C: CongestionControl, T: Timing>(
    sampler: &mut LinkSampler,
    shards: &mut [Shard<C, T>],
    links: &mut Links<T>,
) {
    let looks = look_at_links(shards, links, sampler.due_ns);
    sampler.push(|link| looks[link as usize]);
}

/// Packets that have arrived at the receiver of connection `id` by `now` and that it has yet to count.
fn uncounted<T: Timing>(id: u32, network: &Network<T>, now: u64) -> u64 {
    network.to_receiver[id as usize].partition_point(|packet| packet.at <= now) as u64
}

/// Bytes of packets that have arrived in the same way while the flow lasts.
fn arrived_bytes<C: CongestionControl, T: Timing>(
    flow: &Connection<C>,
    network: &Network<T>,
    now: u64,
) -> u64 {
    let has_one_size = flow.sender.source.is_none() && flow.sender.flow.stack.handshake == Handshake::Off;
    if has_one_size {
        let arrived = flow.receiver.arrived() + uncounted(flow.id, network, now);
        return arrived * u64::from(flow.sender.flow.packet_bytes());
    }
    // Nothing counts once a transfer has finished.
    let finished_ns = flow.sender.source.as_ref().and_then(|source| source.finished_ns);
    let until = finished_ns.map_or(now, |finished_ns| finished_ns.min(now));
    let packets = network.to_receiver[flow.id as usize].iter().take_while(|packet| packet.at <= until);
    flow.received().bytes + packets.map(|packet| u64::from(packet.segment.tag.bytes())).sum::<u64>()
}

/// Marked packets that have arrived at a flow's receiver by `now`: none without ECN.
fn marked<C: CongestionControl, T: Timing>(flow: &Connection<C>, network: &Network<T>, now: u64) -> u64 {
    if !flow.sender.flow.stack.ecn.is_on() {
        return 0;
    }
    let packets = network.to_receiver[flow.id as usize].iter().take_while(|packet| packet.at <= now);
    let marked = packets.filter(|packet| packet.segment.tag.has(CONGESTION)).count() as u64;
    flow.receiver.marked_pkts() + marked
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
        let (Shard { network, flows, udps, .. }, local) = (&shards[numbering.shard(id)], numbering.local(id));
        if let Some(udp) = udps.get(&local) {
            let Counts { sent: sent_pkts, received, .. } = udp.ends.counts();
            let delivered_pkts = received.pkts + uncounted(local, network, now);
            return (FlowObservation { sent_pkts, delivered_pkts, ..FlowObservation::default() }, true);
        }
        let route = network.topology.route(local, network.ranks[local as usize].0);
        let acks = route.first_back_hop.map(|_| network.acks[local as usize].counts);
        let Some(flow) = &flows[local as usize] else {
            return (FlowObservation { acks, ..FlowObservation::default() }, false);
        };
        let observation = FlowObservation {
            cwnd_pkts: flow.sender.cwnd(),
            ssthresh_pkts: flow.sender.ssthresh(),
            in_flight_pkts: flow.sender.in_flight(),
            srtt_ns: flow.sender.srtt_ns(),
            sent_pkts: flow.sender.sent,
            delivered_pkts: flow.receiver.arrived() + uncounted(local, network, now),
            acks,
        };
        (observation, !flow.sender.closed)
    };
    let mut all: Vec<FlowObservation> = (0..flows).map(|id| observed(id).0).collect();
    for group in groups {
        let connections = group.slots.iter().map(|slot| observed(*slot));
        all[group.id as usize] = FlowObservation::of_many(group.totals.all, connections);
    }
    Observation { now_ns: now, flows: all, links }
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
        |_, managed| LinkLook::new(managed, now),
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
