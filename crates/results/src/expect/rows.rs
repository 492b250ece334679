//! The rows of a run as a source.

use crate::expect::judge::judge;
use crate::expect::sampled::{FlowSample, SHOWN, sightings};
use crate::expect::source::{Moment, Series, Source, Unseen};
use crate::expect::verdict::Verdict;
use crate::{FlowResult, LinkResult, Metrics, Run};
use cwnd_scenario::{Expectation, Samples, Scenario};

/// `ssthresh_pkts` of samples where none was set.
const SSTHRESH_INFINITE: u32 = 0x7FFF_FFFF;

/// Decides what `scenario` expects of `run`, a run of it, in the order of the scenario.
///
/// Series and events are those of the run's samples. Other events than `cut`, `recovered` and `slow-start-exit`, and series that
/// the run does not have, cannot be seen.
///
/// ```
/// use cwnd_results::{Run, expect::verdicts};
/// use cwnd_scenario::Scenario;
///
/// let text = "duration = '1 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = 50\n[[flows]]\ncca = 'reno'
/// [[expect]]\nmetric = 'utilization'\nat_least = 0.9\nwhy = 'a full link'";
/// let scenario = Scenario::from_toml(text, "example.toml", &[])?;
/// let idle = Run::new("nowhere", 1);
/// let verdict = &verdicts(&scenario, &idle)[0];
/// assert!(!verdict.ok());
/// assert_eq!(verdict.to_string(), "utilization at least 0.9: fail: 0; a full link");
/// # Ok::<(), cwnd_scenario::Error>(())
/// ```
pub fn verdicts(scenario: &Scenario, run: &Run) -> Vec<Verdict> {
    let rows = Rows { scenario, run };
    scenario.expect.iter().map(|expectation| judge(expectation, &rows)).collect()
}

/// A run and its scenario.
struct Rows<'a> {
    scenario: &'a Scenario,
    run: &'a Run,
}

impl Source for Rows<'_> {
    fn metric(&self, expectation: &Expectation) -> Result<f64, Unseen> {
        let name = expectation.name.as_str();
        let Run { flows, links, .. } = self.run;
        let (found, place) = if let Some(flow) = expectation.flow {
            (flows.iter().find(|row| row.flow == flow).and_then(|row| of_flow(row, name)), " there")
        } else if let Some(link) = &expectation.link {
            (links.iter().find(|row| row.link == *link).and_then(|row| of_link(row, name)), " there")
        } else {
            let values = Metrics::of(self.scenario, flows, links).values();
            let index = Metrics::NAMES.iter().position(|metric| *metric == name);
            (index.map(|index| values[index]), "")
        };
        found.filter(|value| !value.is_nan()).ok_or_else(|| Unseen(format!("the run has no {name}{place}")))
    }

    fn series(&self, expectation: &Expectation) -> Result<Series, Unseen> {
        let name = expectation.name.as_str();
        let (values, owner) = match (expectation.flow, &expectation.link) {
            (_, Some(link)) => (self.series_of_link(link, name), format!("link {link}")),
            (flow, None) => {
                let flow = flow.unwrap_or(0);
                (self.series_of_flow(flow, name), format!("flow {flow}"))
            }
        };
        let Some(values) = values else { return Err(Unseen(format!("the samples have no {name}"))) };
        if values.is_empty() {
            return Err(Unseen(format!("the samples have no {name} of {owner}")));
        }
        let (time_s, values) = values.into_iter().unzip();
        Ok(Series { time_s, values, calls: None })
    }

    fn events(&self, flow: u32, kind: &str) -> Result<Vec<Moment>, Unseen> {
        let no_calls = "the calls of the flow's algorithm are not recorded";
        if !SHOWN.contains(&kind) {
            return Err(Unseen(format!("{no_calls}, and samples show no event '{kind}'")));
        }
        let samples = &self.run.flow_samples;
        let rows = |&row: &usize| samples.flow[row] == flow;
        let rows = (0..samples.time_s.len()).filter(rows).map(|row| FlowSample {
            time_s: samples.time_s[row],
            cwnd_pkts: samples.cwnd_pkts[row].into(),
            ssthresh_pkts: set(samples.ssthresh_pkts[row]),
            rtt_ms: Some(samples.rtt_ms[row]),
        });
        let rows: Vec<FlowSample> = rows.collect();
        if rows.is_empty() {
            return Err(Unseen(format!("{no_calls}, and there are no samples of flow {flow}")));
        }
        let seen = sightings(&rows).into_iter().filter(|one| one.kind == kind);
        Ok(seen.map(|one| Moment { time_s: one.time_s, round_s: one.round_s, call: 0 }).collect())
    }
}

/// Times and values, without the rows that have none.
type Points = Vec<(f64, f64)>;

impl Rows<'_> {
    /// None: samples have no such column.
    fn series_of_flow(&self, flow: u32, name: &str) -> Option<Points> {
        let samples = &self.run.flow_samples;
        let is_by_change = matches!(self.scenario.samples, Samples::Change);
        let value: &dyn Fn(usize) -> Option<f64> = match name {
            "cwnd_pkts" => &|row| Some(samples.cwnd_pkts[row].into()),
            "ssthresh_pkts" => &|row| set(samples.ssthresh_pkts[row]),
            "in_flight_pkts" => &|row| Some(samples.in_flight_pkts[row].into()),
            "rtt_ms" => &|row| Some(samples.rtt_ms[row]).filter(|&ms| ms > 0.0),
            "throughput_mbps" => &|row| Some(samples.throughput_mbps[row]).filter(|_| !is_by_change),
            _ => return None,
        };
        Some(points(&samples.time_s, &samples.flow, flow, value))
    }

    /// None: samples have no such column.
    fn series_of_link(&self, link: &str, name: &str) -> Option<Points> {
        let samples = &self.run.link_samples;
        let value: &dyn Fn(usize) -> Option<f64> = match name {
            "queue_pkts" => &|row| Some(samples.queue_pkts[row].into()),
            "queue_ms" => &|row| Some(samples.queue_ms[row]).filter(|ms| ms.is_finite()),
            "dropped_pkts" => &|row| Some(samples.dropped_pkts[row] as f64),
            "marked_pkts" => &|row| Some(samples.marked_pkts[row] as f64),
            _ => return None,
        };
        let index = self.scenario.links.iter().position(|one| one.name == link)?;
        Some(points(&samples.time_s, &samples.link, index as u32, value))
    }
}

fn points(time_s: &[f64], owners: &[u32], owner: u32, value: &dyn Fn(usize) -> Option<f64>) -> Points {
    let rows = owners.iter().enumerate().filter(|(_, of)| **of == owner);
    rows.filter_map(|(row, _)| Some((time_s[row], value(row)?))).collect()
}

fn set(ssthresh_pkts: u32) -> Option<f64> {
    (ssthresh_pkts < SSTHRESH_INFINITE).then(|| ssthresh_pkts.into())
}

/// The column of a flow's row; None: it has no value, or there is no such column.
fn of_flow(row: &FlowResult, name: &str) -> Option<f64> {
    match name {
        "sent_pkts" => Some(row.sent_pkts as f64),
        "retransmitted_pkts" => Some(row.retransmitted_pkts as f64),
        "delivered_pkts" => Some(row.delivered_pkts as f64),
        "lost_pkts" => Some(row.lost_pkts as f64),
        "timeouts" => Some(row.timeouts as f64),
        "marked_pkts" => Some(row.marked_pkts as f64),
        "throughput_mbps" => Some(row.throughput_mbps),
        "goodput_mbps" => Some(row.goodput_mbps),
        "loss_ratio" => Some(row.loss_ratio),
        "mean_rtt_ms" => row.mean_rtt_ms,
        "p95_rtt_ms" => row.p95_rtt_ms,
        "mean_cwnd_pkts" => Some(row.mean_cwnd_pkts),
        "fct_ms" => row.fct_ms,
        "fct_p50_ms" => row.fct_p50_ms,
        "fct_p95_ms" => row.fct_p95_ms,
        "fct_p99_ms" => row.fct_p99_ms,
        "slowdown_p50" => row.slowdown_p50,
        "slowdown_p99" => row.slowdown_p99,
        _ => None,
    }
}

/// The column of a link's row, in the same way.
fn of_link(row: &LinkResult, name: &str) -> Option<f64> {
    match name {
        "delivered_pkts" => Some(row.delivered_pkts as f64),
        "dropped_pkts" => Some(row.dropped_pkts as f64),
        "error_pkts" => Some(row.error_pkts as f64),
        "marked_pkts" => Some(row.marked_pkts as f64),
        "mean_queue_pkts" => Some(row.mean_queue_pkts),
        "max_queue_pkts" => Some(row.max_queue_pkts as f64),
        "utilization" => Some(row.utilization),
        "p95_queue_ms" => row.p95_queue_ms,
        _ => None,
    }
}
