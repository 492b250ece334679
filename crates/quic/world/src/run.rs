//! A run: what happens at the ends and on the links, in the order of time.

use crate::end::{Asked, Connection, Datagram, Shared, Side};
use crate::flow::{Running, size_bytes};
use crate::network::{HEADER_BYTES, Network};
use crate::seen::Seen;
use crate::tcp::Tcp;
use crate::{Settings, Stack, Watch};
use cwnd_engine::{Unfinished, start_jitter_ns};
use cwnd_results::{FlowRow, LinkSamples, Run, Transfers, time_series};
use cwnd_scenario::{Flow, Samples, Scenario};
use std::sync::{Arc, Mutex};

const NEVER: u64 = u64::MAX;
/// Datagrams under way: about 1.6 GB of them.
pub const PACKETS_MAX: usize = 1 << 20;
/// Between two calls of the watch.
const EVENTS_PER_LOOK: u64 = 4096;
const SIDES: [Side; 2] = [Side::Sender, Side::Receiver];

struct Loop<'a> {
    stack: Stack,
    settings: Settings,
    scenario: &'a Scenario,
    seed: u64,
    network: Network<'a>,
    /// By flow: when it starts, or NEVER once it has.
    starts_ns: Vec<u64>,
    stops_ns: Vec<u64>,
    flows: Vec<Option<Running<'a>>>,
    /// By flow and end: when a timer runs out, or NEVER.
    due_ns: Vec<[u64; 2]>,
    warmup_ns: u64,
    sample_ns: u64,
    /// Of samples, each with its time and its flow.
    flow_rows: Vec<(u64, u32, FlowRow)>,
    link_samples: LinkSamples,
    last_arrival_ns: u64,
}

/// What is to be done next. Of events at one time the first of these comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start(usize),
    Timer(usize, Side),
    /// A datagram is at an end, or something happens at a link.
    Network,
    Stop(usize),
    Warmup,
    Sample,
}

/// In datagrams of UDP.
pub fn datagram_bytes(flow: &Flow) -> u32 {
    flow.packet_bytes().saturating_sub(HEADER_BYTES)
}

/// Answers `scenario`, which was checked; None: stopped by `watch`.
pub fn run(
    stack: Stack,
    settings: Settings,
    scenario: &Scenario,
    seed: u64,
    watch: &impl Watch,
) -> Result<Option<Run>, String> {
    let flows = scenario.flows.len();
    let starts = (0..).zip(&scenario.flows).map(|(id, flow)| flow.start_ns + start_jitter_ns(flow, id, seed));
    let mut own = Loop {
        stack,
        settings,
        scenario,
        seed,
        network: Network::new(scenario, seed),
        starts_ns: starts.collect(),
        stops_ns: vec![NEVER; flows],
        flows: (0..flows).map(|_| None).collect(),
        due_ns: vec![[NEVER; 2]; flows],
        warmup_ns: if scenario.warmup_ns > 0 { scenario.warmup_ns } else { NEVER },
        sample_ns: if matches!(scenario.samples, Samples::Interval { .. }) { 0 } else { NEVER },
        flow_rows: Vec::new(),
        link_samples: LinkSamples::default(),
        last_arrival_ns: 0,
    };
    for count in 0_u64.. {
        let (now_ns, event) = own.next();
        if now_ns > scenario.duration_ns {
            break;
        }
        if count % EVENTS_PER_LOOK == 0 && !watch(now_ns) {
            return Ok(None);
        }
        own.happen(now_ns, event)?;
    }
    Ok(Some(own.finish()))
}

impl<'a> Loop<'a> {
    fn next(&self) -> (u64, Event) {
        let starts = self.starts_ns.iter().enumerate().map(|(flow, &ns)| (ns, Event::Start(flow)));
        let stops = self.stops_ns.iter().enumerate().map(|(flow, &ns)| (ns, Event::Stop(flow)));
        let timers = self.due_ns.iter().enumerate().flat_map(|(flow, ends)| {
            SIDES.into_iter().zip(ends).map(move |(side, &ns)| (ns, Event::Timer(flow, side)))
        });
        let others = [
            (self.network.next_ns(), Event::Network),
            (self.warmup_ns, Event::Warmup),
            (self.sample_ns, Event::Sample),
        ];
        let events = others.into_iter().chain(timers).chain(starts).chain(stops);
        events.min().unwrap_or((NEVER, Event::Sample))
    }

    fn happen(&mut self, now_ns: u64, event: Event) -> Result<(), String> {
        match event {
            Event::Start(flow) => {
                self.start(now_ns, flow)?;
                self.serve(now_ns, flow, Side::Sender)
            }
            Event::Network => {
                let Some(arrival) = self.network.advance(now_ns) else { return Ok(()) };
                if arrival.to == Side::Receiver {
                    self.last_arrival_ns = now_ns;
                }
                if let Some(connection) = self.connection(arrival.flow) {
                    connection.receive(arrival.to, now_ns, arrival.datagram);
                    self.serve(now_ns, arrival.flow, arrival.to)?;
                }
                Ok(())
            }
            Event::Timer(flow, side) => {
                if let Some(connection) = self.connection(flow) {
                    connection.wake(side, now_ns);
                }
                self.serve(now_ns, flow, side)
            }
            Event::Stop(flow) => {
                self.stop(now_ns, flow);
                Ok(())
            }
            Event::Warmup => {
                self.warmup_ns = NEVER;
                self.network.begin_measuring(now_ns);
                for flow in self.flows.iter_mut().flatten().filter(|flow| !flow.is_stopped()) {
                    flow.begin_measuring(now_ns, self.network.counts[flow.index]);
                }
                Ok(())
            }
            Event::Sample => {
                self.sample(now_ns);
                Ok(())
            }
        }
    }

    /// Of a flow that has started and not stopped.
    fn connection(&mut self, flow: usize) -> Option<&mut dyn Connection> {
        let running = self.flows[flow].as_mut().filter(|running| !running.is_stopped())?;
        Some(&mut *running.connection)
    }

    fn start(&mut self, now_ns: u64, index: usize) -> Result<(), String> {
        let flow = &self.scenario.flows[index];
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..].copy_from_slice(&(index as u64).to_le_bytes());
        let datagram_bytes = u16::try_from(datagram_bytes(flow)).expect("the size was checked");
        let seen: Shared = Arc::new(Mutex::new(Seen::new(datagram_bytes, now_ns)));
        let connection: Box<dyn Connection + 'a> = if flow.cca.is_over_tcp() {
            Box::new(Tcp::new(self.scenario, index, now_ns, self.seed, Arc::clone(&seen))?)
        } else {
            let (size_bytes, settings) = (size_bytes(flow), self.settings);
            let asked = Asked { cca: &flow.cca, datagram_bytes, size_bytes, seed, settings };
            self.stack.connect(&asked, now_ns, Arc::clone(&seen))?
        };
        self.flows[index] = Some(Running::new(index, flow, now_ns, connection, seen));
        self.starts_ns[index] = NEVER;
        self.stops_ns[index] = flow.stop_ns;
        Ok(())
    }

    /// Sends what an end has to send, after anything has happened to it.
    fn serve(&mut self, now_ns: u64, flow: usize, side: Side) -> Result<(), String> {
        let has_ecn = self.scenario.flows[flow].stack.ecn.is_on();
        let Some(running) = self.flows[flow].as_mut().filter(|running| !running.is_stopped()) else {
            return Ok(());
        };
        let connection = &mut running.connection;
        while let Some(datagram) = connection.transmit(side, now_ns) {
            let (is_ect, is_ce) = (has_ecn && datagram.is_ect, has_ecn && datagram.is_ce);
            let datagram = Datagram { is_ect, is_ce, ..datagram };
            self.network.send(now_ns, flow, side.other(), datagram);
        }
        self.due_ns[flow][side as usize] = connection.due_ns(side).unwrap_or(NEVER).max(now_ns);
        if let Some(fault) = connection.fault() {
            let at_s = now_ns as f64 / 1e9;
            return Err(format!(
                "flow {flow}: {} gave up the connection at {at_s} s: {fault}",
                self.stack.name()
            ));
        }
        if connection.finished_ns().is_some() {
            self.stop(now_ns, flow);
        }
        if self.network.under_way() > PACKETS_MAX {
            return Err(Unfinished::Crowded { packets_max: PACKETS_MAX, at_ns: now_ns }.to_string());
        }
        Ok(())
    }

    /// From now on the flow's ends neither send nor receive.
    fn stop(&mut self, now_ns: u64, flow: usize) {
        if let Some(running) = &mut self.flows[flow] {
            running.stop(now_ns, self.network.counts[flow]);
        }
        self.stops_ns[flow] = NEVER;
        self.due_ns[flow] = [NEVER; 2];
    }

    fn sample(&mut self, now_ns: u64) {
        for flow in self.flows.iter_mut().flatten().filter(|flow| flow.lasts_at(now_ns)) {
            let row = flow.sample(now_ns, self.network.counts[flow.index]);
            self.flow_rows.push((now_ns, flow.index as u32, row));
        }
        self.network.sample(now_ns, &mut self.link_samples);
        if let Samples::Interval { interval_ns } = self.scenario.samples {
            self.sample_ns = now_ns + interval_ns;
        }
    }

    fn finish(mut self) -> Run {
        let mut transfers = Transfers::default();
        let (mut flows, mut notes) = (Vec::new(), Vec::new());
        for running in self.flows.iter_mut().flatten() {
            running.stop(self.scenario.duration_ns, self.network.counts[running.index]);
            let stack = format!("{} {}", self.stack.name(), self.stack.version());
            notes.extend(running.note_missing(&stack));
            flows.push(running.finish(self.scenario, &mut transfers));
        }
        transfers.set_quantiles(&mut flows, self.scenario.warmup_ns);
        let (flow_samples, group_samples) = time_series(self.flow_rows, &self.scenario.sample_groups);
        Run {
            world: self.stack.world(self.settings.crypto),
            seed: self.seed,
            flows,
            links: self.network.results(self.scenario.duration_ns),
            flow_samples,
            group_samples,
            link_samples: self.link_samples,
            transfers,
            packets: self.network.counts.iter().map(|counts| counts.sent_pkts).sum(),
            last_arrival_ns: self.last_arrival_ns,
            notes,
        }
    }
}
