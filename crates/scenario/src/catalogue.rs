//! The registry and the presets as JSON, for reference pages and for the choices of a user interface.

use crate::error::{Error, Refusal, suggest};
use crate::keys::{self, Absent, Form, Key, Keys};
use crate::{Named, PRESETS, Preset, Setting, named, settings};
use cwnd_algorithms::{Algorithm, Param};
use serde_json::{Map, Value, json};

pub use crate::schema::schema;

/// The names that a key of a scenario accepts, in the order of their reference.
///
/// # Errors
///
/// If the names of the key are not listed.
pub fn choices(key: &str) -> Result<Vec<&'static str>, Error> {
    let tables = [&keys::SCENARIO, &keys::DUMBBELL, &keys::FLOWS, &keys::STACK];
    let listed =
        || tables.into_iter().flat_map(Keys::iter).filter_map(|key| Some((key.name, key.form.names()?)));
    let found = listed().find_map(|(name, names)| (name == key).then_some(names));
    found.ok_or_else(|| {
        let names = listed().map(|(name, _)| name);
        Refusal::new(format!("'{key}' has no list of names"), suggest(key, names)).of_value("key")
    })
}

/// The tables of a scenario, the scenario itself first, each with its keys: how a value is written, the default and what
/// the key means.
pub fn keys() -> Value {
    keys::all().into_iter().map(describe_keys).collect()
}

fn describe_keys(keys: &'static Keys) -> Value {
    json!({
        "name": keys.name,
        "written": keys.written,
        "one_of": keys.one_of,
        "keys": keys.iter().map(|key| describe_key(keys, key)).collect::<Value>(),
    })
}

fn describe_key(keys: &Keys, key: &Key) -> Value {
    let (default, is_literal) = match key.default {
        Absent::Needed => (None, false),
        Absent::Is(value) => (Some(value), true),
        Absent::Words(words) => (Some(words), false),
    };
    json!({
        "name": key.name,
        "forms": match key.form {
            Form::OwnName => vec![format!("\"{}\"", keys.name)],
            ref form => form.words(),
        },
        "names": key.form.names(),
        "default": default,
        "is_literal": is_literal,
        "about": key.about,
    })
}

/// The registry in its order.
pub fn algorithms() -> Value {
    cwnd_algorithms::all().iter().map(describe).collect()
}

/// The presets.
pub fn presets() -> Value {
    PRESETS.iter().map(describe_preset).collect()
}

/// One algorithm of the registry or one preset.
///
/// # Errors
///
/// If there is none of this name; the error suggests the nearest.
pub fn algorithm(name: &str) -> Result<Value, Error> {
    Ok(match named(name)? {
        Named::Algorithm(found) => describe(&found),
        Named::Preset(found) => describe_preset(found),
    })
}

fn describe(algorithm: &Algorithm) -> Value {
    json!({
        "name": algorithm.name,
        "title": algorithm.title,
        "year": algorithm.year,
        "paper": algorithm.paper,
        "kind": algorithm.kind,
        "status": algorithm.status,
        "essay": algorithm.essay(),
        "state_bytes": algorithm.state_bytes,
        "params": algorithm.params.iter().map(describe_param).collect::<Value>(),
        "profiles": profiles(&algorithm.name, algorithm),
    })
}

fn describe_preset(preset: &Preset) -> Value {
    let algorithm = cwnd_algorithms::find(preset.algorithm).expect("a preset's algorithm is in the registry");
    json!({
        "name": preset.name,
        "algorithm": preset.algorithm,
        "recovery": preset.recovery,
        "about": preset.about,
        "profiles": profiles(preset.name, &algorithm),
    })
}

fn describe_param(param: &Param) -> Value {
    let (meaning, source) = param.meaning_and_source();
    json!({
        "name": param.name,
        "default": written(param, param.default),
        "accepted": param.accepted(),
        "numbers": param.is_number().then(|| numbers(param)),
        "meaning": meaning,
        "source": source,
    })
}

/// Lists the settings of each profile: parameters, and where the stack differs from the profile's base.
fn profiles(name: &str, algorithm: &Algorithm) -> Value {
    let describe_setting = |setting: Setting| {
        let mut values = algorithm.defaults();
        for (param, value) in &setting.params {
            algorithm.set(&mut values, param, value).expect("a profile's parameters are the algorithm's");
        }
        let set = |param: &str| setting.params.iter().any(|(name, _)| *name == param);
        let shown =
            algorithm.show(&values).into_iter().zip(&algorithm.params).filter(|((name, _), _)| set(name));
        let params: Map<String, Value> =
            shown.map(|((name, text), param)| (name.to_owned(), number_or_text(param, text))).collect();
        let fields = |stack| match serde_json::to_value(stack) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("a stack is an object without odd keys"),
        };
        let base = fields(&setting.base);
        let stack: Map<String, Value> =
            fields(&setting.stack).into_iter().filter(|(key, value)| base.get(key) != Some(value)).collect();
        (setting.profile.to_owned(), json!({"params": params, "stack": stack}))
    };
    settings(name).into_iter().map(describe_setting).collect::<Map<_, _>>().into()
}

/// The smallest, the largest and the distance between two that are neighbours.
fn numbers(param: &Param) -> [f64; 3] {
    [param.min, param.max, 1].map(|stored| f64::from(stored) / f64::from(param.one))
}

/// A stored value as JSON: a number, or its name.
fn written(param: &Param, stored: u32) -> Value {
    number_or_text(param, param.show(stored))
}

fn number_or_text(param: &Param, text: String) -> Value {
    if param.is_number() { text.parse().unwrap_or(Value::String(text)) } else { Value::String(text) }
}
