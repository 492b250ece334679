//! Verdicts on expectations, beside what a reader of a few values finds by hand.

use cwnd_results::expect::{
    FlowSample, Moment, Outcome, Series, Source, Unseen, Verdict, judge, sightings, verdicts,
};
use cwnd_results::{FlowResult, FlowRow, LinkResult, Run};
use cwnd_scenario::{Expectation, Scenario};

/// A window over 4 s: 10, 20, 30, 15 and 18 packets from each second on, with cuts at the third second and later.
struct Given {
    series: Series,
    events: Vec<Moment>,
}

impl Given {
    fn new() -> Given {
        let series = Series {
            time_s: vec![0.0, 1.0, 2.0, 3.0, 4.0],
            values: vec![10.0, 20.0, 30.0, 15.0, 18.0],
            calls: None,
        };
        let event = |time_s| Moment { time_s, round_s: 0.5, call: 0 };
        Given { series, events: [1.0, 3.0, 3.25, 3.5].map(event).to_vec() }
    }

    /// The outcome of a table of `[[expect]]`, and the value that it is on.
    fn decide(&self, table: &str) -> (Outcome, String) {
        let verdict = judge(&expectation(table), self);
        (verdict.outcome, verdict.found)
    }
}

impl Source for Given {
    fn metric(&self, expectation: &Expectation) -> Result<f64, Unseen> {
        if expectation.name == "goodput_mbps" { Ok(9.5) } else { Err(Unseen("no such metric".to_owned())) }
    }

    fn series(&self, _: &Expectation) -> Result<Series, Unseen> {
        Ok(self.series.clone())
    }

    fn events(&self, _: u32, kind: &str) -> Result<Vec<Moment>, Unseen> {
        if kind == "cut" { Ok(self.events.clone()) } else { Err(Unseen("no such event".to_owned())) }
    }
}

fn expectation(table: &str) -> Expectation {
    let text = format!("[[expect]]\n{}", table.replace(", ", "\n"));
    Expectation::from_toml(&text, "tables", 10_000_000_000, 2, &["bottleneck"]).unwrap().remove(0)
}

fn pass(found: &str) -> (Outcome, String) {
    (Outcome::Pass, found.to_owned())
}

fn fail(found: &str) -> (Outcome, String) {
    (Outcome::Fail, found.to_owned())
}

fn unseen(found: &str) -> (Outcome, String) {
    (Outcome::Unseen, found.to_owned())
}

#[test]
fn each_value_of_a_series_has_to_hold_and_the_first_worst_one_is_named() {
    let given = Given::new();
    assert_eq!(given.decide("series = 'cwnd_pkts', at_least = 10, at_most = 30"), pass("10 to 30"));
    assert_eq!(given.decide("series = 'cwnd_pkts', at_least = 12"), fail("10 at 0 s"));
    assert_eq!(given.decide("series = 'cwnd_pkts', at_most = 25"), fail("30 at 2 s"));
}

#[test]
fn a_span_begins_with_the_value_that_holds_there() {
    let given = Given::new();
    // From 1.5 s to 3 s: 20 for half a second, 30 for one, 15 at the end alone.
    let span = "series = 'cwnd_pkts', from = '1.5 s', to = '3 s'";
    let expected = [
        ("first", 20.0),
        ("last", 15.0),
        ("min", 15.0),
        ("max", 30.0),
        ("mean", 40.0 / 1.5),
        ("ratio", 0.75),
        ("largest_rise", 10.0),
    ];
    for (statistic, value) in expected {
        let table = format!("{span}, statistic = '{statistic}', equals = {value}, within = 1e-9");
        assert_eq!(given.decide(&table).0, Outcome::Pass, "{statistic}: {:?}", given.decide(&table));
    }
    assert_eq!(given.decide("series = 'cwnd_pkts', at = '2.5 s', equals = 30"), pass("30 at 2.5 s"));
    assert_eq!(given.decide("series = 'cwnd_pkts', at = '2.5 s', equals = 20"), fail("30 at 2.5 s"));
}

#[test]
fn a_span_before_the_first_value_has_none_and_fails() {
    let mut given = Given::new();
    given.series.time_s = vec![5.0, 6.0, 7.0, 8.0, 9.0];
    assert_eq!(given.decide("series = 'cwnd_pkts', at = '4 s', at_least = 1"), fail("no value in that span"));
    let span = "series = 'cwnd_pkts', from = '1 s', to = '2 s', at_least = 1";
    assert_eq!(given.decide(span), fail("no value in that span"));
}

#[test]
fn a_direction_fails_at_the_first_step_against_it() {
    let given = Given::new();
    assert_eq!(given.decide("series = 'cwnd_pkts', never = 'falls'"), fail("30 to 15 at 3 s"));
    assert_eq!(given.decide("series = 'cwnd_pkts', never = 'rises'"), fail("10 to 20 at 1 s"));
    assert_eq!(given.decide("series = 'cwnd_pkts', to = '2 s', never = 'falls'"), pass("10 to 30"));
}

#[test]
fn a_round_is_the_smoothed_rtt_at_the_event_with_which_a_span_begins() {
    let given = Given::new();
    // From the first cut, at 1 s, two rounds of 0.5 s: 20 to 30.
    let span = "series = 'cwnd_pkts', after = 'cut', rounds = 2";
    assert_eq!(given.decide(&format!("{span}, statistic = 'rise_per_round', equals = 5")), pass("5"));
    assert_eq!(given.decide(&format!("{span}, statistic = 'max', equals = 30")), pass("30"));
    let fifth = "series = 'cwnd_pkts', after = 'cut', number = 5, at_least = 1";
    assert_eq!(given.decide(fifth), fail("4 of 5 events 'cut'"));
    let no_event = "series = 'cwnd_pkts', statistic = 'rise_per_round', equals = 5";
    assert_eq!(given.decide(no_event), unseen("a round is a smoothed RTT at an event: give 'after', too"));
}

#[test]
fn a_span_of_calls_begins_with_the_call_of_its_event_among_those_of_one_time() {
    let mut given = Given::new();
    given.series = Series {
        time_s: vec![1.0, 1.0, 1.0, 2.0],
        values: vec![50.0, 40.0, 20.0, 21.0],
        calls: Some(vec![4, 5, 6, 9]),
    };
    given.events = vec![Moment { time_s: 1.0, round_s: 0.1, call: 5 }];
    let table = "series = 'cwnd_pkts', after = 'cut', statistic = 'first', equals = 40";
    assert_eq!(given.decide(table), pass("40"));
}

#[test]
fn events_are_counted_in_a_span_and_have_times() {
    let given = Given::new();
    assert_eq!(given.decide("event = 'cut', equals = 4"), pass("4 (1 s, 3 s, 3.25 s, ...)"));
    assert_eq!(given.decide("event = 'cut', to = '3 s', at_most = 1"), fail("2 (1 s, 3 s)"));
    assert_eq!(given.decide("event = 'cut', to = '0.5 s', equals = 0"), pass("0"));
    assert_eq!(given.decide("event = 'cut', statistic = 'time_s', number = 3, equals = 3.25"), pass("3.25"));
    let fifth = "event = 'cut', statistic = 'time_s', number = 5, at_least = 0";
    assert_eq!(given.decide(fifth), fail("4 of 5 events 'cut'"));
    // The first from the second one on, that one included.
    let after = "event = 'cut', after = 'cut', number = 2, statistic = 'time_s', equals = 3";
    assert_eq!(given.decide(after), pass("3"));
}

#[test]
fn a_quantity_that_is_not_shown_cannot_be_seen_and_is_no_pass() {
    let given = Given::new();
    assert_eq!(given.decide("metric = 'goodput_mbps', at_least = 9"), pass("9.5"));
    assert_eq!(given.decide("metric = 'goodput_mbps', at_most = 9"), fail("9.5"));
    assert_eq!(given.decide("metric = 'timeouts', at_most = 9"), unseen("no such metric"));
    assert_eq!(given.decide("event = 'loss', equals = 0"), unseen("no such event"));
    // The reader refuses these; a manifest may have them.
    let of_a_link = "events are of a flow, and this expectation is of a link";
    for table in ["event = 'cut', equals = 0", "series = 'cwnd_pkts', after = 'cut', at_least = 0"] {
        let mut expectation = expectation(table);
        (expectation.flow, expectation.link) = (None, Some("bottleneck".to_owned()));
        let judged = judge(&expectation, &given);
        assert_eq!((judged.outcome, judged.found), unseen(of_a_link));
    }
}

#[test]
fn a_verdict_is_one_line_with_the_expectation_the_value_and_the_reason() {
    let line = |table: &str| judge(&expectation(table), &Given::new()).to_string();
    assert_eq!(
        line("series = 'cwnd_pkts', from = '1 s', to = '3 s', at_least = 16, why = 'RFC 5681'"),
        "cwnd_pkts of flow 0 from 1 s to 3 s at least 16: fail: 15 at 3 s; RFC 5681"
    );
    assert_eq!(
        line(
            "series = 'cwnd_pkts', flow = 1, after = 'cut', number = 2, rounds = 1.5, statistic = 'mean', at_least = 1, at_most = 99, why = 'b'"
        ),
        "mean of cwnd_pkts of flow 1 after cut 2 for 1.5 rounds at least 1 and at most 99: pass: 15"
    );
    assert_eq!(
        line("event = 'loss', equals = 0"),
        "number of 'loss' of flow 0 is 0: cannot be seen: no such event"
    );
    assert_eq!(
        line("event = 'cut', statistic = 'time_s', at_most = 1"),
        "time of 'cut' of flow 0 at most 1: pass: 1"
    );
    assert_eq!(
        line("series = 'queue_pkts', link = 'bottleneck', never = 'falls'"),
        "queue_pkts of link bottleneck never falls: fail: 30 to 15 at 3 s"
    );
}

/// Two flows over a link, which expect `tables`.
fn scenario(tables: &str, samples: &str) -> Scenario {
    let flow = "[[flows]]\ncca = 'reno'\n";
    let text = format!(
        "duration = '10 s'\nsamples = {samples}\n[dumbbell]\nrate = '10 Mbps'\ndelay = '10 ms'\nbuffer = 50\n{flow}{flow}{tables}"
    );
    Scenario::from_toml(&text, "two.toml", &[]).unwrap()
}

/// A run of it: flow 1 slows from 50 packets to 25 at 2 s and grows again; 100 packets are lost of 1000.
fn run() -> Run {
    let mut run = Run::new("nowhere", 1);
    let links = scenario("", "'1 s'").links;
    let bottleneck = links.iter().position(|link| link.name == "bottleneck").unwrap();
    for flow in 0..2 {
        let mut row = FlowResult::default();
        (row.flow, row.stop_s, row.sent_pkts, row.lost_pkts) = (flow, 10.0, 500, 50);
        (row.throughput_mbps, row.goodput_mbps) = (4.5, 4.0);
        run.flows.push(row);
    }
    let mut link = LinkResult::default();
    (link.link, link.utilization, link.max_queue_pkts) = ("bottleneck".to_owned(), 0.9, 40);
    run.links.push(link);
    let windows = [(40, u32::MAX >> 1), (50, u32::MAX >> 1), (25, 25), (26, 25), (27, 25)];
    for (second, (cwnd_pkts, ssthresh_pkts)) in (0..).zip(windows) {
        let row = FlowRow { cwnd_pkts, ssthresh_pkts, srtt_ns: 40_000_000, ..FlowRow::default() };
        let idle = FlowRow { ssthresh_pkts: u32::MAX >> 1, ..FlowRow::default() };
        run.flow_samples.push(second * 1_000_000_000, 0, &idle);
        run.flow_samples.push(second * 1_000_000_000, 1, &row);
        let samples = &mut run.link_samples;
        samples.time_s.push(second as f64);
        samples.link.push(bottleneck as u32);
        samples.queue_pkts.push(10 * second as u32);
        samples.queue_ms.push(if second == 4 { f64::INFINITY } else { second as f64 });
        samples.dropped_pkts.push(second);
        samples.marked_pkts.push(0);
    }
    run
}

/// The verdicts on tables of `[[expect]]`.
fn decide(tables: &[&str], samples: &str) -> Vec<Verdict> {
    let text: String =
        tables.iter().map(|table| format!("[[expect]]\n{}\n", table.replace(", ", "\n"))).collect();
    verdicts(&scenario(&text, samples), &run())
}

fn found(table: &str) -> (Outcome, String) {
    let verdict = decide(&[table], "'1 s'").remove(0);
    (verdict.outcome, verdict.found)
}

#[test]
fn the_rows_of_a_run_have_its_metrics_and_the_columns_of_flows_and_links() {
    assert_eq!(found("metric = 'loss_ratio', equals = 0.1"), pass("0.1"));
    assert_eq!(found("metric = 'goodput_mbps', at_least = 9"), fail("8"));
    assert_eq!(found("metric = 'goodput_mbps', flow = 1, at_least = 9"), fail("4"));
    assert_eq!(found("metric = 'max_queue_pkts', link = 'bottleneck', at_most = 40"), pass("40"));
    assert_eq!(found("metric = 'fct_p50_ms', at_least = 0"), unseen("the run has no fct_p50_ms"));
    assert_eq!(
        found("metric = 'mean_rtt_ms', flow = 0, at_least = 0"),
        unseen("the run has no mean_rtt_ms there")
    );
}

#[test]
fn the_samples_of_a_run_have_its_series_and_three_kinds_of_events() {
    assert_eq!(found("series = 'cwnd_pkts', flow = 1, at_least = 25"), pass("25 to 50"));
    // Rows without a value are left out: no ssthresh before the cut, a queue that is never sent.
    assert_eq!(found("series = 'ssthresh_pkts', flow = 1, equals = 25"), pass("25 to 25"));
    assert_eq!(found("series = 'rtt_ms', flow = 1, equals = 40"), pass("40 to 40"));
    assert_eq!(found("series = 'queue_ms', link = 'bottleneck', at_most = 3"), pass("0 to 3"));
    assert_eq!(found("series = 'queue_pkts', link = 'bottleneck', at_most = 35"), fail("40 at 4 s"));
    assert_eq!(found("event = 'cut', flow = 1, equals = 1"), pass("1 (1.5 s)"));
    assert_eq!(found("event = 'recovered', flow = 1, statistic = 'time_s', equals = 2.5"), pass("2.5"));
    assert_eq!(found("event = 'slow-start-exit', flow = 1, equals = 1"), pass("1 (1.5 s)"));
    assert_eq!(
        found("series = 'cwnd_pkts', flow = 1, after = 'cut', statistic = 'ratio', equals = 0.54"),
        pass("0.54")
    );
}

#[test]
fn series_and_events_that_a_run_does_not_have_cannot_be_seen() {
    let no_calls = "the calls of the flow's algorithm are not recorded, and";
    let no_pacing = unseen("the samples have no pacing_mbps");
    assert_eq!(found("series = 'pacing_mbps', flow = 1, at_least = 0"), no_pacing);
    let no_ssthresh = unseen("the samples have no ssthresh_pkts of flow 0");
    // Its ssthresh is 2³¹ - 1 throughout.
    assert_eq!(found("series = 'ssthresh_pkts', flow = 0, at_least = 0"), no_ssthresh);
    let no_losses = unseen(&format!("{no_calls} samples show no event 'loss'"));
    assert_eq!(found("event = 'loss', flow = 1, at_least = 0"), no_losses);
    assert_eq!(found("series = 'cwnd_pkts', flow = 1, after = 'loss', at_least = 1"), no_losses);
    // Samples by change have no throughput.
    let by_change = decide(&["series = 'throughput_mbps', flow = 1, at_least = 0"], "'change'").remove(0);
    assert_eq!(by_change.found, "the samples have no throughput_mbps of flow 1");
    // A run without samples.
    let nothing =
        verdicts(&scenario("[[expect]]\nevent = 'cut'\nequals = 0\n", "'off'"), &Run::new("nowhere", 1));
    let no_samples = format!("{no_calls} there are no samples of flow 0");
    assert_eq!((nothing[0].outcome, nothing[0].found.as_str()), (Outcome::Unseen, no_samples.as_str()));
}

#[test]
fn every_column_of_flows_and_links_that_can_be_expected_is_found() {
    let mut run = run();
    for row in &mut run.flows {
        (row.mean_rtt_ms, row.p95_rtt_ms, row.fct_ms) = (Some(1.0), Some(1.0), Some(1.0));
        (row.fct_p50_ms, row.fct_p95_ms, row.fct_p99_ms) = (Some(1.0), Some(1.0), Some(1.0));
        (row.slowdown_p50, row.slowdown_p99) = (Some(1.0), Some(1.0));
    }
    run.links[0].p95_queue_ms = Some(1.0);
    for owner in ["", "flow = 1\n", "link = 'bottleneck'\n"] {
        let refused = Expectation::from_toml(
            &format!("[[expect]]\n{owner}metric = '?'\nat_least = 0"),
            "tables",
            10_000_000_000,
            2,
            &["bottleneck"],
        );
        let line = refused.unwrap_err().to_string();
        let (_, names) = line.split_once("there are ").expect("it lists them");
        assert!(names.split(", ").count() >= 8, "{line}");
        for name in names.split(", ") {
            let table = format!("[[expect]]\n{owner}metric = '{name}'\nat_least = 0");
            let verdict = verdicts(&scenario(&table, "'1 s'"), &run).remove(0);
            assert!(verdict.ok(), "{owner}{verdict}");
        }
    }
}

#[test]
fn the_verdicts_are_those_of_the_scenario_in_its_order() {
    let all = decide(
        &["metric = 'utilization', at_least = 0.5", "metric = 'utilization', at_least = 0.95"],
        "'1 s'",
    );
    assert_eq!(all.iter().map(Verdict::ok).collect::<Vec<_>>(), [true, false]);
    assert_eq!(all[1].to_string(), "utilization at least 0.95: fail: 0.9");
    assert!(verdicts(&scenario("", "'1 s'"), &run()).is_empty(), "nothing is expected");
}

/// Six samples a second apart, of an RTT of 40 ms.
fn samples(rows: [(u32, Option<u32>); 6]) -> Vec<FlowSample> {
    let sample = |(second, (cwnd_pkts, ssthresh_pkts)): (u32, (u32, Option<u32>))| FlowSample {
        time_s: second.into(),
        cwnd_pkts: cwnd_pkts.into(),
        ssthresh_pkts: ssthresh_pkts.map(f64::from),
        rtt_ms: Some(40.0),
    };
    (0..).zip(rows).map(sample).collect()
}

fn kinds_and_times(rows: &[FlowSample]) -> Vec<(&'static str, f64)> {
    sightings(rows).iter().map(|one| (one.kind, one.time_s)).collect()
}

#[test]
fn samples_show_a_cut_by_ssthresh_or_by_the_window_alone() {
    let half = Some(50);
    let same = [(50, half), (99, half), (100, half), (50, half), (50, half), (51, half)];
    assert_eq!(kinds_and_times(&samples(same)), [("cut", 2.5), ("recovered", 4.5)]);
    let without = [(98, None), (99, None), (100, None), (50, None), (50, None), (51, None)];
    assert_eq!(kinds_and_times(&samples(without)), [("cut", 2.5), ("recovered", 4.5)]);
    // A cut below the initial ssthresh of none ends slow start, too.
    let first = [(50, None), (100, None), (50, half), (50, half), (51, half), (52, half)];
    assert_eq!(
        kinds_and_times(&samples(first)),
        [("cut", 1.5), ("slow-start-exit", 1.5), ("recovered", 3.5)]
    );
}

#[test]
fn the_end_of_slow_start_by_delay_is_no_cut() {
    let all = Some(100);
    let rows = [(100, None), (100, None), (100, all), (100, all), (100, all), (100, all)];
    assert_eq!(kinds_and_times(&samples(rows)), [("slow-start-exit", 1.5)]);
    assert_eq!(sightings(&samples(rows))[0].round_s, 0.04);
}
