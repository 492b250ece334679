//! Views of a run under way: observations, and the time series of links.

use crate::net::link::managed::ManagedLink;
use crate::net::link::wire::WireCounts;
use crate::net::measure::counts::Counts;
use crate::time::{NEVER, Tick};
use cwnd_results::LinkSamples;
use cwnd_scenario::{Samples, Scenario};

/// A run at one moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Observation {
    /// Simulated time.
    pub now_ns: u64,
    /// In the order of the scenario.
    pub flows: Vec<FlowObservation>,
    /// In the order of the scenario.
    pub links: Vec<LinkObservation>,
}

/// The state of a flow. For a flow with arrivals: sums over its connections. Windows and packets in flight are of open ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FlowObservation {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow start threshold; 2³¹ - 1: none was set.
    pub ssthresh_pkts: u32,
    /// Segments sent and neither delivered nor known to be lost.
    pub in_flight_pkts: u64,
    /// Smoothed (RFC 6298); 0: no sample yet.
    pub srtt_ns: u64,
    /// Packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Packets that have arrived at the receiver, duplicates included.
    pub delivered_pkts: u64,
    /// None: its ACKs cross no links.
    pub acks: Option<AckCounts>,
}

impl FlowObservation {
    /// The state of a flow with arrivals: the sum over its `connections`, each given with true if it is open, and the `counts` of the
    /// connections that are over.
    pub fn of_many(
        counts: Counts,
        connections: impl Iterator<Item = (FlowObservation, bool)>,
    ) -> FlowObservation {
        let mut sum = FlowObservation {
            sent_pkts: counts.sent,
            delivered_pkts: counts.received.pkts,
            ..FlowObservation::default()
        };
        for (one, is_open) in connections {
            sum.sent_pkts += one.sent_pkts;
            sum.delivered_pkts += one.delivered_pkts;
            if let Some(acks) = one.acks {
                *sum.acks.get_or_insert_default() += acks;
            }
            if is_open {
                sum.cwnd_pkts += one.cwnd_pkts;
                sum.in_flight_pkts += one.in_flight_pkts;
            }
        }
        sum
    }
}

/// Counts of the ACKs of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AckCounts {
    /// ACKs sent.
    pub sent: u64,
    /// Copies that a wire of the way back made.
    pub duplicated: u64,
    /// Dropped by a queue or lost on a wire of the way back.
    pub lost: u64,
    /// At the sender.
    pub arrived: u64,
}

impl AckCounts {
    /// Returns true if each has arrived or is lost.
    pub fn are_all_settled(self) -> bool {
        self.sent + self.duplicated == self.arrived + self.lost
    }
}

impl std::ops::AddAssign for AckCounts {
    fn add_assign(&mut self, other: AckCounts) {
        self.sent += other.sent;
        self.duplicated += other.duplicated;
        self.lost += other.lost;
        self.arrived += other.arrived;
    }
}

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Packets lost and marked up to the last row, for each link that has rows.
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

impl LinkLook {
    pub fn new<T: Tick>(link: &ManagedLink<T>, now_ns: u64) -> LinkLook {
        LinkLook {
            queue_pkts: link.held_pkts(now_ns),
            wait_ns: link.wait_ns(now_ns),
            lost_pkts: link.lost_pkts(),
            marked_pkts: link.marked_pkts,
        }
    }
}
