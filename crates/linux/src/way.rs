//! The path of a flow, as a guest has it.

use crate::queue::{HEADER_BYTES, is_shaped};
use cwnd_scenario::{Flow, Link, Scenario};

pub const TIMESTAMP_BYTES: u32 = 12;

/// Parts of a flow's path.
pub struct Way {
    /// An access link of its own, which delays and spaces packets and drops none.
    pub access: Option<usize>,
    /// Links with a queue.
    pub links: Vec<usize>,
    /// Delay of the access link, of all links, and of the links at the end where no packet waits; and the sending of a full
    /// packet by links that leave it out.
    pub delay_ns: u64,
    /// The part of it that wires have themselves.
    pub wires_ns: u64,
    /// From the receiver back to the sender, and its part that wires have.
    pub back_delay_ns: u64,
    pub back_wires_ns: u64,
}

impl Way {
    pub fn rtt_ns(&self) -> u64 {
        self.delay_ns + self.back_delay_ns
    }
}

/// Returns true if the link only spaces and delays the packets of one flow.
fn only_delays(scenario: &Scenario, index: u32) -> bool {
    let link = &scenario.links[index as usize];
    let users =
        scenario.flows.iter().filter(|flow| flow.path.contains(&index) || flow.reverse_path.contains(&index));
    !link.is_managed() && link.per == 0.0 && link.ecn_threshold_pkts.is_none() && users.count() == 1
}

/// The delay of a link where it has its place behind the link's queue, else 0: where it is not the same for all packets, and
/// where flows go both ways, so that the time between the queues of two links counts. Elsewhere all that counts is its part
/// of the RTT.
pub fn wire_delay_ns(link: &Link, both_ways: bool) -> u64 {
    let varies = link.impairments.as_ref().is_some_and(|wire| wire.jitter.is_some() || wire.reorder > 0.0);
    if varies || both_ways { link.delay_ns } else { 0 }
}

/// Returns true if packets take the time of their sending on the wire: a shaper forwards a packet when its sending begins. Elsewhere
/// the sender's host delays packets by the sending of a full one, as by the links' delays.
pub fn wire_sends(link: &Link, both_ways: bool) -> bool {
    both_ways && is_shaped(link) && link.impairments.as_ref().is_none_or(|wire| wire.jitter.is_none())
}

pub fn way(scenario: &Scenario, flow: &Flow, both_ways: bool) -> Way {
    let link = |index: u32| &scenario.links[index as usize];
    let mut rest = &flow.path[..];
    let mut delay_ns = 0;
    // Behind a link that is no faster, no packet of a single flow waits.
    while let [.., before, last] = rest {
        if !only_delays(scenario, *last) || link(*before).rate_bps > link(*last).rate_bps {
            break;
        }
        delay_ns += link(*last).delay_ns + link(*last).sending_ns(flow.packet_bytes());
        rest = &rest[..rest.len() - 1];
    }
    let mut access = None;
    if let [first, _, ..] = rest
        && only_delays(scenario, *first)
        && link(*first).buffer_pkts.is_none()
    {
        access = Some(*first as usize);
        delay_ns += link(*first).delay_ns;
        rest = &rest[1..];
    }
    // A shaper's packets have not waited for their own sending.
    let crossing_ns =
        |link: &Link, bytes| link.delay_ns + if is_shaped(link) { link.sending_ns(bytes) } else { 0 };
    delay_ns += rest.iter().map(|&index| crossing_ns(link(index), flow.packet_bytes())).sum::<u64>();
    let wire_ns = |link: &Link, bytes| {
        wire_delay_ns(link, both_ways) + if wire_sends(link, both_ways) { link.sending_ns(bytes) } else { 0 }
    };
    let wires_ns = rest.iter().map(|&index| wire_ns(link(index), flow.packet_bytes())).sum();
    let back = || flow.reverse_path.iter().map(|&index| link(index));
    Way {
        access,
        links: rest.iter().map(|&index| index as usize).collect(),
        delay_ns,
        wires_ns,
        back_delay_ns: flow.return_delay_ns
            + back().map(|link| crossing_ns(link, flow.stack.ack_bytes)).sum::<u64>(),
        back_wires_ns: back().map(|link| wire_ns(link, flow.stack.ack_bytes)).sum(),
    }
}

/// Returns how many bytes longer the scenario's headers are than the kernel's.
pub fn overhead_bytes(flow: &Flow) -> i32 {
    let options = if flow.stack.timestamps { TIMESTAMP_BYTES } else { 0 };
    flow.stack.header_bytes as i32 - (HEADER_BYTES + options) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes take 8 ms at 1 Mbps, ACKs of 50 at 100 kbps 4 ms.
    #[test]
    fn a_path_has_the_sending_of_a_packet_where_a_shaper_leaves_it_out() {
        let delays_ns = |queue: &str| {
            let text = format!(
                "duration = '5 s'\nstack = {{ header = 50, ack = 50 }}\n[dumbbell]\nrate = '1 Mbps'\ndelay = '10 ms'\n\
                 buffer = 40\nqueue = '{queue}'\n\
                 reverse = {{ rate = '100 kbps', delay = '20 ms', buffer = 40, queue = '{queue}' }}\n\
                 [[flows]]\ncca = 'reno'\npacket = '950 bytes'"
            );
            let scenario = Scenario::from_toml(&text, "test.toml", &[]).unwrap();
            let way = way(&scenario, &scenario.flows[0], false);
            (way.delay_ns, way.back_delay_ns)
        };
        let (delay_ns, back_delay_ns) = delays_ns("droptail");
        assert_eq!(delays_ns("codel"), (delay_ns + 8_000_000, back_delay_ns + 4_000_000));
    }
}
