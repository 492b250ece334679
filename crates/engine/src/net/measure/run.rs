//! Counts, samples and results of a run.

use crate::control::Unfinished;
use crate::net::connection::Connection;
use crate::net::link::Link;
use crate::net::measure::observe::{FlowObservation, LinkLook, LinkObservation, Observation};
use crate::net::measure::rows::{LinkCounts, group_row, transfer_rows};
use crate::net::measure::samples::FlowSampler;
use crate::net::network::Network;
use crate::net::{Advance, Drive, WORLD};
use crate::tcp::source::TransferRow;
use crate::time::{NEVER, Tick};
use cwnd_results::Run;

impl<T: Tick> Network<'_, T> {
    /// The warmup ends: all of its instant has happened.
    pub fn begin_measuring(&mut self, now_ns: u64) {
        self.groups.iter_mut().for_each(|group| group.totals.begin_measuring());
        self.connections.iter_mut().for_each(|connection| connection.begin_measuring(now_ns));
        self.links_before = Some(self.links.iter().map(|link| link.counts(now_ns)).collect());
        self.links.iter_mut().for_each(|link| link.link.begin_measuring(now_ns));
    }

    /// A row of each flow or group, and of each link.
    pub fn sample(&mut self, now_ns: u64) {
        for (id, connection) in self.connections.iter_mut().enumerate() {
            if !self.flow_sampler.has_row(&self.scenario.flows[connection.flow as usize]) {
                continue;
            }
            if let Some(look) = connection.ends.look(now_ns) {
                let received = connection.ends.counts().received;
                self.flow_sampler.sample_flow(now_ns, id, look, received.bytes, received.marked_pkts);
            }
        }
        let before_ns = now_ns.saturating_sub(self.link_sampler.interval_ns.unwrap_or(0));
        let groups = self.groups.iter();
        let lasting = groups.filter_map(|group| Some((group.id, group.lasting_ns(before_ns, now_ns)?)));
        let samplers = std::iter::once(&mut self.flow_sampler);
        FlowSampler::join_groups(now_ns, samplers, lasting, &mut self.group_samples);
        let links = &self.links;
        self.link_sampler.push(|id| LinkLook::new(&links[id as usize].link, now_ns));
    }

    /// Returns for each transfer when it began, its flow, its number there and its row at `end_ns`.
    fn transfers(&self, end_ns: u64) -> Vec<(u64, u32, u64, TransferRow)> {
        let mut rows = Vec::new();
        for connection in self.connections.iter().take(self.scenario.flows.len()) {
            if self.scenario.flows[connection.flow as usize].arrivals().is_none() {
                let own = connection.ends.transfers(end_ns).into_iter().zip(0..);
                rows.extend(own.map(|(row, number)| (row.start_ns, connection.flow, number, row)));
            }
        }
        for group in &self.groups {
            rows.extend(group.totals.rows.iter().map(|&(number, row)| (row.start_ns, group.id, number, row)));
        }
        rows
    }

    /// The connection with number `id`, and whether it is open.
    fn look_at(&self, id: u32) -> (FlowObservation, bool) {
        let Connection { ends, acks, flow, .. } = &self.connections[id as usize];
        let counts = ends.counts();
        let has_way_back = !self.scenario.flows[*flow as usize].reverse_path.is_empty();
        let seen = FlowObservation {
            sent_pkts: counts.sent,
            delivered_pkts: counts.received.pkts,
            acks: has_way_back.then_some(*acks),
            ..FlowObservation::default()
        };
        match ends.sender() {
            None => (FlowObservation { acks: None, ..seen }, true),
            Some(sender) => {
                let seen = FlowObservation {
                    cwnd_pkts: sender.cwnd(),
                    ssthresh_pkts: sender.ssthresh(),
                    in_flight_pkts: sender.in_flight(),
                    srtt_ns: sender.srtt_ns(),
                    ..seen
                };
                (seen, !sender.closed)
            }
        }
    }
}

impl<T: Tick> Advance for Network<'_, T> {
    fn advance(&mut self, until_ns: u64) -> Result<(), Unfinished> {
        self.run_events(until_ns)
    }

    fn observe(&mut self, now_ns: u64) -> Observation {
        let flow = |id: u32| match self.groups.iter().find(|group| group.id == id) {
            None => self.look_at(id).0,
            Some(group) => {
                let connections = group.slots.iter().map(|slot| self.look_at(*slot));
                FlowObservation::of_many(group.totals.all, connections)
            }
        };
        let links = self.links.iter().map(|Link { link, .. }| LinkObservation {
            queue_pkts: link.held_pkts(now_ns),
            wire: Some(link.wire.counts),
        });
        let (flows, links) = ((0..self.scenario.flows.len() as u32).map(flow).collect(), links.collect());
        Observation { now_ns, flows, links }
    }

    fn finish(self: Box<Self>) -> Run {
        let end_ns = self.scenario.duration_ns;
        self.finish_at(end_ns)
    }
}

impl<T: Tick> Drive for Network<'_, T> {
    fn wake(&mut self, flow: u32) {
        self.schedule_timer(flow);
    }

    fn next_event_ns(&self) -> u64 {
        self.events.next_ticks().map_or(NEVER, T::ns_after)
    }

    fn finish_at(mut self: Box<Self>, end_ns: u64) -> Run {
        let warmup_ns = self.scenario.warmup_ns;
        for group in &mut self.groups {
            for slot in group.slots.clone() {
                self.connections[slot as usize].add_to(group, end_ns);
            }
        }
        let arrivals = self.connections.iter().map(|connection| connection.ends.last_arrival_ns());
        let last_arrival_ns =
            arrivals.chain(self.groups.iter().map(|group| group.totals.last_arrival_ns)).max().unwrap_or(0);
        let transfers = transfer_rows(self.scenario, self.transfers(end_ns));
        let row = |(id, connection): (u32, &Connection)| {
            if let Some(group) = self.groups.iter().find(|group| group.id == id) {
                return group_row(group, group.totals.measured, warmup_ns, end_ns);
            }
            connection.ends.row(id, connection.measured(), connection.measured_from_ns, end_ns)
        };
        let mut flows: Vec<_> =
            (0..).zip(&self.connections).take(self.scenario.flows.len()).map(row).collect();
        transfers.set_quantiles(&mut flows, warmup_ns);
        let before = self.links_before.take().unwrap_or(vec![LinkCounts::default(); self.links.len()]);
        let links = self.links.iter().zip(&self.scenario.links).zip(&before);
        let links = links.map(|((link, described), before)| {
            link.counts(end_ns).row_since(before, &described.name, end_ns - warmup_ns)
        });
        let mut run = Run::new(WORLD, self.seed);
        run.packets = flows.iter().map(|flow| flow.sent_pkts).sum();
        run.last_arrival_ns = last_arrival_ns;
        run.notes = self.connections.iter().filter_map(|connection| connection.ends.note(end_ns)).collect();
        run.links = links.collect();
        run.flows = flows;
        run.flow_samples = FlowSampler::join(std::iter::once(self.flow_sampler));
        run.group_samples = self.group_samples;
        run.link_samples = self.link_sampler.samples;
        run.transfers = transfers;
        run
    }
}
