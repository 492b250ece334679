//! The receiving end of a TCP connection: which segments it acknowledges, and when.

use crate::memory::prefetch::prefetch_all;
use crate::tcp::out_of_order::OutOfOrder;
use crate::tcp::packet::{AckPacket, BLOCKS_MAX, Block, CONGESTION, CWR, RETRANSMISSION, SYN, Segment, Tag};
use crate::tcp::paws::Paws;
use cwnd_scenario::{Ecn, Handshake, Stack};
use std::num::NonZeroU64;

/// Acknowledges cumulatively and selectively (RFC 2018): every ACK names the segment that caused it.
#[derive(Clone)]
pub struct Receiver {
    /// The next segment expected in order.
    next: u64,
    /// Packets that arrived, duplicates included.
    arrived: u64,
    /// Segments that arrived in order and are not acknowledged yet.
    waiting: Waiting,
    /// Segments that arrived beyond `next`.
    out_of_order_pkts: u32,
    ack_policy: AckPolicy,
    ack_every: u32,
    /// Number of segments, in order or not, that are acknowledged one by one, without delay.
    quick_until: u32,
    /// Congestion is echoed until the sender has reduced its window (RFC 3168, 6.1.3).
    echo: bool,
    /// Feedback that the receiver gives on marks, if any.
    ecn: Ecn,
    /// Marked packets that have arrived.
    marked_pkts: u32,
    /// SYNs that have arrived.
    syn_pkts: u32,
    /// The packet that arrived last was marked.
    last_marked: bool,
    is_linux: bool,
    /// Segment 0 is a SYN.
    begins_with_syn: bool,
    ack_delay_ns: u64,
    /// Delay of a SACK that waits for others; 0: none does.
    sack_delay_ns: u64,
    /// Once some have arrived early.
    out_of_order: Option<Box<OutOfOrder>>,
    /// If the path may deliver packets in another order.
    paws: Option<Box<Paws>>,
}

/// Number of segments that Linux acknowledges one by one after an old segment has arrived: TCP_MAX_QUICKACKS.
const QUICK_AFTER_OLD: u64 = 16;

/// Rule by which segments in order are acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AckPolicy {
    /// It is acknowledged at once, whatever its timestamp, by an ACK that reports no more.
    AcknowledgesEach,
    /// Some wait to be acknowledged together, by ACKs that report no more.
    DelaysAcks,
    /// It depends on the segment.
    Other,
}

/// Result of the arrival of the next segment expected, at a receiver that delays ACKs.
pub enum Delayed {
    Waits,
    /// The ACK tells that all before `next` has arrived, and echoes the time at which the first that waited was sent.
    Acknowledged {
        next: u64,
        echo_ns: u64,
    },
}

#[derive(Clone, Copy, Default)]
struct Waiting {
    first_sent_ns: u64,
    last_sent_ns: u64,
    due_ns: u64,
    /// 0: the other fields are stale.
    count: u32,
    last_is_retransmission: bool,
}

/// The SACK blocks of an ACK.
#[derive(Clone, Copy)]
pub enum SackBlocks<'a> {
    /// No ACK is lost, so the segment that caused the ACK is all that they have to report, unless the sender has forgotten
    /// something. They are those of the receiver now.
    All(&'a Receiver),
    /// ACKs before this one may have been lost.
    Carried(&'a [Block; BLOCKS_MAX]),
}

impl Receiver {
    /// `reordered`: whether the path may deliver packets in another order. `rtt_ns`: of the path without queues.
    pub fn new(stack: &Stack, reordered: bool, rtt_ns: u64) -> Receiver {
        // The SYN is acknowledged at once.
        let quick_until = stack.quick_acks_pkts.max(u32::from(stack.handshake == Handshake::First));
        let uses_sack = stack.recovery.choices().detection.uses_sack();
        let paws = (reordered && stack.timestamps).then(Box::default);
        Receiver {
            next: 0,
            arrived: 0,
            waiting: Waiting::default(),
            out_of_order_pkts: 0,
            ack_policy: if paws.is_some() || stack.one_way_delays || stack.ecn.is_on() {
                AckPolicy::Other
            } else if stack.ack_every_pkts > 1 {
                AckPolicy::DelaysAcks
            } else {
                AckPolicy::AcknowledgesEach
            },
            ack_every: stack.ack_every_pkts,
            quick_until,
            echo: false,
            ecn: stack.ecn,
            marked_pkts: 0,
            syn_pkts: 0,
            last_marked: false,
            is_linux: stack.is_linux(),
            begins_with_syn: stack.handshake == Handshake::First,
            ack_delay_ns: stack.ack_delay_ns,
            // A receiver that acknowledges each segment compresses no SACKs either, as Linux's in quick mode.
            sack_delay_ns: if uses_sack && stack.ack_every_pkts > 1 {
                stack.sack_delay_ns.min(rtt_ns / 20)
            } else {
                0
            },
            out_of_order: None,
            paws,
        }
    }

    /// Segments will arrive soon beyond a missing one.
    #[inline(always)]
    pub fn prefetch_out_of_order(&self) {
        self.out_of_order.iter().for_each(|out_of_order| prefetch_all(&**out_of_order));
    }

    /// Nothing more arrives.
    pub fn forget(&mut self) {
        (self.out_of_order, self.paws) = (None, None);
    }

    /// Segments received in order.
    pub fn in_order(&self) -> u64 {
        self.next
    }

    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Number of different segments that have arrived.
    fn arrived_once(&self) -> u64 {
        self.next + u64::from(self.out_of_order_pkts)
    }

    /// SYNs that arrived.
    pub fn syn_pkts(&self) -> u64 {
        self.syn_pkts.into()
    }

    /// The segments that arrived beyond a missing one, as many as there are.
    pub fn out_of_order(&self) -> impl Iterator<Item = u64> {
        let out_of_order = self.out_of_order.as_ref().filter(|_| self.out_of_order_pkts > 0);
        let beyond =
            move |out_of_order| (self.next + 1..).filter(move |&seq| OutOfOrder::contains(out_of_order, seq));
        out_of_order
            .into_iter()
            .flat_map(move |out_of_order| beyond(out_of_order))
            .take(self.out_of_order_pkts as usize)
    }

    /// Packets that arrived with a mark.
    pub fn marked_pkts(&self) -> u64 {
        self.marked_pkts.into()
    }

    /// The SACK blocks of an ACK that is sent now.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        self.out_of_order
            .iter()
            .flat_map(|out_of_order| out_of_order.blocks.iter().filter(|block| !block.is_empty()).cloned())
    }

    /// Returns the SACK blocks as an ACK has them.
    pub fn first_blocks(&self) -> [Block; BLOCKS_MAX] {
        self.out_of_order.as_ref().map(|out_of_order| out_of_order.blocks.clone()).unwrap_or_default()
    }

    /// Every segment in order is acknowledged as it arrives.
    #[inline]
    pub fn acknowledges_each(&self) -> bool {
        self.ack_every == 1
    }

    /// Returns the rule for segments in order that holds now.
    #[inline(always)]
    pub fn ack_policy(&self) -> AckPolicy {
        if self.out_of_order_pkts > 0 { AckPolicy::Other } else { self.ack_policy }
    }

    /// When the delayed ACK, or that of the SACKs that wait, must go out.
    #[inline]
    pub fn ack_due_ns(&self) -> Option<u64> {
        if self.waiting.count > 0 {
            return Some(self.waiting.due_ns);
        }
        if self.out_of_order_pkts == 0 {
            return None;
        }
        self.out_of_order
            .as_ref()
            .filter(|out_of_order| out_of_order.compressed.pkts > 0)
            .map(|out_of_order| out_of_order.compressed.due_ns)
    }

    /// Returns true if `segment` is the next one expected, and arrives for the first time and unmarked.
    #[inline(always)]
    pub fn expects(&self, segment: Segment) -> bool {
        segment.tag.is(Tag::new(self.next, 0))
    }

    /// The next segment expected arrives, and [`AckPolicy::AcknowledgesEach`] is the policy. Returns the next one expected then.
    #[inline(always)]
    pub fn receive_next(&mut self) -> u64 {
        self.arrived += 1;
        self.next += 1;
        self.next
    }

    /// The next segment expected, sent at `sent_ns`, arrives at `now`, and [`AckPolicy::DelaysAcks`] is the policy.
    #[inline(always)]
    pub fn receive_delayed(&mut self, now: u64, sent_ns: u64) -> Delayed {
        self.arrived += 1;
        self.next += 1;
        let waiting = &mut self.waiting;
        if waiting.count == 0 {
            (waiting.first_sent_ns, waiting.due_ns) = (sent_ns, now + self.ack_delay_ns);
        }
        waiting.count += 1;
        if waiting.count < self.ack_every && self.next > u64::from(self.quick_until) {
            (waiting.last_sent_ns, waiting.last_is_retransmission) = (sent_ns, false);
            return Delayed::Waits;
        }
        waiting.count = 0;
        Delayed::Acknowledged { next: self.next, echo_ns: waiting.first_sent_ns }
    }

    /// A segment arrives at `now`; the ACK to send at once, if any (RFC 5681, 4.2).
    #[inline(always)]
    pub fn receive(&mut self, now: u64, segment: Segment) -> Option<AckPacket> {
        if self.paws.is_some() { self.receive_protected(now, segment) } else { self.accept(now, segment) }
    }

    /// A segment arrives that may be older than another.
    #[cold]
    fn receive_protected(&mut self, now: u64, segment: Segment) -> Option<AckPacket> {
        if let Some(paws) = &mut self.paws
            && !paws.accepts(segment)
        {
            let sent_ns = paws.recent_ns;
            let gathered = self.reports_held();
            self.arrived += 1;
            self.note_old(segment);
            self.marked_pkts += u32::from(segment.tag.has(CONGESTION));
            self.syn_pkts += u32::from(segment.tag.has(SYN));
            return Some(AckPacket { gathered, ..self.ack(Segment { sent_ns, ..segment }, sent_ns, None) });
        }
        let ack = self.accept(now, segment);
        if let (Some(paws), Some(ack)) = (&mut self.paws, &ack) {
            paws.acknowledged = ack.next;
        }
        ack
    }

    /// A segment that has been acknowledged before shows that its ACK was lost or late.
    fn note_old(&mut self, segment: Segment) {
        if self.is_linux && segment.tag.seq() < self.next {
            self.acknowledge_one_by_one(QUICK_AFTER_OLD);
        }
    }

    /// Returns true if a SYN arrives again. Linux answers it with the timestamp of the first SYN that arrived, so the sender's first
    /// RTT begins with that.
    fn is_syn_again(&self, segment: Segment) -> bool {
        self.is_linux && self.begins_with_syn && segment.tag.seq() == 0 && self.next == 1
    }

    /// The next `pkts` segments are acknowledged as they arrive.
    pub(super) fn acknowledge_one_by_one(&mut self, pkts: u64) {
        self.quick_until = self.quick_until.max((self.arrived_once() + pkts) as u32);
    }

    /// A segment reports congestion or a reduced window, or the one before it did. Returns true if it is to be acknowledged at
    /// once; and an ACK of those before it, if they are to be acknowledged on their own.
    #[cold]
    fn note_congestion(&mut self, tag: Tag) -> (bool, Option<AckPacket>) {
        let marked = tag.has(CONGESTION);
        self.marked_pkts += u32::from(marked);
        if self.ecn == Ecn::Classic {
            // As Linux: the sender's window may be as small as a segment. The next segment is acknowledged at once, too.
            let reduced = tag.has(CWR);
            if marked && (reduced || !self.echo) {
                self.acknowledge_one_by_one(2);
            }
            self.echo = marked;
            return (reduced, None);
        }
        let changed = std::mem::replace(&mut self.last_marked, marked) != marked;
        if self.ecn.is_accurate() {
            // RFC 9768, 3.2.2.5.1.
            return (changed, None);
        }
        // RFC 8257, 3.2: an ACK tells of segments with the same mark.
        let before = if changed && self.waiting.count > 0 { self.acknowledge_waiting() } else { None };
        self.echo = marked;
        (false, before)
    }

    #[inline(always)]
    fn accept(&mut self, now: u64, segment: Segment) -> Option<AckPacket> {
        self.arrived += 1;
        if segment.tag.has(CONGESTION | CWR | SYN) || self.last_marked {
            return self.accept_noting(now, segment);
        }
        self.acknowledge(now, segment, false)
    }

    #[cold]
    fn accept_noting(&mut self, now: u64, segment: Segment) -> Option<AckPacket> {
        self.syn_pkts += u32::from(segment.tag.has(SYN));
        if segment.tag.has(SYN) && segment.tag.seq() < self.next {
            self.marked_pkts += u32::from(segment.tag.has(CONGESTION)); // the last packet of the handshake
            return None;
        }
        if !segment.tag.has(CONGESTION | CWR) && !self.last_marked {
            return self.acknowledge(now, segment, false);
        }
        let (changed, before) = self.note_congestion(segment.tag);
        self.acknowledge(now, segment, changed).or(before)
    }

    /// The ACK to send for a segment, at once if it is `urgent` or has another reason.
    #[inline(always)]
    fn acknowledge(&mut self, now: u64, segment: Segment, urgent: bool) -> Option<AckPacket> {
        if segment.tag.seq() != self.next {
            return self.receive_out_of_order(now, segment);
        }
        self.next += 1;
        let filled_gap = self.out_of_order_pkts > 0;
        let gathered = filled_gap && self.advance();
        if self.ack_every == 1 {
            // The answer to a second SYN echoes it.
            self.waiting.first_sent_ns = segment.sent_ns;
            return Some(AckPacket { gathered, ..self.ack(segment, segment.sent_ns, None) });
        }
        if self.waiting.count == 0 {
            self.waiting.first_sent_ns = segment.sent_ns;
            self.waiting.due_ns = now + self.ack_delay_ns;
        }
        self.waiting.count += 1;
        self.waiting.last_sent_ns = segment.sent_ns;
        self.waiting.last_is_retransmission = segment.tag.has(RETRANSMISSION);
        let full = self.waiting.count >= self.ack_every;
        if filled_gap || full || urgent || self.next <= u64::from(self.quick_until) {
            let mut ack = self.acknowledge_waiting();
            if gathered && let Some(ack) = &mut ack {
                ack.gathered = true;
            }
            return ack;
        }
        None
    }

    /// Segments that wait are acknowledged now, as when the delayed ACK is due.
    pub fn acknowledge_waiting(&mut self) -> Option<AckPacket> {
        if self.waiting.count == 0 {
            return self.acknowledge_held();
        }
        self.waiting.count = 0;
        let Waiting { first_sent_ns, last_sent_ns, last_is_retransmission, .. } = self.waiting;
        Some(AckPacket {
            cause: self.next - 1,
            sent_ns: last_sent_ns,
            retransmission: last_is_retransmission,
            ..self.ack(Segment::default(), first_sent_ns, None)
        })
    }

    /// One ACK for all SACKs that wait.
    #[cold]
    fn acknowledge_held(&mut self) -> Option<AckPacket> {
        let compressed = &mut self.out_of_order.as_mut()?.compressed;
        let (last, first_sent_ns) = (compressed.last, compressed.first_sent_ns);
        compressed.end().then(|| AckPacket { gathered: true, ..self.ack(last, first_sent_ns, None) })
    }

    #[cold]
    fn receive_out_of_order(&mut self, now: u64, segment: Segment) -> Option<AckPacket> {
        let echoes_first = self.waiting.count > 0 || self.is_syn_again(segment);
        let echo_ns = if echoes_first { self.waiting.first_sent_ns } else { segment.sent_ns };
        self.waiting.count = 0;
        self.note_old(segment);
        let is_quick = self.arrived_once() < u64::from(self.quick_until);
        let (next, seq) = (self.next, segment.tag.seq());
        let mut sacked = None;
        let mut gathered = seq < next && self.reports_held();
        if seq > next {
            let out_of_order = self.out_of_order.get_or_insert_default();
            out_of_order.segments.reserve(next, seq + 1);
            if out_of_order.segments.contains(seq) {
                out_of_order.lead(seq, next);
                gathered = out_of_order.compressed.end();
            } else {
                let leading = out_of_order.blocks[0].clone();
                out_of_order.segments.insert(seq);
                self.out_of_order_pkts += 1;
                out_of_order.add(seq, next);
                sacked = NonZeroU64::new(seq);
                let grew = leading.start == seq + 1 || leading.end == seq;
                if is_quick {
                    gathered = out_of_order.compressed.end();
                } else if self.sack_delay_ns > 0 {
                    if out_of_order.compresses(now, self.sack_delay_ns, segment, next, !grew) {
                        return None;
                    }
                    if out_of_order.compressed.pkts > 0 {
                        return self.acknowledge_held();
                    }
                }
            }
        }
        let duplicate = sacked.is_none();
        Some(AckPacket { duplicate, gathered, ..self.ack(segment, echo_ns, sacked) })
    }

    /// An ACK is sent at once, with the blocks of the SACKs that wait; whether some do.
    fn reports_held(&mut self) -> bool {
        self.out_of_order.as_mut().is_some_and(|out_of_order| out_of_order.compressed.end())
    }

    /// Moves past the segments that had arrived early; whether SACKs waited.
    #[cold]
    fn advance(&mut self) -> bool {
        let Some(out_of_order) = &mut self.out_of_order else { return false };
        let to = out_of_order.segments.first_absent(self.next);
        self.out_of_order_pkts -= out_of_order.segments.take(self.next, to) as u32;
        self.next = to;
        out_of_order.forget(to);
        out_of_order.compressed.end()
    }

    fn ack(&self, cause: Segment, echo_ns: u64, sacked: Option<NonZeroU64>) -> AckPacket {
        AckPacket {
            next: self.next,
            sacked,
            cause: cause.tag.seq(),
            sent_ns: cause.sent_ns,
            echo_ns,
            retransmission: cause.tag.has(RETRANSMISSION),
            ece: self.echo,
            duplicate: false,
            gathered: false,
            marked_pkts: self.marked_pkts,
            returned_ns: 0,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn receiver(ack_every: u32, ack_delay_ns: u32, ecn: &str) -> Receiver {
        receiver_on(true, ack_every, ack_delay_ns, ecn)
    }

    fn receiver_on(reordered: bool, ack_every: u32, ack_delay_ns: u32, ecn: &str) -> Receiver {
        let scenario = format!(
            "duration = '1 s'\nstack = {{ ack_every = {ack_every}, ack_delay = '{ack_delay_ns} ns', quick_acks = 0, sack_delay = '0 s', ecn = '{ecn}' }}\n\
             [[chain]]\nrate = '1 Mbps'\ndelay = '1 ms'\nbuffer = 5\n[[flows]]\ncca = 'reno'"
        );
        let scenario = cwnd_scenario::Scenario::from_toml(&scenario, "", &[]).unwrap();
        Receiver::new(&scenario.flows[0].stack, reordered, scenario.rtt_ns(0))
    }

    impl Receiver {
        pub fn delay_sacks(&mut self, ns: u64) {
            self.sack_delay_ns = ns;
        }
    }

    pub fn segment(seq: u64) -> Segment {
        Segment { tag: Tag::new(seq, 0), sent_ns: 10 * seq }
    }

    #[test]
    fn a_gap_is_reported_by_sack_and_closed_by_the_missing_segment() {
        let mut receiver = receiver(1, 0, "off");
        let seen: Vec<_> = [0, 2, 3, 1, 4]
            .map(|seq| receiver.receive(0, segment(seq)).unwrap())
            .map(|ack| (ack.next, ack.sacked.map(NonZeroU64::get)))
            .to_vec();
        assert_eq!(seen, [(1, None), (1, Some(2)), (1, Some(3)), (4, None), (5, None)]);
    }

    #[test]
    fn a_delayed_ack_covers_two_segments_or_waits_for_the_timer() {
        let mut receiver = receiver(2, 40, "off");
        assert!(receiver.receive(5, segment(0)).is_none());
        assert_eq!(receiver.ack_due_ns(), Some(45));
        let ack = receiver.receive(7, segment(1)).unwrap();
        assert_eq!(
            (ack.next, ack.echo_ns, ack.sent_ns),
            (2, 0, 10),
            "it echoes the time of the first segment (RFC 7323, 4.3)"
        );
        assert!(receiver.receive(8, segment(2)).is_none());
        assert_eq!(receiver.acknowledge_waiting().unwrap().next, 3);
        assert_eq!(receiver.ack_due_ns(), None);
    }

    /// In a guest each of 16 segments after one that had arrived before is acknowledged, then each second again.
    #[test]
    fn sixteen_segments_after_an_old_one_are_acknowledged_one_by_one() {
        let mut receiver = receiver(2, 40, "off");
        for seq in 0..4 {
            receiver.receive(0, segment(seq));
        }
        let sent_later = |seq| Segment { sent_ns: 1000 + seq, ..segment(seq) };
        assert!(receiver.receive(0, sent_later(1)).is_some_and(|ack| ack.duplicate));
        let answers: Vec<bool> = (4..24).map(|seq| receiver.receive(0, sent_later(seq)).is_some()).collect();
        assert_eq!(answers[..16], [true; 16]);
        assert_eq!(answers[16..], [false, true, false, true]);
    }

    /// In a guest a SYN-ACK was lost, and the first RTT was 1,171 ms on a path of 137 ms: the SYN was sent again after a second.
    #[test]
    fn the_answer_to_a_second_syn_has_the_first_ones_timestamp() {
        for ack_every in [1, 2] {
            let mut receiver = Receiver { begins_with_syn: true, ..receiver(ack_every, 40, "off") };
            receiver.acknowledge_one_by_one(1);
            let syn = |sent_ns| Segment { tag: Tag::new(0, 0), sent_ns };
            assert!(receiver.receive(3, syn(3)).is_some_and(|ack| ack.echo_ns == 3));
            assert!(receiver.receive(1000, syn(1000)).is_some_and(|ack| ack.echo_ns == 3));
        }
    }

    #[test]
    fn an_out_of_order_segment_is_acknowledged_at_once() {
        let mut receiver = receiver(2, 40, "off");
        assert!(receiver.receive(0, segment(0)).is_none());
        let ack = receiver.receive(1, segment(2)).unwrap();
        assert_eq!((ack.next, ack.sacked), (1, NonZeroU64::new(2)));
        assert_eq!(receiver.receive(2, segment(1)).unwrap().next, 3);
    }

    #[test]
    fn one_like_dctcps_acknowledges_what_came_before_a_change_on_its_own() {
        let mut receiver = receiver(2, 40, "dctcp");
        let marked = |seq| Segment { tag: Tag::new(seq, CONGESTION), ..segment(seq) };
        let mut arrives = |segment| receiver.receive(0, segment).map(|ack| (ack.next, ack.ece));
        assert_eq!([arrives(segment(0)), arrives(segment(1))], [None, Some((2, false))]);
        assert_eq!(arrives(segment(2)), None);
        assert_eq!(arrives(marked(3)), Some((3, false)), "of the segment before it");
        assert_eq!(arrives(marked(4)), Some((5, true)));
        assert_eq!([arrives(marked(5)), arrives(segment(6))], [None, Some((6, true))]);
        assert_eq!(arrives(segment(7)), Some((8, false)));
        assert_eq!(arrives(marked(8)), None, "nothing waited");
    }

    /// Congestion is echoed by the ACKs of unmarked segments, too, until the window is reduced (RFC 3168, 6.1.3).
    #[test]
    fn with_ecn_each_ack_may_echo_congestion() {
        for ack_every in [1, 2] {
            for ecn in ["classic", "dctcp", "accurate"] {
                assert!(
                    receiver_on(false, ack_every, 40, ecn).ack_policy() == AckPolicy::Other,
                    "{ack_every} {ecn}"
                );
            }
        }
        assert!(receiver_on(false, 1, 40, "off").ack_policy() == AckPolicy::AcknowledgesEach);
        assert!(receiver_on(false, 2, 40, "off").ack_policy() == AckPolicy::DelaysAcks);
    }

    #[test]
    fn an_accurate_receiver_counts_marks_and_reports_a_change_at_once() {
        let mut receiver = receiver(2, 40, "accurate");
        let marked = |seq| Segment { tag: Tag::new(seq, CONGESTION), ..segment(seq) };
        assert!(receiver.receive(0, segment(0)).is_none());
        assert_eq!(
            receiver.receive(0, marked(1)).map(|ack| (ack.next, ack.marked_pkts, ack.ece)),
            Some((2, 1, false))
        );
        assert!(receiver.receive(0, marked(2)).is_none(), "no change");
        assert_eq!(receiver.receive(0, marked(3)).map(|ack| ack.marked_pkts), Some(3));
        assert_eq!(receiver.receive(0, segment(4)).map(|ack| ack.marked_pkts), Some(3), "a change back");
    }
}
