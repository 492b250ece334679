//! From a TOML with `[sweep]` to the scenarios of its grid.

use crate::Scenario;
use crate::error::{Error, Refusal, cut, printable, quote, suggest};
use crate::node::{Document, Node, Table, show};
use crate::resolve::NAME_CHARS_MAX;
use crate::units;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const POINTS_MAX: usize = 100_000;
/// Links and flows of all points: they are in memory together, a few kB each as results describe them.
const PARTS_MAX: usize = 200_000;
/// Points between two questions whether to go on.
const ASK_EVERY_POINTS: usize = 64;
const RANGE_MAX: usize = 10_000;

const RANGE_KEYS: [&str; 6] = ["from", "to", "step", "factor", "points", "scale"];

const AXIS_EXAMPLE: &str = "give a list, or a range like { from = 50, to = 6400, factor = 2 }";
const PATH_EXAMPLE: &str = "write it like \"dumbbell.buffer\" or \"flows[0].cca\"";
const SPLIT: &str = "sweep fewer values, or split them over several sweeps";
const ZIP_EXAMPLE: &str = "write [[sweep.zip]], once for each group of lists that go together";

/// The scenarios of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The scenario's, without any values.
    pub name: String,
    pub points: Vec<Point>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What is swept, and its value here.
    pub values: Vec<(String, Value)>,
    pub scenario: Scenario,
}

/// A value as written; one of a range as it would be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    /// A table or a list, as TOML on one line.
    Inline(String),
}

/// Lists that go together, of one length.
struct Axis<'a>(Vec<Column<'a>>);

/// What is swept, and its values.
struct Column<'a> {
    node: Node<'a>,
    name: String,
    path: Vec<Step>,
    cells: Vec<Cell<'a>>,
}

/// One part of a path: `flows[1]`. Without an index every element of a list.
#[derive(PartialEq)]
struct Step {
    name: String,
    index: Option<usize>,
}

struct Cell<'a> {
    written: Written<'a>,
    /// Where errors find it.
    offset: usize,
    value: Value,
    /// As names of points have it.
    short: String,
}

enum Written<'a> {
    Given(&'a DeValue<'a>),
    /// TOML of a range's value.
    Made(String),
}

/// A number of a range.
struct Quantity {
    number: f64,
    unit: String,
    whole: bool,
}

impl Point {
    /// Its values as a map that keeps their order.
    pub fn values(&self) -> impl Serialize {
        Values(&self.values)
    }
}

struct Values<'a>(&'a [(String, Value)]);

impl Serialize for Values<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Sweep {
    /// Reads a scenario that may have `[sweep]`; without it there is one point. `file` and `custom` are as for
    /// [`Scenario::from_toml`].
    ///
    /// The grid has every combination of the values, the first axis slowest. What is written in `[sweep]`
    /// stands in place of what the scenario has, or is added to it.
    ///
    /// ```toml
    /// [sweep]
    /// "flows.cca" = ["elastic", "cubic", { name = "elastic", beta = 0.8 }]   # of every [[flows]]
    /// "flows[1].count" = [1, 10]                                             # of the second
    /// "dumbbell.buffer" = { from = 50, to = 6400, factor = 2 }               # 50, 100, 200, ...
    /// "dumbbell.delay" = { from = "10 ms", to = "50 ms", step = "10 ms" }
    /// "dumbbell.per" = { from = 1e-5, to = 1e-3, points = 5, scale = "log" } # scale = "linear" unless given
    ///
    /// [[sweep.zip]]                                                          # one axis: the lists go together
    /// "dumbbell.rate" = ["100 Mbps", "1 Gbps"]
    /// "samples" = [100, 1000]
    /// ```
    ///
    /// A range between whole numbers has whole numbers.
    pub fn from_toml(text: &str, file: &str, custom: &[&str]) -> Result<Sweep, Error> {
        Sweep::from_toml_while(text, file, custom, &mut || true)
    }

    /// [`Sweep::from_toml`], given up with an error when `go_on`, asked every few points, returns false.
    pub fn from_toml_while(
        text: &str,
        file: &str,
        custom: &[&str],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Sweep, Error> {
        let document = Document { file, text };
        let mut base = document.parse()?;
        let swept = match &mut base {
            DeValue::Table(root) => root.remove("sweep"),
            _ => None,
        };
        let Some(swept) = swept else {
            let scenario = Scenario::read(document, &base, custom)?;
            return Ok(Sweep {
                name: scenario.name.clone(),
                points: vec![Point { values: vec![], scenario }],
            });
        };
        let node = document.entry("sweep", &swept);
        let axes = axes(&node)?;
        let count = axes.iter().try_fold(1, |count: usize, axis| count.checked_mul(axis.len()));
        let count = match count {
            Some(count) if count <= POINTS_MAX => count,
            _ => {
                let accepted = format!("at most {POINTS_MAX}: {SPLIT}");
                return Err(node.error(format!("more than {POINTS_MAX} points"), accepted));
            }
        };
        let mut names = Names::default();
        let mut front = String::new();
        let mut points = Vec::with_capacity(count);
        let mut parts = 0;
        for index in 0..count {
            if index % ASK_EVERY_POINTS == ASK_EVERY_POINTS - 1 && !go_on() {
                return Err(node.error("interrupted", "let it go on"));
            }
            let cells = cells(&axes, index);
            let mut value = base.clone();
            let DeValue::Table(root) = &mut value else { unreachable!("a document is a table") };
            for (column, cell) in &cells {
                set(root, &column.path, &cell.toml())
                    .map_err(|refusal| column.node.error(refusal.found, refusal.accepted))?;
            }
            let mut scenario = Scenario::read(document, &value, custom)?;
            parts += scenario.links.len() + scenario.flows.len();
            if parts > PARTS_MAX {
                let found = format!(
                    "more than {PARTS_MAX} links and flows in {count} points, {} in one",
                    scenario.links.len() + scenario.flows.len()
                );
                return Err(node.error(found, format!("at most {PARTS_MAX}: {SPLIT}")));
            }
            front.clone_from(&scenario.name);
            scenario.name = names.of(&front, &cells);
            let values = cells.iter().map(|(column, cell)| (column.name.clone(), cell.value.clone()));
            points.push(Point { values: values.collect(), scenario });
        }
        Ok(Sweep { name: front, points })
    }
}

fn axes<'a>(node: &Node<'a>) -> Result<Vec<Axis<'a>>, Error> {
    let table = node.any_table("a table", AXIS_EXAMPLE)?;
    let mut axes = Vec::new();
    for (key, entry) in table.entries().filter(|(key, _)| *key != "zip") {
        axes.extend(columns(key, &entry)?.into_iter().map(|column| Axis(vec![column])));
    }
    if let Some(zip) = table.get("zip") {
        if !zip.value().is_array() || zip.elements().next().is_none() {
            let found = if zip.value().is_array() { "an empty list".into() } else { show(zip.value()) };
            return Err(zip.error(found, ZIP_EXAMPLE));
        }
        for group in zip.elements() {
            axes.push(zipped(&group.any_table("a table", ZIP_EXAMPLE)?)?);
        }
    }
    if axes.is_empty() {
        return Err(node.error("nothing is swept", "give it like \"dumbbell.buffer\" = [50, 100]"));
    }
    check_paths(&axes)?;
    Ok(axes)
}

fn zipped<'a>(table: &Table<'a>) -> Result<Axis<'a>, Error> {
    let mut axis = Axis(Vec::new());
    for (key, entry) in table.entries() {
        axis.0.extend(read_columns(key, &entry)?);
    }
    let Some(first) = axis.0.first() else {
        return Err(table.node().error("nothing is swept", ZIP_EXAMPLE));
    };
    if let Some(other) = axis.0.iter().find(|column| column.cells.len() != axis.len()) {
        let found = format!("{} values", other.cells.len());
        let accepted = format!("as many as {} has: {}", quote(&first.name), axis.len());
        return Err(other.node.error(found, accepted));
    }
    let row = |index: usize| axis.0.iter().map(|column| column.cells[index].identity()).collect::<Vec<_>>();
    let mut seen = HashSet::new();
    match (0..axis.len()).find(|index| !seen.insert(row(*index))) {
        Some(index) => {
            let found = format!("the values at {index} have been there before");
            Err(table.node().error(found, "give them once"))
        }
        None => Ok(axis),
    }
}

/// The columns under `key`, each without a value that is there twice.
fn columns<'a>(key: &str, node: &Node<'a>) -> Result<Vec<Column<'a>>, Error> {
    let columns = read_columns(key, node)?;
    for column in &columns {
        let mut seen = HashSet::new();
        if let Some(cell) = column.cells.iter().find(|cell| !seen.insert(cell.identity())) {
            return Err(column.node.error(format!("{} is there twice", cut(&cell.short)), "give it once"));
        }
    }
    Ok(columns)
}

/// Those under `key`: more than one when it was written without quotes, as in `dumbbell.buffer = [50, 100]`.
fn read_columns<'a>(key: &str, node: &Node<'a>) -> Result<Vec<Column<'a>>, Error> {
    if let DeValue::Table(entries) = node.value()
        && !entries.is_empty()
        && !RANGE_KEYS.iter().any(|known| entries.contains_key(*known))
    {
        let table = node.any_table("a table", AXIS_EXAMPLE)?;
        let below = table.entries().map(|(name, entry)| read_columns(&format!("{key}.{name}"), &entry));
        return Ok(below.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
    }
    let path = path(key).map_err(|refusal| node.error(refusal.found, refusal.accepted))?;
    let cells: Vec<Cell> = match node.value() {
        DeValue::Array(_) => node.elements().map(|element| given(&element)).collect(),
        DeValue::Table(_) => range(&node.table(&RANGE_KEYS)?)?,
        other => return Err(node.error(format!("{} is not a list", show(other)), AXIS_EXAMPLE)),
    };
    if cells.is_empty() {
        return Err(node.error("an empty list", AXIS_EXAMPLE));
    }
    Ok(vec![Column { node: node.clone(), name: key.to_owned(), path, cells }])
}

fn path(key: &str) -> Result<Vec<Step>, Refusal> {
    let refuse = || Refusal::new(format!("{} is not a key of the scenario", quote(key)), PATH_EXAMPLE);
    let step = |part: &str| {
        let (name, index) = match part.split_once('[') {
            None => (part, None),
            Some((name, index)) => {
                let index = index.strip_suffix(']').and_then(|index| index.parse().ok());
                (name, Some(index.ok_or_else(refuse)?))
            }
        };
        if name.is_empty() { Err(refuse()) } else { Ok(Step { name: name.to_owned(), index }) }
    };
    let path: Vec<Step> = key.split('.').map(step).collect::<Result<_, _>>()?;
    match (path[0].name.as_str(), path.len()) {
        ("name", 1) => Err(Refusal::new("a name is not swept", "each point gets its own")),
        ("seed" | "repeat", 1) => {
            Err(Refusal::new("seeds are not swept", "set 'repeat': every point gets the same seeds"))
        }
        _ => Ok(path),
    }
}

/// Nothing is swept twice.
fn check_paths(axes: &[Axis]) -> Result<(), Error> {
    let columns: Vec<&Column> = axes.iter().flat_map(|axis| &axis.0).collect();
    for (i, later) in columns.iter().enumerate() {
        // A part of what an earlier one sets may be set after it.
        let hides = |earlier: &&&Column| {
            later.path.len() <= earlier.path.len()
                && later.path.iter().zip(&earlier.path).all(|(a, b)| {
                    a.name == b.name && (a.index == b.index || a.index.is_none() || b.index.is_none())
                })
        };
        if let Some(earlier) = columns[..i].iter().find(hides) {
            let found = format!("it would hide the values of {}", quote(&earlier.name));
            return Err(later.node.error(found, "sweep it once, the whole before its parts"));
        }
    }
    Ok(())
}

fn given<'a>(node: &Node<'a>) -> Cell<'a> {
    let value = node.value();
    Cell {
        written: Written::Given(value),
        offset: node.offset(),
        value: Value::of(value),
        short: short(value),
    }
}

fn range<'a>(table: &Table<'a>) -> Result<Vec<Cell<'a>>, Error> {
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
        let count = ((to / first).ln() / factor.ln() + 1e-9).floor() + 1.0;
        (count, Box::new(move |i| first * factor.powf(i)))
    } else {
        let points = way.read(|value| units::whole(value, 2..=RANGE_MAX as u64))? as f64;
        if log {
            positive(way)?;
            (points, Box::new(move |i| first * (to / first).powf(i / (points - 1.0))))
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
    let number = if whole { number.round() } else { plain(number) };
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

/// Without the last digits, which come of calculating in binary.
fn plain(number: f64) -> f64 {
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
        let number = number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(refuse)?;
        if !unit.is_empty() && units::size(unit).is_none() {
            return Err(Refusal::new(format!("{} has an unknown unit", show(value)), units::all()));
        }
        let whole = if unit.is_empty() { value.is_integer() } else { units::is_counted(unit) };
        Ok(Quantity { number, unit: unit.to_owned(), whole })
    }

    /// The number of `unit`s that it is.
    fn number_in(&self, unit: &str, node: &Node) -> Result<f64, Error> {
        if self.unit == unit {
            return Ok(self.number);
        }
        match (units::size(&self.unit), units::size(unit)) {
            (Some((kind, size)), Some((wanted, one))) if kind == wanted => {
                Ok(plain(self.number * size as f64 / one as f64))
            }
            _ if unit.is_empty() => {
                Err(node.error(format!("{} has a unit", show(node.value())), "leave it out"))
            }
            _ => Err(node.error(
                format!("{} does not go with '{unit}'", show(node.value())),
                format!("write it in the same unit as 'from': '{unit}'"),
            )),
        }
    }
}

impl Axis<'_> {
    fn len(&self) -> usize {
        self.0.first().map_or(0, |column| column.cells.len())
    }
}

/// What the point `index` has, the last axis the fastest.
fn cells<'a, 'b>(axes: &'b [Axis<'a>], mut index: usize) -> Vec<(&'b Column<'a>, &'b Cell<'a>)> {
    let mut rows: Vec<usize> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        rows.push(index % axis.len());
        index /= axis.len();
    }
    let of =
        |(axis, row): (&'b Axis<'a>, usize)| axis.0.iter().map(move |column| (column, &column.cells[row]));
    axes.iter().zip(rows.into_iter().rev()).flat_map(of).collect()
}

impl Cell<'_> {
    fn toml(&self) -> Spanned<DeValue<'_>> {
        let value = match &self.written {
            Written::Given(value) => (*value).clone(),
            Written::Made(text) => DeValue::parse(text).expect("a number or a text").into_inner(),
        };
        Spanned::new(self.offset..self.offset, value)
    }

    /// Equal for equal values.
    fn identity(&self) -> String {
        format!("{:?}", self.value)
    }
}

/// Puts `value` where `path` leads.
fn set<'v>(table: &mut DeTable<'v>, path: &[Step], value: &Spanned<DeValue<'v>>) -> Result<(), Refusal> {
    let (step, rest) = path.split_first().expect("a path has a step");
    let name = step.name.as_str();
    let key = || Spanned::new(value.span(), Cow::Owned(name.to_owned()));
    if rest.is_empty() && step.index.is_none() {
        table.insert(key(), value.clone());
        return Ok(());
    }
    if !table.contains_key(name) {
        if step.index.is_some() || matches!(name, "flows" | "chain") {
            return Err(Refusal::new(
                format!("there is no [[{}]]", cut(name)),
                "sweep what the scenario has",
            ));
        }
        table.insert(key(), Spanned::new(value.span(), DeValue::Table(DeTable::new())));
    }
    let found = table.get_mut(name).expect("it is there now");
    match (found.get_mut(), step.index) {
        (DeValue::Array(elements), Some(index)) => {
            let count = elements.len();
            let element = elements.get_mut(index).ok_or_else(|| {
                Refusal::new(
                    format!("there is no {}[{index}]", cut(name)),
                    format!("there are {count}, from 0"),
                )
            })?;
            if rest.is_empty() {
                *element = value.clone();
                return Ok(());
            }
            set(inside(element, name)?, rest, value)
        }
        (DeValue::Array(elements), None) => {
            elements.iter_mut().try_for_each(|element| set(inside(element, name)?, rest, value))
        }
        (_, Some(_)) => Err(Refusal::new(format!("{} is not a list", quote(name)), "leave the index out")),
        (_, None) => set(inside(found, name)?, rest, value),
    }
}

/// The table that `value` is, or is short for.
fn inside<'t, 'v>(value: &'t mut Spanned<DeValue<'v>>, name: &str) -> Result<&'t mut DeTable<'v>, Refusal> {
    let span = value.span();
    let main = match name {
        "cca" => Some("name"),
        "stack" => Some("profile"),
        _ => None,
    };
    if let (DeValue::String(_), Some(main)) = (value.get_ref(), main) {
        let mut table = DeTable::new();
        table.insert(Spanned::new(span.clone(), Cow::Borrowed(main)), value.clone());
        *value = Spanned::new(span, DeValue::Table(table));
    }
    match value.get_mut() {
        DeValue::Table(table) => Ok(table),
        other => {
            let found = format!("{} is {}, not a table", quote(name), show(other));
            Err(Refusal::new(found, "sweep it as a whole"))
        }
    }
}

impl Value {
    fn of(value: &DeValue) -> Value {
        match value {
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Integer(number) => match units::integer(value).map(i64::try_from) {
                Some(Ok(number)) => Value::Integer(number),
                _ => Value::Text(number.to_string()),
            },
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(parsed) if f64::is_finite(parsed) => Value::Number(parsed),
                _ => Value::Text(number.to_string()),
            },
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Datetime(moment) => Value::Text(moment.to_string()),
            DeValue::Array(_) | DeValue::Table(_) => Value::Inline(inline(value)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(flag) => write!(f, "{flag}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Number(number) => write!(f, "{number:?}"),
            Value::Text(text) | Value::Inline(text) => f.write_str(text),
        }
    }
}

/// A value as TOML on one line.
fn inline(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => toml::Value::String(text.to_string()).to_string(),
        DeValue::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(|element| inline(element.get_ref())).collect();
            format!("[{}]", elements.join(", "))
        }
        DeValue::Table(table) => {
            let entry = |(key, value): (&Spanned<Cow<str>>, &Spanned<DeValue>)| {
                let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                let key = key.get_ref();
                let key = if !key.is_empty() && key.chars().all(bare) {
                    key.to_string()
                } else {
                    toml::Value::String(key.to_string()).to_string()
                };
                format!("{key} = {}", inline(value.get_ref()))
            };
            let entries: Vec<String> = table.iter().map(entry).collect();
            if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
        }
        _ => Value::of(value).to_string(),
    }
}

/// A value as the name of a point has it: of an algorithm its name, then its parameters.
fn short(value: &DeValue) -> String {
    let DeValue::Table(table) = value else { return printable(&Value::of(value).to_string()) };
    let entry = |(key, value): (&Spanned<Cow<str>>, &Spanned<DeValue>)| match key.get_ref().as_ref() {
        "name" | "profile" => short(value.get_ref()),
        key => format!("{}={}", printable(key), short(value.get_ref())),
    };
    table.iter().map(entry).collect::<Vec<_>>().join(" ")
}

/// The names of the points so far.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// The last number that a name needed, so that the search for the next goes on from there.
    last: HashMap<String, u32>,
}

impl Names {
    /// `FRONT (cca elastic, buffer 50)`: cut to what a name may have, numbered if it is taken.
    fn of(&mut self, front: &str, cells: &[(&Column, &Cell)]) -> String {
        let value = |(column, cell): &(&Column, &Cell)| {
            let last = column.path.last().map_or("", |step| &step.name);
            format!("{} {}", printable(last), cell.short)
        };
        let values = format!(" ({})", cells.iter().map(value).collect::<Vec<_>>().join(", "));
        let named = |tail: &str| {
            let room = NAME_CHARS_MAX.saturating_sub(tail.chars().count());
            let cut: String = values.chars().take(room).collect();
            let room = room - cut.chars().count();
            let front: String = front.chars().take(room).collect();
            (front + &cut + tail).trim_start().to_owned()
        };
        let name = named("");
        if self.taken.insert(name.clone()) {
            return name;
        }
        let last = self.last.entry(name).or_insert(1);
        loop {
            *last += 1;
            let numbered = named(&format!(" {last}"));
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}
