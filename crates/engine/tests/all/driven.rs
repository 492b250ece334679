//! A run whose caller has the clock and the packets is that of ends which know their times.

use crate::common::read;
use cwnd_engine::net::{self, Counts, Datagram, Endpoints, NEVER, Packet, Parts, Side, counted};
use cwnd_engine::{Codepoint, Control};
use cwnd_results::{FlowResult, Run};
use cwnd_scenario::Scenario;
use std::cell::Cell;

/// Both ends of a flow: the sender sends a packet at the time that the test sets, and the receiver counts it.
struct TestEnds<'a> {
    /// When the next packet is sent; NEVER: the test has set no time.
    due_ns: &'a Cell<u64>,
    bytes: u32,
    counts: Counts,
}

impl<'a> Endpoints<'a> for TestEnds<'a> {
    fn start_ns(&self) -> u64 {
        0
    }

    fn next_due_ns(&self) -> u64 {
        self.due_ns.get()
    }

    fn on_timer(&mut self, _: u64, out: &mut Vec<Packet>) {
        self.due_ns.set(NEVER);
        self.counts.sent += 1;
        out.push(Packet::Datagram(Box::new(Datagram {
            to: Side::Receiver,
            bytes: self.bytes,
            codepoint: Codepoint::NotEct,
            marked: false,
            content: Box::new(()),
        })));
    }

    fn on_datagram(&mut self, _: u64, datagram: Datagram, _: &mut Vec<Packet>) {
        self.counts.received.pkts += 1;
        self.counts.received.bytes += u64::from(datagram.bytes);
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn last_arrival_ns(&self) -> u64 {
        0
    }

    fn row(&self, _: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult {
        counted(counts, end_ns - measured_from_ns)
    }
}

const AHEAD_NS: u64 = 300_000;
const GAP_NS: u64 = 1_000_000;

fn scenario(duration: &str) -> Scenario {
    // A packet of 1250 bytes each millisecond, 10 Mbps on the wire, over 8 and then 12 Mbps.
    read(&format!(
        "duration = '{duration}'\nwarmup = '150 ms'\nsamples = '100 ms'\n\
         [[chain]]\nrate = {{ steps = [['0 s', '8 Mbps'], ['1 s', '12 Mbps']] }}\ndelay = '5 ms'\nbuffer = 20\nper = 0.01\n\
         [[flows]]\ncca = 'udp'\npacket = 1184\napp_rate = '9.472 Mbps'\nstart = '0.3 ms'\n"
    ))
}

/// The run up to `end_ns`, to which the caller's clock goes in steps of `step_ns`.
fn driven(scenario: &Scenario, step_ns: u64, end_ns: u64) -> Run {
    let due_ns = Cell::new(NEVER);
    let make_ends = |_, _| -> Option<Box<dyn Endpoints>> {
        Some(Box::new(TestEnds { due_ns: &due_ns, bytes: 1250, counts: Counts::default() }))
    };
    let parts = Parts { transports: &make_ends, ..Parts::default() };
    let control = Control::default();
    let mut network = net::begin(scenario, 1, parts, &control);
    for now_ns in (0..=end_ns).step_by(step_ns as usize) {
        network.advance(now_ns).expect("nobody stops it");
        if now_ns.is_multiple_of(GAP_NS) {
            due_ns.set(now_ns + AHEAD_NS);
            network.wake(0);
        }
        assert!(network.next_event_ns() >= now_ns, "all before {now_ns} has happened");
    }
    network.advance(end_ns).expect("nobody stops it");
    network.finish_at(end_ns)
}

#[test]
fn packets_that_a_caller_hands_over_in_time_cross_links_as_datagrams_of_the_simulator_do() {
    let scenario = scenario("2 s");
    let simulated = net::run(&scenario, 1, &|_| None, &Control::default()).unwrap();
    for step_ns in [GAP_NS, GAP_NS / 8] {
        let run = driven(&scenario, step_ns, 2_000_000_000);
        assert_eq!(run.link_samples, simulated.link_samples);
        assert_eq!(run.links[0].delivered_pkts, simulated.links[0].delivered_pkts);
        assert_eq!(run.links[0].dropped_pkts, simulated.links[0].dropped_pkts);
        assert_eq!(run.links[0].error_pkts, simulated.links[0].error_pkts);
        assert_eq!(run.links[0].mean_queue_pkts, simulated.links[0].mean_queue_pkts);
        assert_eq!(run.links[0].utilization, simulated.links[0].utilization);
        assert_eq!(run.flows[0].lost_pkts, simulated.flows[0].lost_pkts);
        assert_eq!(run.flows[0].throughput_mbps, simulated.flows[0].throughput_mbps);
    }
}

#[test]
fn a_run_that_ends_later_than_its_duration_is_measured_to_its_end_and_sampled_to_the_duration() {
    let (late, long) = (scenario("1 s"), scenario("2 s"));
    let [late, long] = [late, long].map(|scenario| driven(&scenario, GAP_NS, 2_000_000_000));
    assert_eq!(late.links[0].delivered_pkts, long.links[0].delivered_pkts);
    assert_eq!(late.links[0].utilization, long.links[0].utilization);
    assert_eq!((late.link_samples.time_s.len(), long.link_samples.time_s.len()), (11, 21));
}
