//! From the TOML to a [`Scenario`]: every default, unit and preset is settled here.

use crate::description::bdp_bytes;
use crate::error::{Error, Refusal, printable, quote, suggest};
use crate::node::{Document, Node, Table, show};
use crate::stack::{self, Profile};
use crate::units::{self, Buffer, DAY, HOUR, MICROSECOND, SECOND};
use crate::{Cca, Clock, End, Flow, Link, Samples, Scenario, Stack};
use std::ops::RangeInclusive;
use std::path::Path;
use toml::de::DeValue;

const KEYS: [&str; 11] =
    ["name", "duration", "seed", "repeat", "samples", "clock", "end", "stack", "dumbbell", "chain", "flows"];
const DUMBBELL_KEYS: [&str; 7] = ["rate", "delay", "buffer", "per", "ecn_threshold", "access", "exit"];
const ACCESS_KEYS: [&str; 3] = ["rate", "delay", "buffer"];
const LINK_KEYS: [&str; 5] = ["rate", "delay", "buffer", "per", "ecn_threshold"];
const FLOW_KEYS: [&str; 13] = [
    "cca",
    "count",
    "start",
    "stagger",
    "start_jitter",
    "stop",
    "stop_stagger",
    "packet",
    "app_rate",
    "on",
    "off",
    "access_delay",
    "stack",
];

pub const NAME_CHARS_MAX: usize = 100;
const FLOWS_MAX: u64 = 100_000;
const CHAIN_LINKS_MAX: usize = 100;
const INTERVALS_MAX: u64 = 1_000_000;
/// Also the limit of samples by change.
const ROWS_MAX: u64 = 10_000_000;

const DURATION_DEFAULT: u64 = 100 * SECOND;
const INTERVALS_DEFAULT: u64 = 100;
/// With the clock of ns-2, rounding changes the time of sending a packet by a thousandth at most.
const ROUNDINGS_PER_PACKET: f64 = 1000.0;
/// How much faster than the bottleneck an access link without a rate is.
const ACCESS_SPEEDUP: u64 = 10;

const RATE_EXAMPLE: &str = "give it like rate = \"1 Gbps\"";
const DELAY_EXAMPLE: &str = "give it like delay = \"100 ms\", one way";
const BUFFER_EXAMPLE: &str = "give it like buffer = \"1 BDP\" or \"6400 packets\"";
const CCA_EXAMPLE: &str = "give it like cca = \"reno\"";

/// A link whose buffer may depend on the first flow's path.
struct LinkDraft<'a> {
    rate_bps: u64,
    delay_ns: u64,
    /// None: unlimited.
    buffer: Option<Node<'a>>,
    per: f64,
    ecn_threshold_pkts: Option<u32>,
}

enum Topology<'a> {
    /// `exit`: each flow has a link of its own behind the shared one too.
    Dumbbell {
        shared: LinkDraft<'a>,
        access: LinkDraft<'a>,
        exit: bool,
    },
    Chain(Vec<LinkDraft<'a>>),
}

/// The flows of one `[[flows]]`.
struct Group {
    cca: Cca,
    start_jitter_ns: u64,
    /// Without the jitter.
    start_stop_ns: Vec<(u64, u64)>,
    access_delay_ns: Option<u64>,
    payload_bytes: u32,
    app_rate_bps: Option<u64>,
    on_off_ns: Option<(u64, u64)>,
    stack: Stack,
}

/// An algorithm's parameters as written.
type WrittenParams<'a> = Vec<(&'a str, Node<'a>)>;

impl Scenario {
    /// Reads a scenario from TOML. `file` names the text in errors. `custom` names the caller's own algorithms:
    /// they take precedence over the registry and get their parameters exactly as written.
    ///
    /// Values shown are the defaults; `# needed` marks keys without one. An unknown key is an error.
    ///
    /// ```toml
    /// name = "elastic-single"   # the stem of `file`
    /// duration = "100 s"        # times: ns, us, ms, s, min
    /// seed = 1
    /// repeat = 1                # runs, with seeds that count up
    /// samples = 100             # intervals in a run, or one like "100 ms", or "change", or "off"
    /// clock = "nanoseconds"     # or "ns2": doubles of seconds; their rounding decides ties
    /// end = "duration"          # or "last-arrival": when the last packet before that arrived
    /// stack = "linux"           # or "ns2", or a table with `profile` and any field of `Stack`, less its unit
    ///
    /// [dumbbell]                # or [[chain]], once for each link in a row: the same keys without access
    /// rate = "1 Gbps"           # needed; bps, kbps, Mbps, Gbps, Tbps
    /// delay = "100 ms"          # needed; one way
    /// buffer = "6400 packets"   # needed; or 6400, or "2 BDP" of the first flow, or "unlimited"
    /// per = 0                   # probability that a packet is lost on the wire
    /// ecn_threshold = "20 packets" # queue above which flows with ECN are marked; or "unlimited", the default
    /// # Each flow's own link before and after: ten times the rate, unless given.
    /// access = { rate = "10 Gbps", delay = "0 s", buffer = "unlimited" }
    /// exit = true               # false: no own link after
    ///
    /// [[flows]]                 # once for each group of equal flows
    /// cca = "elastic"           # needed; or { name = "elastic", beta = 0.8 }
    /// count = 1
    /// start = "0 s"
    /// stagger = "0 s"           # flow k, from 0, starts at start + k * stagger
    /// start_jitter = "0 s"      # each flow starts later by a random time below it
    /// stop = "100 s"            # the duration
    /// stop_stagger = "0 s"      # flow k stops at stop - k * stop_stagger
    /// packet = "1448 bytes"     # payload; 1000 for ns2
    /// app_rate = "10 Mbps"      # of payload that the application writes; without it, all there is at once
    /// on = "1 s"                # it writes for this time,
    /// off = "1 s"               # then pauses for this time, and so on; without both, no pauses
    /// access_delay = "0 s"      # instead of access.delay
    /// stack = {}                # over the scenario's, key by key
    /// ```
    ///
    /// A text with `[sweep]` is more than one scenario: [`Sweep::from_toml`](crate::Sweep::from_toml).
    pub fn from_toml(text: &str, file: &str, custom: &[&str]) -> Result<Scenario, Error> {
        let document = Document { file, text };
        let value = document.parse()?;
        if let Some(sweep) = value.get("sweep") {
            let sweep = document.entry("sweep", sweep);
            return Err(sweep.error("unknown key for a single run", "run it with 'cwnd sweep'"));
        }
        Scenario::read(document, &value, custom)
    }

    pub(crate) fn read(document: Document, value: &DeValue, custom: &[&str]) -> Result<Scenario, Error> {
        let root = document.root(value).table(&KEYS)?;
        let name = match root.read("name", name)? {
            Some(name) => name,
            None => stem(document.file),
        };
        let duration_ns = root
            .read("duration", |v| units::time(v, 1..=10 * DAY, "more than 0, at most 10 days ('14400 min')"))?
            .unwrap_or(DURATION_DEFAULT);
        // Seeds count up from the first: all of them fit.
        let seed = root.read("seed", |v| units::whole(v, 0..=i64::MAX as u64))?.unwrap_or(1);
        let repeat = root.read("repeat", |v| units::whole(v, 1..=1_000_000))?.unwrap_or(1) as u32;
        let topology = topology(&root)?;
        let mut warnings = Vec::new();
        let groups = groups(&root, &topology, duration_ns, custom, &mut warnings)?;
        let (links, flows) = build(&topology, groups)?;
        let samples = samples(&root, duration_ns, (links.len() + flows.len()) as u64)?;
        let clock = clock(&root, duration_ns, &links, &flows)?;
        let end = end(&root)?;
        Ok(Scenario { name, duration_ns, seed, repeat, samples, clock, end, links, flows, warnings })
    }
}

fn name(value: &DeValue) -> Result<String, Refusal> {
    let accepted = || format!("1 to {NAME_CHARS_MAX} printable characters");
    let name =
        value.as_str().ok_or_else(|| Refusal::new(format!("{} is not a text", show(value)), accepted()))?;
    if (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && printable(name) == name {
        Ok(name.to_owned())
    } else {
        Err(Refusal::new(format!("{} is not a name", show(value)), accepted()))
    }
}

fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or("scenario");
    printable(stem).chars().take(NAME_CHARS_MAX).collect()
}

fn topology<'a>(root: &Table<'a>) -> Result<Topology<'a>, Error> {
    match (root.get("dumbbell"), root.get("chain")) {
        (Some(node), None) => dumbbell(&node.table(&DUMBBELL_KEYS)?),
        (None, Some(node)) => chain(&node),
        (Some(_), Some(chain)) => Err(chain.error("both [dumbbell] and [[chain]]", "give one of them")),
        (None, None) => Err(root.missing("dumbbell", "give the links as [dumbbell] or [[chain]]")),
    }
}

fn dumbbell<'a>(table: &Table<'a>) -> Result<Topology<'a>, Error> {
    let shared = link(table)?;
    let mut access = LinkDraft {
        rate_bps: shared.rate_bps * ACCESS_SPEEDUP,
        delay_ns: 0,
        buffer: None,
        per: 0.0,
        ecn_threshold_pkts: None,
    };
    if let Some(node) = table.get("access") {
        let table = node.table(&ACCESS_KEYS)?;
        access.rate_bps = table.read("rate", units::rate)?.unwrap_or(access.rate_bps);
        access.delay_ns = table.read("delay", delay)?.unwrap_or(access.delay_ns);
        access.buffer = table.get("buffer");
    }
    let exit = table.read("exit", units::flag)?.unwrap_or(true);
    Ok(Topology::Dumbbell { shared, access, exit })
}

fn chain<'a>(node: &Node<'a>) -> Result<Topology<'a>, Error> {
    let tables = node.tables("chain", &LINK_KEYS)?;
    if tables.len() > CHAIN_LINKS_MAX {
        return Err(node.error(format!("{} links", tables.len()), format!("at most {CHAIN_LINKS_MAX}")));
    }
    Ok(Topology::Chain(tables.iter().map(link).collect::<Result<_, _>>()?))
}

fn link<'a>(table: &Table<'a>) -> Result<LinkDraft<'a>, Error> {
    Ok(LinkDraft {
        rate_bps: table.need("rate", RATE_EXAMPLE)?.read(units::rate)?,
        delay_ns: table.need("delay", DELAY_EXAMPLE)?.read(delay)?,
        buffer: Some(table.need("buffer", BUFFER_EXAMPLE)?),
        per: table.read("per", units::error_rate)?.unwrap_or(0.0),
        ecn_threshold_pkts: table.read("ecn_threshold", units::packets)?.flatten(),
    })
}

fn delay(value: &DeValue) -> Result<u64, Refusal> {
    units::time(value, 0..=HOUR, "'0 s' to '60 min'")
}

fn groups(
    root: &Table,
    topology: &Topology,
    duration_ns: u64,
    custom: &[&str],
    warnings: &mut Vec<String>,
) -> Result<Vec<Group>, Error> {
    let node = root.need("flows", "give them as [[flows]]")?;
    let mut groups = Vec::new();
    let mut room = FLOWS_MAX;
    for table in node.tables("flows", &FLOW_KEYS)? {
        let count = table.read("count", |v| units::whole(v, 1..=FLOWS_MAX))?.unwrap_or(1);
        room = match (room.checked_sub(count), table.get("count")) {
            (Some(room), _) => room,
            (None, at) => {
                let found = format!("more than {FLOWS_MAX} flows in all");
                return Err(at.as_ref().unwrap_or(&node).error(found, "that is the limit"));
            }
        };
        groups.push(group(&table, root.get("stack"), topology, count, duration_ns, custom, warnings)?);
    }
    Ok(groups)
}

fn group(
    table: &Table,
    shared_stack: Option<Node>,
    topology: &Topology,
    count: u64,
    duration_ns: u64,
    custom: &[&str],
    warnings: &mut Vec<String>,
) -> Result<Group, Error> {
    let cca_node = table.need("cca", CCA_EXAMPLE)?;
    let (name, params) = cca_draft(&cca_node, custom)?;
    let layers: Vec<Node> = shared_stack.into_iter().chain(table.get("stack")).collect();
    let (profile, stack) = stack::resolve(&layers, &name)?;
    let access_delay_ns = table.read("access_delay", delay)?;
    if let (Topology::Chain(_), Some(node)) = (topology, table.get("access_delay")) {
        return Err(node.error("a [[chain]] has no access links", "use a [dumbbell], or leave it out"));
    }
    let (start_jitter_ns, start_stop_ns) = times(table, count, duration_ns)?;
    Ok(Group {
        start_jitter_ns,
        start_stop_ns,
        access_delay_ns,
        payload_bytes: table
            .read("packet", |v| units::bytes(v, 1..=65_000))?
            .unwrap_or(profile.payload_bytes()),
        app_rate_bps: table.read("app_rate", units::rate)?,
        on_off_ns: on_off(table)?,
        cca: if custom.contains(&name.as_str()) {
            custom_cca(name, params)?
        } else {
            cca(&cca_node, &name, params, profile, warnings)?
        },
        stack,
    })
}

/// How long the application of a flow writes and pauses.
fn on_off(table: &Table) -> Result<Option<(u64, u64)>, Error> {
    let read = |key| table.read(key, |v| units::time(v, MICROSECOND..=DAY, "'1 us' to '1440 min'"));
    match (read("on")?, read("off")?) {
        (Some(on), Some(off)) => Ok(Some((on, off))),
        (None, None) => Ok(None),
        _ => {
            let node = table.get("on").or_else(|| table.get("off"));
            let node = node.as_ref().unwrap_or(table.node());
            Err(node.error("'on' and 'off' belong together", "give both, or neither"))
        }
    }
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
        let names = || {
            let registered = known.iter().map(|a| a.name.as_str());
            custom.iter().copied().chain(registered).chain(stack::presets())
        };
        if names().any(|known| known == name) {
            Ok(name.to_owned())
        } else {
            Err(Refusal::new(format!("unknown algorithm {}", quote(name)), suggest(name, names())))
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

/// An algorithm of the registry, or a preset of one: its defaults, then the profile's, then what the scenario sets.
fn cca(
    node: &Node,
    name: &str,
    params: WrittenParams,
    profile: Profile,
    warnings: &mut Vec<String>,
) -> Result<Cca, Error> {
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
        let Some(now) = algorithm.set(&mut values, param, &value).map_err(|error| refuse(node, error))?
        else {
            continue;
        };
        if params.iter().any(|(param, _)| *param == now.name) {
            return Err(
                node.error(format!("the former name of '{}', which is given too", now.name), "leave it out")
            );
        }
        let line = now.to_string();
        if !warnings.contains(&line) {
            warnings.push(line);
        }
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
        UnknownAlgorithm { name, nearest } => {
            Refusal::new(format!("unknown algorithm {}", quote(&name)), suggest(&name, nearest.as_deref()))
        }
        UnknownParam { algorithm, accepted, .. } if accepted.is_empty() => {
            Refusal::new("unknown parameter", format!("'{algorithm}' has none"))
        }
        UnknownParam { name, accepted, .. } => Refusal::new("unknown parameter", suggest(&name, accepted)),
        BadValue { found, accepted, .. } => {
            Refusal::new(format!("{} is not accepted", quote(&found)), accepted)
        }
    }
}

fn clock(root: &Table, duration_ns: u64, links: &[Link], flows: &[Flow]) -> Result<Clock, Error> {
    let Some(node) = root.get("clock") else { return Ok(Clock::default()) };
    let clock = node.read(|value| match value.as_str() {
        Some("nanoseconds") => Ok(Clock::Nanoseconds),
        Some("ns2") => Ok(Clock::Ns2),
        _ => Err(Refusal::new(format!("{} is not a clock", show(value)), "'nanoseconds' or 'ns2'")),
    })?;
    if clock == Clock::Ns2 {
        let sending_s = |flow: &Flow, link: u32| {
            8.0 * f64::from(flow.packet_bytes()) / links[link as usize].rate_bps as f64
        };
        let shortest_s = flows
            .iter()
            .flat_map(|flow| flow.path.iter().map(|&link| sending_s(flow, link)))
            .fold(f64::INFINITY, f64::min);
        // How far rounding moves a double of seconds at the end of the run.
        let rounding_s = duration_ns as f64 / 1e9 * f64::EPSILON;
        if shortest_s < ROUNDINGS_PER_PACKET * rounding_s {
            return Err(node.error(
                format!("a packet takes {shortest_s:.1e} s, and doubles are rounded by {rounding_s:.1e} s"),
                "'nanoseconds', a lower rate or a shorter duration",
            ));
        }
    }
    Ok(clock)
}

fn end(root: &Table) -> Result<End, Error> {
    let Some(node) = root.get("end") else { return Ok(End::default()) };
    node.read(|value| match value.as_str() {
        Some("duration") => Ok(End::Duration),
        Some("last-arrival") => Ok(End::LastArrival),
        _ => Err(Refusal::new(format!("{} is not an end", show(value)), "'duration' or 'last-arrival'")),
    })
}

fn samples(root: &Table, duration_ns: u64, rows_per_interval: u64) -> Result<Samples, Error> {
    let interval = |intervals: u64| Samples::Interval { interval_ns: duration_ns / intervals };
    let Some(node) = root.get("samples") else {
        let intervals = (ROWS_MAX / rows_per_interval).clamp(1, INTERVALS_DEFAULT);
        let interval_ns = (duration_ns / intervals).max(MICROSECOND);
        return Ok(Samples::Interval { interval_ns });
    };
    let samples = node.read(|value| match value.as_str() {
        Some("off") => Ok(Samples::Off),
        Some("change") => Ok(Samples::Change),
        Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            let limits = "'1 us' to '14400 min'";
            let interval_ns = units::time(value, MICROSECOND..=10 * DAY, limits)?;
            Ok(Samples::Interval { interval_ns })
        }
        None if units::integer(value).is_some() => units::whole(value, 1..=INTERVALS_MAX).map(interval),
        _ => {
            let accepted = "a number of intervals like 100, an interval like '100 ms', 'change' or 'off'";
            Err(Refusal::new(format!("{} is not a choice of samples", show(value)), accepted))
        }
    })?;
    let Samples::Interval { interval_ns } = samples else { return Ok(samples) };
    if interval_ns < MICROSECOND {
        let accepted = format!("at most {}: an interval is at least 1 us", duration_ns / MICROSECOND);
        return Err(node.error("too many intervals for this duration", accepted));
    }
    let intervals = duration_ns / interval_ns;
    if intervals > INTERVALS_MAX {
        return Err(node.error(format!("{intervals} intervals"), format!("at most {INTERVALS_MAX}")));
    }
    let rows = intervals * rows_per_interval;
    if rows > ROWS_MAX {
        let found = format!("{rows} rows for all flows and links");
        return Err(node.error(found, format!("at most {ROWS_MAX}: take longer intervals, or 'off'")));
    }
    Ok(samples)
}

fn build(topology: &Topology, groups: Vec<Group>) -> Result<(Vec<Link>, Vec<Flow>), Error> {
    let count: usize = groups.iter().map(|group| group.start_stop_ns.len()).sum();
    let first = &groups[0];
    let packet_bytes = first.payload_bytes + first.stack.header_bytes;
    let delays_ns = match topology {
        Topology::Dumbbell { shared, access, exit } => {
            shared.delay_ns + (1 + u64::from(*exit)) * first.access_delay_ns.unwrap_or(access.delay_ns)
        }
        Topology::Chain(links) => links.iter().map(|link| link.delay_ns).sum(),
    };
    let buffer = |draft: &LinkDraft| draft.buffer_pkts(2 * delays_ns, packet_bytes);
    let links: Vec<Link> = match topology {
        Topology::Dumbbell { shared, access, exit } => {
            let access_buffer = buffer(access)?;
            let edges = |side: &'static str| {
                let delays = groups.iter().flat_map(|group| {
                    group.start_stop_ns.iter().map(|_| group.access_delay_ns.unwrap_or(access.delay_ns))
                });
                delays.enumerate().map(move |(i, delay_ns)| Link {
                    delay_ns,
                    ..access.link(format!("{side}-{i}"), access_buffer)
                })
            };
            let bottleneck = shared.link("bottleneck".to_owned(), buffer(shared)?);
            let exits = exit.then(|| edges("exit")).into_iter().flatten();
            edges("access").chain([bottleneck]).chain(exits).collect()
        }
        Topology::Chain(drafts) => {
            let link = |(i, draft): (usize, &LinkDraft)| Ok(draft.link(format!("link-{i}"), buffer(draft)?));
            drafts.iter().enumerate().map(link).collect::<Result<_, Error>>()?
        }
    };
    let mut flows = Vec::with_capacity(count);
    for group in groups {
        for (start_ns, stop_ns) in group.start_stop_ns {
            let path: Vec<u32> = match topology {
                Topology::Dumbbell { exit, .. } => {
                    let all = [flows.len(), count, count + 1 + flows.len()].map(|i| i as u32);
                    all[..2 + usize::from(*exit)].into()
                }
                Topology::Chain(_) => (0..links.len() as u32).collect(),
            };
            let back = |link: &Link| link.delay_ns + link.sending_ns(group.stack.ack_bytes);
            flows.push(Flow {
                cca: group.cca.clone(),
                return_delay_ns: path.iter().map(|i| back(&links[*i as usize])).sum(),
                path,
                start_ns,
                start_jitter_ns: group.start_jitter_ns,
                stop_ns,
                payload_bytes: group.payload_bytes,
                app_rate_bps: group.app_rate_bps,
                on_off_ns: group.on_off_ns,
                stack: group.stack.clone(),
            });
        }
    }
    Ok((links, flows))
}

impl LinkDraft<'_> {
    fn link(&self, name: String, buffer_pkts: Option<u32>) -> Link {
        Link {
            name,
            rate_bps: self.rate_bps,
            delay_ns: self.delay_ns,
            buffer_pkts,
            per: self.per,
            ecn_threshold_pkts: self.ecn_threshold_pkts,
        }
    }

    fn buffer_pkts(&self, rtt_ns: u64, packet_bytes: u32) -> Result<Option<u32>, Error> {
        let Some(node) = &self.buffer else { return Ok(None) };
        let bdps = match node.read(units::buffer)? {
            Buffer::Unlimited => return Ok(None),
            Buffer::Packets(count) => return Ok(Some(count)),
            Buffer::Bdp(bdps) => bdps,
        };
        let count = (bdps * bdp_bytes(self.rate_bps, rtt_ns) / f64::from(packet_bytes)).round();
        if count < 1.0 {
            return Err(node.error("less than one packet on this path", units::packet_limits()));
        }
        if count > units::PACKETS_MAX as f64 {
            return Err(node.error("more packets than a buffer can have", units::packet_limits()));
        }
        Ok(Some(count as u32))
    }
}
