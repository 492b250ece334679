//! Packets on their way to a link.

use crate::memory::ring::Ring;
use crate::tcp::packet::Segment;
use crate::time::{NEVER, Span};
use std::collections::{BTreeMap, VecDeque};

/// A month has two to the power of this many days.
const MONTH_BITS: u32 = 9;

/// A packet that arrives at hop `hop`.
#[derive(Clone, Copy)]
pub struct InTransit<E> {
    pub at: u64,
    pub sub_ns: E,
    pub segment: Segment,
    /// The link that sent it has been sending without a pause since then.
    pub busy_since: u64,
    pub hop: u32,
}

/// Packets on their way to a link. Those of each hop are in order, unless some overtook others on a wire. Where one link alone
/// leads to this one, each packet arrives later than the packet before: they form a line, which needs no sorting. Otherwise
/// packets that arrive soon are in a list that each span examines. Later packets wait in a calendar. Its days are about as long
/// as a span.
pub struct Inbox<E> {
    line: Ring<InTransit<E>>,
    /// When the last of the line arrives; NEVER: there is no line.
    line_end: u64,
    /// Without a line: packets that arrive before `horizon`.
    soon: Vec<InTransit<E>>,
    horizon: u64,
    /// Once there were others.
    later: Option<Box<Calendar<E>>>,
    /// When the first of all arrives, or NEVER.
    pub earliest: u64,
}

/// Packets by the day on which they arrive. Those of each day stay in their order.
struct Calendar<E> {
    /// A day has two to the power of this many nanoseconds.
    day_bits: u32,
    /// From the inbox's horizon on, up to the end of the month after that of the horizon.
    days: VecDeque<Day<E>>,
    /// Packets that arrive after these days, by month: each comes to its day once, however far ahead it is.
    months: BTreeMap<u64, Day<E>>,
    near_pkts: usize,
    far_pkts: usize,
}

struct Day<E> {
    packets: Vec<InTransit<E>>,
    /// When the first of them arrives, or NEVER.
    earliest: u64,
}

impl<E> Day<E> {
    /// Without packets yet; `packets` is the room for them.
    const fn new(packets: Vec<InTransit<E>>) -> Day<E> {
        Day { packets, earliest: NEVER }
    }

    #[inline]
    fn push(&mut self, packet: InTransit<E>) {
        self.earliest = self.earliest.min(packet.at);
        self.packets.push(packet);
    }
}

impl<E: Copy> Calendar<E> {
    fn new(span_ns: u64) -> Calendar<E> {
        let day_bits = span_ns.max(1).ilog2();
        Calendar { day_bits, days: VecDeque::new(), months: BTreeMap::new(), near_pkts: 0, far_pkts: 0 }
    }

    fn month(&self, at: u64) -> u64 {
        at >> self.day_bits >> MONTH_BITS
    }

    /// `packet` arrives at `horizon` or later.
    #[inline]
    fn push(&mut self, horizon: u64, packet: InTransit<E>) {
        if self.month(packet.at) > self.month(horizon) + 1 {
            self.months.entry(self.month(packet.at)).or_insert(Day::new(Vec::new())).push(packet);
            self.far_pkts += 1;
            return;
        }
        let day = ((packet.at - horizon) >> self.day_bits) as usize;
        while self.days.len() <= day {
            self.days.push_back(Day::new(Vec::new()));
        }
        self.days[day].push(packet);
        self.near_pkts += 1;
    }

    /// All packets, those of each hop in their order.
    fn packets(&self) -> impl Iterator<Item = &InTransit<E>> {
        self.days.iter().chain(self.months.values()).flat_map(|day| &day.packets)
    }

    /// When the first packet arrives, or NEVER.
    fn earliest(&self) -> u64 {
        if self.near_pkts == 0 {
            return self.months.values().next().map_or(NEVER, |month| month.earliest);
        }
        self.days
            .iter()
            .map(|day| day.earliest)
            .find(|&earliest| earliest != NEVER)
            .expect("there are packets")
    }

    /// The calendar begins at `horizon`: packets of its month and the next have their days.
    fn set_horizon(&mut self, horizon: u64) {
        let near = self.month(horizon) + 1;
        while let Some(first) = self.months.first_entry().filter(|first| *first.key() <= near) {
            let packets = first.remove().packets;
            self.far_pkts -= packets.len();
            packets.into_iter().for_each(|packet| self.push(horizon, packet));
        }
    }

    /// Returns true if days are much shorter or longer than a span.
    fn is_unfit(&self, span_ns: u64) -> bool {
        !(self.day_bits.saturating_sub(1)..self.day_bits + 4).contains(&span_ns.max(1).ilog2())
    }
}

impl<E: Copy> Inbox<E> {
    pub fn new() -> Inbox<E> {
        Inbox {
            line: Ring::new(),
            line_end: 0,
            soon: Vec::new(),
            horizon: NEVER,
            later: None,
            earliest: NEVER,
        }
    }

    #[inline(always)]
    pub fn push(&mut self, packet: InTransit<E>) {
        self.announce(packet.at);
        self.push_announced(packet);
    }

    /// Packets will come that arrive at `at` or later.
    #[inline(always)]
    pub fn announce(&mut self, at: u64) {
        self.earliest = self.earliest.min(at);
    }

    /// [`Inbox::push`] after [`Inbox::announce`].
    #[inline(always)]
    pub fn push_announced(&mut self, packet: InTransit<E>) {
        if packet.at > self.line_end {
            self.line_end = packet.at;
            self.line.push_back(packet);
        } else if packet.at < self.horizon && !self.is_line() {
            self.soon.push(packet);
        } else {
            self.push_otherwise(packet.at, packet.sub_ns, packet.segment, packet.busy_since, packet.hop);
        }
    }

    /// A packet arrives before another that came sooner, or waits in the calendar. It comes in parts, which stay in registers.
    #[inline(never)]
    fn push_otherwise(&mut self, at: u64, sub_ns: E, segment: Segment, busy_since: u64, hop: u32) {
        let packet = InTransit { at, sub_ns, segment, busy_since, hop };
        if self.is_line() {
            self.end_line();
        }
        if packet.at < self.horizon {
            self.soon.push(packet);
        } else {
            let horizon = self.horizon;
            self.later.as_mut().expect("there is a horizon").push(horizon, packet);
        }
    }

    #[cold]
    fn end_line(&mut self) {
        self.soon.extend(self.line.iter());
        self.line.skip(self.line.len());
        self.line_end = NEVER;
    }

    pub fn len(&self) -> usize {
        self.line.len()
            + self.soon.len()
            + self.later.as_ref().map_or(0, |later| later.near_pkts + later.far_pkts)
    }

    pub fn packets(&self) -> impl Iterator<Item = &InTransit<E>> {
        self.line.iter().chain(&self.soon).chain(self.later.iter().flat_map(|later| later.packets()))
    }

    pub fn is_line(&self) -> bool {
        self.line_end != NEVER
    }

    /// Takes out the line, if there is one.
    #[inline]
    pub fn take_line(&mut self) -> Option<Ring<InTransit<E>>> {
        self.is_line().then(|| std::mem::take(&mut self.line))
    }

    /// Puts back what is left of what [`Inbox::take_line`] took out.
    #[inline]
    pub fn put_back_line(&mut self, line: Ring<InTransit<E>>) {
        self.earliest = line.front().map_or(NEVER, |packet| packet.at);
        self.line = line;
    }

    /// Takes out all packets that arrive before `until`, and some that arrive later.
    pub fn take_soon(&mut self, until: u64) -> Vec<InTransit<E>> {
        if self.is_line() {
            self.end_line();
        }
        if self.horizon < until {
            self.look_ahead(until);
        }
        std::mem::take(&mut self.soon)
    }

    /// Puts back what [`Inbox::take_soon`] took out and arrives after `span`, the first at `earliest`.
    pub fn put_back(&mut self, mut packets: Vec<InTransit<E>>, span: Span, earliest: u64) {
        let taken = packets.len();
        if earliest == NEVER {
            packets.clear();
        } else {
            packets.retain(|packet| packet.at >= span.until);
        }
        self.soon = packets;
        self.earliest = earliest.min(self.later.as_ref().map_or(NEVER, |later| later.earliest()));
        let unfit = match &self.later {
            Some(later) if self.horizon != NEVER => later.is_unfit(span.usual_ns),
            _ => self.soon.len() > taken / 2,
        };
        if self.earliest == NEVER {
            (self.line_end, self.horizon) = (0, NEVER);
        } else if unfit {
            self.begin_calendar(span.until, span.usual_ns);
        }
    }

    /// Most packets have yet to wait, or the days of the calendar do not fit the spans: what arrives at `horizon` or later
    /// waits in one that does.
    #[cold]
    fn begin_calendar(&mut self, horizon: u64, span_ns: u64) {
        let mut packets = std::mem::take(&mut self.soon);
        let mut calendar = self.later.take().unwrap_or_else(|| Box::new(Calendar::new(span_ns)));
        if calendar.is_unfit(span_ns) {
            packets.extend(calendar.packets());
            *calendar = Calendar::new(span_ns);
        }
        packets.drain(..).for_each(|packet| calendar.push(horizon, packet));
        (self.soon, self.horizon, self.later) = (packets, horizon, Some(calendar));
    }

    /// Takes the packets that arrive before `until`, and the rest of their last day, from the calendar.
    fn look_ahead(&mut self, until: u64) {
        let later = self.later.as_mut().expect("there is a horizon");
        while self.horizon < until {
            if later.near_pkts == 0 {
                self.horizon = until.min(later.earliest());
                later.set_horizon(self.horizon);
                continue;
            }
            let Day { mut packets, .. } = later.days.pop_front().expect("there are packets");
            self.horizon += 1 << later.day_bits;
            later.near_pkts -= packets.len();
            if self.soon.is_empty() {
                std::mem::swap(&mut self.soon, &mut packets);
            }
            self.soon.append(&mut packets);
            later.days.push_back(Day::new(packets));
            later.set_horizon(self.horizon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::packet::Tag;
    use proptest::prelude::*;

    proptest! {
        /// Beside a list of all packets.
        #[test]
        fn a_span_takes_exactly_what_arrives_in_it_and_each_hop_stays_in_order(
            spans in prop::collection::vec(
                (0..14_u32, prop::collection::vec((0..3_u32, prop_oneof![0..300_u64, 0..3_000_000_u64]), 0..8), 0..9_u32),
                1..60,
            ),
        ) {
            let (mut inbox, mut all, mut now, mut last) = (Inbox::<()>::new(), Vec::new(), 0, [0; 3]);
            for (number, (span_bits, arrivals, idle_bits)) in (0..).zip(spans) {
                let span = Span { from: now, until: now + (1 << span_bits), usual_ns: 1 << span_bits };
                for (hop, wait_ns) in arrivals {
                    let at = last[hop as usize].max(now + wait_ns);
                    last[hop as usize] = at;
                    let segment = Segment { tag: Tag::new(number, 0), sent_ns: 0 };
                    inbox.push(InTransit { at, sub_ns: (), segment, busy_since: 0, hop });
                    all.push((hop, at, number));
                }
                prop_assert_eq!(inbox.len(), all.len());
                prop_assert_eq!(inbox.earliest, all.iter().map(|packet| packet.1).min().unwrap_or(NEVER));
                let taken = inbox.take_soon(span.until);
                let mut due: Vec<_> = taken.iter().map(|packet| (packet.hop, packet.at, packet.segment.tag.seq())).collect();
                due.retain(|packet| packet.1 < span.until);
                let mut wanted: Vec<_> = all.extract_if(.., |packet| packet.1 < span.until).collect();
                // Stable: the order within a hop is that of arrival.
                due.sort_by_key(|packet| packet.0);
                wanted.sort_by_key(|packet| packet.0);
                prop_assert_eq!(due, wanted);
                let later = taken.iter().map(|packet| packet.at).filter(|&at| at >= span.until);
                inbox.put_back(taken.clone(), span, later.min().unwrap_or(NEVER));
                now = span.until + (1 << (2 * idle_bits)) - 1;
                now = now.min(inbox.earliest);
            }
        }
    }
}
