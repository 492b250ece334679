//! CoDel (RFC 8289): packets that leave are dropped when all of them have waited too long for an interval.

use crate::net::link::queue::backlog::Backlog;
use crate::net::link::queue::discipline::{Discipline, Next, Queued};
use cwnd_scenario::{Codel, QueueVariant};

/// The largest frame of Ethernet, which Linux lets wait without a drop.
const FRAME_BYTES: u64 = 1514;
/// In the dropping state again within this many intervals, the count goes on.
const INTERVALS_REMEMBERED: u64 = 16;
/// 1 in the 16 bits that Linux has for a root.
const ROOT_ONE: u64 = 0xffff;

/// The control of one queue. Times are nanoseconds; Linux counts 1.024 µs.
#[derive(Clone)]
pub struct Control {
    linux: bool,
    target: u64,
    interval: u64,
    ecn: bool,
    ce_threshold: Option<u64>,
    /// When packets may be dropped if they wait too long until then; 0: they do not.
    first_above: u64,
    drop_next: u64,
    /// Drops since packets began to wait too long.
    count: u64,
    last_count: u64,
    dropping: bool,
    /// 1 / √count in Linux's 16 bits.
    root: u64,
    /// Most bytes that may wait without a drop.
    spared_bytes: u64,
}

impl Control {
    pub fn new(codel: &Codel) -> Control {
        let linux = codel.variant == QueueVariant::Linux;
        let time = |ns: u64| if linux { ns >> 10 } else { ns };
        Control {
            linux,
            target: time(codel.target_ns),
            interval: time(codel.interval_ns),
            ecn: codel.ecn,
            ce_threshold: codel.ce_threshold_ns.map(time),
            first_above: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            root: ROOT_ONE,
            spared_bytes: if linux { FRAME_BYTES } else { 512 },
        }
    }

    /// The next packet to send of `packets`, beside which `elsewhere_bytes` wait.
    #[inline(always)]
    pub fn dequeue(
        &mut self,
        now_ns: u64,
        packets: &mut Backlog,
        elsewhere_bytes: u64,
        dropped: &mut Vec<Queued>,
    ) -> Option<Queued> {
        let now = self.time(now_ns);
        let over = self.is_over(now, packets, elsewhere_bytes);
        if self.dropping || over {
            self.drop_some(now, over, packets, elsewhere_bytes, dropped);
        }
        let mut packet = packets.pop()?;
        if self.ce_threshold.is_some() {
            self.mark_above_threshold(now, &mut packet);
        }
        Some(packet)
    }

    /// Drops or marks what the algorithm asks for. `over`: whether the first packet waited too long.
    fn drop_some(
        &mut self,
        now: u64,
        mut over: bool,
        packets: &mut Backlog,
        elsewhere_bytes: u64,
        dropped: &mut Vec<Queued>,
    ) {
        if self.dropping {
            self.dropping = over;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                self.step_root();
                if self.marks(packets) {
                    self.drop_next = self.after(self.drop_next);
                    break;
                }
                dropped.extend(packets.pop());
                self.dropping = self.is_over(now, packets, elsewhere_bytes);
                if self.dropping {
                    self.drop_next = self.after(self.drop_next);
                }
            }
        } else {
            if !self.marks(packets) {
                dropped.extend(packets.pop());
                over = self.is_over(now, packets, elsewhere_bytes);
            }
            self.dropping = over || packets.front().is_some();
            self.begin(now);
        }
        self.dropping &= packets.front().is_some();
    }

    #[cold]
    fn mark_above_threshold(&self, now: u64, packet: &mut Queued) {
        let waited = now - self.time(packet.arrived_ns);
        packet.marked |= packet.codepoint.is_ect() && self.ce_threshold.is_some_and(|most| waited > most);
    }

    /// Packets were dropped elsewhere, as an overflow: the law goes on from there.
    pub fn add_drops(&mut self, drops: u64) {
        self.count += drops;
    }

    fn time(&self, ns: u64) -> u64 {
        if self.linux { ns >> 10 } else { ns }
    }

    /// Returns true if the first packet, and all before it for an interval, waited too long.
    #[inline(always)]
    fn is_over(&mut self, now: u64, packets: &Backlog, elsewhere_bytes: u64) -> bool {
        let Some(packet) = packets.front() else {
            self.first_above = 0;
            return false;
        };
        let bytes = u64::from(packet.bytes);
        if !self.linux {
            self.spared_bytes = self.spared_bytes.max(bytes);
        }
        let waiting_bytes = packets.bytes() - bytes + elsewhere_bytes;
        if now - self.time(packet.arrived_ns) < self.target || waiting_bytes <= self.spared_bytes {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now + self.interval;
            return false;
        }
        if self.linux { now > self.first_above } else { now >= self.first_above }
    }

    /// Marks the first packet, if it may be marked instead of dropped.
    fn marks(&self, packets: &mut Backlog) -> bool {
        let Some(packet) = packets.front_mut().filter(|packet| self.ecn && packet.codepoint.is_ect()) else {
            return false;
        };
        packet.marked = true;
        true
    }

    /// The dropping state begins.
    fn begin(&mut self, now: u64) {
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.wrapping_sub(self.drop_next) < INTERVALS_REMEMBERED * self.interval;
        if delta > 1 && recent {
            self.count = delta;
            self.step_root();
        } else {
            (self.count, self.root) = (1, ROOT_ONE);
        }
        self.last_count = self.count;
        self.drop_next = self.after(now);
    }

    /// One step of Newton's towards 1 / √count, in the kernel's 64 bits: far from there, as after an overflow, it wraps.
    fn step_root(&mut self) {
        let root = self.root << 16;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(self.count.wrapping_mul(square));
        self.root = u64::from((((rest >> 2).wrapping_mul(root) >> 31) >> 16) as u16);
    }

    /// The control law: the time of the drop after the one at `time`.
    fn after(&self, time: u64) -> u64 {
        if self.linux {
            time + ((self.interval * (self.root << 16)) >> 32)
        } else {
            time + (self.interval as f64 / (self.count as f64).sqrt()) as u64
        }
    }
}

pub struct CodelQueue {
    control: Control,
    limit: u64,
    packets: Backlog,
}

impl CodelQueue {
    pub fn new(codel: &Codel, limit: u64) -> CodelQueue {
        CodelQueue { control: Control::new(codel), limit, packets: Backlog::default() }
    }
}

impl Discipline for CodelQueue {
    fn enqueue(&mut self, _: u64, packet: Queued, _: bool, dropped: &mut Vec<Queued>) {
        if self.packets.len() >= self.limit {
            dropped.push(packet);
        } else {
            self.packets.push(packet);
        }
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next {
        self.control.dequeue(now_ns, &mut self.packets, 0, dropped).map_or(Next::Empty, Next::Send)
    }

    fn waiting_pkts(&self) -> u64 {
        self.packets.len()
    }

    fn tells_flows_apart(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's formula with integers modulo 2⁶⁴, calculated apart.
    #[test]
    fn the_root_after_an_overflow_is_the_kernels() {
        let codel = Codel {
            variant: QueueVariant::Linux,
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            ecn: false,
            ce_threshold_ns: None,
        };
        let roots = |drops: u64| {
            let mut control = Control { count: 1, ..Control::new(&codel) };
            control.add_drops(drops);
            let step = |_| {
                control.count += 1;
                control.step_root();
                control.root
            };
            [(); 8].map(step)
        };
        assert_eq!(roots(0), [32769, 36864, 31968, 28935, 26481, 24588, 23037, 21746]);
        assert_eq!(roots(64), [32865, 34565, 52617, 22898, 2046, 2998, 4271, 5744]);
    }
}
