//! quinn, and all that is built on quinn-proto 0.11.

use crate::{Bridge, Error, Setup, Stack};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// For `TransportConfig::congestion_controller_factory`: the algorithm called `name` with `params`, each a name and a value.
pub fn factory(
    name: &str,
    params: &[(&str, &str)],
) -> Result<Arc<dyn ControllerFactory + Send + Sync + 'static>, Error> {
    Ok(Arc::new(Factory(Setup::new(Stack::Quinn, name, params)?)))
}

struct Factory(Setup);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Connection { bridge: self.0.start(current_mtu), begin: now })
    }
}

#[derive(Clone)]
struct Connection {
    bridge: Bridge,
    begin: Instant,
}

impl Connection {
    fn ns(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.begin).as_nanos().try_into().unwrap_or(u64::MAX)
    }
}

impl Controller for Connection {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.bridge.send(self.ns(now), bytes);
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _app_limited: bool, _: &RttEstimator) {
        self.bridge.ack_packet(self.ns(sent), bytes, None);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.bridge.end_acks(self.ns(now), Some(in_flight), app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let (now_ns, sent_ns) = (self.ns(now), self.ns(sent));
        if lost_bytes == 0 {
            self.bridge.on_congestion(now_ns, Some(sent_ns), 0);
        } else {
            self.bridge.lose_packet(lost_bytes, None);
            self.bridge.on_loss(now_ns, sent_ns, persistent);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.bridge.set_mtu(new_mtu);
    }

    /// quinn sends while what would be in flight is less than this. With a byte more, all of cwnd may be in flight.
    fn window(&self) -> u64 {
        self.bridge.window_bytes() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.bridge.window_bytes();
        metrics.ssthresh = self.bridge.ssthresh_bytes();
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
