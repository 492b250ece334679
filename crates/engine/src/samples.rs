//! The time series of flows, or of groups of them.

use crate::connection::Connection;
use crate::network::Network;
use crate::path::timing::Timing;
use crate::tcp::packet::CONGESTION;
use crate::tcp::sender::Sender;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowRow, FlowSamples, GroupSamples, GroupSum};
use cwnd_scenario::{Handshake, Samples, Scenario};

/// Takes the time series of flows.
pub struct FlowSampler {
    pub by_change: bool,
    /// By connection, if there are to be samples: those of the scenario's flows, and if samples are by group all.
    sampled: Vec<Sampled>,
    pub samples: FlowSamples,
    /// By group, if samples are: what has come since the last sample, and with a sample the state of the flows.
    sums: Vec<GroupSum>,
    /// By group: the number of the flow after its last.
    ends: Vec<u32>,
}

/// A connection as it was when it was sampled last.
#[derive(Clone, Default)]
struct Sampled {
    /// Its flow's number in the scenario, or that of the group if samples are by group.
    series: u32,
    /// That had arrived at the receiver, as `marked`.
    bits: u64,
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
        let ends = sample_groups.iter().scan(0, |end, flows| {
            *end += flows;
            Some(*end)
        });
        let mut sampler = FlowSampler {
            by_change: *samples == Samples::Change,
            sampled: Vec::new(),
            samples: FlowSamples::default(),
            sums: vec![GroupSum::default(); sample_groups.len()],
            ends: ends.collect(),
        };
        if *samples != Samples::Off {
            sampler.sampled = flows.map(|flow| sampler.unsampled(flow)).collect();
        }
        sampler
    }

    /// A connection of `flow` before its first sample.
    fn unsampled(&self, flow: u32) -> Sampled {
        let series = if self.sums.is_empty() { flow } else { self.group(flow) as u32 };
        Sampled { series, ..Sampled::default() }
    }

    fn group(&self, flow: u32) -> usize {
        self.ends.partition_point(|&end| end <= flow)
    }

    /// There is a further connection, of `flow`, which has arrivals.
    pub fn add_connection(&mut self, flow: u32) {
        if !self.sums.is_empty() {
            self.sampled.push(self.unsampled(flow));
        }
    }

    /// The connection `ended`, of a flow with arrivals, has given its place to the next.
    pub fn end_connection<C: CongestionControl>(&mut self, ended: &Connection<C>) {
        if self.sums.is_empty() {
            return;
        }
        let sampled = &mut self.sampled[ended.id as usize];
        let arrived_bytes = ended.sender.source.as_ref().map_or(0, |source| source.arrived_bytes);
        let (bits, marked) =
            (8 * arrived_bytes - sampled.bits, ended.receiver.marked_pkts() - sampled.marked);
        self.sums[sampled.series as usize].add_arrivals(bits, marked);
        *sampled = Sampled { series: sampled.series, ..Sampled::default() };
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

    /// Adds to `samples` the rows at `now` of the groups, whose flows several have sampled. `lasting`: the flows with arrivals
    /// that last, and for how long of the time since the last sample.
    pub fn join_groups<'a>(
        now: u64,
        mut samplers: impl Iterator<Item = &'a mut FlowSampler>,
        lasting: impl Iterator<Item = (u32, u64)>,
        samples: &mut GroupSamples,
    ) {
        let Some(first) = samplers.next().filter(|first| !first.sums.is_empty()) else { return };
        for other in samplers {
            let sums = other.sums.iter_mut().map(std::mem::take);
            first.sums.iter_mut().zip(sums).for_each(|(sum, other)| *sum += other);
        }
        for (flow, span_ns) in lasting {
            let group = first.group(flow);
            first.sums[group] += GroupSum::lasting(span_ns);
        }
        samples.push(now, first.sums.iter_mut().map(std::mem::take));
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
            let is_of_many = flow.sender.flow.arrivals().is_some();
            // A flow of many connections has no time series but that of its group.
            if !flow.sender.started || now > flow.stop_ns || is_of_many && self.sums.is_empty() {
                continue;
            }
            let bits = 8 * arrived_bytes(flow, network, now);
            let marked = marked(flow, network, now);
            let row = FlowRow {
                cwnd_range_pkts: flow.sender.take_cwnd_range(),
                bits: bits - sampled.bits,
                span_ns: now - sampled.at_ns.max(flow.sender.start_ns),
                marked_pkts: marked - sampled.marked,
                ..state(&flow.sender)
            };
            match self.sums.get_mut(sampled.series as usize) {
                Some(sum) if is_of_many && has_finished(flow) => sum.add_arrivals(row.bits, row.marked_pkts),
                Some(sum) => *sum += row.into(),
                None => self.samples.push(now, sampled.series, &row),
            }
            (sampled.bits, sampled.marked, sampled.at_ns) = (bits, marked, now);
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

/// All of a transfer is acknowledged.
fn has_finished<C: CongestionControl>(flow: &Connection<C>) -> bool {
    flow.sender.source.as_ref().is_none_or(|source| source.finished_ns.is_some())
}

/// Bytes of packets that have arrived in the same way while the flow lasts.
fn arrived_bytes<C: CongestionControl, T: Timing>(
    flow: &Connection<C>,
    network: &Network<T>,
    now: u64,
) -> u64 {
    let has_one_size = flow.sender.source.is_none() && flow.sender.flow.stack.handshake == Handshake::Off;
    if has_one_size {
        return arrivals(flow, network, now) * u64::from(flow.sender.flow.packet_bytes());
    }
    // Nothing counts once a transfer has finished.
    let finished_ns = flow.sender.source.as_ref().and_then(|source| source.finished_ns);
    let until = finished_ns.map_or(now, |finished_ns| finished_ns.min(now));
    let packets = network.to_receiver[flow.id as usize].iter().take_while(|packet| packet.at <= until);
    flow.received_bytes() + packets.map(|packet| u64::from(packet.segment.tag.bytes())).sum::<u64>()
}

/// Marked packets that have arrived at a flow's receiver by `now`.
fn marked<C: CongestionControl, T: Timing>(flow: &Connection<C>, network: &Network<T>, now: u64) -> u64 {
    let packets = network.to_receiver[flow.id as usize].iter().take_while(|packet| packet.at <= now);
    let marked = packets.filter(|packet| packet.segment.tag.has(CONGESTION)).count() as u64;
    flow.receiver.marked_pkts() + marked
}
