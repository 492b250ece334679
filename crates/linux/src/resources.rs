//! Resources that a guest needs for a scenario: memory for windows, and a processor that keeps up.

use crate::Error;
use crate::way::Way;
use cwnd_scenario::{Flow, Scenario, receive_memory};
use std::collections::BTreeMap;

/// The kernel's work for a packet that crosses two links and is acknowledged, in instructions: an average.
const INSTRUCTIONS_PER_PACKET: f64 = 27_000.0;
/// For every further link.
const INSTRUCTIONS_PER_LINK: f64 = 6_000.0;
/// The share of the processor's time that a plan may take.
const BUSY_MAX: f64 = 0.6;
/// Hybla's growth in slow start is for an RTT of this length Reno's (its reference RTT).
const HYBLA_RTT_NS: u64 = 25_000_000;

/// Returns the memory that a receiver may use.
pub fn memory_bytes(scenario: &Scenario, index: usize, way: &Way) -> u64 {
    let links = way.links.iter().map(|&link| &scenario.links[link]);
    receive_memory::memory_bytes(&scenario.flows[index], way.rtt_ns(), links)
}

/// About how many segments the receiver acknowledges one by one, where its memory for the path makes them more than the
/// scenario has.
pub fn quick_acks_beyond(flow: &Flow, room_bytes: u64) -> Option<u32> {
    let pkts = receive_memory::quick_acks_pkts(room_bytes, flow.payload_bytes);
    let is_beyond = pkts > flow.stack.quick_acks_pkts
        && flow.stack.receive_window_pkts.is_none()
        && flow.stack.ack_every_pkts > 1;
    is_beyond.then_some(pkts)
}

/// The power of two of instructions per nanosecond that leaves the processor time to spare.
pub fn speed(scenario: &Scenario, ways: &[Way]) -> Result<u32, Error> {
    const SPEED_MAX: u32 = 16;
    let mut pkts_per_s = BTreeMap::new();
    let mut most_per_ack = 1.0_f64;
    for (flow, way) in scenario.flows.iter().zip(ways) {
        let slowest =
            way.links.iter().min_by_key(|&&link| scenario.links[link].rate_bps).expect("a path has a link");
        let rate = scenario.links[*slowest].rate_bps as f64 / 8.0 / f64::from(flow.packet_bytes());
        let links = (way.links.len() + flow.reverse_path.len() - 1) as f64;
        let cost = INSTRUCTIONS_PER_PACKET + links * INSTRUCTIONS_PER_LINK;
        let entry = pkts_per_s.entry(*slowest).or_insert(0.0_f64);
        *entry = entry.max(rate * cost);
        most_per_ack = most_per_ack.max(sent_per_ack(flow, way));
    }
    let per_ns: f64 = pkts_per_s.values().sum::<f64>() / 1e9;
    let needed = per_ns / BUSY_MAX;
    if needed > f64::from(SPEED_MAX) {
        return Err(Error::Unsupported(format!(
            "rate: these links carry packets that take {needed:.0} times the processor of --on linux; at most {SPEED_MAX}"
        )));
    }
    let for_bursts = (needed * most_per_ack).min(f64::from(SPEED_MAX));
    Ok((for_bursts.ceil() as u32).max(1).next_power_of_two())
}

/// Segments that an ACK in slow start lets out, where they are more than the average has room for: a processor that is late
/// then spreads the burst.
fn sent_per_ack(flow: &Flow, way: &Way) -> f64 {
    const MOST: f64 = 16.0;
    if flow.cca.algorithm != "hybla" {
        return 1.0;
    }
    let rtt_ns = way.rtt_ns();
    (rtt_ns as f64 / HYBLA_RTT_NS as f64).exp2().clamp(1.0, MOST)
}

#[cfg(test)]
mod tests {
    use crate::plan::{self, Algorithms, Plan};
    use cwnd_scenario::Scenario;

    fn plan_of(rate: &str, rtt: &str, buffer: u32, flow: &str) -> Plan {
        let text = format!(
            "[dumbbell]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = {buffer}\n[[flows]]\npacket = 1448\n{flow}\n"
        );
        let scenario = Scenario::from_toml(&text, "test.toml", &[]).unwrap();
        plan::write(&scenario, 1, Algorithms::Kernel).unwrap()
    }

    #[test]
    fn a_receiver_has_the_memory_for_the_scenarios_quick_acks() {
        // Linux acknowledged 352 segments one by one with 8 MiB, 427 with 10.2 MB.
        for (pkts, bytes) in [(352, 8_388_160), (600, 14_298_000)] {
            let flow = format!("cca = \"cubic\"\nstack = {{ quick_acks = {pkts} }}");
            let plan = plan_of("20 Mbps", "20 ms", 30, &flow);
            let line = format!("net/ipv4/tcp_rmem 4096 {bytes} {bytes}\n");
            assert_eq!((plan.text.matches(&line).count(), &plan.quick_acks_pkts[..]), (1, &[None][..]));
        }
    }

    #[test]
    fn a_path_that_needs_more_memory_reports_the_quick_acks_that_come_with_it() {
        // 1 Gbps and 100 ms hold 8256 packets of 1514 bytes: three times 16,612 packets of 3,000 bytes.
        let flow = "cca = \"cubic\"\nstack = { header = 66 }";
        let pkts = plan_of("1 Gbps", "100 ms", 8256, flow).quick_acks_pkts[0].unwrap();
        assert!(pkts.abs_diff(149_500_000 / 23_830) < 20, "{pkts}");
        let each = "cca = \"cubic\"\nstack = { header = 66, ack_every = 1 }";
        assert_eq!(plan_of("1 Gbps", "100 ms", 8256, each).quick_acks_pkts, [None]);
    }

    #[test]
    fn hybla_has_a_processor_for_the_bursts_of_its_slow_start() {
        // 8256 packets a second of 27,000 instructions are 0.37 of what may be used; an ACK lets out 16 at 100 ms.
        let of = |cca: &str, rtt: &str| {
            plan_of("100 Mbps", rtt, 208, &format!("cca = \"{cca}\"\nstack = {{ header = 66 }}")).speed
        };
        assert_eq!((of("reno", "100 ms"), of("hybla", "100 ms"), of("hybla", "25 ms")), (1, 8, 1));
    }
}
