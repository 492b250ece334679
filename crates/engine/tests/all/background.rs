//! LEDBAT, LEDBAT++ and Copa beside what their texts say of them.

use crate::common::{answer, watch};
use cwnd_results::Run;

/// 20 Mbit/s and 20 ms with a queue of `buffer`, measured from `warmup_s` to `duration_s`.
fn home(buffer: &str, warmup_s: u32, duration_s: u32, flows: &str) -> Run {
    answer(&home_text(buffer, warmup_s, duration_s, flows))
}

fn home_text(buffer: &str, warmup_s: u32, duration_s: u32, flows: &str) -> String {
    format!(
        "duration = '{duration_s} s'\nwarmup = '{warmup_s} s'\nsamples = 'off'\n\
         [dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = '{buffer}'\n{flows}"
    )
}

fn flow(cca: &str) -> String {
    format!("[[flows]]\ncca = '{cca}'\n")
}

fn goodputs(run: &Run) -> Vec<f64> {
    run.flows.iter().map(|flow| flow.goodput_mbps).collect()
}

fn queue_ms(run: &Run) -> f64 {
    let link = run.links.iter().find(|link| link.link == "bottleneck").expect("a dumbbell has one");
    link.mean_queue_pkts * 12112.0 / 20e6 * 1e3
}

/// The link carries 20 * 1448 / 1514 Mbit/s of payload.
const FULL_MBPS: f64 = 19.128;

#[test]
fn ledbat_alone_fills_the_link_and_keeps_the_queue_at_its_target() {
    let run = home("300 ms", 100, 160, &flow("ledbat"));
    assert!(goodputs(&run)[0] > 0.999 * FULL_MBPS);
    assert!((queue_ms(&run) - 100.0).abs() < 3.0, "{} ms", queue_ms(&run));
}

#[test]
fn ledbat_leaves_a_long_queue_to_reno_and_shares_a_short_one() {
    let beside = |buffer| goodputs(&home(buffer, 40, 120, &(flow("reno") + &flow("ledbat"))));
    assert!(beside("500 ms")[0] > 0.98 * FULL_MBPS);
    let short = beside("60 ms");
    assert!((0.75..1.33).contains(&(short[1] / short[0])), "shorter than the target, it is Reno: {short:?}");
}

/// RFC 6817, 4.4: the second takes base + TARGET for its base, so the queue goes to 2 TARGET, and the first starves.
#[test]
fn a_later_ledbat_flow_starves_the_first_and_a_later_flow_of_ledbat_plus_does_not() {
    let late =
        |cca, start_s| home("500 ms", 180, 420, &format!("{}{}start = '{start_s} s'", flow(cca), flow(cca)));
    let ledbat = late("ledbat", 40);
    assert!(goodputs(&ledbat)[0] < 0.01 * FULL_MBPS, "{:?}", goodputs(&ledbat));
    assert!((queue_ms(&ledbat) - 200.0).abs() < 12.0, "{} ms", queue_ms(&ledbat));
    for start_s in [30, 36, 42, 48, 54, 60] {
        let plus = late("ledbat-plus", start_s);
        let [first, second] = goodputs(&plus)[..] else { panic!("two flows") };
        assert!((0.75..1.33).contains(&(first / second)), "from {start_s} s on: {first} {second}");
        assert!(queue_ms(&plus) < 60.0);
    }
}

/// From 10 to 100 Mbit/s and 20 to 100 ms, with a queue that is longer than LEDBAT++'s target.
#[test]
fn cubic_keeps_what_it_has_alone_beside_ledbat_plus() {
    for (rate, delay, buffer) in [(10, 50, 300), (20, 10, 200), (50, 20, 200), (100, 40, 150)] {
        let run = |flows: &str| {
            let run = answer(&format!(
                "duration = '80 s'\nwarmup = '20 s'\nsamples = 'off'\n\
                 [dumbbell]\nrate = '{rate} Mbps'\ndelay = '{delay} ms'\nbuffer = '{buffer} ms'\n{flows}"
            ));
            run.flows[0].goodput_mbps
        };
        let (alone, beside) = (run(&flow("cubic")), run(&(flow("cubic") + &flow("ledbat-plus"))));
        assert!(beside > 0.95 * alone, "{rate} Mbps, {delay} ms: {beside} of {alone}");
    }
}

/// Over ten minutes, with eight pairs of starts. Where GAIN is a sixth, windows find each other slowly.
#[test]
#[ignore = "slow"]
fn two_flows_of_ledbat_plus_share_evenly() {
    for (rate, delay, buffer, off) in [(10, 50, 300, 0.05), (50, 20, 200, 0.05), (20, 10, 200, 0.2)] {
        let ratios = (1..=8).map(|seed| {
            let run = answer(&format!(
                "duration = '900 s'\nwarmup = '300 s'\nsamples = 'off'\nseed = {seed}\n\
                 [dumbbell]\nrate = '{rate} Mbps'\ndelay = '{delay} ms'\nbuffer = '{buffer} ms'\n\
                 [[flows]]\ncca = 'ledbat-plus'\ncount = 2\nstart_jitter = '30 s'"
            ));
            let [first, second] = goodputs(&run)[..] else { panic!("two flows") };
            first / second
        });
        let ratios: Vec<f64> = ratios.collect();
        assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() < off), "{rate} Mbps, {delay} ms: {ratios:?}");
        let mean = ratios.iter().sum::<f64>() / 8.0;
        assert!((mean - 1.0).abs() < 0.05, "{rate} Mbps, {delay} ms: {mean}");
    }
}

/// A slowdown takes a tenth of the time at most.
#[test]
fn ledbat_plus_alone_gives_up_a_tenth_at_most_and_keeps_the_queue_below_its_target() {
    let run = home("300 ms", 30, 130, &flow("ledbat-plus"));
    assert!(goodputs(&run)[0] > 0.9 * FULL_MBPS, "{:?}", goodputs(&run));
    assert!(queue_ms(&run) < 60.0 && queue_ms(&run) > 40.0, "{} ms", queue_ms(&run));
}

/// A loss in the two RTTs in which the window is 2 segments, and more are in flight, is repaired with what is delivered.
#[test]
fn ledbat_plus_sends_no_more_than_its_window_after_a_loss_in_a_slowdown() {
    for seed in [8, 13, 27] {
        let run = answer(&format!(
            "duration = '60 s'\nsamples = 'off'\nseed = {seed}\n\
             [dumbbell]\nrate = '20 Mbps'\nrtt = '200 ms'\nbuffer = '1 BDP'\nper = 0.001\n{}",
            flow("ledbat-plus")
        ));
        let dropped: u64 = run.links.iter().map(|link| link.dropped_pkts).sum();
        assert_eq!(dropped, 0, "seed {seed}: the queue is shorter than its buffer");
        assert!(run.flows[0].mean_cwnd_pkts < 600.0, "seed {seed}: {:?}", run.flows[0]);
    }
}

/// A segment takes 0.6 ms of the link, 10 ms on it, and 1 us of each access link; its ACK takes 10 ms, or that and 0.26 ms of a
/// link of 2 Mbit/s.
#[test]
fn one_way_delays_are_those_of_the_way_there_whatever_the_way_back_does() {
    let one = "duration = '1 s'\nsamples = 'off'\nstack = { one_way_delays = true, ack_every = 1, initial_window = 4 }\n\
               [dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 100\naccess = { rate = '10 Gbps' }\n";
    let back = "reverse = { rate = '2 Mbps', buffer = 100 }\n";
    for way_back in ["", back] {
        let (_, seen) = watch(&format!("{one}{way_back}[[flows]]\ncca = {{ name = 'fixed', window = 4 }}"));
        let delays: Vec<u32> = seen.iter().map(|seen| seen.ack.owd_us).filter(|&delay| delay > 0).collect();
        let least = 12112.0 / 20.0 + 10_000.0 + 2.0 * 1.2;
        // Four leave at once, so the last of them waits for three.
        let most = least + 3.0 * 12112.0 / 20.0;
        assert!(delays.len() > 100);
        let within = |delay: &u32| f64::from(*delay) > least - 1.0 && f64::from(*delay) < most + 1.0;
        assert!(delays.iter().all(within), "{least} to {most}: {:?}", delays.iter().max());
    }
}

/// The paper, 3: with delta 1/2 the queue of a flow goes between 0 and 2.5 / delta segments and has 1 / delta of them at
/// the target, each flow as much.
#[test]
fn copa_keeps_a_queue_of_a_few_segments_for_each_flow_and_shares() {
    for flows in [1, 2, 4] {
        let run = answer(&format!(
            "duration = '60 s'\nwarmup = '20 s'\nsamples = 'off'\n\
             [dumbbell]\nrate = '12 Mbps'\nrtt = '100 ms'\nbuffer = '1 BDP'\n\
             [[flows]]\ncca = {{ name = 'copa', competitive = 'off' }}\ncount = {flows}\nstart_jitter = '1 s'"
        ));
        let goodputs = goodputs(&run);
        let sum: f64 = goodputs.iter().sum();
        assert!(sum > 0.98 * 12.0 * 1448.0 / 1514.0, "{flows} flows: {sum}");
        let fair = sum / f64::from(flows);
        assert!(goodputs.iter().all(|goodput| (goodput / fair - 1.0).abs() < 0.1), "{goodputs:?}");
        let link = run.links.iter().find(|link| link.link == "bottleneck").expect("a dumbbell has one");
        let each = link.mean_queue_pkts / f64::from(flows);
        assert!(each > 1.0 && each < 5.0, "{flows} flows: {each} packets");
    }
}

#[test]
fn copa_competes_with_reno_in_its_competitive_mode_and_loses_without() {
    let beside = |mode: &str| {
        let run = answer(&format!(
            "duration = '80 s'\nwarmup = '20 s'\nsamples = 'off'\n\
             [dumbbell]\nrate = '50 Mbps'\nrtt = '40 ms'\nbuffer = '1 BDP'\n\
             [[flows]]\ncca = {{ name = 'copa', competitive = '{mode}' }}\n[[flows]]\ncca = 'reno'"
        ));
        goodputs(&run)
    };
    let [copa, reno] = beside("on")[..] else { panic!("two flows") };
    assert!((copa / reno - 1.0).abs() < 0.25, "{copa} {reno}");
    assert!(beside("off")[0] < 0.1 * reno);
}

/// Four flows go between 0 and 2.5 * 4 / delta = 20 packets; with 33 they find the queue not empty, and compete with each other.
/// They lose a third to a half of what they send, as the seed has it, and would lose nine tenths if such losses did not shrink the
/// window.
#[test]
fn copa_bounds_its_losses_where_its_flows_compete_with_each_other() {
    const SEEDS: u32 = 8;
    let four = home_text("1 BDP", 20, 60, &(flow("copa") + "count = 4\nstart_jitter = '1 s'"));
    let shares = (1..=SEEDS).map(|seed| {
        let run = answer(&format!("seed = {seed}\n{four}"));
        let (sent, lost) =
            run.flows.iter().fold((0, 0), |sum, flow| (sum.0 + flow.sent_pkts, sum.1 + flow.lost_pkts));
        lost as f64 / sent as f64
    });
    let mean = shares.sum::<f64>() / f64::from(SEEDS);
    assert!(mean < 0.5, "{mean}");
    let calm = home(
        "1 BDP",
        20,
        60,
        "[[flows]]\ncca = { name = 'copa', competitive = 'off' }\ncount = 4\nstart_jitter = '1 s'",
    );
    assert_eq!(calm.flows.iter().map(|flow| flow.lost_pkts).sum::<u64>(), 0);
}
