//! Resolves a text: defaults, units, profiles, wiring.

use cwnd_scenario::{Ecn, Flow, Handshake, Recovery, Samples, Scenario};
use std::sync::Arc;

const LINKS: &str = "[dumbbell]\nrate = '1 Gbps'\ndelay = '100 ms'\nbuffer = 100\n";

fn read(text: &str) -> Scenario {
    Scenario::from_toml(text, "some/where/test.toml", &[]).unwrap()
}

/// A dumbbell of 1 Gbps, 100 ms, 100 packets, after `head`, with `flows`.
fn dumbbell(head: &str, flows: &str) -> Scenario {
    read(&format!("{head}\n{LINKS}\n{flows}"))
}

fn one_flow(head: &str, keys: &str) -> Flow {
    dumbbell(head, &format!("[[flows]]\ncca = 'reno'\n{keys}")).flows.remove(0)
}

#[test]
fn what_is_left_out_has_the_documented_default() {
    let s = dumbbell("", "[[flows]]\ncca = 'reno'");
    assert_eq!((s.name.as_str(), s.duration_ns, s.seed, s.repeat), ("test", 100_000_000_000, 1, 1));
    assert_eq!(s.samples, Samples::Interval { interval_ns: 100_000_000 });
    assert_eq!(
        s.links.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(),
        ["access-0", "bottleneck", "exit-0"]
    );
    for edge in [&s.links[0], &s.links[2]] {
        assert_eq!(
            (edge.rate_bps, edge.delay_ns, edge.buffer_pkts, edge.per),
            (10_000_000_000, 0, None, 0.0)
        );
    }
    let flow = &s.flows[0];
    assert_eq!((flow.start_ns, flow.stop_ns), (0, 100_000_000_000));
    assert_eq!((flow.payload_bytes, flow.packet_bytes(), flow.stack.profile.as_str()), (1448, 1514, "linux"));
}

#[test]
fn a_number_may_have_a_name_and_a_later_value_takes_its_place() {
    let flow = |cca: &str| dumbbell("", &format!("[[flows]]\ncca = {cca}")).flows.remove(0);
    let lambda_max = |flow: &Flow| {
        let (name, value) = &flow.cca.params[1];
        assert_eq!(name, "lambda_max");
        value.clone()
    };
    let mut auto = flow("{ name = 'agile-sd', lambda_max = 'auto' }");
    assert_eq!(lambda_max(&auto), "auto");
    assert_eq!(lambda_max(&flow("'agile-sd'")), "3");
    Arc::make_mut(&mut auto.cca).set("lambda_max", "7.25", false).unwrap();
    assert_eq!(auto.cca, flow("{ name = 'agile-sd', lambda_max = 7.25 }").cca);
    Arc::make_mut(&mut auto.cca).set("lambda_max", "auto", false).unwrap();
    assert_eq!(auto.cca, flow("{ name = 'agile-sd', lambda_max = 'auto' }").cca);
    let refused = Arc::make_mut(&mut auto.cca).set("lambda_max", "0", false).unwrap_err().to_string();
    assert_eq!(refused, "'lambda_max' cannot be '0'; accepted: 1 to 1000, or auto");
    Arc::make_mut(&mut auto.cca).set("anything", "goes", true).unwrap();
    assert_eq!(auto.cca.params.last(), Some(&("anything".to_owned(), "goes".to_owned())));
}

#[test]
fn times_are_exact_in_nanoseconds() {
    let times = [
        ("0.1 ms", 100_000),
        ("1 ns", 1),
        ("1.5 us", 1_500),
        ("0.3 s", 300_000_000),
        ("1.1s", 1_100_000_000),
        ("  2   min ", 120_000_000_000),
        ("1e-3 s", 1_000_000),
        ("1E3 us", 1_000_000),
        ("+5 ms", 5_000_000),
        ("0.123456789 s", 123_456_789),
        ("1234.5678901 s", 1_234_567_890_100),
        ("0.4 ns", 0),
        ("0.5 ns", 1),
        (".5 s", 500_000_000),
        ("0.00000000000000000000000000000000000000000000000001 s", 0),
        ("0.1000000000000000000000000000000000000000000000000 s", 100_000_000),
        ("-0 s", 0),
    ];
    for (text, ns) in times {
        let s = read(&format!("{}[[flows]]\ncca = 'reno'", LINKS.replace("100 ms", text)));
        assert_eq!(s.links[1].delay_ns, ns, "{text}");
    }
}

#[test]
fn rates_are_exact_in_bits_per_second() {
    let rates = [
        ("1 bps", 1),
        ("56 kbps", 56_000),
        ("1.5 Gbps", 1_500_000_000),
        ("0.1Mbps", 100_000),
        ("100 Tbps", 100_000_000_000_000),
        ("1e9 bps", 1_000_000_000),
        ("2.488320 Gbps", 2_488_320_000),
        ("10gbit", 10_000_000_000),
        ("10G", 10_000_000_000),
        ("900 mbit", 900_000_000),
        ("1.5 Gbit/s", 1_500_000_000),
        ("64Kbps", 64_000),
        ("100Mb/s", 100_000_000),
        ("5 bits/s", 5),
    ];
    for (text, bps) in rates {
        let s = read(&format!("{}[[flows]]\ncca = 'reno'", LINKS.replace("1 Gbps", text)));
        assert_eq!(s.links[1].rate_bps, bps, "{text}");
        assert_eq!(s.links[0].rate_bps, 10 * bps, "{text}");
    }
}

#[test]
fn losses_are_shares_or_percentages() {
    for (text, share) in [("per = 0.02", 0.02), ("per = '2%'", 0.02), ("loss = '0.01 %'", 1e-4)] {
        let s = read(&format!("{LINKS}{text}\n[[flows]]\ncca = 'reno'"));
        assert_eq!(s.links[1].per, share, "{text}");
    }
}

#[test]
fn a_buffer_is_packets_bdps_or_unlimited() {
    // 1 Gbps * 200 ms = 25 MB = 23809.5 packets of 1050 bytes.
    let buffers = [
        ("6400", Some(6400)),
        ("'6400'", Some(6400)),
        ("'6400 packets'", Some(6400)),
        ("'1 packet'", Some(1)),
        ("'7pkts'", Some(7)),
        ("0x10", Some(16)),
        ("1_000", Some(1000)),
        ("2147483647", Some(2_147_483_647)),
        ("'1 BDP'", Some(23_810)),
        ("'2 BDP'", Some(47_619)),
        ("'0.5BDP'", Some(11_905)),
        ("'unlimited'", None),
    ];
    for (text, pkts) in buffers {
        let links = LINKS.replace("100\n", &format!("{text}\n"));
        let s = read(&format!("stack = 'ns2'\n{links}[[flows]]\ncca = 'reno'"));
        assert_eq!(s.links[1].buffer_pkts, pkts, "{text}");
    }
}

#[test]
fn a_bdp_takes_the_rate_of_its_own_link_and_the_path_of_the_first_flow() {
    let links =
        LINKS.replace("100\n", "'1 BDP'\naccess = { rate = '2 Gbps', delay = '9 ms', buffer = '1 BDP' }\n");
    let flows = "[[flows]]\ncca = 'reno'\naccess_delay = '1 ms'\n[[flows]]\ncca = 'reno'";
    let s = read(&format!("stack = 'ns2'\n{links}{flows}"));
    // 1 Gbps * 204 ms / 1050 bytes = 24285.7, and twice that.
    let buffers: Vec<_> = s.links.iter().map(|l| l.buffer_pkts.unwrap()).collect();
    assert_eq!(buffers, [48_571, 48_571, 24_286, 48_571, 48_571]);
}

#[test]
fn samples_are_a_number_of_intervals_an_interval_changes_or_nothing() {
    let choices = [
        ("200", Samples::Interval { interval_ns: 500_000_000 }),
        ("3", Samples::Interval { interval_ns: 33_333_333_333 }),
        ("'100 ms'", Samples::Interval { interval_ns: 100_000_000 }),
        ("'change'", Samples::Change),
        ("'off'", Samples::Off),
    ];
    for (text, samples) in choices {
        assert_eq!(
            dumbbell(&format!("samples = {text}"), "[[flows]]\ncca = 'reno'").samples,
            samples,
            "{text}"
        );
    }
    let short = dumbbell("duration = '10 us'", "[[flows]]\ncca = 'reno'");
    assert_eq!(short.samples, Samples::Interval { interval_ns: 1_000 });
}

#[test]
fn flows_cross_their_access_link_the_bottleneck_and_their_exit_link() {
    let links = format!("{LINKS}per = 1e-5\naccess = {{ rate = '1 Gbps', delay = '1 ms', buffer = 50 }}\n");
    let flows = "[[flows]]\ncca = 'reno'\ncount = 2\n[[flows]]\ncca = 'reno'\naccess_delay = '10 ms'";
    let s = read(&format!("stack = 'ns2'\n{links}{flows}"));
    let names: Vec<_> = s.links.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["access-0", "access-1", "access-2", "bottleneck", "exit-0", "exit-1", "exit-2"]);
    let delays_ms: Vec<_> = s.links.iter().map(|l| l.delay_ns / 1_000_000).collect();
    assert_eq!(delays_ms, [1, 1, 10, 100, 1, 1, 10]);
    let pers: Vec<_> = s.links.iter().map(|l| l.per).collect();
    assert_eq!(pers, [0.0, 0.0, 0.0, 1e-5, 0.0, 0.0, 0.0]);
    assert_eq!(s.links[0], s.links[4].clone().with(|link| link.name = "access-0".to_owned()));
    let paths: Vec<_> = s.flows.iter().map(|f| f.path.clone()).collect();
    assert_eq!(paths, [[0, 3, 4], [1, 3, 5], [2, 3, 6]]);
    // Back: 102 ms and three ACKs of 40 bytes at 1 Gbps (320 ns); there: three packets of 1050 (8400 ns).
    assert_eq!(s.flows[0].return_delay_ns, 102_000_000 + 3 * 320);
    assert_eq!(s.rtt_ns(0), 204_000_000 + 3 * 320 + 3 * 8400);
    assert_eq!(s.rtt_ns(2), 240_000_000 + 3 * 320 + 3 * 8400);
    assert_eq!(s.bottleneck(1).name, "bottleneck", "of links of equal rate, the shared one");
    assert!((s.bdp_pkts(0) - 24_285.714).abs() < 0.001);
}

#[test]
fn a_chain_is_crossed_by_every_flow() {
    let link = |rate: &str| format!("[[chain]]\nrate = '{rate}'\ndelay = '5 ms'\nbuffer = 10\nper = 0.5\n");
    let flows = "[[flows]]\ncca = 'reno'\ncount = 2";
    let s = read(&format!("{}{}{flows}", link("10 Mbps"), link("1 Mbps")));
    assert_eq!(s.links.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["link-0", "link-1"]);
    assert!(s.flows.iter().all(|f| f.path == [0, 1]));
    // 66 bytes: 52800 ns at 10 Mbps, 528000 ns at 1 Mbps.
    assert_eq!(s.flows[0].return_delay_ns, 10_000_000 + 52_800 + 528_000);
    assert_eq!(s.bottleneck(1).name, "link-1");
    assert_eq!(s.links[1].per, 0.5);
}

#[test]
fn the_sending_of_a_packet_is_rounded_to_a_nanosecond() {
    let s = read(&format!("{}[[flows]]\ncca = 'reno'", LINKS.replace("1 Gbps", "3 Gbps")));
    // 66 * 8 / 3 = 176; 1514 * 8 / 3 = 4037.3; 100 * 8 / 3 = 266.7.
    assert_eq!([66_u32, 1514, 100, 0].map(|bytes| s.links[1].sending_ns(bytes)), [176, 4037, 267, 0]);
}

#[test]
fn flows_of_a_group_start_and_stop_one_after_the_other() {
    let keys = "count = 3\nstart = '1 s'\nstagger = '5 s'\nstop = '90 s'\nstop_stagger = '2.5 s'\n";
    let s = dumbbell("", &format!("[[flows]]\ncca = 'reno'\n{keys}"));
    let times_ms: Vec<_> = s.flows.iter().map(|f| (f.start_ns / 1_000_000, f.stop_ns / 1_000_000)).collect();
    assert_eq!(times_ms, [(1_000, 90_000), (6_000, 87_500), (11_000, 85_000)]);
}

#[test]
fn the_linux_profile_is_todays_kernel() {
    let stack = (*one_flow("", "").stack).clone().with(|stack| {
        stack.initial_ssthresh_pkts = None;
        stack.idle_restart = true;
        stack.ecn = Ecn::Off;
        stack.accecn_option = true;
        stack.one_way_delays = false;
        stack.beta_ecn_permille = None;
        stack.pacing = cwnd_scenario::Pacing::Own;
        stack.rate_limited = cwnd_scenario::RateLimited::Own;
        stack.handshake = Handshake::Off;
        stack.restart_at_one = false;
        stack.round_rtt = false;
        stack.profile = "linux".to_owned();
        stack.recovery = Recovery::Prr;
        stack.header_bytes = 66;
        stack.ack_bytes = 66;
        stack.initial_window_pkts = 10;
        stack.receive_window_pkts = None;
        stack.ack_every_pkts = 2;
        stack.quick_acks_pkts = 600;
        stack.ack_delay_ns = 40_000_000;
        stack.sack_delay_ns = 1_000_000;
        stack.timestamps = true;
        stack.initial_rto_ns = 1_000_000_000;
        stack.min_rto_ns = 200_000_000;
        stack.max_rto_ns = 120_000_000_000;
        stack.restart_at_half_ssthresh = false;
        stack.detect_lost_retransmissions = true;
        stack.undo_spurious_rto = true;
    });
    assert_eq!(*one_flow("", "").stack, stack);
    assert_eq!(*one_flow("stack = 'linux'", "").stack, stack);
}

#[test]
fn the_ns2_profile_is_agent_tcp_linux_of_2_35() {
    let stack = (*one_flow("stack = 'ns2'", "").stack).clone().with(|stack| {
        stack.initial_ssthresh_pkts = None;
        stack.idle_restart = false;
        stack.ecn = Ecn::Off;
        stack.accecn_option = true;
        stack.one_way_delays = false;
        stack.beta_ecn_permille = None;
        stack.pacing = cwnd_scenario::Pacing::Own;
        stack.rate_limited = cwnd_scenario::RateLimited::Own;
        stack.handshake = Handshake::Overlapped;
        stack.restart_at_one = false;
        stack.round_rtt = false;
        stack.profile = "ns2".to_owned();
        stack.recovery = Recovery::RateHalving;
        stack.header_bytes = 50;
        stack.ack_bytes = 40;
        stack.initial_window_pkts = 2;
        stack.receive_window_pkts = None;
        stack.ack_every_pkts = 1;
        stack.quick_acks_pkts = 0;
        stack.ack_delay_ns = 100_000_000;
        stack.sack_delay_ns = 0;
        stack.timestamps = true;
        stack.initial_rto_ns = 3_000_000_000;
        stack.min_rto_ns = 200_000_000;
        stack.max_rto_ns = 120_000_000_000;
        stack.restart_at_half_ssthresh = true;
        stack.detect_lost_retransmissions = true;
        stack.undo_spurious_rto = false;
    });
    let flow = one_flow("stack = 'ns2'", "");
    assert_eq!((&*flow.stack, flow.payload_bytes), (&stack, 1000));
}

#[test]
fn every_field_of_a_stack_can_be_set() {
    let keys = "stack.profile = 'ns2'
        stack.recovery = 'sack'
        stack.header = '20 bytes'
        stack.ack = 30
        stack.initial_window = 4
        stack.receive_window = '50 packets'
        stack.ack_every = 3
        stack.quick_acks = 20
        stack.ack_delay = '200 ms'
        stack.sack_delay = '1 ms'
        stack.timestamps = false
        stack.initial_rto = '2 s'
        stack.min_rto = '1 s'
        stack.max_rto = '1 min'
        stack.restart_at_half_ssthresh = false
        stack.detect_lost_retransmissions = false
        stack.undo_spurious_rto = true
        stack.initial_ssthresh = 40
        stack.idle_restart = true
        stack.ecn = true
        stack.handshake = 'overlapped'
        stack.restart_at_one = true
        stack.round_rtt = true
        stack.accecn_option = false
        stack.one_way_delays = true
        stack.beta_ecn = 0.8
        stack.pacing = 'fq'";
    let stack = (*one_flow(keys, "").stack).clone().with(|stack| {
        stack.initial_ssthresh_pkts = Some(40);
        stack.idle_restart = true;
        stack.ecn = Ecn::Classic;
        stack.accecn_option = false;
        stack.one_way_delays = true;
        stack.beta_ecn_permille = Some(800);
        stack.pacing = cwnd_scenario::Pacing::Fq;
        stack.handshake = Handshake::Overlapped;
        stack.restart_at_one = true;
        stack.round_rtt = true;
        stack.profile = "ns2".to_owned();
        stack.recovery = Recovery::Sack;
        stack.header_bytes = 20;
        stack.ack_bytes = 30;
        stack.initial_window_pkts = 4;
        stack.receive_window_pkts = Some(50);
        stack.ack_every_pkts = 3;
        stack.quick_acks_pkts = 20;
        stack.ack_delay_ns = 200_000_000;
        stack.sack_delay_ns = 1_000_000;
        stack.timestamps = false;
        stack.initial_rto_ns = 2_000_000_000;
        stack.min_rto_ns = 1_000_000_000;
        stack.max_rto_ns = 60_000_000_000;
        stack.restart_at_half_ssthresh = false;
        stack.detect_lost_retransmissions = false;
        stack.undo_spurious_rto = true;
    });
    assert_eq!(*one_flow(keys, "").stack, stack);
    assert_eq!(*one_flow("", keys).stack, stack);
}

#[test]
fn without_timestamps_headers_are_shorter_unless_they_are_set() {
    let sizes = |head: &str, keys: &str| {
        let stack = one_flow(head, keys).stack;
        (stack.header_bytes, stack.ack_bytes)
    };
    assert_eq!(sizes("stack.timestamps = false", ""), (54, 54));
    assert_eq!(sizes("stack = { profile = 'ns2', timestamps = false }", ""), (40, 40));
    assert_eq!(sizes("stack = { timestamps = false, header = 66 }", ""), (66, 54));
    assert_eq!(sizes("stack.timestamps = false", "stack.timestamps = true"), (66, 66));
}

#[test]
fn a_flow_overrides_the_scenario_which_overrides_the_profile_key_by_key() {
    let stack = one_flow("stack = { initial_window = 4, ack_every = 4 }", "stack.ack_every = 8").stack;
    assert_eq!((stack.initial_window_pkts, stack.ack_every_pkts, stack.ack_delay_ns), (4, 8, 40_000_000));
    let stack = one_flow("stack = { initial_window = 4 }", "stack = 'ns2'").stack;
    assert_eq!((stack.profile.as_str(), stack.initial_window_pkts, stack.ack_every_pkts), ("ns2", 4, 1));
    let flow = one_flow("stack = 'ns2'", "stack.profile = 'linux'\npacket = '500 bytes'");
    assert_eq!((flow.stack.profile.as_str(), flow.packet_bytes()), ("linux", 566));
}

#[test]
fn a_profile_sets_parameters_and_a_scenario_overrides_them() {
    let cubic = cwnd_algorithms::find("cubic").unwrap();
    let value = |head: &str, cca: &str, param: &str| {
        let flow = dumbbell(head, &format!("[[flows]]\ncca = {cca}")).flows.remove(0);
        flow.cca.params.iter().find(|(name, _)| name == param).unwrap().1.clone()
    };
    let default = |param: &str| {
        let params = cubic.show(&cubic.defaults());
        params.into_iter().find(|(name, _)| *name == param).unwrap().1
    };
    assert_eq!(value("", "'cubic'", "beta"), default("beta"));
    assert_eq!(value("stack = 'ns2'", "'cubic'", "beta"), "0.7998"); // 819/1024
    assert_eq!(value("stack = 'ns2'", "'cubic'", "variant"), "ns2");
    assert_eq!(value("stack = 'ns2'", "{ name = 'cubic', beta = 0.5 }", "beta"), "0.5");
    assert_eq!(
        value("stack = 'ns2'", "{ name = 'cubic', fast_convergence = false }", "fast_convergence"),
        "off"
    );
}

#[test]
fn a_custom_algorithm_has_its_parameters_as_written_and_wins_over_the_registry() {
    let text = format!("{LINKS}[[flows]]\ncca = {{ z = 0.10, name = 'reno', a = 'x y', b = true, n = 1_0 }}");
    let s = Scenario::from_toml(&text, "custom", &["reno"]).unwrap();
    let written = [("z", "0.10"), ("a", "x y"), ("b", "true"), ("n", "10")];
    assert_eq!(s.flows[0].cca.params, written.map(|(k, v)| (k.to_owned(), v.to_owned())));
}

#[test]
fn a_description_groups_equal_flows_and_links() {
    let links = format!("{LINKS}access = {{ rate = '1 Gbps', delay = '1 ms', buffer = 50 }}\n");
    let flows = "[[flows]]\ncca = 'reno'\ncount = 3\nstagger = '5 s'\n[[flows]]\ncca = 'reno'\naccess_delay = '10 ms'";
    let d = read(&format!("stack = 'ns2'\n{links}{flows}")).describe();
    let names: Vec<_> = d.links.iter().map(|l| (l.name.as_str(), l.count)).collect();
    let expected = [("access-0..2", 3), ("access-3", 1), ("bottleneck", 1), ("exit-0..2", 3), ("exit-3", 1)];
    assert_eq!(names, expected);
    // 100 packets of 8400 ns; of 24285.7 packets of BDP.
    assert!((d.links[2].buffer_ms.unwrap() - 0.84).abs() < 1e-9);
    assert!((d.links[2].buffer_bdp.unwrap() - 100.0 / 24_285.714).abs() < 1e-6);
    let groups: Vec<_> = d.flows.iter().map(|f| (f.first, f.count, f.start_s, f.stop_s)).collect();
    assert_eq!(groups, [(0, 3, [0.0, 10.0], [100.0, 100.0]), (3, 1, [0.0, 0.0], [100.0, 100.0])]);
    assert!((d.flows[0].capacity_pkts_per_s - 119_047.62).abs() < 0.01);
    assert_eq!((d.flows[0].rtt_ms, d.flows[0].bdp_bytes), (204.02616, 25_500_000.0));
}

#[test]
fn a_description_separates_flows_by_application_and_links_by_marking() {
    let flows = "[[flows]]\ncca = 'tahoe'\n[[flows]]\ncca = 'tahoe'\napp_rate = '10 Mbps'\non = '1 s'\noff = '500 ms'";
    let d = read(&format!("{LINKS}ecn_threshold = 20\n{flows}")).describe();
    let groups: Vec<_> = d.flows.iter().map(|f| (f.first, f.count, f.app_rate_bps, f.on_off_s)).collect();
    assert_eq!(groups, [(0, 1, None, None), (1, 1, Some(10_000_000), Some([1.0, 0.5]))]);
    assert_eq!((d.flows[0].cca.name.as_str(), d.flows[0].cca.algorithm.as_str()), ("tahoe", "reno"));
    let marks: Vec<_> = d.links.iter().map(|l| (l.name.as_str(), l.ecn_threshold_pkts)).collect();
    assert_eq!(marks, [("access-0..1", None), ("bottleneck", Some(20)), ("exit-0..1", None)]);
}

#[test]
fn an_algorithm_over_tcp_is_the_one_of_the_registry_with_its_parameters_and_stack() {
    for profile in ["linux", "ns2"] {
        let flow = |name: &str| {
            let cca = format!("cca = {{ name = '{name}', beta = 0.6 }}\nstack = '{profile}'");
            read(&format!("{LINKS}[[flows]]\n{cca}")).flows.remove(0)
        };
        let (over_tcp, bare) = (flow("tcp:cubic"), flow("cubic"));
        assert!(over_tcp.cca.is_over_tcp() && !bare.cca.is_over_tcp());
        assert_eq!((over_tcp.cca.name.as_str(), over_tcp.cca.algorithm.as_str()), ("tcp:cubic", "cubic"));
        assert_eq!((&over_tcp.cca.params, &over_tcp.stack), (&bare.cca.params, &bare.stack));
    }
}

#[test]
fn without_delay_or_limit_a_buffer_has_no_bdps() {
    let d = read(&format!("{}[[flows]]\ncca = 'reno'", LINKS.replace("100 ms", "0 s"))).describe();
    assert_eq!((d.links[0].buffer_bdp, d.links[0].buffer_ms), (None, None));
    assert_eq!(d.links[1].buffer_bdp, None);
    assert!(d.links[1].buffer_ms.is_some());
}

#[test]
fn a_hundred_thousand_flows_are_not_too_many() {
    let s = dumbbell("", "[[flows]]\ncca = 'reno'\ncount = 100000\nstagger = '1 ns'");
    assert_eq!((s.flows.len(), s.links.len()), (100_000, 200_001));
    assert_eq!(s.flows[99_999].path, [99_999, 100_000, 200_000]);
    assert_eq!(s.describe().links.iter().map(|l| l.count).collect::<Vec<_>>(), [100_000, 1, 100_000]);
}

/// The flow of `cca` on `profile`, with more keys of the stack.
fn on_profile(profile: &str, cca: &str, stack: &str) -> Flow {
    let flow = format!("[[flows]]\ncca = {cca}\nstack = {{ profile = '{profile}', {stack} }}");
    dumbbell("", &flow).flows.remove(0)
}

#[test]
fn a_preset_is_an_algorithm_and_a_recovery_in_both_profiles() {
    for (name, recovery) in [
        ("tahoe", Recovery::Tahoe),
        ("newreno", Recovery::NewReno),
        ("sack", Recovery::Sack),
        ("fack", Recovery::Fack),
    ] {
        for profile in ["linux", "ns2"] {
            let flow = on_profile(profile, &format!("'{name}'"), "");
            assert_eq!((flow.cca.name.as_str(), flow.cca.algorithm.as_str()), (name, "reno"), "{profile}");
            assert_eq!((flow.stack.recovery, flow.stack.profile.as_str()), (recovery, profile), "{name}");
            // What the scenario says wins.
            let set = on_profile(profile, &format!("'{name}'"), "recovery = 'prr'");
            assert_eq!(set.stack.recovery, Recovery::Prr, "{name}, {profile}");
        }
        // On Linux only the recovery differs from Reno's stack.
        let reno = on_profile("linux", "'reno'", "").stack;
        let stack = on_profile("linux", &format!("'{name}'"), "").stack;
        assert_eq!(*stack, (*reno).clone().with(|stack| stack.recovery = recovery), "{name}");
    }
}

#[test]
fn the_preset_linux_is_reno_on_the_stack_as_it_is() {
    for (profile, recovery) in [("linux", Recovery::Prr), ("ns2", Recovery::RateHalving)] {
        let flow = on_profile(profile, "'linux'", "");
        assert_eq!((flow.cca.algorithm.as_str(), flow.stack.recovery), ("reno", recovery));
        let reno = on_profile(profile, "'reno'", "").stack;
        // Without a module there is no tcp_reno_min_cwnd.
        assert_eq!(
            *flow.stack,
            (*reno).clone().with(|stack| stack.restart_at_half_ssthresh = false),
            "{profile}"
        );
    }
}

/// Agent/TCP and its kin of ns-2.35: window_ 20, where ssthresh_ begins; maxrto_ 60.
#[test]
fn agents_of_ns2_have_a_receive_window_of_20_and_begin_with_it_as_ssthresh() {
    let windows = |cca: &str, stack: &str| {
        let stack = on_profile("ns2", cca, stack).stack;
        (stack.receive_window_pkts, stack.initial_ssthresh_pkts)
    };
    for name in ["'tahoe'", "'newreno'", "'sack'", "'fack'"] {
        assert_eq!(windows(name, ""), (Some(20), Some(20)), "{name}");
        assert_eq!(windows(name, "receive_window = 64"), (Some(64), Some(64)), "{name}");
        assert_eq!(windows(name, "receive_window = 'unlimited'"), (None, None), "{name}");
        assert_eq!(windows(name, "initial_ssthresh = 8"), (Some(20), Some(8)), "{name}");
        assert_eq!(on_profile("ns2", name, "").stack.max_rto_ns, 60_000_000_000, "{name}");
        assert_eq!(on_profile("ns2", name, "").stack.restart_at_one, name == "'fack'", "{name}");
        let linux = on_profile("linux", name, "").stack;
        assert_eq!((linux.receive_window_pkts, linux.initial_ssthresh_pkts), (None, None), "{name}");
        assert!(!linux.restart_at_one, "{name}");
    }
    // LinuxTcpAgent has neither.
    assert_eq!(windows("'reno'", ""), (None, None));
    assert_eq!(windows("'linux'", ""), (None, None));
    // A window that is set limits the beginning of any sender of ns-2.
    assert_eq!(windows("'reno'", "receive_window = 30"), (Some(30), Some(30)));
}

#[test]
fn every_recovery_has_its_name() {
    for (name, recovery) in [
        ("tahoe", Recovery::Tahoe),
        ("reno", Recovery::Reno),
        ("newreno", Recovery::NewReno),
        ("sack", Recovery::Sack),
        ("fack", Recovery::Fack),
        ("prr", Recovery::Prr),
        ("rate-halving", Recovery::RateHalving),
    ] {
        assert_eq!(one_flow(&format!("stack.recovery = '{name}'"), "").stack.recovery, recovery);
        let uses_sack = recovery.choices().detection.uses_sack();
        assert_eq!(uses_sack, !["tahoe", "reno", "newreno"].contains(&name), "{name}");
    }
}

#[test]
fn an_application_writes_all_at_once_unless_it_has_a_rate_or_pauses() {
    let application = |keys: &str| {
        let flow = one_flow("", keys);
        (flow.app_rate_bps, flow.on_off_ns)
    };
    assert_eq!(application(""), (None, None));
    assert_eq!(application("app_rate = '1.5 Mbps'"), (Some(1_500_000), None));
    assert_eq!(application("on = '1 s'\noff = '250 ms'"), (None, Some((1_000_000_000, 250_000_000))));
    assert_eq!(
        application("app_rate = '10 kbps'\non = '1 us'\noff = '1440 min'"),
        (Some(10_000), Some((1_000, 86_400_000_000_000)))
    );
    // Of every flow of the group.
    let flows = "[[flows]]\ncca = 'reno'\ncount = 3\napp_rate = '2 Mbps'\non = '1 s'\noff = '2 s'";
    let expected = (Some(2_000_000), Some((1_000_000_000, 2_000_000_000)));
    assert!(dumbbell("", flows).flows.iter().all(|flow| (flow.app_rate_bps, flow.on_off_ns) == expected));
}

#[test]
fn a_threshold_for_marks_is_of_the_shared_link_or_of_each_of_a_chain() {
    let thresholds = |links: &str| {
        let s = read(&format!("{links}[[flows]]\ncca = 'reno'"));
        s.links.iter().map(|link| link.ecn_threshold_pkts).collect::<Vec<_>>()
    };
    assert_eq!(thresholds(LINKS), [None, None, None]);
    assert_eq!(thresholds(&format!("{LINKS}ecn_threshold = 20\n")), [None, Some(20), None]);
    assert_eq!(thresholds(&format!("{LINKS}ecn_threshold = '65 packets'\n")), [None, Some(65), None]);
    assert_eq!(thresholds(&format!("{LINKS}ecn_threshold = 'unlimited'\n")), [None, None, None]);
    let link = LINKS.replace("[dumbbell]", "[[chain]]");
    assert_eq!(thresholds(&format!("{link}ecn_threshold = 5\n{link}")), [Some(5), None]);
}

#[test]
fn a_receive_window_in_bytes_is_of_whole_packets_of_the_flow() {
    let window = |stack: &str, keys: &str| one_flow(stack, keys).stack.receive_window_pkts;
    // 65,536 bytes are 45 packets of 1448 and 376 bytes more, 54 of 1200, 65 of 1000.
    assert_eq!(window("stack = { receive_window = '64 KiB' }", ""), Some(45));
    assert_eq!(window("stack = { receive_window = '64 KiB' }", "packet = 1200"), Some(54));
    assert_eq!(window("stack = { profile = 'ns2', receive_window = '64 KiB' }", ""), Some(65));
    assert_eq!(window("stack = { receive_window = 64 }", ""), Some(64));
}
