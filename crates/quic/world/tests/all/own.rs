//! A congestion controller that a caller brings runs as the stack's own does.

use cwnd_quic_world::quinn_proto::RttEstimator;
use cwnd_quic_world::quinn_proto::congestion::{Controller, ControllerFactory, NewRenoConfig};
use cwnd_quic_world::s2n_quic::provider::congestion_controller::cubic;
use cwnd_quic_world::{Own, Stack, noq_proto, run, run_own};
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

fn scenario(cca: &str) -> Scenario {
    let text = format!(
        "duration = '3 s'\nsamples = '10 ms'\n[dumbbell]\nrate = '20 Mbps'\nrtt = '40 ms'\nbuffer = 30\nper = 0.001\n[[flows]]\ncca = '{cca}'"
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
