//! Where packets go behind a link: to another, to their receiver, or, if they are ACKs, to their sender.

use crate::fast::ends::acks::Acks;
use crate::fast::ends::agenda::Agenda;
use crate::fast::link::passing::Link;
use crate::fast::link::timing::{Crossing, Timing};
use crate::fast::shared::inbox::{InTransit, Inbox};
use crate::fast::topology::{Hop, RECEIVER, SENDER};
use crate::memory::ring::Ring;
use crate::tcp::packet::Segment;

/// A packet that arrives at its receiver.
#[derive(Clone, Copy, Default)]
pub struct Arrival<E> {
    pub at: u64,
    pub sub_ns: E,
    pub segment: Segment,
}

/// Fate of a segment at a link.
pub enum Crossed {
    Passed,
    /// Dropped or lost; when that counts.
    Lost(u64),
    /// The segment has another size than most, and nothing was done.
    IsOther,
}

/// `segment` arrives at `link`, that of hop `hop`, at `now`, and goes on; `to` is the hop.
#[inline(always)]
pub fn cross_as_most<T: Timing>(
    link: &mut Link<T::Link>,
    hop: u32,
    now: u64,
    segment: &Segment,
    to: &mut Hop,
    timing: &mut T,
    onward: Onward<T::SubNanosecond>,
) -> Crossed {
    let bytes = segment.tag.bytes();
    if bytes != to.bytes {
        return Crossed::IsOther;
    }
    let crossing = Crossing { now_ns: now, hop, bytes, tx_ticks: to.tx_ticks };
    match link.pass(timing, crossing, segment, || (to.onward_ns, to.codepoint)) {
        Ok(packet) => {
            onward.take(to, packet);
            Crossed::Passed
        }
        Err(lost_ns) => Crossed::Lost(lost_ns),
    }
}

/// Where packets go behind a link.
pub struct Onward<'n, E> {
    pub inboxes: &'n mut Vec<Inbox<E>>,
    pub to_receiver: &'n mut Vec<Ring<Arrival<E>>>,
    pub acks: &'n mut Vec<Acks>,
    pub agenda: &'n mut Agenda,
}

impl<E: Copy> Onward<'_, E> {
    /// `packet` has crossed the link of `from`.
    #[inline(always)]
    pub fn take(self, from: &mut Hop, packet: InTransit<E>) {
        from.passed += 1;
        let InTransit { at, sub_ns, segment, .. } = packet;
        if from.next == SENDER {
            take_ack(self.acks, self.agenda, from.flow, at, segment);
        } else if from.next != RECEIVER {
            self.inboxes[from.next as usize].push(packet);
        } else {
            let packets = &mut self.to_receiver[from.flow as usize];
            packets.push_back(Arrival { at, sub_ns, segment });
            if packets.len() == 1 {
                self.agenda.hasten(from.flow, at + from.after_ns);
            }
        }
    }
}

#[inline(never)]
fn take_ack(acks: &mut [Acks], agenda: &mut Agenda, flow: u32, at: u64, ack: Segment) {
    acks[flow as usize].arrive(at, ack);
    agenda.hasten(flow, at);
}
