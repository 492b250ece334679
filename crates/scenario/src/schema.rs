//! The JSON Schema of scenarios, from the table of keys.

use crate::keys::{self, Absent, Form, Key, Keys};
use crate::units;
use serde_json::{Map, Value, json};

/// A number at the beginning of a text, before its unit.
const NUMBER: &str = r"[0-9][0-9_.eE+-]*\s*";

/// The JSON Schema of scenarios: the keys of every table and the forms of their values. Tables are its definitions, by their
/// names.
pub fn schema() -> Value {
    let mut schema = table(&keys::SCENARIO);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "A scenario of cwnd".into();
    schema["description"] =
        "Its keys and the forms of their values; docs/reference.md explains them. The reader of cwnd checks more."
            .into();
    schema["properties"][keys::SWEEP.name] = reference(keys::SWEEP.name);
    let tables = keys::all().into_iter().skip(1).map(|keys| (keys.name, table(keys)));
    let quantities = QUANTITIES.iter().map(|(name, form)| (*name, quantity(form)));
    let definitions = quantities.chain(tables).map(|(name, schema)| (name.to_owned(), schema));
    schema["$defs"] = definitions.collect::<Map<_, _>>().into();
    schema
}

fn table(keys: &'static Keys) -> Value {
    let properties = keys.iter().map(|key| (key.name.to_owned(), property(keys, key)));
    let needed = |key: &&Key| matches!(key.default, Absent::Needed) && !keys.one_of.contains(&key.name);
    let required: Vec<&str> = keys.iter().filter(needed).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "additionalProperties": keys.others.as_ref().map_or(Value::Bool(false), form),
    });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if !keys.one_of.is_empty() {
        schema["oneOf"] = keys.one_of.iter().map(|name| json!({"required": [name]})).collect();
    }
    schema
}

fn property(keys: &Keys, key: &Key) -> Value {
    let mut schema = match key.form {
        Form::OwnName => json!({"const": keys.name}),
        ref other => form(other),
    };
    schema["description"] = match key.default {
        Absent::Needed => key.about.to_owned(),
        Absent::Is(default) | Absent::Words(default) => format!("{} Default: {default}.", key.about),
    }
    .into();
    schema
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Forms that are definitions, too.
const QUANTITIES: [(&str, Form); 7] = [
    ("time", Form::Time),
    ("rate", Form::Rate),
    ("data", Form::Data),
    ("packets", Form::Packets),
    ("limit", Form::Limit),
    ("amount", Form::Buffer),
    ("share", Form::Share),
];

fn form(form: &Form) -> Value {
    let same = |(_, other): &&(&str, Form)| std::mem::discriminant(other) == std::mem::discriminant(form);
    match QUANTITIES.iter().find(same) {
        Some((name, _)) => reference(name),
        None => quantity(form),
    }
}

fn quantity(form: &Form) -> Value {
    match form {
        Form::Time => text(&[NUMBER, &one_of(units::time_units())].concat()),
        Form::Rate => text(&[NUMBER, &units::rate_pattern()].concat()),
        Form::Data => text(&[NUMBER, &one_of(units::data_units())].concat()),
        Form::Bytes(least, most) => json!({"anyOf": [
            {"type": "integer", "minimum": least, "maximum": most},
            text(&[NUMBER, "(bytes?)?"].concat()),
        ]}),
        Form::Packets => json!({"anyOf": [count(), text(&packets())]}),
        Form::Limit => json!({"anyOf": [count(), text(&["unlimited|", &packets()].concat())]}),
        Form::Buffer => {
            let units =
                units::packet_units().chain(["BDP"]).chain(units::data_units()).chain(units::time_units());
            let written = ["unlimited|", NUMBER, &one_of(units), "?"].concat();
            json!({"anyOf": [count(), text(&written)]})
        }
        Form::Share => json!({"anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            text(&[NUMBER, "%"].concat()),
        ]}),
        Form::Flag => json!({"type": "boolean"}),
        Form::Text | Form::File => json!({"type": "string"}),
        Form::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Form::Number(least, most) => json!({"type": "number", "minimum": least, "maximum": most}),
        Form::AnyNumber => json!({"type": "number"}),
        Form::Names(names) => json!({"enum": names}),
        Form::NamesOf(tables) => json!({"enum": tables.iter().map(|keys| keys.name).collect::<Vec<_>>()}),
        Form::OwnName => json!({"type": "string"}),
        Form::Table(keys) => reference(keys.name),
        Form::Tables(tables) => any_of(tables.iter().map(|keys| reference(keys.name))),
        Form::List(of) => json!({"type": "array", "minItems": 1, "items": self::form(of)}),
        Form::Pair(of) => json!({"type": "array", "minItems": 2, "maxItems": 2, "items": self::form(of)}),
        Form::Steps(of) => json!({"type": "array", "minItems": 1, "items": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [self::form(&Form::Time), self::form(of)],
        }}),
        Form::PacketSet => {
            let pair =
                |of: Form| json!({"type": "array", "minItems": 2, "maxItems": 2, "items": self::form(&of)});
            let number = || Form::Whole(1, keys::PACKET_NUMBER_MAX);
            let ways = [self::form(&number()), pair(number()), pair(Form::Time)];
            json!({"type": "array", "minItems": 1, "items": any_of(ways.into_iter())})
        }
        Form::OneOf(forms) => any_of(forms.iter().map(self::form)),
        Form::Scalar => json!({"type": ["string", "number", "boolean"]}),
        Form::Anything => json!({}),
    }
}

/// One choice among `ways`. The ways of a choice that stands among them are listed with the others.
fn any_of(ways: impl Iterator<Item = Value>) -> Value {
    let flat = ways.flat_map(|way| match way {
        Value::Object(mut only) if only.len() == 1 && only.contains_key("anyOf") => {
            match only.remove("anyOf") {
                Some(Value::Array(ways)) => ways,
                _ => Vec::new(),
            }
        }
        way => vec![way],
    });
    json!({"anyOf": flat.collect::<Vec<_>>()})
}

fn text(pattern: &str) -> Value {
    json!({"type": "string", "pattern": format!("^({pattern})$")})
}

fn count() -> Value {
    json!({"type": "number", "minimum": 0})
}

fn packets() -> String {
    [NUMBER, &one_of(units::packet_units()), "?"].concat()
}

fn one_of<'a>(units: impl Iterator<Item = &'a str>) -> String {
    format!("({})", units.collect::<Vec<_>>().join("|"))
}
