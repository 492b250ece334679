//! The trait of queue disciplines, and the packets that they hold.

use crate::tcp::packet::Segment;
use cwnd_scenario::{Ecn, Flow, Scenario};

/// Codepoint of a packet for explicit congestion notification (RFC 3168, RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// It may not be marked.
    #[default]
    NotEct,
    /// ECN-capable, for a classic sender (RFC 3168).
    Ect0,
    /// Sent by a scalable sender.
    Ect1,
}

impl Codepoint {
    /// Returns true if a queue may mark the packet.
    pub fn is_ect(self) -> bool {
        self != Codepoint::NotEct
    }
}

/// Returns the codepoint of a flow's packets (RFC 3168, RFC 9331).
pub fn codepoint(flow: &Flow) -> Codepoint {
    match flow.stack.ecn {
        _ if flow.cca.is_udp() => Codepoint::NotEct,
        Ecn::Off => Codepoint::NotEct,
        Ecn::Classic | Ecn::Dctcp | Ecn::Accurate => Codepoint::Ect0,
        Ecn::L4s => Codepoint::Ect1,
    }
}

/// A packet as a discipline sees it: one that arrives, waits or leaves.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The number of the connection, by which disciplines tell flows apart: each transfer of a flow with arrivals has its own.
    pub flow: u32,
    /// On the wire.
    pub bytes: u32,
    /// Codepoint of ECN with which it was sent.
    pub codepoint: Codepoint,
    /// Congestion experienced (RFC 3168, CE).
    pub marked: bool,
    /// When it arrived at the queue.
    pub arrived_ns: u64,
    pub(in crate::net::link) link_part: LinkPart,
}

/// Part of a packet that only the link knows.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::net::link) struct LinkPart {
    pub label: u32,
    pub segment: Segment,
    /// How long the link takes to send it, at its fixed rate.
    pub tx_ticks: u64,
}

impl Queued {
    /// A packet that is not marked.
    pub fn new(flow: u32, bytes: u32, codepoint: Codepoint, arrived_ns: u64) -> Queued {
        Queued { flow, bytes, codepoint, marked: false, arrived_ns, link_part: LinkPart::default() }
    }
}

/// Answer of a discipline when the link is free.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// This packet is sent now.
    Send(Queued),
    /// No packet waits.
    Empty,
    /// Packets wait, but none may leave before this time, which is later than the present.
    Wait(u64),
}

/// Decides which packets a link holds, marks, drops and sends. It is asked in the order of time: an arrival before a
/// departure at the same instant. Packets that it sends or drops are as they arrived, but for `marked`. It answers
/// [`Next::Empty`] only if no packet waits.
pub trait Discipline: Send {
    /// `packet` arrives at `now_ns`. `sending`: whether the link is sending another one, or has just sent it. What the
    /// discipline drops, this packet or another, goes to `dropped`.
    fn enqueue(&mut self, now_ns: u64, packet: Queued, sending: bool, dropped: &mut Vec<Queued>);

    /// The link is free at `now_ns`. What the discipline drops goes to `dropped`.
    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<Queued>) -> Next;

    /// Packets that wait.
    fn waiting_pkts(&self) -> u64;

    /// Returns true if the discipline's decisions depend on the flow of a packet.
    fn tells_flows_apart(&self) -> bool;
}

/// The discipline of the link with this number in a run with this seed; None: droptail in closed form. What is random draws
/// from [`random_stream`](crate::random::random_stream) of `queue-` and the link's name.
pub type Disciplines<'a> = &'a (dyn Fn(&Scenario, u32, u64) -> Option<Box<dyn Discipline>> + Sync);
