//! The time series of flows, or of groups of them.

use crate::tcp::sender::Sender;
use cwnd_algorithms::CongestionControl;
use cwnd_results::{FlowRow, FlowSamples, GroupSamples, GroupSum};
use cwnd_scenario::{Flow, Samples, Scenario};

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

    /// A connection of a flow with arrivals has ended, with number `id`, and gives its place to the next. In all so many bytes and
    /// marked packets have arrived.
    pub fn end_connection(&mut self, id: u32, arrived_bytes: u64, marked_pkts: u64) {
        if self.sums.is_empty() {
            return;
        }
        let sampled = &mut self.sampled[id as usize];
        let (bits, marked) = (8 * arrived_bytes - sampled.bits, marked_pkts - sampled.marked);
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

    /// Returns the number of connections with samples.
    pub fn len(&self) -> usize {
        self.sampled.len()
    }

    /// Returns true if a sample has a row of a connection of `flow` that lasts. A flow of many connections has only the time series
    /// of its group.
    pub fn has_row(&self, flow: &Flow) -> bool {
        flow.arrivals().is_none() || !self.sums.is_empty()
    }

    /// The row at `now` of a connection, at whose receiver so many bytes and marked packets have arrived so far.
    pub fn sample_flow(&mut self, now: u64, id: usize, look: FlowLook, arrived_bytes: u64, marked: u64) {
        let FlowLook { row, start_ns, is_over } = look;
        let sampled = &mut self.sampled[id];
        let bits = 8 * arrived_bytes;
        let row = FlowRow {
            bits: bits - sampled.bits,
            span_ns: now - sampled.at_ns.max(start_ns),
            marked_pkts: marked - sampled.marked,
            ..row
        };
        match self.sums.get_mut(sampled.series as usize) {
            Some(sum) if is_over => sum.add_arrivals(row.bits, row.marked_pkts),
            Some(sum) => *sum += row.into(),
            None => self.samples.push(now, sampled.series, &row),
        }
        (sampled.bits, sampled.marked, sampled.at_ns) = (bits, marked, now);
    }

    /// Records the connection `id` at `now`, if its window changed.
    #[inline(never)]
    pub fn sample_change<C: CongestionControl>(&mut self, now: u64, id: u32, sender: &Sender<C>) {
        if sender.flow.arrivals().is_some() {
            return;
        }
        let sampled = &mut self.sampled[id as usize];
        let window = (sender.cwnd(), sender.ssthresh());
        if window != sampled.window || sender.closed && !sampled.stopped {
            (sampled.window, sampled.stopped) = (window, sender.closed);
            self.samples.push(now, sampled.series, &state(sender));
        }
    }
}

/// A connection at one moment, as a row of samples has it.
pub struct FlowLook {
    /// Windows, packets in flight and RTT. What has arrived is left out.
    pub row: FlowRow,
    /// When the flow starts.
    pub start_ns: u64,
    /// A transfer of many is acknowledged: only what arrived of it counts.
    pub is_over: bool,
}

impl FlowLook {
    /// Creates the look at a TCP sender at `now`; None: its flow does not last then.
    pub fn new<C: CongestionControl>(now: u64, sender: &mut Sender<C>) -> Option<FlowLook> {
        (sender.started && now <= sender.flow.stop_ns).then(|| FlowLook {
            row: FlowRow { cwnd_range_pkts: sender.take_cwnd_range(), ..state(sender) },
            start_ns: sender.start_ns,
            is_over: sender.flow.arrivals().is_some() && has_finished(sender),
        })
    }
}

/// Returns the row of a flow's sender as it is now.
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

/// All of a transfer is acknowledged.
fn has_finished<C: CongestionControl>(sender: &Sender<C>) -> bool {
    sender.source.as_ref().is_none_or(|source| source.finished_ns.is_some())
}
