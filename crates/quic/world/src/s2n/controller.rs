//! s2n-quic's congestion controllers and ours, of which everything is seen.

use super::io::Clock;
use crate::end::{Asked, Shared, params};
use crate::seen::Seen;
use cwnd_quic::Sent;
use cwnd_quic::s2n::{Algorithm, Connection};
use s2n_quic::provider::congestion_controller::{
    Bbr, CongestionController, Cubic, Endpoint, PathInfo, Publisher, RandomGenerator, RttEstimator,
    Timestamp, bbr, cubic,
};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

type OwnCubic = <Cubic as Endpoint>::CongestionController;
type OwnBbr = <Bbr as Endpoint>::CongestionController;

/// Where the controller of a sender writes.
#[derive(Clone)]
pub struct Watch {
    pub seen: Shared,
    /// Packets that the stack takes for lost.
    pub lost_pkts: Arc<AtomicU64>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

#[derive(Debug)]
enum Choice {
    Ours(Algorithm),
    Cubic(Cubic),
    Bbr(Bbr),
}

/// The algorithm of a sender, for `with_congestion_controller`.
#[derive(Debug)]
pub struct Watched {
    choice: Choice,
    watch: Watch,
}

impl Watched {
    pub fn new(asked: &Asked, watch: Watch) -> Result<Watched, String> {
        let window_bytes = u32::try_from(asked.initial_window_bytes()).unwrap_or(u32::MAX);
        let choice = match asked.cca.of_stack() {
            Some((_, "bbr")) => {
                Choice::Bbr(bbr::Builder::default().with_initial_congestion_window(window_bytes).build())
            }
            Some(_) => {
                Choice::Cubic(cubic::Builder::default().with_initial_congestion_window(window_bytes).build())
            }
            None => Choice::Ours(
                cwnd_quic::s2n::endpoint(&asked.cca.algorithm, &params(asked.cca))
                    .map_err(|error| error.to_string())?,
            ),
        };
        Ok(Watched { choice, watch })
    }
}

impl Endpoint for Watched {
    type CongestionController = WatchedController;

    fn new_congestion_controller(&mut self, path: PathInfo) -> WatchedController {
        let inner = match &mut self.choice {
            Choice::Ours(choice) => Inner::Ours(Box::new(choice.new_congestion_controller(path))),
            Choice::Cubic(choice) => Inner::Cubic(choice.new_congestion_controller(path)),
            Choice::Bbr(choice) => Inner::Bbr(Box::new(choice.new_congestion_controller(path))),
        };
        WatchedController { inner, watch: self.watch.clone(), persistent: None }
    }
}

#[derive(Clone, Debug)]
enum Inner {
    Ours(Box<Connection>),
    Cubic(OwnCubic),
    Bbr(Box<OwnBbr>),
}

/// State that a controller keeps for a packet.
#[derive(Clone, Copy, Debug)]
pub enum Info {
    Ours(Sent),
    Cubic(()),
    Bbr(<OwnBbr as CongestionController>::PacketInfo),
}

/// Evaluates an expression on each kind of controller.
macro_rules! ask {
    ($self:ident, $inner:ident => $answer:expr) => {
        match &$self.inner {
            Inner::Ours($inner) => $answer,
            Inner::Cubic($inner) => $answer,
            Inner::Bbr($inner) => $answer,
        }
    };
    (mut $self:ident, $inner:ident => $answer:expr) => {
        match &mut $self.inner {
            Inner::Ours($inner) => $answer,
            Inner::Cubic($inner) => $answer,
            Inner::Bbr($inner) => $answer,
        }
    };
    (mut $self:ident, $inner:ident, $info:ident => $answer:expr) => {
        match (&mut $self.inner, $info) {
            (Inner::Ours($inner), Info::Ours($info)) => $answer,
            (Inner::Cubic($inner), Info::Cubic($info)) => $answer,
            (Inner::Bbr($inner), Info::Bbr($info)) => $answer,
            _ => unreachable!("a packet is that of the controller that sent it"),
        }
    };
}

#[derive(Clone, Debug)]
pub struct WatchedController {
    inner: Inner,
    watch: Watch,
    /// When persistent congestion was declared last: it comes with each of its packets.
    persistent: Option<Timestamp>,
}

impl WatchedController {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.watch.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Anything has happened.
    fn note(&self, now: Timestamp) {
        let ssthresh_bytes = match &self.inner {
            Inner::Ours(inner) => inner.ssthresh_bytes(),
            Inner::Cubic(_) | Inner::Bbr(_) => None,
        };
        let mut seen = self.seen();
        seen.set_window(Clock::ns(now), self.congestion_window().into(), ssthresh_bytes);
        seen.set_in_flight(self.bytes_in_flight().into());
    }
}

impl CongestionController for WatchedController {
    type PacketInfo = Info;

    fn congestion_window(&self) -> u32 {
        ask!(self, inner => inner.congestion_window())
    }

    fn bytes_in_flight(&self) -> u32 {
        ask!(self, inner => inner.bytes_in_flight())
    }

    fn is_congestion_limited(&self) -> bool {
        ask!(self, inner => inner.is_congestion_limited())
    }

    fn requires_fast_retransmission(&self) -> bool {
        ask!(self, inner => inner.requires_fast_retransmission())
    }

    fn on_packet_sent<P: Publisher>(
        &mut self,
        now: Timestamp,
        bytes: usize,
        app_limited: Option<bool>,
        rtt: &RttEstimator,
        publisher: &mut P,
    ) -> Info {
        let info = match &mut self.inner {
            Inner::Ours(inner) => Info::Ours(inner.on_packet_sent(now, bytes, app_limited, rtt, publisher)),
            Inner::Cubic(inner) => {
                inner.on_packet_sent(now, bytes, app_limited, rtt, publisher);
                Info::Cubic(())
            }
            Inner::Bbr(inner) => Info::Bbr(inner.on_packet_sent(now, bytes, app_limited, rtt, publisher)),
        };
        self.note(now);
        info
    }

    fn on_rtt_update<P: Publisher>(
        &mut self,
        sent: Timestamp,
        now: Timestamp,
        rtt: &RttEstimator,
        publisher: &mut P,
    ) {
        ask!(mut self, inner => inner.on_rtt_update(sent, now, rtt, publisher));
        let (rtt_ns, srtt_ns) = (now.saturating_duration_since(sent), rtt.smoothed_rtt());
        let in_flight_bytes = self.bytes_in_flight().into();
        self.seen().acknowledge(in_flight_bytes, rtt_ns.as_nanos() as u64, srtt_ns.as_nanos() as u64);
    }

    fn on_ack<P: Publisher>(
        &mut self,
        sent: Timestamp,
        bytes: usize,
        newest: Info,
        rtt: &RttEstimator,
        random: &mut dyn RandomGenerator,
        now: Timestamp,
        publisher: &mut P,
    ) {
        ask!(mut self, inner, newest => inner.on_ack(sent, bytes, newest, rtt, random, now, publisher));
        self.note(now);
    }

    fn on_packet_lost<P: Publisher>(
        &mut self,
        bytes: u32,
        info: Info,
        is_persistent: bool,
        is_new_burst: bool,
        random: &mut dyn RandomGenerator,
        now: Timestamp,
        publisher: &mut P,
    ) {
        ask!(mut self, inner, info => {
            inner.on_packet_lost(bytes, info, is_persistent, is_new_burst, random, now, publisher)
        });
        self.watch.lost_pkts.fetch_add(1, Ordering::Relaxed);
        let is_first = is_persistent && self.persistent.replace(now) != Some(now);
        self.seen().lose(bytes.into(), is_first);
        self.note(now);
    }

    fn on_explicit_congestion<P: Publisher>(&mut self, ce_count: u64, now: Timestamp, publisher: &mut P) {
        ask!(mut self, inner => inner.on_explicit_congestion(ce_count, now, publisher));
        self.note(now);
    }

    fn on_mtu_update<P: Publisher>(&mut self, mtu_bytes: u16, publisher: &mut P) {
        ask!(mut self, inner => inner.on_mtu_update(mtu_bytes, publisher));
    }

    fn on_packet_discarded<P: Publisher>(&mut self, bytes: usize, publisher: &mut P) {
        ask!(mut self, inner => inner.on_packet_discarded(bytes, publisher));
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        ask!(self, inner => inner.earliest_departure_time())
    }

    fn send_quantum(&self) -> Option<usize> {
        ask!(self, inner => inner.send_quantum())
    }
}
