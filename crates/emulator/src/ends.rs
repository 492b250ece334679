//! A flow of this machine's kernel as the two ends of a flow of the plain network.

use crate::pace::Pace;
use crate::packet::{Packet, mark};
use crate::shared::{FlowCounts, Shared};
use cwnd_engine::net::{self, Counts, Datagram, Endpoints, NEVER, Received, Side, counted};
use cwnd_results::FlowResult;
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Packets that a device has given, in the order of time, and that are not yet on their way.
pub type Inbox = RefCell<VecDeque<(u64, Packet)>>;

/// The two devices, and what is known of the packets that cross between them.
pub struct Host<'a> {
    pub shared: &'a Shared,
    pub near: File,
    pub far: File,
    /// By flow.
    pub inboxes: Vec<Inbox>,
    pub pace: RefCell<Pace>,
}

/// The ends of a flow: what they send was read from one device, and what reaches them is written to the other.
pub struct Kernel<'a> {
    host: &'a Host<'a>,
    flow: usize,
    sent_pkts: u64,
}

impl<'a> Kernel<'a> {
    pub fn new(host: &'a Host<'a>, flow: usize) -> Kernel<'a> {
        Kernel { host, flow, sent_pkts: 0 }
    }

    fn shared_counts(&self) -> &'a FlowCounts {
        &self.host.shared.flows[self.flow]
    }
}

impl<'a> Endpoints<'a> for Kernel<'a> {
    fn start_ns(&self) -> u64 {
        0
    }

    fn next_due_ns(&self) -> u64 {
        self.host.inboxes[self.flow].borrow().front().map_or(NEVER, |(at_ns, _)| *at_ns)
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<net::Packet>) {
        let mut inbox = self.host.inboxes[self.flow].borrow_mut();
        let read = inbox.iter().take_while(|(at_ns, _)| *at_ns <= now_ns).count();
        for (_, packet) in inbox.drain(..read) {
            let Packet { to, wire_bytes: bytes, has_payload, codepoint, .. } = packet;
            self.sent_pkts += u64::from(to == Side::Receiver && has_payload);
            let content = Box::new(packet);
            out.push(net::Packet::Datagram(Box::new(Datagram {
                to,
                bytes,
                codepoint,
                marked: false,
                content,
            })));
        }
    }

    fn on_datagram(&mut self, now_ns: u64, datagram: Datagram, _: &mut Vec<net::Packet>) {
        let Datagram { to, bytes, marked, content, .. } = datagram;
        let content: Box<dyn Any> = content;
        let mut packet = content.downcast::<Packet>().expect("its ends sent it");
        if marked {
            mark(&mut packet.data);
        }
        let shared = self.host.shared;
        let mut device = if to == Side::Receiver { &self.host.far } else { &self.host.near };
        // A device that is full loses it, as a host does.
        let _ = device.write(&packet.data);
        let written_ns = shared.now_ns();
        self.host.pace.borrow_mut().note(now_ns, written_ns);
        if to == Side::Receiver && packet.has_payload {
            let counts = self.shared_counts();
            counts.delivered_pkts.fetch_add(1, Relaxed);
            counts.delivered_bytes.fetch_add(bytes.into(), Relaxed);
            counts.marked_pkts.fetch_add(marked.into(), Relaxed);
            shared.last_arrival_ns.store(written_ns, Relaxed);
        }
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn counts(&self) -> Counts {
        let counts = self.shared_counts();
        let received = Received {
            pkts: counts.delivered_pkts.load(Relaxed),
            marked_pkts: counts.marked_pkts.load(Relaxed),
            bytes: counts.delivered_bytes.load(Relaxed),
            ..Received::default()
        };
        Counts { sent: self.sent_pkts, received, ..Counts::default() }
    }

    /// At the receiver of any flow.
    fn last_arrival_ns(&self) -> u64 {
        self.host.shared.last_arrival_ns.load(Relaxed)
    }

    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult {
        let mut row = counted(counts, end_ns.saturating_sub(measured_from_ns).max(1));
        row.flow = id;
        row
    }
}
