//! s2n-quic, whose trait is behind its feature `unstable-congestion-controller`.

use crate::{Bridge, Error, Sent, Setup, Stack};
use s2n_quic::provider::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher, RandomGenerator, RttEstimator, Timestamp,
};
use std::time::Duration;

/// s2n-quic's timers are a millisecond late at most.
const LATENESS: Duration = Duration::from_millis(1);

/// For `with_congestion_controller`: the algorithm called `name` with `params`, each a name and a value.
pub fn endpoint(name: &str, params: &[(&str, &str)]) -> Result<Algorithm, Error> {
    Ok(Algorithm(Setup::new(Stack::S2nQuic, name, params)?))
}

/// An algorithm for the connections of an endpoint; made by [`endpoint`].
#[derive(Clone, Debug)]
pub struct Algorithm(Setup);

impl Endpoint for Algorithm {
    type CongestionController = Connection;

    fn new_congestion_controller(&mut self, path: PathInfo) -> Connection {
        let bridge = self.0.start(path.max_datagram_size);
        Connection { bridge, begin: None, app_limited: false, retransmits: false, departure: None }
    }
}

/// An algorithm at work on one path.
#[derive(Clone, Debug)]
pub struct Connection {
    bridge: Bridge,
    /// When the first packet was sent.
    begin: Option<Timestamp>,
    app_limited: bool,
    /// One packet may leave at once after a reduction (RFC 9002, 7.3.2).
    retransmits: bool,
    departure: Option<Timestamp>,
}

impl Connection {
    /// None before the first reduction.
    pub fn ssthresh_bytes(&self) -> Option<u64> {
        self.bridge.ssthresh_bytes()
    }

    fn ns(&self, time: Timestamp) -> u64 {
        let since = self.begin.map_or(Duration::ZERO, |begin| time.saturating_duration_since(begin));
        since.as_nanos().try_into().unwrap_or(u64::MAX)
    }

    /// The algorithm's rate, or 5/4 of the window in an RTT (RFC 9002, 7.7); None before the first sample.
    fn pacing_rate(&self) -> Option<u64> {
        let window_bytes = u128::from(self.bridge.window_bytes());
        let own = || (window_bytes * 1_250_000_000).checked_div(self.bridge.srtt_ns().into());
        self.bridge.pacing_rate().or_else(|| own().map(|rate| rate.clamp(1, u64::MAX.into()) as u64))
    }

    fn pace(&mut self, now: Timestamp, bytes: u64) {
        let Some(rate) = self.pacing_rate() else { return };
        let gap_ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
        let gap = Duration::from_nanos(gap_ns.try_into().unwrap_or(u64::MAX));
        let earliest = now.checked_sub(LATENESS).unwrap_or(now);
        let from = self.departure.map_or(now, |departure| departure.max(earliest));
        self.departure = from.checked_add(gap);
    }
}

impl CongestionController for Connection {
    type PacketInfo = Sent;

    fn congestion_window(&self) -> u32 {
        self.bridge.window_bytes().try_into().unwrap_or(u32::MAX)
    }

    fn bytes_in_flight(&self) -> u32 {
        self.bridge.in_flight_bytes().try_into().unwrap_or(u32::MAX)
    }

    fn is_congestion_limited(&self) -> bool {
        self.bridge.window_bytes() < self.bridge.in_flight_bytes().saturating_add(self.bridge.mtu_bytes())
    }

    fn requires_fast_retransmission(&self) -> bool {
        self.retransmits
    }

    fn on_packet_sent<P: Publisher>(
        &mut self,
        now: Timestamp,
        bytes: usize,
        app_limited: Option<bool>,
        _: &RttEstimator,
        _: &mut P,
    ) -> Sent {
        self.begin.get_or_insert(now);
        let sent = self.bridge.send(self.ns(now), bytes as u64);
        if bytes == 0 {
            return sent;
        }
        self.retransmits = false;
        let is_limited = self.is_congestion_limited();
        if is_limited {
            self.bridge.note_cwnd_limited();
        }
        self.app_limited = app_limited.unwrap_or(true) && !is_limited;
        if self.app_limited {
            self.bridge.note_app_limited();
        }
        self.pace(now, bytes as u64);
        sent
    }

    fn on_rtt_update<P: Publisher>(&mut self, _: Timestamp, _: Timestamp, _: &RttEstimator, _: &mut P) {}

    fn on_ack<P: Publisher>(
        &mut self,
        sent: Timestamp,
        bytes: usize,
        newest: Sent,
        _: &RttEstimator,
        _: &mut dyn RandomGenerator,
        now: Timestamp,
        _: &mut P,
    ) {
        self.bridge.ack_packet(self.ns(sent), bytes as u64, Some(newest));
        self.bridge.end_acks(self.ns(now), None, self.app_limited);
    }

    fn on_packet_lost<P: Publisher>(
        &mut self,
        bytes: u32,
        sent: Sent,
        persistent_congestion: bool,
        _new_loss_burst: bool,
        _: &mut dyn RandomGenerator,
        now: Timestamp,
        _: &mut P,
    ) {
        self.bridge.lose_packet(bytes.into(), Some(sent));
        self.retransmits |= self.bridge.on_loss(self.ns(now), sent.sent_ns, persistent_congestion);
    }

    fn on_explicit_congestion<P: Publisher>(&mut self, ce_count: u64, now: Timestamp, _: &mut P) {
        self.retransmits |= self.bridge.on_congestion(self.ns(now), None, ce_count);
    }

    fn on_mtu_update<P: Publisher>(&mut self, mtu_bytes: u16, _: &mut P) {
        self.bridge.set_mtu(mtu_bytes);
    }

    fn on_packet_discarded<P: Publisher>(&mut self, bytes: usize, _: &mut P) {
        self.bridge.discard(bytes as u64);
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        self.departure
    }
}
