//! What holds in every run: packets neither vanish nor multiply, shares are shares, and a run can be repeated.

mod common;

use common::{answer_scenario, read};
use cwnd_engine::results::{FlowResult, Run};
use cwnd_scenario::{Flow, Link, Samples, Scenario};
use proptest::prelude::*;
use rayon::prelude::*;

#[derive(Clone, Debug)]
struct AnyLink {
    kbps: u64,
    delay_us: u64,
    buffer: Option<u32>,
    per: f64,
}

impl AnyLink {
    fn keys(&self) -> String {
        let buffer = self.buffer.map_or("'unlimited'".to_owned(), |pkts| pkts.to_string());
        format!("rate = '{} kbps'\ndelay = '{} us'\nbuffer = {buffer}\n", self.kbps, self.delay_us)
    }
}

fn any_link() -> impl Strategy<Value = AnyLink> {
    let buffer = prop_oneof![3 => (1..60_u32).prop_map(Some), 1 => Just(None)];
    let per = prop_oneof![2 => Just(0.0), 1 => 0.0..0.02, 1 => Just(0.3)];
    (200..20_000_u64, 0..30_000_u64, buffer, per).prop_map(|(kbps, delay_us, buffer, per)| AnyLink {
        kbps,
        delay_us,
        buffer,
        per,
    })
}

fn any_links() -> impl Strategy<Value = String> {
    let dumbbell = (any_link(), any_link()).prop_map(|(shared, access)| {
        let keys = access.keys().replace('\n', ", ");
        let access = keys.trim_end_matches(", ");
        format!("[dumbbell]\n{}per = {}\naccess = {{ {access} }}\n", shared.keys(), shared.per)
    });
    let chain = prop::collection::vec(any_link(), 1..=4).prop_map(|links| {
        links.iter().map(|link| format!("[[chain]]\n{}per = {}\n", link.keys(), link.per)).collect::<String>()
    });
    prop_oneof![dumbbell, chain]
}

const DURATION_MS: u64 = 3000;

fn any_flow() -> impl Strategy<Value = String> {
    let names: Vec<_> = cwnd_algorithms::all().into_iter().map(|algorithm| algorithm.name).collect();
    let stack = (
        prop_oneof![Just("linux"), Just("ns2")],
        prop_oneof![Just("sack"), Just("prr"), Just("rate-halving")],
        1..=3_u32,
        prop_oneof![Just("'unlimited'".to_owned()), (1..100_u32).prop_map(|pkts| pkts.to_string())],
        1..=20_u32,
        any::<[bool; 4]>(),
    );
    let stack = stack.prop_map(|(profile, recovery, ack_every, receive_window, initial_window, flags)| {
        format!(
            "{{ profile = '{profile}', recovery = '{recovery}', ack_every = {ack_every}, \
             receive_window = {receive_window}, initial_window = {initial_window}, timestamps = {}, \
             detect_lost_retransmissions = {}, undo_spurious_rto = {}, restart_at_half_ssthresh = {} }}",
            flags[0], flags[1], flags[2], flags[3]
        )
    });
    let start_stop = (0..DURATION_MS - 1, 1..=DURATION_MS)
        .prop_map(|(start, length)| (start, (start + length).min(DURATION_MS)));
    (prop::sample::select(names), start_stop, 100..1500_u32, stack).prop_map(
        |(cca, (start, stop), packet, stack)| {
            format!(
                "[[flows]]\ncca = '{cca}'\npacket = {packet}\nstart = '{start} ms'\nstop = '{stop} ms'\n\
                 stack = {stack}\n"
            )
        },
    )
}

fn any_scenario() -> impl Strategy<Value = Scenario> {
    let samples = prop_oneof![Just("'off'"), Just("'change'"), Just("50")];
    let flows = prop::collection::vec(any_flow(), 1..=6);
    (any_links(), flows, samples, 0..1000_u64).prop_map(|(links, flows, samples, seed)| {
        read(&format!(
            "duration = '{DURATION_MS} ms'\nseed = {seed}\nrepeat = 3\nsamples = {samples}\n{links}{}",
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

/// What came to a link: sent by the flows whose first link it is, and delivered by the links before it. None
/// behind a link where paths part: who got how many is not told.
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
        let least_ms = scenario.rtt_ns(result.flow as usize) as f64 * 1e-6;
        prop_assert!(result.mean_rtt_ms.is_none_or(|rtt| rtt >= least_ms * (1.0 - 1e-9)));
        prop_assert!(result.mean_cwnd_pkts >= 1.0 && result.mean_cwnd_pkts < 1e7, "{result:?}");
    }
    for (index, (link, result)) in scenario.links.iter().zip(&run.links).enumerate() {
        prop_assert!((0.0..=1.0 + 1e-9).contains(&result.utilization), "{result:?}");
        prop_assert!(
            link.buffer_pkts.is_none_or(|pkts| result.max_queue_pkts <= u64::from(pkts)),
            "{result:?}"
        );
        prop_assert!(result.mean_queue_pkts <= result.max_queue_pkts as f64 + 1e-9, "{result:?}");
        prop_assert!(result.mean_queue_pkts >= result.utilization - 1e-9, "{result:?}");
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
    fn a_run_is_the_same_again_and_on_any_number_of_threads(scenario in any_scenario()) {
        let alone = answer_scenario(&scenario);
        let together: Vec<_> = (0..2).into_par_iter().map(|_| answer_scenario(&scenario)).collect();
        prop_assert!(together == [alone.clone(), alone]);
    }

    /// Links where packets never wait are no events. An error rate that never comes true makes them real.
    #[test]
    fn links_where_nothing_waits_are_no_different(scenario in any_scenario()) {
        let mut real = Scenario { samples: Samples::Change, ..scenario };
        let folded = answer_scenario(&real);
        for link in real.links.iter_mut().filter(|link| link.per == 0.0) {
            link.per = f64::MIN_POSITIVE;
        }
        prop_assert!(folded == answer_scenario(&real));
    }
}
