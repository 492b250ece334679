//! From a TOML with `[sweep]` to the scenarios of its grid.

mod axes;
mod names;
mod place;
mod range;
mod value;

pub use value::Value;

use crate::Scenario;
use crate::error::Error;
use crate::node::{Document, Files};
use crate::read::scenario::no_files;
use axes::{axes, cells};
use names::Names;
use place::set;
use serde::Serialize;
use toml::de::DeValue;

const POINTS_MAX: usize = 100_000;
/// Links and flows of all points, which are in memory together: a few kB each as results describe them.
const PARTS_MAX: usize = 200_000;
/// `go_on` is asked after this many points.
const ASK_EVERY_POINTS: usize = 64;

const SPLIT: &str = "sweep fewer values, or split them over several sweeps";

/// The scenarios of a grid.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sweep {
    /// The scenario's, without any values.
    pub name: String,
    /// In the order of the swept values: the last varies fastest.
    pub points: Vec<SweepPoint>,
}

/// One scenario of a grid.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SweepPoint {
    /// Swept names, and the value of each at this point.
    pub values: Vec<(String, Value)>,
    /// The scenario with these values.
    pub scenario: Scenario,
}

impl SweepPoint {
    /// The values as a map in their order.
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
    /// replaces what the scenario has, or is added to it.
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
        Sweep::from_toml_while(text, file, custom, &no_files, &mut || true)
    }

    /// [`Sweep::from_toml`] of a text that may name further files, which `files` reads; it ends with an error once `go_on`, called every few points, returns false.
    pub fn from_toml_while(
        text: &str,
        file: &str,
        custom: &[&str],
        files: Files,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Sweep, Error> {
        let document = Document { file, text, files };
        let mut base = document.parse()?;
        let swept = match &mut base {
            DeValue::Table(root) => root.remove("sweep"),
            _ => None,
        };
        let Some(swept) = swept else {
            let scenario = Scenario::read(document, &base, custom)?;
            return Ok(Sweep {
                name: scenario.name.clone(),
                points: vec![SweepPoint { values: vec![], scenario }],
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
            points.push(SweepPoint { values: values.collect(), scenario });
        }
        Ok(Sweep { name: front, points })
    }
}
