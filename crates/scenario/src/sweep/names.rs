//! The names of a sweep's points.

use super::axes::{Cell, Column};
use crate::error::printable;
use crate::units::NAME_CHARS_MAX;
use std::collections::{HashMap, HashSet};

/// The names of the points so far.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
    /// The last number that a name needed: the search for the next starts there.
    last: HashMap<String, u32>,
}

impl Names {
    /// `FRONT (cca elastic, buffer 50)`: cut to what a name may have, numbered if it is taken.
    pub fn of(&mut self, front: &str, cells: &[(&Column, &Cell)]) -> String {
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
