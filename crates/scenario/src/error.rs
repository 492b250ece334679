//! The one error of this crate, and how text of unknown origin is shown in it.

use std::fmt;

/// Why a scenario, a value or a name was refused. Displays as exactly one line, whatever the text had in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A text is no scenario: `FILE:LINE: KEY: what was found; what is accepted`.
    #[non_exhaustive]
    Text {
        /// The name that the caller gave the text.
        file: String,
        /// From 1.
        line: usize,
        /// Such as `flows[0].cca`; empty when the text is not TOML or the fault has no key.
        key: String,
        /// The part that was refused.
        found: String,
        /// An accepted form.
        accepted: String,
    },
    /// A value or a name that stands in no text: `KEY: what was found; what is accepted`.
    #[non_exhaustive]
    Value {
        /// Such as `flows.cca`; empty when the fault has no key.
        key: &'static str,
        /// The part that was refused.
        found: String,
        /// An accepted form.
        accepted: String,
    },
    /// A scenario that was not read from TOML contradicts itself: a clause about it, such as `it has no flows`.
    Damaged(String),
}

/// An [`Error`] that does not know yet where it stands.
#[derive(Debug)]
pub struct Refusal {
    pub found: String,
    pub accepted: String,
}

impl Refusal {
    pub fn new(found: impl Into<String>, accepted: impl Into<String>) -> Self {
        Refusal { found: found.into(), accepted: accepted.into() }
    }

    /// The error where no text is refused; `key` may be empty.
    pub fn of_value(self, key: &'static str) -> Error {
        Error::Value { key, found: self.found, accepted: self.accepted }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, found, accepted) = match self {
            Error::Text { file, line, key, found, accepted } => {
                write!(f, "{file}:{line}: ")?;
                (key.as_str(), found, accepted)
            }
            Error::Value { key, found, accepted } => (*key, found, accepted),
            Error::Damaged(clause) => return f.write_str(clause),
        };
        if !key.is_empty() {
            write!(f, "{key}: ")?;
        }
        write!(f, "{found}; {accepted}")
    }
}

impl std::error::Error for Error {}

/// Longest piece of a scenario's text that a message repeats, in characters.
const SHOWN_CHARS: usize = 60;

/// `text` without anything that could break the line.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' | '"' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// The beginning of `text`, on one line.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => printable(&text[..end]) + "...",
        None => printable(text),
    }
}

/// The beginning of `text` in quotes, on one line.
pub fn quote(text: &str) -> String {
    format!("'{}'", cut(text))
}

/// "did you mean ...?" when one of `names` is like `name`, else the list of them.
pub fn suggest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let wanted: String = name.chars().take(SHOWN_CHARS).collect::<String>().to_lowercase();
    let nearest = names
        .iter()
        .map(|n| (strsim::jaro_winkler(n, &wanted), n))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, nearest)| *nearest);
    did_you_mean(nearest, &names)
}

/// [`suggest`] for algorithms, which have titles and aliases, too.
pub fn suggest_algorithm<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    did_you_mean(cwnd_algorithms::nearest(name, names.iter().copied()), &names)
}

fn did_you_mean(nearest: Option<&str>, names: &[&str]) -> String {
    match nearest {
        Some(nearest) => format!("did you mean '{}'?", printable(nearest)),
        None if names.len() == 1 => format!("there is {}", printable(names[0])),
        None => format!("there are {}", printable(&names.join(", "))),
    }
}
