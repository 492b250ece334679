//! Describes a scenario to a person before it runs.

use crate::units::show_time;
use crate::{
    Cca, Clock, End, Flow, GilbertElliott, JitterDistribution, Link, PacketSet, Queue, RateVariation,
    Samples, Scenario, Stack, Traffic,
};
use serde::Serialize;
use std::sync::Arc;

/// A scenario as a person would describe it; equal neighbours share an entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Description {
    /// Name of the scenario.
    pub name: String,
    /// Duration of a run.
    pub duration_s: f64,
    /// Seed of the first repetition.
    pub seed: u64,
    /// Number of repetitions.
    pub repeat: u32,
    /// Time series that are kept.
    pub samples: Samples,
    /// [`Scenario::sample_groups`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sample_groups: Vec<u32>,
    /// How time is kept.
    pub clock: Clock,
    /// When results are taken.
    pub end: End,
    /// Links, equal neighbours together.
    pub links: Vec<LinkGroup>,
    /// Flows, equal neighbours together.
    pub flows: Vec<FlowGroup>,
}

/// Links in a row that differ in their names only.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LinkGroup {
    /// `bottleneck`, or `access-0..3` for the first and the last of several.
    pub name: String,
    /// Number of links in the group.
    pub count: u32,
    /// Rate of each link at the beginning.
    pub rate_bps: u64,
    /// One way.
    pub delay_ms: f64,
    /// None: no limit, as in the next two.
    pub buffer_pkts: Option<u32>,
    /// Instead of packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// Buffer in BDPs of this link's rate and the first flow that crosses it; None also without any delay.
    pub buffer_bdp: Option<f64>,
    /// Delay that a full buffer adds to the RTT of the first flow that crosses this link.
    pub buffer_ms: Option<f64>,
    /// Probability that a packet is lost on the wire.
    pub per: f64,
    /// Queue above which packets of flows with ECN are marked. None: never.
    pub ecn_threshold_pkts: Option<u32>,
    /// Waiting times that decide about marks of flows with ECN: with a probability from the first on, always from the second on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_wait_ns: Option<[u64; 2]>,
    /// None: droptail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// How it varies and impairs, a phrase for each element.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub varies: Vec<String>,
}

/// Flows in a row that differ in start and stop only.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowGroup {
    /// Index of the first in [`Scenario::flows`].
    pub first: u32,
    /// Number of flows in the group.
    pub count: u32,
    /// Algorithm of each flow, with its parameters.
    pub cca: Cca,
    /// Name in tables and figures, if it is not the algorithm's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Start of the first and of the last flow.
    pub start_s: [f64; 2],
    /// Each starts later by a random time below this.
    pub start_jitter_s: f64,
    /// Stop of the first and of the last flow.
    pub stop_s: [f64; 2],
    /// Payload of a full segment.
    pub payload_bytes: u32,
    /// On the wire.
    pub packet_bytes: u32,
    /// Rate of the payload that the application writes. None: all there is at once.
    pub app_rate_bps: Option<u64>,
    /// The application writes for the first of these, pauses for the second, and so on. None: no pauses.
    pub on_off_s: Option<[f64; 2]>,
    /// [`Scenario::rtt_ns`] in milliseconds.
    pub rtt_ms: f64,
    /// The slowest link of the path.
    pub bottleneck: String,
    /// [`Scenario::bdp_pkts`].
    pub bdp_pkts: f64,
    /// [`Scenario::bdp_pkts`] in bytes on the wire.
    pub bdp_bytes: f64,
    /// Packets per second that the slowest link carries without loss or competition.
    pub capacity_pkts_per_s: f64,
    /// Sizes, arrivals and pauses of the data. None: as much as the flow can send, all the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Arc<Traffic>>,
    /// TCP stack of each flow.
    pub stack: Stack,
}

impl Scenario {
    /// Returns true if packets of the flow may arrive in another order than they were sent in.
    pub fn may_reorder(&self, flow: usize) -> bool {
        self.flows[flow].path.iter().any(|&link| self.links[link as usize].may_reorder())
    }

    /// Both ways without queueing: delays, and the sending of one data packet and of one ACK on each link.
    ///
    /// # Panics
    /// Like the other methods here: if there is no such flow.
    pub fn rtt_ns(&self, flow: usize) -> u64 {
        let flow = &self.flows[flow];
        let there: u64 =
            self.path(flow).map(|link| link.delay_ns + link.sending_ns(flow.packet_bytes())).sum();
        there + self.way_back_ns(flow)
    }

    /// The delays of the links to the receiver.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn way_there_ns(&self, flow: usize) -> u64 {
        self.path(&self.flows[flow]).map(|link| link.delay_ns).sum()
    }

    /// The least time that an ACK takes.
    fn way_back_ns(&self, flow: &Flow) -> u64 {
        let back = |link: &u32| {
            let link = &self.links[*link as usize];
            link.delay_ns + link.sending_ns(flow.stack.ack_bytes)
        };
        flow.reverse_path.iter().map(back).sum::<u64>() + flow.return_delay_ns
    }

    /// The least time in which `bytes` of the flow can be delivered and acknowledged: the delays of both ways, and the sending
    /// of all packets on the slowest link.
    pub fn ideal_fct_ns(&self, flow: usize, bytes: u64) -> f64 {
        let (rate_bps, way_there_ns) = (self.bottleneck(flow).rate_bps, self.way_there_ns(flow));
        let flow = &self.flows[flow];
        let delays_ns = way_there_ns + self.way_back_ns(flow);
        let pkts = bytes.div_ceil(flow.payload_bytes.into());
        let wire_bytes = bytes + pkts * u64::from(flow.stack.header_bytes);
        delays_ns as f64 + wire_bytes as f64 * 8e9 / rate_bps as f64
    }

    /// The slowest link of the flow's path; of several, the link named `bottleneck`, else the first.
    pub fn bottleneck(&self, flow: usize) -> &Link {
        let slowest =
            self.path(&self.flows[flow]).min_by_key(|link| (link.rate_bps, link.name != "bottleneck"));
        slowest.expect("a path has links")
    }

    /// Bandwidth-delay product: the slowest link's rate times the delays of both ways, in packets on the wire.
    pub fn bdp_pkts(&self, flow: usize) -> f64 {
        bdp_bytes(self.bottleneck(flow).rate_bps, self.delays_ns(&self.flows[flow]))
            / f64::from(self.flows[flow].packet_bytes())
    }

    /// The scenario for a reader: equal flows and links together, with RTTs, BDPs and capacities.
    pub fn describe(&self) -> Description {
        Description {
            name: self.name.clone(),
            duration_s: seconds(self.duration_ns),
            seed: self.seed,
            repeat: self.repeat,
            samples: self.samples,
            sample_groups: self.sample_groups.clone(),
            clock: self.clock,
            end: self.end,
            links: self.link_groups(),
            flows: self.flow_groups(),
        }
    }

    fn path<'a>(&'a self, flow: &'a Flow) -> impl Iterator<Item = &'a Link> {
        flow.path.iter().map(|i| &self.links[*i as usize])
    }

    fn delays_ns(&self, flow: &Flow) -> u64 {
        let there: u64 = self.path(flow).map(|link| link.delay_ns).sum();
        if flow.reverse_path.is_empty() {
            return 2 * there;
        }
        let back: u64 = flow.reverse_path.iter().map(|&link| self.links[link as usize].delay_ns).sum();
        there + back + flow.return_delay_ns
    }

    /// The first flow that sends data over `link`, or the first of all. A queue that counts bytes takes packets for full ones of
    /// this flow.
    pub fn first_flow_at(&self, link: u32) -> &Flow {
        self.flows.iter().find(|flow| flow.path.contains(&link)).unwrap_or(&self.flows[0])
    }

    fn link_groups(&self) -> Vec<LinkGroup> {
        let mut crossed_by: Vec<Option<&Flow>> = vec![None; self.links.len()];
        for flow in &self.flows {
            for link in flow.path.iter().chain(&flow.reverse_path) {
                crossed_by[*link as usize].get_or_insert(flow);
            }
        }
        let links: Vec<(&Link, LinkGroup)> = self
            .links
            .iter()
            .zip(crossed_by)
            .map(|(link, flow)| (link, self.link_group(link, flow)))
            .collect();
        let alike = |a: &(&Link, LinkGroup), b: &(&Link, LinkGroup)| {
            stem(&a.0.name) == stem(&b.0.name)
                && (&a.0.variation, &a.0.impairments) == (&b.0.variation, &b.0.impairments)
                && LinkGroup { name: a.1.name.clone(), ..b.1.clone() } == a.1
        };
        links
            .chunk_by(alike)
            .map(|run| {
                let (first, last) = (&run[0].1, &run[run.len() - 1].1);
                let name = match last.name.rsplit_once('-') {
                    Some((_, number)) if run.len() > 1 => format!("{}..{number}", first.name),
                    _ => first.name.clone(),
                };
                LinkGroup { name, count: run.len() as u32, ..first.clone() }
            })
            .collect()
    }

    fn link_group(&self, link: &Link, flow: Option<&Flow>) -> LinkGroup {
        // Of the first such flow's packets.
        let in_pkts = |flow: &Flow| {
            let bytes = link.buffer_bytes.map(|bytes| bytes as f64 / f64::from(flow.packet_bytes()));
            link.buffer_pkts.map(f64::from).or(bytes)
        };
        let of = |unit: &dyn Fn(&Flow) -> f64| {
            let parts = in_pkts(flow?)? / unit(flow?);
            parts.is_finite().then_some(parts)
        };
        let bdp_pkts =
            |flow: &Flow| bdp_bytes(link.rate_bps, self.delays_ns(flow)) / f64::from(flow.packet_bytes());
        let pkts_per_ms = |flow: &Flow| pkts_per_s(link, flow) / 1e3;
        LinkGroup {
            name: link.name.clone(),
            count: 1,
            rate_bps: link.rate_bps,
            delay_ms: link.delay_ns as f64 / 1e6,
            buffer_pkts: link.buffer_pkts,
            buffer_bytes: link.buffer_bytes,
            buffer_bdp: of(&bdp_pkts),
            buffer_ms: of(&pkts_per_ms),
            per: link.per,
            ecn_threshold_pkts: link.ecn_threshold_pkts,
            ecn_wait_ns: link.ecn_wait_ns,
            queue: link.queue.clone(),
            varies: varies(link),
        }
    }

    fn flow_groups(&self) -> Vec<FlowGroup> {
        let flows: Vec<usize> = (0..self.flows.len()).collect();
        let shape = |flow| self.path(flow).map(|link| (link.rate_bps, link.delay_ns));
        let alike = |a: &usize, b: &usize| {
            let (a, b) = (&self.flows[*a], &self.flows[*b]);
            a.cca == b.cca
                && a.label == b.label
                && a.stack == b.stack
                && a.payload_bytes == b.payload_bytes
                && a.start_jitter_ns == b.start_jitter_ns
                && a.app_rate_bps == b.app_rate_bps
                && a.on_off_ns == b.on_off_ns
                && a.traffic == b.traffic
                && a.return_delay_ns == b.return_delay_ns
                && a.reverse_path == b.reverse_path
                && shape(a).eq(shape(b))
        };
        flows.chunk_by(alike).map(|run| self.flow_group(run[0], run[run.len() - 1])).collect()
    }

    fn flow_group(&self, first: usize, last: usize) -> FlowGroup {
        let (flow, end) = (&self.flows[first], &self.flows[last]);
        let bottleneck = self.bottleneck(first);
        FlowGroup {
            first: first as u32,
            count: (last - first + 1) as u32,
            cca: (*flow.cca).clone(),
            label: flow.label.clone(),
            start_s: [seconds(flow.start_ns), seconds(end.start_ns)],
            start_jitter_s: seconds(flow.start_jitter_ns),
            stop_s: [seconds(flow.stop_ns), seconds(end.stop_ns)],
            payload_bytes: flow.payload_bytes,
            packet_bytes: flow.packet_bytes(),
            app_rate_bps: flow.app_rate_bps,
            on_off_s: flow.on_off_ns.map(|(on, off)| [seconds(on), seconds(off)]),
            rtt_ms: self.rtt_ns(first) as f64 / 1e6,
            bottleneck: bottleneck.name.clone(),
            bdp_pkts: self.bdp_pkts(first),
            bdp_bytes: bdp_bytes(bottleneck.rate_bps, self.delays_ns(flow)),
            capacity_pkts_per_s: pkts_per_s(bottleneck, flow),
            traffic: flow.traffic.clone(),
            stack: (*flow.stack).clone(),
        }
    }
}

/// Bytes that fill a path of `rate_bps` for `rtt_ns`.
pub fn bdp_bytes(rate_bps: u64, rtt_ns: u64) -> f64 {
    rate_bps as f64 * rtt_ns as f64 / 8e9
}

/// How a link varies and impairs, a phrase for each element.
fn varies(link: &Link) -> Vec<String> {
    let variation = link.variation.as_deref().cloned().unwrap_or_default();
    let impairments = link.impairments.as_deref().cloned().unwrap_or_default();
    let share = |what: &str, share: f64| (share > 0.0).then(|| format!("{what} with probability {share}"));
    let rate = variation.rate.map(|rate| match rate {
        RateVariation::Steps(steps) => format!("rate in steps: {}", steps.len()),
        RateVariation::Trace(trace) => {
            let (count, bytes) = (trace.opportunities_ms.len(), trace.opportunity_bytes);
            format!("rate by a trace: {count} opportunities of {bytes} bytes")
        }
    });
    let delay_steps = variation.delay_steps.len();
    let delay = (delay_steps > 0).then(|| format!("delay in steps: {delay_steps}"));
    let suspension = (!variation.suspension_ns.is_empty()).then(|| {
        let total_ns = variation.suspension_ns.iter().map(|[from, until]| until - from).sum();
        format!("suspensions: {}, {} in all", variation.suspension_ns.len(), show_time(total_ns))
    });
    let aggregation = variation.aggregation.map(|turns| {
        format!("at most {} packets together every {}", turns.most_pkts, show_time(turns.every_ns))
    });
    let policer = variation.policer.map(|policer| {
        let action = if policer.mark { "marks" } else { "drops" };
        format!("policer of {} bps that {action}, burst {} bytes", policer.rate_bps, policer.burst_bytes)
    });
    let bursts = impairments.gilbert_elliott.map(|GilbertElliott { p, r, good, bad }| {
        format!("Gilbert-Elliott losses: p {p}, r {r}, good {good}, bad {bad}")
    });
    let jitter = impairments.jitter.map(|jitter| {
        let order = if jitter.reorder { "out of order" } else { "in order" };
        match jitter.distribution {
            JitterDistribution::Normal { std_ns } => {
                format!("normal jitter of {} {order}", show_time(std_ns))
            }
            JitterDistribution::Uniform { half_width_ns } => {
                format!("uniform jitter of ±{} {order}", show_time(half_width_ns))
            }
        }
    });
    let shares = [share("reordering", impairments.reorder), share("duplication", impairments.duplicate)];
    let given = [("losses", impairments.losses), ("marks", impairments.marks)];
    let given = given.map(|(what, set)| set.map(|set| format!("{what} of {}", show_set(&set))));
    [rate, suspension, aggregation, delay, policer, bursts, jitter]
        .into_iter()
        .chain(shares)
        .chain(given)
        .flatten()
        .collect()
}

/// The first few packets and spans of a set.
fn show_set(set: &PacketSet) -> String {
    const SHOWN: usize = 5;
    let numbers = set.numbers.iter().map(|[first, last]| match last - first {
        0 => format!("packet {first}"),
        _ => format!("packets {first} to {last}"),
    });
    let spans = set
        .spans_ns
        .iter()
        .map(|[from, until]| format!("packets from {} to {}", show_time(*from), show_time(*until)));
    let mut all: Vec<String> = numbers.chain(spans).collect();
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}

fn pkts_per_s(link: &Link, flow: &Flow) -> f64 {
    link.rate_bps as f64 / 8.0 / f64::from(flow.packet_bytes())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A link's name without its number.
fn stem(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(stem, _)| stem)
}
