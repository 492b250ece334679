//! What rows of samples have of the time since the row before.

mod common;

use common::{answer_scenario, read};
use cwnd_results::{FlowSamples, Run};

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
