//! What holds for every algorithm, with any parameters, on any stream of events.

mod sender;

use cwnd_algorithms::{Algorithm, Event, Params, State, all};
use proptest::prelude::*;
use sender::{Arrival, Sender};

#[derive(Clone, Debug)]
enum Happening {
    Acks {
        count: u32,
        acked: u32,
        gap_us: u64,
        rtt_us: u32,
        limited: bool,
        state: State,
        snd_wnd: u32,
        rate: (u32, u32),
        lost: u32,
    },
    Loss,
    Timeout,
    Undo,
    TxStart,
    CwndRestart,
    /// The stack sets the window.
    Window(u32),
}

#[derive(Clone, Debug)]
struct Stream {
    cwnd: u32,
    ssthresh: u32,
    delivered: u64,
    /// Where each parameter lies between its smallest and largest value; `None`: the default.
    params: Vec<Option<f64>>,
    happenings: Vec<Happening>,
}

const LARGEST: u32 = 1 << 31;
const TEN_MINUTES_US: u32 = 600_000_000;
const BBR_LARGEST_MIN_CWND: u32 = 100;

/// Every order of magnitude alike.
fn magnitude(largest: u32) -> impl Strategy<Value = u32> {
    (0.0..=1.0_f64).prop_map(move |x| f64::from(largest).powf(x).round() as u32)
}

fn happening() -> impl Strategy<Value = Happening> {
    let state = prop_oneof![
        6 => Just(State::Open),
        1 => Just(State::Disorder),
        1 => Just(State::Recovery),
        1 => Just(State::Loss)
    ];
    let rtt_us = prop_oneof![1 => Just(0), 6 => magnitude(TEN_MINUTES_US)];
    let acks = (1..60_u32, magnitude(LARGEST), magnitude(TEN_MINUTES_US), rtt_us, any::<bool>(), state)
        .prop_flat_map(|(count, acked, gap, rtt_us, limited, state)| {
            let rate = prop_oneof![Just((0, 0)), (magnitude(LARGEST), magnitude(TEN_MINUTES_US))];
            let lost = prop_oneof![6 => Just(0), 1 => magnitude(LARGEST)];
            (magnitude(LARGEST), rate, lost).prop_map(move |(snd_wnd, rate, lost)| Happening::Acks {
                rate,
                lost,
                count,
                acked,
                gap_us: u64::from(gap),
                rtt_us,
                limited: limited || gap % 2 == 0,
                state,
                snd_wnd,
            })
        });
    prop_oneof![
        12 => acks,
        3 => Just(Happening::Loss),
        1 => Just(Happening::Timeout),
        1 => Just(Happening::Undo),
        1 => Just(Happening::TxStart),
        1 => Just(Happening::CwndRestart),
        1 => magnitude(LARGEST).prop_map(Happening::Window),
    ]
}

fn stream() -> impl Strategy<Value = Stream> {
    (
        magnitude(LARGEST),
        magnitude(LARGEST - 1),
        prop_oneof![Just(0), Just(1_000_000_000_000)],
        prop::collection::vec(prop::option::of(0.0..=1.0_f64), 16),
        prop::collection::vec(happening(), 1..40),
    )
        .prop_map(|(cwnd, ssthresh, delivered, params, happenings)| Stream {
            cwnd,
            ssthresh: ssthresh.max(2),
            delivered,
            params,
            happenings,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_within_bounds_and_never_outgrow_slow_start(stream in stream()) {
        for algorithm in all() {
            run(&algorithm, &stream)?;
        }
    }

    #[test]
    fn the_same_stream_gives_the_same_windows(stream in stream()) {
        for algorithm in all() {
            prop_assert_eq!(run(&algorithm, &stream)?, run(&algorithm, &stream)?);
        }
    }
}

#[test]
fn every_state_fits_into_the_kernels_private_area() {
    for algorithm in all() {
        assert!(algorithm.state_bytes <= 104, "{}: {} bytes", algorithm.name, algorithm.state_bytes);
    }
}

#[test]
fn every_parameter_has_a_default_within_its_bounds_and_says_where_it_comes_from() {
    for algorithm in all() {
        for p in &algorithm.params {
            let name = format!("{} {}", algorithm.name, p.name);
            assert!(p.min <= p.default && p.default <= p.max && p.one > 0, "{name}: {p:?}");
            assert!(p.choices.is_empty() || p.choices.len() as u32 == p.max + 1, "{name}: {p:?}");
            let (meaning, source) = p.doc.rsplit_once("; ").unwrap_or_else(|| panic!("{name}: no source"));
            assert!(!meaning.is_empty() && !source.is_empty() && !p.doc.ends_with('.'), "{name}: {}", p.doc);
        }
    }
}

/// The windows after each happening.
fn run(algorithm: &Algorithm, stream: &Stream) -> Result<Vec<u32>, TestCaseError> {
    let params = params(algorithm, &stream.params);
    let mut sender = Sender::new(algorithm.build(&params), stream.cwnd, stream.ssthresh, stream.delivered);
    sender.w.cwnd_clamp = LARGEST;
    let mut windows = Vec::new();
    let bounds = bounds(algorithm, &params);
    // What may have been sent since the stack last set the window: the bound of growth by RTTs.
    let mut allowance = u64::from(sender.w.cwnd) * 2;
    let mut largest = sender.w.cwnd;
    for happening in &stream.happenings {
        let (before, ssthresh) = (sender.w.cwnd, sender.w.ssthresh);
        match happening {
            Happening::Acks { .. } => acks(algorithm, &mut sender, happening, &mut allowance, &mut largest)?,
            Happening::Acks { .. } => acks(algorithm, bounds, &mut sender, happening, &mut allowance)?,
            Happening::Loss => sender.lose(),
            Happening::Timeout => sender.time_out(),
            Happening::Undo => sender.undo(),
            Happening::TxStart => sender.event(Event::TxStart),
            Happening::CwndRestart => sender.event(Event::CwndRestart),
            Happening::Window(cwnd) => sender.w.cwnd = *cwnd,
        }
        if matches!(happening, Happening::Loss | Happening::Timeout) {
            let mut most = before.max(2);
            // BBR leaves ssthresh alone: it does not use it. A fast start that fails goes back to it.
            if matches!(algorithm.name.as_str(), "bbr" | "fast-start") {
                most = most.max(ssthresh);
            }
            // The kernel's Westwood takes the estimated window even where it is above cwnd.
            let most = if estimates(algorithm, &params) { LARGEST } else { before.max(2) };
            prop_assert!(
                sender.w.ssthresh <= most,
                "{}: ssthresh {} of {before}",
                algorithm.name,
                sender.w.ssthresh
            );
            prop_assert!(sender.w.ssthresh >= 2, "{}: ssthresh {}", algorithm.name, sender.w.ssthresh);
        }
        if !matches!(happening, Happening::Acks { .. }) {
            allowance = allowance.max(u64::from(sender.w.cwnd) * 2);
        }
        largest = largest.max(sender.w.cwnd);
        prop_assert!((1..=LARGEST).contains(&sender.w.cwnd), "{}: cwnd {}", algorithm.name, sender.w.cwnd);
        windows.push(sender.w.cwnd);
    }
    Ok(windows)
}

/// How an algorithm may outgrow slow start.
#[derive(Clone, Copy, PartialEq)]
enum Bounds {
    SlowStart,
    /// By what it would grow by over an RTT.
    Rtt,
    None,
}

fn paper(algorithm: &Algorithm, params: &Params) -> bool {
    algorithm.show(params).into_iter().any(|p| p == ("arithmetic", "paper".to_owned()))
}

fn estimates(algorithm: &Algorithm, params: &Params) -> bool {
    algorithm.name == "westwood" && !paper(algorithm, params)
}

fn bounds(algorithm: &Algorithm, params: &Params) -> Bounds {
    match algorithm.name.as_str() {
        // It grows once per RTT; as ns-2 has it, in slow start too.
        "compound" => Bounds::Rtt,
        // The kernel spends all the segments counted so far when alpha rises or the window falls.
        "illinois" if !paper(algorithm, params) => Bounds::None,
        // 2^rho - 1 segments per segment acknowledged is its law: rho times faster in time.
        "hybla" => Bounds::None,
        _ => Bounds::SlowStart,
    }
}

fn acks(
    algorithm: &Algorithm,
    bounds: Bounds,
    sender: &mut Sender,
    happening: &Happening,
    allowance: &mut u64,
    largest: &mut u32,
) -> Result<(), TestCaseError> {
    let &Happening::Acks { count, acked, gap_us, rtt_us, limited, state, snd_wnd, rate, lost } = happening
    else {
        unreachable!("the caller looked");
    };
    for _ in 0..count {
        let before = sender.w.cwnd;
        let acked = acked.clamp(1, before);
        sender.ack(&Arrival { acked, gap_us, rtt_us, limited, state, snd_wnd, rate, lost });
        let after = sender.w.cwnd;
        *allowance += 2 * u64::from(acked);
        if bounds == Bounds::Rtt {
            prop_assert!(
                u64::from(after) <= *allowance,
                "{}: {before} -> {after}, at most {allowance}",
                algorithm.name
            );
        } else if algorithm.name == "bbr" && after <= BBR_LARGEST_MIN_CWND.max(largest.saturating_add(acked))
        {
            // After a repair and after PROBE_RTT it goes on from a window that it had; it is never below min_cwnd.
        } else {
        } else if bounds == Bounds::SlowStart {
            let growth = u64::from(after).saturating_sub(u64::from(before));
            // As in Linux, a credit gathered under a larger count is one more segment at once.
            let credit = u64::from(algorithm.name == "bic");
            prop_assert!(
                growth <= u64::from(acked) + credit,
                "{}: {before} -> {after}, {acked} acked",
                algorithm.name
            );
        }
        prop_assert!((1..=LARGEST).contains(&after), "{}: cwnd {after}", algorithm.name);
        *largest = (*largest).max(after);
    }
    Ok(())
}

fn params(algorithm: &Algorithm, places: &[Option<f64>]) -> Params {
    let mut params = algorithm.defaults();
    for (p, place) in algorithm.params.iter().zip(places) {
        let Some(place) = place else { continue };
        let stored = p.min + (f64::from(p.max - p.min) * place).round() as u32;
        algorithm.set(&mut params, p.name, &p.show(stored)).unwrap();
    }
    params
}
