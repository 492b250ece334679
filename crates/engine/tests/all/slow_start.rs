//! How slow start ends.

use crate::common::{answer_scenario, read};

/// Segments retransmitted in the first 40 RTTs of one flow.
fn retransmitted(cca: &str, mbps: u32, rtt_ms: u32, bdps: f64) -> u64 {
    let bdp_pkts = f64::from(mbps) * 1e3 * f64::from(rtt_ms) / 12_000.0;
    let scenario = read(&format!(
        "duration = '{} ms'\nsamples = 'off'\nstack = 'linux'\n[dumbbell]\nrate = '{mbps} Mbps'\ndelay = '{} ms'\nbuffer = {}\n\
         [[flows]]\ncca = {cca}",
        40 * rtt_ms,
        f64::from(rtt_ms) / 2.0,
        (bdps * bdp_pkts).round().max(1.0)
    ));
    answer_scenario(&scenario).flows[0].retransmitted_pkts
}

/// Rate, RTT, buffer in BDPs; retransmissions with standard slow start, HyStart and HyStart++, as CUBIC had them when they
/// were parts of its own.
const AS_OF_CUBIC: [(u32, u32, f64, [u64; 3]); 16] = [
    (100, 50, 0.25, [161, 161, 161]),
    (100, 50, 0.5, [549, 12, 549]),
    (100, 50, 1.0, [1165, 42, 704]),
    (100, 50, 2.0, [1750, 0, 353]),
    (100, 200, 0.25, [643, 643, 643]),
    (100, 200, 0.5, [2203, 30, 2203]),
    (100, 200, 1.0, [4684, 166, 2752]),
    (100, 200, 2.0, [7046, 0, 1526]),
    (1000, 50, 0.25, [1283, 1283, 1283]),
    (1000, 50, 0.5, [3336, 66, 3336]),
    (1000, 50, 1.0, [11595, 413, 3584]),
    (1000, 50, 2.0, [17345, 0, 3097]),
    (10, 50, 0.25, [11, 11, 11]),
    (10, 50, 0.5, [81, 3, 81]),
    (10, 50, 1.0, [118, 5, 118]),
    (10, 50, 2.0, [178, 6, 71]),
];

/// Within 2 %. HyStart in half a BDP leaves few losses, those of the first epoch of avoidance: no more than it had.
#[test]
fn cubic_loses_in_slow_start_what_it_lost_before_it_shared_it() {
    for (mbps, rtt_ms, bdps, expected) in AS_OF_CUBIC {
        for (kind, expected) in ["standard", "hystart", "hystartpp"].into_iter().zip(expected) {
            let cca = format!("{{ name = 'cubic', slow_start = '{kind}' }}");
            let lost = retransmitted(&cca, mbps, rtt_ms, bdps);
            let least = if kind == "hystart" && bdps == 0.5 { 0.0 } else { expected as f64 * 0.98 };
            let range = least.floor()..=(expected as f64 * 1.02).ceil();
            assert!(
                range.contains(&(lost as f64)),
                "{kind} {mbps} Mbps {rtt_ms} ms {bdps}: {lost}, {expected}"
            );
        }
    }
}

const SHARED_BY: [&str; 12] = [
    "agile",
    "agile-sd",
    "bic",
    "compound",
    "discrete",
    "elastic",
    "highspeed",
    "htcp",
    "illinois",
    "reno",
    "scalable",
    "westwood",
];

/// A buffer of 1 BDP: standard slow start loses about as much as it has sent in its last RTT, HyStart++ less, HyStart least.
#[test]
fn every_algorithm_that_shares_slow_start_loses_less_in_it() {
    for cca in SHARED_BY {
        let [standard, hystart, hystartpp] = ["standard", "hystart", "hystartpp"]
            .map(|kind| retransmitted(&format!("{{ name = '{cca}', slow_start = '{kind}' }}"), 100, 50, 1.0));
        assert!(4 * hystart < standard && hystartpp < standard, "{cca}: {standard}, {hystart}, {hystartpp}");
    }
}
