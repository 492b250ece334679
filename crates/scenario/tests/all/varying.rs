//! Links that vary, police and impair, as they are written and refused.

use cwnd_scenario::{
    DelayStep, GilbertElliott, Impairments, Jitter, JitterDistribution, PacketSet, Policer, RateStep,
    RateVariation, Scenario, Trace, Variation,
};
use proptest::prelude::*;

const RATE: &str = "rate = '50 Mbps'";
const DELAY: &str = "delay = '20 ms'";

fn text(old: &str, new: &str) -> String {
    let text =
        format!("duration = '10 s'\n[dumbbell]\n{RATE}\n{DELAY}\nbuffer = 100\n[[flows]]\ncca = 'reno'\n");
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1)
}

/// The file's name is what is in it, with commas for line breaks.
fn read(text: &str) -> Result<Scenario, String> {
    let files = |name: &str| match name {
        "absent.trace" => Err(std::io::Error::other("No such file or directory")),
        lines => Ok(lines.replace(',', "\n")),
    };
    Scenario::from_toml_with_files(text, "bad.toml", &[], &files).map_err(|error| error.to_string())
}

/// A part of a valid text, its replacement, and the error after `bad.toml:`.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &str)] = &[
    (RATE, "rate = { trace = '1,2,x' }", "3: dumbbell.rate.trace: '1,2,x', line 3: 'x' is not a whole number of milliseconds; a line for each opportunity: milliseconds since the beginning, never decreasing"),
    (RATE, "rate = { trace = '1,2.5' }", "3: dumbbell.rate.trace: '1,2.5', line 2: '2.5' is not a whole number of milliseconds; a line for each opportunity: milliseconds since the beginning, never decreasing"),
    (RATE, "rate = { trace = '-1,2' }", "3: dumbbell.rate.trace: '-1,2', line 1: '-1' is not a whole number of milliseconds; a line for each opportunity: milliseconds since the beginning, never decreasing"),
    (RATE, "rate = { trace = '1,,2' }", "3: dumbbell.rate.trace: '1,,2', line 2: '' is not a whole number of milliseconds; a line for each opportunity: milliseconds since the beginning, never decreasing"),
    (RATE, "rate = { trace = '5000000000' }", "3: dumbbell.rate.trace: '5000000000', line 1: '5000000000' is not a whole number of milliseconds; a line for each opportunity: milliseconds since the beginning, never decreasing"),
    (RATE, "rate = { trace = '1,5,4' }", "3: dumbbell.rate.trace: '1,5,4', line 3: 4 after 5; a line for each opportunity: milliseconds since the beginning, never decreasing"),
    (RATE, "rate = { trace = '' }", "3: dumbbell.rate.trace: '', line 1: an empty trace; a line for each opportunity: milliseconds since the beginning, never decreasing"),
    (RATE, "rate = { trace = '0,0' }", "3: dumbbell.rate.trace: '0,0', line 2: the last opportunity at 0 ms; a last opportunity after 0 ms"),
    (RATE, "rate = { trace = 'absent.trace' }", "3: dumbbell.rate.trace: 'absent.trace': No such file or directory; a file with a time in milliseconds on each line"),
    (RATE, "rate = { trace = 5 }", "3: dumbbell.rate.trace: 5 is not a file's name; a file with a time in milliseconds on each line"),
    (RATE, "rate = { trace = '1', loop = true }", "3: dumbbell.rate.loop: unknown key; there are trace, bytes, repeat, scale, offset"),
    (RATE, "rate = { trace = '1', bytes = 0 }", "3: dumbbell.rate.bytes: 0 is out of range; 1 to 65535 bytes"),
    (RATE, "rate = { trace = '1', repeat = 1 }", "3: dumbbell.rate.repeat: 1 is not true or false; write true or false"),
    (RATE, "rate = { trace = '1', scale = 0 }", "3: dumbbell.rate.scale: 0 is out of range; a number from 0.001 to 1000"),
    (RATE, "rate = { trace = '1', scale = nan }", "3: dumbbell.rate.scale: nan is out of range; a number from 0.001 to 1000"),
    (RATE, "rate = { trace = '1', scale = 'x' }", "3: dumbbell.rate.scale: 'x' is not a number; a number from 0.001 to 1000"),
    (RATE, "rate = { trace = '1', offset = '-1 s' }", "3: dumbbell.rate.offset: '-1 s' is out of range; '0 s' to '14400 min'"),
    (RATE, "rate = { trace = '1,7', repeat = false, offset = '7 ms' }", "3: dumbbell.rate.offset: the trace is over when the run begins; less than its length, '7 ms', or repeat = true"),
    (RATE, "rate = { stps = [] }", "3: dumbbell.rate.stps: unknown key; did you mean 'steps'?"),
    (RATE, "rate = { steps = [] }", r#"3: dumbbell.rate.steps: an empty list; write them like [["0 s", "50 Mbps"], ["20 s", "5 Mbps"]]"#),
    (RATE, "rate = { steps = '5 Mbps' }", r#"3: dumbbell.rate.steps: '5 Mbps' is not a list of steps; write them like [["0 s", "50 Mbps"], ["20 s", "5 Mbps"]]"#),
    (RATE, "rate = { steps = ['5 Mbps'] }", r#"3: dumbbell.rate.steps[0]: '5 Mbps' is not a step; write them like [["0 s", "50 Mbps"], ["20 s", "5 Mbps"]]"#),
    (RATE, "rate = { steps = [['0 s']] }", r#"3: dumbbell.rate.steps[0]: a list of 1 is not a step; write them like [["0 s", "50 Mbps"], ["20 s", "5 Mbps"]]"#),
    (RATE, "rate = { steps = [['1 s', '5 Mbps']] }", "3: dumbbell.rate.steps[0][0]: the first step at '1 s'; '0 s'"),
    (RATE, "rate = { steps = [['0 s', '5 Mbps'], ['2 s', '6 Mbps'], ['2 s', '7 Mbps']] }", "3: dumbbell.rate.steps[2][0]: '2 s' after 2 s; steps in the order of time"),
    (RATE, "rate = { steps = [['0 s', '5 Mbps'], ['2 s', '0 bps']] }", "3: dumbbell.rate.steps[1]: a rate of 0 for ever; a later step with a rate"),
    (RATE, "rate = { steps = [['0 s', '5 ms']] }", "3: dumbbell.rate.steps[0][1]: '5 ms' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, "rate = { steps = [['0 s', '101 Tbps']] }", "3: dumbbell.rate.steps[0][1]: '101 Tbps' is out of range; '0 bps' to '100 Tbps'"),
    (DELAY, "delay = { steps = [] }", r#"4: dumbbell.delay.steps: an empty list; write them like [["0 s", "20 ms"], ["20 s", "40 ms"]]"#),
    (DELAY, "delay = { trace = '1' }", "4: dumbbell.delay.trace: unknown key; there is steps"),
    (DELAY, "delay = { steps = [['5 s', '20 ms']] }", "4: dumbbell.delay.steps[0][0]: the first step at '5 s'; '0 s'"),
    (DELAY, "delay = { steps = [['0 s', '61 min']] }", "4: dumbbell.delay.steps[0][1]: '61 min' is out of range; '0 s' to '60 min'"),
    (DELAY, "delay = '20 ms'\njitter = { uniform = '21 ms' }", "5: dumbbell.jitter: up to 21 ms less than a delay of 20 ms; at most the delay, with three standard deviations"),
    (DELAY, "delay = '20 ms'\njitter = { std = '7 ms' }", "5: dumbbell.jitter: up to 21 ms less than a delay of 20 ms; at most the delay, with three standard deviations"),
    (DELAY, "delay = { steps = [['0 s', '20 ms'], ['1 s', '1 ms']] }\njitter = { uniform = '2 ms' }", "5: dumbbell.jitter: up to 2 ms less than a delay of 1 ms; at most the delay, with three standard deviations"),
    (DELAY, "delay = '20 ms'\njitter = '2 ms'", r#"5: dumbbell.jitter: '2 ms' is not a jitter; write it like { std = "2 ms" } or { uniform = "5 ms" }"#),
    (DELAY, "delay = '20 ms'\njitter = {}", r#"5: dumbbell.jitter: a table is not a jitter; write it like { std = "2 ms" } or { uniform = "5 ms" }"#),
    (DELAY, "delay = '20 ms'\njitter = { reorder = true }", r#"5: dumbbell.jitter: neither 'std' nor 'uniform'; write it like { std = "2 ms" } or { uniform = "5 ms" }"#),
    (DELAY, "delay = '20 ms'\njitter = { std = '1 ms', uniform = '1 ms' }", "5: dumbbell.jitter: both 'std' and 'uniform'; give one of them"),
    (DELAY, "delay = '20 ms'\njitter = { std = '-1 ms' }", "5: dumbbell.jitter.std: '-1 ms' is out of range; '0 s' to '60 min'"),
    (DELAY, "delay = '0 s'\nreorder = 0.1", "5: dumbbell.reorder: no packet overtakes another on a link without a delay; a delay of more than 0"),
    (DELAY, "delay = '20 ms'\nreorder = 1.5", "5: dumbbell.reorder: 1.5 is not a probability; write a number from 0 to 1, or like '0.01%'"),
    (DELAY, "delay = '20 ms'\nduplicate = -0.1", "5: dumbbell.duplicate: -0.1 is not a probability; write a number from 0 to 1, or like '0.01%'"),
    (DELAY, "delay = '20 ms'\nduplicate = '200%'", "5: dumbbell.duplicate: '200%' is not a probability; write a number from 0 to 1, or like '0.01%'"),
    (DELAY, "delay = '20 ms'\nduplicate = nan", "5: dumbbell.duplicate: nan is not a probability; write a number from 0 to 1, or like '0.01%'"),
    (DELAY, "delay = '20 ms'\nloss = 'much'", "5: dumbbell.loss: 'much' is not a number; write a number from 0 to 1, or like '0.01%'"),
    (DELAY, "delay = '20 ms'\nloss = '100%'", "5: dumbbell.loss: with '100%' nothing would arrive; write it like 0.01, '0.01%' or { model = \"gilbert-elliott\", p = 0.001, r = 0.1, bad = 0.5 }"),
    (DELAY, "delay = '20 ms'\nloss = 0.1\nper = 0.1", "5: dumbbell.loss: both 'per' and 'loss'; give one of them"),
    (DELAY, "delay = '20 ms'\nloss = { p = 0.1, r = 0.1 }", r#"5: dumbbell.loss.model: missing; give it like model = "gilbert-elliott""#),
    (DELAY, "delay = '20 ms'\nloss = { model = 'markov', p = 0.1, r = 0.1 }", "5: dumbbell.loss.model: 'markov' is not a model; 'gilbert-elliott'"),
    (DELAY, "delay = '20 ms'\nloss = { model = 'gilbert-elliott', r = 0.1 }", "5: dumbbell.loss.p: missing; give it like 0.1"),
    (DELAY, "delay = '20 ms'\nloss = { model = 'gilbert-elliott', p = 2, r = 0.1 }", "5: dumbbell.loss.p: 2 is not a probability; write a number from 0 to 1, or like '0.01%'"),
    (DELAY, "delay = '20 ms'\nloss = { model = 'gilbert-elliott', p = 0.1, r = 0, bad = 1 }", "5: dumbbell.loss: nothing would arrive; a way out of the state that loses all: r of more than 0, or bad below 1"),
    (DELAY, "delay = '20 ms'\npolicer = '40 Mbps'", r#"5: dumbbell.policer: '40 Mbps' is not a policer; write it like { rate = "40 Mbps", burst = "64 KiB" }"#),
    (DELAY, "delay = '20 ms'\npolicer = { rate = '40 Mbps' }", r#"5: dumbbell.policer.burst: missing; give it like burst = "64 KiB""#),
    (DELAY, "delay = '20 ms'\npolicer = { burst = '64 KiB' }", r#"5: dumbbell.policer.rate: missing; give it like rate = "40 Mbps""#),
    (DELAY, "delay = '20 ms'\npolicer = { rate = '0 bps', burst = '64 KiB' }", "5: dumbbell.policer.rate: '0 bps' is out of range; '1 bps' to '100 Tbps'"),
    (DELAY, "delay = '20 ms'\npolicer = { rate = '1 Mbps', burst = '0 KiB' }", "5: dumbbell.policer.burst: '0 KiB' is out of range; '1 byte' to '1000 GB'"),
    (DELAY, "delay = '20 ms'\npolicer = { rate = '1 Mbps', burst = '1 s' }", "5: dumbbell.policer.burst: '1 s' is not an amount of data; write it like '100 KB' (bytes, KB, MB, GB, KiB, MiB, GiB)"),
    (DELAY, "delay = '20 ms'\npolicer = { rate = '1 Mbps', burst = '9 KiB', mark = 'yes' }", "5: dumbbell.policer.mark: 'yes' is not true or false; write true or false"),
    (DELAY, "delay = '20 ms'\nlosses = 5", "5: dumbbell.losses: 5 is not a list of packets; write it like losses = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]"),
    (DELAY, "delay = '20 ms'\nlosses = []", "5: dumbbell.losses: an empty list; write it like losses = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]"),
    (DELAY, "delay = '20 ms'\nlosses = [0]", "5: dumbbell.losses[0]: 0 is out of range; 1 to 1000000000000"),
    (DELAY, "delay = '20 ms'\nlosses = [7, -1]", "5: dumbbell.losses[1]: -1 is out of range; 1 to 1000000000000"),
    (DELAY, "delay = '20 ms'\nlosses = [1.5]", "5: dumbbell.losses[0]: 1.5 is not a packet; write it like losses = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]"),
    (DELAY, "delay = '20 ms'\nlosses = ['2 s', '3 s']", "5: dumbbell.losses[0]: '2 s' is not a packet; write it like losses = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]"),
    (DELAY, "delay = '20 ms'\nlosses = [[3, 1]]", "5: dumbbell.losses[0]: packets 3 to 1; the smaller number first"),
    (DELAY, "delay = '20 ms'\nlosses = [[1, 2, 3]]", "5: dumbbell.losses[0]: a list of 3; write it like losses = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]"),
    (DELAY, "delay = '20 ms'\nlosses = [[1, '2 s']]", "5: dumbbell.losses[0]: a number of a packet beside a time; write it like losses = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]"),
    (DELAY, "delay = '20 ms'\nlosses = [[1, true]]", "5: dumbbell.losses[0][1]: true is not a whole number; 1 to 1000000000000"),
    (DELAY, "delay = '20 ms'\nlosses = [['3 s', '2 s']]", "5: dumbbell.losses[0]: a span from '3 s' to '2 s'; the earlier time first"),
    (DELAY, "delay = '20 ms'\nlosses = [['2 s', '2 s']]", "5: dumbbell.losses[0]: a span from '2 s' to '2 s'; the earlier time first"),
    (DELAY, "delay = '20 ms'\nlosses = [['2 s', '3']]", "5: dumbbell.losses[0][1]: '3' has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    (DELAY, "delay = '20 ms'\nmarks = [[3, 1]]", "5: dumbbell.marks[0]: packets 3 to 1; the smaller number first"),
    (DELAY, "delay = '20 ms'\nmarks = true", "5: dumbbell.marks: true is not a list of packets; write it like marks = [1300, [1201, 1204], [\"2 s\", \"2.3 s\"]]"),
    (DELAY, "delay = '20 ms'\naccess = { jitter = { std = '1 ms' } }", "5: dumbbell.access.jitter: unknown key; there are rate, delay, buffer"),
    ("duration = '10 s'\n[dumbbell]", "clock = 'ns2'\n[dumbbell]\nduplicate = 0.1", "1: clock: link 'bottleneck' varies, polices or impairs; 'nanoseconds', or a link without that"),
];

#[test]
fn every_fault_gets_the_line_of_the_table() {
    read(&text(RATE, RATE)).unwrap();
    let wrong: Vec<String> = TABLE
        .iter()
        .filter_map(|(old, new, expected)| {
            let found = read(&text(old, new)).expect_err(new);
            (found != format!("bad.toml:{expected}")).then(|| format!("{new}\n  {found}\n  {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "written, found, expected:\n{}", wrong.join("\n"));
}

#[test]
fn a_link_has_what_is_written() {
    let link = |old: &str, new: &str| {
        let scenario = read(&text(old, new)).unwrap();
        let again: Scenario = serde_json::from_str(&serde_json::to_string(&scenario).unwrap()).unwrap();
        assert_eq!(again, scenario, "it survives JSON");
        scenario.links.into_iter().find(|link| link.name == "bottleneck").unwrap()
    };
    let steps = link(RATE, "rate = { steps = [['0 s', '50 Mbps'], ['20 s', '0 bps'], ['21 s', '5 Mbps']] }");
    let step = |s: u64, mbps: u64| RateStep { from_ns: s * 1_000_000_000, rate_bps: mbps * 1_000_000 };
    let rate = RateVariation::Steps(vec![step(0, 50), step(20, 0), step(21, 5)]);
    assert_eq!(steps.rate_bps, 50_000_000);
    assert_eq!(steps.variation.unwrap().rate, Some(rate));

    let traced = link(RATE, "rate = { trace = '0,5,5,10', scale = 0.5, repeat = false, offset = '3 ms' }");
    let trace = Trace {
        opportunities_ms: [0, 5, 5, 10].into(),
        opportunity_bytes: 750,
        repeat: false,
        offset_ns: 3_000_000,
    };
    // Four opportunities of 6000 bits in 10 ms.
    assert_eq!(traced.rate_bps, 2_400_000);
    assert_eq!(traced.variation.unwrap().rate, Some(RateVariation::Trace(trace)));

    let delay =
        link(DELAY, "delay = { steps = [['0 s', '20 ms'], ['1 s', '5 ms']] }\njitter = { std = '1 ms' }");
    let step = |s: u64, ms: u64| DelayStep { from_ns: s * 1_000_000_000, delay_ns: ms * 1_000_000 };
    assert_eq!((delay.delay_ns, delay.least_delay_ns()), (20_000_000, 2_000_000));
    let variation =
        Variation::default().with(|variation| variation.delay_steps = vec![step(0, 20), step(1, 5)]);
    assert_eq!(delay.variation, Some(Box::new(variation)));
    let distribution = JitterDistribution::Normal { std_ns: 1_000_000 };
    assert_eq!(delay.impairments.unwrap().jitter, Some(Jitter { distribution, reorder: false }));

    let keys = "loss = { model = 'gilbert-elliott', p = '0.02%', r = 0.2, bad = 0.5 }\nreorder = 0.001\n\
                duplicate = '1%'\njitter = { uniform = '5 ms', reorder = true }\n\
                policer = { rate = '40 Mbps', burst = '64 KiB' }";
    let impaired = link(DELAY, &format!("{DELAY}\n{keys}"));
    let distribution = JitterDistribution::Uniform { half_width_ns: 5_000_000 };
    let impairments = Impairments::default().with(|impairments| {
        impairments.gilbert_elliott = Some(GilbertElliott { p: 2e-4, r: 0.2, good: 0.0, bad: 0.5 });
        impairments.jitter = Some(Jitter { distribution, reorder: true });
        impairments.reorder = 0.001;
        impairments.duplicate = 0.01;
    });
    assert_eq!(impaired.impairments, Some(Box::new(impairments)));
    let given = link(
        DELAY,
        "delay = '20 ms'\nlosses = [9, [2, 3], 4, ['1 s', '1500 ms']]\nmarks = [['0 s', '3 s'], ['2 s', '4 s']]",
    );
    let given = given.impairments.unwrap();
    let losses = PacketSet { numbers: vec![[2, 4], [9, 9]], spans_ns: vec![[1_000_000_000, 1_500_000_000]] };
    assert_eq!(given.losses, Some(losses));
    assert_eq!(given.marks, Some(PacketSet { numbers: vec![], spans_ns: vec![[0, 4_000_000_000]] }));
    let policer = Policer { rate_bps: 40_000_000, burst_bytes: 65_536, mark: false };
    assert_eq!(impaired.variation.unwrap().policer, Some(policer));
}

#[test]
fn a_link_without_any_of_it_is_as_it_was() {
    let plain = read(&text(RATE, RATE)).unwrap();
    assert!(plain.links.iter().all(|link| !link.is_managed()));
    let lossy =
        read(&text(DELAY, &format!("{DELAY}\nloss = '0.5%'\nreorder = 0\nduplicate = '0%'"))).unwrap();
    let per = read(&text(DELAY, &format!("{DELAY}\nper = 0.005"))).unwrap();
    assert_eq!(lossy, per);
}

#[test]
fn a_description_shows_how_a_link_varies_and_keeps_links_apart_that_differ_in_that() {
    let chain = |keys: &str| format!("[[chain]]\n{RATE}\n{DELAY}\nbuffer = 9\n{keys}");
    let text = [
        &chain("duplicate = 0.5\nlosses = [1, 3, 5, [7, 9], ['1 s', '2 s'], 20, 30]\n"),
        &chain("jitter = { std = '1500 us' }\n"),
        "[[flows]]\ncca = 'reno'\n",
    ];
    let links = read(&text.concat()).unwrap().describe().links;
    let varies: Vec<_> = links.iter().map(|link| (link.name.as_str(), link.varies.join("; "))).collect();
    let jitter = "normal jitter of 1500 us in order".to_owned();
    let given = "duplication with probability 0.5; losses of packet 1, packet 3, packet 5, packets 7 to 9, packet 20, 2 more";
    assert_eq!(varies, [("link-0", given.to_owned()), ("link-1", jitter)]);
}

#[test]
fn a_damaged_scenario_is_refused_before_it_runs() {
    let good = read(&text(RATE, "rate = { trace = '1,2' }\nreorder = 0.1")).unwrap();
    let damaged = |change: &dyn Fn(&mut Variation, &mut Impairments)| {
        let mut scenario = good.clone();
        let link = scenario.links.iter_mut().find(|link| link.name == "bottleneck").unwrap();
        change(link.variation.as_mut().unwrap(), link.impairments.as_mut().unwrap());
        scenario.check().unwrap_err().to_string()
    };
    assert_eq!(damaged(&|_, wire| wire.reorder = 2.0), "link 'bottleneck' has a probability that is none");
    for (numbers, spans_ns) in
        [(vec![[0, 1]], vec![]), (vec![[3, 4], [4, 5]], vec![]), (vec![], vec![[5, 5]])]
    {
        let set = PacketSet { numbers, spans_ns };
        let found = damaged(&|_, wire| wire.marks = Some(set.clone()));
        assert!(found.contains("losses or marks that are not in order"), "{found}");
    }
    let found = damaged(&|variation, _| variation.rate = Some(RateVariation::Steps(Vec::new())));
    assert!(found.contains("steps of the rate"), "{found}");
    let found = damaged(&|variation, _| {
        let Some(RateVariation::Trace(trace)) = &mut variation.rate else { panic!() };
        trace.opportunities_ms = [2, 1].into();
    });
    assert!(found.contains("not in order"), "{found}");
}

#[test]
fn blanks_and_empty_last_lines_of_a_trace_do_not_matter() {
    for text in ["1\n5\n", "1\n5", " 1\n\t5 \n", "1\r\n5\r\n", "1\n5\n\n", "1\n5\n \n\n"] {
        assert_eq!(Trace::opportunities(text), Ok(vec![1, 5]), "{text:?}");
    }
    for text in ["\n1\n5\n", "1\n\n5\n", "1 5\n"] {
        assert!(Trace::opportunities(text).is_err(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_trace_or_refused_in_one_line(trace in prop_oneof![
        any::<String>(),
        "[0-9 \\-+.\r\n]{0,40}",
        prop::collection::vec(0..40_u64, 0..20).prop_map(|mut at| {
            at.sort();
            at.iter().map(|ms| format!("{ms}\n")).collect()
        }),
    ]) {
        let scenario = text(RATE, "rate = { trace = 'x' }");
        let files = |_: &str| Ok(trace.clone());
        match Scenario::from_toml_with_files(&scenario, "bad.toml", &[], &files) {
            Ok(scenario) => prop_assert!(scenario.check().is_ok()),
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
        // What only has numbers in order, of which the last is more than 0, is one.
        let numbers: Option<Vec<u32>> = trace.trim_end().lines().map(|line| line.trim().parse().ok()).collect();
        let plain = numbers.filter(|_| !trace.contains('+'));
        let good = plain.is_some_and(|at| at.is_sorted() && at.last().is_some_and(|last| *last > 0));
        prop_assert_eq!(Trace::opportunities(&trace).is_ok(), good);
    }
}
