//! The text as a whole, and what is not of a link or a flow.

use crate::error::{Error, Refusal, printable};
use crate::keys::{self, INTERVALS_MAX};
use crate::node::{Document, Files, Table, show};
use crate::read::{expect, flows, layout, links};
use crate::samples::rows_per_sample;
use crate::units::{self, DAY, MICROSECOND, NAME_CHARS_MAX, SECOND};
use crate::{Clock, End, Flow, Link, Samples, Scenario};
use std::io;
use std::path::Path;
use std::sync::Arc;
use toml::de::DeValue;

/// Also the limit of samples by change.
const ROWS_MAX: u64 = 10_000_000;

const DURATION_DEFAULT: u64 = 100 * SECOND;
/// As fine as a figure has pixels, as long as all runs together have no more rows than `ROWS_DEFAULT`.
const INTERVALS_DEFAULT: u64 = 1000;
/// At least so many if the rows are more.
const INTERVALS_DEFAULT_LEAST: u64 = 100;
const ROWS_DEFAULT: u64 = 1_000_000;
/// With the clock of ns-2, rounding changes the time of sending a packet by a thousandth at most.
const ROUNDINGS_PER_PACKET: f64 = 1000.0;

impl Scenario {
    /// Reads a scenario from TOML. `file` names the text in errors. `custom` names the caller's own algorithms:
    /// they take precedence over the registry and get their parameters exactly as written.
    ///
    /// Values shown are the defaults; `# needed` marks keys without one. An unknown key is an error.
    ///
    /// ```toml
    /// name = "elastic-single"   # the stem of `file`
    /// label = "Elastic"         # in tables and figures instead of the name
    /// duration = "100 s"        # times: ns, us, ms, s, min
    /// warmup = "0 s"            # metrics count from then on; samples and transfers are those of the whole run
    /// seed = 1
    /// repeat = 1                # runs, with seeds that count up
    /// samples = 1000            # intervals in a run, or one like "100 ms", or "change", or "off"
    /// samples_by = "flow"       # or "group": one time series for each [[flows]], of the sums over its flows
    /// clock = "nanoseconds"     # or "ns2": doubles of seconds; their rounding decides ties
    /// end = "duration"          # or "last-arrival": when the last packet before that arrived
    /// stack = "linux"           # or "ns2", or a table with `profile` and any field of `Stack`, less its unit
    ///
    /// [dumbbell]                # or [[chain]], once for each link in a row: the same keys without access; or
    ///                           # [parking_lot] with hops = 3 of such links; or [[links]], each with a name
    /// rate = "1 Gbps"           # needed; bps, kbps, Mbps, Gbps, Tbps
    /// delay = "100 ms"          # needed; one way; or rtt = "200 ms", twice that
    /// buffer = "6400 packets"   # needed; or 6400, "2 BDP" of the first flow, "64 KiB", "50 ms" of sending, "unlimited"
    /// per = 0                   # probability that a packet is lost on the wire
    /// ecn_threshold = "20 packets" # queue above which flows with ECN are marked; or "1 ms" of waiting, or a ramp of
    ///                           # probability, ["800 us", "1200 us"]; or "unlimited", the default
    /// # Each flow's own link before and after: ten times the rate, unless given.
    /// access = { rate = "10 Gbps", delay = "0 s", buffer = "unlimited" }
    /// exit = true               # false: no own link after
    /// # With a reverse link ACKs are packets there; its keys are the bottleneck's, and what is left out is as there.
    /// reverse = { rate = "1 Gbps", delay = "100 ms", buffer = "unlimited" }
    ///
    /// [[flows]]                 # once for each group of equal flows
    /// cca = "elastic"           # needed; or { name = "elastic", beta = 0.8 }
    /// label = "Elastic"         # in tables and figures instead of the algorithm's name
    /// count = 1
    /// start = "0 s"
    /// stagger = "0 s"           # flow k, from 0, starts at start + k * stagger
    /// start_jitter = "0 s"      # each flow starts later by a random time below it
    /// stop = "100 s"            # the duration
    /// stop_stagger = "0 s"      # flow k stops at stop - k * stop_stagger
    /// packet = "1448 bytes"     # payload; 1000 for ns2
    /// app_rate = "10 Mbps"      # of payload that the application writes; without it, all there is at once
    /// on = "1 s"                # it writes for this time; or { mean = "1 s" }, exponential,
    /// off = "1 s"               # then pauses for this time, and so on; without both, no pauses
    /// frame_rate = 30           # app_rate in whole frames, this many per second
    /// size = "100 KB"           # of payload, then the flow ends; or a distribution (see `Size`), or { csv = "FILE" }
    /// arrivals = { process = "poisson", load = 0.5 } # new transfers of `size` all the time; or rate, or times
    /// requests = { count = 10, think = "1 s" } # responses of `size`, one after the other
    /// access_delay = "0 s"      # instead of access.delay
    /// direction = "down"        # or "up": over the reverse link, against the others
    /// over = "all"              # hops of a [parking_lot], or the number of one
    /// path = ["uplink", "core"] # needed with [[links]]: their names, in the order of the packets
    /// reverse_path = ["back"]   # links that ACKs cross as packets; without it they take the delays of the path
    /// stack = {}                # over the scenario's, key by key
    ///
    /// [[expect]]                # predicates over each run: see `Expectation`
    /// series = "cwnd_pkts"      # or metric = "utilization", or event = "cut"
    /// after = "cut"             # or at, or from and to
    /// rounds = 3
    /// at_least = 2              # or at_most, equals with within, or never = "falls"
    /// ```
    ///
    /// A text with `[sweep]` is more than one scenario: [`Sweep::from_toml`](crate::Sweep::from_toml).
    pub fn from_toml(text: &str, file: &str, custom: &[&str]) -> Result<Scenario, Error> {
        Scenario::from_toml_with_files(text, file, custom, &no_files)
    }

    /// [`Scenario::from_toml`] of a text that may name further files, which `files` reads.
    pub fn from_toml_with_files(
        text: &str,
        file: &str,
        custom: &[&str],
        files: Files,
    ) -> Result<Scenario, Error> {
        let document = Document { file, text, files };
        let value = document.parse()?;
        if let Some(sweep) = value.get("sweep") {
            let sweep = document.entry("sweep", sweep);
            return Err(sweep.error("unknown key for a single run", "run it with 'cwnd sweep'"));
        }
        Scenario::read(document, &value, custom)
    }

    pub(crate) fn read(document: Document, value: &DeValue, custom: &[&str]) -> Result<Scenario, Error> {
        let root = document.root(value).table(&keys::SCENARIO)?;
        let name = match root.read("name", units::name)? {
            Some(name) => name,
            None => stem(document.file),
        };
        let label = root.read("label", units::name)?.map(Arc::from);
        let duration_ns = root
            .read("duration", |v| units::time(v, 1..=10 * DAY, "more than 0, at most 10 days ('14400 min')"))?
            .unwrap_or(DURATION_DEFAULT);
        // Seeds count up from the first: all of them fit.
        let seed = root.read("seed", |v| units::whole(v, keys::SCENARIO.bounds("seed")))?.unwrap_or(1);
        let repeat =
            root.read("repeat", |v| units::whole(v, keys::SCENARIO.bounds("repeat")))?.unwrap_or(1) as u32;
        let topology = links::topology(&root)?;
        let groups = flows::groups(&root, &topology, duration_ns, custom)?;
        let (links, flows) = layout::build(&topology, &groups)?;
        let mut sample_groups = sample_groups(&root, &groups)?;
        let rows_per_sample = rows_per_sample(links.len(), &flows, &sample_groups) as u64;
        let samples = samples(&root, duration_ns, repeat.into(), rows_per_sample)?;
        match samples {
            Samples::Change if !sample_groups.is_empty() => {
                let by = root.get("samples_by").expect("groups are asked for");
                return Err(by.error("'group' with samples by change", "'flow', or samples at intervals"));
            }
            Samples::Off => sample_groups.clear(),
            _ => {}
        }
        let clock = clock(&root, duration_ns, &links, &flows)?;
        let end = end(&root, &flows)?;
        let warmup_ns = warmup(&root, duration_ns, end)?;
        let names = links.iter().map(|link| link.name.as_str()).collect();
        let world = expect::World { duration_ns, flows: flows.len(), links: names };
        let expect = expect::expectations(&root, &world)?;
        Ok(Scenario {
            name,
            label,
            duration_ns,
            seed,
            repeat,
            samples,
            sample_groups,
            clock,
            end,
            warmup_ns,
            links,
            flows,
            expect,
        })
    }
}

/// When metrics begin to count.
fn warmup(root: &Table, duration_ns: u64, end: End) -> Result<u64, Error> {
    let Some(node) = root.get("warmup") else { return Ok(0) };
    let limits = format!("'0 s' to less than the duration, '{}'", units::show_time(duration_ns));
    let warmup_ns = node.read(|value| units::time(value, 0..=duration_ns - 1, &limits))?;
    if warmup_ns > 0 && end == End::LastArrival {
        return Err(node.error("a warmup with end = \"last-arrival\"", "leave one of them out"));
    }
    Ok(warmup_ns)
}

/// For texts that name no further files.
pub fn no_files(_: &str) -> io::Result<String> {
    Err(io::Error::other("no file can be read here"))
}

fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or("scenario");
    printable(stem).chars().take(NAME_CHARS_MAX).collect()
}

fn clock(root: &Table, duration_ns: u64, links: &[Link], flows: &[Flow]) -> Result<Clock, Error> {
    let Some(node) = root.get("clock") else { return Ok(Clock::default()) };
    let clock = node.read(|value| match value.as_str() {
        Some("nanoseconds") => Ok(Clock::Nanoseconds),
        Some("ns2") => Ok(Clock::Ns2),
        _ => Err(Refusal::new(format!("{} is not a clock", show(value)), "'nanoseconds' or 'ns2'")),
    })?;
    if clock == Clock::Ns2 {
        if flows.iter().any(|flow| !flow.reverse_path.is_empty()) {
            return Err(node.error("ns-2's clock with a reverse link", "'nanoseconds', or no reverse link"));
        }
        if flows.iter().any(|flow| flow.cca.is_udp() || flow.arrivals().is_some()) {
            return Err(node.error("'ns2' with udp or arrivals of transfers", "'nanoseconds'"));
        }
        if let Some(link) = links.iter().find(|link| link.is_managed()) {
            return Err(node.error(
                format!("link '{}' varies, polices or impairs", link.name),
                "'nanoseconds', or a link without that",
            ));
        }
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

fn end(root: &Table, flows: &[Flow]) -> Result<End, Error> {
    let Some(node) = root.get("end") else { return Ok(End::default()) };
    if flows.iter().any(|flow| flow.size().is_some()) && node.value().as_str() == Some("last-arrival") {
        return Err(node.error("'last-arrival' with flows that have a size", "'duration'"));
    }
    node.read(|value| match value.as_str() {
        Some("duration") => Ok(End::Duration),
        Some("last-arrival") => Ok(End::LastArrival),
        _ => Err(Refusal::new(format!("{} is not an end", show(value)), "'duration' or 'last-arrival'")),
    })
}

/// How many flows each group has; empty: samples are by flow.
fn sample_groups(root: &Table, groups: &[flows::Group]) -> Result<Vec<u32>, Error> {
    let by_group = root.read("samples_by", |value| match value.as_str() {
        Some("flow") => Ok(false),
        Some("group") => Ok(true),
        _ => Err(Refusal::new(format!("{} is not a choice", show(value)), "'flow' or 'group'")),
    })?;
    let sizes = groups.iter().map(|group| group.start_stop_ns.len() as u32);
    Ok(if by_group == Some(true) { sizes.collect() } else { Vec::new() })
}

fn samples(root: &Table, duration_ns: u64, repeat: u64, rows_per_sample: u64) -> Result<Samples, Error> {
    let interval = |intervals: u64| Samples::Interval { interval_ns: duration_ns / intervals };
    let Some(node) = root.get("samples") else {
        let fine = ROWS_DEFAULT / rows_per_sample.saturating_mul(repeat);
        let fine = fine.clamp(INTERVALS_DEFAULT_LEAST, INTERVALS_DEFAULT);
        let intervals = (ROWS_MAX / rows_per_sample).clamp(1, fine);
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
        None if units::integer(value).is_some() => {
            units::whole(value, keys::SCENARIO.bounds("samples")).map(interval)
        }
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
    let rows = intervals * rows_per_sample;
    if rows > ROWS_MAX {
        let found = format!("{rows} rows for all flows and links");
        let accepted = format!("at most {ROWS_MAX}: take longer intervals, samples_by = \"group\", or 'off'");
        return Err(node.error(found, accepted));
    }
    Ok(samples)
}
