//! Puts a swept value into the text's own tables.

use super::axes::Step;
use crate::error::{Refusal, cut, quote};
use crate::node::show;
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Puts `value` where `path` leads.
pub fn set<'v>(table: &mut DeTable<'v>, path: &[Step], value: &Spanned<DeValue<'v>>) -> Result<(), Refusal> {
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
