//! DCTCP beside its theory and RFC 8257.

use crate::common::answer;
use cwnd_results::Run;

/// So many flows of 1500 bytes a packet at 1 Gbit/s and 400 us, 33 packets, marked above 20.
fn data_centre(flows: u32, variant: &str) -> Run {
    answer(&format!(
        "duration = '4 s'\nwarmup = '1 s'\nsamples = '37 us'\n\
         stack = {{ header = '52 bytes', ack_every = 1 }}\n\
         [dumbbell]\nrate = '1 Gbps'\ndelay = '200 us'\nbuffer = 1000\necn_threshold = '20 packets'\n\
         [[flows]]\ncca = {{ name = 'dctcp', variant = '{variant}' }}\ncount = {flows}\nstart_jitter = '50 ms'"
    ))
}

struct Queue {
    mean_pkts: f64,
    most_pkts: f64,
}

fn bottleneck(run: &Run) -> usize {
    run.links.iter().position(|link| link.link == "bottleneck").expect("a dumbbell has one")
}

/// After the warmup.
fn queue(run: &Run) -> Queue {
    let samples = &run.link_samples;
    let rows = (0..samples.link.len())
        .filter(|&row| samples.link[row] as usize == bottleneck(run) && samples.time_s[row] > 1.0);
    let pkts: Vec<f64> = rows.map(|row| f64::from(samples.queue_pkts[row])).collect();
    Queue {
        mean_pkts: pkts.iter().sum::<f64>() / pkts.len() as f64,
        most_pkts: pkts.iter().copied().fold(0.0, f64::max),
    }
}

/// The part of the packets that is marked, which alpha follows.
fn marked(run: &Run) -> f64 {
    let link = &run.links[bottleneck(run)];
    link.marked_pkts as f64 / link.delivered_pkts as f64
}

/// alpha of N flows in step: alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2 with W = (C RTT + K) / N, by bisection.
fn theory(flows: f64) -> f64 {
    let window = (34.7 + 20.0) / flows;
    let wanted = (2.0 * window + 1.0) / (window + 1.0f64).powi(2);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let alpha: f64 = (low + high) / 2.0;
        *(if alpha * alpha * (1.0 - alpha / 4.0) < wanted { &mut low } else { &mut high }) = alpha;
    }
    low
}

/// The queue's largest length is K + N (Alizadeh et al., SIGMETRICS 2011): each window is a segment beyond what fits when its
/// first mark comes back. Its mean is what a packet model gave that was written for this: 18.7, 18.8, 19.2.
#[test]
fn the_queue_is_as_long_as_theory_has_it_and_the_link_is_full() {
    for (flows, mean_pkts) in [(1, 18.7), (2, 18.8), (4, 19.2)] {
        let run = data_centre(flows, "spec");
        let Queue { mean_pkts: mean, most_pkts } = queue(&run);
        assert_eq!(most_pkts, 20.0 + f64::from(flows));
        assert!((mean - mean_pkts).abs() < 1.0, "{flows} flows: {mean}");
        let goodput: f64 = run.flows.iter().map(|flow| flow.goodput_mbps).sum();
        assert!(goodput > 0.9999 * 1000.0 * 1448.0 / 1500.0, "{flows} flows: {goodput}");
        assert!(run.links[bottleneck(&run)].dropped_pkts == 0);
    }
}

/// Windows are whole segments, 55 or 27 or 14 of them, so the cycle of five or six round trips is not theory's to the tenth.
#[test]
fn the_part_that_is_marked_is_theorys_alpha() {
    for flows in [1, 2, 4] {
        let (found, theory) = (marked(&data_centre(flows, "spec")), theory(f64::from(flows)));
        assert!((found / theory - 1.0).abs() < 0.12, "{flows} flows: {found:.3}, {theory:.3}");
    }
}

/// Linux adds no segment in the round trip after a mark: one more without marks in each cycle.
#[test]
fn linuxs_variant_has_fewer_marks_and_a_shorter_queue() {
    for flows in [1, 2, 4, 10] {
        let [spec, linux] = ["spec", "linux"].map(|variant| data_centre(flows, variant));
        assert!(marked(&linux) < 0.92 * marked(&spec), "{flows} flows");
        assert!(queue(&linux).mean_pkts < queue(&spec).mean_pkts, "{flows} flows");
    }
}

/// The last of 21 packets has 20 before it, one of them on its way out: it waits for 19 at least, 228 us. It is marked as it
/// leaves, not as it comes.
#[test]
fn a_threshold_in_time_is_as_one_in_packets() {
    let marks = |threshold: &str| {
        let run = answer(&format!(
            "duration = '2 s'\nwarmup = '1 s'\nsamples = '37 us'\nstack = {{ header = '52 bytes', ack_every = 1 }}\n\
             [dumbbell]\nrate = '1 Gbps'\ndelay = '200 us'\nbuffer = 1000\necn_threshold = {threshold}\n\
             [[flows]]\ncca = 'dctcp'"
        ));
        let queue = queue(&run);
        (marked(&run), queue.mean_pkts)
    };
    let (pkts, time) = (marks("20"), marks("'229 us'"));
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.001;
    assert!(near(pkts.0, time.0) && near(pkts.1, time.1), "{pkts:?} {time:?}");
}

/// A window of 80 packets takes 960 us, the path 415 us: each waits for 545 us, halfway up the ramp.
#[test]
fn a_ramp_marks_with_the_probability_of_the_wait() {
    let run = answer(
        "duration = '3 s'\nwarmup = '1 s'\nsamples = 'off'\nstack = { header = '52 bytes', ack_every = 1, ecn = 'accurate' }\n\
         [dumbbell]\nrate = '1 Gbps'\ndelay = '200 us'\nbuffer = 1000\necn_threshold = ['300 us', '790 us']\n\
         [[flows]]\ncca = { name = 'fixed', window = 80 }",
    );
    let marked = marked(&run);
    assert!((marked - 0.5).abs() < 0.01, "{marked}");
}

/// The topology of Fig. 17 of the paper: the groups have 46, 54 and 475 Mbit/s per sender there, each within a tenth of its
/// fair share (the first crosses both bottlenecks).
#[test]
fn two_bottlenecks_are_shared_as_in_the_paper() {
    let run = answer(
        "duration = '2 s'\nwarmup = '1 s'\nsamples = 'off'\nstack = { header = '52 bytes' }\n\
         [[links]]\nname = 'core'\nrate = '10 Gbps'\ndelay = '50 us'\nbuffer = 1000\necn_threshold = '65 packets'\n\
         [[links]]\nname = 'last'\nrate = '1 Gbps'\ndelay = '50 us'\nbuffer = 1000\necn_threshold = '20 packets'\n\
         [[flows]]\ncca = 'dctcp'\npath = ['core', 'last']\ncount = 10\nstart_jitter = '100 ms'\n\
         [[flows]]\ncca = 'dctcp'\npath = ['core']\ncount = 20\nstart_jitter = '100 ms'\n\
         [[flows]]\ncca = 'dctcp'\npath = ['last']\ncount = 10\nstart_jitter = '100 ms'",
    );
    let groups = [(0..10, 46.0), (10..30, 475.0), (30..40, 54.0)];
    for (flows, in_the_paper) in groups {
        let goodputs: Vec<f64> =
            run.flows[flows].iter().map(|flow| flow.goodput_mbps * 1500.0 / 1448.0).collect();
        let mean = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
        let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
        let jain = (mean * goodputs.len() as f64).powi(2) / squares / goodputs.len() as f64;
        println!("{mean:.1}, {in_the_paper} in the paper; Jain {jain:.3}");
        assert!((mean / in_the_paper - 1.0).abs() < 0.15 && jain > 0.98, "{mean}, {in_the_paper}, {jain}");
    }
}

/// Kernel 6.12 in virtual time, its own module at both ends, and CoDel that marks what waited for more than 2 ms.
#[test]
fn goodput_queue_and_marks_are_linuxs() {
    let one = (1, &[46.682][..], 6.09, 11_900.0);
    for (flows, goodputs_mbps, queue_pkts, marks) in [one, (3, &[17.741, 15.591, 14.841][..], 5.95, 23_521.0)]
    {
        let run = answer(&format!(
            "duration = '30 s'\nsamples = 'off'\n[dumbbell]\nrate = '50 Mbps'\ndelay = '10 ms'\nbuffer = 500\n\
             queue = {{ discipline = 'codel', variant = 'linux', target = '500 ms', interval = '1 s', ecn = true, ce_threshold = '2 ms' }}\n\
             [[flows]]\ncca = 'dctcp'\ncount = {flows}\nstagger = '1 s'"
        ));
        let link = &run.links[bottleneck(&run)];
        for (flow, theirs) in run.flows.iter().zip(goodputs_mbps) {
            assert!((flow.goodput_mbps / theirs - 1.0).abs() < 0.05, "{flow:?}, Linux {theirs}");
        }
        assert!((link.mean_queue_pkts / queue_pkts - 1.0).abs() < 0.15, "{link:?}, Linux {queue_pkts}");
        assert!((link.marked_pkts as f64 / marks - 1.0).abs() < 0.05, "{link:?}, Linux {marks}");
        assert_eq!(link.dropped_pkts, 0);
    }
}
