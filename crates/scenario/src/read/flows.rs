//! The flows of a scenario, as written: a group for each `[[flows]]`.

use crate::error::{Error, Refusal, quote, suggest, suggest_algorithm};
use crate::keys::{self, FLOWS_MAX};
use crate::node::{Node, Table, show};
use crate::read::links::{self, Topology};
use crate::read::traffic;
use crate::stack::{self, Profile};
use crate::units;
use crate::{Cca, Stack};
use std::ops::RangeInclusive;
use std::sync::Arc;
use toml::de::DeValue;

/// Memory of a run for each flow.
const BYTES_PER_FLOW: u64 = 3000;
/// For fewer there is memory.
const FLOWS_WITHOUT_ASKING: u64 = 25_000;
const CCA_EXAMPLE: &str = "give it like cca = \"reno\"";

/// The flows of one `[[flows]]`.
pub struct Group<'a> {
    pub cca: Arc<Cca>,
    /// The algorithm is the caller's own.
    pub is_custom: bool,
    pub label: Option<Arc<str>>,
    pub start_jitter_ns: u64,
    /// Without the jitter.
    pub start_stop_ns: Vec<(u64, u64)>,
    pub access_delay_ns: Option<u64>,
    pub route: Route<'a>,
    pub payload_bytes: u32,
    pub app_rate_bps: Option<u64>,
    pub on_off_ns: Option<(u64, u64)>,
    pub traffic: Option<traffic::Draft<'a>>,
    pub stack: Arc<Stack>,
}

/// Which links flows cross.
pub enum Route<'a> {
    /// As the topology has it.
    Usual,
    /// Against the others, over the reverse link.
    Up,
    /// One hop of a parking lot, from 0; None: all of them.
    Over(Option<u32>),
    /// Links of `[[links]]`, by their places there. No reverse path: ACKs take the delays of the path.
    Named { path: Vec<(usize, Node<'a>)>, reverse_path: Vec<(usize, Node<'a>)> },
}

impl Route<'_> {
    pub fn is_up(&self) -> bool {
        matches!(self, Route::Up)
    }
}

/// An algorithm's parameters as written.
type WrittenParams<'a> = Vec<(&'a str, Node<'a>)>;

pub fn groups<'a>(
    root: &Table<'a>,
    topology: &Topology,
    duration_ns: u64,
    custom: &[&str],
) -> Result<Vec<Group<'a>>, Error> {
    let node = root.need("flows", "give them as [[flows]]")?;
    let mut groups = Vec::new();
    let mut room = FLOWS_MAX;
    for table in node.tables("flows", &keys::FLOWS)? {
        let count = table.read("count", |v| units::whole(v, keys::FLOWS.bounds("count")))?.unwrap_or(1);
        room = match (room.checked_sub(count), table.get("count")) {
            (Some(room), _) => room,
            (None, at) => {
                let found = format!("more than {FLOWS_MAX} flows in all");
                let accepted = "fewer: a run takes some 3 kB of memory for each";
                return Err(at.as_ref().unwrap_or(&node).error(found, accepted));
            }
        };
        if !there_is_memory_for(FLOWS_MAX - room) {
            let found =
                format!("{} flows, and there is not as much memory as a run of them takes", FLOWS_MAX - room);
            return Err(table
                .get("count")
                .as_ref()
                .unwrap_or(&node)
                .error(found, "fewer: it is some 3 kB for each"));
        }
        let size = (groups.len() as u32, count);
        groups.push(group(&table, root.get("stack"), topology, size, duration_ns, custom)?);
    }
    Ok(groups)
}

/// Returns true if there is memory now for a run of this many flows.
fn there_is_memory_for(flows: u64) -> bool {
    let bytes = usize::try_from(flows * BYTES_PER_FLOW).unwrap_or(usize::MAX);
    let mut trial: Vec<u8> = Vec::new();
    let has = flows < FLOWS_WITHOUT_ASKING || trial.try_reserve_exact(bytes).is_ok();
    std::hint::black_box(&trial);
    has
}

fn group<'a>(
    table: &Table<'a>,
    shared_stack: Option<Node>,
    topology: &Topology,
    (number, count): (u32, u64),
    duration_ns: u64,
    custom: &[&str],
) -> Result<Group<'a>, Error> {
    let cca_node = table.need("cca", CCA_EXAMPLE)?;
    let (name, params) = cca_draft(&cca_node, custom)?;
    let layers: Vec<Node> = shared_stack.into_iter().chain(table.get("stack")).collect();
    let bare_name = name.strip_prefix(Cca::OVER_TCP).unwrap_or(&name);
    let packet_bytes = table.read("packet", |v| units::bytes(v, keys::FLOWS.bounds("packet")))?;
    let (profile, payload_bytes, stack) = stack::resolve(&layers, bare_name, packet_bytes)?;
    let access_delay_ns = table.read("access_delay", links::delay)?;
    if let Some(node) = table.get("access_delay") {
        let without = match topology {
            Topology::Chain(_) => "a [[chain]] has",
            Topology::Links(_) => "[[links]] have",
            Topology::Dumbbell { .. } | Topology::ParkingLot { .. } => "",
        };
        if !without.is_empty() {
            let found = format!("{without} no access links");
            return Err(node.error(found, "use a [dumbbell], or leave it out"));
        }
    }
    let (start_jitter_ns, start_stop_ns) = times(table, count, duration_ns)?;
    let (first_ns, stop_ns) = start_stop_ns[0];
    let is_custom = custom.contains(&name.as_str());
    Ok(Group {
        route: route(table, topology)?,
        label: table.read("label", units::name)?.map(Arc::from),
        start_jitter_ns,
        start_stop_ns,
        access_delay_ns,
        payload_bytes,
        app_rate_bps: table.read("app_rate", units::rate)?,
        on_off_ns: traffic::on_off(table)?,
        traffic: traffic::traffic(table, (number, count), stop_ns.saturating_sub(first_ns))?,
        is_custom,
        cca: Arc::new(if is_custom {
            custom_cca(name, params)?
        } else if name == Cca::UDP {
            udp(table, params)?
        } else if Cca::OF_STACKS.contains(&name.as_str()) {
            cca_of_stack(name, params)?
        } else {
            Cca { name: name.clone(), ..cca(&cca_node, bare_name, params, profile)? }
        }),
        stack: Arc::new(stack),
    })
}

fn route<'a>(table: &Table<'a>, topology: &Topology) -> Result<Route<'a>, Error> {
    let only = |key: &str, of: &str| match table.get(key) {
        Some(node) => Err(node.error(format!("'{key}' without {of}"), format!("use {of}, or leave it out"))),
        None => Ok(()),
    };
    if !matches!(topology, Topology::Links(_)) {
        only("path", "[[links]]")?;
        only("reverse_path", "[[links]]")?;
    }
    if !matches!(topology, Topology::ParkingLot { .. }) {
        only("over", "a [parking_lot]")?;
    }
    if is_up(table, topology)? {
        return Ok(Route::Up);
    }
    match topology {
        Topology::ParkingLot { hops, .. } => Ok(Route::Over(over(table, *hops)?)),
        Topology::Links(links) => {
            let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            let path =
                named_path(&table.need("path", "give it like path = [\"uplink\", \"core\"]")?, &names)?;
            let back = table.get("reverse_path").map(|node| named_path(&node, &names)).transpose()?;
            Ok(Route::Named { path, reverse_path: back.unwrap_or_default() })
        }
        Topology::Dumbbell { .. } | Topology::Chain(_) => Ok(Route::Usual),
    }
}

/// The hop of a parking lot that flows cross, from 0; None: all.
fn over(table: &Table, hops: u32) -> Result<Option<u32>, Error> {
    let Some(node) = table.get("over").filter(|node| node.value().as_str() != Some("all")) else {
        return Ok(None);
    };
    let accepted = || format!("'all', or a hop from 1 to {hops}");
    let number = node.read(|value| {
        let number = units::integer(value)
            .ok_or_else(|| Refusal::new(format!("{} is not a hop", show(value)), accepted()))?;
        u32::try_from(number)
            .ok()
            .filter(|number| (1..=hops).contains(number))
            .ok_or_else(|| Refusal::new(format!("there is no hop {}", show(value)), accepted()))
    })?;
    Ok(Some(number - 1))
}

/// The links that a path names.
fn named_path<'a>(node: &Node<'a>, names: &[&str]) -> Result<Vec<(usize, Node<'a>)>, Error> {
    let accepted = "a list of names of [[links]]";
    if node.value().as_array().is_none() {
        return Err(node.error(format!("{} is not a list", show(node.value())), accepted));
    }
    let mut path: Vec<(usize, Node)> = Vec::new();
    for element in node.elements() {
        let name = element.read(|value| {
            value
                .as_str()
                .ok_or_else(|| Refusal::new(format!("{} is not a name", show(value)), accepted))
                .map(str::to_owned)
        })?;
        let Some(link) = names.iter().position(|known| *known == name) else {
            return Err(element
                .error(format!("there is no link {}", quote(&name)), suggest(&name, names.iter().copied())));
        };
        if path.iter().any(|(other, _)| *other == link) {
            return Err(element.error(format!("{} a second time", quote(&name)), "each link once in a path"));
        }
        path.push((link, element));
    }
    if path.is_empty() {
        return Err(node.error("an empty list", accepted));
    }
    Ok(path)
}

/// Returns true if flows send against the others.
fn is_up(table: &Table, topology: &Topology) -> Result<bool, Error> {
    let Some(node) = table.get("direction") else { return Ok(false) };
    let up = node.read(|value| match value.as_str() {
        Some("down") => Ok(false),
        Some("up") => Ok(true),
        _ => Err(Refusal::new(
            format!("{} is not a direction", show(value)),
            "'down', or 'up': against the others",
        )),
    })?;
    if up && !matches!(topology, Topology::Dumbbell { reverse: Some(_), .. }) {
        return Err(node.error("no link for this way", "give [dumbbell] reverse = { ... }"));
    }
    Ok(up)
}

/// The jitter of a group's starts, and when each of its flows starts, without it, and stops.
fn times(table: &Table, count: u64, duration_ns: u64) -> Result<(u64, Vec<(u64, u64)>), Error> {
    let limits = format!("'0 s' to the duration, '{}'", units::show_time(duration_ns));
    let within: RangeInclusive<u64> = 0..=duration_ns;
    let read = |key, default| {
        table.read(key, |v| units::time(v, within.clone(), &limits)).map(|time| time.unwrap_or(default))
    };
    let start_ns = read("start", 0)?;
    let stagger_ns = read("stagger", 0)?;
    let jitter_ns = read("start_jitter", 0)?;
    let stop_ns = read("stop", duration_ns)?;
    let stop_stagger_ns = read("stop_stagger", 0)?;
    let times = |k: u64| {
        let start = start_ns.saturating_add(k.saturating_mul(stagger_ns));
        let stop = stop_ns.saturating_sub(k.saturating_mul(stop_stagger_ns));
        (start, stop)
    };
    // The last flow starts last and stops first.
    let (start, stop) = times(count - 1);
    let start = start.saturating_add(jitter_ns);
    if start < stop {
        return Ok((jitter_ns, (0..count).map(times).collect()));
    }
    let which = if count == 1 { String::new() } else { format!("flow {count} of {count} ") };
    let node = ["stagger", "start_jitter", "stop_stagger", "stop", "start"]
        .into_iter()
        .find_map(|key| table.get(key));
    Err(node.as_ref().unwrap_or(table.node()).error(
        format!("{which}would start at {} and stop at {}", units::show_time(start), units::show_time(stop)),
        "each flow starts before it stops",
    ))
}

/// The name and the parameters as written.
fn cca_draft<'a>(node: &Node<'a>, custom: &[&str]) -> Result<(String, WrittenParams<'a>), Error> {
    let (name_node, params) = match node.value() {
        DeValue::String(_) => (node.clone(), Vec::new()),
        _ => {
            let table = node.any_table("an algorithm", CCA_EXAMPLE)?;
            let name = table.need("name", "give it like name = \"reno\"")?;
            (name, table.entries().filter(|(key, _)| *key != "name").collect())
        }
    };
    let name = name_node.read(|value| {
        let name = value
            .as_str()
            .ok_or_else(|| Refusal::new(format!("{} is not an algorithm", show(value)), CCA_EXAMPLE))?;
        let known = cwnd_algorithms::all();
        let over_tcp: Vec<_> = known.iter().map(|a| format!("{}{}", Cca::OVER_TCP, a.name)).collect();
        let names = || {
            let registered = known.iter().map(|a| a.name.as_str());
            custom
                .iter()
                .copied()
                .chain(registered)
                .chain(stack::presets())
                .chain([Cca::UDP])
                .chain(Cca::OF_STACKS)
        };
        if names().any(|known| known == name) || over_tcp.iter().any(|known| known == name) {
            Ok(name.to_owned())
        } else if name.starts_with(Cca::OVER_TCP) {
            Err(Refusal::new(
                format!("unknown algorithm {}", quote(name)),
                suggest_algorithm(name, over_tcp.iter().map(String::as_str)),
            ))
        } else if name.split([',', '+']).all(|one| names().any(|known| known == one.trim())) {
            Err(Refusal::new(format!("{} is several algorithms", quote(name)), "one for each group of flows"))
        } else {
            Err(Refusal::new(format!("unknown algorithm {}", quote(name)), suggest_algorithm(name, names())))
        }
    })?;
    Ok((name, params))
}

fn custom_cca(name: String, params: WrittenParams) -> Result<Cca, Error> {
    let params = params
        .into_iter()
        .map(|(param, node)| Ok((param.to_owned(), node.read(|v| param_value(v, "true", "false"))?)))
        .collect::<Result<_, Error>>()?;
    Ok(Cca { algorithm: name.clone(), name, params })
}

/// An algorithm of a QUIC stack.
fn cca_of_stack(name: String, params: WrittenParams) -> Result<Cca, Error> {
    match params.first() {
        Some((_, node)) => Err(node.error("unknown parameter", format!("'{name}' has none"))),
        None => Ok(Cca { algorithm: name.clone(), name, params: Vec::new() }),
    }
}

/// Datagrams at the rate of the application.
fn udp(table: &Table, params: WrittenParams) -> Result<Cca, Error> {
    if let Some((_, node)) = params.first() {
        return Err(node.error("unknown parameter", "'udp' has none"));
    }
    table.need("app_rate", "give the rate of its payload, like app_rate = \"2 Mbps\"")?;
    let traffic = keys::FLOWS.parts[1].iter().map(|key| key.name);
    match ["on", "off"].into_iter().chain(traffic).find_map(|key| table.get(key)) {
        Some(node) => Err(node.error("'udp' sends at a constant rate all the time", "leave it out")),
        None => Ok(Cca { name: Cca::UDP.to_owned(), algorithm: Cca::UDP.to_owned(), params: Vec::new() }),
    }
}

/// An algorithm of the registry, or a preset of one: its defaults, then the profile's, then what the scenario sets.
fn cca(node: &Node, name: &str, params: WrittenParams, profile: Profile) -> Result<Cca, Error> {
    let refuse = |node: &Node, error: cwnd_algorithms::Error| {
        let refusal = param_refusal(error);
        node.error(refusal.found, refusal.accepted)
    };
    let algorithm = cwnd_algorithms::find(stack::algorithm(name)).map_err(|error| refuse(node, error))?;
    let mut values = algorithm.defaults();
    for (param, value) in profile.params(name) {
        algorithm.set(&mut values, param, value).map_err(|error| refuse(node, error))?;
    }
    for (param, node) in &params {
        let value = node.read(|v| param_value(v, "on", "off"))?;
        algorithm.set(&mut values, param, &value).map_err(|error| refuse(node, error))?;
    }
    let params = algorithm.show(&values).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Cca { name: name.to_owned(), algorithm: algorithm.name, params })
}

fn param_value(value: &DeValue, yes: &str, no: &str) -> Result<String, Refusal> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Ok(if *flag { yes } else { no }.to_owned()),
        _ => units::integer(value).map(|number| number.to_string()).ok_or_else(|| {
            Refusal::new(format!("{} is not a parameter's value", show(value)), "a number or a text")
        }),
    }
}

fn param_refusal(error: cwnd_algorithms::Error) -> Refusal {
    use cwnd_algorithms::Error::*;
    match error {
        UnknownAlgorithm { name, nearest } => Refusal::new(
            format!("unknown algorithm {}", quote(&name)),
            suggest_algorithm(&name, nearest.as_deref()),
        ),
        UnknownParam { algorithm, accepted, .. } if accepted.is_empty() => {
            Refusal::new("unknown parameter", format!("'{algorithm}' has none"))
        }
        UnknownParam { name, accepted, .. } => Refusal::new("unknown parameter", suggest(&name, accepted)),
        BadValue { found, accepted, .. } => {
            Refusal::new(format!("{} is not accepted", quote(&found)), accepted)
        }
        other => Refusal::new(other.to_string(), "'cwnd algorithms' has what is accepted"),
    }
}
