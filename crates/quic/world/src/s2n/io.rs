//! Replaces the sockets and the clock of s2n-quic: datagrams and times are handed to its endpoint.

use crate::end::{Asked, Datagram, Side, address};
use bytes::BytesMut;
use s2n_quic::provider::io;
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{ExplicitCongestionNotification as Ecn, SocketAddress};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{RemoteAddress, mtu};
use s2n_quic_core::time::{Clock as _, NoopClock, Timestamp};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;
use std::time::Duration;

/// Headers that the stack counts into an MTU: IPv4 and UDP.
const MTU_HEADER_BYTES: u16 = 28;

/// Virtual time as the stack's type has it, which counts microseconds from one on.
pub struct Clock;

impl Clock {
    fn begin() -> Timestamp {
        NoopClock.get_time()
    }

    pub fn at(ns: u64) -> Timestamp {
        Clock::begin() + Duration::from_nanos(ns)
    }

    pub fn ns(at: Timestamp) -> u64 {
        u64::try_from(at.saturating_duration_since(Clock::begin()).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The MTU is known, so that no probe looks for it.
fn mtu(asked: &Asked) -> Result<mtu::Config, Box<dyn Error>> {
    let bytes = asked.datagram_bytes + MTU_HEADER_BYTES;
    let builder =
        mtu::Config::builder().with_max_mtu(bytes)?.with_base_mtu(bytes)?.with_initial_mtu(bytes)?;
    Ok(builder.build()?)
}

/// The stack's endpoint, whose type has no name.
pub trait Sockets {
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
pub struct Slot(Arc<Mutex<Option<Box<dyn Sockets + Send>>>>);

impl Slot {
    pub fn take(self) -> Result<Box<dyn Sockets>, String> {
        let endpoint = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(endpoint.ok_or("the endpoint did not start")?)
    }
}

/// A provider of input and output that hands out the endpoint instead of running it.
pub struct HandOut {
    side: Side,
    mtu: mtu::Config,
    slot: Slot,
}

impl HandOut {
    pub fn new(asked: &Asked, side: Side) -> Result<(Slot, HandOut), Box<dyn Error>> {
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
pub struct Arrived {
    from: RemoteAddress,
    ecn: Ecn,
    data: Option<BytesMut>,
}

impl Arrived {
    pub fn new(from: Side, datagram: Datagram) -> Arrived {
        let ecn = match (datagram.is_ce, datagram.is_ect) {
            (true, _) => Ecn::Ce,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        };
        let from = SocketAddress::from(address(from)).into();
        Arrived { from, ecn, data: Some(datagram.data) }
    }
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
pub struct Outbox {
    datagram_bytes: usize,
    pub datagrams: VecDeque<Datagram>,
}

impl Outbox {
    pub fn new(datagram_bytes: u16) -> Outbox {
        Outbox { datagram_bytes: datagram_bytes.into(), datagrams: VecDeque::new() }
    }
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
