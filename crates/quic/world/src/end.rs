//! What a connection of a stack is to the path: two ends that send and receive datagrams, and timers.

use crate::Settings;
use crate::received::Received;
use crate::seen::Seen;
use bytes::{Bytes, BytesMut};
use cwnd_scenario::Cca;
use std::sync::{Arc, Mutex};

/// What the congestion controller of a sender has seen; the stack's thread and the loop's are one.
pub type Shared = Arc<Mutex<Seen>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Sender,
    Receiver,
}

/// A datagram of UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub data: BytesMut,
    pub is_ect: bool,
    /// Marked on its way.
    pub is_ce: bool,
}

/// What a flow asks of its connection.
pub struct Asked<'a> {
    /// One of the stack, or of this project.
    pub cca: &'a Cca,
    /// Payload of UDP in a full datagram.
    pub datagram_bytes: u16,
    /// None: without end.
    pub size_bytes: Option<u64>,
    /// Of the run and the flow.
    pub seed: [u8; 16],
    pub settings: Settings,
}

impl Asked<'_> {
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

/// A connection of a stack, or of TCP: the client sends, the server receives. Nothing here reads a clock.
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
    /// Packets that the sender takes for lost; of a TCP flow its retransmissions.
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
