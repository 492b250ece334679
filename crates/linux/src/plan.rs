//! A scenario as a guest's plan: namespaces, devices, routes, queues and flows, a command a line (guest/main.c).

use crate::Error;
use crate::calls;
use crate::filter;
use crate::nodes::Nodes;
use crate::probes::{self, Burst, Trip};
use crate::queue::{self, Netem, Qdisc};
use crate::refusal;
use crate::resources::{memory_bytes, quick_acks_beyond, speed};
use crate::way::{TIMESTAMP_BYTES, Way, overhead_bytes, way, wire_delay_ns, wire_sends};
use cwnd_scenario::{Ecn, Flow, Impairments, Pacing, Samples, Scenario, Size};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The longest time between two looks at flows and links.
const TICK_NS: u64 = 5_000_000;
/// Rate of a wire whose jitter keeps the order: a packet takes 0.1 µs.
const IN_ORDER_BPS: u64 = 100_000_000_000;

/// Whose algorithms run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithms {
    /// The kernel's where it has one of the name and the scenario leaves its parameters alone; else this project's.
    Kernel,
    /// This project's, as eBPF.
    Ours,
}

impl Algorithms {
    /// The name of the world where they run, in results.
    pub fn world(self) -> &'static str {
        match self {
            Algorithms::Kernel => "linux",
            Algorithms::Ours => "linux-ebpf",
        }
    }
}

/// One run as a guest gets it.
pub struct Plan {
    pub world: &'static str,
    pub text: String,
    /// Kernel modules that the devices, queues and algorithms of `text` need.
    pub modules: Vec<String>,
    /// Instructions that the processor does in a nanosecond.
    pub speed: u32,
    pub memory_mib: u64,
    /// The algorithms of this project: the name that sockets choose, and a flow that has the algorithm and its parameters.
    pub programs: Vec<(String, usize)>,
    /// The links whose queues the guest watches, by their index in the scenario; after them, those whose wires it watches.
    pub watched: Vec<usize>,
    pub wires: Vec<usize>,
    /// Measurements of the paths' RTTs before the run. `bursts` measure rates and queues; `unmeasured` has in words what neither
    /// measures.
    pub trips: Vec<Trip>,
    pub bursts: Vec<Burst>,
    pub unmeasured: Vec<String>,
    /// Where a flow starts, with its jitter.
    pub starts_ns: Vec<u64>,
    /// Approximate number of segments that each flow's receiver acknowledges one by one, where its memory for the path makes
    /// them more than the scenario has.
    pub quick_acks_pkts: Vec<Option<u32>>,
}

/// `seed` is that of the run.
pub fn write(scenario: &Scenario, seed: u64, algorithms: Algorithms) -> Result<Plan, Error> {
    refusal::check(scenario)?;
    let both_ways = has_data_both_ways(scenario);
    let ways: Vec<Way> = scenario.flows.iter().map(|flow| way(scenario, flow, both_ways)).collect();
    let queued: BTreeSet<usize> = ways.iter().flat_map(|way| way.links.iter().copied()).collect();
    let reverse = scenario.flows.iter().flat_map(|flow| &flow.reverse_path).map(|&link| link as usize);
    let watched: Vec<usize> =
        queued.into_iter().chain(reverse).collect::<BTreeSet<_>>().into_iter().collect();
    let nodes = Nodes::of(scenario, &ways, both_ways);
    let rooms_bytes = rooms_bytes(scenario, &ways, &nodes);
    let mut writer = Writer { scenario, seed, both_ways, text: String::new(), nodes, rooms_bytes };
    let starts_ns = scenario.flows.iter().enumerate().map(|(i, flow)| start_ns(flow, i, seed)).collect();
    writer.add_nodes();
    for &link in &watched {
        writer.add_link(link);
    }
    let mut programs: Vec<(String, usize)> = Vec::new();
    let mut modules = BTreeSet::from(["veth", "sch_netem"].map(str::to_owned));
    let mut names = Vec::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        let own = linux_name(flow).filter(|_| algorithms == Algorithms::Kernel);
        names.push(match own {
            Some(name) => {
                modules.extend((!BUILT_IN.contains(&name.as_str())).then(|| format!("tcp_{name}")));
                name
            }
            None => {
                let same = programs.iter().find(|(_, other)| scenario.flows[*other].cca == flow.cca);
                let name = same.map_or_else(|| format!("cwnd_{i}"), |(name, _)| name.clone());
                if same.is_none() {
                    programs.push((name.clone(), i));
                }
                name
            }
        });
        if flow.stack.pacing == Pacing::Fq {
            modules.insert("sch_fq".to_owned());
        }
        if flow.stack.ecn == Ecn::Dctcp {
            modules.insert("tcp_dctcp".to_owned());
        }
    }
    for (i, way) in ways.iter().enumerate() {
        writer.add_flow(i, way);
    }
    for &link in &watched {
        let link = &scenario.links[link];
        if queue::is_shaped(link) {
            modules.insert("sch_htb".to_owned());
        }
        modules.extend(link.queue.as_ref().map(|queue| format!("sch_{}", module_of(queue))));
    }
    let bursts = probes::bursts(scenario, &ways);
    let mut plan = Plan {
        world: algorithms.world(),
        text: String::new(),
        modules: modules.into_iter().collect(),
        speed: speed(scenario, &ways)?,
        memory_mib: 512 + writer.rooms_bytes.iter().sum::<u64>() / 500_000,
        programs,
        wires: writer.nodes.wires.keys().copied().collect(),
        trips: probes::trips(scenario, &ways),
        unmeasured: probes::unmeasured(scenario, &watched, &bursts),
        bursts,
        watched,
        starts_ns,
        quick_acks_pkts: (scenario.flows.iter().zip(&writer.rooms_bytes))
            .map(|(flow, &room_bytes)| quick_acks_beyond(flow, room_bytes))
            .collect(),
    };
    writer.add_traffic(&plan, &ways, &names);
    plan.text = writer.text;
    Ok(plan)
}

const BUILT_IN: [&str; 2] = ["reno", "cubic"];
/// Algorithms that the kernel has as modules.
const MODULES: [&str; 11] = [
    "bbr",
    "bic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "scalable",
    "vegas",
    "westwood",
    "yeah",
];

/// The name of the kernel's own algorithm, if it has one and the parameters are its.
fn linux_name(flow: &Flow) -> Option<String> {
    let name = flow.cca.algorithm.as_str();
    let known = BUILT_IN.contains(&name) || MODULES.contains(&name);
    (known && flow.cca.is_as_in_linux()).then(|| name.to_owned())
}

fn module_of(queue: &cwnd_scenario::Queue) -> &'static str {
    use cwnd_scenario::Queue;
    match queue {
        Queue::Red(_) => "red",
        Queue::Codel(_) => "codel",
        Queue::FqCodel(_) => "fq_codel",
        Queue::Pie(_) => "pie",
        Queue::DualPi2(_) => "dualpi2",
    }
}

/// A uniform time below the jitter, by the seed.
fn start_ns(flow: &Flow, index: usize, seed: u64) -> u64 {
    if flow.start_jitter_ns == 0 {
        return flow.start_ns;
    }
    flow.start_ns + mix(seed ^ mix(index as u64)) % flow.start_jitter_ns
}

/// SplitMix64 (Steele, Lea and Flood 2014): a step.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns true if data of some flow crosses a link that ACKs of another cross.
fn has_data_both_ways(scenario: &Scenario) -> bool {
    let back: BTreeSet<u32> =
        scenario.flows.iter().flat_map(|flow| flow.reverse_path.iter().copied()).collect();
    scenario.flows.iter().flat_map(|flow| &flow.path).any(|link| back.contains(link))
}

fn mtu(flow: &Flow) -> u32 {
    flow.payload_bytes + 40 + if flow.stack.timestamps { TIMESTAMP_BYTES } else { 0 }
}

struct Writer<'a> {
    scenario: &'a Scenario,
    seed: u64,
    both_ways: bool,
    text: String,
    nodes: Nodes,
    /// Memory of each flow's receiver.
    rooms_bytes: Vec<u64>,
}

/// The memory of each flow's receiver: receivers that share a node have that of the one that needs most.
fn rooms_bytes(scenario: &Scenario, ways: &[Way], nodes: &Nodes) -> Vec<u64> {
    let own: Vec<u64> = ways.iter().enumerate().map(|(i, way)| memory_bytes(scenario, i, way)).collect();
    let sinks: Vec<usize> =
        scenario.flows.iter().zip(ways).map(|(flow, way)| nodes.sink(flow, way)).collect();
    let most = |node| sinks.iter().zip(&own).filter(|(sink, _)| **sink == node).map(|(_, &room)| room).max();
    sinks.iter().map(|&sink| most(sink).expect("its own")).collect()
}

/// The addresses of a flow's sender and receiver.
fn addresses(flow: usize) -> (String, String) {
    let (high, low) = (flow / 250, flow % 250 + 1);
    (format!("10.1.{high}.{low}"), format!("10.2.{high}.{low}"))
}

impl Writer<'_> {
    fn line(&mut self, line: std::fmt::Arguments) {
        self.text.write_fmt(line).and_then(|()| self.text.write_char('\n')).expect("a String takes all");
    }

    fn add_nodes(&mut self) {
        for node in 0..self.nodes.count {
            self.line(format_args!("node {node}"));
            self.line(format_args!("sysctl {node} net/ipv4/ip_forward 1"));
            // The way of a packet and that of its ACK need not have a device in common.
            self.line(format_args!("sysctl {node} net/ipv4/conf/all/rp_filter 0"));
        }
        let mtu = self.largest_mtu();
        for (last, sink) in self.nodes.sinks.clone() {
            self.line(format_args!("pair {last} d{last} {sink} e{last} {mtu}"));
        }
    }

    fn largest_mtu(&self) -> u32 {
        self.scenario.flows.iter().map(mtu).max().expect("a scenario has flows")
    }

    fn add_qdisc(&mut self, node: usize, device: &str, qdisc: &Qdisc) {
        let command = if qdisc.is_class { "class" } else { "qdisc" };
        let hex: String = qdisc.options.iter().map(|byte| format!("{byte:02x}")).collect();
        let options = if hex.is_empty() { "-" } else { &hex };
        let (parent, handle, kind) = (qdisc.parent, qdisc.handle, qdisc.kind);
        self.line(format_args!("{command} {node} {device} {parent:#x} {handle:#x} {kind} {options}"));
    }

    /// The devices of a link: `l` where it begins, `w` where the wire loses packets.
    fn add_link(&mut self, index: usize) {
        let link = &self.scenario.links[index];
        let (from, to) = self.nodes.ends[&index];
        let mtu = self.largest_mtu();
        let flow = self.scenario.first_flow_at(index as u32);
        let wire = self.nodes.wires.get(&index).copied();
        let behind = wire.unwrap_or(to);
        self.line(format_args!("pair {from} l{index} {behind} m{index} {mtu}"));
        if let Some(wire) = wire {
            self.line(format_args!("pair {wire} w{index} {to} x{index} {mtu}"));
            let impairments = link.impairments.as_deref().cloned().unwrap_or_default();
            let jitter_ns = impairments.jitter.map_or(0, |jitter| jitter.most_ns());
            // A netem with a rate keeps the order.
            let keeps_order = impairments.jitter.is_some_and(|jitter| !jitter.reorder);
            let (rate_bps, overhead_bytes) = if wire_sends(link, self.both_ways) {
                (link.rate_bps, overhead_bytes(flow))
            } else {
                (if keeps_order { IN_ORDER_BPS } else { 0 }, 0)
            };
            let netem = Netem {
                rate_bps,
                overhead_bytes,
                delay_ns: wire_delay_ns(link, self.both_ways),
                jitter_ns,
                reorder: impairments.reorder,
                limit_pkts: queue::UNLIMITED_PKTS,
                loss: link.per,
                bursts: impairments.gilbert_elliott,
                seed: mix(self.seed ^ mix(index as u64 + 1)),
            };
            self.add_qdisc(wire, &format!("w{index}"), &netem.qdisc());
            if filter::is_needed(&impairments) {
                self.add_filter(index, wire, &impairments);
            }
        }
        let qdiscs = queue::of_link(link, flow.packet_bytes(), overhead_bytes(flow));
        for qdisc in &qdiscs {
            self.add_qdisc(from, &format!("l{index}"), qdisc);
        }
        let holder = qdiscs.last().expect("a link has a queue");
        // The packet being sent is in a netem's queue, and not in a shaper's class.
        let beside = u32::from(queue::is_shaped(link));
        self.line(format_args!("link {from} l{index} {:#x} {beside} 0", holder.handle));
    }

    /// A program where the wire begins, behind the link's queue.
    fn add_filter(&mut self, link: usize, wire: usize, impairments: &Impairments) {
        for call in filter::calls(self.scenario, link, impairments) {
            self.text += &calls::line(&call);
        }
        let (counts, program) = filter::descriptors(link);
        self.line(format_args!("filter {wire} m{link} {program} {counts}"));
    }

    /// Routes along links, from the first to the last.
    fn add_routes(&mut self, links: &[usize], to: &str) {
        for link in links {
            let (from, _) = self.nodes.ends[link];
            self.line(format_args!("route {from} {to} 0.0.0.0 l{link} 0 0 0 0"));
            self.add_wire_route(*link, to);
        }
    }

    fn add_wire_route(&mut self, link: usize, to: &str) {
        if let Some(wire) = self.nodes.wires.get(&link).copied() {
            self.line(format_args!("route {wire} {to} 0.0.0.0 w{link} 0 0 0 0"));
        }
    }

    fn add_flow(&mut self, index: usize, way: &Way) {
        let flow = &self.scenario.flows[index];
        let (sender, receiver) = addresses(index);
        let (host, pacer) = self.nodes.hosts[index];
        let (mtu, mss_mtu) = (self.largest_mtu(), mtu(flow));
        let first = self.nodes.ends[way.links.first().expect("a path has a link")].0;
        let (sink, last) = (self.nodes.sink(flow, way), self.nodes.last(way));
        let back: Vec<usize> = flow.reverse_path.iter().map(|&link| link as usize).collect();
        let last_back = back.last().map_or(last, |link| self.nodes.ends[link].1);

        self.line(format_args!("address {host} {sender}"));
        self.line(format_args!("address {sink} {receiver}"));
        // The way there: the host's device, where its access link is, then the links.
        let access_node = pacer.unwrap_or(host);
        self.line(format_args!("pair {access_node} a{index} {first} b{index} {mss_mtu}"));
        if let Some(pacer) = pacer {
            self.line(format_args!("pair {host} p{index} {pacer} q{index} {mss_mtu}"));
            let fq = Qdisc {
                is_class: false,
                parent: queue::ROOT,
                handle: queue::FIRST,
                kind: "fq",
                options: Vec::new(),
            };
            self.add_qdisc(host, &format!("p{index}"), &fq);
            self.line(format_args!("route {pacer} {receiver} 0.0.0.0 a{index} 0 0 0 0"));
        }
        let rate_bps = way.access.map_or(0, |link| self.scenario.links[link].rate_bps);
        let delay_ns = way.delay_ns - way.wires_ns;
        if rate_bps > 0 || delay_ns > 0 {
            let netem = Netem {
                rate_bps,
                overhead_bytes: overhead_bytes(flow),
                delay_ns,
                limit_pkts: queue::UNLIMITED_PKTS,
                ..Netem::default()
            };
            self.add_qdisc(access_node, &format!("a{index}"), &netem.qdisc());
        }
        let device = if pacer.is_some() { "p" } else { "a" };
        let window = flow.stack.initial_window_pkts;
        let rto_ms = flow.stack.min_rto_ns / 1_000_000;
        let ssthresh = flow.stack.initial_ssthresh_pkts.unwrap_or(0);
        self.line(format_args!(
            "route {host} {receiver} {sender} {device}{index} {window} 0 {rto_ms} {ssthresh}"
        ));
        self.add_routes(&way.links, &receiver);
        // The way back: links if it has any, then a constant delay.
        self.line(format_args!("pair {last_back} r{index} {host} s{index} {mtu}"));
        let delay_ns = way.back_delay_ns - way.back_wires_ns;
        if delay_ns > 0 {
            let netem = Netem { delay_ns, limit_pkts: queue::UNLIMITED_PKTS, ..Netem::default() };
            self.add_qdisc(last_back, &format!("r{index}"), &netem.qdisc());
        }
        let quick = u32::from(flow.stack.ack_every_pkts == 1);
        if let [first_back, ..] = back[..] {
            self.line(format_args!("route {last} {receiver} 0.0.0.0 d{last} 0 0 0 0"));
            self.line(format_args!("route {sink} {sender} {receiver} e{last} 0 {quick} 0 0"));
            self.line(format_args!("route {last} {sender} 0.0.0.0 l{first_back} 0 0 0 0"));
            self.add_wire_route(first_back, &sender);
            self.add_routes(&back[1..], &sender);
            self.line(format_args!("route {last_back} {sender} 0.0.0.0 r{index} 0 0 0 0"));
        } else {
            self.line(format_args!("route {sink} {sender} {receiver} r{index} 0 {quick} 0 0"));
        }
        let room = self.rooms_bytes[index];
        self.add_settings(
            host,
            &[
                ("tcp_no_metrics_save", u32::from(ssthresh == 0).to_string()),
                ("tcp_no_ssthresh_metrics_save", u32::from(ssthresh == 0).to_string()),
                ("tcp_timestamps", u32::from(flow.stack.timestamps).to_string()),
                ("tcp_slow_start_after_idle", u32::from(flow.stack.idle_restart).to_string()),
                ("tcp_ecn", u32::from(flow.stack.ecn != Ecn::Off).to_string()),
                // All that the receiver's window admits, in segments as they are in memory.
                ("tcp_wmem", format!("4096 16384 {}", room * 3 / 2)),
            ],
        );
        // Receivers may share a node, and do what their senders ask for.
        const ECN_IF_ASKED: u32 = 2;
        self.add_settings(
            sink,
            &[
                ("tcp_no_metrics_save", "1".to_owned()),
                ("tcp_ecn", ECN_IF_ASKED.to_string()),
                // From the first segment on: a window that opens step by step is another limit than the scenario has.
                ("tcp_rmem", format!("4096 {room} {room}")),
            ],
        );
    }

    fn add_settings(&mut self, node: usize, settings: &[(&str, String)]) {
        for (key, value) in settings {
            self.line(format_args!("sysctl {node} net/ipv4/{key} {value}"));
        }
    }

    fn add_traffic(&mut self, plan: &Plan, ways: &[Way], names: &[String]) {
        let scenario = self.scenario;
        for wire in &plan.wires {
            let node = self.nodes.wires[wire];
            let impairments = self.scenario.links[*wire].impairments.as_deref();
            let has_filter = impairments.is_some_and(filter::is_needed);
            let counts = if has_filter { filter::descriptors(*wire).0 } else { 0 };
            self.line(format_args!("link {node} w{wire} {:#x} 0 {counts}", queue::FIRST));
        }
        for (i, flow) in scenario.flows.iter().enumerate() {
            let sink = self.nodes.sink(flow, &ways[i]);
            let size = match flow.size() {
                Some(Size::Fixed { bytes }) => *bytes,
                _ => 0,
            };
            let (host, _) = self.nodes.hosts[i];
            let (start, stop) = (plan.starts_ns[i], flow.stop_ns);
            let rate = flow.app_rate_bps.unwrap_or(0);
            let window = flow.receive_window_bytes().unwrap_or(0);
            let (_, receiver) = addresses(i);
            let has_ecn = u32::from(flow.stack.ecn != Ecn::Off);
            let echoes_each = u32::from(flow.stack.ecn == Ecn::Dctcp);
            let has_ssthresh = u32::from(flow.stack.initial_ssthresh_pkts.is_some());
            self.line(format_args!(
                "flow {host} {sink} {receiver} {} {start} {stop} {size} {rate} {} {window} {has_ecn} {echoes_each} \
                 {has_ssthresh}",
                names[i], flow.payload_bytes
            ));
        }
        for trip in &plan.trips {
            self.line(format_args!("trip {}", trip.flow));
        }
        for burst in &plan.bursts {
            let link =
                plan.watched.iter().position(|&link| link == burst.link).expect("a path's links are watched");
            let wait_ns = burst.wait_ns(&plan.trips);
            let size = mtu(&scenario.flows[burst.flow]) - 28;
            let (flow, is_back, pkts) = (burst.flow, u32::from(burst.is_back), burst.pkts);
            self.line(format_args!("burst {flow} {link} {is_back} {pkts} {size} {wait_ns}"));
        }
        let sample_ns = match scenario.samples {
            Samples::Interval { interval_ns } => interval_ns,
            _ => 0,
        };
        let tick_ns = tick_ns(sample_ns, scenario.flows.len());
        self.line(format_args!("run {} {} {sample_ns} {tick_ns}", scenario.duration_ns, scenario.warmup_ns));
    }
}

/// A part of the interval of samples that is no longer than [`TICK_NS`], or longer with many flows: to look takes time.
fn tick_ns(sample_ns: u64, flows: usize) -> u64 {
    let wanted = TICK_NS * (flows as u64).div_ceil(8);
    if sample_ns == 0 { wanted } else { sample_ns / sample_ns.div_ceil(wanted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_has_its_delay_and_a_route_behind_each_of_its_wires() {
        let text = "duration = '5 s'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\n\
                    reverse = { rate = '1 Mbps', delay = '35 ms', buffer = 50, per = 0.01 }\n[[flows]]\ncca = 'reno'";
        let scenario = Scenario::from_toml(text, "test.toml", &[]).unwrap();
        let plan = write(&scenario, 1, Algorithms::Kernel).unwrap();
        let lines = |begin: &str, with: &str| {
            plan.text.lines().filter(|line| line.starts_with(begin) && line.contains(with)).count()
        };
        let reverse = scenario.flows[0].reverse_path[0];
        let (sender, _) = addresses(0);
        assert_eq!(lines("route", &format!("{sender} 0.0.0.0 w{reverse}")), 1, "{}", plan.text);
        let way = way(&scenario, &scenario.flows[0], false);
        assert!(way.back_delay_ns >= 35_000_000, "{}", way.back_delay_ns);
        let (delay_ns, limit_pkts) = (way.back_delay_ns, queue::UNLIMITED_PKTS);
        let netem = Netem { delay_ns, limit_pkts, ..Netem::default() };
        let hex: String = netem.qdisc().options.iter().map(|byte| format!("{byte:02x}")).collect();
        let back = plan.text.lines().find(|line| line.starts_with("qdisc") && line.contains(" r0 "));
        assert!(back.is_some_and(|line| line.ends_with(&hex)), "{}", plan.text);
    }

    #[test]
    fn acks_leave_the_receivers_node_before_they_queue() {
        let plan_of = |reverse: &str| {
            let text = format!(
                "duration = '5 s'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\n{reverse}\n\
                 [[flows]]\ncca = 'reno'"
            );
            write(&Scenario::from_toml(&text, "test.toml", &[]).unwrap(), 1, Algorithms::Kernel).unwrap()
        };
        let (sender, receiver) = addresses(0);
        let node_of = |plan: &Plan, begin: &str, end: &str| -> String {
            let words = plan.text.lines().filter(|line| line.starts_with(begin) && line.contains(end));
            words.map(|line| line.split(' ').nth(1).unwrap()).collect()
        };
        let queued = plan_of("reverse = { rate = '1 Mbps', buffer = 50 }");
        let receivers = node_of(&queued, "address", &receiver);
        assert_ne!(receivers, node_of(&queued, "route", &format!("{sender} 0.0.0.0 l1 ")));
        assert_eq!(receivers, node_of(&queued, "route", &format!("{sender} {receiver} e")));
        let plain = plan_of("");
        assert_eq!(
            node_of(&plain, "address", &receiver),
            node_of(&plain, "route", &format!("{sender} {receiver} r"))
        );
    }

    #[test]
    fn receivers_that_share_a_node_do_what_each_sender_asks_for() {
        let text = "duration = '5 s'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\n\
                    [[flows]]\ncca = 'reno'\nstack = { ecn = true }\n[[flows]]\ncca = 'reno'\naccess_delay = '80 ms'";
        let scenario = Scenario::from_toml(text, "test.toml", &[]).unwrap();
        let plan = write(&scenario, 1, Algorithms::Kernel).unwrap();
        let of = |key: &str| -> Vec<&str> {
            plan.text.lines().filter_map(|line| line.split_once(key)).map(|(_, value)| value.trim()).collect()
        };
        assert_eq!(of("net/ipv4/tcp_ecn"), ["1", "2", "0", "2"]);
        let rooms = of("net/ipv4/tcp_rmem");
        assert_eq!((rooms.len(), rooms[0]), (2, rooms[1]));
    }

    #[test]
    fn where_flows_go_both_ways_each_link_has_its_delay_behind_its_queue() {
        let plan_of = |direction: &str| {
            let text = format!(
                "duration = '5 s'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\n\
                 reverse = {{ rate = '9 Mbps', delay = '15 ms', buffer = 40 }}\n[[flows]]\ncca = 'reno'\n\
                 [[flows]]\ncca = 'reno'\ndirection = '{direction}'"
            );
            let scenario = Scenario::from_toml(&text, "test.toml", &[]).unwrap();
            write(&scenario, 1, Algorithms::Kernel).unwrap()
        };
        let wires = |plan: &Plan| {
            let netem = |delay_ns| Netem { delay_ns, limit_pkts: queue::UNLIMITED_PKTS, ..Netem::default() };
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let delays = [10_000_000, 15_000_000].map(|delay_ns| hex(&netem(delay_ns).qdisc().options));
            let of_wire = |line: &&str| line.starts_with("qdisc") && line.contains(" w");
            delays
                .map(|delay| plan.text.lines().filter(of_wire).filter(|line| line.ends_with(&delay)).count())
        };
        assert_eq!((wires(&plan_of("up")), wires(&plan_of("down"))), ([1, 1], [0, 0]));
    }

    /// Between two queues that packets and ACKs share, it counts where a packet takes the time of its sending.
    #[test]
    fn where_flows_go_both_ways_packets_take_their_sending_behind_a_shaper() {
        let plan_of = |direction: &str| {
            let text = format!(
                "duration = '5 s'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\nqueue = 'codel'\n\
                 reverse = {{ rate = '9 Mbps', buffer = 40 }}\n[[flows]]\ncca = 'reno'\n\
                 [[flows]]\ncca = 'reno'\ndirection = '{direction}'"
            );
            let scenario = Scenario::from_toml(&text, "test.toml", &[]).unwrap();
            let bottleneck = scenario.flows[0].path[1];
            let link = &scenario.links[bottleneck as usize];
            let sending_ns = link.sending_ns(scenario.flows[0].packet_bytes());
            let both_ways = direction == "up";
            let at_host_ns = |way: &Way| way.delay_ns - way.wires_ns;
            let way = way(&scenario, &scenario.flows[0], both_ways);
            let netem = Netem {
                rate_bps: 20_000_000,
                overhead_bytes: overhead_bytes(&scenario.flows[0]),
                delay_ns: link.delay_ns,
                limit_pkts: queue::UNLIMITED_PKTS,
                ..Netem::default()
            };
            let hex: String = netem.qdisc().options.iter().map(|byte| format!("{byte:02x}")).collect();
            let plan = write(&scenario, 1, Algorithms::Kernel).unwrap();
            let wires = plan.text.lines().filter(|line| line.contains(&format!(" w{bottleneck} ")));
            let sends = wires.filter(|line| line.ends_with(&hex)).count();
            (sends, at_host_ns(&way) >= sending_ns, way.delay_ns)
        };
        let (up, down) = (plan_of("up"), plan_of("down"));
        assert_eq!([(up.0, up.1), (down.0, down.1)], [(1, false), (0, true)]);
        assert_eq!(up.2, down.2, "the RTT is the same");
    }
}
