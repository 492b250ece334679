//! The droptail FIFO queue packet by packet, for links whose rate varies. It drops and marks as `droptail.rs` does.

use crate::path::queue::discipline::{Discipline, Next, Packet};
use std::collections::VecDeque;

pub struct Fifo {
    limit: u64,
    ecn_threshold: u64,
    packets: VecDeque<Packet>,
}

impl Fifo {
    pub fn new(link: &cwnd_scenario::Link) -> Fifo {
        Fifo {
            limit: link.buffer_pkts.map_or(u64::MAX, u64::from),
            ecn_threshold: link.ecn_threshold_pkts.map_or(u64::MAX, u64::from),
            packets: VecDeque::new(),
        }
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, _: u64, mut packet: Packet, sending: bool, dropped: &mut Vec<Packet>) {
        let held = self.waiting_pkts() + u64::from(sending);
        if held >= self.limit {
            dropped.push(packet);
            return;
        }
        packet.marked |= packet.codepoint.is_ect() && held + 1 > self.ecn_threshold;
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, _: u64, _: &mut Vec<Packet>) -> Next {
        self.packets.pop_front().map_or(Next::Empty, Next::Send)
    }

    fn waiting_pkts(&self) -> u64 {
        self.packets.len() as u64
    }
}
