//! A flow whose transfers arrive one after the other, each on a connection of its own.

use crate::memory::distribution::Distribution;
use crate::net::measure::counts::Counts;
use crate::random::{exponential_ns, random_stream};
use crate::tcp::sender::Sender;
use crate::tcp::source::{Sizes, TransferRow};
use crate::time::NEVER;
use chacha20::ChaCha8Rng;
use cwnd_algorithms::CongestionControl;
use cwnd_scenario::{Arrivals, Flow};

/// Its connections take turns in slots: a slot has one until its transfer is acknowledged and none of its packets is in the
/// network any more.
pub struct Group<'a> {
    /// In the scenario.
    pub id: u32,
    pub flow: &'a Flow,
    pub start_ns: u64,
    arrivals: &'a Arrivals,
    gaps: ChaCha8Rng,
    pub sizes: Sizes<'a>,
    /// Connections, by their numbers among all of the run, the flow's own first.
    pub slots: Vec<u32>,
    /// When the next transfer begins, or NEVER.
    pub next_ns: u64,
    pub begun: u64,
    pub totals: Totals,
}

/// Sums over the connections of a flow.
pub struct Totals {
    pub all: Counts,
    /// Since the warmup, as the rest.
    pub measured: Counts,
    pub rtts: Distribution,
    /// The windows' time integral, and the time.
    pub cwnd_ns: u128,
    pub busy_ns: u64,
    pub last_arrival_ns: u64,
    /// Transfers of the whole run, each with its number.
    pub rows: Vec<(u64, TransferRow)>,
}

impl<'a> Group<'a> {
    /// None: the flow is one connection.
    pub fn new(id: u32, flow: &'a Flow, start_ns: u64, seed: u64) -> Option<Group<'a>> {
        let mut group = Group {
            id,
            flow,
            start_ns,
            arrivals: flow.arrivals()?,
            gaps: random_stream(seed, &format!("arrivals-{id}")),
            sizes: Sizes::new(flow, id, seed)?,
            slots: vec![id],
            next_ns: start_ns,
            begun: 0,
            totals: Totals::new(),
        };
        group.next_ns = group.draw_next();
        Some(group)
    }

    /// A transfer begins. Returns its number; the next one is due at `next_ns`.
    pub fn begin(&mut self) -> u64 {
        let number = self.begun;
        self.begun += 1;
        self.next_ns = self.draw_next();
        number
    }

    /// For how long of the time from `before_ns` until `now_ns` the flow has lasted; None: it does not last now.
    pub fn lasting_ns(&self, before_ns: u64, now_ns: u64) -> Option<u64> {
        (self.start_ns..=self.flow.stop_ns).contains(&now_ns).then(|| now_ns - before_ns.max(self.start_ns))
    }

    fn draw_next(&mut self) -> u64 {
        let next_ns = match self.arrivals {
            Arrivals::Poisson { per_s } => {
                self.next_ns.saturating_add(exponential_ns(&mut self.gaps, 1e9 / per_s))
            }
            Arrivals::Times { times_ns } => {
                times_ns.get(self.begun as usize).map_or(NEVER, |after| self.start_ns.saturating_add(*after))
            }
        };
        if next_ns < self.flow.stop_ns { next_ns } else { NEVER }
    }
}

impl Totals {
    pub fn new() -> Totals {
        Totals {
            all: Counts::default(),
            measured: Counts::default(),
            rtts: Distribution::new(),
            cwnd_ns: 0,
            busy_ns: 0,
            last_arrival_ns: 0,
            rows: Vec::new(),
        }
    }

    /// The warmup ends.
    pub fn begin_measuring(&mut self) {
        self.measured = Counts::default();
        self.rtts = Distribution::new();
        (self.cwnd_ns, self.busy_ns) = (0, 0);
    }

    /// Adds the sender of a connection that is over, or at the end of the run, with the counts of the whole run and those since the
    /// warmup. `measured`: from when on, and when the flow stops.
    pub fn add_sender<C: CongestionControl>(
        &mut self,
        sender: &Sender<C>,
        [all, since_warmup]: [Counts; 2],
        measured: (u64, u64),
        last_arrival_ns: u64,
        number: u64,
        end_ns: u64,
    ) {
        if !sender.started {
            return;
        }
        self.all += all;
        self.measured += since_warmup;
        self.rtts.add_all(&sender.rtts);
        self.last_arrival_ns = self.last_arrival_ns.max(last_arrival_ns);
        let Some(source) = &sender.source else { return };
        let (from_ns, stop_ns) = measured;
        let until_ns = source.finished_ns.unwrap_or(stop_ns.min(end_ns)).max(from_ns);
        self.busy_ns += until_ns - from_ns;
        self.cwnd_ns += sender.cwnd_ns(until_ns);
        self.rows.extend(source.all_rows(end_ns, sender.retransmissions).map(|row| (number, row)));
    }
}
