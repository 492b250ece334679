//! The time series of flows, or of groups of them.

use crate::connection::Connection;
use crate::network::Network;
use crate::path::timing::Timing;
use crate::tcp::packet::CONGESTION;
use crate::tcp::sender::Sender;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowRow, FlowSamples, GroupSamples, GroupSum};
use cwnd_scenario::{Samples, Scenario};

/// Takes the time series of flows.
pub struct FlowSampler {
    pub by_change: bool,
    /// By flow, if there are to be samples.
    sampled: Vec<Sampled>,
    pub samples: FlowSamples,
    /// By group, if samples are: the flows at the time of the last sample.
    sums: Vec<GroupSum>,
}

/// A flow as it was when it was sampled last.
#[derive(Clone, Default)]
struct Sampled {
    /// Its number in the scenario, or that of its group if samples are by group.
    series: u32,
    arrivals: u64,
    marked: u64,
    /// 0: not yet.
    at_ns: u64,
    /// The window in its last row, when samples are by change.
    window: (u32, u32),
    stopped: bool,
}

impl FlowSampler {
    /// `flows`: those of the scenario, by their numbers there.
    pub fn new(scenario: &Scenario, flows: impl Iterator<Item = u32>) -> FlowSampler {
        let Scenario { samples, sample_groups, .. } = scenario;
        let mut sampler = FlowSampler {
            by_change: *samples == Samples::Change,
            sampled: Vec::new(),
            samples: FlowSamples::default(),
            sums: vec![GroupSum::default(); sample_groups.len()],
        };
        if *samples == Samples::Off {
            return sampler;
        }
        let ends = sample_groups.iter().scan(0, |end, flows| {
            *end += flows;
            Some(*end)
        });
        let ends: Vec<u32> = ends.collect();
        let series =
            |flow| if ends.is_empty() { flow } else { ends.partition_point(|&end| end <= flow) as u32 };
        sampler.sampled.extend(flows.map(|flow| Sampled { series: series(flow), ..Sampled::default() }));
        sampler
    }

    /// The rows of several, by time, then by flow.
    pub fn join(mut samplers: impl Iterator<Item = FlowSampler>) -> FlowSamples {
        let Some(FlowSampler { by_change, mut samples, .. }) = samplers.next() else {
            return FlowSamples::default();
        };
        let mut in_order = !by_change;
        for other in samplers {
            samples.append(other.samples);
            in_order = false;
        }
        if !in_order {
            samples.sort();
        }
        samples
    }

    /// Adds to `samples` the rows at `now` of the groups, whose flows several have sampled.
    pub fn join_groups<'a>(
        now: u64,
        samplers: impl Iterator<Item = &'a mut FlowSampler>,
        samples: &mut GroupSamples,
    ) {
        let sums = samplers.map(|sampler| &mut sampler.sums).reduce(|sums, others| {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += std::mem::take(other));
            sums
        });
        samples.push(now, sums.into_iter().flatten().map(std::mem::take));
    }

    /// A sample is due at `now`.
    #[inline(never)]
    pub fn sample<C: CongestionControl, T: Timing>(
        &mut self,
        now: u64,
        flows: &mut [Connection<C>],
        network: &Network<T>,
    ) {
        for (flow, sampled) in flows.iter_mut().zip(&mut self.sampled) {
            // A flow of many connections has no time series.
            if !flow.sender.started || now > flow.stop_ns || flow.sender.flow.arrivals().is_some() {
                continue;
            }
            let arrivals = arrivals(flow, network, now);
            let packet_bytes = flow.sender.flow.packet_bytes();
            let marked = marked(flow, network, now);
            let row = FlowRow {
                cwnd_range_pkts: flow.sender.take_cwnd_range(),
                bits: (arrivals - sampled.arrivals) * 8 * u64::from(packet_bytes),
                span_ns: now - sampled.at_ns.max(flow.sender.start_ns),
                marked_pkts: marked - sampled.marked,
                ..state(&flow.sender)
            };
            match self.sums.get_mut(sampled.series as usize) {
                Some(sum) => *sum += row.into(),
                None => self.samples.push(now, sampled.series, &row),
            }
            (sampled.arrivals, sampled.marked, sampled.at_ns) = (arrivals, marked, now);
        }
    }

    /// Records a flow at `now`, if its window changed.
    #[inline(never)]
    pub fn sample_change<C: CongestionControl>(&mut self, now: u64, flow: &Connection<C>) {
        if flow.sender.flow.arrivals().is_some() {
            return;
        }
        let sampled = &mut self.sampled[flow.id as usize];
        let window = (flow.sender.cwnd(), flow.sender.ssthresh());
        if window != sampled.window || flow.sender.closed && !sampled.stopped {
            (sampled.window, sampled.stopped) = (window, flow.sender.closed);
            self.samples.push(now, sampled.series, &state(&flow.sender));
        }
    }
}

/// What a row has of a flow's sender as it is now.
fn state<C: CongestionControl>(sender: &Sender<'_, C>) -> FlowRow {
    FlowRow {
        cwnd_pkts: sender.cwnd(),
        cwnd_range_pkts: (sender.cwnd(), sender.cwnd()),
        ssthresh_pkts: sender.ssthresh(),
        in_flight_pkts: sender.in_flight() as u32,
        srtt_ns: sender.srtt_ns(),
        ..FlowRow::default()
    }
}

/// Packets that have arrived at a flow's receiver by `now`, though the ACKs of some have not.
pub fn arrivals<C: CongestionControl, T: Timing>(
    flow: &Connection<C>,
    network: &Network<T>,
    now: u64,
) -> u64 {
    let packets = &network.to_receiver[flow.id as usize];
    flow.receiver.arrived() + packets.partition_point(|packet| packet.at <= now) as u64
}

/// Marked packets that have arrived at a flow's receiver by `now`.
fn marked<C: CongestionControl, T: Timing>(flow: &Connection<C>, network: &Network<T>, now: u64) -> u64 {
    let packets = network.to_receiver[flow.id as usize].iter().take_while(|packet| packet.at <= now);
    let marked = packets.filter(|packet| packet.segment.tag.has(CONGESTION)).count() as u64;
    flow.receiver.marked_pkts() + marked
}
