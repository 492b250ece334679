//! A connection of a stack as the path sees it: two ends that send and receive datagrams, and timers.

use crate::Settings;
use crate::received::Received;
use crate::seen::Seen;
use bytes::{Bytes, BytesMut};
pub use cwnd_engine::net::Side;
use cwnd_scenario::Cca;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::{Arc, Mutex};

/// Record of a sender's congestion controller; the stack's thread and the loop's are one.
pub type Shared = Arc<Mutex<Seen>>;

/// An end's address.
pub fn address(side: Side) -> SocketAddr {
    let host = match side {
        Side::Sender => 1,
        Side::Receiver => 2,
    };
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), 443).into()
}

/// A datagram of UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub data: BytesMut,
    pub is_ect: bool,
    /// Marked on its way.
    pub is_ce: bool,
}

/// Factory of quinn's controllers.
pub type QuinnFactory = Arc<dyn quinn_proto::congestion::ControllerFactory + Send + Sync>;
/// Factory of noq's controllers.
pub type NoqFactory = Arc<dyn noq_proto::congestion::ControllerFactory + Send + Sync>;
/// Begins a connection of s2n-quic.
pub type S2nConnect = Arc<dyn Fn(&Asked, Shared) -> Result<Box<dyn Connection>, String>>;

/// Congestion controllers of a caller.
#[derive(Clone)]
pub enum Controllers {
    Quinn(QuinnFactory),
    Noq(NoqFactory),
    S2nQuic(S2nConnect),
}

/// Request of a flow for its connection.
pub struct Asked<'a> {
    /// One of the stack, or of this project.
    pub cca: &'a Cca,
    /// Payload of UDP in a full datagram.
    pub datagram_bytes: u16,
    /// None: without end.
    pub size_bytes: Option<u64>,
    /// Seed of the run and the flow.
    pub seed: [u8; 16],
    pub settings: Settings,
    /// Controllers of the caller, and the algorithm for which they stand.
    pub own: Option<(&'a str, &'a Controllers)>,
}

impl Asked<'_> {
    /// The caller's controllers, if the flow has them.
    pub fn own_controllers(&self) -> Option<&Controllers> {
        let (instead_of, controllers) = self.own?;
        (instead_of == self.cca.algorithm).then_some(controllers)
    }

    /// RFC 9002, 7.2: ten datagrams, but no more bytes than ten of the size that Ethernet carries.
    pub fn initial_window_bytes(&self) -> u64 {
        let datagram_bytes = u64::from(self.datagram_bytes);
        (10 * datagram_bytes).min(14_720.max(2 * datagram_bytes))
    }
}

/// The parameters of an algorithm, as adapters read them.
pub fn params(cca: &Cca) -> Vec<(&str, &str)> {
    cca.params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// A connection of a stack: the client sends, the server receives. Nothing here reads a clock.
pub trait Connection {
    /// The next datagram that one end sends now; None: it waits for something.
    fn transmit(&mut self, side: Side, now_ns: u64) -> Option<Datagram>;
    fn receive(&mut self, side: Side, now_ns: u64, datagram: Datagram);
    /// When [`Connection::wake`] is to be called.
    fn due_ns(&mut self, side: Side) -> Option<u64>;
    /// A timer has run out.
    fn wake(&mut self, side: Side, now_ns: u64);
    /// When the last byte of a size was acknowledged.
    fn finished_ns(&self) -> Option<u64>;
    /// Payload that the receiver's application has read.
    fn received(&self) -> &Received;

    /// Packets that the sender takes for lost.
    fn held_lost_pkts(&mut self) -> u64;
    /// Why the stack has given up the connection.
    fn fault(&self) -> Option<&str>;
}

/// Payload that applications send.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// At most `bytes` of payload: a stack keeps references to it and no copies.
pub fn payload(bytes: u64) -> Bytes {
    Bytes::from_static(&ZEROS[..bytes.min(ZEROS.len() as u64) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, Stack};
    use std::collections::BTreeMap;

    const WAY_NS: u64 = 5_000_000;
    const SIDES: [Side; 2] = [Side::Sender, Side::Receiver];

    /// When 50 kB cross a path of 5 ms that loses each seventh datagram: who sends when, and which bytes.
    fn datagrams(stack: Stack, seed: u8) -> Vec<(u64, Side, BytesMut)> {
        let cca = Cca { name: "reno".into(), algorithm: "reno".into(), params: Vec::new() };
        let asked = Asked {
            cca: &cca,
            datagram_bytes: 1472,
            size_bytes: Some(50_000),
            seed: [seed; 16],
            settings: Settings::default(),
            own: None,
        };
        let seen: Shared = Arc::new(Mutex::new(Seen::new(1472, 0)));
        let mut connection = stack.connect(&asked, 0, seen).unwrap();
        let (mut sent, mut wire) = (Vec::new(), BTreeMap::new());
        let mut now_ns = 0;
        while connection.finished_ns().is_none() {
            for side in SIDES {
                while let Some(datagram) = connection.transmit(side, now_ns) {
                    sent.push((now_ns, side, datagram.data.clone()));
                    if sent.len() % 7 != 0 {
                        wire.insert((now_ns + WAY_NS, sent.len()), (side, datagram));
                    }
                }
            }
            let arrives_ns = wire.first_key_value().map(|((at_ns, _), _)| *at_ns);
            let due = SIDES.map(|side| (connection.due_ns(side), side));
            let timer = due.into_iter().filter_map(|(at_ns, side)| Some((at_ns?.max(now_ns), side))).min();
            now_ns = arrives_ns
                .into_iter()
                .chain(timer.map(|(at_ns, _)| at_ns))
                .min()
                .expect("the transfer goes on");
            assert!(now_ns < 60_000_000_000, "{stack:?} takes more than a minute: {:?}", connection.fault());
            if arrives_ns == Some(now_ns) {
                let (_, (side, datagram)) = wire.pop_first().expect("a datagram arrives");
                connection.receive(side.other(), now_ns, datagram);
            } else if let Some((_, side)) = timer {
                connection.wake(side, now_ns);
            }
        }
        assert_eq!(connection.received().bytes(), 50_000);
        assert!(connection.held_lost_pkts() > 0);
        sent
    }

    #[test]
    fn two_runs_send_the_same_bytes_at_the_same_times_and_another_seed_others() {
        for stack in Stack::ALL {
            let first = datagrams(stack, 1);
            assert!(first == datagrams(stack, 1), "{stack:?}");
            assert!(first != datagrams(stack, 2), "{stack:?}");
        }
    }
}
