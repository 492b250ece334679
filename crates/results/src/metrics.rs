//! Metrics of a run, from its rows.

use crate::schema::share_lost;
use crate::{Estimate, FlowResult, LinkResult, jain_index};
use cwnd_scenario::{End, Scenario};
use serde::Serialize;

/// The metrics of a run; with `T = Vec<f64>` those of many runs, with `T = Estimate` their statistics. NaN: the run has no
/// such metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Metrics<T = f64> {
    /// All flows together, from the warmup to the end.
    pub throughput_mbps: T,
    /// Payload of all flows, in order, once.
    pub goodput_mbps: T,
    /// Lost / sent over all flows; see [`FlowResult::loss_ratio`].
    pub loss_ratio: T,
    /// The mean of the flows' means, weighted by their throughput; flows without an RTT have no weight.
    pub mean_rtt_ms: T,
    /// The mean of the flows' 95th percentiles, weighted in the same way.
    pub p95_rtt_ms: T,
    /// Jain's index over the throughputs of the flows that lasted beyond the warmup.
    pub jain_fairness: T,
    /// Jain's index over throughput x base RTT of these flows.
    pub rtt_fairness: T,
    /// Utilization of the busiest link.
    pub utilization: T,
    /// Retransmission timeouts of all flows.
    pub timeouts: T,
    /// Quantiles over the transfers of all flows that began after the warmup and finished.
    pub fct_p50_ms: T,
    /// 95 % of the transfers took no longer.
    pub fct_p95_ms: T,
    /// 99 % of the transfers took no longer.
    pub fct_p99_ms: T,
    /// Median of the slowdowns of the transfers.
    pub slowdown_p50: T,
    /// 99 % of the transfers had no larger slowdown.
    pub slowdown_p99: T,
}

impl Metrics {
    /// The names of the fields in their order.
    pub const NAMES: [&str; 14] = [
        "throughput_mbps",
        "goodput_mbps",
        "loss_ratio",
        "mean_rtt_ms",
        "p95_rtt_ms",
        "jain_fairness",
        "rtt_fairness",
        "utilization",
        "timeouts",
        "fct_p50_ms",
        "fct_p95_ms",
        "fct_p99_ms",
        "slowdown_p50",
        "slowdown_p99",
    ];

    /// The metrics of a run of `scenario` with these rows.
    pub fn of(scenario: &Scenario, flows: &[FlowResult], links: &[LinkResult]) -> Metrics {
        let total = |metric: fn(&FlowResult) -> f64| flows.iter().map(metric).sum::<f64>();
        let ended_s = match scenario.end {
            End::Duration => scenario.duration_ns as f64 / 1e9,
            // At least one flow lasts until the end, so the latest stop is the end.
            End::LastArrival => flows.iter().map(|flow| flow.stop_s).fold(0.0, f64::max),
        };
        let warmup_s = scenario.warmup_ns as f64 / 1e9;
        let measured_s = |flow: &FlowResult| (flow.stop_s - flow.start_s.max(warmup_s)).max(0.0);
        // A flow that was over before the warmup has no share.
        let lasting = || flows.iter().filter(|flow| measured_s(flow) > 0.0);
        let weighted = |rtt_ms: fn(&FlowResult) -> Option<f64>| {
            let known = || flows.iter().filter_map(|flow| Some((rtt_ms(flow)?, flow.throughput_mbps)));
            let (sum, weight) =
                known().fold((0.0, 0.0), |(sum, weight), (rtt, mbps)| (sum + rtt * mbps, weight + mbps));
            // Rounding may exceed the least and the greatest of them.
            let (least, most) = known().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), (rtt, _)| {
                (least.min(rtt), most.max(rtt))
            });
            if weight > 0.0 { (sum / weight).clamp(least, most) } else { f64::NAN }
        };
        let over_time = |rate_mbps: fn(&FlowResult) -> f64| {
            flows.iter().map(|flow| rate_mbps(flow) * measured_s(flow)).sum::<f64>() / (ended_s - warmup_s)
        };
        // The same in all flows that have it.
        let of_transfers =
            |quantile: fn(&FlowResult) -> Option<f64>| flows.iter().find_map(quantile).unwrap_or(f64::NAN);
        let rtt_ns = |flow: &FlowResult| scenario.rtt_ns(flow.flow as usize) as f64;
        Metrics {
            throughput_mbps: over_time(|flow| flow.throughput_mbps),
            goodput_mbps: over_time(|flow| flow.goodput_mbps),
            loss_ratio: share_lost(
                flows.iter().map(|flow| flow.lost_pkts).sum(),
                flows.iter().map(FlowResult::carried_pkts).sum(),
            ),
            mean_rtt_ms: weighted(|flow| flow.mean_rtt_ms),
            p95_rtt_ms: weighted(|flow| flow.p95_rtt_ms),
            jain_fairness: jain_index(lasting().map(|flow| flow.throughput_mbps)),
            rtt_fairness: jain_index(lasting().map(|flow| flow.throughput_mbps * rtt_ns(flow))),
            utilization: links.iter().map(|link| link.utilization).fold(0.0, f64::max),
            timeouts: total(|flow| flow.timeouts as f64),
            fct_p50_ms: of_transfers(|flow| flow.fct_p50_ms),
            fct_p95_ms: of_transfers(|flow| flow.fct_p95_ms),
            fct_p99_ms: of_transfers(|flow| flow.fct_p99_ms),
            slowdown_p50: of_transfers(|flow| flow.slowdown_p50),
            slowdown_p99: of_transfers(|flow| flow.slowdown_p99),
        }
    }
}

impl<T> Metrics<T> {
    /// Applies `change` to each metric.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Metrics<U> {
        Metrics {
            throughput_mbps: change(self.throughput_mbps),
            goodput_mbps: change(self.goodput_mbps),
            loss_ratio: change(self.loss_ratio),
            mean_rtt_ms: change(self.mean_rtt_ms),
            p95_rtt_ms: change(self.p95_rtt_ms),
            jain_fairness: change(self.jain_fairness),
            rtt_fairness: change(self.rtt_fairness),
            utilization: change(self.utilization),
            timeouts: change(self.timeouts),
            fct_p50_ms: change(self.fct_p50_ms),
            fct_p95_ms: change(self.fct_p95_ms),
            fct_p99_ms: change(self.fct_p99_ms),
            slowdown_p50: change(self.slowdown_p50),
            slowdown_p99: change(self.slowdown_p99),
        }
    }

    /// The metrics in the order of their fields.
    pub fn values(self) -> Vec<T> {
        let mut values = Vec::new();
        self.map(|value| values.push(value));
        values
    }
}

impl Metrics<Estimate> {
    /// Means with 95 % intervals over `runs`.
    pub fn estimate(runs: &[Metrics]) -> Metrics<Estimate> {
        let mut columns = Metrics::<()>::default().map(|()| Vec::with_capacity(runs.len()));
        for run in runs {
            let mut values = run.values().into_iter();
            columns = columns.map(|mut column| {
                column.extend(values.next());
                column
            });
        }
        columns.map(|column: Vec<f64>| Estimate::of(&column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_names_of_the_fields() {
        let names = Metrics { throughput_mbps: 1.0, timeouts: 8.0, slowdown_p99: 9.0, ..Metrics::default() };
        let text = format!("{names:?}");
        let fields = text.trim_start_matches("Metrics { ").split(", ");
        let found: Vec<&str> = fields.map(|field| field.split(':').next().unwrap()).collect();
        assert_eq!(found, Metrics::NAMES);
        assert_eq!(names.values(), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 0.0, 9.0]);
    }

    fn scenario(flows: usize) -> Scenario {
        let flow = "[[flows]]\ncca = 'reno'\n";
        let text = format!(
            "duration = '10 s'\n[[chain]]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = 30\n{}",
            flow.repeat(flows)
        );
        Scenario::from_toml(&text, "a.toml", &[]).unwrap()
    }

    fn row(flow: u32, throughput_mbps: f64, rtts_ms: Option<(f64, f64)>) -> FlowResult {
        let (mean_rtt_ms, p95_rtt_ms) = rtts_ms.unzip();
        FlowResult { flow, stop_s: 10.0, throughput_mbps, mean_rtt_ms, p95_rtt_ms, ..FlowResult::default() }
    }

    #[test]
    fn the_rtt_is_that_of_the_flows_that_have_one() {
        let rows = [row(0, 2.0, Some((60.0, 90.0))), row(1, 6.0, None), row(2, 1.0, Some((30.0, 45.0)))];
        let metrics = Metrics::of(&scenario(3), &rows, &[]);
        assert_eq!((metrics.mean_rtt_ms, metrics.p95_rtt_ms), (150.0 / 3.0, 225.0 / 3.0));
        assert_eq!(metrics.throughput_mbps, 9.0);
        let none = Metrics::of(&scenario(2), &rows[1..2], &[]);
        assert!(none.mean_rtt_ms.is_nan() && none.p95_rtt_ms.is_nan(), "no RTT is not one of 0 ms");
    }

    #[test]
    fn a_flow_that_was_over_before_the_warmup_has_no_share() {
        let scenario = scenario(3).with(|scenario| scenario.warmup_ns = 5_000_000_000);
        let over = FlowResult { stop_s: 4.0, ..row(2, 0.0, None) };
        let metrics = Metrics::of(&scenario, &[row(0, 5.0, None), row(1, 5.0, None), over], &[]);
        assert_eq!((metrics.jain_fairness, metrics.rtt_fairness), (1.0, 1.0));
    }

    #[test]
    fn a_share_of_losses_is_of_all_packets_that_the_network_had() {
        let row = |flow, sent_pkts, delivered_pkts, lost_pkts| {
            let row = FlowResult { flow, sent_pkts, delivered_pkts, lost_pkts, ..FlowResult::default() };
            row.with_loss_ratio()
        };
        // In order: 30 are under way at the end; 164 of those sent before the warmup; copies of 20.
        let rows = [row(0, 200, 160, 10), row(1, 0, 107, 57), row(2, 100, 90, 30), row(3, 0, 0, 0)];
        assert_eq!(rows.each_ref().map(|row| row.loss_ratio), [0.05, 57.0 / 164.0, 0.25, 0.0]);
        let all = Metrics::of(&scenario(4), &rows, &[]);
        assert_eq!(all.loss_ratio, 97.0 / (200.0 + 164.0 + 120.0));
    }

    #[test]
    fn each_metric_has_its_own_statistics() {
        let run = |throughput_mbps, timeouts| Metrics { throughput_mbps, timeouts, ..Metrics::default() };
        let all = Metrics::estimate(&[run(1.0, 0.0), run(3.0, 10.0)]);
        assert_eq!(all.throughput_mbps, Estimate::of(&[1.0, 3.0]));
        assert_eq!(all.timeouts, Estimate::of(&[0.0, 10.0]));
        assert_eq!(all.utilization.mean, 0.0);
    }
}
