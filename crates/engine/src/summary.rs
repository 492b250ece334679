//! Statistics over repetitions.

use crate::results::{Estimate, Run, Summary};
use cwnd_scenario::{End, Scenario};

/// Means over `runs` with 95 % confidence intervals.
pub fn summarize(scenario: &Scenario, runs: &[Run]) -> Summary {
    let over = |metric: &dyn Fn(&Run) -> f64| estimate(&runs.iter().map(metric).collect::<Vec<_>>());
    let total =
        |run: &Run, metric: fn(&crate::results::FlowResult) -> f64| run.flows.iter().map(metric).sum::<f64>();
    let ended_s = |run: &Run| match scenario.end {
        End::Duration => scenario.duration_ns as f64 / 1e9,
        // Some flow lasts until then.
        End::LastArrival => run.flows.iter().map(|flow| flow.stop_s).fold(0.0, f64::max),
    };
    Summary {
        throughput_mbps: over(&|run| {
            total(run, |f| f.throughput_mbps * (f.stop_s - f.start_s)) / ended_s(run)
        }),
        goodput_mbps: over(&|run| total(run, |f| f.goodput_mbps * (f.stop_s - f.start_s)) / ended_s(run)),
        loss_ratio: over(&|run| {
            total(run, |f| f.lost_pkts as f64) / total(run, |f| f.sent_pkts as f64).max(1.0)
        }),
        mean_rtt_ms: over(&|run| {
            let weighted = total(run, |f| f.mean_rtt_ms.unwrap_or(0.0) * f.throughput_mbps);
            weighted / total(run, |f| f.throughput_mbps).max(f64::MIN_POSITIVE)
        }),
        jain_fairness: over(&|run| jain(run.flows.iter().map(|flow| flow.throughput_mbps))),
        rtt_fairness: over(&|run| {
            jain(
                run.flows
                    .iter()
                    .map(|flow| flow.throughput_mbps * scenario.rtt_ns(flow.flow as usize) as f64),
            )
        }),
        utilization: over(&|run| run.links.iter().map(|link| link.utilization).fold(0.0, f64::max)),
        timeouts: over(&|run| total(run, |flow| flow.timeouts as f64)),
    }
}

/// Jain's fairness index: (sum x)^2 / (n sum x^2), 1 when all are equal (Jain, Chiu, Hawe 1984).
fn jain(shares: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) =
        shares.fold((0.0, 0.0, 0.0), |(n, sum, squares), x| (n + 1.0, sum + x, squares + x * x));
    // A rounding may exceed what cannot.
    if squares == 0.0 { 1.0 } else { (sum * sum / (n * squares)).min(1.0) }
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
