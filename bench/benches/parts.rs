//! The parts of a run that every packet passes, each by itself, at sizes far apart: their cost should depend on none.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use cwnd_algorithms::{Ack, CWND_LIMITED, Driver, Window};
use cwnd_engine::parts::{FifoLink, Nanosecond, Scoreboard};
use cwnd_engine::{Control, run};
use cwnd_scenario::Scenario;
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: cwnd_heap::Allocator = cwnd_heap::Allocator;

/// A packet's whole way: one flow, whose window never changes, for 10,000 packets.
fn event_loop(c: &mut Criterion) {
    let mut group = c.benchmark_group("packet");
    for stack in ["ns2", "linux"] {
        let text = format!(
            "duration = \"10 s\"\nsamples = \"off\"\n\
            stack = {{ profile = \"{stack}\", receive_window = 100, initial_window = 100 }}\n\
            [dumbbell]\nrate = \"1 Gbps\"\ndelay = \"50 ms\"\nbuffer = 1000\n[[flows]]\ncca = \"reno\""
        );
        let scenario = Scenario::from_toml(&text, "packet", &[]).expect("the text is a scenario");
        let packets = run(&scenario, 1, &|_| None, &Control::default()).expect("nothing stops it").packets;
        group.throughput(Throughput::Elements(packets));
        group.bench_function(stack, |b| b.iter(|| run(&scenario, 1, &|_| None, &Control::default())));
    }
}

/// A window in which each tenth segment is lost: a SACK for each other, what is lost and sent again, the left edge.
fn scoreboard(c: &mut Criterion) {
    let mut group = c.benchmark_group("scoreboard");
    group.sample_size(10);
    let text = "[[chain]]\nrate = \"1 Gbps\"\ndelay = \"50 ms\"\nbuffer = 1000\n[[flows]]\ncca = \"reno\"";
    let scenario = Scenario::from_toml(text, "scoreboard", &[]).expect("the text is a scenario");
    let stack = &scenario.flows[0].stack;
    for window in [100_u64, 10_000, 1_000_000] {
        group.throughput(Throughput::Elements(window));
        group.bench_function(BenchmarkId::from_parameter(window), |b| {
            let mut scoreboard = Scoreboard::new(stack);
            let mut una = 0;
            b.iter(|| {
                let nxt = una + window;
                for seq in (una..nxt).filter(|seq| seq % 10 != 0) {
                    scoreboard.sack(seq, una, nxt);
                    scoreboard.mark_lost(una, seq);
                    if scoreboard.lost_out > scoreboard.retrans_out {
                        black_box(scoreboard.next_retransmission(seq, una, nxt));
                    }
                }
                for next in (una + 1..=nxt).filter(|next| next % 10 == 0) {
                    scoreboard.mark_lost_retransmissions(una, next);
                    scoreboard.acknowledge(una, next);
                    una = next;
                }
            });
        });
    }
}

/// An arrival at a link that sends another packet, and at a full one.
fn queue(c: &mut Criterion) {
    let mut group = c.benchmark_group("queue");
    let link = |buffer_pkts| {
        let link = cwnd_scenario::Link {
            name: "link".to_owned(),
            rate_bps: 1,
            delay_ns: 0,
            buffer_pkts,
            per: 0.0,
            ecn_threshold_pkts: None,
        };
        FifoLink::<Nanosecond>::new(&link, 1)
    };
    group.bench_function("takes", |b| {
        let (mut link, mut now) = (link(None), 0);
        b.iter(|| {
            now += 9;
            black_box(link.accept(now, 10))
        });
    });
    group.bench_function("drops", |b| {
        let mut link = link(Some(100));
        b.iter(|| black_box(link.accept(1, 10)));
    });
}

/// `cong_avoid` of CUBIC in congestion avoidance, of an ACK each millisecond.
fn hook(c: &mut Criterion) {
    let cubic = cwnd_algorithms::find("cubic").expect("it is in the registry");
    let window = Window { cwnd: 1000, ssthresh: 500, cwnd_clamp: u32::MAX, ..Window::default() };
    let ack = Ack {
        rtt_us: 100_000,
        srtt_us: 100_000,
        min_rtt_us: 100_000,
        acked: 1,
        mss: 1448,
        snd_wnd: u32::MAX,
        flags: CWND_LIMITED,
        ..Ack::default()
    };
    let mut driver = Driver::new(cubic.build(&cubic.defaults()), window, ack);
    driver.start();
    c.bench_function("hook/cubic_cong_avoid", |b| {
        b.iter(|| {
            driver.ack.now_us += 1000;
            driver.window.cwnd = 1000;
            driver.grow();
        });
    });
}

criterion_group!(parts, event_loop, scoreboard, queue, hook);
criterion_main!(parts);
