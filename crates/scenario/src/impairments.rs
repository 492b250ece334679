//! Impairments of packets on the wire.

use serde::{Deserialize, Serialize};

/// Losses and marks of given packets, bursts of losses, jitter, reordering and duplication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Impairments {
    /// None: no losses but those of `per`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<GilbertElliott>,
    /// None: packets take the link's delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Probability that a packet takes no delay, and so overtakes those under way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reorder: f64,
    /// Probability that a packet arrives twice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicate: f64,
    /// Packets that the wire loses. None: no others than by chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<PacketSet>,
    /// Packets that are marked (CE) where they are ECN-capable and the wire does not lose them. None: no others than the queue marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<PacketSet>,
}

/// Packets of a link, by their numbers or by the time at which they are sent. A packet of either belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketSet {
    /// Ranges of numbers, first and last: rising, and apart from each other. The wire counts from 1 the packets that reach it, in
    /// the order in which the link sends them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<[u64; 2]>,
    /// Spans of time from the start of the run, rising and apart: a packet belongs to one if its last bit is sent at its beginning
    /// or later, and before its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans_ns: Vec<[u64; 2]>,
}

/// Losses in bursts: with each packet a chain of two states takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability to go from the good state, in which the chain begins, to the bad one.
    pub p: f64,
    /// Probability to go back.
    pub r: f64,
    /// Probability of a loss in the good state.
    pub good: f64,
    /// Probability of a loss in the bad state.
    pub bad: f64,
}

/// Random time that is added to the delay of each packet, or taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// How likely each addition is.
    pub distribution: JitterDistribution,
    /// True if a packet may overtake another. If not, it waits until that has arrived.
    pub reorder: bool,
}

/// Distribution of the time that jitter adds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum JitterDistribution {
    /// Normal, cut off at three standard deviations.
    Normal {
        /// Standard deviation.
        std_ns: u64,
    },
    /// Each value from `-half_width_ns` to `half_width_ns` alike.
    Uniform {
        /// Largest addition, and largest reduction.
        half_width_ns: u64,
    },
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Jitter {
    /// No packet takes less than the delay by more than this.
    pub fn most_ns(&self) -> u64 {
        match self.distribution {
            JitterDistribution::Normal { std_ns } => std_ns.saturating_mul(3),
            JitterDistribution::Uniform { half_width_ns } => half_width_ns,
        }
    }
}

impl PacketSet {
    /// Makes the set of ranges and spans in any order, which may overlap. Each begins before it ends, or a range where it ends.
    pub fn new(numbers: Vec<[u64; 2]>, spans_ns: Vec<[u64; 2]>) -> PacketSet {
        // Numbers 1 to 3 and 4 to 5 are 1 to 5; spans that touch are one.
        PacketSet { numbers: merged(numbers, 1), spans_ns: merged(spans_ns, 0) }
    }

    fn is_in_order(&self) -> bool {
        let apart = |one: &[u64; 2], next: &[u64; 2]| one[1] < next[0];
        let numbers = self.numbers.iter().all(|[first, last]| (1..=*last).contains(first));
        let spans = self.spans_ns.iter().all(|[from_ns, until_ns]| from_ns < until_ns);
        numbers && spans && self.numbers.is_sorted_by(apart) && self.spans_ns.is_sorted_by(apart)
    }
}

/// Joins intervals of which one begins no later than `step` behind the end of another.
fn merged(mut intervals: Vec<[u64; 2]>, step: u64) -> Vec<[u64; 2]> {
    intervals.sort_unstable();
    let mut joined: Vec<[u64; 2]> = Vec::with_capacity(intervals.len());
    for [from, until] in intervals {
        match joined.last_mut() {
            Some(last) if from <= last[1].saturating_add(step) => last[1] = last[1].max(until),
            _ => joined.push([from, until]),
        }
    }
    joined
}

impl GilbertElliott {
    /// Returns true if it loses every packet from some time on.
    pub fn loses_all(&self) -> bool {
        (self.bad == 1.0 && self.r == 0.0 && self.p > 0.0)
            || (self.good == 1.0 && (self.p == 0.0 || self.bad == 1.0))
    }
}

impl Impairments {
    /// Checks that a run can begin; the error is what prevents it.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let chain = self.gilbert_elliott.iter().flat_map(|chain| [chain.p, chain.r, chain.good, chain.bad]);
        if !chain.chain([self.reorder, self.duplicate]).all(|share| (0.0..=1.0).contains(&share)) {
            return Err("a probability that is none");
        }
        if self.gilbert_elliott.is_some_and(|chain| chain.loses_all()) {
            return Err("losses of all packets");
        }
        if !self.losses.iter().chain(&self.marks).all(PacketSet::is_in_order) {
            return Err("losses or marks that are not in order");
        }
        Ok(())
    }
}
