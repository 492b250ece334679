//! Every header as eBPF in the running kernel decides as it does on the host: vectors and random events.

#[path = "../../../algorithms/tests/all/cases/mod.rs"]
mod cases;
#[path = "../../../algorithms/tests/all/sender/mod.rs"]
mod sender;
#[path = "../../../algorithms/tests/all/stream/mod.rs"]
mod stream;

use cwnd_algorithms::{Ack, Algorithm, CongestionControl, Event, Instance, Params, State, Window, all};
use cwnd_kernel::{Host, testing::InKernel};
use stream::Stream;

/// Events of each algorithm; `CWND_EVENTS` is another number.
const EVENTS: u64 = 100_000;

/// Streams with the same parameters: others need their programs loaded anew.
const STREAMS: usize = 10;

/// The machine, if algorithms can be loaded there.
fn host() -> Option<Host> {
    let host = Host::this();
    match host.check() {
        Ok(()) => Some(host),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

/// Runs both, and stops where they differ.
struct Twins<'a> {
    host: Instance,
    kernel: &'a mut InKernel,
    events: &'a mut u64,
    params: &'a Params,
}

impl Twins<'_> {
    fn both<R: PartialEq + std::fmt::Debug + Copy>(
        &mut self,
        w: &mut Window,
        call: impl Fn(&mut dyn CongestionControl, &mut Window) -> R,
        hook: &str,
        a: &Ack,
    ) -> R {
        *self.events += 1;
        let before = *w;
        let mut other = before;
        let expected = call(&mut self.host, w);
        let found = call(self.kernel, &mut other);
        let params = self.params;
        assert_eq!(
            (found, other),
            (expected, *w),
            "{hook} in the kernel and on the host\n{before:?}\n{a:?}\n{params:?}"
        );
        expected
    }
}

impl CongestionControl for Twins<'_> {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        self.both(w, |cc, w| cc.init(w, a), "init", a)
    }
    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        self.both(w, |cc, w| cc.pkts_acked(w, a), "pkts_acked", a)
    }
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        self.both(w, |cc, w| cc.cong_avoid(w, a), "cong_avoid", a)
    }
    fn has_cong_control(&self) -> bool {
        assert_eq!(self.kernel.has_cong_control(), self.host.has_cong_control());
        self.host.has_cong_control()
    }
    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        self.both(w, |cc, w| cc.cong_control(w, a), "cong_control", a)
    }
    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        self.both(w, |cc, w| cc.segment_lost(w, a), "segment_lost", a)
    }
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        self.both(w, |cc, w| cc.ssthresh(w, a), "ssthresh", a)
    }
    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        self.both(w, |cc, w| cc.set_state(w, a, state), "set_state", a)
    }
    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        self.both(w, |cc, w| cc.cwnd_event(w, a, event), "cwnd_event", a)
    }
    fn undo_cwnd(&mut self, w: &mut Window, a: &Ack) -> u32 {
        self.both(w, |cc, w| cc.undo_cwnd(w, a), "undo_cwnd", a)
    }
}

fn in_kernel(host: &Host, algorithm: &Algorithm, params: &Params) -> InKernel {
    InKernel::new(host, algorithm, params).unwrap_or_else(|error| panic!("{error}\n{}", error.log))
}

/// In a thread for each algorithm: a program that is loaded or freed waits for the kernel most of the time.
fn each_algorithm(job: impl Fn(Algorithm) + Sync) {
    std::thread::scope(|scope| {
        for algorithm in all() {
            scope.spawn(|| job(algorithm));
        }
    });
}

#[test]
fn the_kernel_decides_as_the_vectors_expect_and_as_the_host_does() {
    let Some(host) = host() else { return };
    each_algorithm(|algorithm| {
        for case in cases::read(&algorithm) {
            let mut events = 0;
            let mut params = algorithm.defaults();
            for (param, value) in &case.params {
                algorithm.set(&mut params, param, value).unwrap();
            }
            let mut kernel = in_kernel(&host, &algorithm, &params);
            let outcome = cases::run(&algorithm, &case, |_| Twins {
                host: algorithm.build(&params),
                kernel: &mut kernel,
                events: &mut events,
                params: &params,
            });
            assert_eq!(outcome, Ok(()), "{}, \"{}\"", algorithm.name, case.name);
        }
    });
}

#[test]
fn the_kernel_decides_as_the_host_on_random_events() {
    let Some(host) = host() else { return };
    let wanted = std::env::var("CWND_EVENTS").map_or(EVENTS, |text| text.parse().expect("a number"));
    each_algorithm(|algorithm| {
        let mut random = 0x9e37_79b9_7f4a_7c15;
        let mut events = 0;
        while events < wanted {
            let params = any_stream(&mut random).params(&algorithm);
            let mut kernel = in_kernel(&host, &algorithm, &params);
            for _ in 0..STREAMS {
                let stream = any_stream(&mut random);
                let twins = Twins {
                    host: algorithm.build(&params),
                    kernel: &mut kernel,
                    events: &mut events,
                    params: &params,
                };
                // What must hold of a window is another test's.
                let _ = stream::run_on(&algorithm, &stream, &params, twins);
            }
        }
        println!("{}: {events} events, no difference", algorithm.name);
    });
}

fn any_stream(random: &mut u64) -> Stream {
    let mut next = || {
        // xorshift64
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random >> 32) as u8
    };
    let bytes: Vec<u8> = (0..800).map(|_| next()).collect();
    Stream::new(&bytes)
}
