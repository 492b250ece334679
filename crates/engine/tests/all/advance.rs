//! A run that is looked at on its way.

use crate::common::{answer_scenario, begin, custom, read};
use cwnd_engine::{Control, Simulation, Unfinished};
use cwnd_scenario::{End, Samples, Sweep};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const TWO_FLOWS: &str = r#"
    duration = "5 s"
    samples = "100 ms"
    [dumbbell]
    rate = "20 Mbps"
    delay = "15 ms"
    buffer = 40
    per = 1e-3
    access = { rate = "1 Gbps", delay = "1 ms" }
    [[flows]]
    cca = "cubic"
    [[flows]]
    cca = "reno"
    start = "1 s"
    stop = "4 s"
"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_steps_in_which_a_run_is_advanced_change_nothing(steps_ns in prop::collection::vec(1..2_000_000_000_u64, 1..20)) {
        let scenario = read(TWO_FLOWS);
        let control = Arc::<Control>::default();
        let mut simulation = Simulation::new(Arc::new(scenario.clone()), 1, custom, Arc::clone(&control));
        let mut until_ns = 0;
        for step_ns in steps_ns {
            until_ns += step_ns;
            simulation.advance(until_ns).unwrap();
            simulation.observe();
        }
        prop_assert_eq!(format!("{:?}", simulation.finish().unwrap()), format!("{:?}", answer_scenario(&scenario)));
        prop_assert_eq!(control.simulated_ns.load(Relaxed), scenario.duration_ns);
    }
}

#[test]
fn golden_scenarios_come_out_the_same_in_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut compared = 0;
    for file in ["chains", "stacks", "ns2", "random"] {
        let text = std::fs::read_to_string(folder.join(file).with_extension("toml")).unwrap();
        for point in Sweep::from_toml(&text, file, &[]).unwrap().points.into_iter().step_by(3) {
            let scenario = point.scenario;
            if scenario.end != End::Duration {
                continue;
            }
            let mut simulation = begin(&scenario);
            for step in 1..10 {
                simulation.advance(step * scenario.duration_ns / 7).unwrap();
                simulation.observe();
            }
            let run = simulation.finish().unwrap();
            assert_eq!(format!("{run:?}"), format!("{:?}", answer_scenario(&scenario)), "{file}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn an_observation_is_what_a_sample_of_that_time_has() {
    let scenario = read(TWO_FLOWS);
    assert!(matches!(scenario.samples, Samples::Interval { .. }));
    let run = answer_scenario(&scenario);
    let mut simulation = begin(&scenario);
    let mut rows = 0;
    for tick in 1..=50_u64 {
        simulation.advance(tick * 100_000_000).unwrap();
        let seen = simulation.observe();
        let time_s = tick as f64 / 10.0;
        for row in (0..run.flow_samples.time_s.len()).filter(|&row| run.flow_samples.time_s[row] == time_s) {
            let flow = &seen.flows[run.flow_samples.flow[row] as usize];
            assert_eq!(flow.cwnd_pkts, run.flow_samples.cwnd_pkts[row], "at {time_s} s");
            assert_eq!(flow.ssthresh_pkts, run.flow_samples.ssthresh_pkts[row]);
            assert_eq!(flow.in_flight_pkts, u64::from(run.flow_samples.in_flight_pkts[row]));
            rows += 1;
        }
        for row in (0..run.link_samples.time_s.len()).filter(|&row| run.link_samples.time_s[row] == time_s) {
            let link = &seen.links[run.link_samples.link[row] as usize];
            assert_eq!(link.queue_pkts, u64::from(run.link_samples.queue_pkts[row]), "at {time_s} s");
            rows += 1;
        }
    }
    assert!(rows > 300, "{rows}");
    let last = simulation.observe();
    for (seen, flow) in last.flows.iter().zip(&run.flows) {
        assert_eq!((seen.sent_pkts, seen.delivered_pkts), (flow.sent_pkts, flow.delivered_pkts));
    }
}

#[test]
fn a_run_that_is_stopped_says_so() {
    let scenario = read(TWO_FLOWS);
    let control = Arc::<Control>::default();
    let mut simulation = Simulation::new(Arc::new(scenario), 1, custom, Arc::clone(&control));
    simulation.advance(1_000_000_000).unwrap();
    control.stop.store(true, Relaxed);
    assert_eq!(simulation.advance(2_000_000_000), Err(Unfinished::Stopped));
}
