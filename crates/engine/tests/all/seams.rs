//! The plain network takes what it does not know without a line in the crate: a discipline, a link whose rate follows a Markov chain, a
//! switch whose ports share a buffer, a transport whose receiver grants credits, one flow over two paths.

use crate::common::read;
use cwnd_algorithms::{Ack, CongestionControl, Window};
use cwnd_engine::net::{
    self, Counts, Discipline, Endpoints, NEVER, Next, Packet, Parts, Queued, Received, Side, Tap, counted,
};
use cwnd_engine::{BorrowedSimulation, Codepoint, Control};
use cwnd_results::{FlowResult, Run};
use cwnd_scenario::{Cca, Scenario};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

fn answer<'a>(scenario: &'a Scenario, parts: Parts<'a>, control: &'a Control) -> Run {
    BorrowedSimulation::plain(scenario, scenario.seed, parts, control).finish().expect("nobody stops it")
}

/// A FIFO queue that holds a packet if the memory has room for it.
struct Port {
    waiting: VecDeque<Queued>,
    memory: Arc<Mutex<Memory>>,
}

/// Packets that the ports of a switch may hold, and how many they do.
struct Memory {
    most_pkts: u64,
    held_pkts: u64,
}

impl Discipline for Port {
    fn enqueue(&mut self, _: u64, packet: Queued, _: bool, dropped: &mut Vec<Queued>) {
        let mut memory = self.memory.lock().unwrap();
        if memory.held_pkts < memory.most_pkts {
            memory.held_pkts += 1;
            self.waiting.push_back(packet);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, _: u64, _: &mut Vec<Queued>) -> Next {
        match self.waiting.pop_front() {
            Some(packet) => {
                self.memory.lock().unwrap().held_pkts -= 1;
                Next::Send(packet)
            }
            None => Next::Empty,
        }
    }

    fn waiting_pkts(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn tells_flows_apart(&self) -> bool {
        false
    }
}

/// Two bursts of eight packets into two ports of 8 Mbps, 1,000 bytes each, the second when so many microseconds of the first are over.
fn lost_of_two_bursts(most_pkts: u64, later_us: u64, is_shared: bool) -> Vec<u64> {
    let port = |name: &str| {
        format!("[[links]]\nname = '{name}'\nrate = '8 Mbps'\ndelay = '1 ms'\nbuffer = 'unlimited'\n")
    };
    let flow = |port: &str, start_us: u64| {
        format!(
            "[[flows]]\ncca = {{ name = 'fixed', window = 8 }}\npath = ['{port}']\npacket = 946\nstart = '{start_us} us'\n\
             stop = '{} us'\n",
            start_us + 1000
        )
    };
    let (ports, flows) = (port("a") + &port("b"), flow("a", 0) + &flow("b", later_us));
    let scenario = read(&format!("duration = '1 s'\nsamples = 'off'\n{ports}{flows}"));
    let new_memory = || Arc::new(Mutex::new(Memory { most_pkts, held_pkts: 0 }));
    let shared = new_memory();
    let disciplines = |_: &cwnd_scenario::Scenario, _: u32, _: u64| -> Box<dyn Discipline> {
        let memory = if is_shared { Arc::clone(&shared) } else { new_memory() };
        Box::new(Port { waiting: VecDeque::new(), memory })
    };
    let algorithms = &crate::common::custom;
    let run = answer(
        &scenario,
        Parts { disciplines: &disciplines, algorithms, ..Parts::default() },
        &Control::default(),
    );
    run.flows.iter().map(|flow| flow.lost_pkts).collect()
}

#[test]
fn a_discipline_holds_what_its_memory_has_room_for() {
    // All eight arrive before the first begins to be sent.
    assert_eq!(lost_of_two_bursts(5, 0, false), [3, 3]);
}

#[test]
fn ports_of_a_switch_share_its_buffer_in_the_order_of_time() {
    // Ten places. The first port holds eight packets and begins to send one, which leaves three for the second.
    assert_eq!(lost_of_two_bursts(10, 0, true), [0, 5]);
    // 2.5 ms later it has begun to send two more.
    assert_eq!(lost_of_two_bursts(10, 2500, true), [0, 3]);
}

#[test]
fn a_link_follows_a_markov_chain_whose_shares_its_throughput_has() {
    // Good: 8 Mbps, left with 0.1 a step; bad: 2 Mbps, left with 0.3. Shares of 3/4 and 1/4, so 6.5 Mbps.
    let (mut state, mut bits, mut steps) = (0_u64, 1_u64, Vec::new());
    for step in 0..2000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = (bits >> 33) as f64 / f64::from(1_u32 << 31);
        steps.push(format!("['{} ms', '{} Mbps']", 10 * step, [8, 2][state as usize]));
        state = match state {
            0 => u64::from(draw < 0.1),
            _ => u64::from(draw >= 0.3),
        };
    }
    let scenario = read(&format!(
        "duration = '20 s'\nsamples = 'off'\n[[links]]\nname = 'a'\nrate = {{ steps = [{}] }}\ndelay = '1 ms'\nbuffer = 10\n\
         [[flows]]\ncca = 'udp'\napp_rate = '12 Mbps'\npath = ['a']\n",
        steps.join(", ")
    ));
    let throughput_mbps = answer(&scenario, Parts::default(), &Control::default()).flows[0].throughput_mbps;
    assert!((throughput_mbps / 6.5 - 1.0).abs() < 0.05, "{throughput_mbps}");
}

/// Messages between the ends of a flow with credits.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Request,
    Credit,
    Data,
}

/// A flow whose receiver lets the sender send: a credit for each packet, at the distance of the packets on the link.
struct Credits {
    start_ns: u64,
    distance_ns: u64,
    next_credit_ns: u64,
    has_begun: bool,
    sent_pkts: u64,
    arrived: Received,
    last_arrival_ns: u64,
}

const DATA_BYTES: u32 = 1000;

impl Credits {
    fn send(&mut self, to: Side, message: Message, out: &mut Vec<Packet>) {
        let bytes = if message == Message::Data { DATA_BYTES } else { 84 };
        self.sent_pkts += u64::from(to == Side::Receiver);
        let (codepoint, content) = (Codepoint::NotEct, Box::new(message));
        out.push(Packet::Datagram(Box::new(net::Datagram { to, bytes, codepoint, marked: false, content })));
    }
}

impl Endpoints<'_> for Credits {
    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    fn next_due_ns(&self) -> u64 {
        if self.has_begun { self.next_credit_ns } else { self.start_ns }
    }

    fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Packet>) {
        if !self.has_begun {
            self.has_begun = true;
            return self.send(Side::Receiver, Message::Request, out);
        }
        self.next_credit_ns = now_ns + self.distance_ns;
        self.send(Side::Sender, Message::Credit, out);
    }

    fn on_datagram(&mut self, now_ns: u64, datagram: net::Datagram, out: &mut Vec<Packet>) {
        let content: Box<dyn Any> = datagram.content;
        match *content.downcast::<Message>().unwrap() {
            Message::Credit => return self.send(Side::Receiver, Message::Data, out),
            Message::Request => self.next_credit_ns = now_ns,
            Message::Data => self.arrived.delivered_bytes += u64::from(DATA_BYTES),
        }
        self.arrived.pkts += 1;
        self.arrived.bytes += u64::from(datagram.bytes);
        self.last_arrival_ns = now_ns;
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn counts(&self) -> Counts {
        Counts { sent: self.sent_pkts, received: self.arrived, ..Counts::default() }
    }

    fn last_arrival_ns(&self) -> u64 {
        self.last_arrival_ns
    }

    fn row(&self, id: u32, counts: Counts, measured_from_ns: u64, end_ns: u64) -> FlowResult {
        let mut row = counted(counts, end_ns - measured_from_ns);
        row.flow = id;
        row
    }
}

/// Datagrams to the receiver: those that a tap sees at the sender and at the receiver.
struct Seen<'a>(&'a Mutex<[u64; 2]>);

impl Tap for Seen<'_> {
    fn see(&mut self, at: Side, _: u64, packet: &Packet) {
        if packet.to() == Side::Receiver {
            self.0.lock().unwrap()[usize::from(at == Side::Receiver)] += 1;
        }
    }
}

#[test]
fn a_receiver_that_grants_credits_fills_a_link_without_a_queue() {
    let scenario = read(&format!(
        "duration = '2 s'\nsamples = 'off'\n[[links]]\nname = 'a'\nrate = '8 Mbps'\ndelay = '10 ms'\nbuffer = 3\n{}",
        "[[flows]]\ncca = 'reno'\npath = ['a']\n".repeat(2)
    ));
    // Each has half of the link: a packet in 2 ms. The second begins a millisecond later, between the packets of the first.
    let transports = |id: u32, _: u64| -> Option<Box<dyn Endpoints<'_> + '_>> {
        Some(Box::new(Credits {
            start_ns: u64::from(id) * 1_000_000,
            distance_ns: 2_000_000,
            next_credit_ns: NEVER,
            has_begun: false,
            sent_pkts: 0,
            arrived: Received::default(),
            last_arrival_ns: 0,
        }))
    };
    let (seen, control) = (Mutex::default(), Control::default());
    let taps = |id: u32, _| (id == 0).then(|| Box::new(Seen(&seen)) as Box<dyn Tap>);
    let parts = Parts { transports: &transports, taps: &taps, ..Parts::default() };
    let run = answer(&scenario, parts, &control);
    let passed = [run.flows[0].sent_pkts, run.flows[0].delivered_pkts];
    assert_eq!(*seen.lock().unwrap(), passed, "a tap sees each where it is sent and where it arrives");
    let link = &run.links[0];
    assert_eq!((link.dropped_pkts, run.flows[0].lost_pkts), (0, 0));
    assert!(link.max_queue_pkts <= 2, "{link:?}");
    // All but the first round trip.
    assert!(link.utilization > 0.98, "{link:?}");
    for flow in &run.flows {
        assert!((flow.goodput_mbps / 4.0 - 1.0).abs() < 0.02, "{flow:?}");
    }
}

/// State of one flow over two paths: each path's window and RTT, in packets and ns, and the windows after each growth of a packet.
#[derive(Default)]
struct Coupled {
    paths: [(f64, f64); 2],
    windows: Vec<[f64; 2]>,
}

/// RFC 6356, 3: for each packet that path `of` has acknowledged its window grows by the less of `alpha` over the sum of the windows and
/// one over its own.
fn grown(paths: [(f64, f64); 2], of: usize) -> f64 {
    let total: f64 = paths.iter().map(|(window, _)| window).sum();
    let most = paths.iter().map(|(window, rtt)| window / (rtt * rtt)).fold(0.0, f64::max);
    let sum: f64 = paths.iter().map(|(window, rtt)| window / rtt).sum();
    let alpha = total * most / (sum * sum);
    paths[of].0 + (alpha / total).min(1.0 / paths[of].0)
}

/// One path of such a flow. All packets of a window are acknowledged before it grows, once a round trip, as a whole.
struct Path {
    own: usize,
    coupled: Arc<Mutex<Coupled>>,
}

impl CongestionControl for Path {
    fn init(&mut self, w: &mut Window, _: &Ack) {
        w.cwnd = 10;
        w.ssthresh = 10;
        self.coupled.lock().unwrap().paths[self.own] = (10.0, 0.0);
    }

    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        let mut coupled = self.coupled.lock().unwrap();
        coupled.paths[self.own].1 = f64::from(a.rtt_us);
        if coupled.paths.iter().all(|(_, rtt)| *rtt > 0.0) {
            for _ in 0..a.acked {
                coupled.paths[self.own].0 = grown(coupled.paths, self.own);
                let windows = coupled.paths.map(|(window, _)| window);
                coupled.windows.push(windows);
            }
        }
        w.cwnd = coupled.paths[self.own].0 as u32;
    }

    fn ssthresh(&mut self, w: &mut Window, _: &Ack) -> u32 {
        w.cwnd / 2
    }
}

#[test]
fn a_flow_over_two_paths_grows_by_the_linked_increases_of_rfc_6356() {
    // The paths have 20 and 40 ms, and room for all.
    let link = |name: &str, ms: u32| {
        format!("[[links]]\nname = '{name}'\nrate = '1 Gbps'\ndelay = '{ms} ms'\nbuffer = 'unlimited'\n")
    };
    let flow =
        |name: &str| format!("[[flows]]\ncca = 'model'\npath = ['{name}']\nstack = {{ ack_every = 1 }}\n");
    let scenario = read(&format!(
        "duration = '200 ms'\nsamples = 'off'\n{}{}{}{}",
        link("a", 10),
        link("b", 20),
        flow("a"),
        flow("b")
    ));
    let coupled = Arc::new(Mutex::new(Coupled::default()));
    let made = Mutex::new(0);
    let algorithms = |_: &Cca| -> Option<Box<dyn CongestionControl>> {
        let mut made = made.lock().unwrap();
        *made += 1;
        Some(Box::new(Path { own: (*made - 1) % 2, coupled: Arc::clone(&coupled) }))
    };
    answer(&scenario, Parts { algorithms: &algorithms, ..Parts::default() }, &Control::default());
    let coupled = coupled.lock().unwrap();
    // By hand, with windows of 10 and 10 and RTTs of 20 and 40 ms: alpha is 20 (10 / 400) / (10 / 20 + 10 / 40)² = 8 / 9, so that the
    // first packet adds 0.0444, where one path alone would add a tenth.
    let first = coupled.windows[0];
    let before = 10.0;
    let growth = first.iter().map(|window| window - before).fold(0.0, f64::max);
    assert!((growth - 8.0 / 9.0 / 20.0).abs() < 1e-3, "{growth}");
    // Ten steps: each is that of the rule from the windows before it.
    let rtts = coupled.paths.map(|(_, rtt)| rtt);
    for step in coupled.windows.windows(2).take(10) {
        let of = usize::from(step[0][0] == step[1][0]);
        let paths = [(step[0][0], rtts[0]), (step[0][1], rtts[1])];
        assert!((step[1][of] - grown(paths, of)).abs() < 1e-3, "{step:?}");
    }
    // Together no more than one path alone would have: an increase of a packet in a round trip of the shorter path.
    let total: f64 = coupled.windows.last().unwrap().iter().sum();
    assert!(total > 20.5 && total < 20.0 + 10.0, "{total}");
}
