//! The values of a range, like `{ from = 50, to = 6400, factor = 2 }`.

use super::axes::{AXIS_EXAMPLE, Cell, Written};
use super::value::Value;
use crate::error::{Error, Refusal, suggest};
use crate::keys::{self, RANGE_MAX};
use crate::node::{Node, Table, show};
use crate::units;
use toml::de::DeValue;

/// A number of a range.
struct Quantity {
    number: f64,
    unit: String,
    whole: bool,
}

/// The cells of a range, in order.
pub fn range<'a>(table: &Table<'a>) -> Result<Vec<Cell<'a>>, Error> {
    let read = |key: &str, needed: bool| match table.get(key) {
        Some(node) => Ok(Some((node.read(Quantity::parse)?, node))),
        None if needed => Err(table.missing(key, AXIS_EXAMPLE)),
        None => Ok(None),
    };
    let (Some((from, _)), Some((to, to_node))) = (read("from", true)?, read("to", true)?) else {
        unreachable!("both are needed")
    };
    let unit = from.unit.clone();
    let mut whole = from.whole && to.whole;
    let to = to.number_in(&unit, &to_node)?;
    if from.number > to {
        return Err(to_node.error("'to' is less than 'from'", "a range goes up"));
    }
    let ways = ["step", "factor", "points"].map(|key| table.get(key));
    let mut given = ways.iter().flatten();
    let (Some(way), None) = (given.next(), given.next()) else {
        return Err(table.node().error(
            "a range has one of 'step', 'factor' and 'points'",
            "write it like { from = 50, to = 6400, factor = 2 }",
        ));
    };
    let log = match (table.get("scale"), &ways[2]) {
        (None, _) => false,
        (Some(scale), None) => {
            return Err(scale.error("a scale without 'points'", "'step' is linear, 'factor' is not"));
        }
        (Some(scale), Some(_)) => scale.read(|value| match value.as_str() {
            Some("linear") => Ok(false),
            Some("log") => Ok(true),
            other => Err(Refusal::new(
                format!("{} is not a scale", show(value)),
                suggest(other.unwrap_or(""), ["linear", "log"]),
            )),
        })?,
    };
    let positive = |node: &Node| {
        if from.number > 0.0 {
            return Ok(());
        }
        Err(node.error("'from' is not more than 0", "steps by a factor begin above 0"))
    };
    let first = from.number;
    let (count, at): (f64, Box<dyn Fn(f64) -> f64>) = if let Some((step, node)) = read("step", false)? {
        whole &= step.whole;
        let step = step.number_in(&unit, &node)?;
        if step <= 0.0 {
            return Err(node.error("a step is more than 0", AXIS_EXAMPLE));
        }
        (((to - first) / step * (1.0 + 1e-12) + 1e-9).floor() + 1.0, Box::new(move |i| first + i * step))
    } else if let Some((factor, node)) = read("factor", false)? {
        let factor = factor.number_in("", &node)?;
        if factor <= 1.0 {
            return Err(node.error("a factor is more than 1", AXIS_EXAMPLE));
        }
        positive(way)?;
        let count = (libm::log(to / first) / libm::log(factor) + 1e-9).floor() + 1.0;
        (count, Box::new(move |i| first * libm::pow(factor, i)))
    } else {
        let points = way.read(|value| units::whole(value, keys::RANGE.bounds("points")))? as f64;
        if log {
            positive(way)?;
            (points, Box::new(move |i| first * libm::pow(to / first, i / (points - 1.0))))
        } else {
            (points, Box::new(move |i| first + (to - first) * (i / (points - 1.0))))
        }
    };
    if count > RANGE_MAX as f64 {
        return Err(table.node().error(format!("more than {RANGE_MAX} values"), "that is the limit"));
    }
    let offset = table.node().offset();
    let numbers: Vec<f64> = (0..count as u32).map(|i| at(f64::from(i))).collect();
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(table.node().error("too large to count with", "end the range earlier"));
    }
    Ok(numbers.into_iter().map(|number| made(number, &unit, whole, offset)).collect())
}

fn made<'a>(number: f64, unit: &str, whole: bool, offset: usize) -> Cell<'a> {
    let number = if whole { number.round() } else { round_decimal(number) };
    if !unit.is_empty() {
        let text = format!("{number} {unit}");
        let written = Written::Made(format!("\"{text}\""));
        return Cell { written, offset, value: Value::Text(text.clone()), short: text };
    }
    let (text, value) = if whole && number.abs() < 1e15 {
        (format!("{number}"), Value::Integer(number as i64))
    } else {
        (format!("{number:?}"), Value::Number(number))
    };
    Cell { written: Written::Made(text.clone()), offset, value, short: text }
}

/// Without the last digits, which come from calculating in binary.
fn round_decimal(number: f64) -> f64 {
    if number.fract() == 0.0 { number } else { format!("{number:.11e}").parse().unwrap_or(number) }
}

impl Quantity {
    fn parse(value: &DeValue) -> Result<Self, Refusal> {
        let refuse = || {
            let accepted = "write a number, or one with a unit like '10 ms'";
            Refusal::new(format!("{} is not a number", show(value)), accepted)
        };
        let text = units::text(value).ok_or_else(refuse)?;
        let (number, unit) = units::split(&text);
        let unit = units::listed(unit);
        let number = number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(refuse)?;
        if !unit.is_empty() && units::size(unit).is_none() {
            return Err(Refusal::new(format!("{} has an unknown unit", show(value)), units::all()));
        }
        let whole = if unit.is_empty() { value.is_integer() } else { units::is_counted(unit) };
        Ok(Quantity { number, unit: unit.to_owned(), whole })
    }

    /// Converts the quantity to a number of `unit`.
    fn number_in(&self, unit: &str, node: &Node) -> Result<f64, Error> {
        if self.unit == unit {
            return Ok(self.number);
        }
        match (units::size(&self.unit), units::size(unit)) {
            (Some((kind, size)), Some((wanted, one))) if kind == wanted => {
                Ok(round_decimal(self.number * size as f64 / one as f64))
            }
            _ if unit.is_empty() => {
                Err(node.error(format!("{} has a unit", show(node.value())), "leave it out"))
            }
            _ => Err(node.error(
                format!("{} is not in '{unit}'", show(node.value())),
                format!("write it in the same unit as 'from': '{unit}'"),
            )),
        }
    }
}
