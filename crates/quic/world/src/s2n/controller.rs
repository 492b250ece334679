//! A congestion controller of s2n-quic, of which everything is seen.

use super::io::Clock;
use crate::end::Shared;
use crate::seen::Seen;
use s2n_quic::provider::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher, RandomGenerator, RttEstimator, Timestamp,
};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

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

/// Reads ssthresh of a controller, in bytes, if it has one.
pub type Ssthresh<C> = fn(&C) -> Option<u64>;

/// The algorithm of a sender, for `with_congestion_controller`.
#[derive(Debug)]
pub struct Watched<E: Endpoint> {
    pub endpoint: E,
    pub ssthresh_bytes: Ssthresh<E::CongestionController>,
    pub watch: Watch,
}

impl<E: Endpoint> Endpoint for Watched<E> {
    type CongestionController = WatchedController<E::CongestionController>;

    fn new_congestion_controller(&mut self, path: PathInfo) -> Self::CongestionController {
        WatchedController {
            inner: self.endpoint.new_congestion_controller(path),
            ssthresh_bytes: self.ssthresh_bytes,
            watch: self.watch.clone(),
            persistent: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct WatchedController<C> {
    inner: C,
    ssthresh_bytes: Ssthresh<C>,
    watch: Watch,
    /// When persistent congestion was declared last: it comes with each of its packets.
    persistent: Option<Timestamp>,
}

impl<C: CongestionController> WatchedController<C> {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.watch.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Anything has happened.
    fn note(&self, now: Timestamp) {
        let mut seen = self.seen();
        let ssthresh_bytes = (self.ssthresh_bytes)(&self.inner);
        seen.set_window(Clock::ns(now), self.congestion_window().into(), ssthresh_bytes);
        seen.set_in_flight(self.bytes_in_flight().into());
    }
}

impl<C: CongestionController> CongestionController for WatchedController<C> {
    type PacketInfo = C::PacketInfo;

    fn congestion_window(&self) -> u32 {
        self.inner.congestion_window()
    }

    fn bytes_in_flight(&self) -> u32 {
        self.inner.bytes_in_flight()
    }

    fn is_congestion_limited(&self) -> bool {
        self.inner.is_congestion_limited()
    }

    fn requires_fast_retransmission(&self) -> bool {
        self.inner.requires_fast_retransmission()
    }

    fn on_packet_sent<P: Publisher>(
        &mut self,
        now: Timestamp,
        bytes: usize,
        app_limited: Option<bool>,
        rtt: &RttEstimator,
        publisher: &mut P,
    ) -> C::PacketInfo {
        let info = self.inner.on_packet_sent(now, bytes, app_limited, rtt, publisher);
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
        self.inner.on_rtt_update(sent, now, rtt, publisher);
        let (rtt_ns, srtt_ns) = (now.saturating_duration_since(sent), rtt.smoothed_rtt());
        let in_flight_bytes = self.bytes_in_flight().into();
        self.seen().acknowledge(in_flight_bytes, rtt_ns.as_nanos() as u64, srtt_ns.as_nanos() as u64);
    }

    fn on_ack<P: Publisher>(
        &mut self,
        sent: Timestamp,
        bytes: usize,
        newest: C::PacketInfo,
        rtt: &RttEstimator,
        random: &mut dyn RandomGenerator,
        now: Timestamp,
        publisher: &mut P,
    ) {
        self.inner.on_ack(sent, bytes, newest, rtt, random, now, publisher);
        self.note(now);
    }

    fn on_packet_lost<P: Publisher>(
        &mut self,
        bytes: u32,
        info: C::PacketInfo,
        is_persistent: bool,
        is_new_burst: bool,
        random: &mut dyn RandomGenerator,
        now: Timestamp,
        publisher: &mut P,
    ) {
        self.inner.on_packet_lost(bytes, info, is_persistent, is_new_burst, random, now, publisher);
        self.watch.lost_pkts.fetch_add(1, Ordering::Relaxed);
        let is_first = is_persistent && self.persistent.replace(now) != Some(now);
        self.seen().lose(bytes.into(), is_first);
        self.note(now);
    }

    fn on_explicit_congestion<P: Publisher>(&mut self, ce_count: u64, now: Timestamp, publisher: &mut P) {
        self.inner.on_explicit_congestion(ce_count, now, publisher);
        self.note(now);
    }

    fn on_mtu_update<P: Publisher>(&mut self, mtu_bytes: u16, publisher: &mut P) {
        self.inner.on_mtu_update(mtu_bytes, publisher);
    }

    fn on_packet_discarded<P: Publisher>(&mut self, bytes: usize, publisher: &mut P) {
        self.inner.on_packet_discarded(bytes, publisher);
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        self.inner.earliest_departure_time()
    }

    fn send_quantum(&self) -> Option<usize> {
        self.inner.send_quantum()
    }
}
