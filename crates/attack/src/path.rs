//! Facts of a path that its runs are measured by.

use cwnd_scenario::{Flow, Link, RateVariation, Scenario};

/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;

/// A retransmission timeout without a sample of the RTT (RFC 6298).
const FIRST_TIMEOUT_S: f64 = 1.0;

/// The path of the first flow over time.
#[derive(Clone, Debug)]
pub struct Path {
    /// Index of its slowest link.
    pub bottleneck: usize,
    /// From which time on, in seconds, the bottleneck has which rate, in bits a second.
    rates: Vec<(f64, f64)>,
    /// From which time on, in seconds, an RTT without queueing takes how long, in seconds; with the wait for a turn where packets
    /// leave together.
    rtts: Vec<(f64, f64)>,
    /// Spans that say nothing of an algorithm, in seconds: in order, and apart. In them the bottleneck delivers nothing although it
    /// has a rate, or the sender waits for a timeout that it has doubled meanwhile.
    dead: Vec<(f64, f64)>,
    /// Packets that the buffer holds.
    pub buffer_pkts: f64,
    /// Datagrams of others.
    datagrams: Vec<Datagrams>,
    /// Bits of a full packet on the wire.
    pub packet_bits: f64,
    /// Share of a full packet that is payload.
    pub payload_share: f64,
    /// Share of the packets that the wire delivers, without bursts of losses.
    pub delivered_share: f64,
    /// How long the buffer takes to drain at the least rate above 0; at most a minute.
    pub drain_s: f64,
    /// Length of a run.
    pub duration_s: f64,
}

/// Datagrams of others, which keep their rate whatever happens.
#[derive(Clone, Copy, Debug)]
struct Datagrams {
    from_s: f64,
    to_s: f64,
    rate_bps: f64,
}

impl Datagrams {
    fn new(flow: &Flow) -> Option<Datagrams> {
        let rate_bps = flow.app_rate_bps.filter(|_| flow.cca.is_udp())? as f64;
        Some(Datagrams { from_s: seconds(flow.start_ns), to_s: seconds(flow.stop_ns), rate_bps })
    }

    fn rate_at(&self, time_s: f64) -> f64 {
        if (self.from_s..self.to_s).contains(&time_s) { self.rate_bps } else { 0.0 }
    }

    /// Bits between two times.
    fn bits(&self, from_s: f64, to_s: f64) -> f64 {
        self.rate_bps * (to_s.min(self.to_s) - from_s.max(self.from_s)).max(0.0)
    }
}

impl Path {
    pub fn new(scenario: &Scenario) -> Path {
        let flow = &scenario.flows[0];
        let bottleneck = bottleneck(scenario, flow);
        let link = &scenario.links[bottleneck];
        let rates = rates(link);
        let others_ns: u64 = (flow.path.iter().chain(&flow.reverse_path))
            .filter(|&&other| other as usize != bottleneck)
            .map(|&other| scenario.links[other as usize].delay_ns)
            .sum();
        let turn_ns = link
            .variation
            .as_ref()
            .and_then(|variation| variation.aggregation)
            .map_or(0, |turns| turns.every_ns);
        let rest_s = (others_ns + flow.return_delay_ns + turn_ns) as f64 / SECOND_NS;
        let steps = link.variation.iter().flat_map(|variation| &variation.delay_steps);
        let mut rtts: Vec<(f64, f64)> =
            steps.map(|step| (seconds(step.from_ns), seconds(step.delay_ns) + rest_s)).collect();
        if rtts.is_empty() {
            rtts.push((0.0, seconds(link.delay_ns) + rest_s));
        }
        let packet_bits = 8.0 * f64::from(flow.packet_bytes());
        let slowest =
            rates.iter().map(|rate| rate.1).filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
        let buffer_bits = match (link.buffer_pkts, link.buffer_bytes) {
            (_, Some(bytes)) => bytes as f64 * 8.0,
            (Some(pkts), None) => f64::from(pkts) * packet_bits,
            (None, None) => f64::INFINITY,
        };
        Path {
            bottleneck,
            rates,
            rtts,
            dead: dead(link),
            buffer_pkts: buffer_bits / packet_bits,
            datagrams: scenario.flows.iter().filter_map(Datagrams::new).collect(),
            packet_bits,
            payload_share: f64::from(flow.payload_bytes) / f64::from(flow.packet_bytes()),
            delivered_share: 1.0 - link.per,
            drain_s: (buffer_bits / slowest).min(60.0),
            duration_s: seconds(scenario.duration_ns),
        }
    }

    /// The rate at a time, in bits a second.
    pub fn rate_at(&self, time_s: f64) -> f64 {
        at(&self.rates, time_s)
    }

    /// The rate at a time less that of the datagrams of others, in bits a second; no less than a twentieth of it.
    pub fn free_rate_at(&self, time_s: f64) -> f64 {
        let rate = self.rate_at(time_s);
        let taken: f64 = self.datagrams.iter().map(|others| others.rate_at(time_s)).sum();
        (rate - taken).max(0.05 * rate)
    }

    /// Returns true if packets get through during all of the time between two times, and have for long enough.
    pub fn carries(&self, from_s: f64, to_s: f64) -> bool {
        let mut rates = self.rates.iter().filter(|rate| from_s < rate.0 && rate.0 < to_s);
        let has_rate = self.rate_at(from_s) > 0.0 && rates.all(|rate| rate.1 > 0.0);
        has_rate && self.dead.iter().all(|dead| dead.1 <= from_s || to_s <= dead.0)
    }

    /// The longest time without a rate, in seconds: packets wait for it whatever the algorithm does.
    pub fn longest_outage_s(&self) -> f64 {
        let ends = self.rates.iter().skip(1).map(|rate| rate.0).chain([self.duration_s]);
        let outages = self.rates.iter().zip(ends).filter(|(rate, _)| rate.1 == 0.0);
        outages.map(|(rate, end_s)| end_s - rate.0).fold(0.0, f64::max)
    }

    /// Packets in flight that a path's falls of the rate leave without room, where no more than a bandwidth-delay product was: what an
    /// RTT at the rate before holds more than one at the rate after, and the buffer does not.
    pub fn stranded_pkts(&self, from_s: f64, to_s: f64) -> f64 {
        let falls = self.rates.windows(2).filter(|step| from_s < step[1].0 && step[1].0 < to_s);
        let stranded = falls.map(|step| {
            let excess = (step[0].1 - step[1].1) * self.rtt_at(step[1].0) / self.packet_bits;
            (excess - self.buffer_pkts).max(0.0)
        });
        stranded.sum()
    }

    /// The RTT without queueing at a time, in seconds.
    pub fn rtt_at(&self, time_s: f64) -> f64 {
        at(&self.rtts, time_s)
    }

    /// The longest RTT without queueing of the run, and the sending of two packets at the least rate, in seconds.
    pub fn rtt_s(&self) -> f64 {
        let longest = self.rtts.iter().map(|rtt| rtt.1).fold(0.0, f64::max);
        let slowest = self.rates.iter().map(|rate| rate.1).filter(|rate| *rate > 0.0);
        longest + 2.0 * self.packet_bits / slowest.fold(f64::INFINITY, f64::min)
    }

    /// The bandwidth-delay product at a time, in packets.
    pub fn bdp_pkts(&self, time_s: f64) -> f64 {
        self.rate_at(time_s) * self.rtt_at(time_s) / self.packet_bits
    }

    /// The time from which on neither rate nor delay changes.
    pub fn settled_s(&self) -> f64 {
        let last = |steps: &[(f64, f64)]| steps.last().map_or(0.0, |step| step.0);
        last(&self.rates).max(last(&self.rtts))
    }

    /// The payload that the path can deliver between two times beside the datagrams of others, in bits.
    pub fn capacity_bits(&self, from_s: f64, to_s: f64) -> f64 {
        let dead = self.dead.iter().map(|dead| self.rate_bits(dead.0.max(from_s), dead.1.min(to_s)));
        let bits = self.rate_bits(from_s, to_s) - dead.sum::<f64>();
        let others: f64 = self.datagrams.iter().map(|others| others.bits(from_s, to_s)).sum();
        (bits - others).max(0.05 * bits) * self.payload_share * self.delivered_share
    }

    /// The time between two times in which a delivery depends on the algorithm, in seconds.
    pub fn counted_s(&self, from_s: f64, to_s: f64) -> f64 {
        let dead = self.dead.iter().map(|dead| (dead.1.min(to_s) - dead.0.max(from_s)).max(0.0));
        (to_s - from_s - dead.sum::<f64>()).max(0.0)
    }

    /// The bits that the rate stands for between two times.
    fn rate_bits(&self, from_s: f64, to_s: f64) -> f64 {
        let ends = self.rates.iter().skip(1).map(|rate| rate.0).chain([f64::INFINITY]);
        let spans = self.rates.iter().zip(ends);
        spans.map(|(&(from, rate), to)| rate * (to.min(to_s) - from.max(from_s)).max(0.0)).sum()
    }
}

fn bottleneck(scenario: &Scenario, flow: &Flow) -> usize {
    let rate = |link: &&u32| rates(&scenario.links[**link as usize])[0].1;
    let slowest = flow.path.iter().min_by(|one, other| rate(one).total_cmp(&rate(other)));
    slowest.map_or(0, |&link| link as usize)
}

fn rates(link: &Link) -> Vec<(f64, f64)> {
    match link.variation.as_ref().and_then(|variation| variation.rate.as_ref()) {
        Some(RateVariation::Steps(steps)) if !steps.is_empty() => {
            steps.iter().map(|step| (seconds(step.from_ns), step.rate_bps as f64)).collect()
        }
        // Of a trace its mean.
        _ => vec![(0.0, link.rate_bps as f64)],
    }
}

/// Spans in which the link sends nothing or its wire loses all, each with as much time again and a second: a retransmission timeout
/// that doubles ends no later, and when it does is a matter of luck. Merged.
fn dead(link: &Link) -> Vec<(f64, f64)> {
    let suspended = link.variation.iter().flat_map(|variation| &variation.suspension_ns);
    let losses = link.impairments.as_ref().and_then(|impairments| impairments.losses.as_ref());
    let mut spans: Vec<[u64; 2]> =
        suspended.chain(losses.iter().flat_map(|losses| &losses.spans_ns)).copied().collect();
    spans.sort_unstable();
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for [from_ns, to_ns] in spans {
        let over_s = seconds(to_ns) + seconds(to_ns - from_ns) + FIRST_TIMEOUT_S;
        match merged.last_mut().filter(|last| seconds(from_ns) <= last.1) {
            Some(last) => last.1 = last.1.max(over_s),
            None => merged.push((seconds(from_ns), over_s)),
        }
    }
    merged
}

fn at(steps: &[(f64, f64)], time_s: f64) -> f64 {
    let next = steps.partition_point(|step| step.0 <= time_s);
    steps[next.max(1) - 1].1
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND_NS
}
