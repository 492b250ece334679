//! Queue disciplines, which hold the packets that wait at a link and choose the one that leaves next: one file for each.

mod backlog;
mod byte_limit;
mod codel;
pub mod discipline;
mod dualpi2;
mod fifo;
mod fq_codel;
mod pie;
mod red;

use crate::random::random_stream;
use chacha20::rand_core::Rng;
use cwnd_scenario::{Queue, Scenario};
use discipline::Discipline;

/// The discipline of the managed link `id` in a run with this seed; None: droptail in closed form. What is random draws from
/// the stream `queue-` and the link's name.
pub fn named(scenario: &Scenario, id: u32, seed: u64) -> Option<Box<dyn Discipline>> {
    scenario.links[id as usize].is_managed().then(|| packet_by_packet(scenario, id, seed))
}

/// The discipline of a link that goes through arrivals and departures one by one.
pub fn packet_by_packet(scenario: &Scenario, id: u32, seed: u64) -> Box<dyn Discipline> {
    let link = &scenario.links[id as usize];
    let limit = link.buffer_pkts.map_or(u64::MAX, u64::from);
    let mut rng = random_stream(seed, &format!("queue-{}", link.name));
    let queue: Box<dyn Discipline> = match &link.queue {
        None => Box::new(fifo::Fifo::new(link, rng)),
        // It counts arrivals that it has no room for, too: the limit in bytes is its own.
        Some(Queue::Red(red)) => {
            return Box::new(red::RedQueue::new(red, link, scenario.first_flow_at(id).packet_bytes(), rng));
        }
        Some(Queue::Codel(codel)) => Box::new(codel::CodelQueue::new(codel, limit)),
        Some(Queue::FqCodel(fq)) => Box::new(fq_codel::FqCodelQueue::new(fq, limit, rng.next_u64())),
        Some(Queue::Pie(pie)) => Box::new(pie::PieQueue::new(pie, limit, link.rate_bps, rng)),
        Some(Queue::DualPi2(dualpi2)) => Box::new(dualpi2::DualPi2Queue::new(dualpi2, limit, rng)),
    };
    match link.buffer_bytes {
        Some(bytes) => Box::new(byte_limit::ByteLimit::new(queue, bytes, link.queue.is_none())),
        None => queue,
    }
}
