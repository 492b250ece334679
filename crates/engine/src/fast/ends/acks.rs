//! ACKs that cross links: what is in them, while the links know them as packets.

use crate::memory::ring::Ring;
use crate::net::measure::observe::AckCounts;
use crate::tcp::packet::{Segment, SelectiveAck, Tag};

/// An ACK as it arrives at the sender.
pub enum ArrivingAck {
    /// It acknowledges all before `next`, at once, for a segment that was sent at `sent_ns` for the first time.
    Cumulative { next: u64, sent_ns: u64 },
    /// It reports more.
    Selective(SelectiveAck),
}

/// In the packet of an ACK whose sequence number is a place in the list; else it is what the ACK acknowledges.
const LISTED: u8 = 1;

/// The ACKs of a flow that are on their way.
#[derive(Default)]
pub struct Acks {
    /// Those that report more than a packet can.
    listed: Vec<SelectiveAck>,
    vacant: Vec<u32>,
    /// Behind the last link: when each arrives, in order, and its packet.
    arriving: Ring<(u64, Segment)>,
    pub counts: AckCounts,
}

impl Acks {
    /// The packet, still without a size, of an ACK that reports no more than that all before `next` has arrived.
    #[inline(always)]
    pub fn cumulative(&mut self, next: u64, sent_ns: u64) -> Segment {
        self.counts.sent += 1;
        Segment { tag: Tag::new(next, 0), sent_ns }
    }

    /// The packet, still without a size, of any ACK.
    pub fn selective(&mut self, ack: SelectiveAck) -> Segment {
        self.counts.sent += 1;
        self.list(ack)
    }

    fn list(&mut self, ack: SelectiveAck) -> Segment {
        let sent_ns = ack.ack.sent_ns;
        let place = self.vacant.pop().unwrap_or(self.listed.len() as u32);
        match self.listed.get_mut(place as usize) {
            Some(old) => *old = ack,
            None => self.listed.push(ack),
        }
        Segment { tag: Tag::new(place.into(), LISTED), sent_ns }
    }

    /// An ACK is dropped or lost.
    pub fn lose(&mut self, ack: Segment) {
        self.counts.lost += 1;
        if ack.tag.has(LISTED) {
            self.vacant.push(ack.tag.seq() as u32);
        }
    }

    /// A wire delivers an ACK twice; returns the packet of the copy, still without a size.
    pub fn copy(&mut self, ack: Segment) -> Segment {
        self.counts.duplicated += 1;
        if !ack.tag.has(LISTED) {
            return ack;
        }
        let listed = self.listed[ack.tag.seq() as usize].clone();
        self.list(listed)
    }

    /// An ACK has crossed the last link, and arrives at `at`.
    #[inline(always)]
    pub fn arrive(&mut self, at: u64, ack: Segment) {
        self.arriving.push_sorted((at, ack), |other| other.0 > at);
    }

    /// When the next ACK arrives.
    #[inline(always)]
    pub fn next_ns(&self) -> Option<u64> {
        self.arriving.front().map(|(at, _)| *at)
    }

    /// The next ACK arrives.
    #[inline(always)]
    pub fn take(&mut self) -> Option<ArrivingAck> {
        let (_, ack) = self.arriving.pop_front()?;
        self.counts.arrived += 1;
        let number = ack.tag.seq();
        if !ack.tag.has(LISTED) {
            return Some(ArrivingAck::Cumulative { next: number, sent_ns: ack.sent_ns });
        }
        self.vacant.push(number as u32);
        Some(ArrivingAck::Selective(std::mem::take(&mut self.listed[number as usize])))
    }

    /// When the ACKs behind the last link arrive.
    pub fn arrivals(&self) -> impl Iterator<Item = u64> {
        self.arriving.iter().map(|&(at, _)| at)
    }

    pub fn len(&self) -> usize {
        self.arriving.len()
    }
}
