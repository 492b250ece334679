//! A grid: which points it has, what each of them is, and what a person reads who wrote it wrong.

use cwnd_scenario::{Scenario, Sweep, SweepPoint, Value};

const BASE: &str = r#"name = "base"
duration = "10 s"

[dumbbell]
rate = "100 Mbps"
delay = "10 ms"
buffer = 100

[[flows]]
cca = "reno"

[[flows]]
cca = "cubic"
count = 2
"#;

fn read(sweep: &str) -> Result<Sweep, String> {
    Sweep::from_toml(&format!("{BASE}{sweep}"), "s.toml", &[]).map_err(|error| error.to_string())
}

fn points(sweep: &str) -> Vec<SweepPoint> {
    read(sweep).unwrap().points
}

/// The values of the only axis, as names have them.
fn values(axis: &str) -> Vec<String> {
    points(&format!("[sweep]\n{axis}")).iter().map(|point| point.values[0].1.to_string()).collect()
}

fn buffers(sweep: &str) -> Vec<u32> {
    let bottleneck = |point: &SweepPoint| point.scenario.links[3].buffer_pkts.unwrap();
    points(sweep).iter().map(bottleneck).collect()
}

#[test]
fn a_text_without_a_sweep_is_one_point_and_the_scenario_itself() {
    let sweep = read("").unwrap();
    let scenario = Scenario::from_toml(BASE, "s.toml", &[]).unwrap();
    assert_eq!((sweep.name.as_str(), sweep.points.len()), ("base", 1));
    assert_eq!((&sweep.points[0].values, &sweep.points[0].scenario), (&vec![], &scenario));
}

#[test]
fn a_text_with_a_sweep_is_no_single_scenario() {
    let text = format!("{BASE}[sweep]\n\"dumbbell.buffer\" = [1]\n");
    let error = Scenario::from_toml(&text, "s.toml", &[]).unwrap_err().to_string();
    assert_eq!(error, "s.toml:15: sweep: unknown key for a single run; run it with 'cwnd sweep'");
}

#[test]
fn the_grid_has_every_combination_with_the_first_axis_slowest() {
    let points =
        points("[sweep]\n\"flows.cca\" = [\"elastic\", \"cubic\"]\n\"dumbbell.buffer\" = [50, 100, 200]\n");
    let names: Vec<&str> = points.iter().map(|point| point.scenario.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "base (cca elastic, buffer 50)",
            "base (cca elastic, buffer 100)",
            "base (cca elastic, buffer 200)",
            "base (cca cubic, buffer 50)",
            "base (cca cubic, buffer 100)",
            "base (cca cubic, buffer 200)",
        ]
    );
    let fourth = &points[3];
    assert_eq!(
        fourth.values,
        [
            ("flows.cca".to_owned(), Value::Text("cubic".into())),
            ("dumbbell.buffer".to_owned(), Value::Integer(50))
        ]
    );
    assert!(fourth.scenario.flows.iter().all(|flow| flow.cca.name == "cubic"));
}

#[test]
fn a_point_is_the_scenario_that_has_its_values_written_in_place() {
    let point =
        points("[sweep]\n\"dumbbell.buffer\" = [\"2 BDP\"]\n\"flows[1].cca\" = [{ name = \"elastic\" }]\n")
            .remove(0);
    let text = BASE.replace("buffer = 100", "buffer = \"2 BDP\"").replace("\"cubic\"", "\"elastic\"");
    let mut scenario = Scenario::from_toml(&text, "s.toml", &[]).unwrap();
    scenario.name.clone_from(&point.scenario.name);
    assert_eq!(point.scenario, scenario);
    assert_eq!(scenario.name, "base (buffer 2 BDP, cca elastic)");
}

#[test]
fn values_come_as_they_are_written() {
    let json = |axis: &str| {
        let points = points(&format!("[sweep]\n{axis}"));
        points.iter().map(|point| serde_json::to_string(&point.values()).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        json(r#""flows.cca" = ["reno", {name="agile-sd",   build = "slow"}]"#),
        [r#"{"flows.cca":"reno"}"#, r#"{"flows.cca":"{ name = \"agile-sd\", build = \"slow\" }"}"#]
    );
    assert_eq!(
        json("\"dumbbell.per\" = [0, 1e-5]"),
        [r#"{"dumbbell.per":0}"#, r#"{"dumbbell.per":0.00001}"#]
    );
    assert_eq!(json("\"stack.timestamps\" = [true]"), [r#"{"stack.timestamps":true}"#]);
}

#[test]
fn ranges_step_by_a_sum_a_factor_or_a_number_of_points() {
    let buffer = |range: &str| buffers(&format!("[sweep]\n\"dumbbell.buffer\" = {range}\n"));
    assert_eq!(buffer("{ from = 50, to = 6400, factor = 2 }"), [50, 100, 200, 400, 800, 1600, 3200, 6400]);
    assert_eq!(buffer("{ from = 50, to = 220, step = 50 }"), [50, 100, 150, 200]);
    assert_eq!(buffer("{ from = 10, to = 1000, points = 3, scale = \"log\" }"), [10, 100, 1000]);
    assert_eq!(buffer("{ from = 10, to = 20, points = 3, scale = \"linear\" }"), [10, 15, 20]);
    assert_eq!(buffer("{ from = 10, to = 100, points = 4, scale = \"log\" }"), [10, 22, 46, 100]);
    assert_eq!(buffer("{ from = \"10 packets\", to = \"30 pkts\", step = \"10 pkt\" }"), [10, 20, 30]);
    assert_eq!(
        values("\"dumbbell.delay\" = { from = \"10 ms\", to = \"50 ms\", step = \"10 ms\" }"),
        ["10 ms", "20 ms", "30 ms", "40 ms", "50 ms"]
    );
    assert_eq!(
        values("\"dumbbell.delay\" = { from = \"500 us\", to = \"2 ms\", step = \"0.5 ms\" }"),
        ["500 us", "1000 us", "1500 us", "2000 us"]
    );
    assert_eq!(
        values("\"dumbbell.rate\" = { from = \"10 Mbps\", to = \"1 Gbps\", factor = 10 }"),
        ["10 Mbps", "100 Mbps", "1000 Mbps"]
    );
    assert_eq!(
        values("\"dumbbell.per\" = { from = 1e-5, to = 1e-3, points = 3, scale = \"log\" }"),
        ["1e-5", "0.0001", "0.001"]
    );
    assert_eq!(values("\"dumbbell.per\" = { from = 0.1, to = 0.3, step = 0.1 }"), ["0.1", "0.2", "0.3"]);
    assert_eq!(
        values("\"dumbbell.buffer\" = { from = \"0.5 BDP\", to = \"2 BDP\", factor = 2 }"),
        ["0.5 BDP", "1 BDP", "2 BDP"]
    );
}

#[test]
fn zipped_lists_go_together_after_the_other_axes() {
    let points = points(
        "[sweep]\n\"dumbbell.per\" = [0, 0.1]\n[[sweep.zip]]\n\"dumbbell.rate\" = [\"100 Mbps\", \"1 Gbps\"]\n\
         \"dumbbell.buffer\" = [100, 1000]\n",
    );
    let names: Vec<&str> = points.iter().map(|point| point.scenario.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "base (per 0, rate 100 Mbps, buffer 100)",
            "base (per 0, rate 1 Gbps, buffer 1000)",
            "base (per 0.1, rate 100 Mbps, buffer 100)",
            "base (per 0.1, rate 1 Gbps, buffer 1000)",
        ]
    );
}

#[test]
fn keys_may_stand_without_quotes_and_reach_into_what_is_written_short() {
    assert_eq!(buffers("[sweep]\ndumbbell.buffer = [50, 60]\n"), [50, 60]);
    let points = points("[sweep]\n\"flows[1].cca.beta\" = [0.5, 0.7]\n");
    let beta = |point: &SweepPoint| {
        point.scenario.flows[1].cca.params.iter().find(|(name, _)| name == "beta").cloned()
    };
    assert_ne!(beta(&points[0]), beta(&points[1]));
}

#[test]
fn names_are_unique_and_at_most_100_characters_long() {
    let long = "x".repeat(100);
    let text =
        BASE.replace("\"base\"", &format!("\"{long}\"")) + "[sweep]\n\"dumbbell.buffer\" = [50, \"50\"]\n";
    let sweep = Sweep::from_toml(&text, "s.toml", &[]).unwrap();
    assert_eq!(sweep.name, long);
    let names: Vec<String> = sweep.points.into_iter().map(|point| point.scenario.name).collect();
    assert_eq!(names, [format!("{} (buffer 50)", &long[12..]), format!("{} (buffer 50) 2", &long[14..])]);
    assert!(names.iter().all(|name| name.chars().count() <= 100));
}

#[test]
fn errors_name_the_line_of_the_value_and_what_would_do() {
    #[rustfmt::skip]
    let table = [
        ("\"dumbbell.buffer\" = [\n50,\n\"x\"]", "18: dumbbell.buffer: 'x' is not a buffer; "),
        ("\"flows.cca\" = [\"qubic\"]", "16: flows[0].cca: unknown algorithm 'qubic'; "),
        ("\"flows.caa\" = [\"cubic\"]", "16: flows[0].caa: unknown key; there are cca, label, count, "),
        ("\"dumbell.rate\" = [\"1 Gbps\"]", "16: dumbell: unknown key; did you mean 'dumbbell'?"),
        ("\"dumbbell.buffer\" = { from = 1, to = 0, step = 1 }", "16: sweep.dumbbell.buffer.to: 'to' is less than 'from'; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 2 }", "16: sweep.dumbbell.buffer: a range has one of 'step', 'factor' and 'points'; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 2, step = 1, factor = 2 }", "16: sweep.dumbbell.buffer: a range has one of"),
        ("\"dumbbell.buffer\" = { from = 1, to = 2, factor = 1 }", "16: sweep.dumbbell.buffer.factor: a factor is more than 1; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 2, step = 0 }", "16: sweep.dumbbell.buffer.step: a step is more than 0; "),
        ("\"dumbbell.buffer\" = { from = 0, to = 2, factor = 2 }", "16: sweep.dumbbell.buffer.factor: 'from' is not more than 0; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 2, steps = 1 }", "16: sweep.dumbbell.buffer.steps: unknown key; did you mean 'step'?"),
        ("\"dumbbell.buffer\" = { from = 1, to = 20000, step = 1 }", "16: sweep.dumbbell.buffer: more than 10000 values; "),
        ("\"dumbbell.buffer\" = { to = 2, step = 1 }", "16: sweep.dumbbell.buffer.from: missing; "),
        ("\"dumbbell.buffer\" = { from = 1, to = inf, step = 1 }", "16: sweep.dumbbell.buffer.to: inf is not a number; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 2, step = 1, scale = \"log\" }", "16: sweep.dumbbell.buffer.scale: a scale without 'points'; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 2, points = 2, scale = \"lin\" }", "16: sweep.dumbbell.buffer.scale: 'lin' is not a scale; did you mean 'linear'?"),
        ("\"dumbbell.per\" = { from = -1e308, to = 1e308, points = 3 }", "16: sweep.dumbbell.per: too large to count with; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 99999999999999999999999999, points = 2 }", "16: dumbbell.buffer: "),
        ("\"dumbbell.delay\" = { from = \"1 ms\", to = 2, step = \"1 ms\" }", "16: sweep.dumbbell.delay.to: 2 is not in 'ms'; "),
        ("\"dumbbell.delay\" = { from = \"1 ms\", to = \"2 Gbps\", step = \"1 ms\" }", "16: sweep.dumbbell.delay.to: '2 Gbps' is not in 'ms'; "),
        ("\"dumbbell.delay\" = { from = \"1 parsec\", to = 2, step = 1 }", "16: sweep.dumbbell.delay.from: '1 parsec' has an unknown unit; "),
        ("\"dumbbell.buffer\" = []", "16: sweep.dumbbell.buffer: an empty list; "),
        ("\"dumbbell.buffer\" = [1, 2, 1]", "16: sweep.dumbbell.buffer: 1 is listed twice; give it once"),
        ("\"dumbbell.buffer\" = 5", "16: sweep.dumbbell.buffer: 5 is not a list; "),
        ("\"flows[7].cca\" = [\"cubic\"]", "16: sweep.flows[7].cca: there is no flows[7]; there are 2, from 0"),
        ("\"flows[x].cca\" = [\"cubic\"]", "16: sweep.flows[x].cca: 'flows[x].cca' is not a key of the scenario; "),
        ("\"dumbbell[0].rate\" = [\"1 Gbps\"]", "16: sweep.dumbbell[0].rate: 'dumbbell' is not a list; "),
        ("\"chain.rate\" = [\"1 Gbps\"]", "16: sweep.chain.rate: there is no [[chain]]; "),
        ("\"duration.x\" = [1]", "16: sweep.duration.x: 'duration' is '10 s', not a table; "),
        ("seed = [1, 2]", "16: sweep.seed: seeds are not swept; "),
        ("name = [\"a\", \"b\"]", "16: sweep.name: a name is not swept; "),
        ("\"flows[0].cca\" = [\"cubic\"]\n\"flows.cca\" = [\"reno\"]", "17: sweep.flows.cca: it would hide the values of 'flows[0].cca'; "),
        ("", "15: sweep: nothing is swept; "),
        ("zip = 5", "16: sweep.zip: 5; "),
        ("[[sweep.zip]]\n\"dumbbell.rate\" = [\"1 Gbps\"]\n\"dumbbell.buffer\" = [1, 2]", "18: sweep.zip[0].dumbbell.buffer: 2 values; as many as 'dumbbell.rate' has: 1"),
        ("[[sweep.zip]]", "16: sweep.zip[0]: nothing is swept; "),
        ("\"dumbbell.buffer\" = { from = 1, to = 9999, step = 1 }\n\"dumbbell.per\" = { from = 0.0, to = 0.5, points = 101 }", "15: sweep: more than 100000 points; at most 100000: sweep fewer values, or split them over several sweeps"),
    ];
    for (sweep, error) in table {
        let found = read(&format!("[sweep]\n{sweep}\n")).map(|sweep| sweep.points.len()).unwrap_err();
        assert!(found.starts_with(&format!("s.toml:{error}")), "{sweep}\n{found}\n{error}");
        assert_eq!(found.lines().count(), 1);
    }
}

#[test]
fn a_scenario_survives_json() {
    for point in points(
        "[sweep]\nsamples = [\"off\", \"change\", 77]\n\"dumbbell.per\" = [0.1, 1e-7, 0.30000000000000004]\n",
    ) {
        let json = serde_json::to_string(&point.scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), point.scenario);
        assert_eq!(point.scenario.check(), Ok(()));
        let odd = json.replacen('{', "{\"odd\":1,", 1);
        assert!(serde_json::from_str::<Scenario>(&odd).is_err());
    }
}

#[test]
fn what_could_not_run_is_found_in_what_was_read_from_json() {
    type Spoil = fn(&mut Scenario);
    let damage: [(Spoil, &str); 10] = [
        (|s| s.flows.clear(), "no flows"),
        (|s| s.flows[1].path = vec![99], "flow 1 has no path"),
        (|s| s.flows[1].path = vec![0, 0], "flow 1 does not visit its links in the order"),
        (|s| s.flows[1].payload_bytes = 4_000_000_000, "flow 1 has packets of more than 131071 bytes"),
        (|s| s.flows[2].stop_ns = 0, "flow 2 does not start before it stops"),
        (
            |s| std::sync::Arc::make_mut(&mut s.flows[0].cca).algorithm = "renoo".into(),
            "did you mean 'reno'?",
        ),
        (|s| s.samples = cwnd_scenario::Samples::Interval { interval_ns: 0 }, "no time between"),
        (|s| s.sample_groups = vec![1], "its groups of samples are not groups of its flows"),
        (|s| s.sample_groups = vec![0, 3], "its groups of samples are not groups of its flows"),
        (
            |s| (s.samples, s.sample_groups) = (cwnd_scenario::Samples::Change, vec![3]),
            "groups without samples at intervals",
        ),
    ];
    for (spoil, error) in damage {
        let mut scenario = read("").unwrap().points.remove(0).scenario;
        spoil(&mut scenario);
        let found = scenario.check().unwrap_err().to_string();
        assert!(found.contains(error), "{found}");
    }
}
