//! Reads what the flows of a group send.

use crate::error::{Error, Refusal, quote, suggest};
use crate::keys;
use crate::node::{Node, Table, show};
use crate::traffic::{Arrivals, Requests, Size, Traffic};
use crate::units::{self, DAY, MICROSECOND};
use crate::{Flow, Link};
use std::sync::Arc;
use toml::de::DeValue;

const SIZE_EXAMPLE: &str = "give it like size = \"100 KB\" or { distribution = \"web-search\" }";
const ARRIVALS_EXAMPLE: &str =
    "give it like { process = \"poisson\", load = 0.5 }, or rate = 100 per second, or { times = \"FILE\" }";
const POINTS_EXAMPLE: &str =
    "lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1";
const TIMES_EXAMPLE: &str =
    "lines of a time in seconds after the start of the flow, in order, before its stop";
const ARRIVALS_MAX: f64 = 1e7;

/// Traffic whose load may depend on the path.
pub struct Draft<'a> {
    traffic: Arc<Traffic>,
    load: Option<(Node<'a>, f64)>,
}

/// Reads what the `count` flows of the [[flows]] with this number send in `span_ns`; None: as much as they can.
pub fn traffic<'a>(
    table: &Table<'a>,
    (group, count): (u32, u64),
    span_ns: u64,
) -> Result<Option<Draft<'a>>, Error> {
    let mut traffic = Traffic {
        size: table.get("size").map(|node| size(&node)).transpose()?,
        mean_on_off_ns: mean_on_off(table)?,
        ..Traffic::default()
    };
    let mut load = None;
    if let Some(node) = table.get("arrivals") {
        if traffic.size.is_none() {
            return Err(node.error("arrivals of transfers without a size", SIZE_EXAMPLE));
        }
        if count > 1 {
            let accepted = "leave 'count' out: as many transfers run at one time as have arrived";
            return Err(node.error(format!("arrivals at {count} flows"), accepted));
        }
        (traffic.arrivals, load) = arrivals(&node, span_ns)?;
    }
    if let Some(node) = table.get("requests") {
        if traffic.size.is_none() {
            return Err(node.error("responses without a size", SIZE_EXAMPLE));
        }
        if let Some(key) =
            ["arrivals", "app_rate", "on", "off"].into_iter().find(|key| table.get(key).is_some())
        {
            return Err(node.error(format!("both 'requests' and '{key}'"), "give one of them"));
        }
        traffic.requests = Some(requests(&node, group)?);
    }
    if let Some(node) = table.get("frame_rate") {
        if table.get("app_rate").is_none() {
            return Err(
                node.error("frames of no rate", "give the rate of the payload, like app_rate = \"2 Mbps\"")
            );
        }
        if let Some(key) = ["size", "on", "off"].into_iter().find(|key| table.get(key).is_some()) {
            return Err(node.error(format!("both 'frame_rate' and '{key}'"), "give one of them"));
        }
        traffic.frames_per_s = Some(node.read(|v| units::whole(v, keys::FLOWS.bounds("frame_rate")))? as u32);
    }
    let given = load.is_some() || traffic != Traffic::default();
    Ok(given.then(|| Draft { traffic: Arc::new(traffic), load }))
}

impl Draft<'_> {
    /// The traffic of `flow`, which starts and stops as it will and crosses some of `links`.
    pub fn settle(&self, flow: &Flow, links: &[Link]) -> Result<Arc<Traffic>, Error> {
        let mut traffic = self.traffic.clone();
        if let (Some((node, load)), Some(size)) = (&self.load, &self.traffic.size) {
            let slowest_bps = flow.path.iter().map(|&link| links[link as usize].rate_bps).min();
            let per_s = load * slowest_bps.unwrap_or(0) as f64 / 8.0 / size.mean_wire_bytes(flow);
            check_count(node, per_s, flow.stop_ns - flow.start_ns)?;
            Arc::make_mut(&mut traffic).arrivals = Some(Arrivals::Poisson { per_s });
        }
        Ok(traffic)
    }
}

fn size(node: &Node) -> Result<Size, Error> {
    if !matches!(node.value(), DeValue::Table(_)) {
        return Ok(Size::Fixed { bytes: node.read(units::data)? });
    }
    let table = node.any_table("a size", SIZE_EXAMPLE)?;
    if let Some(file) = table.get("csv") {
        node.table(&keys::SIZE_FILE)?;
        return points(&file);
    }
    let name = table.need("distribution", "give it like distribution = \"web-search\", or csv = \"FILE\"")?;
    let known = name.read(|value| {
        let text = value.as_str().unwrap_or_default();
        keys::DISTRIBUTIONS.into_iter().find(|known| known.name == text).ok_or_else(|| {
            let names = keys::DISTRIBUTIONS.map(|known| known.name);
            Refusal::new(format!("{} is not a distribution", show(value)), suggest(text, names))
        })
    })?;
    let table = node.table(known)?;
    let number = |key: &str| {
        let range = known.range(key);
        let accepted = format!("a number from {} to {}", range.start(), range.end());
        table.need(key, &accepted)?.read(|value| within(value, range, &accepted))
    };
    let data = |key: &str| table.need(key, "a size like '100 KB'")?.read(units::data);
    Ok(match known.name {
        "web-search" => Size::web_search(),
        "data-mining" => Size::data_mining(),
        "lognormal" => Size::Lognormal { mu: number("mu")?, sigma: number("sigma")? },
        "pareto" => {
            let (min_bytes, max_bytes) = (data("min")?, data("max")?);
            if min_bytes >= max_bytes {
                return Err(table.need("max", "")?.error(format!("{max_bytes} bytes"), "more than 'min'"));
            }
            Size::Pareto { alpha: number("alpha")?, min_bytes, max_bytes }
        }
        _ => Size::Exponential { mean_bytes: data("mean")? },
    })
}

/// The numbers of each line of a file that `node` names; lines that are empty or begin with '#' have none.
fn rows<const N: usize>(node: &Node, accepted: &str) -> Result<Vec<(usize, [f64; N])>, Error> {
    let text = node.read_file(accepted)?;
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let numbers: Option<Vec<f64>> = line
            .split(',')
            .map(|part| part.trim().parse().ok().filter(|number: &f64| number.is_finite()))
            .collect();
        match numbers.and_then(|numbers| numbers.try_into().ok()) {
            Some(row) => rows.push((number, row)),
            None => return Err(node.error(format!("line {number} of the file is {}", quote(line)), accepted)),
        }
    }
    if rows.is_empty() {
        return Err(node.error("a file without numbers", accepted));
    }
    Ok(rows)
}

fn points(node: &Node) -> Result<Size, Error> {
    let mut points: Vec<(u64, f64)> = Vec::new();
    let rows = rows::<2>(node, POINTS_EXAMPLE)?;
    for (line, [bytes, below]) in rows {
        let found = |what: &str| node.error(format!("line {line} of the file: {what}"), POINTS_EXAMPLE);
        if !(1.0..=Size::BYTES_MAX as f64).contains(&bytes) || bytes.fract() != 0.0 {
            return Err(found(&format!("{bytes} is not a size")));
        }
        if !(0.0..=1.0).contains(&below) {
            return Err(found(&format!("{below} is not a probability")));
        }
        if points.last().is_some_and(|(before, p)| *before as f64 >= bytes || *p >= below) {
            return Err(found("not more than the line before"));
        }
        points.push((bytes as u64, below));
    }
    match points.last() {
        Some((_, 1.0)) if points[0].1 < 1.0 || points.len() == 1 => Ok(Size::Points { points }),
        last => {
            let end = last.map_or(0.0, |(_, p)| *p);
            Err(node.error(format!("the last probability is {end}"), POINTS_EXAMPLE))
        }
    }
}

type Loaded<'a> = (Option<Arrivals>, Option<(Node<'a>, f64)>);

fn arrivals<'a>(node: &Node<'a>, span_ns: u64) -> Result<Loaded<'a>, Error> {
    let table = node.table_of(&[keys::POISSON.parts[0], keys::ARRIVAL_TIMES.parts[0]])?;
    if let Some(times) = table.get("times") {
        node.table(&keys::ARRIVAL_TIMES)?;
        return Ok((Some(Arrivals::Times { times_ns: times_ns(&times, span_ns)? }), None));
    }
    let process = table.need("process", ARRIVALS_EXAMPLE)?;
    if process.value().as_str() != Some("poisson") {
        let found = format!("{} is not a process of arrivals", show(process.value()));
        return Err(process.error(found, "there is poisson"));
    }
    match (table.get("load"), table.get("rate")) {
        (Some(load), None) => {
            let share = load.read(|value| {
                let accepted = "more than 0 and less than 1: the share of the slowest link's rate";
                within(value, keys::POISSON.range("load"), accepted)
            })?;
            Ok((None, Some((load, share))))
        }
        (None, Some(rate)) => {
            let per_s = rate.read(|value| {
                within(value, keys::POISSON.range("rate"), "transfers per second, more than 0")
            })?;
            check_count(&rate, per_s, span_ns)?;
            Ok((Some(Arrivals::Poisson { per_s }), None))
        }
        (Some(_), Some(rate)) => Err(rate.error("both 'load' and 'rate'", "give one of them")),
        (None, None) => Err(table.missing("load", ARRIVALS_EXAMPLE)),
    }
}

fn check_count(node: &Node, per_s: f64, span_ns: u64) -> Result<(), Error> {
    let expected = per_s * span_ns as f64 / 1e9;
    if expected > ARRIVALS_MAX {
        let found = format!("{expected:.3e} transfers are expected");
        return Err(node.error(found, "at most 1e7: a lower load, larger transfers or a shorter time"));
    }
    Ok(())
}

fn times_ns(node: &Node, span_ns: u64) -> Result<Vec<u64>, Error> {
    let mut times: Vec<u64> = Vec::new();
    for (line, [time_s]) in rows::<1>(node, TIMES_EXAMPLE)? {
        let time_ns = (time_s * 1e9).round() as u64;
        if time_s < 0.0 || time_ns >= span_ns || times.last().is_some_and(|before| *before > time_ns) {
            return Err(node.error(format!("line {line} of the file: {time_s} s"), TIMES_EXAMPLE));
        }
        times.push(time_ns);
    }
    if times.len() as f64 > ARRIVALS_MAX {
        return Err(node.error(format!("{} transfers", times.len()), "at most 1e7"));
    }
    Ok(times)
}

/// `group`: the number of the [[flows]], which is that of its barrier.
fn requests(node: &Node, group: u32) -> Result<Requests, Error> {
    let table = node.table(&keys::REQUESTS)?;
    Ok(Requests {
        count: table
            .need("count", "give it like { count = 10, think = \"1 s\" }")?
            .read(|v| units::whole(v, keys::REQUESTS.bounds("count")))?,
        think_ns: table.read("think", |v| units::time(v, 0..=DAY, "'0 s' to '1440 min'"))?.unwrap_or(0),
        barrier: table.read("barrier", units::flag)?.unwrap_or(false).then_some(group),
    })
}

/// How long the application of a flow writes and pauses, if these times are constant.
pub fn on_off(table: &Table) -> Result<Option<(u64, u64)>, Error> {
    let (on, off) = (table.get("on"), table.get("off"));
    let is_mean =
        |node: &Option<Node>| node.as_ref().is_some_and(|node| matches!(node.value(), DeValue::Table(_)));
    match (&on, &off) {
        (None, None) => Ok(None),
        (Some(one), Some(other)) if is_mean(&on) == is_mean(&off) => match is_mean(&on) {
            true => Ok(None),
            false => Ok(Some((one.read(pause)?, other.read(pause)?))),
        },
        (Some(node), Some(_)) => {
            Err(node
                .error("only one of 'on' and 'off' is a mean", "give both as { mean = \"1 s\" }, or none"))
        }
        (Some(node), None) | (None, Some(node)) => {
            Err(node.error("'on' and 'off' belong together", "give both, or neither"))
        }
    }
}

/// The means of these times, if they are exponential.
fn mean_on_off(table: &Table) -> Result<Option<(u64, u64)>, Error> {
    let mean = |key| {
        let node = table.get(key).filter(|node| matches!(node.value(), DeValue::Table(_)));
        let read =
            |node: Node| node.table(&keys::MEAN)?.need("mean", "give it like mean = \"1 s\"")?.read(pause);
        node.map(read).transpose()
    };
    Ok(mean("on")?.zip(mean("off")?))
}

fn pause(value: &DeValue) -> Result<u64, Refusal> {
    units::time(value, MICROSECOND..=DAY, "'1 us' to '1440 min'")
}

/// A number in `range`.
fn within(value: &DeValue, range: std::ops::RangeInclusive<f64>, accepted: &str) -> Result<f64, Refusal> {
    let number = match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => units::integer(value).map(|number| number as f64),
    };
    match number {
        None => Err(Refusal::new(format!("{} is not a number", show(value)), accepted)),
        Some(number) if range.contains(&number) => Ok(number),
        Some(_) => Err(Refusal::new(format!("{} is out of range", show(value)), accepted)),
    }
}
