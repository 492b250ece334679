//! Reads the impairments of packets on the wire.

use crate::error::Error;
use crate::keys;
use crate::node::{Node, Table, show};
use crate::units::{self, DAY, HOUR};
use crate::{GilbertElliott, Impairments, Jitter, JitterDistribution, PacketSet};
use toml::de::DeValue;

const LOSS_EXAMPLE: &str =
    "write it like 0.01, '0.01%' or { model = \"gilbert-elliott\", p = 0.001, r = 0.1, bad = 0.5 }";
/// Elements of `losses` and `marks`.
const PACKET_SETS_MAX: usize = 100_000;
const JITTER_EXAMPLE: &str = "write it like { std = \"2 ms\" } or { uniform = \"5 ms\" }";

/// The losses of a link: the probability of independent ones, and bursts.
pub fn losses(table: &Table) -> Result<(f64, Option<GilbertElliott>), Error> {
    let per = table.read("per", units::error_rate)?;
    let Some(node) = table.get("loss") else { return Ok((per.unwrap_or(0.0), None)) };
    if per.is_some() {
        return Err(node.error("both 'per' and 'loss'", "give one of them"));
    }
    if node.value().as_table().is_some() {
        return Ok((0.0, Some(gilbert_elliott(&node)?)));
    }
    let share = node.read(units::share)?;
    if share == 1.0 {
        return Err(node.error(format!("with {} nothing would arrive", show(node.value())), LOSS_EXAMPLE));
    }
    Ok((share, None))
}

fn gilbert_elliott(node: &Node) -> Result<GilbertElliott, Error> {
    let table = node.table(&keys::GILBERT_ELLIOTT)?;
    let model = table.need("model", "give it like model = \"gilbert-elliott\"")?;
    if model.value().as_str() != Some("gilbert-elliott") {
        return Err(model.error(format!("{} is not a model", show(model.value())), "'gilbert-elliott'"));
    }
    let share = |key| table.need(key, "give it like 0.1")?.read(units::share);
    let or = |key, default| Ok::<f64, Error>(table.read(key, units::share)?.unwrap_or(default));
    let chain =
        GilbertElliott { p: share("p")?, r: share("r")?, good: or("good", 0.0)?, bad: or("bad", 1.0)? };
    if chain.loses_all() {
        return Err(node.error(
            "nothing would arrive",
            "a way out of the state that loses all: r of more than 0, or bad below 1",
        ));
    }
    Ok(chain)
}

/// None: packets take the link's delay, of which `least_delay_ns` is the least, and arrive once.
pub fn impairments(
    table: &Table,
    gilbert_elliott: Option<GilbertElliott>,
    least_delay_ns: u64,
) -> Result<Option<Box<Impairments>>, Error> {
    let share = |key| table.read(key, units::share).map(|share| share.unwrap_or(0.0));
    let jitter = table.get("jitter").map(|node| jitter(&node, least_delay_ns)).transpose()?;
    let jitter = jitter.filter(|jitter| jitter.most_ns() > 0);
    let packets = |key| table.get(key).map(|node| packet_set(&node, key)).transpose();
    let impairments = Impairments {
        gilbert_elliott,
        jitter,
        reorder: share("reorder")?,
        duplicate: share("duplicate")?,
        losses: packets("losses")?,
        marks: packets("marks")?,
    };
    if let Some(node) = table.get("reorder").filter(|_| impairments.reorder > 0.0 && least_delay_ns == 0) {
        return Err(
            node.error("no packet overtakes another on a link without a delay", "a delay of more than 0")
        );
    }
    Ok((impairments != Impairments::default()).then(|| Box::new(impairments)))
}

fn jitter(node: &Node, least_delay_ns: u64) -> Result<Jitter, Error> {
    if node.value().as_table().is_none_or(|table| table.is_empty()) {
        return Err(node.error(format!("{} is not a jitter", show(node.value())), JITTER_EXAMPLE));
    }
    let table = node.table(&keys::JITTER)?;
    let read = |key| table.read(key, |v| units::time(v, 0..=HOUR, "'0 s' to '60 min'"));
    let distribution = match (read("std")?, read("uniform")?) {
        (Some(std_ns), None) => JitterDistribution::Normal { std_ns },
        (None, Some(half_width_ns)) => JitterDistribution::Uniform { half_width_ns },
        (None, None) => return Err(node.error("neither 'std' nor 'uniform'", JITTER_EXAMPLE)),
        (Some(_), Some(_)) => return Err(node.error("both 'std' and 'uniform'", "give one of them")),
    };
    let jitter = Jitter { distribution, reorder: table.read("reorder", units::flag)?.unwrap_or(false) };
    if jitter.most_ns() > least_delay_ns {
        let most = units::show_time(jitter.most_ns());
        let found = format!("up to {most} less than a delay of {}", units::show_time(least_delay_ns));
        return Err(node.error(found, "at most the delay, with three standard deviations"));
    }
    Ok(jitter)
}

/// Packets by number, and spans of time: [1300, [1201, 1204], ["2 s", "2.3 s"]].
fn packet_set(node: &Node, key: &str) -> Result<PacketSet, Error> {
    let example = format!("write it like {key} = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]");
    let number = |value: &DeValue| units::whole(value, 1..=keys::PACKET_NUMBER_MAX);
    let time = |value: &DeValue| units::time(value, 0..=10 * DAY, "'0 s' to '14400 min'");
    let count = node.elements().count();
    if count == 0 {
        let found = match node.value() {
            DeValue::Array(_) => "an empty list".to_owned(),
            value => format!("{} is not a list of packets", show(value)),
        };
        return Err(node.error(found, example));
    }
    if count > PACKET_SETS_MAX {
        return Err(node.error(format!("{count} elements"), format!("at most {PACKET_SETS_MAX}")));
    }
    let (mut numbers, mut spans_ns) = (Vec::new(), Vec::new());
    for element in node.elements() {
        let ends: Vec<Node> = element.elements().collect();
        let is_text = |node: &Node| node.value().as_str().is_some();
        match (element.value(), ends.as_slice()) {
            (DeValue::Array(_), [from, until]) if is_text(from) && is_text(until) => {
                let span_ns = [from.read(time)?, until.read(time)?];
                if span_ns[0] >= span_ns[1] {
                    let found = format!("a span from {} to {}", show(from.value()), show(until.value()));
                    return Err(element.error(found, "the earlier time first"));
                }
                spans_ns.push(span_ns);
            }
            (DeValue::Array(_), [from, until]) if is_text(from) || is_text(until) => {
                return Err(element.error("a number of a packet beside a time", example));
            }
            (DeValue::Array(_), [first, last]) => {
                let range = [first.read(number)?, last.read(number)?];
                if range[0] > range[1] {
                    let found = format!("packets {} to {}", range[0], range[1]);
                    return Err(element.error(found, "the smaller number first"));
                }
                numbers.push(range);
            }
            (DeValue::Array(_), list) => {
                return Err(element.error(format!("a list of {}", list.len()), example));
            }
            (value, _) if value.is_integer() => numbers.push([element.read(number)?; 2]),
            (value, _) => return Err(element.error(format!("{} is not a packet", show(value)), example)),
        }
    }
    Ok(PacketSet::new(numbers, spans_ns))
}
