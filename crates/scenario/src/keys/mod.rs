//! The keys of a scenario: the one table from which the reader, the JSON Schema, the reference and the command line come.
//!
//! [`tables`] is the table, to be read from top to bottom. A new key is a row there and its reading in `read`.

#[rustfmt::skip]
mod tables;

pub use tables::*;

use std::ops::RangeInclusive;

/// A key of a table.
pub struct Key {
    pub name: &'static str,
    pub form: Form,
    pub default: Absent,
    /// One sentence.
    pub about: &'static str,
}

/// The value of a key that a scenario does not write.
pub enum Absent {
    /// There is none: the key has to be written.
    Needed,
    /// As a scenario would write it, without quotation marks.
    Is(&'static str),
    /// In words, because it depends on other keys.
    Words(&'static str),
}

/// How a value is written.
pub enum Form {
    Time,
    Rate,
    /// An amount of data, with a unit.
    Data,
    /// A size in bytes between these.
    Bytes(u64, u64),
    Packets,
    /// A number of packets, or "unlimited".
    Limit,
    /// Packets, bandwidth-delay products, data, a time or "unlimited".
    Buffer,
    /// From 0 to 1, or in percent.
    Share,
    Flag,
    Text,
    /// The name of a file.
    File,
    /// A whole number between these.
    Whole(u64, u64),
    /// A number between these.
    Number(f64, f64),
    AnyNumber,
    Names(&'static [&'static str]),
    /// The names of these tables.
    NamesOf(&'static [&'static Keys]),
    /// The name of the table in which the key stands.
    OwnName,
    Table(&'static Keys),
    /// One of these tables.
    Tables(&'static [&'static Keys]),
    /// At least one.
    List(&'static Form),
    /// Two of a form.
    Pair(&'static Form),
    /// Pairs of a time and the value from then on.
    Steps(&'static Form),
    /// A list of packets' numbers, pairs of them, and spans of time.
    PacketSet,
    OneOf(&'static [Form]),
    /// A number, a text, true or false.
    Scalar,
    Anything,
}

/// The keys that a table of a scenario may have.
pub struct Keys {
    /// Different for each table.
    pub name: &'static str,
    /// As a scenario writes it.
    pub written: &'static str,
    /// In the order in which errors list them. Tables share parts.
    pub parts: &'static [&'static [Key]],
    /// Exactly one of these is needed; empty: there is no such choice.
    pub one_of: &'static [&'static str],
    /// The form of all other keys; None: there are no others.
    pub others: Option<Form>,
}

const fn key(name: &'static str, form: Form, default: Absent, about: &'static str) -> Key {
    Key { name, form, default, about }
}

const fn keys(name: &'static str, written: &'static str, parts: &'static [&'static [Key]]) -> Keys {
    Keys { name, written, parts, one_of: &[], others: None }
}

/// The names of `choices`.
const fn names<T: Copy, const N: usize>(choices: [(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut place = 0;
    while place < N {
        names[place] = choices[place].0;
        place += 1;
    }
    names
}

/// Every table, the scenario first, each before the tables that it names.
pub fn all() -> Vec<&'static Keys> {
    let mut found: Vec<&'static Keys> = vec![&SCENARIO, &SWEEP];
    let mut place = 0;
    while place < found.len() {
        let keys = found[place];
        for form in keys.iter().map(|key| &key.form).chain(&keys.others) {
            form.visit_tables(&mut |keys| {
                if !found.iter().any(|known| known.name == keys.name) {
                    found.push(keys);
                }
            });
        }
        place += 1;
    }
    found
}

impl Keys {
    pub fn iter(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.parts.iter().copied().flatten()
    }

    pub fn get(&self, name: &str) -> Option<&'static Key> {
        self.iter().find(|key| key.name == name)
    }

    /// The whole numbers that `name` accepts.
    ///
    /// # Panics
    ///
    /// If the key has no bounds.
    pub fn bounds(&self, name: &str) -> RangeInclusive<u64> {
        self.get(name).and_then(|key| key.form.bounds()).expect("the key has bounds")
    }

    /// The numbers that `name` accepts.
    ///
    /// # Panics
    ///
    /// If the key is not a number.
    pub fn range(&self, name: &str) -> RangeInclusive<f64> {
        match self.get(name).map(|key| &key.form) {
            Some(&Form::Number(least, most)) => least..=most,
            _ => panic!("the key is a number"),
        }
    }
}

impl Form {
    /// The names among which the value is chosen, if there are any.
    pub fn names(&self) -> Option<Vec<&'static str>> {
        match self {
            Form::Names(names) => Some(names.to_vec()),
            Form::NamesOf(tables) => Some(tables.iter().map(|keys| keys.name).collect()),
            Form::OneOf(forms) => forms.iter().find_map(Form::names),
            _ => None,
        }
    }

    /// The ways to write a value.
    pub fn words(&self) -> Vec<String> {
        let quoted = |names: Vec<&str>| names.iter().map(|name| format!("\"{name}\"")).collect();
        let one = |words: &str| vec![words.to_owned()];
        let several = |form: &Form| form.words().join(" or ") + "s";
        match self {
            Form::Time => one("time"),
            Form::Rate => one("rate"),
            Form::Data => one("data"),
            Form::Bytes(least, most) => vec![format!("{least} to {most} bytes")],
            Form::Packets => one("packets"),
            Form::Limit => vec!["packets".to_owned(), "\"unlimited\"".to_owned()],
            Form::Buffer => one("buffer"),
            Form::Share => one("share"),
            Form::Flag => vec!["true".to_owned(), "false".to_owned()],
            Form::Text | Form::OwnName => one("text"),
            Form::File => one("file"),
            Form::Whole(least, most) => vec![format!("whole, {least} to {most}")],
            Form::Number(least, most) => vec![format!("{least} to {most}")],
            Form::AnyNumber => one("number"),
            Form::Names(_) | Form::NamesOf(_) => quoted(self.names().unwrap_or_default()),
            Form::Table(_) | Form::Tables(_) => one("table"),
            Form::List(form) => vec![format!("list of {}", several(form))],
            Form::Pair(form) => vec![format!("two {}", several(form))],
            Form::Steps(form) => vec![format!("list of pairs, time and {}", form.words().join(" or "))],
            Form::PacketSet => one("list of numbers of packets, two of them, or two times"),
            Form::OneOf(forms) => forms.iter().flat_map(Form::words).collect(),
            Form::Scalar => one("number, text, true or false"),
            Form::Anything => one("any value"),
        }
    }

    fn visit_tables(&'static self, visit: &mut impl FnMut(&'static Keys)) {
        match self {
            Form::Table(keys) => visit(keys),
            Form::Tables(tables) => tables.iter().for_each(|keys| visit(keys)),
            Form::List(of) => of.visit_tables(visit),
            Form::OneOf(forms) => forms.iter().for_each(|form| form.visit_tables(visit)),
            _ => {}
        }
    }

    fn bounds(&self) -> Option<RangeInclusive<u64>> {
        match self {
            Form::Whole(least, most) | Form::Bytes(least, most) => Some(*least..=*most),
            Form::OneOf(forms) => forms.iter().find_map(Form::bounds),
            _ => None,
        }
    }
}
