//! How a run keeps time where packets meet. To all of the engine time is whole nanoseconds; links may know more.

use crate::fast::link::fifo::{FifoLink, PathLink};
use crate::fast::topology::Topology;
use crate::time::Tick;
use cwnd_scenario::Scenario;
use std::cmp::Reverse;

/// The links of a run, and what is known of a time beyond its nanosecond.
pub trait Timing: Sized + Send {
    /// The part of a time beyond the nanosecond.
    type SubNanosecond: Copy + Default + Send;
    /// The unit in which packet times are counted.
    type Tick: Tick + Send;
    type Link: PathLink + Send;

    fn new(scenario: &Scenario, topology: &Topology<Self::Tick>) -> Self;

    fn new_link(link: &cwnd_scenario::Link, seed: u64) -> Self::Link;

    /// How a link takes in a packet whatever its connection; None: it depends on what is known of each connection, so that a
    /// run has one shard.
    const TAKE_IN: Option<TakeIn<Self::Link>>;

    /// By how much a packet that crosses this many links may be early.
    fn slack_ns(links: u64) -> u64;

    /// An event at the sender of `flow` is due at `due_ns`. Returns the time there.
    fn reach_sender(&mut self, flow: u32, due_ns: u64) -> u64;

    /// An ACK, due at the sender of `flow` at `due_ns`, was caused by a packet that arrived `sub_ns` after its nanosecond. `blocks` gives
    /// the ACK's SACK blocks; None: not one packet alone caused it. Returns the time there.
    fn return_ack(
        &mut self,
        flow: u32,
        due_ns: u64,
        sub_ns: Self::SubNanosecond,
        blocks: Option<impl FnOnce() -> usize>,
    ) -> u64;

    /// The exact time of an event that is known only to the nanosecond.
    fn from_ns(now_ns: u64) -> Self::SubNanosecond;

    /// Returns the part of the present beyond the nanosecond.
    fn now(&self) -> Self::SubNanosecond;

    /// The present is that of a packet that arrives.
    fn set_now(&mut self, sub_ns: Self::SubNanosecond);

    /// A packet arrives at `link`, which is `onward_ns` from the next hop or the receiver. Returns when it arrives there; an error
    /// if it is dropped or lost: when that counts.
    fn cross(
        &mut self,
        link: &mut Self::Link,
        crossing: Crossing,
        onward_ns: impl FnOnce() -> u64,
    ) -> Result<(u64, Self::SubNanosecond), u64>;

    /// Passes over `link` packets of one size that a flow sends: each crosses as `like`, but at its own time. `each` is called with
    /// when one is sent, when it arrives behind the link, or an error if it is dropped or lost, and since when the link has been sending.
    #[inline(always)]
    fn cross_all(
        &mut self,
        link: &mut Self::Link,
        like: Crossing,
        onward_ns: u64,
        sendings: &[Sending<Self::SubNanosecond>],
        mut each: impl FnMut(u64, Result<(u64, Self::SubNanosecond), u64>, u64),
    ) {
        for &Sending { now, sub_ns } in sendings {
            self.set_now(sub_ns);
            let crossed = self.cross(link, Crossing { now_ns: now, ..like }, || onward_ns);
            each(now, crossed, link.busy_since_ns());
        }
    }

    /// Returns the rank among packets that arrive in the same nanosecond: the least comes first. `busy_since_ns`: since when the
    /// link that sent the packet last had been sending without a pause.
    fn rank(sub_ns: Self::SubNanosecond, busy_since_ns: u64) -> impl Ord;
}

/// A packet that takes so many ticks to send, the second number, arrives at the link at the first, in nanoseconds. Returns when
/// it leaves, in nanoseconds; an error if it is dropped or lost: when that counts.
pub type TakeIn<L> = fn(&mut L, u64, u64) -> Result<u64, u64>;

/// When a flow sends a packet.
#[derive(Clone, Copy)]
pub struct Sending<E> {
    pub now: u64,
    pub sub_ns: E,
}

/// A packet that arrives at a link.
#[derive(Clone, Copy)]
pub struct Crossing {
    pub now_ns: u64,
    pub hop: u32,
    pub bytes: u32,
    /// How long the link is busy with it.
    pub tx_ticks: u64,
}

/// Whole nanoseconds; links may add up fractions of one.
pub struct Nanoseconds<T>(std::marker::PhantomData<T>);

impl<T: Tick + Send> Timing for Nanoseconds<T> {
    type SubNanosecond = ();
    type Tick = T;
    type Link = FifoLink<T>;

    fn new(_: &Scenario, _: &Topology<T>) -> Nanoseconds<T> {
        Nanoseconds(std::marker::PhantomData)
    }

    fn new_link(link: &cwnd_scenario::Link, seed: u64) -> FifoLink<T> {
        FifoLink::new(link, seed)
    }

    const TAKE_IN: Option<TakeIn<FifoLink<T>>> = Some(FifoLink::accept);

    fn slack_ns(_: u64) -> u64 {
        0
    }

    #[inline(always)]
    fn reach_sender(&mut self, _: u32, due_ns: u64) -> u64 {
        due_ns
    }

    #[inline(always)]
    fn return_ack(&mut self, _: u32, due_ns: u64, (): (), _: Option<impl FnOnce() -> usize>) -> u64 {
        due_ns
    }

    fn from_ns(_: u64) {}

    #[inline(always)]
    fn now(&self) {}

    #[inline(always)]
    fn set_now(&mut self, (): ()) {}

    #[inline(always)]
    fn cross(
        &mut self,
        link: &mut FifoLink<T>,
        crossing: Crossing,
        onward_ns: impl FnOnce() -> u64,
    ) -> Result<(u64, ()), u64> {
        let departure_ns = link.accept(crossing.now_ns, crossing.tx_ticks)?;
        Ok((departure_ns + onward_ns(), ()))
    }

    #[inline(always)]
    fn cross_all(
        &mut self,
        link: &mut FifoLink<T>,
        like: Crossing,
        onward_ns: u64,
        sendings: &[Sending<()>],
        mut each: impl FnMut(u64, Result<(u64, ()), u64>, u64),
    ) {
        let arrivals_ns = sendings.iter().map(|sending| sending.now);
        link.accept_all(arrivals_ns, like.tx_ticks, |now, departure_ns, busy_since_ns| {
            each(now, departure_ns.map(|departure_ns| (departure_ns + onward_ns, ())), busy_since_ns);
        });
    }

    fn rank((): (), busy_since_ns: u64) -> impl Ord {
        Reverse(busy_since_ns)
    }
}
