//! s2n-quic: a transfer over loopback with each algorithm, and random events.

use crate::common;
use crate::common::{BYTES, LOCALHOST, Random};
use cwnd_quic::s2n::{Algorithm, Connection, endpoint};
use cwnd_quic::{Sent, Stack};
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher, RandomGenerator, RttEstimator, Timestamp,
};
use s2n_quic::provider::tls;
use s2n_quic::{Client, Server};
use std::time::Duration;

/// The server sends `bytes` to the client; returns what arrives there.
async fn transfer(controller: impl Endpoint, bytes: usize) -> Vec<u8> {
    let (certificate, key) = common::make_certificate();
    let builder = tls::rustls::Server::builder().with_certificate(certificate.clone(), key);
    let mut server = Server::builder()
        .with_tls(builder.unwrap().build().unwrap())
        .unwrap()
        .with_congestion_controller(controller)
        .unwrap()
        .with_io(LOCALHOST)
        .unwrap()
        .start()
        .unwrap();
    let builder = tls::rustls::Client::builder().with_certificate(certificate);
    let client = Client::builder().with_tls(builder.unwrap().build().unwrap()).unwrap();
    let client = client.with_io(LOCALHOST).unwrap().start().unwrap();
    let connect = Connect::new(server.local_addr().unwrap()).with_server_name("localhost");
    let serve = async {
        let mut connection = server.accept().await.unwrap();
        let mut stream = connection.open_send_stream().await.unwrap();
        stream.send(vec![7; bytes].into()).await.unwrap();
        stream.close().await.unwrap();
    };
    let fetch = async {
        let mut connection = client.connect(connect).await.unwrap();
        let mut stream = connection.accept_receive_stream().await.unwrap().unwrap();
        let mut arrived = Vec::new();
        while let Some(bytes) = stream.receive().await.unwrap() {
            arrived.extend_from_slice(&bytes);
        }
        (arrived, connection)
    };
    let ((), (arrived, _connection)) = tokio::join!(serve, fetch);
    arrived
}

#[test]
fn a_file_arrives_with_each_algorithm() {
    common::run(async {
        for algorithm in Stack::S2nQuic.algorithms() {
            let arrived = transfer(endpoint(&algorithm.name, &[]).unwrap(), BYTES).await;
            assert!(arrived == vec![7; BYTES], "{}", algorithm.name);
        }
    });
}

/// An algorithm, a copy of which gets random events at the first ACK: what they need, the stack alone can make.
#[derive(Clone, Debug)]
struct Shaken<C> {
    inner: C,
    name: String,
    done: bool,
}

impl Endpoint for Shaken<Algorithm> {
    type CongestionController = Shaken<Connection>;

    fn new_congestion_controller(&mut self, path: PathInfo) -> Shaken<Connection> {
        Shaken { inner: self.inner.new_congestion_controller(path), name: self.name.clone(), done: false }
    }
}

impl Shaken<Connection> {
    /// Events in an order and with numbers that the stack does not have.
    fn shake<P: Publisher>(
        &self,
        newest: Sent,
        rtt: &RttEstimator,
        generator: &mut dyn RandomGenerator,
        mut now: Timestamp,
        publisher: &mut P,
    ) {
        let (mut controller, mut random, mut sent) = (self.inner.clone(), Random(1), newest);
        let mut mtu_bytes = 1200;
        controller.on_mtu_update(mtu_bytes as u16, publisher);
        for number in 0..common::count_events() {
            now += Duration::from_micros(random.below(3000));
            let before = now.checked_sub(Duration::from_micros(random.below(300_000))).unwrap_or(now);
            let coin = random.below(2) == 0;
            match random.below(12) {
                0..=3 => {
                    let bytes = random.below(1500) as usize;
                    let packet = controller.on_packet_sent(now, bytes, Some(coin), rtt, publisher);
                    sent = if coin { packet } else { sent };
                }
                4..=7 => {
                    let bytes = random.below(5000) as usize;
                    controller.on_ack(before, bytes, sent, rtt, generator, now, publisher);
                }
                8 => {
                    let (bytes, persistent) = (random.below(5000) as u32, random.below(10) == 0);
                    controller.on_packet_lost(bytes, sent, persistent, coin, generator, now, publisher);
                }
                9 => controller.on_explicit_congestion(random.below(50), now, publisher),
                10 if random.below(100) == 0 => {
                    mtu_bytes =
                        if random.below(10) == 0 { random.below(65_536) } else { 1200 + random.below(300) };
                    controller.on_mtu_update(mtu_bytes as u16, publisher);
                }
                11 => controller.on_packet_discarded(random.below(1500) as usize, publisher),
                _ => {}
            }
            let window_pkts = u64::from(controller.congestion_window()) / mtu_bytes.max(1);
            let name = &self.name;
            assert!(window_pkts >= 2, "{name}: {window_pkts} packets at event {number}");
        }
    }
}

impl CongestionController for Shaken<Connection> {
    type PacketInfo = Sent;

    fn congestion_window(&self) -> u32 {
        self.inner.congestion_window()
    }
    fn bytes_in_flight(&self) -> u32 {
        self.inner.bytes_in_flight()
    }
    fn is_congestion_limited(&self) -> bool {
        self.inner.is_congestion_limited()
    }
    fn requires_fast_retransmission(&self) -> bool {
        self.inner.requires_fast_retransmission()
    }
    fn on_packet_sent<P: Publisher>(
        &mut self,
        now: Timestamp,
        bytes: usize,
        app_limited: Option<bool>,
        rtt: &RttEstimator,
        publisher: &mut P,
    ) -> Sent {
        self.inner.on_packet_sent(now, bytes, app_limited, rtt, publisher)
    }
    fn on_rtt_update<P: Publisher>(&mut self, _: Timestamp, _: Timestamp, _: &RttEstimator, _: &mut P) {}
    fn on_ack<P: Publisher>(
        &mut self,
        sent: Timestamp,
        bytes: usize,
        newest: Sent,
        rtt: &RttEstimator,
        generator: &mut dyn RandomGenerator,
        now: Timestamp,
        publisher: &mut P,
    ) {
        if !self.done {
            self.done = true;
            self.shake(newest, rtt, generator, now, publisher);
        }
        self.inner.on_ack(sent, bytes, newest, rtt, generator, now, publisher);
    }
    fn on_packet_lost<P: Publisher>(
        &mut self,
        bytes: u32,
        sent: Sent,
        persistent: bool,
        burst: bool,
        generator: &mut dyn RandomGenerator,
        now: Timestamp,
        publisher: &mut P,
    ) {
        self.inner.on_packet_lost(bytes, sent, persistent, burst, generator, now, publisher);
    }
    fn on_explicit_congestion<P: Publisher>(&mut self, count: u64, now: Timestamp, publisher: &mut P) {
        self.inner.on_explicit_congestion(count, now, publisher);
    }
    fn on_mtu_update<P: Publisher>(&mut self, mtu_bytes: u16, publisher: &mut P) {
        self.inner.on_mtu_update(mtu_bytes, publisher);
    }
    fn on_packet_discarded<P: Publisher>(&mut self, bytes: usize, publisher: &mut P) {
        self.inner.on_packet_discarded(bytes, publisher);
    }
    fn earliest_departure_time(&self) -> Option<Timestamp> {
        self.inner.earliest_departure_time()
    }
}

#[test]
fn no_order_of_events_makes_a_controller_panic_or_its_window_leave_its_bounds() {
    common::run(async {
        for algorithm in Stack::S2nQuic.algorithms() {
            let inner = endpoint(&algorithm.name, &[]).unwrap();
            transfer(Shaken { inner, name: algorithm.name, done: false }, 10_000).await;
        }
    });
}
