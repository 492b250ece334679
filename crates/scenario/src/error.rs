//! The one error of this crate, and how text of unknown origin is shown in it.

use std::fmt;

/// Why a scenario was refused. Displays as exactly one line,
/// `FILE:LINE: KEY: what was found; what is accepted`, whatever the text had in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The name that the caller gave the text.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// Such as `flows[0].cca`; empty when the text is not TOML or the fault has no key.
    pub key: String,
    pub found: String,
    pub accepted: String,
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
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.found, self.accepted)
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
