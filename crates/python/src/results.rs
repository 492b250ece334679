//! Results as Python reads them: columns of little-endian numbers, and of texts.

use crate::Error;
use crate::scenario::no_scenario;
use cwnd_results::{Estimate, FlowResult, LinkResult, Metrics, Run, student_t_quantile, student_t_tail};
use cwnd_scenario::Scenario;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::collections::HashMap;
use std::time::Duration;

/// Some runs, in order.
#[pyclass(frozen, module = "cwnd._cwnd")]
pub struct Runs {
    runs: Vec<Run>,
    wall: Duration,
}

impl Runs {
    /// `wall`: from the beginning of the first run to the end of the last.
    pub fn new(runs: Vec<Run>, wall: Duration) -> Self {
        Runs { runs, wall }
    }

    pub fn run(&self, index: usize) -> PyResult<&Run> {
        self.runs.get(index).ok_or_else(|| pyo3::exceptions::PyIndexError::new_err(index))
    }
}

#[pymethods]
impl Runs {
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.seed).collect()
    }

    /// Where the runs were made, as results have it.
    #[getter]
    fn world(&self) -> &str {
        self.runs.first().map_or(cwnd_engine::WORLD, |run| &run.world)
    }

    /// Notes for the reader of each run.
    #[getter]
    fn notes(&self) -> Vec<Vec<String>> {
        self.runs.iter().map(|run| run.notes.clone()).collect()
    }

    /// Data packets that entered the networks.
    #[getter]
    fn packets(&self) -> u64 {
        self.runs.iter().map(|run| run.packets).sum()
    }

    /// From the beginning of the first run to the end of the last.
    #[getter]
    fn wall_s(&self) -> f64 {
        self.wall.as_secs_f64()
    }

    /// A row per run and flow: the columns of the results, and `run`, the run's index.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns::new(py, &self.runs, |run| &run.flows);
        columns.words("run", |run, _| run)?;
        columns.words("flow", |_, flow| flow.flow)?;
        columns.texts("cca", |flow| &flow.cca)?;
        columns.doubles("start_s", |flow| flow.start_s)?;
        columns.doubles("stop_s", |flow| flow.stop_s)?;
        columns.counts("sent_pkts", |flow| flow.sent_pkts)?;
        columns.counts("retransmitted_pkts", |flow| flow.retransmitted_pkts)?;
        columns.counts("delivered_pkts", |flow| flow.delivered_pkts)?;
        columns.counts("lost_pkts", |flow| flow.lost_pkts)?;
        columns.counts("timeouts", |flow| flow.timeouts)?;
        columns.counts("marked_pkts", |flow| flow.marked_pkts)?;
        columns.doubles("throughput_mbps", |flow| flow.throughput_mbps)?;
        columns.doubles("goodput_mbps", |flow| flow.goodput_mbps)?;
        columns.doubles("loss_ratio", |flow| flow.loss_ratio)?;
        columns.doubles("mean_rtt_ms", |flow| flow.mean_rtt_ms.unwrap_or(f64::NAN))?;
        columns.doubles("p95_rtt_ms", |flow| flow.p95_rtt_ms.unwrap_or(f64::NAN))?;
        columns.doubles("mean_cwnd_pkts", |flow| flow.mean_cwnd_pkts)?;
        columns.doubles("fct_ms", |flow| flow.fct_ms.unwrap_or(f64::NAN))?;
        columns.doubles("fct_p50_ms", |flow| flow.fct_p50_ms.unwrap_or(f64::NAN))?;
        columns.doubles("fct_p95_ms", |flow| flow.fct_p95_ms.unwrap_or(f64::NAN))?;
        columns.doubles("fct_p99_ms", |flow| flow.fct_p99_ms.unwrap_or(f64::NAN))?;
        columns.doubles("slowdown_p50", |flow| flow.slowdown_p50.unwrap_or(f64::NAN))?;
        columns.doubles("slowdown_p99", |flow| flow.slowdown_p99.unwrap_or(f64::NAN))?;
        Ok(columns.dict)
    }

    /// How long the first slow start of each flow lasted, in the same form; NaN: the algorithm sets no ssthresh.
    fn slow_starts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns::new(py, &self.runs, |run| &run.flows);
        columns.words("run", |run, _| run)?;
        columns.words("flow", |_, flow| flow.flow)?;
        columns.doubles("start_s", |flow| flow.start_s)?;
        columns.doubles("stop_s", |flow| flow.stop_s)?;
        columns.doubles("slow_start_s", |flow| flow.slow_start_s.unwrap_or(f64::NAN))?;
        Ok(columns.dict)
    }

    /// A row per run and link, in the same form.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = Columns::new(py, &self.runs, |run| &run.links);
        columns.words("run", |run, _| run)?;
        columns.texts("link", |link| &link.link)?;
        columns.counts("delivered_pkts", |link| link.delivered_pkts)?;
        columns.counts("dropped_pkts", |link| link.dropped_pkts)?;
        columns.counts("error_pkts", |link| link.error_pkts)?;
        columns.counts("marked_pkts", |link| link.marked_pkts)?;
        columns.doubles("mean_queue_pkts", |link| link.mean_queue_pkts)?;
        columns.counts("max_queue_pkts", |link| link.max_queue_pkts)?;
        columns.doubles("utilization", |link| link.utilization)?;
        columns.doubles("p95_queue_ms", |link| link.p95_queue_ms.unwrap_or(f64::NAN))?;
        Ok(columns.dict)
    }

    /// The flows' time series of one run.
    fn flow_samples<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let samples = &self.run(run)?.flow_samples;
        let columns = PyDict::new(py);
        columns.set_item("time_s", doubles(py, &samples.time_s)?)?;
        columns.set_item("flow", words(py, &samples.flow)?)?;
        columns.set_item("cwnd_pkts", words(py, &samples.cwnd_pkts)?)?;
        columns.set_item("min_cwnd_pkts", words(py, &samples.min_cwnd_pkts)?)?;
        columns.set_item("max_cwnd_pkts", words(py, &samples.max_cwnd_pkts)?)?;
        columns.set_item("ssthresh_pkts", words(py, &samples.ssthresh_pkts)?)?;
        columns.set_item("in_flight_pkts", words(py, &samples.in_flight_pkts)?)?;
        columns.set_item("rtt_ms", doubles(py, &samples.rtt_ms)?)?;
        columns.set_item("throughput_mbps", doubles(py, &samples.throughput_mbps)?)?;
        columns.set_item("marked_pkts", counts(py, &samples.marked_pkts)?)?;
        Ok(columns)
    }

    /// The groups' time series of one run.
    fn group_samples<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let samples = &self.run(run)?.group_samples;
        let columns = PyDict::new(py);
        columns.set_item("time_s", doubles(py, &samples.time_s)?)?;
        columns.set_item("group", words(py, &samples.group)?)?;
        columns.set_item("flows", words(py, &samples.flows)?)?;
        columns.set_item("mean_cwnd_pkts", doubles(py, &samples.mean_cwnd_pkts)?)?;
        columns.set_item("min_cwnd_pkts", words(py, &samples.min_cwnd_pkts)?)?;
        columns.set_item("max_cwnd_pkts", words(py, &samples.max_cwnd_pkts)?)?;
        columns.set_item("in_flight_pkts", words(py, &samples.in_flight_pkts)?)?;
        columns.set_item("rtt_ms", doubles(py, &samples.rtt_ms)?)?;
        columns.set_item("throughput_mbps", doubles(py, &samples.throughput_mbps)?)?;
        columns.set_item("marked_pkts", counts(py, &samples.marked_pkts)?)?;
        Ok(columns)
    }

    /// The links' time series of one run.
    fn link_samples<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let samples = &self.run(run)?.link_samples;
        let columns = PyDict::new(py);
        columns.set_item("time_s", doubles(py, &samples.time_s)?)?;
        columns.set_item("link", words(py, &samples.link)?)?;
        columns.set_item("queue_pkts", words(py, &samples.queue_pkts)?)?;
        columns.set_item("queue_ms", doubles(py, &samples.queue_ms)?)?;
        columns.set_item("dropped_pkts", counts(py, &samples.dropped_pkts)?)?;
        columns.set_item("marked_pkts", counts(py, &samples.marked_pkts)?)?;
        Ok(columns)
    }

    /// The transfers of one run.
    fn transfers<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let transfers = &self.run(run)?.transfers;
        let columns = PyDict::new(py);
        columns.set_item("flow", words(py, &transfers.flow)?)?;
        columns.set_item("start_s", doubles(py, &transfers.start_s)?)?;
        columns.set_item("size_bytes", counts(py, &transfers.size_bytes)?)?;
        columns.set_item("fct_ms", doubles(py, &transfers.fct_ms)?)?;
        columns.set_item("slowdown", doubles(py, &transfers.slowdown)?)?;
        columns.set_item("retransmitted_pkts", counts(py, &transfers.retransmitted_pkts)?)?;
        Ok(columns)
    }
}

/// The rows of all runs, each with its run's index.
struct Columns<'a, 'py, T> {
    rows: Vec<(u32, &'a T)>,
    dict: Bound<'py, PyDict>,
}

impl<'a, 'py, T> Columns<'a, 'py, T> {
    fn new(py: Python<'py>, runs: &'a [Run], of: impl Fn(&'a Run) -> &'a Vec<T>) -> Self {
        let rows = (0..).zip(runs).flat_map(|(place, run)| of(run).iter().map(move |row| (place, row)));
        Columns { rows: rows.collect(), dict: PyDict::new(py) }
    }

    fn words(&self, name: &str, of: impl Fn(u32, &T) -> u32) -> PyResult<()> {
        self.set(name, |&(run, row)| of(run, row).to_le_bytes())
    }

    fn counts(&self, name: &str, of: impl Fn(&T) -> u64) -> PyResult<()> {
        self.set(name, |(_, row)| of(row).to_le_bytes())
    }

    fn doubles(&self, name: &str, of: impl Fn(&T) -> f64) -> PyResult<()> {
        self.set(name, |(_, row)| of(row).to_le_bytes())
    }

    /// One text, in which a NUL follows each row's: a million rows are no million objects of Python.
    fn texts(&self, name: &str, of: impl Fn(&'a T) -> &'a String) -> PyResult<()> {
        let mut texts = String::new();
        for (_, row) in &self.rows {
            texts += of(row);
            texts.push('\0');
        }
        self.dict.set_item(name, texts)
    }

    fn set<const N: usize>(&self, name: &str, bytes: impl Fn(&(u32, &'a T)) -> [u8; N]) -> PyResult<()> {
        self.dict.set_item(name, column(self.dict.py(), self.rows.iter().map(bytes))?)
    }
}

pub fn doubles<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyBytes>> {
    column(py, values.iter().map(|value| value.to_le_bytes()))
}

pub fn words<'py>(py: Python<'py>, values: &[u32]) -> PyResult<Bound<'py, PyBytes>> {
    column(py, values.iter().map(|value| value.to_le_bytes()))
}

fn counts<'py>(py: Python<'py>, values: &[u64]) -> PyResult<Bound<'py, PyBytes>> {
    column(py, values.iter().map(|value| value.to_le_bytes()))
}

fn column<'py, const N: usize>(
    py: Python<'py>,
    values: impl ExactSizeIterator<Item = [u8; N]>,
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, N * values.len(), |bytes| {
        for (to, from) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(values) {
            *to = from;
        }
        Ok(())
    })
}

/// The metrics of runs of `scenario` (JSON; its algorithms may be unknown here), a column each. `flows` and `links` are
/// columns as [`Runs`] has them: the rows of a run are neighbours, and both list the runs in the same order.
#[pyfunction]
pub fn metrics<'py>(
    py: Python<'py>,
    scenario: &str,
    flows: HashMap<String, PyBackedBytes>,
    links: HashMap<String, PyBackedBytes>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(no_scenario)?;
    scenario.check_paths().map_err(no_scenario)?;
    let (flow_runs, flows) = read_flows(&Reader(&flows))?;
    let (link_runs, links) = read_links(&Reader(&links))?;
    if flows.iter().any(|flow| flow.flow as usize >= scenario.flows.len()) {
        return Err(Error::new_err("runs of another scenario; their flows are not those of this one"));
    }
    let (mut flow, mut link) = (0, 0);
    let mut runs = Vec::new();
    for own in flow_runs.chunk_by(|one, other| one == other) {
        let links_of_run = link_runs[link..].iter().take_while(|&&run| run == own[0]).count();
        let rows = (&flows[flow..flow + own.len()], &links[link..link + links_of_run]);
        runs.push(Metrics::of(&scenario, rows.0, rows.1).values());
        flow += own.len();
        link += links_of_run;
    }
    let columns = PyDict::new(py);
    for (index, name) in Metrics::NAMES.iter().enumerate() {
        let column: Vec<f64> = runs.iter().map(|run| run[index]).collect();
        columns.set_item(name, doubles(py, &column)?)?;
    }
    Ok(columns)
}

/// Reads columns by their names.
struct Reader<'a>(&'a HashMap<String, PyBackedBytes>);

impl Reader<'_> {
    fn column<T, const N: usize>(&self, name: &str, from: fn([u8; N]) -> T) -> PyResult<Vec<T>> {
        let bytes = self.0.get(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(bytes.as_chunks().0.iter().copied().map(from).collect())
    }
}

/// Each row's run, and the columns that metrics need.
fn read_flows(columns: &Reader) -> PyResult<(Vec<u32>, Vec<FlowResult>)> {
    let flow = columns.column("flow", u32::from_le_bytes)?;
    let counts = |name| columns.column(name, u64::from_le_bytes);
    let doubles = |name| columns.column(name, f64::from_le_bytes);
    let (sent, delivered) = (counts("sent_pkts")?, counts("delivered_pkts")?);
    let (lost, timeouts) = (counts("lost_pkts")?, counts("timeouts")?);
    let (start, stop) = (doubles("start_s")?, doubles("stop_s")?);
    let (throughput, goodput) = (doubles("throughput_mbps")?, doubles("goodput_mbps")?);
    let optional = |name| -> PyResult<Vec<Option<f64>>> {
        Ok(doubles(name)?.into_iter().map(|value| Some(value).filter(|value| !value.is_nan())).collect())
    };
    let (mean_rtt, p95_rtt) = (optional("mean_rtt_ms")?, optional("p95_rtt_ms")?);
    let (fct_p50, fct_p95) = (optional("fct_p50_ms")?, optional("fct_p95_ms")?);
    let fct_p99 = optional("fct_p99_ms")?;
    let (slowdown_p50, slowdown_p99) = (optional("slowdown_p50")?, optional("slowdown_p99")?);
    let row = |row: usize| {
        let mut result = FlowResult::default();
        result.flow = flow[row];
        result.start_s = start[row];
        result.stop_s = stop[row];
        result.sent_pkts = sent[row];
        result.delivered_pkts = delivered[row];
        result.lost_pkts = lost[row];
        result.timeouts = timeouts[row];
        result.throughput_mbps = throughput[row];
        result.goodput_mbps = goodput[row];
        result.mean_rtt_ms = mean_rtt[row];
        result.p95_rtt_ms = p95_rtt[row];
        result.fct_p50_ms = fct_p50[row];
        result.fct_p95_ms = fct_p95[row];
        result.fct_p99_ms = fct_p99[row];
        result.slowdown_p50 = slowdown_p50[row];
        result.slowdown_p99 = slowdown_p99[row];
        result
    };
    Ok((columns.column("run", u32::from_le_bytes)?, (0..flow.len()).map(row).collect()))
}

fn read_links(columns: &Reader) -> PyResult<(Vec<u32>, Vec<LinkResult>)> {
    let utilization = columns.column("utilization", f64::from_le_bytes)?;
    let link = |utilization| {
        let mut row = LinkResult::default();
        row.utilization = utilization;
        row
    };
    Ok((columns.column("run", u32::from_le_bytes)?, utilization.into_iter().map(link).collect()))
}

/// Mean, ends of the 95 % interval (None for one value) and number of `values`, little-endian doubles.
#[pyfunction]
pub fn estimate(values: &[u8]) -> (f64, Option<f64>, Option<f64>, u32) {
    let values: Vec<f64> = values.as_chunks().0.iter().copied().map(f64::from_le_bytes).collect();
    let Estimate { mean, ci95_low, ci95_high, n, .. } = Estimate::of(&values);
    (mean, ci95_low, ci95_high, n)
}

/// The quantile at `p` of Student's t with `df` degrees of freedom.
#[pyfunction]
pub fn t_quantile(p: f64, df: u32) -> f64 {
    student_t_quantile(p, df.into())
}

/// The chance that Student's t with `df` degrees of freedom exceeds `t`.
#[pyfunction]
pub fn t_tail(t: f64, df: u32) -> f64 {
    student_t_tail(t, df.into())
}
