//! Windows under loss, where nothing but loss limits them.

#![allow(clippy::disallowed_methods, reason = "nothing here is compared to the last bit")]

use crate::common::answer;
use rayon::prelude::*;

/// A flow on a pipe that is never full: its mean window, and losses per packet as they happened.
struct Outcome {
    mean_cwnd: f64,
    loss_ratio: f64,
    losses: u64,
}

/// Four seeds, `packets` in all if the mean window is `cwnd`, and before that a tenth of it that does not count:
/// slow start ends far above the mean window.
fn under_random_loss(cca: &str, per: f64, packets: f64, cwnd: f64) -> Outcome {
    const SEEDS: u32 = 4;
    let counted_s = packets / cwnd * 0.1 / f64::from(SEEDS);
    let skipped_s = 0.1 * counted_s;
    let flow = |seed, duration_s| {
        let run = answer(&format!(
            r#"
            duration = "{duration_s:.6} s"
            seed = {seed}
            samples = "off"
            stack = {{ recovery = "sack", ack_every = 1 }}
            [[chain]]
            rate = "100 Tbps"
            delay = "50 ms"
            buffer = "unlimited"
            per = {per}
            [[flows]]
            cca = {cca}
            "#
        ));
        run.flows[0].clone()
    };
    let windows: Vec<_> = (1..=SEEDS)
        .into_par_iter()
        .map(|seed| {
            let (early, all) = (flow(seed, skipped_s), flow(seed, skipped_s + counted_s));
            let cwnd_s = all.mean_cwnd_pkts * (skipped_s + counted_s) - early.mean_cwnd_pkts * skipped_s;
            (cwnd_s / counted_s, all.sent_pkts - early.sent_pkts, all.lost_pkts - early.lost_pkts)
        })
        .collect();
    let sent: u64 = windows.iter().map(|(_, sent, _)| sent).sum();
    let losses: u64 = windows.iter().map(|(.., lost)| lost).sum();
    Outcome {
        mean_cwnd: windows.iter().map(|(cwnd, ..)| cwnd).sum::<f64>() / f64::from(SEEDS),
        loss_ratio: losses as f64 / sent as f64,
        losses,
    }
}

/// Growth of `w^power` segments per RTT and a cut to `beta * w`.
struct Law {
    power: f64,
    beta: f64,
    /// Gamma((1 - power) / (2 - power)).
    gamma: f64,
}

const RENO: Law = Law { power: 0.0, beta: 0.5, gamma: 1.772_453_850_9 };
/// With RTTmax = RTT, so that Delta = 1.
const ELASTIC: Law = Law { power: 0.5, beta: 0.9, gamma: 2.678_938_534_7 };

impl Law {
    /// The mean window over time when each packet is lost with probability `p`, whatever became of the others.
    ///
    /// In units of RTTs, w' = w^power, and at the rate p w the window falls to beta w. Let J(w) be the rate at
    /// which w is crossed upwards, w^power times its density. What is cut below w must have risen again:
    ///
    ///   J'(w) = -p w^(1-power) J(w) + p w^(1-power) beta^-m J(w / beta),   m = 2 - power
    ///
    /// which J(w) = sum of a_k exp(-p q^k w^m / m), q = beta^-m, solves if a_k (q^k - 1) = -q a_(k-1). The mean
    /// is the integral of w^(1-power) J over that of w^-power J. For Reno it is 1.3098 / sqrt(p), the result of
    /// T. Ott, J. Kemperman, M. Mathis, "The stationary behavior of ideal TCP congestion avoidance", 1996.
    fn mean_cwnd(&self, p: f64) -> f64 {
        let m = 2.0 - self.power;
        let q = self.beta.powf(-m);
        let g = (1.0 - self.power) / m;
        let (mut a, mut crossings, mut time) = (1.0, 0.0, 0.0);
        for k in 0..60 {
            if k > 0 {
                a *= -q / (q.powi(k) - 1.0);
            }
            let c = p * q.powi(k) / m;
            crossings += a / c;
            time += a * self.gamma * c.powf(-g);
        }
        crossings / time
    }

    /// Where growth and cuts balance: w^power = p w (1 - beta) w.
    fn balance(&self, p: f64) -> f64 {
        ((1.0 - self.beta) * p).powf(-1.0 / (2.0 - self.power))
    }
}

#[test]
fn the_mean_of_the_reno_law_is_the_constant_of_ott_kemperman_and_mathis() {
    assert!((RENO.mean_cwnd(1.0) - 1.3098).abs() < 1e-4, "{}", RENO.mean_cwnd(1.0));
}

/// Random losses come early or late, so that the mean is 7 % above sqrt(1.5 / p), the law of losses that come
/// evenly. With p = 1e-3 the window is cut every 24 RTTs and does not grow for one of them.
#[test]
fn reno_under_random_loss_has_the_mean_window_of_its_law() {
    for (p, packets) in [(1e-3, 2e6), (1e-4, 1e7), (1e-5, 6e7)] {
        let outcome = under_random_loss("'reno'", p, packets, RENO.mean_cwnd(p));
        let law = RENO.mean_cwnd(outcome.loss_ratio);
        let off = outcome.mean_cwnd / law - 1.0;
        println!(
            "p {p}: {:.2} after {} losses, law {law:.2}, {:+.2} %; {:+.2} % of sqrt(1.5 / p)",
            outcome.mean_cwnd,
            outcome.losses,
            100.0 * off,
            100.0 * (outcome.mean_cwnd / (1.5 / outcome.loss_ratio).sqrt() - 1.0)
        );
        assert!(outcome.losses >= 400, "p {p}: {} losses tell little", outcome.losses);
        assert!(off.abs() < 0.05, "p {p}: {:.2}, law {law:.2}", outcome.mean_cwnd);
    }
}

/// A full queue drops one packet when the window reaches W, and again 3/8 W^2 packets later, of which W/2 RTTs
/// had 3/4 W each (M. Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997).
#[test]
fn reno_under_even_loss_has_a_mean_window_of_the_root_of_three_halves_over_p() {
    const QUEUE: f64 = 4.0;
    for p in [1e-3_f64, 1e-4, 1e-5] {
        let peak = (8.0 / 3.0 / p).sqrt();
        let rate_bps = ((peak - QUEUE) / 0.1 * 1514.0 * 8.0).round();
        let epoch_s = peak / 2.0 * 0.1;
        let run = answer(&format!(
            r#"
            duration = "{} s"
            samples = "off"
            stack = {{ recovery = "sack", ack_every = 1, sack_delay = "0 s" }}
            [[chain]]
            rate = "{rate_bps} bps"
            delay = "50 ms"
            buffer = {QUEUE}
            [[flows]]
            cca = "reno"
            "#,
            200.0 * epoch_s
        ));
        let flow = &run.flows[0];
        let law = (1.5 / flow.loss_ratio).sqrt();
        let off = flow.mean_cwnd_pkts / law - 1.0;
        println!("p {p}: {:.2}, law {law:.2}, {:+.2} %", flow.mean_cwnd_pkts, 100.0 * off);
        assert!((flow.loss_ratio / p - 1.0).abs() < 0.1, "p {p}: one packet in an epoch, not {run:?}");
        assert!(off.abs() < 0.05, "p {p}: {:.2}, law {law:.2}", flow.mean_cwnd_pkts);
    }
}

/// With p = 1e-3 a loss comes every two RTTs, and one of them passes in recovery.
#[test]
#[ignore = "slow"]
fn elastic_under_random_loss_has_the_mean_window_of_its_law() {
    for (p, packets) in [(1e-3, 5e6), (1e-4, 1e7), (1e-5, 6e7)] {
        let outcome = under_random_loss("'elastic'", p, packets, ELASTIC.balance(p));
        let balance = outcome.mean_cwnd / ELASTIC.balance(p) - 1.0;
        let law = outcome.mean_cwnd / ELASTIC.mean_cwnd(outcome.loss_ratio) - 1.0;
        println!(
            "p {p}: {:.2} after {} losses, {:+.2} % of the balance, {:+.2} % of the law",
            outcome.mean_cwnd,
            outcome.losses,
            100.0 * balance,
            100.0 * law
        );
        assert!(outcome.losses >= 400, "p {p}: {} losses tell little", outcome.losses);
        assert!(balance.abs() < 0.1 && law.abs() < 0.1, "p {p}: {:.2}", outcome.mean_cwnd);
    }
}

const RTT_S: f64 = 0.1;

/// A window law as a fluid, without packets: what the window gains and what a loss leaves of it.
#[derive(Clone, Copy, Debug)]
enum Fluid {
    Reno,
    HighSpeed,
    Scalable,
    Cubic { fast_convergence: bool, wmax: f64, prior: f64, k_s: f64, west: f64 },
    Htcp { beta: f64, event_rate: f64 },
    AgileSd { loss: f64, degraded: f64 },
}

/// The share of the way from Low_Window to High_Window (RFC 3649, 5), in logarithms.
fn highspeed_share(w: f64) -> f64 {
    ((w / 38.0).ln() / (83000.0_f64 / 38.0).ln()).max(0.0)
}

fn highspeed_b(w: f64) -> f64 {
    0.5 - 0.4 * highspeed_share(w)
}

/// alpha(Delta) of H-TCP.
fn htcp_alpha(delta_s: f64) -> f64 {
    let late_s = (delta_s - 1.0).max(0.0);
    1.0 + 10.0 * late_s + 0.25 * late_s * late_s
}

const CUBIC_BETA: f64 = 717.0 / 1024.0;
const CUBIC_C: f64 = 410.0 / 1024.0;

impl Fluid {
    /// The window `rtts` later; the last repair was over `since` RTTs ago, and took `repair`.
    fn grown(&mut self, w: f64, since: f64, repair: f64, rtts: f64) -> f64 {
        let gain = match self {
            Fluid::Reno => 1.0,
            Fluid::HighSpeed if w <= 38.0 => 1.0,
            Fluid::HighSpeed => {
                let p = 1e-3 * 1e-4_f64.powf(highspeed_share(w));
                let b = highspeed_b(w);
                (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
            }
            Fluid::Scalable if w <= 16.0 => 1.0,
            Fluid::Scalable => 0.01 * w,
            Fluid::Htcp { beta, .. } => 2.0 * (1.0 - *beta) * htcp_alpha((since + repair) * RTT_S),
            Fluid::AgileSd { loss, degraded } => {
                (3.0 * (*loss - w) / (*loss - *degraded).max(1.0)).clamp(1.0, 3.0)
            }
            Fluid::Cubic { wmax, prior, k_s, west, .. } => {
                let reno = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
                *west += rtts * if *west >= *prior { 1.0 } else { reno };
                let curve = |t_s: f64| *wmax + CUBIC_C * (t_s - *k_s).powi(3);
                if curve(since * RTT_S) < *west {
                    return west.max(w);
                }
                (curve((since + 1.0) * RTT_S).clamp(w, 1.5 * w) - w).max(0.0)
            }
        };
        w + gain.min(w) * rtts
    }

    fn cut(&mut self, w: f64) -> f64 {
        let left = match self {
            Fluid::Reno => 0.5 * w,
            Fluid::HighSpeed => (1.0 - highspeed_b(w)) * w,
            Fluid::Scalable => {
                if w <= 16.0 {
                    0.5 * w
                } else {
                    0.875 * w
                }
            }
            Fluid::Htcp { beta, event_rate } => {
                *beta = if (w - *event_rate).abs() <= 0.2 * *event_rate { 0.8 } else { 0.5 };
                *event_rate = w;
                *beta * w
            }
            Fluid::AgileSd { loss, degraded } => {
                (*loss, *degraded) = (w, 0.9 * w);
                0.9 * w
            }
            Fluid::Cubic { fast_convergence, wmax, prior, k_s, west } => {
                let left = CUBIC_BETA * w;
                *prior = w;
                *wmax = if *fast_convergence && w < *wmax { w * (1.0 + CUBIC_BETA) / 2.0 } else { w };
                *wmax = wmax.max(left);
                *k_s = ((*wmax - left) / CUBIC_C).cbrt();
                *west = left;
                left
            }
        };
        left.max(2.0)
    }

    /// The mean window over time when a packet is lost with probability `p`, whatever became of the others, or
    /// when it is one packet in 1 / p. On a stack, windows are whole segments, an RTT passes until a loss is known,
    /// in which others are not answered, and another until it is repaired, in which nothing grows.
    fn mean_cwnd(mut self, p: f64, independent: bool, on_a_stack: bool) -> f64 {
        const LOSSES: u32 = 20_000;
        const STEPS_PER_RTT: f64 = 4.0;
        let (mut random, mut w, mut since) = (1_u64, 1.0 / p.sqrt(), 0.0);
        let (mut area, mut time) = (0.0, 0.0);
        let rtt: f64 = if on_a_stack { 1.0 } else { 0.0 };
        for loss in 0..LOSSES {
            let mut left = 1.0 / p;
            if independent {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                left *= -(((random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln();
            }
            // From the loss to its cut, `left` is behind us.
            let mut known = rtt;
            loop {
                let step = if left > 0.0 {
                    (left / w).min(1.0 / STEPS_PER_RTT)
                } else {
                    known.min(1.0 / STEPS_PER_RTT)
                };
                if step <= 1e-12 {
                    break;
                }
                if loss > LOSSES / 20 {
                    area += step * if on_a_stack { w.floor() } else { w };
                    time += step;
                }
                if left > 0.0 {
                    left -= w * step;
                    left = if left < 1e-9 { 0.0 } else { left };
                } else {
                    known -= step;
                }
                since += step;
                if since > 0.0 {
                    w = self.grown(w, since, rtt, step);
                }
            }
            w = if on_a_stack { self.cut(w.floor()).floor() + w.fract() } else { self.cut(w) };
            since = -rtt;
        }
        area / time
    }
}

/// Against its own law of independent losses, and against what its paper says, which is the balance or the law of
/// even losses; the two of these differ by what `the_formulas_are_the_laws_of_even_losses` shows.
fn holds_to_its_law(cca: &str, fluid: Fluid, formula: impl Fn(f64) -> f64) {
    for (p, packets) in [(1e-3, 1e6), (1e-4, 8e6)] {
        let guess = fluid.mean_cwnd(p, true, true);
        let outcome = under_random_loss(cca, p, packets, guess);
        let law = fluid.mean_cwnd(outcome.loss_ratio, true, true);
        let off = outcome.mean_cwnd / law - 1.0;
        println!(
            "{cca} p {p}: {:.1} after {} losses, {:+.1} % of the law, {:+.1} % of it without a stack, {:+.1} % of the formula",
            outcome.mean_cwnd,
            outcome.losses,
            100.0 * off,
            100.0 * (outcome.mean_cwnd / fluid.mean_cwnd(outcome.loss_ratio, true, false) - 1.0),
            100.0 * (outcome.mean_cwnd / formula(outcome.loss_ratio) - 1.0)
        );
        assert!(outcome.losses >= 400, "p {p}: {} losses tell little", outcome.losses);
        assert!(off.abs() < 0.05, "{cca}, p {p}: {:.2}, law {law:.2}", outcome.mean_cwnd);
    }
}

fn cubic(fast_convergence: bool) -> Fluid {
    Fluid::Cubic { fast_convergence, wmax: 0.0, prior: 0.0, k_s: 0.0, west: 0.0 }
}

const HTCP: Fluid = Fluid::Htcp { beta: 0.5, event_rate: 0.0 };
const AGILE_SD: Fluid = Fluid::AgileSd { loss: 0.0, degraded: 0.0 };

#[test]
fn the_fluid_of_reno_has_the_constant_of_ott_kemperman_and_mathis() {
    let mean = Fluid::Reno.mean_cwnd(1e-6, true, false) * 1e-3;
    assert!((mean / 1.3098 - 1.0).abs() < 0.02, "{mean}");
    let even = Fluid::Reno.mean_cwnd(1e-6, false, false) * 1e-3;
    assert!((even / 1.5_f64.sqrt() - 1.0).abs() < 0.01, "{even}");
}

#[test]
#[ignore = "slow"]
fn highspeed_under_random_loss_has_the_mean_window_of_its_law() {
    holds_to_its_law("{ name = 'highspeed', variant = 'spec' }", Fluid::HighSpeed, highspeed_formula);
}

#[test]
fn scalable_under_random_loss_has_the_mean_window_of_its_law() {
    holds_to_its_law("{ name = 'scalable', variant = 'spec' }", Fluid::Scalable, |p| 0.08 / p);
}

#[test]
fn cubic_under_random_loss_has_the_mean_window_of_its_law() {
    holds_to_its_law(
        "{ name = 'cubic', variant = 'spec', slow_start = 'standard' }",
        cubic(true),
        cubic_formula,
    );
}

#[test]
fn cubic_without_fast_convergence_under_random_loss_has_the_mean_window_of_its_law() {
    holds_to_its_law(
        "{ name = 'cubic', variant = 'spec', slow_start = 'standard', fast_convergence = 'off' }",
        cubic(false),
        cubic_formula,
    );
}

#[test]
fn htcp_under_random_loss_has_the_mean_window_of_its_law() {
    holds_to_its_law("{ name = 'htcp', variant = 'spec' }", HTCP, htcp_formula);
}

#[test]
fn agile_sd_under_random_loss_has_the_mean_window_of_its_law() {
    holds_to_its_law("'agile-sd'", AGILE_SD, agile_sd_formula);
}

/// RFC 3649, 5: above Low_Window; below it is Reno.
fn highspeed_formula(p: f64) -> f64 {
    if p > 1e-3 { (1.5 / p).sqrt() } else { 0.12 / p.powf(0.835) }
}

/// RFC 9438, 5.1, and its Reno-friendly region.
fn cubic_formula(p: f64) -> f64 {
    let cubic =
        (CUBIC_C * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA))).powf(0.25) * (RTT_S / p).powf(0.75);
    cubic.max((1.5 / p).sqrt())
}

/// Epochs of T seconds that gain a fifth of the largest window: 0.2 W = integral of 0.4 alpha over T / RTT.
fn htcp_formula(p: f64) -> f64 {
    let (mut gained, mut area, mut rtts) = (0.0, 0.0, 0.0);
    while 4.0 * gained * rtts + area < 1.0 / p {
        rtts += 0.01;
        gained += 0.4 * 0.01 * htcp_alpha(rtts * RTT_S);
        area += 0.01 * gained;
    }
    4.0 * gained + area / rtts
}

/// AIMD with the harmonic mean of lambda over an epoch.
fn agile_sd_formula(p: f64) -> f64 {
    let lambda = 3.0 / (1.0 + 3.0_f64.ln());
    (lambda * 1.9 / (2.0 * 0.1 * p)).sqrt()
}

/// Remaining differences: the balance of Scalable is above its mean by log(1 / 0.875) / 0.125; RFC 3649 fits a line.
#[test]
fn the_formulas_are_the_laws_of_even_losses() {
    for p in [1e-4, 1e-5] {
        for (name, fluid, formula, off) in [
            ("highspeed", Fluid::HighSpeed, highspeed_formula(p), 0.0),
            ("scalable", Fluid::Scalable, 0.08 / p, 0.125 / 0.875_f64.ln().abs() - 1.0),
            ("cubic", cubic(false), cubic_formula(p), 0.0),
            ("htcp", HTCP, htcp_formula(p), 0.0),
            ("agile-sd", AGILE_SD, agile_sd_formula(p), 0.0),
        ] {
            let law = fluid.mean_cwnd(p, false, false);
            println!(
                "{name} p {p}: {law:.1} for even losses, formula {formula:.1}, {:+.1} %",
                100.0 * (law / formula - 1.0)
            );
            assert!(
                (law / formula - 1.0 - off).abs() < 0.03,
                "{name}, p {p}: {law:.1}, formula {formula:.1}"
            );
        }
    }
}
