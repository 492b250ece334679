//! s2n-quic: the two ends of a connection. Sockets, clock, TLS and random numbers are providers of it, for which ours stand.

mod controller;
mod fixed;
mod io;
mod null;

use crate::end::{Asked, Connection, Controllers, Datagram, Shared, Side, address, params, payload};
use crate::received::Received;
use controller::{Ssthresh, Watch, Watched};
use fixed::{CountedIds, NoResets, Seeded};
use io::{Arrived, Clock, HandOut, Outbox, Sockets};
use null::Null;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Endpoint, bbr, cubic};
use s2n_quic::provider::limits::Limits;
use s2n_quic::{Client, Server};
use s2n_quic_core::time::Timestamp;
use std::any::Any;
use std::cell::Cell;
use std::error::Error;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// The version of the stack, as Cargo.toml asks for it.
pub const VERSION: &str = "1.83.0";

/// More than a run takes.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// A connection with the caller's controller, the stack's own, or ours.
pub fn connect(asked: &Asked, seen: Shared) -> Result<Box<dyn Connection>, String> {
    if let Some(Controllers::S2nQuic(connect)) = asked.own_controllers() {
        return connect(asked, seen);
    }
    let window_bytes = u32::try_from(asked.initial_window_bytes()).unwrap_or(u32::MAX);
    match asked.cca.of_stack() {
        Some((_, "bbr")) => connect_with(
            asked,
            seen,
            bbr::Builder::default().with_initial_congestion_window(window_bytes).build(),
        ),
        Some(_) => connect_with(
            asked,
            seen,
            cubic::Builder::default().with_initial_congestion_window(window_bytes).build(),
        ),
        None => {
            let ours = cwnd_quic::s2n::endpoint(&asked.cca.algorithm, &params(asked.cca));
            connect_watched(asked, seen, ours.map_err(|error| error.to_string())?, |ours| {
                ours.ssthresh_bytes()
            })
        }
    }
}

/// A connection with the controllers of `endpoint`.
pub fn connect_with<E: Endpoint>(
    asked: &Asked,
    seen: Shared,
    endpoint: E,
) -> Result<Box<dyn Connection>, String> {
    connect_watched(asked, seen, endpoint, |_| None)
}

fn connect_watched<E: Endpoint>(
    asked: &Asked,
    seen: Shared,
    endpoint: E,
    ssthresh_bytes: Ssthresh<E::CongestionController>,
) -> Result<Box<dyn Connection>, String> {
    let watch = Watch { seen, lost_pkts: Arc::default() };
    let ends = Ends::connect(asked, Watched { endpoint, ssthresh_bytes, watch });
    ends.map(|ends| Box::new(ends) as Box<dyn Connection>).map_err(|error| error.to_string())
}

/// True if the endpoint or the application of an end is to be asked again.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Future of an application; its handles keep the endpoint open.
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
            outbox: Outbox::new(datagram_bytes),
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
fn limits(asked: &Asked) -> Result<Limits, Box<dyn Error>> {
    const MOST: u64 = u32::MAX as u64;
    let mut limits = Limits::new();
    if asked.settings.ack_every_pkts == Some(1) {
        limits = limits.with_max_ack_delay(Duration::ZERO)?;
    }
    Ok(limits
        .with_data_window(MOST)?
        .with_unidirectional_data_window(MOST)?
        .with_max_send_buffer_size(u32::MAX)?
        .with_max_handshake_duration(FOREVER)?
        .with_max_idle_timeout(FOREVER)?)
}

impl Ends {
    /// The client begins as soon as it is asked for datagrams.
    fn connect<E: Endpoint>(asked: &Asked, watched: Watched<E>) -> Result<Ends, Box<dyn Error>> {
        let lost_pkts = Arc::clone(&watched.watch.lost_pkts);
        let seeded = |side| Seeded::new(&[&asked.seed[..], &[side as u8]].concat());
        let (slot, hand_out) = HandOut::new(asked, Side::Sender)?;
        let client = Client::builder()
            .with_io(hand_out)?
            .with_tls(Null)?
            .with_limits(limits(asked)?)?
            .with_random(seeded(Side::Sender))?
            .with_connection_id(CountedIds(0))?
            .with_stateless_reset_token(NoResets)?
            .with_congestion_controller(watched)?
            .start()?;
        let connect = Connect::new(address(Side::Receiver)).with_server_name("receiver");
        let application = Box::pin(send(client, connect, asked.size_bytes));
        let sender = Half::new(slot.take()?, application, asked.datagram_bytes);
        let (slot, hand_out) = HandOut::new(asked, Side::Receiver)?;
        let server = Server::builder()
            .with_io(hand_out)?
            .with_tls(Null)?
            .with_limits(limits(asked)?)?
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
        let arrived = Arrived::new(side.other(), datagram);
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
