//! Windows under loss, where nothing but loss limits them.

mod common;

use common::answer;
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
            cca = "{cca}"
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

/// Of random losses some come early and some late, so that the mean is 7 % above sqrt(1.5 / p), the law of
/// losses that come evenly. With p = 1e-3 the window is cut every 24 RTTs and does not grow for one of them.
#[test]
fn reno_under_random_loss_has_the_mean_window_of_its_law() {
    for (p, packets) in [(1e-3, 2e6), (1e-4, 1e7), (1e-5, 6e7)] {
        let outcome = under_random_loss("reno", p, packets, RENO.mean_cwnd(p));
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
            stack = {{ recovery = "sack", ack_every = 1 }}
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
fn elastic_under_random_loss_has_the_mean_window_of_its_law() {
    for (p, packets) in [(1e-3, 5e6), (1e-4, 1e7), (1e-5, 6e7)] {
        let outcome = under_random_loss("elastic", p, packets, ELASTIC.balance(p));
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
