//! TCP connections on the links of QUIC's, judged by the simulator.

use cwnd_engine::Control;
use cwnd_quic_world::{Stack, run};
use cwnd_results::Run;
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
        let (here, mut simulated) = (answer(Stack::Quinn, &scenario), simulate(&scenario));
        simulated.world = here.world.clone();
        assert_eq!(here, simulated, "{cca}, {link}, {stack}");
        assert_eq!(here.flows[0].cca, format!("tcp:{cca}"));
    }
}

#[test]
fn transfers_over_tcp_and_datagrams_are_those_of_the_simulator() {
    let flows = "[[flows]]\ncca = 'tcp:cubic'\nsize = '200 KB'\nrequests = { count = 20, think = '10 ms' }\n\
                 [[flows]]\ncca = 'udp'\napp_rate = '3 Mbps'\n[[flows]]\ncca = 'tcp:reno'\nsize = '20 KB'\n\
                 arrivals = { process = 'poisson', rate = 5 }";
    let scenario = scenario("buffer = 40\nduplicate = 0.01", flows);
    let (here, mut simulated) = (answer(Stack::Noq, &scenario), simulate(&scenario));
    simulated.world = here.world.clone();
    assert!(here.transfers.size_bytes.len() > 40, "{:?}", here.transfers);
    // Not a number where a transfer has not ended.
    assert_eq!(format!("{here:?}"), format!("{simulated:?}"));
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
