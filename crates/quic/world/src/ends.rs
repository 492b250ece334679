//! The two ends of a connection. This text is compiled for each stack: noq began as quinn and has its interface; where
//! they differ, the stack's own module has the function.

use super::proto::congestion::ControllerFactory;
use super::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use super::proto::crypto::{ClientConfig as ClientCrypto, ServerConfig as ServerCrypto};
use super::proto::{
    AckFrequencyConfig, ClientConfig, Connection as Ongoing, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, ServerConfig,
    StreamEvent, StreamId, TimeSource, TransportConfig, VarInt, WriteError,
};
use super::{null_client, null_keys, null_server};
use crate::end::{Asked, Connection, Datagram, Shared, Side, address, payload};
use crate::received::Received;
use crate::{Crypto, tls};
use bytes::BytesMut;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Bytes of a connection ID.
const ID_BYTES: usize = 8;

/// More than is ever under way.
const SEND_WINDOW_BYTES: u64 = 1 << 32;

/// Virtual time as the stack's type has it: an instant cannot be made, so that of the beginning is any.
#[derive(Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    pub fn new() -> Clock {
        Clock(Instant::now())
    }

    pub fn at(self, ns: u64) -> Instant {
        self.0 + Duration::from_nanos(ns)
    }

    pub fn ns(self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.0).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Connection IDs that count up.
pub struct CountedIds(pub u64);

impl ConnectionIdGenerator for CountedIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 += 1;
        ConnectionId::new(&self.0.to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The time of the day, which tokens carry, stands still.
struct NoDay;

impl TimeSource for NoDay {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// One end: the stack's endpoint, and its connection once there is one.
struct Half {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Ongoing)>,
    /// Answers that the endpoint gives by itself.
    answers: Vec<Datagram>,
    buffer: Vec<u8>,
}

pub struct Ends {
    clock: Clock,
    sender: Half,
    receiver: Half,
    stream: Option<StreamId>,
    /// Payload that is to be written; None: without end.
    left_bytes: Option<u64>,
    finished_ns: Option<u64>,
    received: Received,
    fault: Option<String>,
}

fn endpoint_config(asked: &Asked, side: Side) -> Arc<EndpointConfig> {
    let mut config = EndpointConfig::new(null_keys());
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(&asked.seed);
    seed[16] = side as u8;
    config.rng_seed(Some(seed));
    super::set_counted_ids(&mut config);
    config.max_udp_payload_size(asked.datagram_bytes).expect("the size was checked");
    Arc::new(config)
}

fn transport(
    asked: &Asked,
    factory: Option<Arc<dyn ControllerFactory + Send + Sync>>,
) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(asked.datagram_bytes)
        .min_mtu(asked.datagram_bytes)
        .mtu_discovery_config(None)
        .max_idle_timeout(None)
        .stream_receive_window(VarInt::MAX)
        .receive_window(VarInt::MAX)
        .send_window(SEND_WINDOW_BYTES);
    if let Some(every_pkts) = asked.settings.ack_every_pkts {
        let mut asks = AckFrequencyConfig::default();
        // So many may wait for an ACK; out of order, none, as without asking.
        asks.ack_eliciting_threshold(every_pkts.saturating_sub(1).into()).reordering_threshold(1_u32.into());
        transport.ack_frequency_config(Some(asks));
    }
    if let Some(factory) = factory {
        transport.congestion_controller_factory(factory);
    }
    Arc::new(transport)
}

/// Cryptography of client and server.
type Cryptos = (Arc<dyn ClientCrypto>, Arc<dyn ServerCrypto>);

fn cryptos(crypto: Crypto) -> Result<Cryptos, String> {
    match crypto {
        Crypto::Null => Ok((null_client(), null_server())),
        Crypto::Tls => {
            let (client, server) = tls::configs()?;
            let client = QuicClientConfig::try_from(client).map_err(|error| error.to_string())?;
            let server = QuicServerConfig::try_from(server).map_err(|error| error.to_string())?;
            Ok((Arc::new(client), Arc::new(server)))
        }
    }
}

impl Ends {
    /// The client has begun at `now_ns`.
    pub fn connect(asked: &Asked, now_ns: u64, seen: Shared) -> Result<Ends, String> {
        let clock = Clock::new();
        let factory = super::controllers(asked, clock, seen)?;
        let (client_crypto, server_crypto) = cryptos(asked.settings.crypto)?;
        let mut client = ClientConfig::new(client_crypto);
        client
            .transport_config(transport(asked, Some(factory)))
            .initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[0xff; ID_BYTES])));
        let mut server = ServerConfig::new(server_crypto, null_keys());
        server.transport_config(transport(asked, None)).time_source(Arc::new(NoDay));
        server.validation_token_config({
            let mut none = super::proto::ValidationTokenConfig::default();
            none.sent(0);
            none
        });
        let half = |endpoint| Half { endpoint, connection: None, answers: Vec::new(), buffer: Vec::new() };
        let mut sender = half(super::endpoint(endpoint_config(asked, Side::Sender), None));
        let receiver = half(super::endpoint(endpoint_config(asked, Side::Receiver), Some(Arc::new(server))));
        let begin = clock.at(now_ns);
        let connected = sender.endpoint.connect(begin, client, address(Side::Receiver), tls::NAME);
        sender.connection = Some(connected.map_err(|error| error.to_string())?);
        Ok(Ends {
            clock,
            sender,
            receiver,
            stream: None,
            left_bytes: asked.size_bytes,
            finished_ns: None,
            received: Received::default(),
            fault: None,
        })
    }

    fn half(&mut self, side: Side) -> &mut Half {
        match side {
            Side::Sender => &mut self.sender,
            Side::Receiver => &mut self.receiver,
        }
    }

    /// Passes on what connection and endpoint have for each other, and serves the application.
    fn settle(&mut self, side: Side, now_ns: u64) {
        let half = self.half(side);
        let Some((handle, connection)) = &mut half.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = half.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) =
            self.half(side).connection.as_mut().and_then(|(_, connection)| connection.poll())
        {
            match event {
                Event::ConnectionLost { reason } => self.fault = Some(reason.to_string()),
                Event::Connected if side == Side::Sender => {
                    let (_, connection) = self.sender.connection.as_mut().expect("it is connected");
                    self.stream = connection.streams().open(Dir::Uni);
                    self.write();
                }
                Event::Stream(StreamEvent::Writable { .. }) => self.write(),
                Event::Stream(StreamEvent::Finished { .. }) => self.finished_ns = Some(now_ns),
                Event::Stream(StreamEvent::Opened { .. }) => {
                    let (_, connection) =
                        self.receiver.connection.as_mut().expect("a stream has a connection");
                    if let Some(stream) = connection.streams().accept(Dir::Uni) {
                        self.read(now_ns, stream);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(now_ns, id),
                _ => {}
            }
        }
    }

    /// The application writes as much as the stack takes.
    fn write(&mut self) {
        let (Some((_, connection)), Some(id)) = (&mut self.sender.connection, self.stream) else { return };
        let mut stream = connection.send_stream(id);
        while self.left_bytes != Some(0) {
            match super::write(&mut stream, payload(self.left_bytes.unwrap_or(u64::MAX))) {
                Ok(bytes) => {
                    if let Some(left_bytes) = &mut self.left_bytes {
                        *left_bytes -= bytes as u64;
                    }
                }
                Err(WriteError::Blocked) => return,
                Err(error) => {
                    self.fault = Some(error.to_string());
                    return;
                }
            }
        }
        // A stream that is finished already stays so.
        let _ = stream.finish();
    }

    /// The application reads all that there is, in any order: in order a stack would keep what lies beyond a hole.
    fn read(&mut self, now_ns: u64, id: StreamId) {
        let Some((_, connection)) = &mut self.receiver.connection else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(false) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.received.add(now_ns, chunk.offset, chunk.offset + chunk.bytes.len() as u64);
        }
        let _ = chunks.finalize();
    }
}

impl Connection for Ends {
    fn transmit(&mut self, side: Side, now_ns: u64) -> Option<Datagram> {
        let now = self.clock.at(now_ns);
        let half = self.half(side);
        if !half.answers.is_empty() {
            return Some(half.answers.remove(0));
        }
        let (_, connection) = half.connection.as_mut()?;
        half.buffer.clear();
        let sent = super::poll_transmit(connection, now, &mut half.buffer)?;
        let data = BytesMut::from(&half.buffer[..]);
        self.settle(side, now_ns);
        Some(Datagram { data, is_ect: sent.ecn.is_some(), is_ce: false })
    }

    fn receive(&mut self, side: Side, now_ns: u64, datagram: Datagram) {
        let now = self.clock.at(now_ns);
        let ecn = match (datagram.is_ce, datagram.is_ect) {
            (true, _) => Some(EcnCodepoint::Ce),
            (false, true) => Some(EcnCodepoint::Ect0),
            (false, false) => None,
        };
        let half = self.half(side);
        half.buffer.clear();
        let event = super::handle(
            &mut half.endpoint,
            now,
            address(side.other()),
            ecn,
            datagram.data,
            &mut half.buffer,
        );
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut half.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match half.endpoint.accept(incoming, now, &mut half.buffer, None) {
                    Ok(connection) => half.connection = Some(connection),
                    Err(error) => {
                        let cause = error.cause.to_string();
                        self.fault = Some(cause);
                    }
                }
            }
            Some(DatagramEvent::Response(sent)) => {
                let data = BytesMut::from(&half.buffer[..sent.size]);
                half.answers.push(Datagram { data, is_ect: false, is_ce: false });
            }
            None => {}
        }
        self.settle(side, now_ns);
    }

    fn due_ns(&mut self, side: Side) -> Option<u64> {
        let clock = self.clock;
        let (_, connection) = self.half(side).connection.as_mut()?;
        connection.poll_timeout().map(|at| clock.ns(at))
    }

    fn wake(&mut self, side: Side, now_ns: u64) {
        let now = self.clock.at(now_ns);
        if let Some((_, connection)) = &mut self.half(side).connection {
            connection.handle_timeout(now);
        }
        self.settle(side, now_ns);
    }

    fn finished_ns(&self) -> Option<u64> {
        self.finished_ns
    }

    fn received(&self) -> &Received {
        &self.received
    }

    fn held_lost_pkts(&mut self) -> u64 {
        self.sender.connection.as_mut().map_or(0, |(_, connection)| super::held_lost_pkts(connection))
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}
