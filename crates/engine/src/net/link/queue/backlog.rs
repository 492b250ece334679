//! Packets that wait in order, and their bytes.

use crate::net::link::queue::discipline::Queued;
use std::collections::VecDeque;

#[derive(Default)]
pub struct Backlog {
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Backlog {
    pub fn push(&mut self, packet: Queued) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    pub fn front(&self) -> Option<&Queued> {
        self.packets.front()
    }

    pub fn front_mut(&mut self) -> Option<&mut Queued> {
        self.packets.front_mut()
    }

    pub fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
