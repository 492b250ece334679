//! Flows and links in the JSON of a scenario: a long run of rows that follow by a rule is one entry.
//!
//! `{"count": 100000, "first": {...}, "step": {"path": [1, 0], "start_ns": 5}}`: row k, from 0, is `first` with k times `step`
//! added to these numbers, to each of a list, and to the number at the end of a name.

use crate::{Flow, Link};
use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;

/// Shorter runs are written row by row.
const RUN_MIN: usize = 1000;
/// Most rows in all runs together; a damaged count asks for no more memory.
const ROWS_MAX: usize = 1 << 24;

pub trait Row: Serialize + DeserializeOwned + PartialEq {
    type Step: Serialize + DeserializeOwned;

    /// Returns the step from this row to `next`, if that is the next row of a run.
    fn step_to(&self, next: &Self) -> Option<Self::Step>;

    /// The row `number` steps on, if its numbers are in their range.
    fn after(&self, number: usize, step: &Self::Step) -> Option<Self>;

    /// Takes the parts of `other` that are equal to its own, so that both are in memory once.
    fn share(&mut self, other: &Self);
}

#[derive(Serialize)]
struct WrittenRun<'a, T: Row> {
    count: usize,
    first: &'a T,
    step: T::Step,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run<T, S> {
    count: usize,
    first: T,
    step: S,
}

/// Between neighbours.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowStep {
    path: Vec<i64>,
    start_ns: i64,
    stop_ns: i64,
}

/// Between neighbours.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkStep {
    name: u32,
}

impl Row for Flow {
    type Step = FlowStep;

    fn step_to(&self, next: &Flow) -> Option<FlowStep> {
        let step = |(&one, &other): (&u32, &u32)| i64::from(other) - i64::from(one);
        Some(FlowStep {
            path: self.path.iter().zip(&next.path).map(step).collect(),
            start_ns: next.start_ns.wrapping_sub(self.start_ns) as i64,
            stop_ns: next.stop_ns.wrapping_sub(self.stop_ns) as i64,
        })
    }

    fn after(&self, number: usize, step: &FlowStep) -> Option<Flow> {
        let number = number as i64;
        let time_ns = |first: u64, step: i64| first.checked_add_signed(step.checked_mul(number)?);
        let link = |(&first, &step): (&u32, &i64)| {
            u32::try_from(i64::from(first).checked_add(step.checked_mul(number)?)?).ok()
        };
        (self.path.len() == step.path.len()).then_some(())?;
        Some(Flow {
            path: self.path.iter().zip(&step.path).map(link).collect::<Option<_>>()?,
            start_ns: time_ns(self.start_ns, step.start_ns)?,
            stop_ns: time_ns(self.stop_ns, step.stop_ns)?,
            ..self.clone()
        })
    }

    fn share(&mut self, other: &Flow) {
        fn take<T: Clone + PartialEq>(own: &mut T, other: &T) {
            if own == other {
                *own = other.clone();
            }
        }
        take(&mut self.cca, &other.cca);
        take(&mut self.label, &other.label);
        take(&mut self.traffic, &other.traffic);
        take(&mut self.stack, &other.stack);
    }
}

impl Row for Link {
    type Step = LinkStep;

    fn step_to(&self, _: &Link) -> Option<LinkStep> {
        numbered(&self.name).map(|_| LinkStep { name: 1 })
    }

    fn after(&self, number: usize, step: &LinkStep) -> Option<Link> {
        let (stem, first) = numbered(&self.name)?;
        let number = first.checked_add(u64::from(step.name) * number as u64)?;
        Some(Link { name: format!("{stem}{number}"), ..self.clone() })
    }

    fn share(&mut self, _: &Link) {}
}

/// The text before the number at the end of a name, and the number; None: there is none that is written like a number.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let (stem, digits) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    let number: u64 = digits.parse().ok().filter(|number| *number < 1 << 32)?;
    (digits == "0" || !digits.starts_with('0')).then_some((stem, number))
}

pub fn serialize<T: Row, S: Serializer>(rows: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let mut entries = serializer.serialize_seq(None)?;
    let mut left = rows;
    while let Some((first, others)) = left.split_first() {
        let step = others.first().and_then(|next| first.step_to(next));
        let follows = |(number, row): &(usize, &T)| {
            step.as_ref().and_then(|step| first.after(*number, step)).is_some_and(|after| after == **row)
        };
        let count = (1..).zip(others).take_while(follows).count() + 1;
        match step {
            Some(step) if count >= RUN_MIN => {
                entries.serialize_element(&WrittenRun { count, first, step })?;
                left = &left[count..];
            }
            _ => {
                // The last row may begin the next run.
                let alone = (count - 1).max(1);
                left[..alone].iter().try_for_each(|row| entries.serialize_element(row))?;
                left = &left[alone..];
            }
        }
    }
    entries.end()
}

pub fn deserialize<'de, T: Row, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(Rows(PhantomData))
}

struct Rows<T>(PhantomData<T>);

impl<'de, T: Row> Visitor<'de> for Rows<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let mut rows: Vec<T> = Vec::new();
        while let Some(entry) = entries.next_element::<Value>()? {
            if entry.get("count").is_none() {
                let mut row: T = serde_json::from_value(entry).map_err(A::Error::custom)?;
                if let Some(last) = rows.last() {
                    row.share(last);
                }
                rows.push(row);
                continue;
            }
            let run: Run<T, T::Step> = serde_json::from_value(entry).map_err(A::Error::custom)?;
            if run.count > ROWS_MAX - rows.len().min(ROWS_MAX) {
                return Err(A::Error::custom(format!("a run of {} rows", run.count)));
            }
            for number in 0..run.count {
                let row = run.first.after(number, &run.step);
                rows.push(row.ok_or_else(|| A::Error::custom("a run that leaves the range of its numbers"))?);
            }
        }
        Ok(rows)
    }
}
