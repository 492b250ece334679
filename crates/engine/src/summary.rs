//! Statistics over repetitions.

use crate::results::{Estimate, FlowResult, Run, Summary};
use cwnd_scenario::{End, Scenario};

/// Means over `runs` with 95 % confidence intervals.
pub fn summarize(scenario: &Scenario, runs: &[Run]) -> Summary {
    let mut summarizer = Summarizer::default();
    for run in runs {
        summarizer.add(scenario, run);
    }
    summarizer.summary()
}

/// The metrics of the runs added so far. It keeps eight numbers per run and not the run.
#[derive(Clone, Default)]
pub struct Summarizer {
    throughput_mbps: Vec<f64>,
    goodput_mbps: Vec<f64>,
    loss_ratio: Vec<f64>,
    mean_rtt_ms: Vec<f64>,
    jain_fairness: Vec<f64>,
    rtt_fairness: Vec<f64>,
    utilization: Vec<f64>,
    timeouts: Vec<f64>,
}

impl Summarizer {
    /// Adds a run of `scenario`, the same for all runs.
    pub fn add(&mut self, scenario: &Scenario, run: &Run) {
        let total = |metric: fn(&FlowResult) -> f64| run.flows.iter().map(metric).sum::<f64>();
        let ended_s = match scenario.end {
            End::Duration => scenario.duration_ns as f64 / 1e9,
            // Some flow lasts until then.
            End::LastArrival => run.flows.iter().map(|flow| flow.stop_s).fold(0.0, f64::max),
        };
        self.throughput_mbps.push(total(|f| f.throughput_mbps * (f.stop_s - f.start_s)) / ended_s);
        self.goodput_mbps.push(total(|f| f.goodput_mbps * (f.stop_s - f.start_s)) / ended_s);
        self.loss_ratio.push(total(|f| f.lost_pkts as f64) / total(|f| f.sent_pkts as f64).max(1.0));
        let weighted = total(|f| f.mean_rtt_ms.unwrap_or(0.0) * f.throughput_mbps);
        self.mean_rtt_ms.push(weighted / total(|f| f.throughput_mbps).max(f64::MIN_POSITIVE));
        self.jain_fairness.push(jain(run.flows.iter().map(|flow| flow.throughput_mbps)));
        let rtt_ns = |flow: &FlowResult| scenario.rtt_ns(flow.flow as usize) as f64;
        self.rtt_fairness.push(jain(run.flows.iter().map(|flow| flow.throughput_mbps * rtt_ns(flow))));
        self.utilization.push(run.links.iter().map(|link| link.utilization).fold(0.0, f64::max));
        self.timeouts.push(total(|flow| flow.timeouts as f64));
    }

    /// Means over the runs with 95 % confidence intervals.
    pub fn summary(&self) -> Summary {
        Summary {
            throughput_mbps: estimate(&self.throughput_mbps),
            goodput_mbps: estimate(&self.goodput_mbps),
            loss_ratio: estimate(&self.loss_ratio),
            mean_rtt_ms: estimate(&self.mean_rtt_ms),
            jain_fairness: estimate(&self.jain_fairness),
            rtt_fairness: estimate(&self.rtt_fairness),
            utilization: estimate(&self.utilization),
            timeouts: estimate(&self.timeouts),
        }
    }
}

/// Jain's fairness index: (sum x)^2 / (n sum x^2), 1 when all are equal (Jain, Chiu, Hawe 1984).
fn jain(shares: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) =
        shares.fold((0.0, 0.0, 0.0), |(n, sum, squares), x| (n + 1.0, sum + x, squares + x * x));
    if squares == 0.0 { 1.0 } else { sum * sum / (n * squares) }
}

fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return Estimate { mean, ci95_low: None, ci95_high: None, n: values.len() as u32 };
    }
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let half = student_t(values.len() - 1) * (variance / n).sqrt();
    Estimate { mean, ci95_low: Some(mean - half), ci95_high: Some(mean + half), n: values.len() as u32 }
}

/// The 97.5 % quantile of Student's t with `df` degrees of freedom: tabulated to 10, then by the expansion of
/// Abramowitz and Stegun, 26.7.5, to better than 1e-4.
fn student_t(df: usize) -> f64 {
    const TABLE: [f64; 10] =
        [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
    if let Some(&t) = TABLE.get(df - 1) {
        return t;
    }
    let z = 1.959_963_985_f64;
    let v = df as f64;
    let powers = [z.powi(3), z.powi(5), z.powi(7)];
    z + (powers[0] + z) / (4.0 * v)
        + (5.0 * powers[1] + 16.0 * powers[0] + 3.0 * z) / (96.0 * v * v)
        + (3.0 * powers[2] + 19.0 * powers[1] + 17.0 * powers[0] - 15.0 * z) / (384.0 * v * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_matches_the_printed_tables() {
        for (df, t) in
            [(1, 12.706), (4, 2.776), (10, 2.228), (11, 2.201), (15, 2.131), (29, 2.045), (60, 2.000)]
        {
            assert!((student_t(df) - t).abs() < 6e-4, "df {df}: {} is not {t}", student_t(df));
        }
    }

    #[test]
    fn jain_is_one_for_equal_shares_and_one_over_n_for_a_single_winner() {
        assert_eq!(jain([5.0; 4].into_iter()), 1.0);
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
    }

    #[test]
    fn an_estimate_of_two_values_spans_them_by_student_t() {
        let e = estimate(&[1.0, 3.0]);
        assert_eq!((e.mean, e.n), (2.0, 2));
        assert!((e.ci95_high.unwrap() - (2.0 + 12.7062)).abs() < 1e-9);
    }
}
