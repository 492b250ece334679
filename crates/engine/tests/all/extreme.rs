//! Invariants at the ends of what a scenario may ask for: 1 bps and 100 Tbps, a byte and 65 kB, no delay and an hour, each
//! packet lost and none. Packets neither vanish nor multiply, no link carries more than its rate, and every number is what
//! its name says.

#![allow(clippy::disallowed_methods, reason = "nothing here is compared to the last bit")]

use crate::common::{Hook, answer, answer_scenario, watch};
use cwnd_algorithms::{Ack, CongestionControl, RTT_MAX_US, Window};
use cwnd_engine::{Control, Unfinished, run};
use cwnd_results::{Metrics, Run};
use cwnd_scenario::{Cca, Clock, Handshake, Scenario};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A number of any size up to `10^digits`.
fn any_size(digits: u32) -> impl Strategy<Value = u64> {
    let few = prop::sample::select(vec![1, 10_u64.pow(digits)]);
    prop_oneof![5 => (0.0..f64::from(digits)).prop_map(|power| 10_f64.powf(power) as u64), 1 => few]
}

fn any_rate_bps() -> impl Strategy<Value = u64> {
    let usual =
        prop::sample::select(vec![1_000_000, 622_000_000, 10_000_000_000, 100_000_000_000, 400_000_000_000]);
    prop_oneof![4 => any_size(14), 2 => usual]
}

fn any_link() -> impl Strategy<Value = (u64, String)> {
    let delay_ns =
        prop_oneof![1 => Just(0), 4 => any_size(9), 1 => any_size(12), 1 => Just(3_600_000_000_000)];
    let buffer = prop_oneof![
        2 => Just("'unlimited'".to_owned()),
        3 => (1..100_u32).prop_map(|pkts| pkts.to_string()),
        1 => Just("2147483647".to_owned()),
    ];
    let per = prop_oneof![4 => Just(0.0), 1 => 0.0..1.0, 1 => Just(0.999_999_999_999)];
    (any_rate_bps(), delay_ns, buffer, per).prop_map(|(rate_bps, delay_ns, buffer, per)| {
        (
            rate_bps,
            format!("rate = '{rate_bps} bps'\ndelay = '{delay_ns} ns'\nbuffer = {buffer}\nper = {per}\n"),
        )
    })
}

/// The slowest rate, and the links.
fn any_links() -> impl Strategy<Value = (u64, String)> {
    let dumbbell = (any_link(), prop::option::of(any_link()), any::<bool>()).prop_map(
        |((rate, shared), access, exit)| {
            let Some((access_rate, keys)) = access else {
                return (rate, format!("[dumbbell]\n{shared}exit = {exit}\n"));
            };
            let keys: Vec<&str> = keys.lines().take(3).collect();
            let access = format!("access = {{ {} }}\n", keys.join(", "));
            (rate.min(access_rate), format!("[dumbbell]\n{shared}exit = {exit}\n{access}"))
        },
    );
    let chain = prop::collection::vec(any_link(), 1..=4).prop_map(|links| {
        let rate = links.iter().map(|(rate, _)| *rate).min();
        (
            rate.expect("there is one"),
            links.into_iter().map(|(_, keys)| format!("[[chain]]\n{keys}")).collect(),
        )
    });
    prop_oneof![dumbbell, chain]
}

fn any_flows() -> impl Strategy<Value = (u64, String)> {
    let ccas = ["reno", "cubic", "scalable", "vegas", "newreno", "bbr"];
    let bytes = prop_oneof![1 => Just(1), 3 => 1..65_000_u32, 3 => Just(1448), 1 => Just(65_000)];
    let count = prop_oneof![4 => 1..4_u32, 1 => 40..100_u32];
    let stack =
        (prop::sample::select(vec!["linux", "ns2"]), 1..=1000_u32, 1..=1000_u32, 1..=1000_u32, any::<bool>());
    let stack = stack.prop_map(|(profile, window, header, ack, usual)| {
        let sizes = format!(", initial_window = {window}, header = {header}, ack = {ack}");
        format!("{{ profile = '{profile}'{} }}", if usual { "" } else { &sizes })
    });
    (prop::sample::select(ccas.to_vec()), bytes, count, stack).prop_map(|(cca, bytes, count, stack)| {
        let flows = format!("[[flows]]\ncca = '{cca}'\npacket = {bytes}\ncount = {count}\nstack = {stack}\n");
        (u64::from(bytes), flows)
    })
}

/// So long that its slowest link sends some thousand packets.
fn any_text() -> impl Strategy<Value = String> {
    let pkts = 1..1000_u64;
    let clock = prop::sample::select(vec!["nanoseconds", "nanoseconds", "ns2"]);
    let samples = prop::sample::select(vec!["'off'", "'change'", "7"]);
    (any_links(), prop::collection::vec(any_flows(), 1..=2), pkts, clock, samples).prop_map(
        |((rate_bps, links), flows, pkts, clock, samples)| {
            let bytes = flows.iter().map(|(bytes, _)| bytes + 60).min().expect("there is one");
            let duration_ns = u128::from(pkts * bytes) * 8_000_000_000 / u128::from(rate_bps);
            let duration_ns = duration_ns.clamp(10_000, 86_400_000_000_000);
            let flows: String = flows.into_iter().map(|(_, flows)| flows).collect();
            format!("duration = '{duration_ns} ns'\nclock = '{clock}'\nsamples = {samples}\n{links}{flows}")
        },
    )
}

fn check(scenario: &Scenario, run: &Run) -> Result<(), TestCaseError> {
    let ns2 = scenario.clock == Clock::Ns2;
    // ns-2's doubles are exact to a thousandth of a packet, and an arrival is at the nearest nanosecond.
    let (share, more_ns) = if ns2 { (1.001, 1.0) } else { (1.0 + 1e-12, 0.0) };
    for (flow, result) in scenario.flows.iter().zip(&run.flows) {
        prop_assert!(result.sent_pkts >= result.delivered_pkts + result.lost_pkts, "{result:?}");
        prop_assert!(result.retransmitted_pkts <= result.sent_pkts, "{result:?}");
        prop_assert!((0.0..=1.0).contains(&result.loss_ratio), "{result:?}");
        let rate_bps = scenario.bottleneck(result.flow as usize).rate_bps as f64;
        let span_ns = (flow.stop_ns - flow.start_ns) as f64;
        // A SYN counts as a packet.
        let syn_bytes = if flow.stack.handshake == Handshake::Off { 0 } else { flow.packet_bytes() };
        let most_bits = (rate_bps * (span_ns + more_ns) * 1e-9) * share + 8.0 * f64::from(syn_bytes);
        prop_assert!(result.throughput_mbps * span_ns * 1e-3 <= most_bits * (1.0 + 1e-12), "{result:?}");
        let payload = f64::from(flow.payload_bytes) / f64::from(flow.packet_bytes());
        prop_assert!(result.goodput_mbps <= result.throughput_mbps * payload * (1.0 + 1e-12), "{result:?}");
        prop_assert!((1.0..2_147_483_648.0).contains(&result.mean_cwnd_pkts), "{result:?}");
        // Timestamps show an RTT of a millisecond at least.
        let times_ms = 0.0..=scenario.duration_ns as f64 * 1e-6 + 1.0;
        prop_assert_eq!(result.mean_rtt_ms.is_some(), result.p95_rtt_ms.is_some());
        prop_assert!(result.mean_rtt_ms.is_none_or(|rtt| times_ms.contains(&rtt)), "{result:?}");
        prop_assert!(result.p95_rtt_ms.is_none_or(|rtt| times_ms.contains(&rtt)), "{result:?}");
    }
    for (index, (link, result)) in (0..).zip(scenario.links.iter().zip(&run.links)) {
        prop_assert!((0.0..=1.0).contains(&result.utilization), "{result:?}");
        let most_pkts = link.buffer_pkts.map_or(u64::MAX, u64::from);
        prop_assert!(result.max_queue_pkts <= most_pkts, "{result:?}");
        prop_assert!(result.mean_queue_pkts >= 0.0, "{result:?}");
        prop_assert!(result.mean_queue_pkts <= result.max_queue_pkts as f64 * (1.0 + 1e-9), "{result:?}");
        let flows: Vec<_> = scenario.flows.iter().filter(|flow| flow.path.contains(&index)).collect();
        let syns = flows.iter().filter(|flow| flow.stack.handshake != Handshake::Off).count() as u64;
        let least_bytes = flows.iter().map(|flow| flow.packet_bytes()).min().expect("every link has a flow");
        let data_pkts = (result.delivered_pkts + result.error_pkts).saturating_sub(syns);
        // Where a slower link sets the pace of the only flow, a burst may be shorter by a thousandth.
        let slower = |link_too: &u32| scenario.links[*link_too as usize].rate_bps < link.rate_bps;
        let share = if flows.len() == 1 && flows[0].path.iter().any(slower) { 1.001 } else { share };
        let most_bits = link.rate_bps as f64 * (scenario.duration_ns as f64 + more_ns) * 1e-9 * share;
        // Those lost on the wire need not have been sent by then.
        if link.per == 0.0 {
            prop_assert!(data_pkts as f64 * 8.0 * f64::from(least_bytes) <= most_bits, "{result:?}");
        }
    }
    let lost: u64 = run.links.iter().map(|link| link.dropped_pkts + link.error_pkts).sum();
    prop_assert_eq!(lost, run.flows.iter().map(|flow| flow.lost_pkts).sum::<u64>());
    let metrics = Metrics::of(scenario, &run.flows, &run.links);
    let shares = [metrics.loss_ratio, metrics.jain_fairness, metrics.rtt_fairness, metrics.utilization];
    prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{metrics:?}");
    prop_assert!(metrics.jain_fairness > 0.0 && metrics.rtt_fairness > 0.0, "{metrics:?}");
    let rates = [metrics.throughput_mbps, metrics.goodput_mbps];
    prop_assert!(rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0), "{metrics:?}");
    // Where no flow has a round trip, there is no mean of them.
    let any_rtt = run.flows.iter().any(|flow| flow.mean_rtt_ms.is_some() && flow.throughput_mbps > 0.0);
    prop_assert_eq!(any_rtt, metrics.mean_rtt_ms.is_finite(), "{:?}", metrics);
    prop_assert!(!any_rtt || metrics.mean_rtt_ms >= 0.0, "{metrics:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "slow"]
    fn no_extreme_scenario_breaks_conservation_or_capacity(text in any_text()) {
        match Scenario::from_toml(&text, "test.toml", &[]) {
            Ok(scenario) => check(&scenario, &answer_scenario(&scenario))?,
            // In doubles of seconds the shortest packets take no time.
            Err(error) => prop_assert!(error.to_string().starts_with("test.toml:2: clock: "), "{error}\n{text}"),
        }
    }
}

/// `cc.h` allows RTTs below 2^31 us. ns-2's sender rounds its RTTs down, Linux's to the nearest microsecond.
#[test]
fn of_an_rtt_of_two_hours_algorithms_see_the_longest_that_there_is() {
    for profile in ["linux", "ns2"] {
        let (_, seen) = watch(&format!(
            "duration = '1440 min'\nsamples = 'off'\n[[chain]]\nrate = '1 Mbps'\ndelay = '60 min'\nbuffer = 1000\n\
             [[flows]]\ncca = 'reno'\nstack = '{profile}'\n"
        ));
        let rtts = seen.iter().filter(|seen| seen.hook == Hook::Acked).map(|seen| seen.ack);
        let rtts: Vec<_> = rtts.map(|ack| [ack.rtt_us, ack.srtt_us, ack.min_rtt_us]).collect();
        assert!(!rtts.is_empty(), "{profile}");
        assert!(rtts.iter().all(|rtts| *rtts == [RTT_MAX_US; 3]), "{profile}: {rtts:?}");
    }
}

fn one_flow(rate: &str, more: &str) -> Scenario {
    let text = format!(
        "duration = '10 ms'\nsamples = 'off'\n[[chain]]\nrate = '{rate}'\ndelay = '1 us'\nbuffer = 10000\n\
         [[flows]]\ncca = 'reno'\n{more}"
    );
    Scenario::from_toml(&text, "test.toml", &[]).unwrap()
}

#[test]
fn a_link_carries_its_rate_and_no_more_where_a_packet_takes_no_whole_number_of_nanoseconds() {
    // 1514 bytes take 1211.2, 121.12, 30.28 and 1.2112 ns.
    for (rate, rate_mbps) in [("10 Gbps", 1e4), ("100 Gbps", 1e5), ("400 Gbps", 4e5), ("10 Tbps", 1e7)] {
        let run = answer_scenario(&one_flow(rate, ""));
        let share = run.flows[0].throughput_mbps / rate_mbps;
        assert!(share <= 1.0 && share > 0.99, "{rate}: {share}");
        assert!(
            run.links[0].utilization <= 1.0 && run.links[0].utilization >= share,
            "{rate}: {:?}",
            run.links
        );
    }
}

#[test]
fn a_backlog_of_centuries_stays_in_the_queue() {
    // 45,000 packets of 520,528 s each: 740 years. A flow sends again every hour.
    let rto = "{ initial_window = 900, initial_rto = '60 min', min_rto = '60 min', max_rto = '60 min' }";
    for clock in ["nanoseconds", "ns2"] {
        let run = answer(&format!(
            "duration = '14400 min'\nsamples = 'off'\nclock = '{clock}'\n\
             [[chain]]\nrate = '1 bps'\ndelay = '0 s'\nbuffer = 'unlimited'\n\
             [[flows]]\ncca = 'reno'\npacket = 65000\ncount = 50\nstack = {rto}\n"
        ));
        let link = &run.links[0];
        assert_eq!((link.delivered_pkts, link.dropped_pkts, link.utilization), (1, 0, 1.0), "{clock}");
        let sent: u64 = run.flows.iter().map(|flow| flow.sent_pkts).sum();
        assert_eq!(link.max_queue_pkts, sent - 1, "{clock}");
        assert!((40_000.0..link.max_queue_pkts as f64).contains(&link.mean_queue_pkts), "{clock}: {link:?}");
    }
}

/// Begins with a window that no memory holds, and stops the run if it has a control.
struct Flood(Option<Arc<Control>>);

impl CongestionControl for Flood {
    fn init(&mut self, window: &mut Window, _: &Ack) {
        window.cwnd = (1 << 31) - 1;
        if let Some(control) = &self.0 {
            control.stop.store(true, Relaxed);
        }
    }
    fn cong_avoid(&mut self, _: &mut Window, _: &Ack) {}
    fn ssthresh(&mut self, window: &mut Window, _: &Ack) -> u32 {
        window.cwnd
    }
}

fn flood(links: &str, stops: bool) -> Result<Run, Unfinished> {
    let text =
        format!("duration = '10 s'\n{links}\n[[flows]]\ncca = 'flood'\nstack.receive_window = 100000000\n");
    let scenario = Scenario::from_toml(&text, "test.toml", &["flood"]).unwrap();
    let control = Arc::new(Control::default());
    let custom = |_: &Cca| -> Option<Box<dyn CongestionControl>> {
        Some(Box::new(Flood(stops.then(|| Arc::clone(&control)))))
    };
    run(&scenario, 1, &custom, &control)
}

const CHAIN: &str = "[[chain]]\nrate = '1 Gbps'\ndelay = '10 ms'\nbuffer = 'unlimited'\n";
const DUMBBELL: &str = "[dumbbell]\nrate = '1 Gbps'\ndelay = '10 ms'\nbuffer = 'unlimited'\n";

#[test]
fn more_packets_than_memory_should_hold_end_the_run_with_an_error() {
    let error = flood(CHAIN, false).expect_err("there are too many");
    assert!(matches!(error, Unfinished::Crowded { at_ns, .. } if at_ns < 1_000_000_000), "{error:?}");
    let line = error.to_string();
    assert!(line.contains("receive_window") && !line.contains('\n'), "{line}");
}

#[test]
fn a_run_is_stopped_in_the_midst_of_a_burst() {
    // Were it only after the burst, there would be too many packets.
    for links in [CHAIN, DUMBBELL] {
        assert_eq!(flood(links, true), Err(Unfinished::Stopped));
    }
}
