//! Traffic of flows, as it is written and refused.

use cwnd_scenario::{Arrivals, Scenario, Size};

const FLOW: &str = "cca = 'reno'";

fn text(new: &str) -> String {
    format!(
        "duration = '10 s'\n[dumbbell]\nrate = '50 Mbps'\ndelay = '20 ms'\nbuffer = 100\n[[flows]]\n{new}\n"
    )
}

/// The file's name is what is in it, with semicolons for line breaks.
fn read(text: &str) -> Result<Scenario, String> {
    let files = |name: &str| match name {
        "absent.csv" => Err(std::io::Error::other("No such file or directory")),
        lines => Ok(lines.replace(';', "\n")),
    };
    Scenario::from_toml_with_files(text, "bad.toml", &[], &files).map_err(|error| error.to_string())
}

/// Content of `[[flows]]`, and the error after `bad.toml:`.
#[rustfmt::skip]
const TABLE: &[(&str, &str)] = &[
    ("cca = 'reno'\nsize = 0", "8: flows[0].size: 0 has no unit; write it like '100 KB' (bytes, KB, MB, GB, KiB, MiB, GiB)"),
    ("cca = 'reno'\nsize = '0 KB'", "8: flows[0].size: '0 KB' is out of range; '1 byte' to '1000 GB'"),
    ("cca = 'reno'\nsize = '2000 GB'", "8: flows[0].size: '2000 GB' is out of range; '1 byte' to '1000 GB'"),
    ("cca = 'reno'\nsize = '10 packets'", "8: flows[0].size: '10 packets' is not an amount of data; write it like '100 KB' (bytes, KB, MB, GB, KiB, MiB, GiB)"),
    ("cca = 'reno'\nsize = []", "8: flows[0].size: a list is not an amount of data; write it like '100 KB' (bytes, KB, MB, GB, KiB, MiB, GiB)"),
    ("cca = 'reno'\nsize = {}", "8: flows[0].size.distribution: missing; give it like distribution = \"web-search\", or csv = \"FILE\""),
    ("cca = 'reno'\nsize = { distribution = 'zipf' }", "8: flows[0].size.distribution: 'zipf' is not a distribution; there are web-search, data-mining, lognormal, pareto, exponential"),
    ("cca = 'reno'\nsize = { distribution = 'websearch' }", "8: flows[0].size.distribution: 'websearch' is not a distribution; did you mean 'web-search'?"),
    ("cca = 'reno'\nsize = { distribution = 'web-search', mean = '1 KB' }", "8: flows[0].size.mean: unknown key; there is distribution"),
    ("cca = 'reno'\nsize = { distribution = 'lognormal', mu = 9 }", "8: flows[0].size.sigma: missing; a number from 0 to 3"),
    ("cca = 'reno'\nsize = { distribution = 'lognormal', mu = 9, sigma = -1 }", "8: flows[0].size.sigma: -1 is out of range; a number from 0 to 3"),
    ("cca = 'reno'\nsize = { distribution = 'lognormal', mu = nan, sigma = 1 }", "8: flows[0].size.mu: nan is out of range; a number from 0 to 20"),
    ("cca = 'reno'\nsize = { distribution = 'pareto', alpha = 0, min = '1 KB', max = '1 MB' }", "8: flows[0].size.alpha: 0 is out of range; a number from 0.1 to 10"),
    ("cca = 'reno'\nsize = { distribution = 'pareto', alpha = 1.2, min = '1 MB', max = '1 KB' }", "8: flows[0].size.max: 1000 bytes; more than 'min'"),
    ("cca = 'reno'\nsize = { distribution = 'pareto', alpha = 1.2, min = '1 KB' }", "8: flows[0].size.max: missing; a size like '100 KB'"),
    ("cca = 'reno'\nsize = { distribution = 'exponential' }", "8: flows[0].size.mean: missing; a size like '100 KB'"),
    ("cca = 'reno'\nsize = { distribution = 'exponential', mean = 5 }", "8: flows[0].size.mean: 5 has no unit; write it like '100 KB' (bytes, KB, MB, GB, KiB, MiB, GiB)"),
    ("cca = 'reno'\nsize = { csv = 'absent.csv' }", "8: flows[0].size.csv: 'absent.csv': No such file or directory; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '1000, 0.5;1000, 1' }", "8: flows[0].size.csv: line 2 of the file: not more than the line before; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '1000, 0.5;2000, 0.4' }", "8: flows[0].size.csv: line 2 of the file: not more than the line before; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '1000, 0.5;2000, 0.9' }", "8: flows[0].size.csv: the last probability is 0.9; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '1000, much' }", "8: flows[0].size.csv: line 1 of the file is '1000, much'; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '1000' }", "8: flows[0].size.csv: line 1 of the file is '1000'; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '0, 1' }", "8: flows[0].size.csv: line 1 of the file: 0 is not a size; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '1000, 2' }", "8: flows[0].size.csv: line 1 of the file: 2 is not a probability; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '# nothing' }", "8: flows[0].size.csv: a file without numbers; lines of a size in bytes and the probability of no more, like '1000, 0.5', both increasing, up to 1"),
    ("cca = 'reno'\nsize = { csv = '1000, 1', distribution = 'web-search' }", "8: flows[0].size.distribution: unknown key; there is csv"),
    ("cca = 'reno'\narrivals = { process = 'poisson', load = 0.5 }", "8: flows[0].arrivals: arrivals of transfers without a size; give it like size = \"100 KB\" or { distribution = \"web-search\" }"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson', load = 2 }", "9: flows[0].arrivals.load: 2 is out of range; more than 0 and less than 1: the share of the slowest link's rate"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson', load = 1 }", "9: flows[0].arrivals.load: 1 is out of range; more than 0 and less than 1: the share of the slowest link's rate"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson', load = 0 }", "9: flows[0].arrivals.load: 0 is out of range; more than 0 and less than 1: the share of the slowest link's rate"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson', load = 'half' }", "9: flows[0].arrivals.load: 'half' is not a number; more than 0 and less than 1: the share of the slowest link's rate"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson' }", "9: flows[0].arrivals.load: missing; give it like { process = \"poisson\", load = 0.5 }, or rate = 100 per second, or { times = \"FILE\" }"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { load = 0.5 }", "9: flows[0].arrivals.process: missing; give it like { process = \"poisson\", load = 0.5 }, or rate = 100 per second, or { times = \"FILE\" }"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'regular', rate = 5 }", "9: flows[0].arrivals.process: 'regular' is not a process of arrivals; there is poisson"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson', load = 0.5, rate = 5 }", "9: flows[0].arrivals.rate: both 'load' and 'rate'; give one of them"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson', rate = 0 }", "9: flows[0].arrivals.rate: 0 is out of range; transfers per second, more than 0"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { process = 'poisson', rate = 1e8 }", "9: flows[0].arrivals.rate: 1.000e9 transfers are expected; at most 1e7: a lower load, larger transfers or a shorter time"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { times = '1;0.5' }", "9: flows[0].arrivals.times: line 2 of the file: 0.5 s; lines of a time in seconds after the start of the flow, in order, before its stop"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { times = '11' }", "9: flows[0].arrivals.times: line 1 of the file: 11 s; lines of a time in seconds after the start of the flow, in order, before its stop"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { times = '-1' }", "9: flows[0].arrivals.times: line 1 of the file: -1 s; lines of a time in seconds after the start of the flow, in order, before its stop"),
    ("cca = 'reno'\nsize = '1 KB'\narrivals = { times = 'soon' }", "9: flows[0].arrivals.times: line 1 of the file is 'soon'; lines of a time in seconds after the start of the flow, in order, before its stop"),
    ("cca = 'reno'\nsize = '1 KB'\ncount = 2\narrivals = { process = 'poisson', load = 0.5 }", "10: flows[0].arrivals: arrivals at 2 flows; leave 'count' out: as many transfers run at one time as have arrived"),
    ("cca = 'reno'\nrequests = { count = 5 }", "8: flows[0].requests: responses without a size; give it like size = \"100 KB\" or { distribution = \"web-search\" }"),
    ("cca = 'reno'\nsize = '1 KB'\nrequests = { think = '1 s' }", "9: flows[0].requests.count: missing; give it like { count = 10, think = \"1 s\" }"),
    ("cca = 'reno'\nsize = '1 KB'\nrequests = { count = 0 }", "9: flows[0].requests.count: 0 is out of range; 1 to 10000000"),
    ("cca = 'reno'\nsize = '1 KB'\nrequests = { count = 5, think = '-1 s' }", "9: flows[0].requests.think: '-1 s' is out of range; '0 s' to '1440 min'"),
    ("cca = 'reno'\nsize = '1 KB'\nrequests = { count = 5 }\napp_rate = '1 Mbps'", "9: flows[0].requests: both 'requests' and 'app_rate'; give one of them"),
    ("cca = 'reno'\nsize = '1 KB'\nrequests = { count = 5 }\narrivals = { process = 'poisson', load = 0.5 }", "9: flows[0].requests: both 'requests' and 'arrivals'; give one of them"),
    ("cca = 'reno'\nframe_rate = 30", "8: flows[0].frame_rate: frames of no rate; give the rate of the payload, like app_rate = \"2 Mbps\""),
    ("cca = 'reno'\nframe_rate = 0\napp_rate = '1 Mbps'", "8: flows[0].frame_rate: 0 is out of range; 1 to 1000"),
    ("cca = 'reno'\nframe_rate = 30\napp_rate = '1 Mbps'\nsize = '1 KB'", "8: flows[0].frame_rate: both 'frame_rate' and 'size'; give one of them"),
    ("cca = 'reno'\non = { mean = '1 s' }", "8: flows[0].on: 'on' and 'off' belong together; give both, or neither"),
    ("cca = 'reno'\non = { mean = '1 s' }\noff = '1 s'", "8: flows[0].on: only one of 'on' and 'off' is a mean; give both as { mean = \"1 s\" }, or none"),
    ("cca = 'reno'\non = { mean = '0 s' }\noff = { mean = '1 s' }", "8: flows[0].on.mean: '0 s' is out of range; '1 us' to '1440 min'"),
    ("cca = 'reno'\non = { median = '1 s' }\noff = { mean = '1 s' }", "8: flows[0].on.median: unknown key; did you mean 'mean'?"),
    ("cca = 'reno'\nstack = { pacing = 'tbf' }", "8: flows[0].stack.pacing: 'tbf' is not a pacing; 'own' or 'fq'"),
    ("cca = 'udp'", "6: flows[0].app_rate: missing; give the rate of its payload, like app_rate = \"2 Mbps\""),
    ("cca = { name = 'udp', rate = 5 }\napp_rate = '1 Mbps'", "7: flows[0].cca.rate: unknown parameter; 'udp' has none"),
    ("cca = 'udp'\napp_rate = '1 Mbps'\nsize = '1 KB'", "9: flows[0].size: 'udp' sends at a constant rate all the time; leave it out"),
    ("cca = 'udp'\napp_rate = '1 Mbps'\non = '1 s'\noff = '1 s'", "9: flows[0].on: 'udp' sends at a constant rate all the time; leave it out"),
];

#[test]
fn every_fault_gets_the_line_of_the_table() {
    read(&text(FLOW)).unwrap();
    let mut wrong = Vec::new();
    for (written, expected) in TABLE {
        match read(&text(written)) {
            Ok(_) => wrong.push(format!("{written}\n  accepted\n  {expected}")),
            Err(found) if found != format!("bad.toml:{expected}") => {
                wrong.push(format!("{written}\n  {found}\n  {expected}"));
            }
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "written, found, expected:\n{}", wrong.join("\n"));
}

#[test]
fn traffic_is_what_is_written() {
    let flow = |written: &str| read(&text(written)).unwrap().flows.remove(0);
    let traffic = |written: &str| (*flow(written).traffic.unwrap()).clone();
    assert_eq!(flow(FLOW).traffic, None);
    assert_eq!(traffic("cca = 'reno'\nsize = '1.5 MiB'").size, Some(Size::Fixed { bytes: 3 << 19 }));
    let points = traffic("cca = 'reno'\nsize = { csv = '# size, share;;1000, 0.5; 3000 ,1' }").size;
    assert_eq!(points, Some(Size::Points { points: vec![(1000, 0.5), (3000, 1.0)] }));
    let requests = traffic("cca = 'reno'\nsize = '1 KB'\nrequests = { count = 3 }").requests;
    let requests = requests.map(|requests| (requests.count, requests.think_ns, requests.barrier));
    assert_eq!(requests, Some((3, 0, None)));
    // A packet of 1448 bytes has 66 of headers: 25 Mbps are 2063.9... a second.
    let arrivals =
        traffic("cca = 'reno'\nsize = '1448 bytes'\narrivals = { process = 'poisson', load = 0.5 }");
    let Some(Arrivals::Poisson { per_s }) = arrivals.arrivals else { panic!("{arrivals:?}") };
    assert!((per_s - 25e6 / 8.0 / 1514.0).abs() < 1e-6, "{per_s}");
    let times = traffic("cca = 'reno'\nsize = '1 KB'\narrivals = { times = '0;0.5;0.5;9.99' }").arrivals;
    assert_eq!(times, Some(Arrivals::Times { times_ns: vec![0, 500_000_000, 500_000_000, 9_990_000_000] }));
}

#[test]
fn distributions_have_the_means_that_are_published() {
    assert!((Size::web_search().mean_bytes() / 1.711e6 - 1.0).abs() < 0.001);
    assert!((Size::data_mining().mean_bytes() / 12.66e6 - 1.0).abs() < 0.001);
    // The median of SURGE's body is 11.6 KB.
    let surge = Size::Lognormal { mu: 9.357, sigma: 1.318 };
    assert!((surge.quantile(0.5) as f64 / 11_580.0 - 1.0).abs() < 0.002, "{}", surge.quantile(0.5));
}
