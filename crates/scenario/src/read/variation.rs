//! How a link changes with time, as written, and what polices it.

use crate::error::{Error, quote};
use crate::intervals::merged;
use crate::keys;
use crate::node::{Node, Table, show};
use crate::units::{self, DAY, HOUR};
use crate::{Aggregation, DelayStep, Policer, RateStep, RateVariation, Trace, Variation};
use std::sync::Arc;
use toml::de::DeValue;

/// In bytes, as Mahimahi documents it.
const OPPORTUNITY_BYTES: u32 = 1500;
const STEPS_MAX: usize = 1_000_000;
const SUSPENSIONS_MAX: usize = 10_000;
const RATE_STEPS: &str = "write them like [[\"0 s\", \"50 Mbps\"], [\"20 s\", \"5 Mbps\"]]";
const DELAY_STEPS: &str = "write them like [[\"0 s\", \"20 ms\"], [\"20 s\", \"40 ms\"]]";

/// The rate of a link: the first of steps, the mean of a trace; and how it changes.
pub fn rate(node: &Node) -> Result<(u64, Option<RateVariation>), Error> {
    if !is_filled_table(node) {
        return Ok((node.read(units::rate)?, None));
    }
    let table = node.any_table("a rate", RATE_STEPS)?;
    if table.get("trace").is_some() {
        let trace = trace(&node.table(&keys::TRACE)?)?;
        return Ok((trace.mean_bps(), Some(RateVariation::Trace(trace))));
    }
    let steps =
        node.table_of(&[keys::RATE_STEPS.parts[0], keys::TRACE.parts[0]])?.need("steps", RATE_STEPS)?;
    let read = steps_of(&steps, RATE_STEPS, units::rate_or_outage)?;
    if let Some(last) = steps.elements().last().filter(|_| read.last().is_some_and(|step| step.1 == 0)) {
        return Err(last.error("a rate of 0 for ever", "a later step with a rate"));
    }
    // A link has a rate, although it may begin with an outage.
    let first_bps = read.iter().map(|step| step.1).find(|rate_bps| *rate_bps > 0).unwrap_or(1);
    let steps = read.into_iter().map(|(from_ns, rate_bps)| RateStep { from_ns, rate_bps }).collect();
    Ok((first_bps, Some(RateVariation::Steps(steps))))
}

/// The delay of a link, the first of steps; and these.
pub fn delay(node: &Node) -> Result<(u64, Vec<DelayStep>), Error> {
    let delay = |value: &DeValue| units::time(value, 0..=HOUR, "'0 s' to '60 min'");
    if !is_filled_table(node) {
        return Ok((node.read(delay)?, Vec::new()));
    }
    let steps = node.table(&keys::DELAY_STEPS)?.need("steps", DELAY_STEPS)?;
    let read = steps_of(&steps, DELAY_STEPS, delay)?;
    let first_ns = read[0].1;
    Ok((first_ns, read.into_iter().map(|(from_ns, delay_ns)| DelayStep { from_ns, delay_ns }).collect()))
}

/// None: the link stays as it is, and lets all packets in.
pub fn variation(
    table: &Table,
    rate: Option<RateVariation>,
    delay_steps: Vec<DelayStep>,
) -> Result<Option<Box<Variation>>, Error> {
    let policer = table.get("policer").map(|node| policer(&node)).transpose()?;
    let suspension_ns =
        table.get("suspension").map(|node| suspension(&node)).transpose()?.unwrap_or_default();
    let aggregation = table.get("aggregation").map(|node| aggregation(&node)).transpose()?;
    if matches!(rate, Some(RateVariation::Trace(_))) {
        let keys = ["suspension", "aggregation"];
        if let Some(node) = keys.into_iter().find_map(|key| table.get(key)) {
            return Err(node.error("beside a trace, which has the times to send", "a rate, or steps of it"));
        }
    }
    let variation = Variation { rate, delay_steps, policer, suspension_ns, aggregation };
    Ok((variation != Variation::default()).then(|| Box::new(variation)))
}

fn is_filled_table(node: &Node) -> bool {
    node.value().as_table().is_some_and(|table| !table.is_empty())
}

/// Pairs of a time and a value: the first time is 0, and each is later than the one before.
fn steps_of(
    node: &Node,
    example: &str,
    read: impl Fn(&DeValue) -> Result<u64, crate::error::Refusal>,
) -> Result<Vec<(u64, u64)>, Error> {
    let count = node.elements().count();
    if count == 0 {
        let found = match node.value() {
            DeValue::Array(_) => "an empty list".to_owned(),
            value => format!("{} is not a list of steps", show(value)),
        };
        return Err(node.error(found, example));
    }
    if count > STEPS_MAX {
        return Err(node.error(format!("{count} steps"), format!("at most {STEPS_MAX}")));
    }
    let mut steps: Vec<(u64, u64)> = Vec::with_capacity(count);
    for element in node.elements() {
        let pair: Vec<Node> = element.elements().collect();
        let [from, value] = pair.as_slice() else {
            return Err(element.error(format!("{} is not a step", show_step(element.value())), example));
        };
        let from_ns = from.read(|value| units::time(value, 0..=10 * DAY, "'0 s' to '14400 min'"))?;
        match steps.last() {
            None if from_ns > 0 => {
                return Err(from.error(format!("the first step at {}", show(from.value())), "'0 s'"));
            }
            Some((before_ns, _)) if from_ns <= *before_ns => {
                let found = format!("{} after {}", show(from.value()), units::show_time(*before_ns));
                return Err(from.error(found, "steps in the order of time"));
            }
            _ => steps.push((from_ns, value.read(&read)?)),
        }
    }
    Ok(steps)
}

fn show_step(value: &DeValue) -> String {
    match value.as_array() {
        Some(list) => format!("a list of {}", list.len()),
        None => show(value),
    }
}

fn trace(table: &Table) -> Result<Trace, Error> {
    let node = table.need("trace", "give it like trace = \"cellular.trace\"")?;
    let text = node.read_file("a file with a time in milliseconds on each line")?;
    let opportunities_ms = Trace::opportunities(&text).map_err(|(line, found, accepted)| {
        let name = node.value().as_str().unwrap_or_default();
        node.error(format!("{}, line {line}: {found}", quote(name)), accepted)
    })?;
    let bytes =
        table.read("bytes", |v| units::bytes(v, keys::TRACE.bounds("bytes")))?.unwrap_or(OPPORTUNITY_BYTES);
    let scale = table.read("scale", scale)?.unwrap_or(1.0);
    let repeat = table.read("repeat", units::flag)?.unwrap_or(true);
    let offset_ns =
        table.read("offset", |v| units::time(v, 0..=10 * DAY, "'0 s' to '14400 min'"))?.unwrap_or(0);
    let trace = Trace {
        opportunities_ms: Arc::from(opportunities_ms),
        opportunity_bytes: (f64::from(bytes) * scale).round().max(1.0) as u32,
        repeat,
        offset_ns,
    };
    if !repeat && offset_ns >= trace.period_ns() {
        let offset = table.get("offset").unwrap_or(node);
        let accepted =
            format!("less than its length, '{}', or repeat = true", units::show_time(trace.period_ns()));
        return Err(offset.error("the trace is over when the run begins", accepted));
    }
    if trace.mean_bps() > units::RATE_MAX_BPS {
        return Err(node.error("more than '100 Tbps' in the mean", "fewer opportunities, or a lower scale"));
    }
    Ok(trace)
}

/// Spans of time in which a link sends nothing.
fn suspension(node: &Node) -> Result<Vec<[u64; 2]>, Error> {
    const EXAMPLE: &str = "write it like [[\"4 s\", \"4.8 s\"]]";
    let count = node.elements().count();
    if count == 0 {
        let found = match node.value() {
            DeValue::Array(_) => "an empty list".to_owned(),
            value => format!("{} is not a list of spans", show(value)),
        };
        return Err(node.error(found, EXAMPLE));
    }
    if count > SUSPENSIONS_MAX {
        return Err(node.error(format!("{count} spans"), format!("at most {SUSPENSIONS_MAX}")));
    }
    let spans = node.elements().map(|element| match element.elements().collect::<Vec<_>>().as_slice() {
        [from, until] => span(&element, from, until),
        _ => Err(element.error(format!("{} is not a span", show_step(element.value())), EXAMPLE)),
    });
    Ok(merged(spans.collect::<Result<_, _>>()?, 0))
}

/// A span of time, of which `from` is before `until`.
pub fn span(node: &Node, from: &Node, until: &Node) -> Result<[u64; 2], Error> {
    let time = |value: &DeValue| units::time(value, 0..=10 * DAY, "'0 s' to '14400 min'");
    let span_ns = [from.read(time)?, until.read(time)?];
    if span_ns[0] >= span_ns[1] {
        let found = format!("a span from {} to {}", show(from.value()), show(until.value()));
        return Err(node.error(found, "the earlier time first"));
    }
    Ok(span_ns)
}

fn aggregation(node: &Node) -> Result<Aggregation, Error> {
    let example = "write it like { every = \"5 ms\", most = 32 }";
    if !is_filled_table(node) {
        return Err(node.error(format!("{} is not an aggregation", show(node.value())), example));
    }
    let table = node.table(&keys::AGGREGATION)?;
    let every = table.need("every", "give it like every = \"5 ms\"")?;
    let most = table.need("most", "give it like most = 32")?;
    Ok(Aggregation {
        every_ns: every.read(|value| units::time(value, 1..=HOUR, "'1 ns' to '60 min'"))?,
        most_pkts: most.read(|value| units::whole(value, keys::AGGREGATION.bounds("most")))? as u32,
    })
}

fn scale(value: &DeValue) -> Result<f64, crate::error::Refusal> {
    units::factor(value, keys::TRACE.range("scale"))
}

fn policer(node: &Node) -> Result<Policer, Error> {
    let example = "write it like { rate = \"40 Mbps\", burst = \"64 KiB\" }";
    if !is_filled_table(node) {
        return Err(node.error(format!("{} is not a policer", show(node.value())), example));
    }
    let table = node.table(&keys::POLICER)?;
    let burst = table.need("burst", "give it like burst = \"64 KiB\"")?;
    Ok(Policer {
        rate_bps: table.need("rate", "give it like rate = \"40 Mbps\"")?.read(units::rate)?,
        burst_bytes: burst.read(units::data)?,
        mark: table.read("mark", units::flag)?.unwrap_or(false),
    })
}
