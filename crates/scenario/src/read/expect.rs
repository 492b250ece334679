//! Reads `[[expect]]`.

use crate::error::{Error, Refusal, quote, suggest};
use crate::expectation::{Direction, Expectation, Kind};
use crate::keys::{
    self, COLUMNS_OF_FLOWS, COLUMNS_OF_LINKS, EVENTS, METRICS, SERIES_OF_FLOWS, SERIES_OF_LINKS,
};
use crate::keys::{STATISTICS_OF_EVENTS, STATISTICS_OF_SERIES};
use crate::node::{Document, Node, Table, show};
use crate::units::{self, DAY};
use std::io;
use toml::de::DeValue;

const WHY_CHARS_MAX: usize = 200;
const ROUNDS_MAX: f64 = 1e6;

/// Parts of a scenario that expectations name.
pub struct World<'a> {
    pub duration_ns: u64,
    pub flows: usize,
    pub links: Vec<&'a str>,
}

impl Expectation {
    /// Reads a text of `[[expect]]` tables alone, for a scenario of this duration with these numbers of flows and names of
    /// links.
    ///
    /// # Errors
    ///
    /// If the text is not TOML, or a table is no expectation of such a scenario.
    pub fn from_toml(
        text: &str,
        file: &str,
        duration_ns: u64,
        flows: usize,
        links: &[&str],
    ) -> Result<Vec<Expectation>, Error> {
        let no_files = |_: &str| Err(io::Error::other("no file can be read here"));
        let document = Document { file, text, files: &no_files };
        let value = document.parse()?;
        let root = document.root(&value).table(&keys::EXPECTATIONS)?;
        expectations(&root, &World { duration_ns, flows, links: links.to_vec() })
    }
}

pub fn expectations(root: &Table, world: &World) -> Result<Vec<Expectation>, Error> {
    let Some(node) = root.get("expect") else { return Ok(Vec::new()) };
    node.tables("expect", &keys::EXPECT)?.iter().map(|table| expectation(table, world)).collect()
}

fn expectation(table: &Table, world: &World) -> Result<Expectation, Error> {
    let (kind, of) = kind(table)?;
    let flow = flow(table, world)?;
    let link = link(table, world)?;
    if let (Some(_), Some(link)) = (flow, table.get("link")) {
        return Err(link.error("both 'flow' and 'link'", "give one of them"));
    }
    let event = match kind {
        Kind::Metric => None,
        Kind::Series => table.get("after"),
        Kind::Event => table.get("link"),
    };
    if let (Some(_), Some(event)) = (&link, event) {
        return Err(event.error("an event of a link", "events are of a flow"));
    }
    let flow = if kind != Kind::Metric && link.is_none() { flow.or(Some(0)) } else { flow };
    let name = of.read(|value| choice(value, columns(kind, flow.is_some(), link.is_some())))?;
    let mut made = Expectation {
        kind,
        name,
        flow,
        link,
        at_ns: None,
        from_ns: None,
        to_ns: None,
        after: None,
        number: None,
        rounds: None,
        statistic: statistic(table, kind)?,
        at_least: None,
        at_most: None,
        never: None,
        why: table.read("why", why)?,
    };
    read_when(table, world, &mut made)?;
    read_bounds(table, &mut made)?;
    Ok(made)
}

fn kind<'a>(table: &Table<'a>) -> Result<(Kind, Node<'a>), Error> {
    let given = [("metric", Kind::Metric), ("series", Kind::Series), ("event", Kind::Event)]
        .into_iter()
        .filter_map(|(key, kind)| Some((kind, table.get(key)?)));
    let mut given = given.collect::<Vec<_>>().into_iter();
    match (given.next(), given.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => Err(table.node().error(
            "an expectation on nothing",
            "give one of metric = \"goodput_mbps\", series = \"cwnd_pkts\" and event = \"cut\"",
        )),
        (Some(_), Some((_, second))) => {
            Err(second.error("more than one of 'metric', 'series' and 'event'", "give one of them"))
        }
    }
}

fn columns(kind: Kind, of_flow: bool, of_link: bool) -> &'static [&'static str] {
    match (kind, of_flow, of_link) {
        (Kind::Metric, true, _) => COLUMNS_OF_FLOWS,
        (Kind::Metric, _, true) => COLUMNS_OF_LINKS,
        (Kind::Metric, ..) => METRICS,
        (Kind::Series, _, true) => SERIES_OF_LINKS,
        (Kind::Series, ..) => SERIES_OF_FLOWS,
        (Kind::Event, ..) => EVENTS,
    }
}

fn flow(table: &Table, world: &World) -> Result<Option<u32>, Error> {
    let most = (world.flows - 1) as u64;
    let flow = table.read("flow", |value| units::whole(value, 0..=most))?;
    Ok(flow.map(|flow| flow as u32))
}

fn link(table: &Table, world: &World) -> Result<Option<String>, Error> {
    table.read("link", |value| {
        let name = value.as_str().filter(|name| world.links.contains(name));
        name.map(str::to_owned).ok_or_else(|| {
            let asked = value.as_str().unwrap_or_default();
            Refusal::new(
                format!("{} is not a link of the scenario", show(value)),
                suggest(asked, world.links.iter().copied()),
            )
        })
    })
}

fn choice(value: &DeValue, names: &[&str]) -> Result<String, Refusal> {
    match value.as_str() {
        Some(name) if names.contains(&name) => Ok(name.to_owned()),
        Some(name) => Err(Refusal::new(
            format!("{} cannot be expected", quote(name)),
            suggest(name, names.iter().copied()),
        )),
        None => {
            Err(Refusal::new(format!("{} is not a text", show(value)), suggest("", names.iter().copied())))
        }
    }
}

fn statistic(table: &Table, kind: Kind) -> Result<Option<String>, Error> {
    let names = match kind {
        Kind::Metric => {
            return match table.get("statistic") {
                None => Ok(None),
                Some(node) => {
                    Err(node.error("a statistic of a metric", "leave it out: a metric is one number"))
                }
            };
        }
        Kind::Series => STATISTICS_OF_SERIES,
        Kind::Event => STATISTICS_OF_EVENTS,
    };
    let asked = table.read("statistic", |value| choice(value, names))?;
    Ok(Some(asked.unwrap_or_else(|| names[0].to_owned())))
}

fn why(value: &DeValue) -> Result<String, Refusal> {
    let accepted = || format!("1 to {WHY_CHARS_MAX} printable characters");
    match value.as_str() {
        Some(text)
            if (1..=WHY_CHARS_MAX).contains(&text.chars().count()) && !text.contains(char::is_control) =>
        {
            Ok(text.to_owned())
        }
        _ => Err(Refusal::new(format!("{} is not a reason", show(value)), accepted())),
    }
}

/// Reads the moment, the span or the event.
fn read_when(table: &Table, world: &World, made: &mut Expectation) -> Result<(), Error> {
    let limits = format!("'0 s' to the duration, '{}'", units::show_time(world.duration_ns));
    let time =
        |key| table.read(key, |value| units::time(value, 0..=world.duration_ns.min(10 * DAY), &limits));
    (made.at_ns, made.from_ns, made.to_ns) = (time("at")?, time("from")?, time("to")?);
    made.after = table.read("after", |value| choice(value, EVENTS))?;
    made.number = table.read("number", |value| units::whole(value, keys::EXPECT.bounds("number")))?;
    made.rounds = table.read("rounds", |value| number(value, 0.0, ROUNDS_MAX))?;
    let refuse = |key: &str, found: &str, accepted: &str| match table.get(key) {
        Some(node) => Err(node.error(found, accepted)),
        None => Ok(()),
    };
    if made.kind == Kind::Metric {
        for key in ["at", "from", "to", "after", "number", "rounds"] {
            refuse(key, "a metric is of the whole run", "expect a series, or leave it out")?;
        }
    }
    if made.at_ns.is_some() {
        for key in ["from", "to", "after"] {
            refuse(key, "a span beside 'at'", "give one of them")?;
        }
    }
    if made.kind == Kind::Event {
        refuse("at", "events at one moment", "a span: from = \"1 s\", to = \"2 s\"")?;
    }
    if made.after.is_some() {
        for key in ["from", "to"] {
            refuse(key, "a time beside 'after'", "give one of them; rounds = 3 ends the span")?;
        }
    } else {
        refuse("rounds", "rounds without an event", "give after = \"cut\", too")?;
        if made.statistic.as_deref() != Some("time_s") {
            refuse(
                "number",
                "a number without an event",
                "give after = \"cut\" or statistic = \"time_s\", too",
            )?;
        }
    }
    if let (Some(from), Some(to), Some(node)) = (made.from_ns, made.to_ns, table.get("to"))
        && from >= to
    {
        return Err(node.error("a span that ends before it begins", "a time after 'from'"));
    }
    Ok(())
}

/// Reads what is accepted.
fn read_bounds(table: &Table, made: &mut Expectation) -> Result<(), Error> {
    let read = |key| table.read(key, |value| number(value, f64::MIN, f64::MAX));
    let (at_least, at_most, equals) = (read("at_least")?, read("at_most")?, read("equals")?);
    let within = table.read("within", |value| number(value, 0.0, f64::MAX))?;
    made.never = table.read("never", |value| match value.as_str() {
        Some("falls") => Ok(Direction::Falls),
        Some("rises") => Ok(Direction::Rises),
        _ => Err(Refusal::new(format!("{} is not a direction", show(value)), "'falls' or 'rises'")),
    })?;
    (made.at_least, made.at_most) = match equals {
        None => (at_least, at_most),
        Some(value) => {
            for key in ["at_least", "at_most"] {
                if let Some(node) = table.get(key) {
                    return Err(node.error("a bound beside 'equals'", "give within = 1, or two bounds"));
                }
            }
            let within = within.unwrap_or(0.0);
            (Some(value - within), Some(value + within))
        }
    };
    if let (None, Some(node)) = (equals, table.get("within")) {
        return Err(node.error("a tolerance of nothing", "give equals = 70, too"));
    }
    if let (Some(low), Some(high), Some(node)) = (made.at_least, made.at_most, table.get("at_most"))
        && low > high
    {
        return Err(
            node.error(format!("nothing is at least {low} and at most {high}"), "two bounds in order")
        );
    }
    if made.kind != Kind::Series
        && let Some(node) = table.get("never")
    {
        return Err(node.error("only a series falls and rises", "expect a series, or give bounds"));
    }
    if made.never.is_some()
        && let Some(node) = table.get("statistic")
    {
        return Err(node.error("a statistic beside 'never'", "leave one of them out"));
    }
    if made.never.is_some() && made.at_ns.is_some() {
        return Err(table.node().error("a direction at one moment", "a span: from = \"1 s\""));
    }
    if (made.at_least, made.at_most, made.never) == (None, None, None) {
        return Err(table.missing("at_least", "give at_least, at_most, equals or never"));
    }
    Ok(())
}

fn number(value: &DeValue, least: f64, most: f64) -> Result<f64, Refusal> {
    let found = match units::integer(value) {
        Some(whole) => Some(whole as f64),
        None => value.as_float().and_then(|float| float.as_str().replace('_', "").parse().ok()),
    };
    let accepted = || if most == f64::MAX { "a number".to_owned() } else { format!("{least} to {most}") };
    match found {
        Some(number) if number >= least && number <= most => Ok(number),
        Some(_) => Err(Refusal::new(format!("{} is out of range", show(value)), accepted())),
        None => Err(Refusal::new(format!("{} is not a number", show(value)), accepted())),
    }
}
