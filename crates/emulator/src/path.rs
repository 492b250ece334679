//! The path between the two namespaces: one thread that carries packets over the plain network in real time.

use crate::ends::{Host, Kernel};
use crate::pace::Pace;
use crate::packet::Reader;
use crate::shared::{BATCH, Shared};
use crate::sys::{self, Core};
use cwnd_engine::net::{self, Discipline, Endpoints, NEVER, Next, Parts, Queued, Side, packet_by_packet};
use cwnd_engine::{Control, Unfinished};
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use std::cell::RefCell;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Packets under way: about 2 GB of them.
const PACKETS_MAX: usize = 1 << 20;

/// Results of the emulator at its end.
pub struct Report {
    /// The links, their samples, and what each flow lost.
    pub run: Run,
    /// The fewest packets that flow 0's bottleneck held when it dropped an arrival.
    pub held_at_drop_pkts: Option<u64>,
    /// How late at most 99 % of the packets were passed on.
    pub late_p99_ns: u64,
}

/// A discipline, and the fewest packets that its link held when it dropped an arrival.
struct Noted {
    discipline: Box<dyn Discipline>,
    held_at_drop_pkts: Arc<AtomicU64>,
}

impl Discipline for Noted {
    fn enqueue(&mut self, now_ns: u64, packet: Queued, sending: bool, dropped: &mut Vec<Queued>) {
        let (held_pkts, before) = (self.waiting_pkts() + u64::from(sending), dropped.len());
        self.discipline.enqueue(now_ns, packet, sending, dropped);
        if dropped.len() > before {
            self.held_at_drop_pkts.fetch_min(held_pkts, Relaxed);
        }
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next {
        self.discipline.dequeue(now_ns, dropped)
    }

    fn waiting_pkts(&self) -> u64 {
        self.discipline.waiting_pkts()
    }

    fn tells_flows_apart(&self) -> bool {
        self.discipline.tells_flows_apart()
    }
}

/// Carries packets of `mtu` bytes at most between the devices until it is stopped.
pub fn carry(
    scenario: &Scenario,
    seed: u64,
    mtu: u32,
    shared: &Shared,
    near: File,
    far: File,
) -> Result<Report, Unfinished> {
    sys::stay_on(Core::Data);
    sys::go_first();
    let inboxes = scenario.flows.iter().map(|_| RefCell::default()).collect();
    let host = Host { shared, near, far, inboxes, pace: RefCell::new(Pace::new(shared.now_ns())) };
    let ends = |flow: u32, _| Some(Box::new(Kernel::new(&host, flow as usize)) as Box<dyn Endpoints>);
    let slowest = scenario.bottleneck(0);
    let held_at_drop_pkts = Arc::new(AtomicU64::new(u64::MAX));
    let disciplines = |scenario: &Scenario, link: u32, seed: u64| -> Box<dyn Discipline> {
        let discipline = packet_by_packet(scenario, link, seed);
        if scenario.links[link as usize].name != slowest.name {
            return discipline;
        }
        Box::new(Noted { discipline, held_at_drop_pkts: Arc::clone(&held_at_drop_pkts) })
    };
    let parts =
        Parts { transports: &ends, disciplines: &disciplines, packets_max: PACKETS_MAX, ..Parts::default() };
    let control = Control::default();
    let mut network = net::begin(scenario, seed, parts, &control);
    let reader = |device, from| Reader::new(scenario, device, from, mtu);
    let mut readers = [reader(&host.near, Side::Sender), reader(&host.far, Side::Receiver)];
    while !shared.stop.load(Relaxed) {
        let now_ns = shared.now_ns();
        let has_work = network.next_event_ns() <= now_ns;
        let flows_ended = shared.flows_ended.load(Acquire);
        network.advance(now_ns)?;
        let mut taken = 0;
        for reader in &mut readers {
            for _ in 0..BATCH {
                let Some(packet) = reader.next() else { break };
                let (flow, read_ns) = (packet.flow, shared.now_ns());
                host.inboxes[flow].borrow_mut().push_back((read_ns, packet));
                network.wake(flow as u32);
                network.advance(read_ns)?;
                taken += 1;
            }
        }
        if taken > 0 || has_work {
            shared.worked_ns.fetch_add(shared.now_ns() - now_ns, Relaxed);
        }
        if taken == 0 {
            if flows_ended && network.next_event_ns() == NEVER {
                shared.is_quiet.store(true, Release);
            }
            let devices = [&host.near, &host.far];
            host.pace.borrow_mut().wait(&devices, network.next_event_ns(), || shared.now_ns());
        }
    }
    let end_ns = shared.now_ns().max(shared.end_ns.load(Relaxed));
    network.advance(end_ns)?;
    let run = network.finish_at(end_ns);
    let held_at_drop_pkts = Some(held_at_drop_pkts.load(Relaxed)).filter(|&pkts| pkts < u64::MAX);
    Ok(Report { run, held_at_drop_pkts, late_p99_ns: host.pace.borrow().late_p99_ns() })
}
