//! A congestion controller that a caller brings runs as the stack's own does.

use cwnd_quic_world::quinn_proto::RttEstimator;
use cwnd_quic_world::quinn_proto::congestion::{Controller, ControllerFactory, NewRenoConfig};
use cwnd_quic_world::s2n_quic::provider::congestion_controller::cubic;
use cwnd_quic_world::{Outcome, Own, Stack, Verdict, noq_proto, run, run_own, verdicts};
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

fn scenario(cca: &str) -> Scenario {
    scenario_that_expects(cca, "")
}

/// `tables` are those of `[[expect]]`.
fn scenario_that_expects(cca: &str, tables: &str) -> Scenario {
    let text = format!(
        "duration = '3 s'\nsamples = '10 ms'\n[dumbbell]\nrate = '20 Mbps'\nrtt = '40 ms'\nbuffer = 30\nper = 0.001\n[[flows]]\ncca = '{cca}'\n{tables}"
    );
    Scenario::from_toml(&text, "path.toml", &[]).unwrap()
}

fn own(own: &Own, cca: &str) -> Run {
    run_own(own, &scenario(cca), 1).unwrap()
}

/// RFC 9002, 7.2: ten datagrams of the size of the scenario's packets.
const INITIAL_WINDOW_BYTES: u64 = 14_720;

#[test]
fn the_stacks_own_controller_handed_over_gives_the_same_results() {
    let mut quinn = NewRenoConfig::default();
    quinn.initial_window(INITIAL_WINDOW_BYTES);
    let mut noq = noq_proto::congestion::NewRenoConfig::default();
    noq.initial_window(INITIAL_WINDOW_BYTES);
    let s2n = || {
        let builder = cubic::Builder::default();
        builder.with_initial_congestion_window(INITIAL_WINDOW_BYTES as u32).build()
    };
    for (stack, cca, brought) in [
        (Stack::Quinn, "quinn:newreno", Own::quinn("newreno", Arc::new(quinn))),
        (Stack::Noq, "noq:newreno", Own::noq("newreno", Arc::new(noq))),
        (Stack::S2nQuic, "s2n-quic:cubic", Own::s2n_quic("cubic", s2n)),
    ] {
        let of_stack = run(stack, &scenario(cca), 1, &|_| true).unwrap().unwrap();
        assert!(of_stack.flows[0].lost_pkts > 0, "{cca}: {:?}", of_stack.flows[0]);
        assert_eq!(own(&brought, cca), of_stack, "{cca}");
    }
}

/// A window that nothing changes.
#[derive(Clone)]
struct Fixed(u64);

impl ControllerFactory for Fixed {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

impl Controller for Fixed {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, _: &RttEstimator) {}
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        self.0
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        self.0
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// 29,000 bytes in an RTT of 40 ms are 5.8 Mbit/s at most.
#[test]
fn a_controller_of_ones_own_governs_the_flows_that_it_stands_for_and_no_others() {
    let two = format!(
        "{}\n[[flows]]\ncca = 'quinn:cubic'",
        "duration = '3 s'\nwarmup = '1 s'\n[dumbbell]\nrate = '20 Mbps'\nrtt = '40 ms'\nbuffer = 1000\n[[flows]]\ncca = 'quinn:newreno'"
    );
    let two = Scenario::from_toml(&two, "path.toml", &[]).unwrap();
    let run = run_own(&Own::quinn("newreno", Arc::new(Fixed(29_000))), &two, 1).unwrap();
    assert!((run.flows[0].mean_cwnd_pkts - 20.0).abs() < 0.5, "{:?}", run.flows[0]);
    assert!(run.flows[1].mean_cwnd_pkts > 100.0, "{:?}", run.flows[1]);
}

#[test]
fn a_controller_that_stands_for_no_flow_is_an_error_of_one_line() {
    let error = run_own(&Own::quinn("newreno", Arc::new(Fixed(29_000))), &scenario("quinn:cubic"), 1);
    let line = "flows.cca: no flow has 'quinn:newreno', for which the controller stands";
    assert_eq!(error.unwrap_err().to_string(), line);
}

/// quinn's own NewReno: ten packets at first, half of them after a loss (RFC 9002, 7.2 and 7.3.2).
#[test]
fn what_a_scenario_expects_is_decided_on_the_run_of_a_controller_of_ones_own() {
    let tables = "
[[expect]]
event = 'cut'
at_least = 1
[[expect]]
series = 'ssthresh_pkts'
after = 'cut'
statistic = 'min'
at_least = 2
[[expect]]
series = 'cwnd_pkts'
at = '0 s'
equals = 20
why = 'twice the initial window'
[[expect]]
series = 'pacing_mbps'
at_least = 0
[[expect]]
event = 'timeout'
equals = 0
";
    let scenario = scenario_that_expects("quinn:newreno", tables);
    let mut newreno = NewRenoConfig::default();
    newreno.initial_window(INITIAL_WINDOW_BYTES);
    let run = run_own(&Own::quinn("newreno", Arc::new(newreno)), &scenario, 1).unwrap();
    let all = verdicts(&scenario, &run);
    let outcomes: Vec<Outcome> = all.iter().map(|verdict| verdict.outcome).collect();
    let expected = [Outcome::Pass, Outcome::Pass, Outcome::Fail, Outcome::Unseen, Outcome::Unseen];
    assert_eq!(outcomes, expected, "{all:#?}");
    let lines: Vec<String> = all[2..].iter().map(Verdict::to_string).collect();
    assert_eq!(
        lines,
        [
            "cwnd_pkts of flow 0 at 0 s is 20: fail: 10 at 0 s; twice the initial window",
            "pacing_mbps of flow 0 at least 0: cannot be seen: the samples have no pacing_mbps",
            "number of 'timeout' of flow 0 is 0: cannot be seen: the calls of the flow's algorithm are not recorded, and samples show no event 'timeout'",
        ]
    );
}

#[test]
fn the_scenarios_of_the_docs_expect_what_quinns_own_newreno_does() {
    let pages = [include_str!("../../../../../docs/quic.md"), include_str!("../../README.md")];
    for page in pages {
        let mut blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let text = blocks.find(|block| block.contains("[[expect]]")).expect("it has a scenario");
        let scenario = Scenario::from_toml(text, "home.toml", &[]).unwrap();
        let own = Own::quinn("newreno", Arc::new(NewRenoConfig::default()));
        let all = verdicts(&scenario, &run_own(&own, &scenario, 1).unwrap());
        assert!(all.len() > 1);
        for verdict in all {
            assert!(verdict.ok(), "{verdict}");
        }
    }
}
