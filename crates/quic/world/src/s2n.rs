//! s2n-quic: the two ends of a connection. Sockets, clock and random numbers are providers of it, for which ours stand.

mod controller;
mod fixed;
mod null;

use crate::end::{Asked, Connection, Datagram, Shared, Side, payload};
use crate::received::Received;
use bytes::BytesMut;
use controller::{Watch, Watched};
use fixed::{CountedIds, NoResets, Seeded};
use null::Null;
use s2n_quic::client::Connect;
use s2n_quic::provider::io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::{Client, Server};
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{ExplicitCongestionNotification as Ecn, SocketAddress};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{RemoteAddress, mtu};
use s2n_quic_core::time::{Clock as _, NoopClock, Timestamp};
use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// The version of the stack, as Cargo.toml asks for it.
pub const VERSION: &str = "1.83.0";

/// Headers that the stack counts into an MTU: IPv4 and UDP.
pub const MTU_HEADER_BYTES: u16 = 28;

/// More than a run takes.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

pub fn connect(asked: &Asked, seen: Shared) -> Result<Box<dyn Connection>, String> {
    match Ends::connect(asked, seen) {
        Ok(ends) => Ok(Box::new(ends)),
        Err(error) => Err(error.to_string()),
    }
}

/// Virtual time as the stack's type has it, which counts microseconds from one on.
struct Clock;

impl Clock {
    fn begin() -> Timestamp {
        NoopClock.get_time()
    }

    fn at(ns: u64) -> Timestamp {
        Clock::begin() + Duration::from_nanos(ns)
    }

    fn ns(at: Timestamp) -> u64 {
        u64::try_from(at.saturating_duration_since(Clock::begin()).as_nanos()).unwrap_or(u64::MAX)
    }
}

fn address(side: Side) -> SocketAddr {
    let host = match side {
        Side::Sender => 1,
        Side::Receiver => 2,
    };
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), 443).into()
}

fn peer(side: Side) -> Side {
    match side {
        Side::Sender => Side::Receiver,
        Side::Receiver => Side::Sender,
    }
}

/// The stack's endpoint, whose type has no name.
trait Sockets {
    fn receive(&mut self, now: Timestamp, datagram: Arrived);
    fn transmit(&mut self, now: Timestamp, queue: &mut Outbox);
    fn poll_wakeups(&mut self, context: &mut Context<'_>, now: Timestamp);
    fn timeout(&self) -> Option<Timestamp>;
}

impl<E: Endpoint<PathHandle = RemoteAddress>> Sockets for E {
    fn receive(&mut self, now: Timestamp, mut datagram: Arrived) {
        Endpoint::receive(self, &mut datagram, &now);
    }

    fn transmit(&mut self, now: Timestamp, queue: &mut Outbox) {
        Endpoint::transmit(self, queue, &now);
    }

    fn poll_wakeups(&mut self, context: &mut Context<'_>, now: Timestamp) {
        // An endpoint that is closed says so to its application, too.
        let _ = Endpoint::poll_wakeups(self, context, &now);
    }

    fn timeout(&self) -> Option<Timestamp> {
        Endpoint::timeout(self)
    }
}

/// Where a started endpoint is left.
struct Slot(Arc<Mutex<Option<Box<dyn Sockets + Send>>>>);

impl Slot {
    fn take(self) -> Result<Box<dyn Sockets>, String> {
        let endpoint = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(endpoint.ok_or("the endpoint did not start")?)
    }
}

/// A provider of input and output that hands out the endpoint instead of running it.
struct HandOut {
    side: Side,
    mtu: mtu::Config,
    slot: Slot,
}

impl HandOut {
    fn new(asked: &Asked, side: Side) -> Result<(Slot, HandOut), Box<dyn Error>> {
        let slot = Arc::default();
        Ok((Slot(Arc::clone(&slot)), HandOut { side, mtu: mtu(asked)?, slot: Slot(slot) }))
    }
}

impl io::Provider for HandOut {
    type PathHandle = RemoteAddress;
    type Error = Infallible;

    fn start<E: Endpoint<PathHandle = RemoteAddress>>(
        self,
        mut endpoint: E,
    ) -> Result<SocketAddress, Infallible> {
        endpoint.set_mtu_config(self.mtu);
        *self.slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(endpoint));
        Ok(address(self.side).into())
    }
}

/// A datagram on its way into the stack.
struct Arrived {
    from: RemoteAddress,
    ecn: Ecn,
    data: Option<BytesMut>,
}

impl rx::Queue for Arrived {
    type Handle = RemoteAddress;

    fn for_each<F: FnMut(Header<RemoteAddress>, &mut [u8])>(&mut self, mut on_packet: F) {
        if let Some(mut data) = self.data.take() {
            on_packet(Header { path: self.from, ecn: self.ecn }, &mut data);
        }
    }

    fn is_empty(&self) -> bool {
        self.data.is_none()
    }
}

/// Datagrams that the stack sends now.
struct Outbox {
    datagram_bytes: usize,
    datagrams: VecDeque<Datagram>,
}

impl tx::Queue for Outbox {
    type Handle = RemoteAddress;
    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = RemoteAddress>>(
        &mut self,
        mut message: M,
    ) -> Result<tx::Outcome, tx::Error> {
        let mut data = BytesMut::zeroed(self.datagram_bytes);
        let len = message.write_payload(tx::PayloadBuffer::new(&mut data), 0)?;
        data.truncate(len);
        let ecn = message.ecn();
        let datagram = Datagram { data, is_ect: ecn.using_ecn(), is_ce: ecn.congestion_experienced() };
        self.datagrams.push_back(datagram);
        Ok(tx::Outcome { len, index: self.datagrams.len() - 1 })
    }

    fn capacity(&self) -> usize {
        usize::MAX - self.datagrams.len()
    }
}

/// Whether the endpoint or the application of an end is to be asked again.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What an application does; its handles keep the endpoint open.
type Application = Pin<Box<dyn Future<Output = Result<Box<dyn Any>, String>>>>;

enum State {
    Running(Application),
    Over { _handles: Option<Box<dyn Any>> },
}

async fn send(client: Client, connect: Connect, size_bytes: Option<u64>) -> Result<Box<dyn Any>, String> {
    let mut connection = client.connect(connect).await.map_err(|error| error.to_string())?;
    let mut stream = connection.open_send_stream().await.map_err(|error| error.to_string())?;
    let mut left_bytes = size_bytes;
    while left_bytes != Some(0) {
        let chunk = payload(left_bytes.unwrap_or(u64::MAX));
        left_bytes = left_bytes.map(|left_bytes| left_bytes - chunk.len() as u64);
        stream.send(chunk).await.map_err(|error| error.to_string())?;
    }
    stream.close().await.map_err(|error| error.to_string())?;
    Ok(Box::new((client, connection, stream)))
}

/// Reads in order, as the stack has it.
async fn receive(mut server: Server, read_bytes: Rc<Cell<u64>>) -> Result<Box<dyn Any>, String> {
    let mut connection = server.accept().await.ok_or("the server is closed")?;
    let stream = connection.accept_receive_stream().await.map_err(|error| error.to_string())?;
    let mut stream = stream.ok_or("the client closed the connection")?;
    while let Some(bytes) = stream.receive().await.map_err(|error| error.to_string())? {
        read_bytes.set(read_bytes.get() + bytes.len() as u64);
    }
    Ok(Box::new((server, connection, stream)))
}

/// One end: the stack's endpoint, and the application at it.
struct Half {
    endpoint: Box<dyn Sockets>,
    state: State,
    flag: Arc<Flag>,
    outbox: Outbox,
}

impl Half {
    fn new(endpoint: Box<dyn Sockets>, application: Application, datagram_bytes: u16) -> Half {
        Half {
            endpoint,
            state: State::Running(application),
            flag: Arc::new(Flag(AtomicBool::new(true))),
            outbox: Outbox { datagram_bytes: datagram_bytes.into(), datagrams: VecDeque::new() },
        }
    }

    fn is_woken(&self) -> bool {
        self.flag.0.load(Ordering::Relaxed)
    }

    /// Asks the application and the endpoint until neither has anything for the other; what the application ended with.
    fn settle(&mut self, now: Timestamp) -> Option<Result<(), String>> {
        let waker = Waker::from(Arc::clone(&self.flag));
        let mut context = Context::from_waker(&waker);
        let mut ended = None;
        while self.flag.0.swap(false, Ordering::Relaxed) {
            if let State::Running(application) = &mut self.state
                && let Poll::Ready(answer) = application.as_mut().poll(&mut context)
            {
                let (answer, handles) = match answer {
                    Ok(handles) => (Ok(()), Some(handles)),
                    Err(error) => (Err(error), None),
                };
                ended = Some(answer);
                self.state = State::Over { _handles: handles };
            }
            self.endpoint.poll_wakeups(&mut context, now);
        }
        ended
    }
}

struct Ends {
    sender: Half,
    receiver: Half,
    lost_pkts: Arc<AtomicU64>,
    finished_ns: Option<u64>,
    /// By the receiver's application.
    read_bytes: Rc<Cell<u64>>,
    received: Received,
    fault: Option<String>,
}

/// Flow control never limits, and no timer ends the connection. One has to be there: without any the stack's assertions fail.
fn limits() -> Result<Limits, Box<dyn Error>> {
    const MOST: u64 = u32::MAX as u64;
    Ok(Limits::new()
        .with_data_window(MOST)?
        .with_unidirectional_data_window(MOST)?
        .with_max_send_buffer_size(u32::MAX)?
        .with_max_handshake_duration(FOREVER)?
        .with_max_idle_timeout(FOREVER)?)
}

/// The MTU is known, so that no probe looks for it.
fn mtu(asked: &Asked) -> Result<mtu::Config, Box<dyn Error>> {
    let bytes = asked.datagram_bytes + MTU_HEADER_BYTES;
    let builder =
        mtu::Config::builder().with_max_mtu(bytes)?.with_base_mtu(bytes)?.with_initial_mtu(bytes)?;
    Ok(builder.build()?)
}

impl Ends {
    /// The client begins as soon as it is asked for datagrams.
    fn connect(asked: &Asked, seen: Shared) -> Result<Ends, Box<dyn Error>> {
        let lost_pkts = Arc::default();
        let watch = Watch { seen, lost_pkts: Arc::clone(&lost_pkts) };
        let seeded = |side| Seeded::new(&[&asked.seed[..], &[side as u8]].concat());
        let (slot, hand_out) = HandOut::new(asked, Side::Sender)?;
        let client = Client::builder()
            .with_io(hand_out)?
            .with_tls(Null)?
            .with_limits(limits()?)?
            .with_random(seeded(Side::Sender))?
            .with_connection_id(CountedIds(0))?
            .with_stateless_reset_token(NoResets)?
            .with_congestion_controller(Watched::new(asked, watch)?)?
            .start()?;
        let connect = Connect::new(address(Side::Receiver)).with_server_name("receiver");
        let application = Box::pin(send(client, connect, asked.size_bytes));
        let sender = Half::new(slot.take()?, application, asked.datagram_bytes);
        let (slot, hand_out) = HandOut::new(asked, Side::Receiver)?;
        let server = Server::builder()
            .with_io(hand_out)?
            .with_tls(Null)?
            .with_limits(limits()?)?
            .with_random(seeded(Side::Receiver))?
            .with_connection_id(CountedIds(0))?
            .with_stateless_reset_token(NoResets)?
            .start()?;
        let read_bytes = Rc::default();
        let application = Box::pin(receive(server, Rc::clone(&read_bytes)));
        let receiver = Half::new(slot.take()?, application, asked.datagram_bytes);
        Ok(Ends {
            sender,
            receiver,
            lost_pkts,
            finished_ns: None,
            read_bytes,
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

    fn settle(&mut self, side: Side, now_ns: u64) {
        match (self.half(side).settle(Clock::at(now_ns)), side) {
            (Some(Err(error)), _) => self.fault = Some(error),
            (Some(Ok(())), Side::Sender) => self.finished_ns = Some(now_ns),
            _ => {}
        }
        let (before, read) = (self.received.bytes(), self.read_bytes.get());
        if read > before {
            self.received.add(now_ns, before, read);
        }
    }
}

impl Connection for Ends {
    fn transmit(&mut self, side: Side, now_ns: u64) -> Option<Datagram> {
        loop {
            let half = self.half(side);
            if let Some(datagram) = half.outbox.datagrams.pop_front() {
                return Some(datagram);
            }
            self.settle(side, now_ns);
            let half = self.half(side);
            half.endpoint.transmit(Clock::at(now_ns), &mut half.outbox);
            if half.outbox.datagrams.is_empty() && !half.is_woken() {
                return None;
            }
        }
    }

    fn receive(&mut self, side: Side, now_ns: u64, datagram: Datagram) {
        let ecn = match (datagram.is_ce, datagram.is_ect) {
            (true, _) => Ecn::Ce,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        };
        let from = SocketAddress::from(address(peer(side))).into();
        let arrived = Arrived { from, ecn, data: Some(datagram.data) };
        self.half(side).endpoint.receive(Clock::at(now_ns), arrived);
        self.settle(side, now_ns);
    }

    fn due_ns(&mut self, side: Side) -> Option<u64> {
        self.half(side).endpoint.timeout().map(Clock::ns)
    }

    /// The stack looks at its timers before it transmits.
    fn wake(&mut self, _: Side, _: u64) {}

    fn finished_ns(&self) -> Option<u64> {
        self.finished_ns
    }

    fn received(&self) -> &Received {
        &self.received
    }

    fn held_lost_pkts(&mut self) -> u64 {
        self.lost_pkts.load(Ordering::Relaxed)
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}
