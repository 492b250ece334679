//! The ends of a connection in a loop of their own, beside the same flow in a run.

use crate::common::{answer_scenario, read};
use cwnd_engine::{Codepoint, EmulatedLink, TcpAck, TcpEnds, TcpSegment};
use cwnd_scenario::Scenario;
use std::collections::{HashMap, VecDeque};

/// Sent, retransmitted, dropped and delivered in order, in packets.
#[derive(Debug, PartialEq, Eq)]
struct Outcome([u64; 4]);

/// One flow over one link, event by event. Of events at one time those of the path come first.
fn by_hand(scenario: &Scenario) -> Outcome {
    let flow = &scenario.flows[0];
    let mut ends = TcpEnds::new(scenario, 0, 0, 1).unwrap();
    let mut link = EmulatedLink::new(&scenario.links[0], 1);
    let mut crossing: HashMap<u64, TcpSegment> = HashMap::new();
    let (mut there, mut back) = (VecDeque::new(), VecDeque::<(u64, TcpAck)>::new());
    let (mut sent, mut dropped) = (0, 0);
    let mut now_ns = 0;
    loop {
        let mut send = |segment: TcpSegment, link: &mut EmulatedLink| {
            sent += 1;
            crossing.insert(sent, segment);
            link.accept(now_ns, sent, segment.bytes(), 0, Codepoint::NotEct);
        };
        if ends.sender_due_ns().is_some_and(|due_ns| due_ns <= now_ns)
            && let Some(segment) = ends.wake_sender(now_ns)
        {
            send(segment, &mut link);
        }
        while let Some(segment) = ends.next_segment(now_ns) {
            send(segment, &mut link);
        }
        while let Some(ack) = ends.next_ack() {
            back.push_back((now_ns + flow.return_delay_ns, ack));
        }
        dropped += link.take_dropped().map(|packet| crossing.remove(&packet)).count() as u64;
        let next = [
            link.next_departure_ns(),
            there.front().map(|(at_ns, _)| *at_ns),
            back.front().map(|(at_ns, _)| *at_ns),
            ends.sender_due_ns(),
            ends.receiver_due_ns(),
        ];
        now_ns = next.into_iter().flatten().min().expect("something is to come");
        if now_ns > scenario.duration_ns {
            let in_order = ends.delivered_bytes() / u64::from(flow.payload_bytes);
            return Outcome([sent, ends.retransmissions(), dropped, in_order]);
        }
        if link.next_departure_ns() == Some(now_ns) {
            if let Some(crossed) = link.depart() {
                there.push_back((crossed.at_ns, crossing.remove(&crossed.packet).unwrap()));
            }
        } else if there.front().is_some_and(|(at_ns, _)| *at_ns == now_ns) {
            ends.receive_segment(now_ns, there.pop_front().unwrap().1);
        } else if back.front().is_some_and(|(at_ns, _)| *at_ns == now_ns) {
            ends.receive_ack(now_ns, back.pop_front().unwrap().1);
        } else if ends.receiver_due_ns() == Some(now_ns) {
            ends.wake_receiver(now_ns);
        }
    }
}

fn in_a_run(scenario: &Scenario) -> Outcome {
    let run = answer_scenario(scenario);
    let (flow, link) = (&run.flows[0], &run.links[0]);
    let in_order = flow.goodput_mbps * 1e6 / 8.0 * (scenario.duration_ns as f64 / 1e9);
    let in_order = (in_order / f64::from(scenario.flows[0].payload_bytes)).round() as u64;
    Outcome([flow.sent_pkts, flow.retransmitted_pkts, link.dropped_pkts, in_order])
}

#[test]
fn the_ends_of_a_connection_do_in_a_loop_of_their_own_what_they_do_in_a_run() {
    for (cca, buffer) in [("cubic", 80), ("reno", 30), ("vegas", 200), ("prague", 100)] {
        let scenario = read(&format!(
            "duration = '10 s'\nsamples = 'off'\n[[chain]]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = {buffer}\n\
             [[flows]]\ncca = '{cca}'"
        ));
        assert_eq!(by_hand(&scenario), in_a_run(&scenario), "{cca}");
    }
}

/// Its rate is decided by microseconds: what a lap of timers at one instant does first moves a probe.
#[test]
fn a_paced_connection_does_there_what_it_does_in_a_run_but_for_a_few_packets_on_their_way() {
    let scenario = read(
        "duration = '10 s'\nsamples = 'off'\n[[chain]]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\n[[flows]]\ncca = 'bbr'",
    );
    let (Outcome(loops), Outcome(runs)) = (by_hand(&scenario), in_a_run(&scenario));
    assert_eq!(loops[1..], runs[1..]);
    assert!(loops[0].abs_diff(runs[0]) < 20, "{loops:?} {runs:?}");
}
