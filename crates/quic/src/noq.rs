//! noq, and all that is built on noq-proto 1.

use crate::{Bridge, Error, Sent, Setup, Stack};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// For `TransportConfig::congestion_controller_factory`: the algorithm called `name` with `params`, each a name and a value.
pub fn factory(
    name: &str,
    params: &[(&str, &str)],
) -> Result<Arc<dyn ControllerFactory + Send + Sync + 'static>, Error> {
    Ok(Arc::new(Factory(Setup::new(Stack::Noq, name, params)?)))
}

struct Factory(Setup);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Connection { bridge: self.0.start(current_mtu), begin: now, sent: VecDeque::new() })
    }
}

#[derive(Clone, Debug)]
struct Connection {
    bridge: Bridge,
    begin: Instant,
    /// Packets in flight, in the order of sending; None: acknowledged or lost. Packet numbers are those of three spaces.
    sent: VecDeque<(u64, u64, Option<Sent>)>,
}

impl Connection {
    fn ns(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.begin).as_nanos().try_into().unwrap_or(u64::MAX)
    }

    /// Packet `number`, sent at `from_ns` or later.
    fn take_sent(&mut self, number: u64, from_ns: u64) -> Option<Sent> {
        let first = self.sent.partition_point(|(_, sent_ns, _)| *sent_ns < from_ns);
        let mut packets = self.sent.range_mut(first..);
        let sent = packets.find(|(other, _, sent)| *other == number && sent.is_some())?.2.take();
        while self.sent.front().is_some_and(|(_, _, sent)| sent.is_none()) {
            self.sent.pop_front();
        }
        sent
    }

    /// Packets of the handshake may be neither acknowledged nor lost. After two RTTs more than that of an acknowledged packet,
    /// each has been deemed lost or was discarded.
    fn forget_discarded(&mut self, now_ns: u64) {
        let before_ns = now_ns.saturating_sub(self.bridge.srtt_ns().saturating_mul(4));
        while self.sent.front().is_some_and(|(_, sent_ns, _)| *sent_ns < before_ns) {
            self.sent.pop_front();
        }
    }
}

impl Controller for Connection {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let sent_ns = self.ns(now);
        let sent = self.bridge.send(sent_ns, bytes.into());
        if self.bridge.samples_rate() {
            self.sent.push_back((number, sent_ns, Some(sent)));
        }
    }

    fn on_cwnd_limited(&mut self) {
        self.bridge.note_cwnd_limited();
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, number: u64, _: bool, _: &RttEstimator) {
        let sent_ns = self.ns(sent);
        let sent = self.take_sent(number, sent_ns);
        self.bridge.ack_packet(sent_ns, bytes, sent);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let now_ns = self.ns(now);
        self.bridge.end_acks(now_ns, Some(in_flight), app_limited);
        self.forget_discarded(now_ns);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, number: u64, _: Instant) {
        let sent = self.take_sent(number, 0);
        self.bridge.lose_packet(lost_bytes.into(), sent);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        ecn: bool,
        _: u64,
        _: u64,
    ) {
        let (now_ns, sent_ns) = (self.ns(now), self.ns(sent));
        if ecn {
            self.bridge.on_congestion(now_ns, Some(sent_ns), 0);
        } else {
            self.bridge.on_loss(now_ns, sent_ns, persistent);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.bridge.undo();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.bridge.set_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.bridge.window_bytes()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = self.bridge.ssthresh_bytes();
        metrics.pacing_rate = self.bridge.pacing_rate();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.bridge.initial_window_bytes()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
