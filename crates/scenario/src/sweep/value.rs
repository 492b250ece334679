//! A swept value as it is shown: in tables, and in the names of points.

use crate::error::printable;
use crate::units;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use toml::Spanned;
use toml::de::DeValue;

/// A value as written; of a range, as it would be written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// A text.
    Text(String),
    /// A table or a list, as TOML on one line.
    Inline(String),
}

impl Value {
    pub(super) fn of(value: &DeValue) -> Value {
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

/// A value as it stands in the name of a point: of an algorithm its name, then its parameters.
pub fn short(value: &DeValue) -> String {
    let DeValue::Table(table) = value else { return printable(&Value::of(value).to_string()) };
    let entry = |(key, value): (&Spanned<Cow<str>>, &Spanned<DeValue>)| match key.get_ref().as_ref() {
        "name" | "profile" => short(value.get_ref()),
        key => format!("{}={}", printable(key), short(value.get_ref())),
    };
    table.iter().map(entry).collect::<Vec<_>>().join(" ")
}
