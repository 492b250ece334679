//! The axes of a sweep: what `[sweep]` and `[[sweep.zip]]` list, and the points that they span.

use super::range::range;
use super::value::{Value, short};
use crate::error::{Error, Refusal, cut, quote};
use crate::keys;
use crate::node::{Node, Table, show};
use std::collections::HashSet;
use toml::Spanned;
use toml::de::DeValue;

pub const AXIS_EXAMPLE: &str = "give a list, or a range like { from = 50, to = 6400, factor = 2 }";
const PATH_EXAMPLE: &str = "write it like \"dumbbell.buffer\" or \"flows[0].cca\"";
const ZIP_EXAMPLE: &str = "write [[sweep.zip]], once for each group of lists that go together";

/// Lists of one length whose values vary together.
pub struct Axis<'a>(pub Vec<Column<'a>>);

/// A swept name and its values.
pub struct Column<'a> {
    pub node: Node<'a>,
    pub name: String,
    pub path: Vec<Step>,
    pub cells: Vec<Cell<'a>>,
}

/// One part of a path: `flows[1]`. Without an index every element of a list.
#[derive(PartialEq)]
pub struct Step {
    pub name: String,
    pub index: Option<usize>,
}

pub struct Cell<'a> {
    pub written: Written<'a>,
    /// Where it stands in the text, for errors.
    pub offset: usize,
    pub value: Value,
    /// As it stands in the names of points.
    pub short: String,
}

pub enum Written<'a> {
    Given(&'a DeValue<'a>),
    /// A range's value, as TOML.
    Made(String),
}

/// The axes of `[sweep]`, each with its values.
pub fn axes<'a>(node: &Node<'a>) -> Result<Vec<Axis<'a>>, Error> {
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
            let found = format!("the values at {index} repeat earlier ones");
            Err(table.node().error(found, "give them once"))
        }
        None => Ok(axis),
    }
}

/// The columns under `key`; a value that is listed twice is an error.
fn columns<'a>(key: &str, node: &Node<'a>) -> Result<Vec<Column<'a>>, Error> {
    let columns = read_columns(key, node)?;
    for column in &columns {
        let mut seen = HashSet::new();
        if let Some(cell) = column.cells.iter().find(|cell| !seen.insert(cell.identity())) {
            return Err(column.node.error(format!("{} is listed twice", cut(&cell.short)), "give it once"));
        }
    }
    Ok(columns)
}

/// The columns under `key`: more than one when it was written without quotes, as in `dumbbell.buffer = [50, 100]`.
fn read_columns<'a>(key: &str, node: &Node<'a>) -> Result<Vec<Column<'a>>, Error> {
    if let DeValue::Table(entries) = node.value()
        && !entries.is_empty()
        && !keys::RANGE.iter().any(|key| entries.contains_key(key.name))
    {
        let table = node.any_table("a table", AXIS_EXAMPLE)?;
        let below = table.entries().map(|(name, entry)| read_columns(&format!("{key}.{name}"), &entry));
        return Ok(below.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
    }
    let path = path(key).map_err(|refusal| node.error(refusal.found, refusal.accepted))?;
    let cells: Vec<Cell> = match node.value() {
        DeValue::Array(_) => node.elements().map(|element| given(&element)).collect(),
        DeValue::Table(_) => range(&node.table(&keys::RANGE)?)?,
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

/// An error if something is swept twice.
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

impl Axis<'_> {
    pub fn len(&self) -> usize {
        self.0.first().map_or(0, |column| column.cells.len())
    }
}

/// The cells of the point `index`; the last axis varies fastest.
pub fn cells<'a, 'b>(axes: &'b [Axis<'a>], mut index: usize) -> Vec<(&'b Column<'a>, &'b Cell<'a>)> {
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
    pub fn toml(&self) -> Spanned<DeValue<'_>> {
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
