//! Time series: by flow and by group.

use cwnd_scenario::{Samples, Scenario};

/// A dumbbell of 1 Gbps, 100 ms, 100 packets, after `head`, with `flows`.
fn dumbbell(head: &str, flows: &str) -> Scenario {
    let links = "[dumbbell]\nrate = '1 Gbps'\ndelay = '100 ms'\nbuffer = 100\n";
    Scenario::from_toml(&format!("{head}\n{links}\n{flows}"), "test.toml", &[]).unwrap()
}

/// Ten flows, two, and one by itself.
const GROUPS: &str =
    "[[flows]]\ncca = 'reno'\ncount = 10\n[[flows]]\ncca = 'reno'\ncount = 2\n[[flows]]\ncca = 'cubic'";

#[test]
fn samples_by_group_have_a_series_for_each_entry_of_flows_and_none_for_links_of_one_flow_of_several() {
    let by_flow = dumbbell("samples_by = 'flow'", GROUPS);
    assert_eq!(by_flow, dumbbell("", GROUPS));
    assert_eq!((by_flow.sample_groups.len(), by_flow.rows_per_sample()), (0, 13 + 27));
    let by_group = dumbbell("samples_by = 'group'", GROUPS);
    assert_eq!(by_group.sample_groups, [10, 2, 1]);
    let names: Vec<_> =
        by_group.sampled_links().iter().map(|&link| by_group.links[link as usize].name.as_str()).collect();
    assert_eq!(names, ["access-12", "bottleneck", "exit-12"]);
    assert_eq!(by_group.rows_per_sample(), 3 + 3);
    // Without time series there are no groups of them.
    let off = dumbbell("samples = 'off'\nsamples_by = 'group'", GROUPS);
    assert_eq!(off, dumbbell("samples = 'off'", GROUPS));
}

#[test]
#[ignore = "slow"]
fn samples_by_group_of_a_million_flows_have_a_hundred_intervals_and_many_have_room() {
    let flows = "[[flows]]\ncca = 'reno'\ncount = 1000000";
    let interval_ns = |top: &str| match dumbbell(top, flows).samples {
        Samples::Interval { interval_ns } => interval_ns,
        samples => panic!("{samples:?}"),
    };
    assert_eq!(interval_ns(""), 100_000_000_000 / 3);
    assert_eq!(interval_ns("samples_by = 'group'"), 1_000_000_000);
    assert_eq!(interval_ns("samples_by = 'group'\nsamples = 100000"), 1_000_000);
}
