//! Random scenarios that mix the keys of links, flows, traffic and stacks.

use crate::common::read_with_files;
use crate::{conservation, varying};
use cwnd_scenario::Scenario;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub const DURATION_MS: u64 = 2000;

/// Parts of scenarios that a test leaves out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Any,
    /// Links that vary, impair, police or manage their queues, and ns-2's clock.
    Plain,
    /// All that [`Kind::Plain`] leaves out, and what draws random numbers by the number of a flow.
    WithoutChance,
}

/// A link that other flows may cross, too.
fn any_link(kind: Kind) -> BoxedStrategy<String> {
    let plain = conservation::any_link().prop_map(|link| link.keys() + &link.more_keys());
    match kind {
        Kind::Any => prop_oneof![2 => plain, 3 => varying::any_link()].boxed(),
        Kind::Plain => plain.boxed(),
        // Where rates are multiples of each other, packets of several flows come at one instant, in the order of the flows.
        Kind::WithoutChance => plain
            .prop_map(|keys| keys.replace("per = ", "per = 0 # ").replace("000 kbps", "013 kbps"))
            .boxed(),
    }
}

/// The links of a topology, and what each flow has to say of it.
fn any_links(kind: Kind) -> impl Strategy<Value = (String, Vec<&'static str>)> {
    let access = || {
        let keys = conservation::any_link().prop_map(|link| link.keys().replace('\n', ", "));
        (keys, any::<bool>()).prop_map(|(keys, exit)| {
            format!("access = {{ {} }}\nexit = {exit}\n", keys.trim_end_matches(", "))
        })
    };
    let edges = || prop_oneof![Just("exit = true\n".to_owned()), access()];
    let reverse = (50..5_000_u64, 1..40_u32)
        .prop_map(|(kbps, pkts)| format!("reverse = {{ rate = '{kbps} kbps', buffer = {pkts} }}\n"));
    let reverse = prop_oneof![2 => Just(String::new()), 1 => reverse];
    let dumbbell = (any_link(kind), edges(), reverse).prop_map(|(shared, edges, reverse)| {
        let flows = if reverse.is_empty() { vec![""] } else { vec!["", "direction = 'up'\n"] };
        (format!("[dumbbell]\n{shared}{edges}{reverse}"), flows)
    });
    let chain = prop::collection::vec(any_link(kind), 1..=3)
        .prop_map(|links| (links.iter().map(|link| format!("[[chain]]\n{link}")).collect(), vec![""]));
    let parking_lot = (any_link(kind), edges(), 2..=3_u32).prop_map(|(hop, edges, hops)| {
        (format!("[parking_lot]\nhops = {hops}\n{hop}{edges}"), vec!["", "over = 1\n", "over = 2\n"])
    });
    let named = prop::collection::vec(any_link(kind), 3).prop_map(|links| {
        let link = |(name, keys): (&str, &String)| format!("[[links]]\nname = '{name}'\n{keys}");
        let paths = vec![
            "path = ['a', 'b']\n",
            "path = ['a', 'b']\nreverse_path = ['back']\n",
            "path = ['b']\nreverse_path = ['back']\n",
        ];
        (["a", "b", "back"].into_iter().zip(&links).map(link).collect(), paths)
    });
    prop_oneof![4 => dumbbell, 3 => chain, 1 => parking_lot, 1 => named]
}

/// The traffic of a flow.
fn any_traffic(kind: Kind) -> BoxedStrategy<String> {
    let steady = conservation::any_application().prop_map(|keys| (keys, true));
    let fixed = prop_oneof![
        2 => (1..200_000_u32).prop_map(|bytes| format!("size = '{bytes} bytes'\n")),
        2 => (1..20_000_u32, 1..50_u32).prop_map(|(bytes, think_ms)| {
            format!("size = '{bytes} bytes'\nrequests = {{ count = 1000, think = '{think_ms} ms' }}\n")
        }),
        2 => (1..60_u32, 50..5_000_u32).prop_map(|(rate, kbps)| {
            format!("app_rate = '{kbps} kbps'\nframe_rate = {rate}\n")
        }),
    ]
    .prop_map(|keys| (keys, true));
    if kind == Kind::WithoutChance {
        return prop_oneof![3 => steady, 2 => fixed].prop_map(|(keys, _)| keys).boxed();
    }
    let drawn = prop_oneof![
        1 => (1..100_u32).prop_map(|rate| {
            format!("size = {{ distribution = 'exponential', mean = '10 KB' }}\n\
                     arrivals = {{ process = 'poisson', rate = {rate} }}\n")
        }),
        1 => (1..200_u32).prop_map(|ms| {
            format!("app_rate = '2 Mbps'\non = {{ mean = '{ms} ms' }}\noff = {{ mean = '20 ms' }}\n")
        }),
        1 => Just("size = { distribution = 'web-search' }\n".to_owned()),
        1 => Just("start_jitter = '50 ms'\n".to_owned()),
    ]
    .prop_map(|keys| (keys, false));
    prop_oneof![3 => steady, 2 => fixed, 2 => drawn].prop_map(|(keys, _)| keys).boxed()
}

fn any_flow(kind: Kind) -> impl Strategy<Value = String> {
    // To the nanosecond, so that no two flows keep the same pace.
    let times = (1..1_000_000_000_u64, 1..DURATION_MS);
    let ecn = prop::sample::select(vec!["false", "true", "'dctcp'", "'accurate'", "'l4s'"]);
    let handshake = prop::sample::select(vec!["'off'", "'off'", "'overlapped'", "'first'"]);
    let limits = prop::sample::select(vec!["own", "own", "draft"]);
    let stack =
        (conservation::any_stack(), ecn, handshake, limits).prop_map(|(stack, ecn, handshake, limit)| {
            let (before, after) = stack.split_once("ecn = ").expect("it says whether");
            let after = after.trim_start_matches("true").trim_start_matches("false");
            format!("{before}ecn = {ecn}, handshake = {handshake}, rate_limited = '{limit}'{after}")
        });
    let tcp = (conservation::any_cca(), any_traffic(kind), stack)
        .prop_map(|(cca, traffic, stack)| format!("cca = {cca}\n{traffic}stack = {stack}\n"));
    let datagrams = (10..8_000_u32).prop_map(|kbps| format!("cca = 'udp'\napp_rate = '{kbps} kbps'\n"));
    let sender = prop_oneof![8 => tcp, 1 => datagrams];
    (sender, times, 100..1500_u32, 1..=2_u32, 0..9_000_000_u64).prop_map(
        |(sender, (start_ns, length_ms), packet, count, stagger_ns)| {
            let stop_ms = (start_ns / 1_000_000 + 1 + length_ms).min(DURATION_MS);
            let several = if count > 1 && !sender.contains("arrivals") {
                format!("count = {count}\nstagger = '{stagger_ns} ns'\n")
            } else {
                String::new()
            };
            format!(
                "[[flows]]\n{sender}{several}start = '{start_ns} ns'\nstop = '{stop_ms} ms'\npacket = {packet}\n"
            )
        },
    )
}

/// Five links, and three flows over some of them. Rates are multiples of each other, and times whole milliseconds, so that much
/// happens at one instant.
pub fn any_tied_text() -> impl Strategy<Value = String> {
    let one_of = |words: &'static [&str]| prop::sample::select(words);
    let link = (
        one_of(&["'4 Mbps'", "'8 Mbps'", "'8 Mbps'", "'16 Mbps'", "{ trace = '1' }"]),
        one_of(&["0", "1", "2", "5"]),
        one_of(&["1", "2", "3", "5", "'unlimited'"]),
        one_of(&[
            "",
            "",
            "",
            "per = 0.05\n",
            "ecn_threshold = 2\n",
            "queue = 'fq-codel'\n",
            "aggregation = { every = '4 ms', most = 3 }\n",
            "suspension = [['20 ms', '60 ms']]\n",
            "losses = [5, [9, 11], ['50 ms', '60 ms']]\n",
        ]),
    );
    let link = link.prop_map(|(rate, ms, pkts, more)| {
        format!("rate = {rate}\ndelay = '{ms} ms'\nbuffer = {pkts}\n{more}")
    });
    // A packet has 1000 bytes on the wire, which take a millisecond at 8 Mbps.
    let flow = (
        one_of(&["0", "0", "1", "4"]),
        one_of(&["'a'", "'a', 'b'", "'b', 'c'", "'c', 'd'", "'a', 'c', 'd'", "'a', 'b', 'c', 'd'"]),
        one_of(&["", "", "reverse_path = ['back']\n", "reverse_path = ['d', 'back']\n"]),
        one_of(&[
            "cca = 'udp'\napp_rate = '7680 kbps'\nstack = { header = 40 }\n",
            "cca = 'udp'\napp_rate = '3840 kbps'\nstack = { header = 40 }\n",
            "cca = 'reno'\nstack = { header = 40, ack = 40, ack_every = 1 }\n",
            "cca = 'cubic'\nsize = '9800 bytes'\nrequests = { count = 50, think = '3 ms' }\nstack = { header = 40 }\n",
            "cca = 'reno'\nstack = { header = 40, ecn = true, ack = 500 }\n",
        ]),
    );
    let flow = flow.prop_map(|(ms, path, back, sender)| {
        format!("[[flows]]\npacket = 960\nstart = '{ms} ms'\npath = [{path}]\n{back}{sender}")
    });
    let links = prop::collection::vec(link, 5);
    let flows = prop::collection::vec(flow, 3);
    (links, flows, one_of(&["0", "100", "101"]), one_of(&["1", "7", "10"]), 0..1000_u64).prop_map(
        |(links, flows, warmup_ms, sample_ms, seed)| {
            let link = |(name, keys): (&str, &String)| format!("[[links]]\nname = '{name}'\n{keys}");
            let links: String = ["a", "b", "c", "d", "back"].into_iter().zip(&links).map(link).collect();
            let flows = flows.concat();
            format!(
                "duration = '400 ms'\nwarmup = '{warmup_ms} ms'\nsamples = '{sample_ms} ms'\nseed = {seed}\n{links}{flows}"
            )
        },
    )
}

/// A text that may be refused: not all keys go together.
fn any_text(kind: Kind) -> impl Strategy<Value = String> {
    let samples = prop::sample::select(vec!["'off'", "'change'", "50", "50\nsamples_by = 'group'"]);
    let clock = prop::sample::select(if kind == Kind::Any {
        vec!["nanoseconds", "nanoseconds", "nanoseconds", "ns2"]
    } else {
        vec!["nanoseconds"]
    });
    let warmup = prop_oneof![1 => Just(0), 1 => 1..DURATION_MS * 9 / 10];
    let flows = prop::collection::vec((any_flow(kind), any::<prop::sample::Index>()), 1..=4);
    (any_links(kind), flows, samples, clock, warmup, 0..1000_u64).prop_map(
        |((links, of_flows), flows, samples, clock, warmup_ms, seed)| {
            let warmup = match warmup_ms {
                0 => String::new(),
                // Hardly anything happens at this very nanosecond.
                ms => format!("warmup = '{ms}.000007 ms'\n"),
            };
            let flows: String = flows.iter().map(|(flow, way)| flow.clone() + way.get::<&str>(&of_flows)).collect();
            format!(
                "duration = '{DURATION_MS} ms'\n{warmup}clock = '{clock}'\nseed = {seed}\nsamples = {samples}\n{links}{flows}"
            )
        },
    )
}

/// The scenario with this number, and its text.
fn numbered(texts: impl Strategy<Value = String>, number: u64) -> (String, Scenario) {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut found = None;
    while found.is_none() {
        let text = texts.new_tree(&mut runner).expect("nothing is refused here").current();
        found = read_with_files(&text).ok().map(|scenario| (text, scenario));
    }
    found.expect("there is one")
}

/// As [`each_of`], of any scenarios.
pub fn each(kind: Kind, count: u64, check: impl Fn(&str, &Scenario) -> Result<(), String> + Sync) {
    each_of(|| any_text(kind), count, check);
}

/// The number in an environment variable.
fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// `check` holds for scenarios with `count` numbers, or CWND_SCENARIOS, from CWND_SEED on, or 1, with texts from the strategy that
/// `texts` makes.
pub fn each_of<S: Strategy<Value = String>>(
    texts: impl Fn() -> S + Sync,
    count: u64,
    check: impl Fn(&str, &Scenario) -> Result<(), String> + Sync,
) {
    let (first, count) = (number_of("CWND_SEED").unwrap_or(1), number_of("CWND_SCENARIOS").unwrap_or(count));
    let failed = (first..first + count).into_par_iter().find_map_first(|number| {
        let (text, scenario) = numbered(texts(), number);
        let checked = catch_unwind(AssertUnwindSafe(|| check(&text, &scenario)));
        let failed = checked.unwrap_or_else(|_| Err("panics".to_owned())).err()?;
        let nth = number - first + 1;
        Some(format!("CWND_SEED={number}, scenario {nth} of {count}: {failed}\n{text}"))
    });
    if let Some(failed) = failed {
        panic!("{failed}");
    }
}

/// Says where two texts differ first.
pub fn same(one: &str, other: &str) -> Result<(), String> {
    match one.lines().zip(other.lines()).find(|(one, other)| one != other) {
        Some((one, other)) => Err(format!("{one}\n  is now\n{other}")),
        None if one.len() == other.len() => Ok(()),
        None => Err("one is longer".to_owned()),
    }
}

#[test]
fn random_scenarios_mix_every_key() {
    let all: String = (1..400).map(|number| numbered(any_text(Kind::Any), number).0).collect();
    for key in [
        "[dumbbell]",
        "[[chain]]",
        "[parking_lot]",
        "[[links]]",
        "steps = ",
        "trace = ",
        "policer = ",
        "per = 0.",
        "gilbert-elliott",
        "jitter = ",
        "reorder = 0.",
        "duplicate = 0.",
        "losses = [",
        "marks = [",
        "suspension = ",
        "aggregation = ",
        "codel",
        "fq-codel",
        "pie",
        "red",
        "dualpi2",
        "ecn_threshold = ",
        "bytes'\nqueue",
        "access = ",
        "exit = false",
        "reverse = ",
        "direction = 'up'",
        "over = ",
        "reverse_path",
        "warmup = ",
        "clock = 'ns2'",
        "samples_by",
        "'udp'",
        "requests = ",
        "arrivals = ",
        "frame_rate = ",
        "mean = ",
        "start_jitter",
        "count = 2",
        "handshake = 'first'",
        "'overlapped'",
        "rate_limited = 'draft'",
        "'dctcp'",
        "'accurate'",
        "'l4s'",
    ] {
        assert!(all.contains(key), "{key}");
    }
}
