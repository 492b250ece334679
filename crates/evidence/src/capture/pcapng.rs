//! pcapng: blocks with a type and a length before and behind them.

use crate::capture::bytes::{Bytes, Filled, LARGEST, Order};
use crate::capture::packet::{Outcome, Raw};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const SIMPLE: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED: u32 = 6;

/// Interfaces of a section, at most; a file with more is damaged or hostile.
const INTERFACES: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u16,
    snap: u32,
    /// Ticks in a second.
    ticks: u64,
    offset_s: i64,
    drops: u64,
}

/// The state of a section: its byte order and its interfaces.
#[derive(Debug)]
pub(crate) struct PcapNg {
    order: Order,
    interfaces: Vec<Interface>,
    /// Drops of interfaces of former sections.
    drops: u64,
    /// Packets without a time.
    pub untimed: u64,
    last_ns: u64,
}

impl PcapNg {
    /// Begins at a section header block, which is not taken.
    pub fn begin(head: &[u8]) -> Option<Self> {
        let order = order_of(head)?;
        Some(PcapNg { order, interfaces: Vec::new(), drops: 0, untimed: 0, last_ns: 0 })
    }

    /// Packets that the capturing machine dropped, as the interfaces' statistics count them.
    pub fn drops(&self) -> u64 {
        self.drops + self.interfaces.iter().map(|interface| interface.drops).sum::<u64>()
    }

    /// Reads a block.
    pub fn next<'a>(&mut self, bytes: &'a mut Bytes) -> Outcome<'a> {
        if bytes.fill(12) == Filled::Short {
            return if bytes.ahead().is_empty() { Outcome::End } else { Outcome::Truncated };
        }
        let head = bytes.ahead();
        if head[..4] == SECTION.to_le_bytes() {
            let Some(order) = order_of(head) else { return Outcome::Damaged };
            self.drops = self.drops();
            self.interfaces.clear();
            self.order = order;
        }
        let order = self.order;
        let kind = order.u32(head, 0);
        let length = order.u32(head, 4) as usize;
        if !(12..=LARGEST).contains(&length) || !length.is_multiple_of(4) {
            return Outcome::Damaged;
        }
        if bytes.fill(length) == Filled::Short {
            return Outcome::Truncated;
        }
        let block = &bytes.take(length)[8..length - 4];
        match kind {
            INTERFACE => {
                if self.interfaces.len() >= INTERFACES || block.len() < 8 {
                    return Outcome::Damaged;
                }
                self.interfaces.push(interface_of(order, block));
                Outcome::Other
            }
            ENHANCED => {
                let Some(interface) = self.interfaces.get(order.u32(block, 0) as usize) else {
                    return Outcome::Damaged;
                };
                let kept = order.u32(block, 12) as usize;
                let Some(data) = block.get(20..).and_then(|rest| rest.get(..kept)) else {
                    return Outcome::Damaged;
                };
                let ticks = u64::from(order.u32(block, 4)) << 32 | u64::from(order.u32(block, 8));
                let time_ns = interface.time_ns(ticks);
                self.last_ns = time_ns;
                Outcome::Packet(Raw { time_ns, link: interface.link, wire: order.u32(block, 16), data })
            }
            SIMPLE => {
                let Some(interface) = self.interfaces.first() else { return Outcome::Damaged };
                let wire = order.u32(block, 0);
                let kept = if interface.snap == 0 { wire } else { wire.min(interface.snap) };
                let Some(data) = block.get(4..).and_then(|rest| rest.get(..kept as usize)) else {
                    return Outcome::Damaged;
                };
                self.untimed += 1;
                Outcome::Packet(Raw { time_ns: self.last_ns, link: interface.link, wire, data })
            }
            STATISTICS => {
                let at = order.u32(block, 0) as usize;
                if let Some(interface) = self.interfaces.get_mut(at) {
                    // isb_ifdrop and isb_osdrop: the counts are totals.
                    let mut drops = 0;
                    options(order, block.get(12..).unwrap_or_default(), |code, value| {
                        if code == 5 || code == 7 {
                            drops += number(order, value);
                        }
                    });
                    interface.drops = interface.drops.max(drops);
                }
                Outcome::Other
            }
            _ => Outcome::Other,
        }
    }
}

impl Interface {
    fn time_ns(&self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks.max(1));
        let ns = ns.min(1 << 62) as i64;
        ns.saturating_add(self.offset_s.saturating_mul(1_000_000_000)).max(0) as u64
    }
}

fn order_of(head: &[u8]) -> Option<Order> {
    match head.get(8..12)? {
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(Order { big: false }),
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(Order { big: true }),
        _ => None,
    }
}

fn interface_of(order: Order, block: &[u8]) -> Interface {
    let mut interface = Interface {
        link: order.u16(block, 0),
        snap: order.u32(block, 4),
        ticks: 1_000_000,
        offset_s: 0,
        drops: 0,
    };
    options(order, &block[8..], |code, value| match (code, value) {
        // if_tsresol: a power of ten, or of two with the highest bit.
        (9, [resolution, ..]) => {
            let power = u32::from(resolution & 0x7f);
            let ticks =
                if resolution & 0x80 == 0 { 10u64.checked_pow(power) } else { 2u64.checked_pow(power) };
            interface.ticks = ticks.unwrap_or(u64::MAX);
        }
        (14, value) => interface.offset_s = number(order, value) as i64,
        _ => {}
    });
    interface
}

fn number(order: Order, value: &[u8]) -> u64 {
    let (first, second) = (u64::from(order.u32(value, 0)), u64::from(order.u32(value, 4)));
    if order.big { first << 32 | second } else { second << 32 | first }
}

fn options(order: Order, mut rest: &[u8], mut each: impl FnMut(u16, &[u8])) {
    while rest.len() >= 4 {
        let (code, length) = (order.u16(rest, 0), usize::from(order.u16(rest, 2)));
        let Some(value) = rest.get(4..4 + length) else { return };
        if code == 0 {
            return;
        }
        each(code, value);
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
}
