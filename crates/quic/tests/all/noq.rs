//! noq: a transfer over loopback with each algorithm, and random events.

use crate::common;
use crate::common::{BYTES, LOCALHOST, Random};
use cwnd_quic::Stack;
use cwnd_quic::noq::factory;
use noq::congestion::{Controller, ControllerFactory};
use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use noq_proto::RttEstimator;
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Factory = Arc<dyn ControllerFactory + Send + Sync>;

struct Ends {
    server: Endpoint,
    client: Endpoint,
    config: ServerConfig,
}

fn open_ends() -> Ends {
    let (certificate, key) = common::make_certificate();
    let certificate = CertificateDer::from(certificate);
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let config =
        ServerConfig::with_single_cert(vec![certificate], PrivatePkcs8KeyDer::from(key).into()).unwrap();
    let server = Endpoint::server(config.clone(), LOCALHOST.parse().unwrap()).unwrap();
    let client = Endpoint::client(LOCALHOST.parse().unwrap()).unwrap();
    client.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots)).unwrap());
    Ends { server, client, config }
}

/// The server sends `bytes` to the client; returns what arrives there, and the server's controller after it.
async fn transfer(ends: &mut Ends, factory: Factory, bytes: usize) -> (Vec<u8>, Box<dyn Controller>) {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(factory);
    ends.config.transport_config(Arc::new(transport));
    ends.server.set_server_config(Some(ends.config.clone()));
    let connecting = ends.client.connect(ends.server.local_addr().unwrap(), "localhost").unwrap();
    let serve = async {
        let connection = ends.server.accept().await.unwrap().await.unwrap();
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(&vec![7; bytes]).await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
        connection.congestion_state(noq::PathId::ZERO).unwrap()
    };
    let fetch = async {
        let connection = connecting.await.unwrap();
        let mut stream = connection.accept_uni().await.unwrap();
        (stream.read_to_end(bytes).await.unwrap(), connection)
    };
    let (controller, (arrived, connection)) = tokio::join!(serve, fetch);
    connection.close(0u32.into(), b"");
    (arrived, controller)
}

#[test]
fn a_file_arrives_with_each_algorithm() {
    common::run(async {
        let mut ends = open_ends();
        for algorithm in Stack::Noq.algorithms() {
            let factory = factory(&algorithm.name, &[]).unwrap();
            let (arrived, controller) = transfer(&mut ends, factory, BYTES).await;
            assert!(arrived == vec![7; BYTES], "{}", algorithm.name);
            assert!(controller.window() >= 2 * 1200, "{}", algorithm.name);
        }
    });
}

/// A window that does not move, to get what the stack alone can make: an estimate of the RTT.
#[derive(Clone, Debug)]
struct Fixed(Arc<Mutex<Option<RttEstimator>>>);

impl ControllerFactory for Fixed {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

impl Controller for Fixed {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.lock().unwrap() = Some(*rtt);
    }
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        100_000
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        100_000
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Events in an order and with numbers that no stack has.
fn shake(mut controller: Box<dyn Controller>, rtt: &RttEstimator, random: &mut Random, name: &str) {
    let begin = Instant::now();
    let (mut at_us, mut mtu_bytes) = (0, 1200);
    for number in 0..common::count_events() {
        at_us += random.below(3000);
        let now = begin + Duration::from_micros(at_us);
        let sent = begin + Duration::from_micros(at_us.saturating_sub(random.below(300_000)));
        match random.below(12) {
            0 => controller.on_sent(now, random.below(70_000), number),
            1 => controller.on_packet_sent(now, random.below(65_536) as u16, number),
            2 => controller.on_cwnd_limited(),
            3..=5 => {
                let acked = number.saturating_sub(random.below(50));
                controller.on_ack(now, sent, random.below(65_536), acked, random.below(2) == 0, rtt)
            }
            6 | 7 => {
                let in_flight = if random.below(100) == 0 { u64::MAX } else { random.below(1 << 24) };
                controller.on_end_acks(now, in_flight, random.below(4) == 0, Some(number))
            }
            8 => {
                let [persistent, ecn] = [10, 3].map(|one_in| random.below(one_in) == 0);
                controller.on_congestion_event(now, sent, persistent, ecn, random.below(5000), number)
            }
            9 => {
                let lost = number.saturating_sub(random.below(50));
                controller.on_packet_lost(random.below(65_536) as u16, lost, now)
            }
            10 if random.below(10) == 0 => controller.on_spurious_congestion_event(),
            10 | 11 if random.below(100) == 0 => {
                mtu_bytes =
                    if random.below(10) == 0 { random.below(65_536) } else { 1200 + random.below(300) };
                controller.on_mtu_update(mtu_bytes as u16);
            }
            _ if random.below(100) == 0 => controller = controller.clone_box(),
            _ => {}
        }
        let window_pkts = controller.window() / mtu_bytes.max(1);
        assert!((2..1 << 31).contains(&window_pkts), "{name}: {window_pkts} packets at event {number}");
        let metrics = controller.metrics();
        assert_eq!(metrics.congestion_window, controller.window(), "{name}");
        assert_ne!(metrics.pacing_rate, Some(0), "{name}");
    }
}

#[test]
fn no_order_of_events_makes_a_controller_panic_or_its_window_leave_its_bounds() {
    let rtt = Arc::new(Mutex::new(None));
    common::run(async { _ = transfer(&mut open_ends(), Arc::new(Fixed(rtt.clone())), 10_000).await });
    let rtt = rtt.lock().unwrap().expect("an ACK arrived");
    let mut random = Random(1);
    for algorithm in Stack::Noq.algorithms() {
        let factory = factory(&algorithm.name, &[]).unwrap();
        shake(factory.build(Instant::now(), 1200), &rtt, &mut random, &algorithm.name);
    }
}
