//! Links that vary, police and impair.

use crate::common;
use crate::common::{
    Hook, answer, answer_by_events, answer_on_threads, answer_scenario, read, read_with_trace, times_us,
    watch_scenario,
};
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use proptest::prelude::*;

/// Full packets have 1500 bytes.
fn one_link(keys: &str, cca: &str) -> String {
    format!(
        "duration = '60 s'\n[[chain]]\nbuffer = 'unlimited'\n{keys}\n[[flows]]\ncca = {cca}\n\
         packet = '1434 bytes'\nstack = {{ ack_every = 1, receive_window = 20000 }}\n"
    )
}

const PACED_40_MBPS: &str = "{ name = 'paced', window = 20000, rate = 5000000 }";

#[test]
fn a_trace_delivers_at_its_opportunities() {
    let text = one_link(
        "rate = { trace = 'x' }\ndelay = '10 ms'",
        "{ name = 'overshoot', window = 6, after_loss = 6 }",
    );
    // Six packets wait at 0: two of the opportunities of 5 ms are for two of them, and the trace begins anew at 9 ms.
    let scenario = read_with_trace(&text, "2\n5\n5\n9\n");
    let (_, seen) = watch_scenario(&scenario);
    let back_us = (scenario.flows[0].return_delay_ns + 10_000_000) / 1000;
    let sent_us: Vec<u64> = times_us(&seen, Hook::Acked).iter().take(6).map(|at| at - back_us).collect();
    assert_eq!(sent_us, [2000, 5000, 5000, 9000, 11_000, 14_000]);
}

#[test]
fn a_trace_that_is_not_repeated_delivers_no_more_than_its_opportunities() {
    let text = one_link("rate = { trace = 'x', repeat = false }\ndelay = '10 ms'", "'reno'");
    let scenario = read_with_trace(&text, "2\n5\n5\n900\n");
    let run = answer_scenario(&scenario);
    assert_eq!((run.flows[0].delivered_pkts, run.links[0].delivered_pkts), (4, 4));
    assert!(run == answer_by_events(&scenario));
}

#[test]
fn a_full_packet_alone_takes_one_opportunity() {
    // An opportunity in each 10 ms, and a datagram in each 100 ms that takes 1 ms to the link.
    let on_trace = |bytes: &str| {
        let text = format!(
            "duration = '20 s'\nsamples = 'off'\n[dumbbell]\nrate = {{ trace = 'x'{bytes} }}\ndelay = '5 ms'\nbuffer = 'unlimited'\n\
             access = {{ rate = '12112 kbps' }}\n[[flows]]\ncca = 'udp'\napp_rate = '115.84 kbps'\n"
        );
        let scenario = read_with_trace(&text, "10\n");
        let run = answer_scenario(&scenario);
        assert!(run == answer_by_events(&scenario));
        let link = run.links.into_iter().find(|link| link.link == "bottleneck").unwrap();
        (link.delivered_pkts, link.p95_queue_ms, link.mean_queue_pkts, link.utilization)
    };
    let (delivered, p95_queue_ms, mean_queue_pkts, utilization) = on_trace("");
    assert_eq!((delivered, p95_queue_ms), (200, Some(9.0)));
    assert!((mean_queue_pkts - 0.09).abs() < 1e-9 && (utilization - 0.1).abs() < 1e-9);
    // Half of a packet: the second half goes with the next one, when the packet is no longer in the queue.
    assert_eq!(on_trace(", bytes = 750"), (200, Some(9.0), mean_queue_pkts, 0.2));
}

#[test]
fn the_queue_before_a_trace_never_holds_more_than_at_its_most() {
    let text = one_link("rate = { trace = 'x' }\ndelay = '1 ms'", "'cubic'");
    for bytes in [200, 1434, 1448, 3000] {
        let text = text.replace("'unlimited'", "4").replace("1434", &bytes.to_string());
        let run = answer_scenario(&read_with_trace(&text, "7\n"));
        let link = &run.links[0];
        assert_eq!(link.max_queue_pkts, 4, "{bytes}");
        assert!(link.mean_queue_pkts > 1.0 && link.mean_queue_pkts <= 4.0, "{bytes}: {link:?}");
    }
}

#[test]
fn cubic_over_a_constant_trace_is_cubic_over_the_fixed_link() {
    let keys = |rate: &str| {
        one_link(&format!("rate = {rate}\ndelay = '20 ms'"), "'cubic'").replace("'unlimited'", "100")
    };
    // A packet of 1514 bytes, of which Ethernet has 14, takes the one opportunity of each millisecond.
    let keys = |rate: &str| keys(rate).replace("1434", "1448");
    let traced = read_with_trace(&keys("{ trace = 'x' }"), "1\n");
    let fixed = read(&keys("'12112 kbps'"));
    assert_eq!(traced.links[0].rate_bps, 12_000_000);
    let [traced, fixed] = [traced, fixed].map(|scenario| answer_scenario(&scenario));
    let ratio = traced.flows[0].throughput_mbps / fixed.flows[0].throughput_mbps;
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    assert!(fixed.flows[0].throughput_mbps > 11.6);
    assert!(traced.links[0].utilization > 0.95 && traced.links[0].utilization <= 1.0, "{traced:?}");
}

#[test]
fn steps_of_the_rate_and_an_outage_carry_the_integral_of_the_rate() {
    let keys =
        "rate = { steps = [['0 s', '50 Mbps'], ['20 s', '0 bps'], ['22 s', '5 Mbps']] }\ndelay = '20 ms'";
    let run = answer(&one_link(keys, "{ name = 'fixed', window = 3000 }"));
    // 20 s of 50 Mbps and 38 s of 5 Mbps are 99,166.7 packets; those of the last 20 ms are under way.
    let sent = run.links[0].delivered_pkts as i64;
    assert!((sent - (99_166 - 9)).abs() <= 1, "{sent}");
    assert!(run.links[0].utilization > 0.9999 && run.links[0].utilization <= 1.0);
}

#[test]
fn a_step_of_the_delay_down_reorders_the_packets_under_way() {
    let keys = "rate = '12 Mbps'\ndelay = { steps = [['0 s', '30 ms'], ['10 s', '20 ms']] }";
    let text = one_link(keys, "{ name = 'paced', window = 1000, rate = 750000 }");
    let stepped = read(&text.replace("60 s", "11 s"));
    let steady = read(&text.replace("60 s", "11 s").replace("20 ms", "30 ms"));
    let delivered = |scenario: &Scenario| {
        let mut simulation = common::begin(scenario);
        simulation.advance(10_030_500_000).unwrap();
        simulation.observe().flows[0].delivered_pkts
    };
    // A packet each 1.9 ms: those of the first 10 ms after the step arrive beside those of the last 10 ms before it.
    let more = delivered(&stepped) - delivered(&steady);
    assert!((5..=6).contains(&more), "{more}");
    let run = answer_scenario(&stepped);
    assert!(run == answer_by_events(&stepped));
    assert_eq!(run.flows[0].lost_pkts, 0);
}

/// Packets that jitter holds back leave with the one before them, at one instant, and reach the next link in their order.
#[test]
fn jitter_that_keeps_the_order_keeps_it_over_the_links_behind_it() {
    for rest in ["", "[[chain]]\nrate = '400 Mbps'\ndelay = '1 ms'\nbuffer = 5000\n"] {
        let run = answer(&format!(
            "duration = '2 s'\nsamples = 'off'\n\
             [[chain]]\nrate = '203 Mbps'\ndelay = '13.5 ms'\nbuffer = 5000\njitter = {{ uniform = '2.6 ms' }}\n{rest}\
             [[flows]]\ncca = 'reno'\nstack = {{ receive_window = 1000 }}\n[[flows]]\ncca = 'reno'\nstack = {{ receive_window = 500 }}"
        ));
        let again: Vec<_> = run.flows.iter().map(|flow| flow.retransmitted_pkts).collect();
        assert_eq!(again, [0, 0]);
    }
}

#[test]
fn a_policer_passes_its_rate_and_its_burst() {
    let keys = "rate = '1 Gbps'\ndelay = '20 ms'\npolicer = { rate = '10 Mbps', burst = '150000 bytes' }";
    let scenario = read(&one_link(keys, PACED_40_MBPS));
    let run = answer_scenario(&scenario);
    let passed_mbps = run.links[0].delivered_pkts as f64 * 12_000.0 / 60e6;
    assert!((passed_mbps - 10.0 - 100.0 * 12_000.0 / 60e6).abs() < 0.005, "{passed_mbps}");
}

const DURATION_MS: u64 = 3300;
/// Flows have stopped by then.
const LAST_STOP_MS: u64 = 1500;
/// If no link holds a packet from then on, none is on its way at the end: no packet is between two ends for longer.
const QUIET_MS: u64 = 2400;

pub fn any_rate() -> impl Strategy<Value = String> {
    let steps = prop::collection::vec((1..900_u64, prop_oneof![1 => Just(0), 4 => 100..20_000_u64]), 1..6);
    let steps = (steps, 200..20_000_u64).prop_map(|(steps, last_kbps)| {
        let mut from_ms = 0;
        let mut text = String::new();
        for (ms, kbps) in steps {
            text += &format!("['{from_ms} ms', '{kbps} kbps'], ");
            from_ms += ms;
        }
        format!("{{ steps = [{text}['{from_ms} ms', '{last_kbps} kbps']] }}")
    });
    // The name of a trace is its lines.
    let gaps = prop::collection::vec(prop_oneof![3 => Just(0_u64), 6 => 1..4_u64, 1 => 50..300_u64], 1..40);
    let trace =
        (gaps, 300..4000_u32, 0..200_u64, any::<bool>()).prop_map(|(gaps, bytes, offset_ms, repeat)| {
            let at = gaps.iter().chain([&201]).scan(0, |at, gap| {
                *at += gap;
                Some(at.to_string())
            });
            let lines = at.collect::<Vec<_>>().join(",");
            format!("{{ trace = '{lines}', bytes = {bytes}, offset = '{offset_ms} ms', repeat = {repeat} }}")
        });
    prop_oneof![2 => (200..20_000_u64).prop_map(|kbps| format!("'{kbps} kbps'")), 2 => steps, 2 => trace]
}

/// Packets by number and by time, that overlap or not.
fn any_packets() -> impl Strategy<Value = String> {
    let number = (1..400_u64, 0..6_u64).prop_map(|(first, more)| match more {
        0 => first.to_string(),
        _ => format!("[{first}, {}]", first + more),
    });
    let span = (0..1_900_000_u64, 1..60_000_u64)
        .prop_map(|(from_us, us)| format!("['{from_us} us', '{} us']", from_us + us));
    prop::collection::vec(prop_oneof![3 => number, 1 => span], 1..6)
        .prop_map(|all| format!("[{}]", all.join(", ")))
}

/// A link that has some of what there is.
pub fn any_link() -> impl Strategy<Value = String> {
    let share = || prop_oneof![2 => Just(0.0), 1 => 0.0..0.05_f64];
    let loss = prop_oneof![
        3 => Just(String::new()),
        1 => (0.0..0.03).prop_map(|share| format!("loss = {share}\n")),
        1 => (0.0..0.02, 0.05..1.0, 0.0..0.005, 0.0..0.9).prop_map(|(p, r, good, bad)| {
            format!("loss = {{ model = 'gilbert-elliott', p = {p}, r = {r}, good = {good}, bad = {bad} }}\n")
        }),
    ];
    let jitter = prop_oneof![
        2 => Just(String::new()),
        1 => (0..100_u64, any::<bool>()).prop_map(|(part, reorder)| {
            format!("jitter = {{ uniform = 'PART{part} us', reorder = {reorder} }}\n")
        }),
        1 => (0..33_u64, any::<bool>()).prop_map(|(part, reorder)| {
            format!("jitter = {{ std = 'PART{part} us', reorder = {reorder} }}\n")
        }),
    ];
    let given = prop_oneof![
        3 => Just(String::new()),
        1 => (any_packets(), prop::sample::select(vec!["losses", "marks"]))
            .prop_map(|(packets, key)| format!("{key} = {packets}\n")),
        1 => (any_packets(), any_packets()).prop_map(|(lost, marked)| format!("losses = {lost}\nmarks = {marked}\n")),
    ];
    let policer = prop_oneof![
        3 => Just(String::new()),
        1 => (200..10_000_u64, 2_000..60_000_u64, any::<bool>()).prop_map(|(kbps, bytes, mark)| {
            format!("policer = {{ rate = '{kbps} kbps', burst = '{bytes} bytes', mark = {mark} }}\n")
        }),
    ];
    let buffer =
        prop_oneof![3 => (1..60_u32).prop_map(|pkts| pkts.to_string()), 1 => Just("'unlimited'".to_owned())];
    let buffer =
        prop_oneof![4 => buffer, 1 => (1600..60_000_u32).prop_map(|bytes| format!("'{bytes} bytes'"))];
    let queue = prop_oneof![
        3 => Just("'droptail'".to_owned()),
        3 => (prop::sample::select(vec!["codel", "fq-codel", "pie", "dualpi2"]), any::<bool>()).prop_map(
            |(name, ecn)| match name {
                "dualpi2" => "'dualpi2'".to_owned(),
                _ => format!("{{ discipline = '{name}', ecn = {ecn} }}"),
            }
        ),
        1 => (2..20_u32, any::<bool>(), any::<bool>()).prop_map(|(min, gentle, ecn)| {
            let max = 3 * min;
            format!("{{ discipline = 'red', min = {min}, max = {max}, gentle = {gentle}, ecn = {ecn} }}")
        }),
    ];
    let delays_us = prop::collection::vec(1..30_000_u64, 1..4);
    (any_rate(), delays_us, (buffer, queue), (loss, given), jitter, policer, share(), share()).prop_map(
        |(rate, delays_us, (buffer, queue), (loss, given), jitter, policer, reorder, duplicate)| {
            let steps = (0..).zip(&delays_us).map(|(k, delay_us)| format!("['{} ms', '{delay_us} us']", 400 * k));
            let delay = match delays_us.as_slice() {
                [delay_us] => format!("'{delay_us} us'"),
                _ => format!("{{ steps = [{}] }}", steps.collect::<Vec<_>>().join(", ")),
            };
            // Of the least delay, in hundredths.
            let least_us = delays_us.iter().min().unwrap();
            let jitter = match jitter.split_once("PART") {
                Some((before, rest)) => {
                    let (part, after) = rest.split_once(' ').unwrap();
                    format!("{before}{} {after}", part.parse::<u64>().unwrap() * least_us / 100)
                }
                None => jitter,
            };
            format!(
                "rate = {rate}\ndelay = {delay}\nbuffer = {buffer}\nqueue = {queue}\nreorder = {reorder}\nduplicate = {duplicate}\n\
                 {loss}{given}{jitter}{policer}"
            )
        },
    )
}

/// With links on the way back, too: the last of the links.
fn any_scenario() -> impl Strategy<Value = Scenario> {
    let cca = prop::sample::select(vec!["reno", "cubic", "bbr", "vegas", "illinois", "tahoe", "newreno"]);
    let traffic = prop_oneof![
        4 => Just(String::new()),
        1 => (1..200_u32).prop_map(|kb| format!("size = '{kb} KB'\n")),
        1 => (1..20_u32, 1..50_u32).prop_map(|(kb, think_ms)| {
            format!("size = '{kb} KB'\nrequests = {{ count = 1000, think = '{think_ms} ms' }}\n")
        }),
        1 => (1..100_u32).prop_map(|rate| {
            format!("size = {{ distribution = 'exponential', mean = '10 KB' }}\n\
                     arrivals = {{ process = 'poisson', rate = {rate} }}\n")
        }),
        1 => (1..200_u32).prop_map(|ms| {
            format!("app_rate = '2 Mbps'\non = {{ mean = '{ms} ms' }}\noff = {{ mean = '20 ms' }}\n")
        }),
        1 => (1..60_u32).prop_map(|rate| format!("app_rate = '2 Mbps'\nframe_rate = {rate}\n")),
    ];
    let ecn = prop::sample::select(vec!["off", "classic", "accurate", "l4s"]);
    let flow = (cca, 0..500_u64, 500..=LAST_STOP_MS, 100..1500_u32, 1..=2_u32, ecn, traffic).prop_map(
        |(cca, start, stop, packet, ack_every, ecn, traffic)| {
            format!(
                "[[flows]]\ncca = '{cca}'\nstart = '{start} ms'\nstop = '{} ms'\npacket = {packet}\n{traffic}\
                 stack = {{ ack_every = {ack_every}, ecn = '{ecn}', receive_window = 500 }}\n",
                stop.max(start + 1)
            )
        },
    );
    let datagrams = (0..500_u64, 500..=LAST_STOP_MS, 100..1500_u32, 10..3000_u32).prop_map(
        |(start, stop, packet, kbps)| {
            format!(
                "[[flows]]\ncca = 'udp'\nstart = '{start} ms'\nstop = '{} ms'\npacket = {packet}\n\
                 app_rate = '{kbps} kbps'\n",
                stop.max(start + 1)
            )
        },
    );
    let flow = prop_oneof![6 => flow, 1 => datagrams];
    let links = prop::collection::vec(any_link(), 1..=4);
    (links, prop::collection::vec(flow, 1..=4), 0..1000_u64, any::<bool>()).prop_map(
        |(links, flows, seed, back)| {
            let count = links.len();
            let links: String = links.iter().map(|link| format!("[[chain]]\n{link}")).collect();
            let text = format!(
                "duration = '{DURATION_MS} ms'\nseed = {seed}\nsamples = 50\n{links}{}",
                flows.concat()
            );
            let files = |name: &str| Ok(name.replace(',', "\n"));
            let mut scenario = Scenario::from_toml_with_files(&text, "test.toml", &[], &files)
                .unwrap_or_else(|error| panic!("{error}\n{text}"));
            if back && count > 1 {
                for flow in &mut scenario.flows {
                    flow.path.pop();
                    flow.reverse_path = vec![count as u32 - 1];
                    flow.return_delay_ns = 1_000_000;
                }
            }
            scenario.check().unwrap();
            scenario
        },
    )
}

/// Returns true if no packet is on its way at the end.
fn ends_quietly(run: &Run) -> bool {
    let samples = &run.link_samples;
    let held = samples.time_s.iter().zip(&samples.queue_pkts);
    held.filter(|(time_s, _)| **time_s * 1e3 >= QUIET_MS as f64).all(|(_, queue_pkts)| *queue_pkts == 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_sent_and_duplicated_arrive_or_are_lost_or_under_way(scenario in any_scenario()) {
        let mut simulation = common::begin(&scenario);
        simulation.advance(scenario.duration_ns).unwrap();
        let end = simulation.observe();
        let run = simulation.finish().unwrap();
        let quiet = ends_quietly(&run);
        let mut came: u64 = run.flows.iter().map(|flow| flow.sent_pkts).sum();
        let last = scenario.flows[0].path.len();
        let duplicated = |link: usize| end.links[link].wire.map_or(0, |wire| wire.duplicated);
        for (place, (result, link)) in run.links.iter().zip(&scenario.links).enumerate() {
            if place == last {
                // The way back.
                came = end.flows.iter().flat_map(|flow| flow.acks).map(|acks| acks.sent).sum();
            }
            let gone = result.delivered_pkts + result.dropped_pkts + result.error_pkts;
            let inside = (came + duplicated(place)).checked_sub(gone);
            prop_assert!(inside.is_some_and(|inside| !quiet || inside == 0), "{came} came: {result:?}");
            prop_assert!((0.0..=1.0 + 1e-9).contains(&result.utilization), "{result:?}");
            prop_assert!(result.mean_queue_pkts <= result.max_queue_pkts as f64 + 1e-9, "{result:?}");
            // A discipline does not count the packet that is being sent.
            let sending = u64::from(link.queue.is_some());
            prop_assert!(link.buffer_pkts.is_none_or(|pkts| result.max_queue_pkts <= u64::from(pkts) + sending));
            came = result.delivered_pkts;
        }
        let total = |count: fn(&cwnd_results::FlowResult) -> u64| run.flows.iter().map(count).sum::<u64>();
        let lost: u64 = run.links[..last].iter().map(|link| link.dropped_pkts + link.error_pkts).sum();
        prop_assert_eq!(lost, total(|flow| flow.lost_pkts));
        prop_assert_eq!(run.links[last - 1].delivered_pkts, total(|flow| flow.delivered_pkts));
        for acks in end.flows.iter().flat_map(|flow| flow.acks) {
            let inside = (acks.sent + acks.duplicated).checked_sub(acks.arrived + acks.lost);
            prop_assert!(inside.is_some_and(|inside| !quiet || inside == 0), "{acks:?}");
        }
    }

    #[test]
    fn going_through_long_spans_gives_what_going_from_event_to_event_gives(scenario in any_scenario()) {
        // As text: transfers that did not finish have no number.
        let text = |run: Run| format!("{run:#?}");
        let (one, other) = (text(answer_scenario(&scenario)), text(answer_by_events(&scenario)));
        let differ = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        prop_assert_eq!(differ, None);
    }

    #[test]
    fn a_run_is_the_same_on_any_number_of_threads(
        scenario in any_scenario(),
        threads in prop::sample::select(vec![2, 3, 7]),
    ) {
        let text = |run: Run| format!("{run:#?}");
        let (one, other) = (text(answer_scenario(&scenario)), text(answer_on_threads(&scenario, threads)));
        let differ = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        prop_assert_eq!(differ, None);
    }
}
