//! FQ-CoDel (RFC 8290): a queue for each flow, served in turn by bytes, each under CoDel.

use crate::net::link::queue::backlog::Backlog;
use crate::net::link::queue::codel::Control;
use crate::net::link::queue::discipline::{Discipline, Next, Queued};
use cwnd_scenario::FqCodel;
use std::collections::VecDeque;

/// An overflow drops this many packets, or half of the queue's bytes if those are fewer.
const DROP_BATCH: u64 = 64;

struct FlowQueue {
    packets: Backlog,
    control: Control,
    /// Bytes that it may still send in this round.
    deficit: i64,
    is_listed: bool,
}

pub struct FqCodelQueue {
    /// CoDel state of a queue that is new.
    control: Control,
    quantum: i64,
    limit: u64,
    /// Flows are hashed into this many; None: each has its own.
    hashed: Option<u32>,
    seed: u64,
    queues: Vec<Option<Box<FlowQueue>>>,
    /// Queues that became busy, and those that were served since.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    waiting_pkts: u64,
    waiting_bytes: u64,
}

impl FqCodelQueue {
    /// `seed` is of the hash.
    pub fn new(fq_codel: &FqCodel, limit: u64, seed: u64) -> FqCodelQueue {
        FqCodelQueue {
            control: Control::new(&fq_codel.codel),
            quantum: fq_codel.quantum_bytes.into(),
            limit,
            hashed: fq_codel.queues,
            seed,
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting_pkts: 0,
            waiting_bytes: 0,
        }
    }

    fn queue_of(&self, flow: u32) -> u32 {
        let Some(queues) = self.hashed else { return flow };
        // splitmix64
        let mut hash = self.seed ^ u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(hash ^ hash >> 31) * u128::from(queues)) >> 64) as u32
    }

    fn queue(&mut self, id: u32) -> &mut FlowQueue {
        if self.queues.len() <= id as usize {
            self.queues.resize_with(id as usize + 1, || None);
        }
        self.queues[id as usize].get_or_insert_with(|| {
            let control = self.control.clone();
            Box::new(FlowQueue { packets: Backlog::default(), control, deficit: 0, is_listed: false })
        })
    }

    /// Drops from the head of the longest queue, in bytes.
    fn drop_from_longest(&mut self, dropped: &mut Vec<Queued>) {
        let busy = self.queues.iter_mut().flatten();
        let Some(longest) = busy.max_by_key(|queue| queue.packets.bytes()) else { return };
        let (before, enough) = (dropped.len() as u64, longest.packets.bytes() / 2);
        let mut bytes = 0;
        while dropped.len() as u64 - before < DROP_BATCH
            && bytes < enough
            && let Some(packet) = longest.packets.pop()
        {
            bytes += u64::from(packet.bytes);
            dropped.push(packet);
        }
        let drops = dropped.len() as u64 - before;
        longest.control.add_drops(drops);
        self.waiting_pkts -= drops;
        self.waiting_bytes -= bytes;
    }
}

impl Discipline for FqCodelQueue {
    fn enqueue(&mut self, _: u64, packet: Queued, _: bool, dropped: &mut Vec<Queued>) {
        let (id, quantum) = (self.queue_of(packet.flow), self.quantum);
        let queue = self.queue(id);
        queue.packets.push(packet);
        if !queue.is_listed {
            (queue.is_listed, queue.deficit) = (true, quantum);
            self.new.push_back(id);
        }
        self.waiting_pkts += 1;
        self.waiting_bytes += u64::from(packet.bytes);
        if self.waiting_pkts > self.limit {
            self.drop_from_longest(dropped);
        }
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &self.new } else { &self.old };
            let Some(&id) = list.front() else { return Next::Empty };
            let queue = self.queues[id as usize].as_mut().expect("it is listed");
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                if is_new {
                    self.new.pop_front()
                } else {
                    self.old.pop_front()
                };
                self.old.push_back(id);
                continue;
            }
            let packets = &mut queue.packets;
            let elsewhere_bytes = self.waiting_bytes - packets.bytes();
            let before_pkts = packets.len();
            let next = queue.control.dequeue(now_ns, packets, elsewhere_bytes, dropped);
            self.waiting_bytes = elsewhere_bytes + packets.bytes();
            self.waiting_pkts -= before_pkts - packets.len();
            match next {
                Some(packet) => {
                    queue.deficit -= i64::from(packet.bytes);
                    return Next::Send(packet);
                }
                None => {
                    if is_new {
                        self.new.pop_front()
                    } else {
                        self.old.pop_front()
                    };
                    // A new queue waits for its turn among the old ones, so that it cannot be new again at once.
                    if is_new && !self.old.is_empty() {
                        self.old.push_back(id);
                    } else {
                        queue.is_listed = false;
                    }
                }
            }
        }
    }

    fn waiting_pkts(&self) -> u64 {
        self.waiting_pkts
    }

    fn tells_flows_apart(&self) -> bool {
        true
    }
}
