//! Values of a TOML text that know their key and line.

use crate::error::{Error, Refusal, cut, printable, quote, suggest};
use crate::keys::{Key, Keys};
use std::io;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a file that a scenario names, as the scenario names it; the error says what is wrong with it.
pub type Files<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// The text and the name that errors call it by.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub files: Files<'a>,
}

/// A value, its key in full and where it stands.
#[derive(Clone)]
pub struct Node<'a> {
    document: Document<'a>,
    key: String,
    offset: usize,
    value: &'a DeValue<'a>,
}

/// A [`Node`] whose keys are all known.
#[derive(Clone)]
pub struct Table<'a> {
    node: Node<'a>,
    entries: &'a DeTable<'a>,
}

impl<'a> Document<'a> {
    pub fn parse(self) -> Result<DeValue<'a>, Error> {
        match DeTable::parse(self.text) {
            Ok(table) => Ok(DeValue::Table(table.into_inner())),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                let refusal = Refusal::new("not valid TOML", printable(error.message()));
                Err(self.error(offset, String::new(), refusal))
            }
        }
    }

    pub fn root(self, value: &'a DeValue<'a>) -> Node<'a> {
        Node { document: self, key: String::new(), offset: 0, value }
    }

    /// `value` under the key `name`.
    pub fn entry(self, name: &str, value: &'a Spanned<DeValue<'a>>) -> Node<'a> {
        let (offset, value) = (value.span().start, value.get_ref());
        Node { document: self, key: name.to_owned(), offset, value }
    }

    fn error(self, offset: usize, key: String, refusal: Refusal) -> Error {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        Error::Text {
            file: printable(self.file),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            key,
            found: refusal.found,
            accepted: refusal.accepted,
        }
    }
}

impl<'a> Node<'a> {
    pub fn error(&self, found: impl Into<String>, accepted: impl Into<String>) -> Error {
        self.document.error(self.offset, self.key.clone(), Refusal::new(found, accepted))
    }

    pub fn read<T>(&self, parse: impl FnOnce(&DeValue) -> Result<T, Refusal>) -> Result<T, Error> {
        parse(self.value).map_err(|refusal| self.error(refusal.found, refusal.accepted))
    }

    /// The text of the file that the value names; `accepted` is what the file holds.
    pub fn read_file(&self, accepted: &str) -> Result<String, Error> {
        let name = self
            .value
            .as_str()
            .ok_or_else(|| self.error(format!("{} is not a file's name", show(self.value)), accepted))?;
        (self.document.files)(name).map_err(|fault| {
            self.error(format!("{}: {}", quote(name), printable(&fault.to_string())), accepted)
        })
    }

    /// Another value at the same place.
    pub fn with<'b>(&self, value: &'b DeValue<'b>) -> Node<'b>
    where
        'a: 'b,
    {
        Node { document: self.document, key: self.key.clone(), offset: self.offset, value }
    }

    pub fn value(&self) -> &'a DeValue<'a> {
        self.value
    }

    /// A table with no other keys than `known`.
    pub fn table(&self, known: &Keys) -> Result<Table<'a>, Error> {
        self.table_of(known.parts)
    }

    /// A table with no other keys than those of `parts`.
    pub fn table_of(&self, parts: &[&[Key]]) -> Result<Table<'a>, Error> {
        let known = || parts.iter().copied().flatten().map(|key| key.name);
        let table = self.any_table("a table", "write key = value pairs")?;
        for (key, _) in table.entries {
            let name = key.get_ref();
            if !known().any(|known| known == name) {
                let refusal = Refusal::new("unknown key", suggest(name, known()));
                return Err(self.document.error(key.span().start, self.key_of(name), refusal));
            }
        }
        Ok(table)
    }

    /// A table with any keys; `wanted` is what the value stands for.
    pub fn any_table(&self, wanted: &str, accepted: &str) -> Result<Table<'a>, Error> {
        let DeValue::Table(entries) = self.value else {
            return Err(self.error(format!("{} is not {wanted}", show(self.value)), accepted));
        };
        Ok(Table { node: self.clone(), entries })
    }

    /// The tables under `[[name]]`: at least one.
    pub fn tables(&self, name: &str, known: &Keys) -> Result<Vec<Table<'a>>, Error> {
        let write = || format!("write [[{name}]], once for each");
        let DeValue::Array(list) = self.value else {
            return Err(self.error(format!("{} is not a list of tables", show(self.value)), write()));
        };
        if list.is_empty() {
            return Err(self.error("an empty list", write()));
        }
        self.elements().map(|element| element.table(known)).collect()
    }

    /// Returns the elements of a list; nothing else has any.
    pub fn elements(&self) -> impl Iterator<Item = Node<'a>> {
        let list = self.value.as_array().into_iter().flatten().enumerate();
        list.map(|(index, value)| Node {
            document: self.document,
            key: format!("{}[{index}]", self.key),
            offset: value.span().start,
            value: value.get_ref(),
        })
    }

    pub fn offset(&self) -> usize {
        self.offset
    }

    fn key_of(&self, name: &str) -> String {
        if self.key.is_empty() { cut(name) } else { format!("{}.{}", self.key, cut(name)) }
    }
}

impl<'a> Table<'a> {
    pub fn node(&self) -> &Node<'a> {
        &self.node
    }

    pub fn get(&self, name: &str) -> Option<Node<'a>> {
        self.entries.get(name).map(|value| self.child(name, value))
    }

    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.entries.iter().map(|(key, value)| (key.get_ref().as_ref(), self.child(key.get_ref(), value)))
    }

    /// The value of `name`; without it an error that says what would be accepted.
    pub fn need(&self, name: &str, accepted: &str) -> Result<Node<'a>, Error> {
        self.get(name).ok_or_else(|| self.missing(name, accepted))
    }

    pub fn missing(&self, name: &str, accepted: &str) -> Error {
        let refusal = Refusal::new("missing", accepted);
        self.node.document.error(self.node.offset, self.node.key_of(name), refusal)
    }

    pub fn read<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&DeValue) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Error> {
        self.get(name).map(|node| node.read(parse)).transpose()
    }

    fn child(&self, name: &str, value: &'a Spanned<DeValue<'a>>) -> Node<'a> {
        Node {
            document: self.node.document,
            key: self.node.key_of(name),
            offset: value.span().start,
            value: value.get_ref(),
        }
    }
}

/// A value as a message repeats it.
pub fn show(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => quote(text),
        DeValue::Integer(number) => cut(&number.to_string()),
        DeValue::Float(number) => cut(number.as_str()),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
