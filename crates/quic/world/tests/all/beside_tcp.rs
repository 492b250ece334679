//! TCP connections on the links of QUIC's, judged by the simulator.

use cwnd_engine::Control;
use cwnd_quic_world::{Stack, run};
use cwnd_results::{FlowResult, Run};
use cwnd_scenario::Scenario;

fn scenario(link: &str, flows: &str) -> Scenario {
    let text = format!(
        "duration = '10 s'\nwarmup = '2 s'\nsamples = '100 ms'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\n{link}\n{flows}"
    );
    Scenario::from_toml(&text, "path.toml", &[]).unwrap()
}

fn answer(stack: Stack, scenario: &Scenario) -> Run {
    run(stack, scenario, scenario.seed, &|_| true).unwrap().unwrap()
}

fn simulate(scenario: &Scenario) -> Run {
    cwnd_engine::run(scenario, scenario.seed, &|_| None, &Control::default()).unwrap()
}

fn counts(flow: &FlowResult) -> [u64; 6] {
    [
        flow.sent_pkts,
        flow.retransmitted_pkts,
        flow.delivered_pkts,
        flow.lost_pkts,
        flow.timeouts,
        flow.marked_pkts,
    ]
}

fn assert_close(here: f64, simulated: f64, what: &str) {
    assert!((here - simulated).abs() <= 0.001 * simulated, "{what}: {here}, simulated {simulated}");
}

#[test]
fn a_tcp_flow_alone_does_what_it_does_in_the_simulator() {
    for (cca, link, stack) in [
        ("cubic", "buffer = 40", ""),
        ("reno", "buffer = 20", "handshake = 'first'"),
        ("reno", "buffer = 30", "recovery = 'newreno'"),
        ("bbr", "buffer = 40", ""),
        ("reno", "buffer = 100\necn_threshold = 20", "ecn = 'classic'"),
        ("cubic", "buffer = 40\nreverse = { rate = '1 Mbps', buffer = 50 }", ""),
    ] {
        let scenario = scenario(link, &format!("[[flows]]\ncca = 'tcp:{cca}'\nstack = {{ {stack} }}"));
        let (here, simulated) = (answer(Stack::Quinn, &scenario), simulate(&scenario));
        let what = format!("{cca}, {link}, {stack}");
        for (one, other) in counts(&here.flows[0]).into_iter().zip(counts(&simulated.flows[0])) {
            assert!(
                one.abs_diff(other) <= 2,
                "{what}: {:?}, simulated {:?}",
                here.flows[0],
                simulated.flows[0]
            );
        }
        let (flow, expected) = (&here.flows[0], &simulated.flows[0]);
        assert_close(flow.goodput_mbps, expected.goodput_mbps, &what);
        assert_close(flow.mean_cwnd_pkts, expected.mean_cwnd_pkts, &what);
        assert_close(flow.mean_rtt_ms.unwrap(), expected.mean_rtt_ms.unwrap(), &what);
        assert_eq!(flow.slow_start_s.is_some(), expected.slow_start_s.is_some(), "{what}");
        assert_eq!(flow.cca, format!("tcp:{cca}"));
        assert_eq!(here.flow_samples.time_s.len(), simulated.flow_samples.time_s.len());
    }
}

#[test]
fn a_tcp_flow_gets_each_copy_that_a_wire_makes() {
    let scenario = scenario("buffer = 40\nduplicate = 0.01", "[[flows]]\ncca = 'tcp:reno'");
    let (here, simulated) = (answer(Stack::Noq, &scenario), simulate(&scenario));
    assert_close(here.flows[0].goodput_mbps, simulated.flows[0].goodput_mbps, "goodput");
    assert_eq!(counts(&here.flows[0]), counts(&simulated.flows[0]));
    assert_eq!(here.links, simulated.links);
    // Some 130 copies, less what is in flight at the end.
    let flow = &here.flows[0];
    assert!(flow.delivered_pkts + flow.lost_pkts > flow.sent_pkts + 50, "{flow:?}");
}

#[test]
fn tcp_and_quic_on_one_bottleneck_fill_it_and_give_the_same_rows_twice() {
    for stack in Stack::ALL {
        let flows = format!(
            "[[flows]]\ncca = 'tcp:cubic'\n[[flows]]\ncca = '{}:cubic'\n[[flows]]\ncca = 'reno'",
            stack.name()
        );
        let scenario = scenario("buffer = 40\nper = 0.0001", &flows);
        let run = answer(stack, &scenario);
        let sum_mbps: f64 = run.flows.iter().map(|flow| flow.throughput_mbps).sum();
        assert!((19.5..20.01).contains(&sum_mbps), "{stack:?}: {sum_mbps}");
        assert!(run.flows.iter().all(|flow| flow.goodput_mbps > 1.0), "{stack:?}: {:?}", run.flows);
        assert_eq!(run, answer(stack, &scenario));
    }
}
