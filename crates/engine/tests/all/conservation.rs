//! Invariants of every run: packets neither vanish nor multiply, shares are shares, and a run can be repeated.

use crate::common::{answer_by_events, answer_on_threads, answer_scenario, read};
use cwnd_results::{FlowResult, Run};
use cwnd_scenario::{Clock, Flow, Handshake, Link, Samples, Scenario};
use proptest::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct AnyLink {
    kbps: u64,
    delay_us: u64,
    buffer: Option<u32>,
    per: f64,
    ecn_threshold: Option<u32>,
}

impl AnyLink {
    pub fn keys(&self) -> String {
        let buffer = self.buffer.map_or("'unlimited'".to_owned(), |pkts| pkts.to_string());
        format!("rate = '{} kbps'\ndelay = '{} us'\nbuffer = {buffer}\n", self.kbps, self.delay_us)
    }

    /// Returns the keys that an access link does not have.
    pub fn more_keys(&self) -> String {
        let threshold = self.ecn_threshold.map_or("'unlimited'".to_owned(), |pkts| pkts.to_string());
        format!("per = {}\necn_threshold = {threshold}\n", self.per)
    }
}

pub fn any_link() -> impl Strategy<Value = AnyLink> {
    let buffer = prop_oneof![3 => (1..60_u32).prop_map(Some), 1 => Just(None)];
    let per = prop_oneof![2 => Just(0.0), 1 => 0.0..0.02, 1 => Just(0.3)];
    let ecn_threshold = prop_oneof![1 => Just(Some(1)), 2 => (1..30_u32).prop_map(Some), 1 => Just(None)];
    // Two rates that many links have: behind one of the same rate a packet arrives as the one before it leaves.
    let kbps = prop_oneof![3 => 200..20_000_u64, 1 => Just(1000_u64), 1 => Just(8000_u64)];
    (kbps, 0..30_000_u64, buffer, per, ecn_threshold).prop_map(
        |(kbps, delay_us, buffer, per, ecn_threshold)| AnyLink { kbps, delay_us, buffer, per, ecn_threshold },
    )
}

fn any_links() -> impl Strategy<Value = String> {
    let dumbbell = (any_link(), any_link()).prop_map(|(shared, access)| {
        let keys = access.keys().replace('\n', ", ");
        let access = keys.trim_end_matches(", ");
        format!("[dumbbell]\n{}{}access = {{ {access} }}\n", shared.keys(), shared.more_keys())
    });
    let chain = prop::collection::vec(any_link(), 1..=4).prop_map(|links| {
        links.iter().map(|link| format!("[[chain]]\n{}{}", link.keys(), link.more_keys())).collect::<String>()
    });
    prop_oneof![dumbbell, chain]
}

const DURATION_MS: u64 = 3000;

/// Algorithms of the registry, presets, and two with `cong_control`.
pub fn any_cca() -> impl Strategy<Value = String> {
    let registry = cwnd_algorithms::all().into_iter().map(|algorithm| algorithm.name);
    let presets = cwnd_scenario::PRESETS.iter().map(|preset| preset.name.to_owned());
    let names = registry.chain(presets).chain(["model".to_owned()]).map(|name| format!("'{name}'"));
    let paced = (1..60_u32, 10_000..3_000_000_u32)
        .prop_map(|(window, rate)| format!("{{ name = 'paced', window = {window}, rate = {rate} }}"));
    prop_oneof![
        6 => prop::sample::select(names.collect::<Vec<_>>()),
        1 => Just("'model'".to_owned()),
        1 => paced,
    ]
}

pub fn any_stack() -> impl Strategy<Value = String> {
    let recoveries = ["tahoe", "reno", "newreno", "vegas", "sack", "fack", "prr", "rate-halving"];
    let ssthresh = prop_oneof![Just("'unlimited'".to_owned()), (2..60_u32).prop_map(|pkts| pkts.to_string())];
    let stack = (
        prop_oneof![Just("linux"), Just("ns2")],
        prop::sample::select(recoveries.to_vec()),
        1..=3_u32,
        0..100_u32,
        prop_oneof![Just("'unlimited'".to_owned()), (1..100_u32).prop_map(|pkts| pkts.to_string())],
        (1..=20_u32, ssthresh),
        any::<[bool; 7]>(),
    );
    stack.prop_map(|(profile, recovery, ack_every, ack_delay, receive_window, (window, ssthresh), flags)| {
        format!(
            "{{ profile = '{profile}', recovery = '{recovery}', ack_every = {ack_every}, \
             ack_delay = '{ack_delay} ms', receive_window = {receive_window}, initial_window = {window}, \
             initial_ssthresh = {ssthresh}, timestamps = {}, detect_lost_retransmissions = {}, \
             undo_spurious_rto = {}, restart_at_half_ssthresh = {}, restart_at_one = {}, idle_restart = {}, \
             ecn = {} }}",
            flags[0], flags[1], flags[2], flags[3], flags[4], flags[5], flags[6]
        )
    })
}

/// When the application has something to send.
pub fn any_application() -> impl Strategy<Value = String> {
    let rate = prop_oneof![
        2 => Just(String::new()),
        1 => (50..10_000_u64).prop_map(|kbps| format!("app_rate = '{kbps} kbps'\n")),
    ];
    let pauses = prop_oneof![
        2 => Just(String::new()),
        1 => (1..800_000_u64, 1..800_000_u64).prop_map(|(on, off)| format!("on = '{on} us'\noff = '{off} us'\n")),
    ];
    (rate, pauses).prop_map(|(rate, pauses)| rate + &pauses)
}

fn any_flow() -> impl Strategy<Value = String> {
    let start_stop = (0..DURATION_MS - 1, 1..=DURATION_MS)
        .prop_map(|(start, length)| (start, (start + length).min(DURATION_MS)));
    (any_cca(), start_stop, 100..1500_u32, any_application(), any_stack()).prop_map(
        |(cca, (start, stop), packet, application, stack)| {
            format!(
                "[[flows]]\ncca = {cca}\npacket = {packet}\nstart = '{start} ms'\nstop = '{stop} ms'\n\
                 {application}stack = {stack}\n"
            )
        },
    )
}

fn any_scenario() -> impl Strategy<Value = Scenario> {
    let samples = prop_oneof![Just("'off'"), Just("'change'"), Just("50")];
    let clock = prop_oneof![2 => Just("nanoseconds"), 1 => Just("ns2")];
    let flows = prop::collection::vec(any_flow(), 1..=6);
    (any_links(), flows, samples, clock, 0..1000_u64).prop_map(|(links, flows, samples, clock, seed)| {
        read(&format!(
            "duration = '{DURATION_MS} ms'\nclock = '{clock}'\nseed = {seed}\nrepeat = 3\nsamples = {samples}\n{links}{}",
            flows.concat()
        ))
    })
}

/// Packets that the wire of `link` holds at most, if none is smaller than those of `flow`.
fn wire_holds(link: &Link, flow: &Flow) -> u64 {
    link.delay_ns / link.sending_ns(flow.packet_bytes()) + 1
}

fn link_holds(scenario: &Scenario, index: u32) -> u64 {
    let link = &scenario.links[index as usize];
    let flows = scenario.flows.iter().filter(|flow| flow.path.contains(&index));
    let wire = flows.map(|flow| wire_holds(link, flow)).max().expect("every link has a flow");
    link.buffer_pkts.map_or(u64::MAX / 1000, |pkts| u64::from(pkts) + wire)
}

/// Returns the packets that came to a link: sent by the flows whose first link it is, and delivered by the links before it. None
/// behind a link where paths part: results do not show how the packets were shared.
fn arrivals(scenario: &Scenario, run: &Run, index: u32) -> Option<u64> {
    let next = |flow: &Flow, link: u32| {
        let hop = flow.path.iter().position(|&on_path| on_path == link)?;
        flow.path.get(hop + 1).copied()
    };
    let first = scenario.flows.iter().zip(&run.flows).filter(|(flow, _)| flow.path[0] == index);
    let mut came = first.map(|(_, result)| result.sent_pkts).sum();
    for (before, result) in (0..).zip(&run.links) {
        let mut onward = scenario.flows.iter().filter_map(|flow| next(flow, before));
        if onward.clone().any(|link| link == index) {
            if onward.any(|link| link != index) {
                return None;
            }
            came += result.delivered_pkts;
        }
    }
    Some(came)
}

fn check(scenario: &Scenario, run: &Run) -> Result<(), TestCaseError> {
    for (flow, result) in scenario.flows.iter().zip(&run.flows) {
        let inside = result.sent_pkts.checked_sub(result.delivered_pkts + result.lost_pkts);
        let holds: u64 = flow.path.iter().map(|&link| link_holds(scenario, link)).sum();
        prop_assert!(inside.is_some_and(|inside| inside <= holds), "{result:?}, room for {holds}");
        prop_assert!(result.retransmitted_pkts <= result.sent_pkts);
        prop_assert!((0.0..=1.0).contains(&result.loss_ratio));
        let payload = f64::from(flow.payload_bytes) / f64::from(flow.packet_bytes());
        prop_assert!(result.goodput_mbps <= result.throughput_mbps * payload * (1.0 + 1e-12));
        // No more than the slowest link carries, and one packet for the ends of the time.
        let packet_mbps = f64::from(flow.packet_bytes()) * 8e3 / (flow.stop_ns - flow.start_ns) as f64;
        let rate_mbps = scenario.bottleneck(result.flow as usize).rate_bps as f64 * 1e-6;
        prop_assert!(result.throughput_mbps <= rate_mbps * 1.0001 + packet_mbps, "{result:?}");
        // No more than the application has written.
        let written_mbps = flow.app_rate_bps.map_or(f64::INFINITY, |rate| rate as f64 * 1e-6);
        prop_assert!(result.goodput_mbps <= written_mbps * (1.0 + 1e-9), "{result:?}");
        // A SYN is as large as an ACK, and has an RTT of its own.
        let mut shorter = flow.clone().with(|flow| flow.payload_bytes = 0);
        Arc::make_mut(&mut shorter.stack).header_bytes = flow.stack.ack_bytes.min(flow.packet_bytes());
        let syn = flow.stack.handshake != Handshake::Off;
        let mut scenario = scenario.clone();
        if syn {
            scenario.flows[result.flow as usize] = shorter;
        }
        let least_ms = scenario.rtt_ns(result.flow as usize) as f64 * 1e-6;
        // What is least is rounded for each link there and back, ns-2's clock at both ends.
        let roundings = if scenario.clock == Clock::Ns2 { flow.path.len() + 1 } else { 0 };
        let mut roundings_ms = roundings as f64 * 1e-6;
        // Linux's timestamps, which alone time a retransmission, count milliseconds.
        if flow.stack.recovery.choices().times_causing_segment
            && flow.stack.timestamps
            && result.retransmitted_pkts > 0
        {
            roundings_ms += 1.0;
        }
        prop_assert!(result.mean_rtt_ms.is_none_or(|rtt| rtt >= least_ms * (1.0 - 1e-9) - roundings_ms));
        prop_assert!(result.mean_cwnd_pkts >= 1.0 && result.mean_cwnd_pkts < 1e7, "{result:?}");
    }
    for (index, (link, result)) in scenario.links.iter().zip(&run.links).enumerate() {
        prop_assert!((0.0..=1.0 + 1e-9).contains(&result.utilization), "{result:?}");
        prop_assert!(
            link.buffer_pkts.is_none_or(|pkts| result.max_queue_pkts <= u64::from(pkts)),
            "{result:?}"
        );
        prop_assert!(result.mean_queue_pkts <= result.max_queue_pkts as f64 + 1e-9, "{result:?}");
        // By ns-2's clock, what each packet takes is rounded in one of them, and when it comes and leaves in the other.
        let roundings_ns = if scenario.clock == Clock::Ns2 { 2 * result.delivered_pkts + 9 } else { 1 };
        let roundings = roundings_ns as f64 / scenario.duration_ns as f64;
        prop_assert!(result.mean_queue_pkts >= result.utilization - roundings, "{result:?}");
        let Some(came) = arrivals(scenario, run, index as u32) else { continue };
        let inside = came.checked_sub(result.delivered_pkts + result.dropped_pkts + result.error_pkts);
        let holds = link_holds(scenario, index as u32);
        prop_assert!(
            inside.is_some_and(|inside| inside <= holds),
            "{came} came, room for {holds}: {result:?}"
        );
    }
    // What was lost was lost on some link; what arrived came from the last ones.
    let total = |count: fn(&FlowResult) -> u64| run.flows.iter().map(count).sum::<u64>();
    let lost: u64 = run.links.iter().map(|link| link.dropped_pkts + link.error_pkts).sum();
    prop_assert_eq!(lost, total(|flow| flow.lost_pkts));
    let mut last: Vec<_> = scenario.flows.iter().map(|flow| flow.path[flow.path.len() - 1]).collect();
    last.dedup();
    let arrived: u64 = last.iter().map(|&link| run.links[link as usize].delivered_pkts).sum();
    prop_assert_eq!(arrived, total(|flow| flow.delivered_pkts));
    prop_assert_eq!(run.packets, total(|flow| flow.sent_pkts));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_neither_vanish_nor_multiply(scenario in any_scenario()) {
        check(&scenario, &answer_scenario(&scenario))?;
    }

    #[test]
    fn a_run_is_the_same_again_beside_others_and_on_any_number_of_threads(
        scenario in any_scenario(),
        threads in prop::sample::select(vec![2, 3, 7]),
    ) {
        let alone = answer_scenario(&scenario);
        let together: Vec<_> = (0..2).into_par_iter().map(|_| answer_scenario(&scenario)).collect();
        prop_assert!(together == [alone.clone(), alone.clone()]);
        prop_assert!(alone == answer_on_threads(&scenario, threads));
    }

    #[test]
    fn going_through_long_spans_gives_what_going_from_event_to_event_gives(scenario in any_scenario()) {
        prop_assert!(answer_scenario(&scenario) == answer_by_events(&scenario));
    }

    /// Links where packets never wait are no events. An error rate that never comes true makes them real.
    #[test]
    fn links_where_nothing_waits_are_no_different(scenario in any_scenario()) {
        let mut real = scenario.with(|scenario| scenario.samples = Samples::Change);
        let folded = answer_scenario(&real);
        for link in real.links.iter_mut().filter(|link| link.per == 0.0) {
            link.per = f64::MIN_POSITIVE;
        }
        let waited = answer_scenario(&real);
        if real.clock == Clock::Ns2 {
            // The links' own times are rounded once more.
            prop_assert!(folded.flows == waited.flows && folded.flow_samples == waited.flow_samples);
        } else {
            prop_assert!(folded == waited);
        }
    }
}
