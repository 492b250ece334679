//! Effects on a packet between its departure and the far end of the link.

use crate::net::link::packet_set::Members;
use crate::random::random_stream;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::Rng;
use cwnd_scenario::{DelayStep, Jitter, JitterDistribution, Link};

/// Something that happens to packets with a probability, independently.
pub struct Chance {
    /// A 64-bit draw below it is a hit.
    threshold: u64,
    rng: ChaCha8Rng,
}

impl Chance {
    pub fn new(probability: f64, seed: u64, stream: &str) -> Chance {
        Chance { threshold: threshold(probability), rng: random_stream(seed, stream) }
    }

    #[inline(always)]
    pub fn hits(&mut self) -> bool {
        self.rng.next_u64() < self.threshold
    }
}

fn threshold(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

/// How often a wire did what to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireCounts {
    /// Packets lost.
    pub lost: u64,
    /// Packets that arrived twice.
    pub duplicated: u64,
    /// Packets that took no delay.
    pub hurried: u64,
}

/// The fate of a packet on a wire.
#[derive(Clone, Copy)]
pub struct Passage {
    /// 0: lost.
    pub copies: u32,
    /// When it is at the far end.
    pub at_ns: u64,
    /// Marked there, if it is ECN-capable.
    pub marked: bool,
}

/// The wire of a managed link: losses and marks of given packets, bursts of losses, a delay that varies, packets that overtake and
/// packets that arrive twice. What is drawn has a stream of its own, and is drawn once for each packet.
pub struct Wire {
    independent: Option<Box<Chance>>,
    bursts: Option<GilbertElliott>,
    /// Before the first step.
    pub delay_ns: u64,
    delay_steps: Vec<DelayStep>,
    jitter: Option<DrawnJitter>,
    hurry: Option<Chance>,
    duplication: Option<Chance>,
    losses: Option<Members>,
    marks: Option<Members>,
    /// Nothing is drawn and the delay is constant.
    is_plain: bool,
    pub counts: WireCounts,
}

impl Wire {
    pub fn new(link: &Link, seed: u64) -> Wire {
        let impairments = link.impairments.as_deref().cloned().unwrap_or_default();
        let stream = |what: &str| format!("{}-{what}", link.name);
        let chance = |share: f64, what| (share > 0.0).then(|| Chance::new(share, seed, &stream(what)));
        let delay_steps = link.variation.as_ref().map(|variation| variation.delay_steps.clone());
        let bursts = |chain| GilbertElliott::new(chain, random_stream(seed, &stream("bursts")));
        let jitter = |jitter| DrawnJitter::new(jitter, random_stream(seed, &stream("jitter")));
        Wire {
            independent: (link.per > 0.0).then(|| Box::new(Chance::new(link.per, seed, &link.name))),
            bursts: impairments.gilbert_elliott.map(bursts),
            delay_ns: link.delay_ns,
            delay_steps: delay_steps.unwrap_or_default(),
            jitter: impairments.jitter.map(jitter),
            hurry: chance(impairments.reorder, "reorder"),
            duplication: chance(impairments.duplicate, "duplicate"),
            losses: impairments.losses.map(Members::new),
            marks: impairments.marks.map(Members::new),
            is_plain: link.per == 0.0 && link.impairments.is_none() && link.variation.is_none(),
            counts: WireCounts::default(),
        }
    }

    /// A packet is sent at `sent_ns`; packets come in the order of time.
    #[inline(always)]
    pub fn pass(&mut self, sent_ns: u64) -> Passage {
        if self.is_plain {
            Passage { copies: 1, at_ns: sent_ns + self.delay_ns, marked: false }
        } else {
            self.draw_passage(sent_ns)
        }
    }

    fn draw_passage(&mut self, sent_ns: u64) -> Passage {
        let lost = self.independent.as_mut().is_some_and(|chance| chance.hits());
        let lost_in_burst = self.bursts.as_mut().is_some_and(GilbertElliott::loses);
        let hurries = self.hurry.as_mut().is_some_and(Chance::hits);
        let twice = self.duplication.as_mut().is_some_and(Chance::hits);
        let offset_ns = self.jitter.as_mut().map_or(0, DrawnJitter::draw_ns);
        let is_given = self.losses.as_mut().is_some_and(|losses| losses.next_is_one(sent_ns));
        let marked = self.marks.as_mut().is_some_and(|marks| marks.next_is_one(sent_ns));
        if lost || lost_in_burst || is_given {
            self.counts.lost += 1;
            return Passage { copies: 0, at_ns: sent_ns, marked: false };
        }
        self.counts.duplicated += u64::from(twice);
        self.counts.hurried += u64::from(hurries);
        let copies = 1 + u32::from(twice);
        if hurries {
            return Passage { copies, at_ns: sent_ns, marked };
        }
        let at_ns = (sent_ns + self.delay_at(sent_ns)).saturating_add_signed(offset_ns);
        let at_ns = match &mut self.jitter {
            Some(jitter) if jitter.keeps_order => {
                jitter.latest_ns = jitter.latest_ns.max(at_ns);
                jitter.latest_ns
            }
            _ => at_ns,
        };
        Passage { copies, at_ns, marked }
    }

    /// Returns true if packets may be at the far end in another order than they were sent in.
    pub fn reorders(&self) -> bool {
        let jitter = self.jitter.as_ref().is_some_and(|jitter| !jitter.keeps_order);
        jitter || self.hurry.is_some() || !self.delay_steps.is_empty()
    }

    fn delay_at(&self, sent_ns: u64) -> u64 {
        let passed = self.delay_steps.partition_point(|step| step.from_ns <= sent_ns);
        passed.checked_sub(1).map_or(self.delay_ns, |place| self.delay_steps[place].delay_ns)
    }
}

/// Losses in bursts. With each packet the state may change; whether it is lost is drawn for the state before.
struct GilbertElliott {
    /// By state, good and bad: to leave it, and to lose the packet.
    thresholds: [(u64, u64); 2],
    is_bad: bool,
    rng: ChaCha8Rng,
}

impl GilbertElliott {
    fn new(chain: cwnd_scenario::GilbertElliott, rng: ChaCha8Rng) -> GilbertElliott {
        let state = |leave, lose| (threshold(leave), threshold(lose));
        GilbertElliott {
            thresholds: [state(chain.p, chain.good), state(chain.r, chain.bad)],
            is_bad: false,
            rng,
        }
    }

    fn loses(&mut self) -> bool {
        let (leave, lose) = self.thresholds[usize::from(self.is_bad)];
        self.is_bad ^= self.rng.next_u64() < leave;
        self.rng.next_u64() < lose
    }
}

/// Offsets of the delay, drawn packet by packet.
struct DrawnJitter {
    draws: Draws,
    keeps_order: bool,
    /// When the last packet that kept the order arrives.
    latest_ns: u64,
    rng: ChaCha8Rng,
}

enum Draws {
    Uniform { half_width_ns: u64 },
    Normal { std_ns: u64, table: TruncatedNormal },
}

impl DrawnJitter {
    fn new(jitter: Jitter, rng: ChaCha8Rng) -> DrawnJitter {
        let draws = match jitter.distribution {
            JitterDistribution::Uniform { half_width_ns } => Draws::Uniform { half_width_ns },
            JitterDistribution::Normal { std_ns } => Draws::Normal { std_ns, table: TruncatedNormal::new() },
        };
        DrawnJitter { draws, keeps_order: !jitter.reorder, latest_ns: 0, rng }
    }

    fn draw_ns(&mut self) -> i64 {
        let draw = self.rng.next_u64();
        match &self.draws {
            Draws::Uniform { half_width_ns } => {
                let width_ns = 2 * u128::from(*half_width_ns) + 1;
                ((u128::from(draw) * width_ns) >> 64) as i64 - *half_width_ns as i64
            }
            Draws::Normal { std_ns, table } => (table.quantile(draw) * *std_ns as f64) as i64,
        }
    }
}

/// The normal distribution, cut off at three standard deviations. It is summed up from sums and products, which every
/// machine rounds alike.
struct TruncatedNormal {
    /// The probability of what is below each cell's end, as a part of 2^64.
    below: Vec<f64>,
}

impl TruncatedNormal {
    const CELLS: usize = 4096;
    const CUT: f64 = 3.0;

    fn new() -> TruncatedNormal {
        let width = 2.0 * Self::CUT / Self::CELLS as f64;
        // exp(-x²/2) at the middles of the cells from 0 on: each is the one before times a factor that shrinks by `shrink`.
        let shrink = exp(-width * width);
        let (mut density, mut factor) = (exp(-width * width / 8.0), shrink);
        let mut right = Vec::with_capacity(Self::CELLS / 2);
        for _ in 0..Self::CELLS / 2 {
            right.push(density);
            density *= factor;
            factor *= shrink;
        }
        let cells = right.iter().rev().chain(&right);
        let total: f64 = 2.0 * right.iter().sum::<f64>();
        let below = cells.scan(0.0, |sum, density| {
            *sum += density;
            Some(*sum / total * 2f64.powi(64))
        });
        TruncatedNormal { below: below.collect() }
    }

    /// In standard deviations; `draw` is a probability as a part of 2^64.
    fn quantile(&self, draw: u64) -> f64 {
        let draw = draw as f64;
        let cell = self.below.partition_point(|end| *end <= draw).min(Self::CELLS - 1);
        let begin = cell.checked_sub(1).map_or(0.0, |before| self.below[before]);
        let part = ((draw - begin) / (self.below[cell] - begin)).min(1.0);
        (cell as f64 + part) * (2.0 * Self::CUT / Self::CELLS as f64) - Self::CUT
    }
}

/// e to the power of `x`, which is small.
fn exp(x: f64) -> f64 {
    let terms = (1..8).scan(1.0, |term, n| {
        *term *= x / f64::from(n);
        Some(*term)
    });
    1.0 + terms.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwnd_scenario::{Impairments, Variation};

    const DELAY_NS: u64 = 20_000_000;

    fn wire(impairments: Impairments) -> Wire {
        let impairments = Some(Box::new(impairments));
        Wire::new(
            &Link::default().with(|link| {
                (link.name, link.delay_ns, link.impairments) = ("wire".to_owned(), DELAY_NS, impairments)
            }),
            1,
        )
    }

    /// Delays of packets that are sent `apart_ns` after one another.
    fn delays(wire: &mut Wire, apart_ns: u64, count: u64) -> Vec<f64> {
        (0..count).map(|k| wire.pass(k * apart_ns).at_ns as f64 - (k * apart_ns) as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn jitter(distribution: JitterDistribution, reorder: bool) -> Impairments {
        Impairments::default().with(|impairments| impairments.jitter = Some(Jitter { distribution, reorder }))
    }

    #[test]
    fn bursts_lose_what_the_chain_in_its_steady_state_loses() {
        // tc netem, gemodel 0.02% 20% 50% 0: a visit to the bad state every 5,005 packets, 5 packets long, 2.5 losses each.
        let chain = cwnd_scenario::GilbertElliott { p: 2e-4, r: 0.2, good: 0.0, bad: 0.5 };
        let mut chain = GilbertElliott::new(chain, random_stream(1, "bursts"));
        let packets = 40_000_000;
        let (mut lost, mut visits, mut in_bad) = (0, 0, 0);
        for _ in 0..packets {
            let was_bad = chain.is_bad;
            lost += u64::from(chain.loses());
            visits += u64::from(!was_bad && chain.is_bad);
            in_bad += u64::from(was_bad);
        }
        let near = |value: f64, wanted: f64, part: f64| (value / wanted - 1.0).abs() < part;
        assert!(near(lost as f64 / packets as f64, 4.995e-4, 0.04), "{lost}");
        assert!(near(packets as f64 / visits as f64, 5005.0, 0.04), "{visits}");
        assert!(near(in_bad as f64 / visits as f64, 5.0, 0.04), "{in_bad}");
    }

    #[test]
    fn the_state_changes_before_the_loss_is_drawn_for_the_state_before() {
        let chain = cwnd_scenario::GilbertElliott { p: 1.0, r: 1.0, good: 0.0, bad: 1.0 };
        let mut chain = GilbertElliott::new(chain, random_stream(1, "bursts"));
        let fates: Vec<bool> = (0..4).map(|_| chain.loses()).collect();
        assert_eq!(fates, [false, true, false, true]);
    }

    #[test]
    fn free_jitter_has_the_mean_and_the_spread_of_its_distribution() {
        let spread = |values: &[f64]| {
            let mean = mean(values);
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
        };
        let uniform = JitterDistribution::Uniform { half_width_ns: 5_000_000 };
        let drawn = delays(&mut wire(jitter(uniform, true)), 240_000, 200_000);
        assert!(
            (mean(&drawn) - 20e6).abs() < 0.03e6 && (spread(&drawn) / (5e6 / 3f64.sqrt()) - 1.0).abs() < 0.01
        );
        assert!(drawn.iter().all(|delay| (15e6..=25e6).contains(delay)));
        // At three standard deviations, 1 - 6 * 0.0044318 / 0.9973002 of the variance is left.
        let normal = JitterDistribution::Normal { std_ns: 2_000_000 };
        let drawn = delays(&mut wire(jitter(normal, true)), 240_000, 200_000);
        assert!(
            (mean(&drawn) - 20e6).abs() < 0.03e6
                && (spread(&drawn) / (2e6 * 0.97334f64.sqrt()) - 1.0).abs() < 0.01
        );
        assert!(drawn.iter().all(|delay| (14e6..=26e6).contains(delay)));
        let within =
            drawn.iter().filter(|delay| (**delay - 20e6).abs() < 2e6).count() as f64 / drawn.len() as f64;
        assert!((within - 0.682_689 / 0.997_300).abs() < 0.01, "{within}");
    }

    #[test]
    fn jitter_that_keeps_the_order_is_a_running_maximum() {
        let uniform = JitterDistribution::Uniform { half_width_ns: 5_000_000 };
        let mut ordered = wire(jitter(uniform, false));
        let mut free = wire(jitter(uniform, true));
        let mut latest = 0;
        for k in 0..100_000 {
            latest = latest.max(free.pass(240_000 * k).at_ns);
            assert_eq!(ordered.pass(240_000 * k).at_ns, latest);
        }
        // The delay is more than x below d + j if each packet k before is more than x - k gaps below it.
        let below = |x: f64| {
            let packets = (0..).map(|k| x - 0.24e6 * f64::from(k)).take_while(|x| *x > 0.0);
            packets.map(|x| (1.0 - x / 10e6).max(0.0)).product::<f64>()
        };
        let expected = 25e6 - (0..10_000).map(|x| 1e3 * below(1e3 * f64::from(x))).sum::<f64>();
        let mean = mean(&delays(&mut wire(jitter(uniform, false)), 240_000, 200_000));
        assert!((mean - expected).abs() < 0.02e6, "{mean} {expected}");
    }

    #[test]
    fn a_share_of_packets_takes_no_delay_and_a_share_arrives_twice() {
        let mut wire = wire(
            Impairments::default()
                .with(|impairments| (impairments.reorder, impairments.duplicate) = (0.1, 0.02)),
        );
        let passages: Vec<Passage> = (0..100_000).map(|k| wire.pass(1000 * k)).collect();
        let hurried = (0..).zip(&passages).filter(|(k, passage)| passage.at_ns == 1000 * k).count();
        let twice = passages.iter().filter(|passage| passage.copies == 2).count();
        assert_eq!(wire.counts, WireCounts { lost: 0, duplicated: twice as u64, hurried: hurried as u64 });
        assert!(hurried.abs_diff(10_000) < 400 && twice.abs_diff(2000) < 200, "{:?}", wire.counts);
    }

    #[test]
    fn jitter_reordering_and_duplication_change_no_loss() {
        let chain = cwnd_scenario::GilbertElliott { p: 0.01, r: 0.3, good: 0.001, bad: 0.5 };
        let alone = Impairments::default().with(|impairments| impairments.gilbert_elliott = Some(chain));
        let jitter = jitter(JitterDistribution::Normal { std_ns: 1_000_000 }, true).jitter;
        let mut all = wire(alone.clone().with(|impairments| {
            (impairments.jitter, impairments.reorder, impairments.duplicate) = (jitter, 0.1, 0.1)
        }));
        let mut alone = wire(alone);
        for k in 0..10_000 {
            assert_eq!(all.pass(1000 * k).copies == 0, alone.pass(1000 * k).copies == 0);
        }
    }

    #[test]
    fn a_packet_takes_the_delay_of_the_moment_when_it_was_sent() {
        let step = |from_ns, delay_ns| DelayStep { from_ns, delay_ns };
        let variation =
            Variation::default().with(|variation| variation.delay_steps = vec![step(0, 30), step(100, 20)]);
        let link =
            Link::default().with(|link| (link.delay_ns, link.variation) = (30, Some(Box::new(variation))));
        let mut wire = Wire::new(&link, 1);
        let at = [0, 99, 100, 200].map(|sent_ns| wire.pass(sent_ns).at_ns);
        assert_eq!(at, [30, 129, 120, 220]);
    }
}
