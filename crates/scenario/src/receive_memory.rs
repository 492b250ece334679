//! How many segments Linux's receiver acknowledges one by one while its window opens, and the window, from its memory
//! (`tcp_rmem`).
//!
//! The window begins at half of the memory. It opens to the share that payload has of a segment in memory, by about two
//! segments for each that arrives, and each of these is acknowledged at once. ACKs counted in guests with Linux 6.12 have the
//! constants: docs/worlds.md.

use crate::description::bdp_bytes;
use crate::{Flow, Link, Scenario};

/// Memory of a segment besides its payload.
const BESIDE_PAYLOAD_BYTES: u32 = 896;
/// A share is kept in parts of this.
const PARTS: u32 = 256;
/// Segments by which the window opens for one that arrives: 23,830 bytes of memory for each of 1448 bytes.
const OPENED_PKTS: f64 = 23_830.0 * 30.0 / 256.0 / 1448.0;
/// At the start of a connection so many are acknowledged one by one in any case (TCP_MAX_QUICKACKS).
const LEAST_PKTS: u32 = 16;
/// 600 segments of 1448 bytes.
pub const DEFAULT_BYTES: u64 = 14_298_000;

/// A segment in the kernel's memory, with some to spare.
const SEGMENT_BYTES: u64 = 3_000;

/// The share of memory that is payload, in whole parts.
fn share(payload_bytes: u32) -> f64 {
    let parts = u64::from(payload_bytes) * u64::from(PARTS) / u64::from(payload_bytes + BESIDE_PAYLOAD_BYTES);
    parts as f64 / f64::from(PARTS)
}

/// Memory for each segment; infinite for small segments, which open no window.
fn for_one_bytes(payload_bytes: u32) -> f64 {
    let opening = (share(payload_bytes) - 0.5).max(0.0);
    OPENED_PKTS * f64::from(payload_bytes) / opening
}

/// Segments that are acknowledged one by one by a receiver with so much memory.
pub fn quick_acks_pkts(memory_bytes: u64, payload_bytes: u32) -> u32 {
    ((memory_bytes as f64 / for_one_bytes(payload_bytes)).round() as u32).max(LEAST_PKTS)
}

/// The memory with which a receiver acknowledges so many one by one. 0 if it depends on no memory.
pub fn for_quick_acks_bytes(pkts: u32, payload_bytes: u32) -> u64 {
    let for_one_bytes = for_one_bytes(payload_bytes);
    if for_one_bytes.is_finite() { (f64::from(pkts) * for_one_bytes).round() as u64 } else { 0 }
}

/// The memory of the flow's receiver: that of its quick ACKs, or for three times what a path with this RTT holds in flight and in
/// the queues of `links` if that is more. Slow start ends at twice what fits, and less than that share is offered as a window. A
/// link without a limit is taken to queue ten times what is in flight, and 10,000 packets more.
pub fn memory_bytes<'a>(flow: &Flow, rtt_ns: u64, links: impl Iterator<Item = &'a Link> + Clone) -> u64 {
    let packet_bytes = flow.packet_bytes();
    let rate_bps = links.clone().map(|link| link.rate_bps).min().unwrap_or(0);
    let in_flight_pkts = (bdp_bytes(rate_bps, rtt_ns) / f64::from(packet_bytes)) as u64;
    let queued_pkts = links.map(|link| match (link.buffer_bytes, link.buffer_pkts) {
        (Some(bytes), _) => bytes / u64::from(packet_bytes),
        (None, Some(pkts)) => pkts.into(),
        (None, None) => 10 * in_flight_pkts + 10_000,
    });
    let for_path_bytes = 3 * (in_flight_pkts + queued_pkts.sum::<u64>() + 100) * SEGMENT_BYTES;
    for_path_bytes.max(for_quick_acks_bytes(flow.stack.quick_acks_pkts, flow.payload_bytes))
}

/// Segments by which the window of Linux opens for one that arrives.
const OPENS_BY_PKTS: u64 = 2;

/// The window that a receiver offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    /// At the start of a connection, in packets.
    pub at_start_pkts: u32,
    /// Once it has opened, in packets.
    pub pkts: u32,
}

impl ReceiveWindow {
    /// No limit.
    pub const UNLIMITED: ReceiveWindow = ReceiveWindow::fixed(u32::MAX);

    /// A window that is open from the start.
    pub const fn fixed(pkts: u32) -> ReceiveWindow {
        ReceiveWindow { at_start_pkts: pkts, pkts }
    }

    /// The window once so many segments have arrived, in packets.
    #[inline(always)]
    pub fn after(self, arrived_pkts: u64) -> u64 {
        u64::from(self.pkts).min(u64::from(self.at_start_pkts) + OPENS_BY_PKTS * arrived_pkts)
    }
}

impl Flow {
    /// The payload that the receiver allows in flight, where the scenario limits it.
    pub fn receive_window_bytes(&self) -> Option<u64> {
        self.stack.receive_window_pkts.map(|pkts| u64::from(pkts) * u64::from(self.payload_bytes))
    }
}

impl Scenario {
    /// The window that the receiver of a flow offers. Without one of its own a receiver of the profile `linux` offers the share of
    /// its memory that is payload ([`memory_bytes`]), and half of the memory at the start if that is less.
    pub fn receive_window(&self, flow: usize) -> ReceiveWindow {
        let Flow { stack, payload_bytes, path, .. } = &self.flows[flow];
        let links = || path.iter().map(|&link| &self.links[link as usize]);
        if let Some(pkts) = stack.receive_window_pkts {
            return ReceiveWindow::fixed(pkts);
        }
        if !stack.is_linux() || links().any(|link| link.variation.is_some()) {
            return ReceiveWindow::UNLIMITED;
        }
        // Nothing waits at a faster link without a limit.
        let slowest_bps = self.bottleneck(flow).rate_bps;
        let is_limited = |link: &&Link| link.buffer_bytes.is_some() || link.buffer_pkts.is_some();
        let queues = links().filter(|link| is_limited(link) || link.rate_bps == slowest_bps);
        let memory_bytes = memory_bytes(&self.flows[flow], self.rtt_ns(flow), queues);
        let pkts = |share: f64| (memory_bytes as f64 * share / f64::from(*payload_bytes)) as u32;
        let share = share(*payload_bytes);
        ReceiveWindow { at_start_pkts: pkts(share.min(0.5)), pkts: pkts(share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 158 of 256 parts of the memory are payload of 1448 bytes, 95 of payload of 536.
    #[test]
    fn a_receiver_offers_the_share_of_its_memory_that_is_payload() {
        let window = |stack: &str, path: &str| {
            let text = format!("[dumbbell]\n{path}\n[[flows]]\ncca = 'hybla'\nstack = {{ {stack} }}");
            Scenario::from_toml(&text, "test.toml", &[]).unwrap().receive_window(0)
        };
        let short = "rate = '10 Mbps'\ndelay = '100 ms'\nbuffer = 147";
        let [half, whole] = [0.5, 158.0 / 256.0].map(|share| (14_298_000.0 * share / 1448.0) as u32);
        assert_eq!(window("", short), ReceiveWindow { at_start_pkts: half, pkts: whole });
        // 1 Gbps and 100 ms hold 8256 packets, the buffer as many.
        let long = "rate = '1 Gbps'\nrtt = '100 ms'\nbuffer = 8256";
        let memory_bytes = 3.0 * (8256.0 + 8256.0 + 100.0) * 3000.0;
        let window_pkts = f64::from(window("", long).pkts);
        assert!((window_pkts / (memory_bytes * 158.0 / 256.0 / 1448.0) - 1.0).abs() < 1e-3, "{window_pkts}");
        assert_eq!(window("receive_window = 30", short), ReceiveWindow::fixed(30));
        assert_eq!(window("profile = 'ns2'", short), ReceiveWindow::UNLIMITED);
        assert_eq!(
            window("", "rate = { steps = [['0 s', '1 Mbps']] }\ndelay = '1 ms'\nbuffer = 10"),
            ReceiveWindow::UNLIMITED
        );
    }

    /// It opens from 4,937 to 6,094 packets with 579 segments. Payload of 536 bytes, less than half of the memory, opens none.
    #[test]
    fn a_window_opens_by_two_segments_for_each_that_arrives() {
        let flow = |packet: &str| {
            format!(
                "[dumbbell]\nrate = '10 Mbps'\ndelay = '100 ms'\nbuffer = 9\n[[flows]]\ncca = 'hybla'\n{packet}"
            )
        };
        let window =
            |packet: &str| Scenario::from_toml(&flow(packet), "test.toml", &[]).unwrap().receive_window(0);
        assert_eq!(
            [0, 1, 578, 579, 9999].map(|arrived| window("").after(arrived)),
            [4937, 4939, 6093, 6094, 6094]
        );
        let small = window("packet = '588 bytes'");
        assert_eq!(small.at_start_pkts, small.pkts);
        assert_eq!(ReceiveWindow::fixed(30).after(9999), 30);
    }

    #[test]
    fn as_many_are_acknowledged_one_by_one_as_in_guests() {
        // Memory, payload, and ACKs counted.
        let counted = [
            (8_390_000, 1448, 352),
            (10_200_000, 1448, 427),
            (14_298_000, 1448, 589),
            (46_635_000, 1448, 1910),
            (46_710_000, 1300, 1638),
            (46_780_000, 1200, 1392),
            (46_950_000, 1000, 664),
            (47_040_000, 900, 14),
            (47_750_000, 536, 22),
        ];
        for (memory_bytes, payload_bytes, acks) in counted {
            let pkts = quick_acks_pkts(memory_bytes, payload_bytes);
            let bound = (acks / 40).max(6);
            assert!(pkts.abs_diff(acks) <= bound, "{memory_bytes} {payload_bytes}: {pkts} instead of {acks}");
        }
    }

    #[test]
    fn a_memory_for_some_is_one_that_gives_them() {
        assert_eq!(quick_acks_pkts(DEFAULT_BYTES, 1448), 600);
        for pkts in [100, 600, 5000] {
            assert_eq!(quick_acks_pkts(for_quick_acks_bytes(pkts, 1200), 1200), pkts);
        }
        assert_eq!(for_quick_acks_bytes(600, 536), 0);
    }
}
