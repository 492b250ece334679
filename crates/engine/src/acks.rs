//! ACKs that cross links: what is in them, while the links know them as packets.

use crate::tcp::packet::{AckPacket, BLOCKS_MAX, Block};
use std::collections::VecDeque;

/// An ACK with the SACK blocks that it carries, the one that grew last first; the rest are empty (RFC 2018).
#[derive(Clone, Default)]
pub struct SelectiveAck {
    pub ack: AckPacket,
    pub blocks: [Block; BLOCKS_MAX],
}

/// What has become of the ACKs of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckCounts {
    pub sent: u64,
    /// Copies that a wire of the way back made.
    pub duplicated: u64,
    /// Dropped by a queue or lost on a wire of the way back.
    pub lost: u64,
    /// At the sender.
    pub arrived: u64,
}

/// The ACKs of a flow that are on their way, by the place that stands for a sequence number in their packets.
#[derive(Default)]
pub struct Acks {
    under_way: Vec<SelectiveAck>,
    vacant: Vec<u32>,
    /// Behind the last link: when each arrives, in order, and its place.
    arriving: VecDeque<(u64, u32)>,
    pub counts: AckCounts,
}

impl Acks {
    /// An ACK is sent; returns its place.
    pub fn add(&mut self, ack: SelectiveAck) -> u64 {
        self.counts.sent += 1;
        self.keep(ack)
    }

    fn keep(&mut self, ack: SelectiveAck) -> u64 {
        let place = self.vacant.pop().unwrap_or(self.under_way.len() as u32);
        match self.under_way.get_mut(place as usize) {
            Some(old) => *old = ack,
            None => self.under_way.push(ack),
        }
        place.into()
    }

    /// The ACK at `place` is dropped or lost.
    pub fn lose(&mut self, place: u64) {
        self.counts.lost += 1;
        self.vacant.push(place as u32);
    }

    /// A wire delivers the ACK at `place` twice; returns the place of the copy.
    pub fn copy(&mut self, place: u64) -> u64 {
        let ack = self.under_way[place as usize].clone();
        self.counts.duplicated += 1;
        self.keep(ack)
    }

    /// The ACK at `place` has crossed the last link, and arrives at `at`.
    pub fn arrive(&mut self, at: u64, place: u64) {
        let after = self.arriving.partition_point(|(other, _)| *other <= at);
        self.arriving.insert(after, (at, place as u32));
    }

    /// When the next ACK arrives.
    pub fn next_ns(&self) -> Option<u64> {
        self.arriving.front().map(|(at, _)| *at)
    }

    /// The next ACK arrives.
    pub fn take(&mut self) -> Option<SelectiveAck> {
        let (_, place) = self.arriving.pop_front()?;
        self.counts.arrived += 1;
        self.vacant.push(place);
        Some(std::mem::take(&mut self.under_way[place as usize]))
    }

    /// When the ACKs behind the last link arrive.
    pub fn arrivals(&self) -> impl Iterator<Item = u64> {
        self.arriving.iter().map(|&(at, _)| at)
    }

    pub fn len(&self) -> usize {
        self.arriving.len()
    }
}
