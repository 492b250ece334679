//! The queue discipline of a link, as written.

use crate::error::{Error, Refusal, suggest};
use crate::keys;
use crate::node::{Node, Table, show};
use crate::queue::{Codel, DualPi2, FqCodel, Pie, Queue, QueueVariant, Red};
use crate::units::{self, MICROSECOND, MILLISECOND, SECOND};
use toml::de::DeValue;

const ACCEPTED: &str =
    "write a discipline like \"fq-codel\", or { discipline = \"codel\", target = \"5 ms\" }";
/// A full frame of Ethernet, as Linux counts it.
const QUANTUM_BYTES: u32 = 1514;

/// None: droptail.
pub fn queue(node: &Node) -> Result<Option<Queue>, Error> {
    let (name_node, table) = match node.value() {
        DeValue::Table(_) => {
            let any = node.any_table("a queue", ACCEPTED)?;
            (any.need("discipline", "give it like discipline = \"codel\"")?, Some(node))
        }
        _ => (node.clone(), None),
    };
    let known = name_node.read(|value| {
        let name = value
            .as_str()
            .ok_or_else(|| Refusal::new(format!("{} is not a queue discipline", show(value)), ACCEPTED))?;
        keys::DISCIPLINES.into_iter().find(|known| known.name == name).ok_or_else(|| {
            let names = keys::DISCIPLINES.map(|known| known.name);
            Refusal::new(format!("{} is not a queue discipline", show(value)), suggest(name, names))
        })
    })?;
    // Without a table there is nothing to read.
    let none = DeValue::Table(toml::de::DeTable::new());
    let table = match table {
        Some(node) => node.table(known)?,
        None => name_node.with(&none).table(known)?,
    };
    Ok(match known.name {
        "red" => Some(Queue::Red(red(&table)?)),
        "codel" => Some(Queue::Codel(codel(&table, false)?)),
        "fq-codel" => Some(Queue::FqCodel(fq_codel(&table)?)),
        "pie" => Some(Queue::Pie(pie(&table)?)),
        "dualpi2" => Some(Queue::DualPi2(dualpi2(&table)?)),
        _ => None,
    })
}

fn variant(table: &Table) -> Result<QueueVariant, Error> {
    let read = table.read("variant", |value| match value.as_str() {
        Some("spec") => Ok(QueueVariant::Spec),
        Some("linux") => Ok(QueueVariant::Linux),
        _ => Err(Refusal::new(format!("{} is not a variant", show(value)), "'spec' or 'linux'")),
    });
    Ok(read?.unwrap_or_default())
}

fn time(table: &Table, key: &str, default_ns: u64) -> Result<u64, Error> {
    let read = table.read(key, |v| units::time(v, MICROSECOND..=100 * SECOND, "'1 us' to '100 s'"));
    Ok(read?.unwrap_or(default_ns))
}

fn flag(table: &Table, key: &str, default: bool) -> Result<bool, Error> {
    Ok(table.read(key, units::flag)?.unwrap_or(default))
}

fn codel(table: &Table, ecn: bool) -> Result<Codel, Error> {
    let (target_ns, interval_ns) =
        (time(table, "target", 5 * MILLISECOND)?, time(table, "interval", 100 * MILLISECOND)?);
    if target_ns >= interval_ns {
        let node = table.get("target").or_else(|| table.get("interval"));
        let accepted = format!("the target is shorter than the interval, {}", units::show_time(interval_ns));
        return Err(node.as_ref().unwrap_or(table.node()).error("a target of an interval or more", accepted));
    }
    Ok(Codel {
        variant: variant(table)?,
        target_ns,
        interval_ns,
        ecn: flag(table, "ecn", ecn)?,
        ce_threshold_ns: match table.get("ce_threshold") {
            Some(_) => Some(time(table, "ce_threshold", 0)?),
            None => None,
        },
    })
}

fn fq_codel(table: &Table) -> Result<FqCodel, Error> {
    Ok(FqCodel {
        codel: codel(table, true)?,
        quantum_bytes: table
            .read("quantum", |v| units::bytes(v, keys::FQ_CODEL.bounds("quantum")))?
            .unwrap_or(QUANTUM_BYTES),
        queues: table
            .read("queues", |v| units::whole(v, keys::FQ_CODEL.bounds("queues")))?
            .map(|queues| queues as u32),
    })
}

fn pie(table: &Table) -> Result<Pie, Error> {
    let variant = variant(table)?;
    let update_ms = if variant == QueueVariant::Linux { 20 } else { 15 };
    Ok(Pie {
        variant,
        target_ns: time(table, "target", 15 * MILLISECOND)?,
        update_ns: time(table, "update", update_ms * MILLISECOND)?,
        burst_ns: table
            .read("burst", |v| units::time(v, 0..=100 * SECOND, "'0 s' to '100 s'"))?
            .unwrap_or(150 * MILLISECOND),
        ecn: flag(table, "ecn", false)?,
    })
}

fn dualpi2(table: &Table) -> Result<DualPi2, Error> {
    let variant = variant(table)?;
    let ramp_ns = match (table.get("step"), variant) {
        (Some(_), _) => [time(table, "step", 0)?; 2],
        (None, QueueVariant::Spec) => [800_000, 1_200_000],
        (None, QueueVariant::Linux) => [MILLISECOND; 2],
    };
    Ok(DualPi2 {
        variant,
        target_ns: time(table, "target", 15 * MILLISECOND)?,
        update_ns: time(table, "update", 16 * MILLISECOND)?,
        ramp_ns,
    })
}

/// Packets, or bytes if there is that unit.
fn threshold(value: &DeValue) -> Result<(bool, f64), Refusal> {
    let in_bytes = value.as_str().is_some_and(|text| units::split(text.trim()).1.starts_with('b'));
    if in_bytes {
        return Ok((true, f64::from(units::bytes(value, 1..=u64::from(u32::MAX))?)));
    }
    let accepted = "write it in packets or bytes, like 5 or '62500 bytes'";
    match units::packets(value) {
        Ok(Some(packets)) => Ok((false, f64::from(packets))),
        _ => Err(Refusal::new(format!("{} is not a queue's length", show(value)), accepted)),
    }
}

fn share(table: &Table, key: &str, default: f64) -> Result<f64, Error> {
    let read = table.read(key, |value| {
        let number = units::text(value).and_then(|text| text.parse::<f64>().ok());
        number.filter(|number| *number > 0.0 && *number <= 1.0).ok_or_else(|| {
            Refusal::new(format!("{} is out of range", show(value)), "a number above 0, at most 1")
        })
    });
    Ok(read?.unwrap_or(default))
}

fn red(table: &Table) -> Result<Red, Error> {
    let variant = variant(table)?;
    let linux = variant == QueueVariant::Linux;
    let (min, max) = match (table.read("min", threshold)?, table.read("max", threshold)?) {
        (None, None) => ((false, 5.0), (false, 15.0)),
        (Some(min), Some(max)) => (min, max),
        (Some(_), None) => return Err(table.missing("max", "give both, min and max")),
        (None, Some(_)) => return Err(table.missing("min", "give both, min and max")),
    };
    let max_node = table.get("max");
    let refuse =
        |found: &str, accepted: &str| Err(max_node.as_ref().unwrap_or(table.node()).error(found, accepted));
    if min.0 != max.0 {
        return refuse("min and max in different units", "give both in packets, or both in bytes");
    }
    if min.1 >= max.1 {
        return refuse("not above min", "max is above min");
    }
    let weight = match (table.get("burst"), table.get("weight")) {
        (Some(node), Some(_)) => return Err(node.error("burst and weight", "give one of them")),
        (Some(node), None) => {
            let burst = node.read(|v| units::whole(v, keys::RED.bounds("burst")))?;
            let min_pkts = if min.0 { min.1 / 1500.0 } else { min.1 };
            weight_of_burst(burst as f64, min_pkts).ok_or_else(|| {
                node.error("too small for min", format!("more than {min_pkts:.0}, the packets of min"))
            })?
        }
        (None, _) => share(table, "weight", 0.002)?,
    };
    let gentle = flag(table, "gentle", !linux)?;
    if gentle && linux {
        let node = table.get("gentle");
        return Err(node.as_ref().unwrap_or(table.node()).error("gentle", "Linux's RED is not"));
    }
    Ok(Red {
        variant,
        in_bytes: min.0,
        min: min.1,
        max: max.1,
        weight,
        probability: share(table, "probability", if linux { 0.02 } else { 0.1 })?,
        gentle,
        adaptive: flag(table, "adaptive", false)?,
        ecn: flag(table, "ecn", false)?,
        harddrop: flag(table, "harddrop", false)?,
    })
}

/// The largest power of two that lets so many packets in before the average passes min (Floyd and Jacobson, 8).
fn weight_of_burst(burst: f64, min_pkts: f64) -> Option<f64> {
    (1..32)
        .map(|bits| 0.5_f64.powi(bits))
        .find(|weight| burst + 1.0 - min_pkts <= (1.0 - libm::pow(1.0 - weight, burst)) / weight)
}
