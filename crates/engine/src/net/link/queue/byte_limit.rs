//! A limit in bytes before a queue discipline: an arrival that would exceed it is dropped.

use crate::net::link::queue::discipline::{Discipline, Next, Queued};

pub struct ByteLimit {
    queue: Box<dyn Discipline>,
    limit_bytes: u64,
    /// The packet being sent counts, too.
    counts_sending: bool,
    waiting_bytes: u64,
    /// Size of the packet that was sent last.
    sending_bytes: u64,
}

impl ByteLimit {
    pub fn new(queue: Box<dyn Discipline>, limit_bytes: u64, counts_sending: bool) -> ByteLimit {
        ByteLimit { queue, limit_bytes, counts_sending, waiting_bytes: 0, sending_bytes: 0 }
    }
}

fn bytes_of(packets: &[Queued]) -> u64 {
    packets.iter().map(|packet| u64::from(packet.bytes)).sum()
}

impl Discipline for ByteLimit {
    fn enqueue(&mut self, now_ns: u64, packet: Queued, sending: bool, dropped: &mut Vec<Queued>) {
        let sending_bytes = if sending && self.counts_sending { self.sending_bytes } else { 0 };
        let bytes = u64::from(packet.bytes);
        if self.waiting_bytes + sending_bytes + bytes > self.limit_bytes {
            dropped.push(packet);
            return;
        }
        let before = dropped.len();
        self.queue.enqueue(now_ns, packet, sending, dropped);
        self.waiting_bytes = self.waiting_bytes + bytes - bytes_of(&dropped[before..]);
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next {
        let before = dropped.len();
        let next = self.queue.dequeue(now_ns, dropped);
        self.waiting_bytes -= bytes_of(&dropped[before..]);
        if let Next::Send(packet) = &next {
            self.sending_bytes = packet.bytes.into();
            self.waiting_bytes -= self.sending_bytes;
        }
        next
    }

    fn waiting_pkts(&self) -> u64 {
        self.queue.waiting_pkts()
    }

    fn tells_flows_apart(&self) -> bool {
        self.queue.tells_flows_apart()
    }
}
