//! noq-proto: its traits of cryptography, and its congestion controllers.

#[path = "ends.rs"]
#[allow(clippy::duplicate_mod)] // the same text for two stacks with one interface
mod ends;

use crate::Settings;
use crate::end::{Asked, Connection, Controllers, Shared, params};
use crate::null::{Handshake, SAMPLE_BYTES, TAG_BYTES};
use crate::recovery::TcpRecovery;
use bytes::{Bytes, BytesMut};
use ends::{Clock, CountedIds, Ends};
use noq_proto as proto;
use proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use proto::transport_parameters::TransportParameters;
use proto::{
    ConnectError, ConnectionId, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId,
    RttEstimator, Side, Transmit, TransportError,
};
use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// The version of the stack, as Cargo.toml asks for it.
pub const VERSION: &str = "1.4.0";

pub fn connect(asked: &Asked, now_ns: u64, seen: Shared) -> Result<Box<dyn Connection>, String> {
    Ok(Box::new(Ends::connect(asked, now_ns, seen)?))
}

fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<proto::ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, false)
}

fn set_counted_ids(config: &mut EndpointConfig) {
    config.cid_generator(Arc::new(|| Box::new(CountedIds(0))));
}

fn poll_transmit(connection: &mut proto::Connection, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, buffer)
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::from_remote(from), ecn, data, buffer)
}

/// How many bytes the stream takes.
fn write(stream: &mut proto::SendStream, payload: Bytes) -> Result<usize, proto::WriteError> {
    stream.write_chunks(&mut &mut [payload][..])
}

fn held_lost_pkts(connection: &mut proto::Connection) -> u64 {
    connection.path_stats(PathId::ZERO).map_or(0, |stats| stats.lost_packets)
}

/// The caller's controller, the stack's own, or ours.
fn controllers(asked: &Asked, clock: Clock, seen: Shared) -> Result<Arc<Watched>, String> {
    let window_bytes = asked.initial_window_bytes();
    macro_rules! own {
        ($config:ident) => {{
            let mut config = $config::default();
            config.initial_window(window_bytes);
            Arc::new(config)
        }};
    }
    let inner: Arc<dyn ControllerFactory + Send + Sync> =
        match (asked.own_controllers(), asked.cca.of_stack()) {
            (Some(Controllers::Noq(factory)), _) => Arc::clone(factory),
            (_, Some((_, "newreno"))) => own!(NewRenoConfig),
            (_, Some(_)) => own!(CubicConfig),
            (_, None) => cwnd_quic::noq::factory(&asked.cca.algorithm, &params(asked.cca))
                .map_err(|error| error.to_string())?,
        };
    Ok(Arc::new(Watched { inner, clock, seen, settings: asked.settings }))
}

/// Ten datagrams in less than a nanosecond.
const UNPACED_BYTES_PER_S: u64 = 1 << 48;

/// Controllers of which everything is seen.
struct Watched {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    clock: Clock,
    seen: Shared,
    settings: Settings,
}

impl ControllerFactory for Watched {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, current_mtu);
        let made = WatchedController {
            inner,
            clock: self.clock,
            seen: Arc::clone(&self.seen),
            newest: None,
            srtt_ns: 0,
            settings: self.settings,
            recovery: self.settings.has_tcp_recovery.then(TcpRecovery::default),
        };
        made.note(now);
        Box::new(made)
    }
}

struct WatchedController {
    inner: Box<dyn Controller>,
    clock: Clock,
    seen: Shared,
    /// Time at which the newest packet of an ACK was sent.
    newest: Option<Instant>,
    srtt_ns: u64,
    settings: Settings,
    recovery: Option<TcpRecovery>,
}

impl fmt::Debug for WatchedController {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl WatchedController {
    fn note(&self, now: Instant) {
        let metrics = self.inner.metrics();
        let now_ns = self.clock.ns(now);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.set_window(now_ns, self.inner.window(), metrics.ssthresh);
    }
}

impl Controller for WatchedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
        self.inner.on_sent(now, bytes, largest);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).send(bytes.into());
        self.inner.on_packet_sent(now, bytes, number);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        number: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.newest = self.newest.max(Some(sent));
        self.srtt_ns = rtt.get().as_nanos() as u64;
        let dated = self.recovery.as_ref().map_or(sent, |recovery| recovery.date(sent));
        self.inner.on_ack(now, dated, bytes, number, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        if let Some(sent) = self.newest.take() {
            let rtt_ns = now.saturating_duration_since(sent).as_nanos() as u64;
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.acknowledge(in_flight, rtt_ns, self.srtt_ns);
            drop(seen);
            if let Some(recovery) = &mut self.recovery
                && let Some(lost) = recovery.end(sent)
            {
                recovery.lose(now, lost);
                self.inner.on_congestion_event(now, lost, false, false, 1, 0);
            }
        }
        self.note(now);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost: u64,
    ) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).lose(lost_bytes, is_persistent);
        let is_due = self.recovery.as_mut().is_none_or(|recovery| recovery.lose(now, sent));
        if is_due || is_persistent {
            self.inner.on_congestion_event(now, sent, is_persistent, is_ecn, lost_bytes, largest_lost);
        }
        self.note(now);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, number: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, number, now);
        self.note(now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(threshold, max_ack_delay);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    /// A rate that no packet waits for, if the sender is not to pace.
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.inner.metrics();
        if self.settings.is_unpaced {
            metrics.pacing_rate = Some(UNPACED_BYTES_PER_S);
        }
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(WatchedController {
            inner: self.inner.clone_box(),
            clock: self.clock,
            seen: Arc::clone(&self.seen),
            newest: self.newest,
            srtt_ns: self.srtt_ns,
            settings: self.settings,
            recovery: self.recovery.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

/// All that is needed instead of cryptography.
struct Null;

struct NullSession {
    is_client: bool,
    handshake: Handshake,
}

fn null_keys() -> Arc<Null> {
    Arc::new(Null)
}

fn null_client() -> Arc<Null> {
    Arc::new(Null)
}

fn null_server() -> Arc<Null> {
    Arc::new(Null)
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Null), remote: Box::new(Null) },
        packet: KeyPair { local: Box::new(Null), remote: Box::new(Null) },
    }
}

fn session(is_client: bool, parameters: &TransportParameters) -> Box<dyn Session> {
    let mut bytes = Vec::new();
    parameters.write(&mut bytes);
    Box::new(NullSession { is_client, handshake: Handshake::new(is_client, bytes) })
}

impl ClientConfig for Null {
    fn start_session(
        &self,
        _version: u32,
        _server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(session(true, parameters))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _version: u32, _id: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _id: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(&self, _version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        session(false, parameters)
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _id: ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.handshake.is_over()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.handshake.read(bytes);
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let side = if self.is_client { Side::Client } else { Side::Server };
        let Some(mut bytes) = self.handshake.peer_parameters() else { return Ok(None) };
        Ok(Some(TransportParameters::read(side, &mut bytes)?))
    }

    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        self.handshake.write(bytes).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _id: ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl PacketKey for Null {
    fn encrypt(&self, _path: PathId, _packet: u64, _bytes: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _path: PathId,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        payload.truncate(end);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE_BYTES
    }
}

impl HmacKey for Null {
    /// Turns a connection ID into its reset token, which is not the end of any packet: those are zeros.
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.fill(0xa5);
        signature.iter_mut().zip(data).for_each(|(byte, data)| *byte ^= data);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Null {
    fn seal(&self, _nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; TAG_BYTES]);
        Ok(())
    }

    fn open<'a>(&self, _nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let end = data.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        Ok(&data[..end])
    }
}
