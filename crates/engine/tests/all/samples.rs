//! Rows of samples: their values of the time since the row before.

use crate::common::{answer_on_threads, answer_scenario, read};
use cwnd_results::{FlowRow, FlowSamples, Run, time_series};

/// The run of `toml` with these samples.
fn run(samples: &str, toml: &str) -> Run {
    answer_scenario(&read(&format!("samples = {samples}\n{toml}")))
}

fn rows_of(samples: &FlowSamples, flow: u32) -> impl DoubleEndedIterator<Item = usize> + Clone {
    (0..samples.flow.len()).filter(move |&row| samples.flow[row] == flow)
}

/// The rows at intervals bound the window as the rows of every change have it, and no more closely or loosely.
fn compare(toml: &str) -> usize {
    let flows = read(toml).flows.len() as u32;
    let (by_interval, by_change) = (run("100", toml).flow_samples, run("'change'", toml).flow_samples);
    let mut wider = 0;
    for flow in 0..flows {
        let changes = rows_of(&by_change, flow);
        let mut before_s = f64::NEG_INFINITY;
        for row in rows_of(&by_interval, flow) {
            let time_s = by_interval.time_s[row];
            let at_begin = changes.clone().rfind(|&change| by_change.time_s[change] <= before_s);
            let since = changes
                .clone()
                .filter(|&change| by_change.time_s[change] > before_s && by_change.time_s[change] <= time_s);
            let windows = at_begin.into_iter().chain(since).map(|change| by_change.cwnd_pkts[change]);
            let range = (by_interval.min_cwnd_pkts[row], by_interval.max_cwnd_pkts[row]);
            let expected = (windows.clone().min(), windows.max());
            assert_eq!((Some(range.0), Some(range.1)), expected, "flow {flow} until {time_s} s");
            wider += usize::from(range.0 < range.1);
            before_s = time_s;
        }
    }
    wider
}

#[test]
fn the_range_of_a_row_is_that_of_the_changes_since_the_row_before() {
    for cca in ["reno", "cubic", "bbr", "elastic"] {
        let wider = compare(&format!(
            "duration = '20 s'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '15 ms'\nbuffer = 40\nper = 1e-3\n\
             [[flows]]\ncca = '{cca}'\n[[flows]]\ncca = 'reno'\nstart = '3 s'\nstop = '12 s'\n\
             [[flows]]\ncca = '{cca}'\nstart = '4.05 s'\nsize = '3 MB'\n",
        ));
        assert!(wider > 100, "{cca}: {wider}");
    }
}

#[test]
fn the_peak_of_slow_start_is_in_the_rows_of_intervals() {
    let path = "duration = '30 s'\n[[chain]]\nrate = '50 Mbps'\ndelay = '20 ms'\nbuffer = 165\n[[flows]]\ncca = 'reno'\n";
    let samples = run("100", path).flow_samples;
    // The path and the queue hold 331 packets; when the loss of the next is known, that many more ACKs have come.
    assert_eq!(samples.max_cwnd_pkts.iter().max(), Some(&662));
    assert_eq!(samples.min_cwnd_pkts.iter().min(), Some(&10));
    // The rows themselves fall beside the peak.
    assert!(*samples.cwnd_pkts.iter().max().unwrap() < 600);
}

#[test]
fn a_row_by_change_has_no_range() {
    let path = "duration = '5 s'\n[[chain]]\nrate = '20 Mbps'\ndelay = '20 ms'\nbuffer = 40\n[[flows]]\ncca = 'cubic'\n";
    let samples = run("'change'", path).flow_samples;
    assert!(samples.cwnd_pkts.len() > 100);
    assert!(samples.min_cwnd_pkts == samples.cwnd_pkts && samples.max_cwnd_pkts == samples.cwnd_pkts);
}

/// Groups that begin in an interval, end in one, end with a transfer, mark, and of which one has no time series.
const GROUPS: &str = "duration = '3 s'\nsamples = 30\n\
    [dumbbell]\nrate = '100 Mbps'\ndelay = '8 ms'\nbuffer = 150\necn_threshold = 20\n\
    [[flows]]\ncca = 'cubic'\ncount = 13\nstart_jitter = '500 ms'\n\
    [[flows]]\ncca = 'dctcp'\ncount = 8\nstagger = '33 ms'\nstop = '2 s'\nstop_stagger = '47 ms'\nstack = { ecn = 'dctcp' }\n\
    [[flows]]\ncca = 'reno'\ncount = 5\nsize = '300 KB'\nstagger = '170 ms'\n\
    [[flows]]\ncca = 'bbr'\n\
    [[flows]]\ncca = 'udp'\napp_rate = '1 Mbps'\n\
    [[flows]]\ncca = 'reno'\n";

/// Two flows whose transfers arrive, of which the last stops.
const ARRIVALS: &str = "[[flows]]\ncca = 'reno'\nsize = '20 KB'\narrivals = { process = 'poisson', rate = 70 }\nstart = '120 ms'\n\
    [[flows]]\ncca = 'cubic'\nsize = '5 KB'\narrivals = { process = 'poisson', rate = 9 }\nstop = '2.5 s'\n";

#[test]
fn a_row_of_a_group_is_the_sum_of_the_rows_of_its_flows() {
    let (by_flow, scenario) = (read(GROUPS), read(&format!("samples_by = 'group'\n{GROUPS}")));
    let starts_s: Vec<f64> = answer_scenario(&by_flow).flows.iter().map(|flow| flow.start_s).collect();
    let (flows, groups) = (answer_scenario(&by_flow).flow_samples, answer_scenario(&scenario).group_samples);
    let firsts: Vec<u32> = (0..6).map(|group| scenario.sample_groups[..group].iter().sum()).collect();
    let of = |group: usize| firsts[group]..firsts[group] + scenario.sample_groups[group];
    let mut row = 0;
    for sample in 0..=30 {
        let time_s = f64::from(sample) * 0.1;
        for group in 0..6 {
            let rows = (0..flows.flow.len()).filter(|&row| {
                (flows.time_s[row] - time_s).abs() < 1e-9 && of(group).contains(&flows.flow[row])
            });
            let rows: Vec<usize> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            assert_eq!(groups.group[row] as usize, group, "at {time_s} s");
            assert!((groups.time_s[row] - time_s).abs() < 1e-9);
            assert_eq!(groups.flows[row] as usize, rows.len());
            let sum = |column: &[u32]| rows.iter().map(|&row| u64::from(column[row])).sum::<u64>();
            let mean_cwnd_pkts = sum(&flows.cwnd_pkts) as f64 / rows.len() as f64;
            assert_eq!(groups.mean_cwnd_pkts[row], mean_cwnd_pkts);
            assert_eq!(
                Some(groups.min_cwnd_pkts[row]),
                rows.iter().map(|&row| flows.min_cwnd_pkts[row]).min()
            );
            assert_eq!(
                Some(groups.max_cwnd_pkts[row]),
                rows.iter().map(|&row| flows.max_cwnd_pkts[row]).max()
            );
            assert_eq!(u64::from(groups.in_flight_pkts[row]), sum(&flows.in_flight_pkts));
            assert_eq!(groups.marked_pkts[row], rows.iter().map(|&row| flows.marked_pkts[row]).sum::<u64>());
            let rtts_ms = rows.iter().map(|&row| flows.rtt_ms[row]).filter(|&rtt_ms| rtt_ms > 0.0);
            let mean_rtt_ms = rtts_ms.clone().sum::<f64>() / rtts_ms.count().max(1) as f64;
            assert!((groups.rtt_ms[row] - mean_rtt_ms).abs() < 1e-9);
            // Of bits, each flow's since the sample before or its start.
            let span_s = |row: usize| time_s - starts_s[flows.flow[row] as usize].max(time_s - 0.1).max(0.0);
            let mbits: f64 = rows.iter().map(|&row| flows.throughput_mbps[row] * span_s(row)).sum();
            let longest_s = rows.iter().map(|&row| span_s(row)).fold(0.0, f64::max);
            assert!((groups.throughput_mbps[row] * longest_s - mbits).abs() < 1e-6);
            row += 1;
        }
    }
    assert_eq!(row, groups.group.len());
    assert!(groups.marked_pkts.iter().sum::<u64>() > 100);
    let distinct: std::collections::BTreeSet<u32> = groups.group.iter().copied().collect();
    assert_eq!(distinct, [0, 1, 2, 3, 5].into());
}

#[test]
fn samples_by_group_are_those_that_rows_of_flows_add_up_to() {
    // What other worlds do with their rows.
    let by_flow = answer_scenario(&read(GROUPS));
    let groups = read(&format!("samples_by = 'group'\n{GROUPS}"));
    let samples = &by_flow.flow_samples;
    let mut before_s: Vec<f64> = by_flow.flows.iter().map(|flow| flow.start_s).collect();
    let ns = |s: f64| (s * 1e9).round() as u64;
    let rows = (0..samples.flow.len()).map(|row| {
        let (time_s, flow) = (samples.time_s[row], samples.flow[row]);
        let span_ns = ns(time_s) - ns(std::mem::replace(&mut before_s[flow as usize], time_s));
        let of_flow = FlowRow {
            cwnd_pkts: samples.cwnd_pkts[row],
            cwnd_range_pkts: (samples.min_cwnd_pkts[row], samples.max_cwnd_pkts[row]),
            ssthresh_pkts: samples.ssthresh_pkts[row],
            in_flight_pkts: samples.in_flight_pkts[row],
            srtt_ns: (samples.rtt_ms[row] * 1e6).round() as u64,
            bits: (samples.throughput_mbps[row] * span_ns as f64 / 1e3).round() as u64,
            span_ns,
            marked_pkts: samples.marked_pkts[row],
        };
        (ns(time_s), flow, of_flow)
    });
    let (by_flow, by_group) = time_series(rows.collect(), &groups.sample_groups);
    assert_eq!(by_flow, FlowSamples::default());
    assert_eq!(by_group, answer_scenario(&groups).group_samples);
    assert!(by_group.group.len() > 80);
}

#[test]
fn samples_by_group_change_nothing_else_and_are_the_same_on_any_number_of_threads() {
    let text = format!("{GROUPS}{ARRIVALS}");
    let scenario = read(&format!("samples_by = 'group'\n{text}"));
    let alone = answer_on_threads(&scenario, 1);
    let by_flow = answer_scenario(&read(&text));
    assert_eq!((&alone.flows, &alone.links), (&by_flow.flows, &by_flow.links));
    // A transfer that did not end has NaNs, which no other number is equal to.
    assert!(format!("{:?}", alone.transfers) == format!("{:?}", by_flow.transfers));
    assert!(alone.flow_samples.flow.is_empty());
    for threads in [2, 3, 7] {
        let together = answer_on_threads(&scenario, threads);
        assert!(format!("{together:?}") == format!("{alone:?}"), "{threads} threads");
    }
    let kept = scenario.sampled_links();
    let rows = (0..by_flow.link_samples.link.len())
        .filter(|&row| kept.binary_search(&by_flow.link_samples.link[row]).is_ok());
    let rows: Vec<usize> = rows.collect();
    let dropped: Vec<u64> = rows.iter().map(|&row| by_flow.link_samples.dropped_pkts[row]).collect();
    assert_eq!(alone.link_samples.dropped_pkts, dropped);
    assert!(dropped.iter().sum::<u64>() > 0 && rows.len() < by_flow.link_samples.link.len() / 4);
}

#[test]
fn the_group_of_a_flow_with_arrivals_counts_its_open_transfers_and_all_that_arrives() {
    let run = answer_scenario(&read(&format!("samples_by = 'group'\n{GROUPS}{ARRIVALS}")));
    let (groups, transfers) = (&run.group_samples, &run.transfers);
    for (group, flow, from_s, to_s) in [(6, 29, 0.12, 3.0), (7, 30, 0.0, 2.5)] {
        let rows: Vec<usize> = (0..groups.group.len()).filter(|&row| groups.group[row] == group).collect();
        let times_s = (0..=30).map(|sample| f64::from(sample) / 10.0);
        let times_s: Vec<f64> = times_s.filter(|time_s| (from_s..=to_s).contains(time_s)).collect();
        assert_eq!(rows.iter().map(|&row| groups.time_s[row]).collect::<Vec<_>>(), times_s);
        let (mut mbits, mut before_s) = (0.0, from_s);
        for &row in &rows {
            let time_s = groups.time_s[row];
            let open = (0..transfers.flow.len()).filter(|&transfer| {
                let end_s = transfers.start_s[transfer] + transfers.fct_ms[transfer] / 1e3;
                transfers.flow[transfer] == flow
                    && transfers.start_s[transfer] <= time_s
                    && (end_s > time_s || end_s.is_nan())
            });
            let open = open.count() as u32;
            assert_eq!(groups.flows[row], open, "at {time_s} s");
            let windows = (groups.min_cwnd_pkts[row].into(), groups.max_cwnd_pkts[row].into());
            match groups.flows[row] {
                0 => assert!(groups.mean_cwnd_pkts[row].is_nan() && windows == (0.0, 0.0)),
                _ => {
                    assert!(windows.0 > 0.0 && (windows.0..=windows.1).contains(&groups.mean_cwnd_pkts[row]))
                }
            }
            mbits += groups.throughput_mbps[row] * (time_s - before_s);
            before_s = time_s;
        }
        // Until the last sample, which is when the flow stops.
        let result = &run.flows[flow as usize];
        let expected = result.throughput_mbps * (result.stop_s - result.start_s);
        assert!((mbits - expected).abs() < 1e-9 * expected, "{mbits} {expected}");
        let marked: u64 = rows.iter().map(|&row| groups.marked_pkts[row]).sum();
        assert_eq!(marked, result.marked_pkts);
    }
    let of = |group| {
        (0..groups.group.len()).filter(move |&row| groups.group[row] == group).map(|row| groups.flows[row])
    };
    assert!(of(7).min() == Some(0) && of(6).max() > Some(20), "{:?}", of(7).collect::<Vec<_>>());
}
