//! A link in one direction: a queue, then a wire.

use crate::fast::link::droptail::{DropTail, begins_ns};
use crate::fast::link::losses::Losses;
use crate::net::link::accounting::Totals;
use crate::net::link::waits::Waits;
use crate::time::Tick;

/// Interface of a link to the engine, however the link keeps time.
pub trait PathLink {
    /// Since when the link has been sending without a pause, when it has sent the packet that arrived last.
    fn busy_since_ns(&self) -> u64;

    /// Returns true if the packet that arrived last, at `now_ns`, found the queue above its ECN threshold.
    fn marks(&self, now_ns: u64) -> bool;

    /// Packets held at `now_ns`, the one being sent included, after the last arrival of that instant.
    fn held_pkts(&mut self, now_ns: u64) -> u64;

    /// How long a packet that arrives at `now_ns` would wait.
    fn wait_ns(&self, now_ns: u64) -> u64;

    /// When the packet that arrived last, which takes `tx_ticks` to send, begins to be sent.
    fn begins_ns(&self, tx_ticks: u64) -> u64;

    /// Packets that the queue refused or the wire lost by `now_ns`.
    fn lost_pkts(&mut self, now_ns: u64) -> u64;

    /// The most packets held and the waits are those from `now_ns` on.
    fn begin_measuring(&mut self, now_ns: u64);

    /// Totals up to `end_ns`, the time of the last arrival or later.
    fn totals(&mut self, end_ns: u64) -> Totals;
}

/// A droptail FIFO queue before a wire.
pub struct FifoLink<T> {
    queue: DropTail<T>,
    losses: Option<Box<Losses>>,
    waits: Waits,
}

impl<T: Tick> FifoLink<T> {
    /// The link before anything has arrived; `seed` is that of the run.
    pub fn new(link: &cwnd_scenario::Link, seed: u64) -> FifoLink<T> {
        FifoLink { queue: DropTail::new(link), losses: Losses::new(link, seed), waits: Waits::new() }
    }

    /// A packet that takes `tx_ticks` to send arrives at `now_ns`; arrivals come in the order of time. Returns when it
    /// leaves, in nanoseconds; an error if the queue is full or the wire loses it: when that counts.
    #[inline(always)]
    pub fn accept(&mut self, now_ns: u64, tx_ticks: u64) -> Result<u64, u64> {
        let FifoLink { queue, losses, waits } = self;
        let departure_ns = queue.accept(now_ns, tx_ticks).ok_or(now_ns)?;
        Self::leave(losses, waits, now_ns, || queue.begins_ns(tx_ticks))?;
        Ok(departure_ns)
    }

    /// As [`DropTail::accept_all`]; the wire may lose packets, too.
    #[inline(always)]
    pub fn accept_all(
        &mut self,
        arrivals_ns: impl Iterator<Item = u64>,
        tx_ticks: u64,
        mut each: impl FnMut(u64, Result<u64, u64>, u64),
    ) {
        let FifoLink { queue, losses, waits } = self;
        queue.accept_all(arrivals_ns, tx_ticks, |now_ns, departure, busy_since_ns| {
            let departure_ns = departure.ok_or(now_ns).and_then(|departure| {
                Self::leave(losses, waits, now_ns, || begins_ns::<T>(departure, tx_ticks))?;
                Ok(T::ns_after(departure))
            });
            each(now_ns, departure_ns, busy_since_ns);
        });
    }

    /// A packet that arrived at `now_ns` begins to be sent at `begins_ns`; an error if the wire loses it: that time.
    #[inline(always)]
    fn leave(
        losses: &mut Option<Box<Losses>>,
        waits: &mut Waits,
        now_ns: u64,
        begins_ns: impl Fn() -> u64,
    ) -> Result<(), u64> {
        waits.note(now_ns, now_ns, &begins_ns);
        let lost = losses.as_mut().is_some_and(|losses| losses.loses(now_ns, &begins_ns));
        if lost { Err(begins_ns()) } else { Ok(()) }
    }
}

impl<T: Tick> PathLink for FifoLink<T> {
    #[inline(always)]
    fn busy_since_ns(&self) -> u64 {
        self.queue.busy_since_ns()
    }

    fn marks(&self, now_ns: u64) -> bool {
        self.queue.marks(now_ns)
    }

    fn held_pkts(&mut self, now_ns: u64) -> u64 {
        self.queue.held_pkts(now_ns)
    }

    fn wait_ns(&self, now_ns: u64) -> u64 {
        self.queue.wait_ns(now_ns)
    }

    #[inline(always)]
    fn begins_ns(&self, tx_ticks: u64) -> u64 {
        self.queue.begins_ns(tx_ticks)
    }

    fn lost_pkts(&mut self, now_ns: u64) -> u64 {
        self.queue.dropped() + self.losses.as_mut().map_or(0, |losses| losses.lost_by(now_ns))
    }

    fn begin_measuring(&mut self, now_ns: u64) {
        self.queue.begin_measuring(now_ns);
        self.waits.begin_measuring(now_ns);
    }

    fn totals(&mut self, end_ns: u64) -> Totals {
        let corrupted = self.losses.as_mut().map_or(0, |losses| losses.lost_by(end_ns));
        self.waits.count_until(end_ns);
        Totals { corrupted, p95_wait_ns: self.waits.quantile_ns(0.95), ..self.queue.totals(end_ns) }
    }
}
