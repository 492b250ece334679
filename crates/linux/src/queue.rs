//! Queue disciplines of the kernel: their options as rtnetlink carries them (linux/pkt_sched.h).

use cwnd_scenario::{Codel, FqCodel, GilbertElliott, Link, Pie, Queue, Red};

pub const ROOT: u32 = 0xffff_ffff;
/// Handles: the only queue, or the shaper, of a device; the shaper's class; the discipline in that class.
pub const FIRST: u32 = 0x1_0000;
pub const CLASS: u32 = 0x1_0001;
pub const LEAF: u32 = 0x10_0000;
/// As good as no limit.
pub const UNLIMITED_PKTS: u32 = 1_000_000;
/// The Ethernet, IP and TCP headers of a packet as the kernel counts them; timestamps take 12 bytes more.
pub const HEADER_BYTES: u32 = 14 + 20 + 20;
/// A unit of the kernel's times in token buckets.
const TICK_NS: u64 = 64;

/// A discipline or a class of a device.
pub struct Qdisc {
    pub is_class: bool,
    pub parent: u32,
    pub handle: u32,
    pub kind: &'static str,
    pub options: Vec<u8>,
}

fn attribute(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + data.len()).expect("an attribute is short");
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn attribute_u32(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_ne_bytes())
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Scales a probability to 2^32.
fn probability(share: f64) -> u32 {
    (share * f64::from(u32::MAX)).round() as u32
}

fn us(ns: u64) -> u32 {
    u32::try_from(ns / 1000).unwrap_or(u32::MAX)
}

/// Settings of a netem.
#[derive(Default)]
pub struct Netem {
    /// 0: as fast as packets come.
    pub rate_bps: u64,
    /// Added to each packet's bytes.
    pub overhead_bytes: i32,
    pub delay_ns: u64,
    /// The delay is uniform up to this much less and more.
    pub jitter_ns: u64,
    /// Probability that a packet takes no delay.
    pub reorder: f64,
    /// Packets that it holds, the one being sent included.
    pub limit_pkts: u32,
    pub loss: f64,
    pub bursts: Option<GilbertElliott>,
    pub seed: u64,
}

impl Netem {
    pub fn qdisc(&self) -> Qdisc {
        const REORDER: u16 = 3;
        const LOSS: u16 = 5;
        const RATE: u16 = 6;
        const RATE64: u16 = 8;
        const LATENCY64: u16 = 10;
        const JITTER64: u16 = 11;
        const SEED: u16 = 14;
        const GILBERT_ELLIOTT: u16 = 2;
        // Of every packet it is drawn whether it overtakes.
        let gap = u32::from(self.reorder > 0.0);
        let mut options = words(&[0, self.limit_pkts, probability(self.loss), gap, 0, 0]);
        options.extend(attribute(LATENCY64, &self.delay_ns.to_ne_bytes()));
        if self.jitter_ns > 0 {
            options.extend(attribute(JITTER64, &self.jitter_ns.to_ne_bytes()));
        }
        if self.reorder > 0.0 {
            options.extend(attribute(REORDER, &words(&[probability(self.reorder), 0])));
        }
        if self.rate_bps > 0 {
            let rate = self.rate_bps / 8;
            let in_u32 = u32::try_from(rate).unwrap_or(u32::MAX);
            if rate > u64::from(u32::MAX) {
                options.extend(attribute(RATE64, &rate.to_ne_bytes()));
            }
            options.extend(attribute(RATE, &words(&[in_u32, self.overhead_bytes as u32, 0, 0])));
        }
        if let Some(model) = self.bursts {
            let states = [model.p, model.r, 1.0 - model.bad, model.good].map(probability);
            options.extend(attribute(LOSS, &attribute(GILBERT_ELLIOTT, &words(&states))));
        }
        if self.loss > 0.0 || self.bursts.is_some() || self.jitter_ns > 0 || self.reorder > 0.0 {
            options.extend(attribute(SEED, &self.seed.to_ne_bytes()));
        }
        Qdisc { is_class: false, parent: ROOT, handle: FIRST, kind: "netem", options }
    }
}

/// Returns true if a shaper sends a link's packets. It lets a packet go at the beginning of the time that it takes.
pub fn is_shaped(link: &Link) -> bool {
    link.queue.is_some() || link.buffer_bytes.is_some()
}

/// The queue of a link: first what shapes, last what holds the packets.
pub fn of_link(link: &Link, packet_bytes: u32, overhead_bytes: i32) -> Vec<Qdisc> {
    let limit = link.buffer_pkts.unwrap_or(UNLIMITED_PKTS);
    let leaf = match (&link.queue, link.buffer_bytes) {
        (None, None) => {
            let rate_bps = link.rate_bps;
            return vec![Netem { rate_bps, overhead_bytes, limit_pkts: limit, ..Netem::default() }.qdisc()];
        }
        (None, Some(bytes)) => {
            // The packet being sent is not in the class.
            let waiting = bytes.saturating_sub(packet_bytes.into());
            ("bfifo", words(&[u32::try_from(waiting).unwrap_or(u32::MAX)]))
        }
        (Some(Queue::Codel(codel)), _) => ("codel", of_codel(codel, limit)),
        (Some(Queue::FqCodel(fq)), _) => ("fq_codel", of_fq_codel(fq, limit)),
        (Some(Queue::Pie(pie)), _) => ("pie", of_pie(pie, limit)),
        (Some(Queue::Red(red)), bytes) => ("red", of_red(red, link, limit, bytes, packet_bytes)),
        (Some(Queue::DualPi2(_)), _) => unreachable!("refused"),
    };
    let (kind, options) = leaf;
    vec![
        shaper(),
        class(link.rate_bps, overhead_bytes),
        Qdisc { is_class: false, parent: CLASS, handle: LEAF, kind, options },
    ]
}

fn shaper() -> Qdisc {
    const INIT: u16 = 2;
    // version 3, quantum of a tenth of the rate, all to class 1
    let options = attribute(INIT, &words(&[3, 10, 1, 0, 0]));
    Qdisc { is_class: false, parent: ROOT, handle: FIRST, kind: "htb", options }
}

/// One packet at a time: a burst of 100 bytes.
fn class(rate_bps: u64, overhead_bytes: i32) -> Qdisc {
    const PARMS: u16 = 1;
    const RATE64: u16 = 6;
    const CEIL64: u16 = 7;
    const BURST_BYTES: u64 = 100;
    const ETHERNET: u8 = 1;
    let rate = rate_bps / 8;
    let overhead = u16::try_from(overhead_bytes).expect("refused");
    let mut spec = vec![0, ETHERNET];
    spec.extend(overhead.to_ne_bytes());
    spec.extend([0; 4]);
    spec.extend(u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    let burst = u32::try_from(BURST_BYTES * 1_000_000_000 / rate.max(1) / TICK_NS).unwrap_or(u32::MAX).max(1);
    let parms = [spec.clone(), spec, words(&[burst, burst, 1514, 0, 0])].concat();
    let mut options = attribute(PARMS, &parms);
    if rate > u64::from(u32::MAX) {
        options.extend(attribute(RATE64, &rate.to_ne_bytes()));
        options.extend(attribute(CEIL64, &rate.to_ne_bytes()));
    }
    Qdisc { is_class: true, parent: FIRST, handle: CLASS, kind: "htb", options }
}

fn of_codel(codel: &Codel, limit: u32) -> Vec<u8> {
    const TARGET: u16 = 1;
    const LIMIT: u16 = 2;
    const INTERVAL: u16 = 3;
    const ECN: u16 = 4;
    const CE_THRESHOLD: u16 = 5;
    let mut options = [
        attribute_u32(TARGET, us(codel.target_ns)),
        attribute_u32(LIMIT, limit),
        attribute_u32(INTERVAL, us(codel.interval_ns)),
        attribute_u32(ECN, codel.ecn.into()),
    ]
    .concat();
    if let Some(threshold_ns) = codel.ce_threshold_ns {
        options.extend(attribute_u32(CE_THRESHOLD, us(threshold_ns)));
    }
    options
}

fn of_fq_codel(fq: &FqCodel, limit: u32) -> Vec<u8> {
    const TARGET: u16 = 1;
    const LIMIT: u16 = 2;
    const INTERVAL: u16 = 3;
    const ECN: u16 = 4;
    const FLOWS: u16 = 5;
    const QUANTUM: u16 = 6;
    const CE_THRESHOLD: u16 = 7;
    let mut options = [
        attribute_u32(TARGET, us(fq.codel.target_ns)),
        attribute_u32(LIMIT, limit),
        attribute_u32(INTERVAL, us(fq.codel.interval_ns)),
        attribute_u32(ECN, fq.codel.ecn.into()),
        attribute_u32(FLOWS, fq.queues.unwrap_or(1024)),
        attribute_u32(QUANTUM, fq.quantum_bytes),
    ]
    .concat();
    if let Some(threshold_ns) = fq.codel.ce_threshold_ns {
        options.extend(attribute_u32(CE_THRESHOLD, us(threshold_ns)));
    }
    options
}

fn of_pie(pie: &Pie, limit: u32) -> Vec<u8> {
    /// The kernel's timer runs out in the tick after the time that it is set to, rounded up to ticks.
    const TIMER_TICK_NS: u64 = 4_000_000;
    const TARGET: u16 = 1;
    const LIMIT: u16 = 2;
    const UPDATE: u16 = 3;
    const ECN: u16 = 6;
    [
        attribute_u32(TARGET, us(pie.target_ns)),
        attribute_u32(LIMIT, limit),
        attribute_u32(UPDATE, us(pie.update_ns.saturating_sub(TIMER_TICK_NS).max(1_000))),
        attribute_u32(ECN, pie.ecn.into()),
    ]
    .concat()
}

fn of_red(red: &Red, link: &Link, limit: u32, limit_bytes: Option<u64>, packet_bytes: u32) -> Vec<u8> {
    const PARMS: u16 = 1;
    const STAB: u16 = 2;
    const MAX_P: u16 = 3;
    const ECN: u8 = 1;
    const HARDDROP: u8 = 2;
    const ADAPTIVE: u8 = 4;
    let unit = if red.in_bytes { 1.0 } else { f64::from(packet_bytes) };
    let (min, max) = (red.min * unit, red.max * unit);
    let limit = limit_bytes.unwrap_or(u64::from(limit) * u64::from(packet_bytes));
    let weight_log = (-red.weight.log2()).round().clamp(1.0, 31.0) as u8;
    // The share per byte of queue between min and max, as a power of two.
    let mut per_byte = red.probability / (max - min).max(1.0);
    let mut share_log = 0_u8;
    while per_byte * 2.0 <= 1.0 && share_log < 31 {
        per_byte *= 2.0;
        share_log += 1;
    }
    let (cell_log, idle) = idle_decay(weight_log, packet_bytes, link.rate_bps);
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    let flags = flag(red.ecn, ECN) | flag(red.harddrop, HARDDROP) | flag(red.adaptive, ADAPTIVE);
    let mut parms = words(&[u32::try_from(limit).unwrap_or(u32::MAX), min as u32, max as u32]);
    parms.extend([weight_log, share_log, cell_log, flags]);
    [attribute(PARMS, &parms), attribute(STAB, &idle), attribute_u32(MAX_P, probability(red.probability))]
        .concat()
}

/// By how many halvings the average falls during an idle time, for 256 times in units of 2^`cell_log` µs: a packet's
/// time takes the weight from it.
fn idle_decay(weight_log: u8, packet_bytes: u32, rate_bps: u64) -> (u8, Vec<u8>) {
    const MOST: f64 = 31.0;
    let packet_us = f64::from(packet_bytes) * 8e6 / rate_bps.max(1) as f64;
    let halvings_per_us = -(1.0 - 2_f64.powi(-i32::from(weight_log))).log2() / packet_us.max(1.0);
    let longest_us = MOST / halvings_per_us;
    let cell_log = (0..31).find(|&log| longest_us / 2_f64.powi(log) < 512.0).unwrap_or(31);
    let table = (0..256_u32).map(|cell| {
        let idle_us = f64::from(cell) * 2_f64.powi(cell_log);
        if cell == 255 { MOST as u8 } else { (idle_us * halvings_per_us).min(MOST) as u8 }
    });
    (cell_log as u8, table.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_netem_of_50_mbit_s_and_20_ms_is_what_tc_sends() {
        let netem = Netem { rate_bps: 50_000_000, delay_ns: 20_000_000, limit_pkts: 167, ..Netem::default() };
        // struct tc_netem_qopt with limit 167, latency of 20,000,000 ns, 6,250,000 bytes/s.
        assert_eq!(
            hex(&netem.qdisc().options),
            "00000000a700000000000000000000000000000000000000\
             0c000a00002d310100000000\
             14000600105e5f00000000000000000000000000"
        );
    }

    /// 16 ms are four ticks, after which the kernel's timer runs out with the fifth: 20 ms, as with the kernel's own 15 ms.
    #[test]
    fn pies_timer_is_set_a_tick_before_the_update() {
        let pie = Pie {
            variant: cwnd_scenario::QueueVariant::Linux,
            target_ns: 15_000_000,
            update_ns: 20_000_000,
            burst_ns: 150_000_000,
            ecn: false,
        };
        let options = of_pie(&pie, 100);
        assert_eq!(options[16..24], [&[8, 0, 3, 0][..], &16_000_u32.to_ne_bytes()].concat());
    }

    #[test]
    fn reds_weight_and_curve_are_those_of_the_reference_runs() {
        let red = Red {
            variant: Default::default(),
            in_bytes: true,
            min: 62_500.0,
            max: 187_500.0,
            weight: 1.0 / 32.0,
            probability: 0.1,
            gentle: false,
            adaptive: false,
            ecn: true,
            harddrop: false,
        };
        let link = Link::default().with(|link| link.rate_bps = 50_000_000);
        let options = of_red(&red, &link, 0, Some(500_000), 1500);
        assert_eq!(&options[4..8], 500_000_u32.to_ne_bytes());
        // Wlog 5, as burst 69 gives; 0.1 / 125000 is more than 2^-21 and less than 2^-20.
        assert_eq!((options[16], options[17], options[19]), (5, 20, 1));
    }
}
