//! Changes of a scenario that change nothing, or all of it alike: a table of relations between runs.

use crate::common::{answer_scenario, custom, read_with_files};
use crate::scenarios::{Kind, each, same};
use cwnd_engine::net::{Packet, Parts, Side, Tap};
use cwnd_engine::{BorrowedSimulation, Control, run};
use cwnd_results::Run;
use cwnd_scenario::{DelayStep, Link, Policer, RateStep, RateVariation, Samples, Scenario, Variation};
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// A row of the table: what it is about, which scenarios it is for, and what must hold.
type Relation = (&'static str, Kind, fn(&str, &Scenario) -> Result<(), String>);

const TABLE: [Relation; 10] = [
    ("units", Kind::Any, other_units_change_nothing),
    ("policer", Kind::Plain, a_policer_that_never_refuses_changes_nothing),
    ("step", Kind::Any, a_step_to_the_same_value_changes_nothing),
    ("step of the delay", Kind::Plain, a_delay_written_as_a_step_changes_nothing),
    ("link added", Kind::Plain, a_fast_link_added_changes_nothing),
    ("delay split", Kind::Plain, a_delay_split_over_two_links_is_the_same_delay),
    ("permutation", Kind::WithoutChance, the_order_of_flows_does_not_matter),
    ("seeds", Kind::Any, seeds_run_one_by_one_as_together),
    ("prefix", Kind::Any, a_run_begins_as_a_longer_one),
    ("shift", Kind::WithoutChance, a_run_that_starts_later_is_the_same_later),
];

fn text(run: &Run) -> String {
    format!("{run:#?}")
}

/// A line for each row.
fn lines(rows: &[impl std::fmt::Debug]) -> String {
    rows.iter().map(|row| format!("{row:?}\n")).collect()
}

/// Compares texts but for the last digits of numbers: sums are added up in another order, and each packet's sending time is
/// rounded, or that of all together.
fn near(one: &str, other: &str) -> Result<(), String> {
    let number = |line: &str| line.trim_end_matches(',').rsplit(' ').next()?.parse::<f64>().ok();
    let is_near = |one: &str, other: &str| match (number(one), number(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-4 * one.abs() + 1e-4,
        _ => false,
    };
    let pairs = one.lines().zip(other.lines());
    let alike = pairs.map(|(one, other)| if is_near(one, other) { one } else { other });
    let rest = other.lines().skip(one.lines().count());
    let other: String = alike.chain(rest).map(|line| format!("{line}\n")).collect();
    same(one, other.trim_end())
}

fn other_units_change_nothing(toml: &str, scenario: &Scenario) -> Result<(), String> {
    let mut other = String::new();
    let mut rest = toml;
    // Each quantity is a number and a unit between apostrophes.
    while let Some((before, after)) = rest.split_once('\'') {
        let (quoted, behind) = after.split_once('\'').expect("a text ends");
        let finer = quoted.split_once(' ').and_then(|(number, unit)| {
            let number: u64 = number.parse().ok()?;
            let (factor, unit) = match unit {
                "kbps" => (1000, "bps"),
                "ms" => (1000, "us"),
                "us" => (1000, "ns"),
                "KB" => (1000, "bytes"),
                "ns" => return Some(format!("{}.{:09} s", number / 1_000_000_000, number % 1_000_000_000)),
                _ => return None,
            };
            Some(format!("{} {unit}", number * factor))
        });
        other += &format!("{before}'{}'", finer.as_deref().unwrap_or(quoted));
        rest = behind;
    }
    let other = read_with_files(&(other + rest))?;
    if other == *scenario { Ok(()) } else { same(&format!("{scenario:#?}"), &format!("{other:#?}")) }
}

fn a_policer_that_never_refuses_changes_nothing(_: &str, scenario: &Scenario) -> Result<(), String> {
    let mut policed = scenario.clone();
    for link in &mut policed.links {
        let policer = Policer { rate_bps: 9_000_000_000, burst_bytes: 1 << 30, mark: false };
        link.variation =
            Some(Box::new(Variation::default().with(|variation| variation.policer = Some(policer))));
    }
    near(&text(&answer_scenario(scenario)), &text(&answer_scenario(&policed)))
}

fn a_step_to_the_same_value_changes_nothing(_: &str, scenario: &Scenario) -> Result<(), String> {
    if scenario.clock.adds_up_seconds() {
        return Ok(());
    }
    let steps = |at_ns: &[u64]| {
        let mut stepped = scenario.clone();
        for link in &mut stepped.links {
            let (rate_bps, delay_ns) = (link.rate_bps, link.delay_ns);
            let variation = link.variation.get_or_insert_default();
            if variation.rate.is_none() {
                let steps = at_ns.iter().map(|&from_ns| RateStep { from_ns, rate_bps });
                variation.rate = Some(RateVariation::Steps(steps.collect()));
            }
            if variation.delay_steps.is_empty() {
                variation.delay_steps =
                    at_ns.iter().map(|&from_ns| DelayStep { from_ns, delay_ns }).collect();
            }
        }
        answer_scenario(&stepped)
    };
    same(&text(&steps(&[0])), &text(&steps(&[0, 123_456_789, 700_000_000])))
}

/// A link whose delay has steps may reorder, though it does not: losses are found as on one that cannot.
fn a_delay_written_as_a_step_changes_nothing(_: &str, scenario: &Scenario) -> Result<(), String> {
    let mut stepped = scenario.clone();
    for link in &mut stepped.links {
        let delay_steps = vec![DelayStep { from_ns: 0, delay_ns: link.delay_ns }];
        link.variation =
            Some(Box::new(Variation::default().with(|variation| variation.delay_steps = delay_steps)));
    }
    near(&text(&answer_scenario(scenario)), &text(&answer_scenario(&stepped)))
}

/// The scenario with a link of `delay_ns` behind the last of each link's users' paths, whose delay is that much shorter.
fn with_link_behind(scenario: &Scenario, delay_ns: impl Fn(&Link) -> u64) -> Option<Scenario> {
    let mut longer = scenario.clone();
    let last = *scenario.flows[0].path.last()?;
    let added = scenario.links.len() as u32;
    // A packet takes a nanosecond, whatever its size.
    let fast =
        Link::default().with(|link| (link.name, link.rate_bps) = ("fast".to_owned(), 100_000_000_000_000));
    let behind_ns = delay_ns(&scenario.links[last as usize]);
    let link = &mut longer.links[last as usize];
    link.delay_ns = link.delay_ns.checked_sub(behind_ns + 1)?;
    longer.links.push(fast.with(|link| link.delay_ns = behind_ns));
    for flow in &mut longer.flows {
        if flow.reverse_path.contains(&last) || flow.path.contains(&last) && flow.path.last() != Some(&last) {
            return None;
        }
        if flow.path.last() == Some(&last) {
            flow.path.push(added);
        }
    }
    longer.check().ok().map(|()| longer)
}

/// The RTT without queues, by which requests are answered and SACKs wait, is a nanosecond shorter: a sending time of less than half
/// of one is none.
fn same_behind(scenario: &Scenario, longer: Option<Scenario>) -> Result<(), String> {
    let Some(longer) = longer else { return Ok(()) };
    let without = |scenario: &Scenario| {
        let mut run = answer_scenario(scenario);
        let links =
            scenario.links.iter().position(|link| link.name == "fast").unwrap_or(scenario.links.len());
        run.links.truncate(links);
        run.link_samples = Default::default();
        // What is delivered at the far end of a link that is shorter.
        run.links.iter_mut().for_each(|link| link.delivered_pkts = 0);
        // Each is compared with the fastest that the scenario's links allow.
        run.transfers.slowdown.clear();
        run.flows.iter_mut().for_each(|row| (row.slowdown_p50, row.slowdown_p99) = (None, None));
        text(&run)
    };
    near(&without(scenario), &without(&longer))
}

fn a_fast_link_added_changes_nothing(_: &str, scenario: &Scenario) -> Result<(), String> {
    same_behind(scenario, with_link_behind(scenario, |_| 0))
}

fn a_delay_split_over_two_links_is_the_same_delay(_: &str, scenario: &Scenario) -> Result<(), String> {
    same_behind(scenario, with_link_behind(scenario, |link| link.delay_ns / 3))
}

fn the_order_of_flows_does_not_matter(_: &str, scenario: &Scenario) -> Result<(), String> {
    // What they draw is a stream of the seed for each place in the order.
    if scenario.flows.iter().any(|flow| ["bbr", "bbr3"].contains(&flow.cca.name.as_str())) {
        return Ok(());
    }
    let flows = scenario.flows.len() as u32;
    let mut scenario = scenario.clone();
    // Access links of rates without a common measure: at the same instant the first in order comes first.
    for (place, link) in (1..).zip(&mut scenario.links).filter(|(_, link)| link.name.starts_with("access")) {
        link.rate_bps += link.rate_bps / 997 * place;
    }
    let mut turned = scenario.clone();
    turned.flows.reverse();
    turned.sample_groups.reverse();
    let mut run = answer_scenario(&turned);
    run.flows.reverse();
    run.flows.iter_mut().for_each(|row| row.flow = flows - 1 - row.flow);
    let rows = |run: Run| format!("{}\n{}\n{:#?}", lines(&run.flows), lines(&run.links), run.link_samples);
    let compared = same(&rows(answer_scenario(&scenario)), &rows(run));
    compared.or_else(|failed| if sends_at_one_instant(&scenario) { Ok(()) } else { Err(failed) })
}

/// When each flow sends, by the end that does.
type Sendings = RefCell<HashMap<(bool, u64), u32>>;

struct Watch<'a> {
    flow: u32,
    sendings: &'a Sendings,
    tied: &'a RefCell<bool>,
}

impl Tap for Watch<'_> {
    fn see(&mut self, at: Side, now_ns: u64, packet: &Packet) {
        let is_data = matches!(packet, Packet::Data(_) | Packet::Datagram(_));
        if is_data == (at == Side::Sender) {
            let other = self.sendings.borrow_mut().insert((is_data, now_ns), self.flow);
            *self.tied.borrow_mut() |= other.is_some_and(|other| other != self.flow);
        }
    }
}

/// Two senders, or two receivers, send at one instant, as where a late ACK of one meets the ACK of a segment of the other: the first
/// in order is before the other on a link that they share.
fn sends_at_one_instant(scenario: &Scenario) -> bool {
    let (sendings, tied) = (Sendings::default(), RefCell::new(false));
    let taps = |flow: u32, _| -> Option<Box<dyn Tap + '_>> {
        Some(Box::new(Watch { flow, sendings: &sendings, tied: &tied }))
    };
    let control = Control::default();
    let parts = Parts { algorithms: &custom, taps: &taps, ..Parts::default() };
    BorrowedSimulation::plain(scenario, scenario.seed, parts, &control).finish().expect("nobody stops it");
    tied.take()
}

fn seeds_run_one_by_one_as_together(_: &str, scenario: &Scenario) -> Result<(), String> {
    let with_seed = |scenario: &Scenario, seed| {
        run(scenario, seed, &custom, &Control::default()).map_err(|unfinished| format!("{unfinished:?}"))
    };
    let seeds = scenario.seed..scenario.seed + 3;
    let together: Vec<_> = seeds.clone().into_par_iter().map(|seed| with_seed(scenario, seed)).collect();
    for (seed, together) in seeds.zip(together) {
        let alone = scenario.clone().with(|scenario| (scenario.seed, scenario.repeat) = (seed, 1));
        same(&text(&with_seed(&alone, seed)?), &text(&together?))?;
    }
    Ok(())
}

/// The samples before `end_ns`.
fn samples_before(run: &Run, end_ns: u64) -> String {
    let is_before = |time_s: &f64| time_s * 1e9 < end_ns as f64;
    let (flows, links) = (&run.flow_samples, &run.link_samples);
    let of_flows = (0..flows.flow.len()).filter(|&row| is_before(&flows.time_s[row])).map(|row| {
        format!(
            "{} {} {} {} {} {} {} {} {}",
            flows.time_s[row],
            flows.flow[row],
            flows.cwnd_pkts[row],
            flows.min_cwnd_pkts[row],
            flows.ssthresh_pkts[row],
            flows.in_flight_pkts[row],
            flows.rtt_ms[row],
            flows.throughput_mbps[row],
            flows.marked_pkts[row],
        )
    });
    let of_links = (0..links.link.len()).filter(|&row| is_before(&links.time_s[row])).map(|row| {
        format!(
            "{} {} {} {} {} {}",
            links.time_s[row],
            links.link[row],
            links.queue_pkts[row],
            links.queue_ms[row],
            links.dropped_pkts[row],
            links.marked_pkts[row],
        )
    });
    of_flows.chain(of_links).collect::<Vec<_>>().join("\n")
}

fn a_run_begins_as_a_longer_one(_: &str, scenario: &Scenario) -> Result<(), String> {
    let mut longer = scenario.clone();
    longer.warmup_ns = 0;
    if longer.samples == Samples::Off {
        longer.samples = Samples::Interval { interval_ns: 50_000_000 };
    }
    let end_ns = 1_234_567_890;
    let mut shorter = longer.clone().with(|scenario| scenario.duration_ns = end_ns);
    if shorter.flows.iter().any(|flow| flow.start_ns + flow.start_jitter_ns >= end_ns) {
        return Ok(());
    }
    shorter.flows.iter_mut().for_each(|flow| flow.stop_ns = flow.stop_ns.min(end_ns));
    let (shorter, longer) = (answer_scenario(&shorter), answer_scenario(&longer));
    same(&samples_before(&shorter, end_ns), &samples_before(&longer, end_ns))?;
    // Transfers that are over by then, too.
    let transfers = |run: &Run| {
        let all = &run.transfers;
        let over =
            (0..all.flow.len()).filter(|&row| all.start_s[row] * 1e9 + all.fct_ms[row] * 1e6 < end_ns as f64);
        over.map(|row| format!("{} {} {}", all.flow[row], all.size_bytes[row], all.fct_ms[row]))
            .collect::<Vec<_>>()
            .join("\n")
    };
    same(&transfers(&shorter), &transfers(&longer))
}

/// As in Linux, htcp's first interval of throughput begins with the clock, and prague's rounds have the clock's phase.
const OF_THE_CLOCK: [&str; 2] = ["htcp", "prague"];

fn a_run_that_starts_later_is_the_same_later(_: &str, scenario: &Scenario) -> Result<(), String> {
    const LATER_NS: u64 = 1_000_000_000;
    if scenario.flows.iter().any(|flow| OF_THE_CLOCK.contains(&flow.cca.name.as_str())) {
        return Ok(());
    }
    let mut later =
        scenario.clone().with(|scenario| (scenario.warmup_ns, scenario.samples) = (0, Samples::Off));
    later.sample_groups.clear();
    let now = answer_scenario(&later);
    later.duration_ns += LATER_NS;
    for flow in &mut later.flows {
        (flow.start_ns, flow.stop_ns) = (flow.start_ns + LATER_NS, flow.stop_ns + LATER_NS);
    }
    let later_run = answer_scenario(&later);
    let rows = |run: Run, begun_ns: u64, span_ns: u64| {
        let flows = run.flows.into_iter().map(|mut row| {
            let from_s = begun_ns as f64 / 1e9;
            (row.start_s, row.stop_s) = (row.start_s - from_s, row.stop_s - from_s);
            [&mut row.start_s, &mut row.stop_s].into_iter().for_each(|time| *time = (*time * 1e9).round());
            row
        });
        let links = run.links.into_iter().map(|mut row| {
            row.utilization *= span_ns as f64;
            row.mean_queue_pkts *= span_ns as f64;
            row
        });
        format!("{:#?}\n{:#?}", flows.collect::<Vec<_>>(), links.collect::<Vec<_>>())
    };
    near(&rows(now, 0, scenario.duration_ns), &rows(later_run, LATER_NS, later.duration_ns))
}

/// The first segment of the second flow is lost, so that its first ACK moves nothing. ns-2's timer takes a sample of it, which is
/// an RTT and not the time since the beginning of the run.
#[test]
fn a_first_ack_that_moves_nothing_times_out_whenever_the_flow_starts() {
    let toml = "duration = '2 s'\nsamples = 'off'\n[dumbbell]\nrate = '1013 kbps'\ndelay = '26599 us'\nbuffer = 2\n\
                [[flows]]\ncca = 'dctcp'\non = '648654 us'\noff = '323561 us'\ncount = 2\nstagger = '2136837 ns'\n\
                start = '78834119 ns'\nstop = '1457 ms'\nstack = { profile = 'linux', recovery = 'rate-halving' }\n";
    let scenario = read_with_files(toml).expect("it is a scenario");
    a_run_that_starts_later_is_the_same_later(toml, &scenario).expect("nothing but the time differs");
}

fn check_table(count: u64) {
    let failed: Vec<String> = TABLE
        .iter()
        .filter_map(|(name, kind, relation)| {
            let check = || each(*kind, count, relation);
            let panic = std::panic::catch_unwind(check).err()?;
            Some(format!("{name}: {}", panic.downcast_ref::<String>().map_or("", String::as_str)))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_table_of_relations_between_runs_holds() {
    check_table(40);
}

#[test]
#[ignore = "slow"]
fn the_table_of_relations_between_runs_holds_in_500_scenarios_each() {
    check_table(500);
}
