//! The network namespaces of a plan.

use crate::way::{Way, wire_delay_ns, wire_sends};
use cwnd_scenario::{Flow, Link, Pacing, Scenario};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Namespaces: a host for each sender, and one wherever links meet. Receivers are where their last link ends, or behind that
/// node if their ACKs queue there: a kernel that drops a packet of its own, as no router does, lets the connection know.
pub struct Nodes {
    /// The node where a link begins and the one where it ends.
    pub ends: BTreeMap<usize, (usize, usize)>,
    /// A node for a link's wire, where it loses or delays packets.
    pub wires: BTreeMap<usize, usize>,
    /// The sender's host, and a node between it and its access link if packets are paced there.
    pub hosts: Vec<(usize, Option<usize>)>,
    /// By the node where their last link ends, the node of the receivers behind it.
    pub sinks: BTreeMap<usize, usize>,
    pub count: usize,
}

impl Nodes {
    pub fn of(scenario: &Scenario, ways: &[Way], both_ways: bool) -> Nodes {
        // Each link has two ends. Where a path goes from one link to the next, the ends that meet are one node.
        let mut of: Vec<usize> = (0..2 * scenario.links.len()).collect();
        fn find(of: &[usize], mut end: usize) -> usize {
            while of[end] != end {
                end = of[end];
            }
            end
        }
        let join = |of: &mut Vec<usize>, one: usize, other: usize| {
            let (one, other) = (find(of, one), find(of, other));
            of[other.max(one)] = one.min(other);
        };
        for (flow, way) in scenario.flows.iter().zip(ways) {
            let back: Vec<usize> = flow.reverse_path.iter().map(|&link| link as usize).collect();
            for pair in way.links.windows(2).chain(back.windows(2)) {
                join(&mut of, 2 * pair[0] + 1, 2 * pair[1]);
            }
            if let (Some(last), Some(first)) = (way.links.last(), back.first()) {
                join(&mut of, 2 * last + 1, 2 * first);
            }
        }
        let mut numbers = BTreeMap::new();
        let mut number = |end: usize| {
            let next = numbers.len();
            *numbers.entry(find(&of, end)).or_insert(next)
        };
        let mut ends = BTreeMap::new();
        for (flow, way) in scenario.flows.iter().zip(ways) {
            for link in way.links.iter().copied().chain(flow.reverse_path.iter().map(|&link| link as usize)) {
                ends.entry(link).or_insert_with(|| (number(2 * link), number(2 * link + 1)));
            }
        }
        let mut count = numbers.len();
        let mut next = || {
            count += 1;
            count - 1
        };
        let has_wire = |link: &Link| {
            link.per > 0.0
                || link.impairments.is_some()
                || wire_delay_ns(link, both_ways) > 0
                || wire_sends(link, both_ways)
        };
        let wires = ends
            .keys()
            .filter(|&&link| has_wire(&scenario.links[link]))
            .map(|&link| (link, next()))
            .collect();
        let hosts = scenario
            .flows
            .iter()
            .map(|flow| (next(), (flow.stack.pacing == Pacing::Fq).then(&mut next)))
            .collect();
        let mut nodes = Nodes { ends, wires, hosts, sinks: BTreeMap::new(), count };
        for (_, way) in scenario.flows.iter().zip(ways).filter(|(flow, _)| !flow.reverse_path.is_empty()) {
            let last = nodes.last(way);
            if let Entry::Vacant(sink) = nodes.sinks.entry(last) {
                sink.insert(nodes.count);
                nodes.count += 1;
            }
        }
        nodes
    }

    /// Where the last link of a path ends.
    pub fn last(&self, way: &Way) -> usize {
        self.ends[way.links.last().expect("a path has a link")].1
    }

    /// Where the receiver of a flow with this path is.
    pub fn sink(&self, flow: &Flow, way: &Way) -> usize {
        let last = self.last(way);
        if flow.reverse_path.is_empty() { last } else { self.sinks[&last] }
    }
}
