//! Queue disciplines through their seam.

use crate::common;
use crate::common::{answer_scenario, read};
use cwnd_engine::Control;
use cwnd_engine::net::{Discipline, Next, Queued};
use cwnd_engine::parts::{Parts, run_with};
use cwnd_results::Run;
use cwnd_scenario::{Clock, Link, Scenario, Sweep};
use std::collections::VecDeque;
use std::path::Path;

/// The droptail queue packet by packet. The closed form must give the same.
struct Fifo {
    limit: u64,
    ecn_threshold: u64,
    packets: VecDeque<Queued>,
}

impl Fifo {
    fn new(link: &Link) -> Fifo {
        Fifo {
            limit: link.buffer_pkts.map_or(u64::MAX, u64::from),
            ecn_threshold: link.ecn_threshold_pkts.map_or(u64::MAX, u64::from),
            packets: VecDeque::new(),
        }
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, _: u64, mut packet: Queued, sending: bool, dropped: &mut Vec<Queued>) {
        let held = self.waiting_pkts() + u64::from(sending);
        if held >= self.limit {
            dropped.push(packet);
            return;
        }
        packet.marked = packet.codepoint.is_ect() && held + 1 > self.ecn_threshold;
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, _: u64, _: &mut Vec<Queued>) -> Next {
        self.packets.pop_front().map_or(Next::Empty, Next::Send)
    }

    fn waiting_pkts(&self) -> u64 {
        self.packets.len() as u64
    }

    fn tells_flows_apart(&self) -> bool {
        false
    }
}

/// Drops every tenth packet when it would leave.
struct EveryTenth {
    queue: Fifo,
    asked: u64,
}

impl Discipline for EveryTenth {
    fn enqueue(&mut self, now_ns: u64, packet: Queued, sending: bool, dropped: &mut Vec<Queued>) {
        self.queue.enqueue(now_ns, packet, sending, dropped);
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next {
        let next = self.queue.dequeue(now_ns, dropped);
        let Next::Send(packet) = next else { return next };
        self.asked += 1;
        if !self.asked.is_multiple_of(10) {
            return next;
        }
        dropped.push(packet);
        self.dequeue(now_ns, dropped)
    }

    fn waiting_pkts(&self) -> u64 {
        self.queue.waiting_pkts()
    }

    fn tells_flows_apart(&self) -> bool {
        false
    }
}

/// Lets one packet go in each millisecond.
struct Slow {
    queue: Fifo,
    next_ns: u64,
}

impl Discipline for Slow {
    fn enqueue(&mut self, now_ns: u64, packet: Queued, sending: bool, dropped: &mut Vec<Queued>) {
        self.queue.enqueue(now_ns, packet, sending, dropped);
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next {
        if now_ns < self.next_ns && self.waiting_pkts() > 0 {
            return Next::Wait(self.next_ns);
        }
        self.next_ns = now_ns + 1_000_000;
        self.queue.dequeue(now_ns, dropped)
    }

    fn waiting_pkts(&self) -> u64 {
        self.queue.waiting_pkts()
    }

    fn tells_flows_apart(&self) -> bool {
        false
    }
}

fn run_queued(scenario: &Scenario, longest_span_ns: u64, make: fn(&Link) -> Box<dyn Discipline>) -> Run {
    let disciplines = |scenario: &Scenario, id: u32, _| Some(make(&scenario.links[id as usize]));
    let parts = Parts { disciplines: &disciplines, longest_span_ns };
    let run = run_with(scenario, scenario.seed, &common::custom, &Control::default(), parts);
    run.expect("nobody stops it")
}

/// Sums of times are added up in another order.
fn text(mut run: Run) -> String {
    for link in &mut run.links {
        link.mean_queue_pkts = (link.mean_queue_pkts * 1e9).round();
        link.utilization = (link.utilization * 1e9).round();
    }
    run.link_samples.queue_ms.clear();
    format!("{run:#?}")
}

#[test]
fn droptail_packet_by_packet_is_droptail_in_closed_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut compared = 0;
    for file in ["algorithms", "applications", "chains", "stacks", "many", "random", "recoveries"] {
        let path = folder.join(file).with_extension("toml");
        let sweep = Sweep::from_toml(&std::fs::read_to_string(&path).unwrap(), file, &[]).unwrap();
        for point in sweep.points.into_iter().step_by(3) {
            if point.scenario.clock != Clock::Nanoseconds {
                continue;
            }
            let closed = answer_scenario(&point.scenario);
            let by_packets =
                run_queued(&point.scenario, u64::from(u32::MAX), |link| Box::new(Fifo::new(link)));
            // Each packet's sending time is rounded, or that of all together.
            for (one, other) in closed.link_samples.queue_ms.iter().zip(&by_packets.link_samples.queue_ms) {
                assert!((one - other).abs() <= 1e-4 * one + 1e-4, "{one} {other}");
            }
            let (closed, by_packets) = (text(closed), text(by_packets));
            let differ = closed.lines().zip(by_packets.lines()).find(|(one, other)| one != other);
            assert_eq!(differ, None, "{file} {:?}", point.values);
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

const ONE_FLOW: &str = r#"
    duration = "2 s"
    [[chain]]
    rate = "12 Mbps"
    delay = "10 ms"
    buffer = 1000
    [[flows]]
    cca = { name = "fixed", window = 15 }
    packet = "1434 bytes"
    stack = { ack_every = 1 }
"#;

#[test]
fn a_discipline_drops_every_tenth_packet_at_its_departure() {
    let make =
        |link: &Link| -> Box<dyn Discipline> { Box::new(EveryTenth { queue: Fifo::new(link), asked: 0 }) };
    let scenario = read(ONE_FLOW);
    let run = run_queued(&scenario, u64::from(u32::MAX), make);
    let (flow, link) = (&run.flows[0], &run.links[0]);
    let passed = flow.sent_pkts - link.dropped_pkts;
    assert!(link.dropped_pkts > 50);
    assert!(
        (passed / 9).abs_diff(link.dropped_pkts) <= 2,
        "one in ten: {} of {}",
        link.dropped_pkts,
        flow.sent_pkts
    );
    assert_eq!(flow.lost_pkts, link.dropped_pkts);
    assert_eq!(text(run), text(run_queued(&scenario, 1, make)), "event by event");
}

#[test]
fn a_discipline_says_when_it_is_to_be_asked_again() {
    let make = |link: &Link| -> Box<dyn Discipline> { Box::new(Slow { queue: Fifo::new(link), next_ns: 0 }) };
    let scenario = read(&ONE_FLOW.replace("12 Mbps", "120 Mbps"));
    let run = run_queued(&scenario, u64::from(u32::MAX), make);
    // 15 in flight would take 20.1 ms; one for each millisecond goes out, though the link could send ten.
    let delivered = run.flows[0].delivered_pkts;
    assert!((1480..=1490).contains(&delivered), "15 in 20.1 ms: {delivered}");
    assert_eq!(text(run), text(run_queued(&scenario, 1, make)), "event by event");
}

/// The text of a scenario whose links are closed forms, and the same with one that goes through its packets.
fn both_ways(keys: &str, flow: &str) -> [Run; 2] {
    ["", "policer = { rate = '9 Gbps', burst = '1000 MiB' }"].map(|policer| {
        answer_scenario(&read(&format!(
            "duration = '100 ms'\nsamples = 'off'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '5 ms'\nbuffer = 'unlimited'\n\
             {keys}\n{policer}\n[[flows]]\n{flow}\n"
        )))
    })
}

#[test]
fn losses_and_waits_count_when_a_packet_begins_to_be_sent() {
    // 50 Mbps of datagrams into 10 Mbps: the link begins 83 packets of 1.2112 ms in 100 ms, and the last of them has waited for
    // four fifths of that time.
    let [closed, managed] = both_ways("per = 0.2", "cca = 'udp'\napp_rate = '50 Mbps'");
    let link = &closed.links[1];
    assert_eq!((link.error_pkts, link.delivered_pkts + link.error_pkts), (16, 78), "5 are on the wire");
    assert!((link.p95_queue_ms.unwrap() - 0.8 * 98.0).abs() < 2.0, "{link:?}");
    assert_eq!(
        (link.error_pkts, link.p95_queue_ms),
        (managed.links[1].error_pkts, managed.links[1].p95_queue_ms)
    );
    for run in [closed, managed] {
        assert_eq!((run.flows[0].lost_pkts, run.flows[0].loss_ratio), (16, 16.0 / 432.0));
    }
}

#[test]
fn marks_count_when_a_packet_begins_to_be_sent() {
    let stack = "cca = 'reno'\nstack = { ecn = 'classic', initial_window = 200 }";
    let [closed, managed] = both_ways("ecn_threshold = '3 packets'", stack);
    // 83 have begun, of which the first three were not marked.
    assert_eq!([closed.links[1].marked_pkts, managed.links[1].marked_pkts], [80, 80]);
    assert_eq!(closed.flows[0].marked_pkts, 75, "78 have arrived");
}
