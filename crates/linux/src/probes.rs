//! Measurements of the paths before a run.

use crate::queue::{HEADER_BYTES, is_shaped};
use crate::way::{Way, overhead_bytes};
use cwnd_scenario::{Flow, Impairments, Link, Scenario};

/// How long a short packet and its answer should take.
pub struct Trip {
    pub flow: usize,
    pub rtt_ns: u64,
    /// By how much the path's jitter and reordering may change it.
    pub slack_ns: u64,
}

/// Packets that are sent at once, and the rate and the queue that they should find.
pub struct Burst {
    pub flow: usize,
    pub link: usize,
    /// From the flow's receiver to its sender.
    pub is_back: bool,
    /// Rate of the slowest link.
    pub rate_bps: u64,
    /// On the wire, of each packet.
    pub packet_bytes: u32,
    /// Packets that the link's queue holds when it drops one, if that is measured.
    pub limit_pkts: Option<u32>,
    /// At most: none come after the queue has dropped some.
    pub pkts: u64,
}

/// The largest queue that is filled to see when it drops.
const LIMIT_PKTS_MAX: u32 = 50_000;
/// Packets that show a rate, and that no discipline remembers.
const FEW_PKTS: u64 = 12;
/// In a datagram of one byte, Ethernet, IP and UDP have so many less than the headers of TCP.
const LESS_THAN_TCP_BYTES: u32 = 20 - 8 - 1;

impl Burst {
    /// All that the queue holds at the rate, and twice the way.
    pub fn wait_ns(&self, trips: &[Trip]) -> u64 {
        let longest_ns = trips.iter().map(|trip| trip.rtt_ns + trip.slack_ns).max().unwrap_or(0);
        let bits =
            8 * self.pkts.min(self.limit_pkts.map_or(FEW_PKTS, u64::from)) * u64::from(self.packet_bytes);
        (bits as f64 * 1e9 / self.rate_bps.max(1) as f64) as u64 + 2 * longest_ns
    }
}

/// One for each flow whose path is another than those of the flows before it.
pub fn trips(scenario: &Scenario, ways: &[Way]) -> Vec<Trip> {
    let path_of = |index: usize| {
        let way = &ways[index];
        let access_bps = way.access.map(|link| scenario.links[link].rate_bps);
        (access_bps, &way.links, &scenario.flows[index].reverse_path, way.rtt_ns())
    };
    let mut trips: Vec<Trip> = Vec::new();
    for (index, (flow, way)) in scenario.flows.iter().zip(ways).enumerate() {
        if trips.iter().any(|trip| path_of(trip.flow) == path_of(index)) {
            continue;
        }
        let there = way.access.iter().chain(&way.links).map(|&link| &scenario.links[link]);
        let back = flow.reverse_path.iter().map(|&link| &scenario.links[link as usize]);
        let (mut sending_ns, mut slack_ns) = (0, 0);
        for link in there.chain(back) {
            // A shaper's is a part of the way.
            sending_ns += if is_shaped(link) { 0 } else { link.sending_ns(short_bytes(flow)) };
            slack_ns += most_change_ns(link);
        }
        trips.push(Trip { flow: index, rtt_ns: way.rtt_ns() + sending_ns, slack_ns });
    }
    trips
}

/// A datagram of one byte as links count it.
fn short_bytes(flow: &Flow) -> u32 {
    (HEADER_BYTES - LESS_THAN_TCP_BYTES).saturating_add_signed(overhead_bytes(flow))
}

/// By how much a link may change the delay of a packet alone.
fn most_change_ns(link: &Link) -> u64 {
    let Some(wire) = &link.impairments else { return 0 };
    let overtaking_ns = if wire.reorder > 0.0 { link.delay_ns } else { 0 };
    wire.jitter.map_or(0, |jitter| jitter.most_ns()).max(overtaking_ns)
}

/// One for each link that is the slowest of a path, there or back, and whose wires lose no packet and keep their distance.
pub fn bursts(scenario: &Scenario, ways: &[Way]) -> Vec<Burst> {
    let mut bursts: Vec<Burst> = Vec::new();
    for (index, (flow, way)) in scenario.flows.iter().zip(ways).enumerate() {
        let back: Vec<usize> = flow.reverse_path.iter().map(|&link| link as usize).collect();
        for (is_back, links) in [(false, &way.links), (true, &back)] {
            let of = |link: usize| &scenario.links[link];
            let Some(&slowest) = links.iter().min_by_key(|&&link| of(link).rate_bps) else { continue };
            let is_steady = links.iter().all(|&link| is_steady(of(link)));
            if bursts.iter().any(|burst| burst.link == slowest) || !is_steady {
                continue;
            }
            let entering_bps = way.access.filter(|_| !is_back).map(|link| of(link).rate_bps);
            let limit_pkts = limit_pkts(of(slowest), entering_bps).filter(|_| links.len() == 1);
            bursts.push(Burst {
                flow: index,
                link: slowest,
                is_back,
                rate_bps: of(slowest).rate_bps.min(entering_bps.unwrap_or(u64::MAX)),
                packet_bytes: flow.packet_bytes(),
                limit_pkts,
                pkts: limit_pkts.map_or(FEW_PKTS, |limit| u64::from(limit) * 4 + 200),
            });
        }
    }
    bursts
}

/// Datagrams have no number, so that given losses and marks leave them alone.
fn is_steady(link: &Link) -> bool {
    let by_chance = |wire: &Impairments| {
        wire.gilbert_elliott.is_some() || wire.jitter.is_some() || wire.reorder > 0.0 || wire.duplicate > 0.0
    };
    link.per == 0.0 && !link.impairments.as_deref().is_some_and(by_chance)
}

/// Returns the limit that a burst finds at a droptail queue, if it arrives fast enough to fill it.
fn limit_pkts(link: &Link, entering_bps: Option<u64>) -> Option<u32> {
    const TIMES_AS_FAST: u64 = 4;
    let is_fast = entering_bps.is_none_or(|bps| bps >= TIMES_AS_FAST * link.rate_bps);
    link.buffer_pkts.filter(|&limit| !link.is_managed() && is_fast && limit <= LIMIT_PKTS_MAX)
}

/// The rates and queues that no burst measures.
pub fn unmeasured(scenario: &Scenario, watched: &[usize], bursts: &[Burst]) -> Vec<String> {
    let mut unmeasured = Vec::new();
    for &index in watched {
        let name = &scenario.links[index].name;
        match bursts.iter().find(|burst| burst.link == index) {
            None => unmeasured.push(format!("rate and queue of {name}")),
            Some(burst) if burst.limit_pkts.is_none() => unmeasured.push(format!("queue of {name}")),
            Some(_) => {}
        }
    }
    unmeasured
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, Algorithms, Plan};

    fn plan_of(text: &str) -> Plan {
        let scenario = Scenario::from_toml(&format!("duration = '5 s'\n{text}"), "test.toml", &[]).unwrap();
        plan::write(&scenario, 1, Algorithms::Kernel).unwrap()
    }

    #[test]
    fn the_way_back_and_each_flows_own_path_are_measured() {
        let plan = plan_of(
            "[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\n\
             reverse = { rate = '1 Mbps', delay = '30 ms', buffer = 50 }\naccess = { rate = '100 Mbps' }\n\
             [[flows]]\ncca = 'reno'\ncount = 2\n[[flows]]\ncca = 'reno'\naccess_delay = '3 ms'",
        );
        // A datagram of 43 bytes crosses links of 100, 20 and 1 Mbit/s in less than half a millisecond.
        let rtts_ms: Vec<f64> = plan.trips.iter().map(|trip| trip.rtt_ns as f64 / 1e6).collect();
        assert_eq!(rtts_ms.len(), 2, "{rtts_ms:?}");
        assert!((40.0..40.5).contains(&rtts_ms[0]), "{rtts_ms:?}");
        assert!((rtts_ms[1] - rtts_ms[0] - 4.0 * 3.0).abs() < 1e-3, "{rtts_ms:?}");
        let bursts: Vec<_> = plan.bursts.iter().map(|burst| (burst.is_back, burst.limit_pkts)).collect();
        assert_eq!(bursts, [(false, Some(40)), (true, Some(50))]);
        assert!(plan.unmeasured.is_empty(), "{:?}", plan.unmeasured);
    }

    #[test]
    fn what_is_not_measured_is_named() {
        let plan = plan_of(
            "[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\nqueue = { discipline = 'codel' }\n\
             reverse = { rate = '1 Mbps', buffer = 50, per = 0.01 }\n[[flows]]\ncca = 'reno'",
        );
        assert_eq!(plan.unmeasured, ["queue of bottleneck", "rate and queue of reverse"]);
    }
}
