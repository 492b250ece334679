//! The time series of flows.

use crate::connection::Connection;
use crate::counts::mbps;
use crate::network::Network;
use crate::path::timing::Timing;
use crate::tcp::packet::CONGESTION;
use crate::tcp::sender::Sender;
use cwnd_algorithms::CongestionControl;
use cwnd_results::FlowSamples;
use cwnd_scenario::Samples;

/// Takes the time series of flows.
pub struct FlowSampler {
    pub by_change: bool,
    /// By flow, if there are to be samples.
    sampled: Vec<Sampled>,
    pub samples: FlowSamples,
}

/// A flow as it was when it was sampled last.
#[derive(Clone, Default)]
struct Sampled {
    /// In the scenario.
    flow: u32,
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
    pub fn new(samples: &Samples, flows: impl Iterator<Item = u32>) -> FlowSampler {
        let mut sampler = FlowSampler {
            by_change: *samples == Samples::Change,
            sampled: Vec::new(),
            samples: FlowSamples::default(),
        };
        if *samples != Samples::Off {
            sampler.sampled.extend(flows.map(|flow| Sampled { flow, ..Sampled::default() }));
        }
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
            let bits = (arrivals - sampled.arrivals) * 8 * u64::from(packet_bytes);
            let span_ns = now - sampled.at_ns.max(flow.sender.start_ns);
            let marked = marked(flow, network, now);
            let since = SinceLastRow {
                cwnd_pkts: flow.sender.take_cwnd_range(),
                throughput_mbps: mbps(bits, span_ns),
                marked_pkts: marked - sampled.marked,
            };
            record(&mut self.samples, now, sampled.flow, &flow.sender, since);
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
            let (cwnd, _) = window;
            let since = SinceLastRow { cwnd_pkts: (cwnd, cwnd), ..SinceLastRow::default() };
            record(&mut self.samples, now, sampled.flow, &flow.sender, since);
        }
    }
}

/// What a row has of a flow's time since the row before.
#[derive(Default)]
struct SinceLastRow {
    /// The least and the greatest.
    cwnd_pkts: (u32, u32),
    throughput_mbps: f64,
    marked_pkts: u64,
}

/// Adds a row of a flow's time series.
fn record<C: CongestionControl>(
    samples: &mut FlowSamples,
    now: u64,
    flow: u32,
    sender: &Sender<'_, C>,
    since: SinceLastRow,
) {
    let SinceLastRow { cwnd_pkts: (min, max), throughput_mbps, marked_pkts } = since;
    samples.time_s.push(now as f64 / 1e9);
    samples.flow.push(flow);
    samples.cwnd_pkts.push(sender.cwnd());
    samples.min_cwnd_pkts.push(min);
    samples.max_cwnd_pkts.push(max);
    samples.ssthresh_pkts.push(sender.ssthresh());
    samples.in_flight_pkts.push(sender.in_flight() as u32);
    samples.rtt_ms.push(sender.srtt_ns() as f64 * 1e-6);
    samples.throughput_mbps.push(throughput_mbps);
    samples.marked_pkts.push(marked_pkts);
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
