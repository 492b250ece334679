//! Queue disciplines and ways back, as written.

use cwnd_scenario::{Queue, QueueVariant, Scenario};

fn read(link: &str, flow: &str) -> Result<Scenario, String> {
    let text = format!(
        "[dumbbell]\nrate = '50 Mbps'\ndelay = '20 ms'\nbuffer = 100\n{link}\n[[flows]]\ncca = 'reno'\n{flow}\n"
    );
    Scenario::from_toml(&text, "bad.toml", &[]).map_err(|error| error.to_string())
}

#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("queue = 'codl'", "5: dumbbell.queue: 'codl' is not a queue discipline; did you mean 'codel'?"),
    ("queue = 5", r#"5: dumbbell.queue: 5 is not a queue discipline; write a discipline like "fq-codel", or { discipline = "codel", target = "5 ms" }"#),
    ("queue = {}", r#"5: dumbbell.queue.discipline: missing; give it like discipline = "codel""#),
    ("queue = { discipline = 'droptail', target = '5 ms' }", "5: dumbbell.queue.target: unknown key; there is discipline"),
    ("queue = { discipline = 'codel', min = 5 }", "5: dumbbell.queue.min: unknown key; there are discipline, variant, target, interval, ecn, ce_threshold"),
    ("queue = { discipline = 'codel', quantum = 300 }", "5: dumbbell.queue.quantum: unknown key; there are discipline, variant, target, interval, ecn, ce_threshold"),
    ("queue = { discipline = 'codel', target = '0 s' }", "5: dumbbell.queue.target: '0 s' is out of range; '1 us' to '100 s'"),
    ("queue = { discipline = 'codel', target = 5 }", "5: dumbbell.queue.target: 5 has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    ("queue = { discipline = 'codel', target = '100 ms' }", "5: dumbbell.queue.target: a target of an interval or more; the target is shorter than the interval, 100 ms"),
    ("queue = { discipline = 'codel', interval = '1 ms' }", "5: dumbbell.queue.interval: a target of an interval or more; the target is shorter than the interval, 1 ms"),
    ("queue = { discipline = 'codel', ecn = 'yes' }", "5: dumbbell.queue.ecn: 'yes' is not true or false; write true or false"),
    ("queue = { discipline = 'codel', variant = 'bsd' }", "5: dumbbell.queue.variant: 'bsd' is not a variant; 'spec' or 'linux'"),
    ("queue = { discipline = 'fq-codel', quantum = 0 }", "5: dumbbell.queue.quantum: 0 is out of range; 256 to 131071 bytes"),
    ("queue = { discipline = 'fq-codel', queues = 0 }", "5: dumbbell.queue.queues: 0 is out of range; 1 to 65536"),
    ("queue = { discipline = 'pie', interval = '1 ms' }", "5: dumbbell.queue.interval: unknown key; there are discipline, variant, target, update, burst, ecn"),
    ("queue = { discipline = 'pie', update = '0 s' }", "5: dumbbell.queue.update: '0 s' is out of range; '1 us' to '100 s'"),
    ("queue = { discipline = 'red', min = 15, max = 5 }", "5: dumbbell.queue.max: not above min; max is above min"),
    ("queue = { discipline = 'red', min = 5 }", "5: dumbbell.queue.max: missing; give both, min and max"),
    ("queue = { discipline = 'red', max = 5 }", "5: dumbbell.queue.min: missing; give both, min and max"),
    ("queue = { discipline = 'red', min = 0, max = 5 }", "5: dumbbell.queue.min: 0 is not a queue's length; write it in packets or bytes, like 5 or '62500 bytes'"),
    ("queue = { discipline = 'red', min = 5, max = '30000 bytes' }", "5: dumbbell.queue.max: min and max in different units; give both in packets, or both in bytes"),
    ("queue = { discipline = 'red', probability = 0 }", "5: dumbbell.queue.probability: 0 is out of range; a number above 0, at most 1"),
    ("queue = { discipline = 'red', probability = 2 }", "5: dumbbell.queue.probability: 2 is out of range; a number above 0, at most 1"),
    ("queue = { discipline = 'red', weight = 0 }", "5: dumbbell.queue.weight: 0 is out of range; a number above 0, at most 1"),
    ("queue = { discipline = 'red', weight = 0.1, burst = 5 }", "5: dumbbell.queue.burst: burst and weight; give one of them"),
    ("queue = { discipline = 'red', burst = 0 }", "5: dumbbell.queue.burst: 0 is out of range; 1 to 1000000"),
    ("queue = { discipline = 'red', variant = 'linux', gentle = true }", "5: dumbbell.queue.gentle: gentle; Linux's RED is not"),
    ("queue = { discipline = 'dualpi2', ecn = true }", "5: dumbbell.queue.ecn: unknown key; there are discipline, variant, target, update, step"),
    ("ecn_threshold = ['800 us']", "5: dumbbell.ecn_threshold: not two times; write it like ['800 us', '1200 us']"),
    ("ecn_threshold = ['2 ms', '1 ms']", "5: dumbbell.ecn_threshold: a ramp that ends before it begins; the shorter time first"),
    ("queue = 'codel'\necn_threshold = 5", "6: dumbbell.ecn_threshold: a threshold of droptail; the discipline of 'queue' marks by itself: leave it out"),
    ("access = { queue = 'codel' }", "5: dumbbell.access.queue: unknown key; there are rate, delay, buffer"),
    ("reverse = '1 Mbps'", "5: dumbbell.reverse: '1 Mbps' is not a table; write key = value pairs"),
    ("reverse = { rate = '0 bps' }", "5: dumbbell.reverse.rate: '0 bps' is out of range; '1 bps' to '100 Tbps'"),
    ("reverse = { rate = { steps = [['0 s', '1 Mbps'], ['1 s', '0 bps']] } }", "5: dumbbell.reverse.rate.steps[1]: a rate of 0 for ever; a later step with a rate"),
    ("reverse = { buffer = 0 }", "5: dumbbell.reverse.buffer: 0 is out of range; 1 to 2147483647 packets, or 'unlimited'"),
    ("reverse = { queue = 'cake' }", "5: dumbbell.reverse.queue: 'cake' is not a queue discipline; there are droptail, red, codel, fq-codel, pie, dualpi2"),
    ("reverse = { access = {} }", "5: dumbbell.reverse.access: unknown key; there are rate, queue, delay, buffer, per, ecn_threshold, loss, jitter, reorder, duplicate, policer, losses, marks"),
];

#[rustfmt::skip]
const REFUSED_FLOWS: &[(&str, &str)] = &[
    ("direction = 'up'", "8: flows[0].direction: no link for this way; give [dumbbell] reverse = { ... }"),
    ("direction = 'left'", "8: flows[0].direction: 'left' is not a direction; 'down', or 'up': against the others"),
    ("direction = 1", "8: flows[0].direction: 1 is not a direction; 'down', or 'up': against the others"),
    ("stack = { ecn = 'on' }", "8: flows[0].stack.ecn: 'on' is not a kind of ECN; there are off, classic, dctcp, accurate, l4s"),
    ("stack = { ecn = 1 }", "8: flows[0].stack.ecn: 1 is not a kind of ECN; there are off, classic, dctcp, accurate, l4s"),
    ("stack = { beta_ecn = 1 }", "8: flows[0].stack.beta_ecn: 1 is not a factor of a reduction; write a number above 0 and below 1, like 0.8"),
    ("stack = { beta_ecn = 'half' }", "8: flows[0].stack.beta_ecn: 'half' is not a factor of a reduction; write a number above 0 and below 1, like 0.8"),
];

#[test]
fn every_fault_gets_the_line_of_the_table() {
    let links = REFUSED.iter().map(|(written, line)| (read(written, ""), written, line));
    let flows = REFUSED_FLOWS.iter().map(|(written, line)| (read("", written), written, line));
    let wrong: Vec<String> = links
        .chain(flows)
        .filter_map(|(found, written, line)| {
            let found = found.expect_err(written);
            (found != format!("bad.toml:{line}")).then(|| format!("{written}\n  {found}\n  {line}"))
        })
        .collect();
    assert!(wrong.is_empty(), "written, found, expected:\n{}", wrong.join("\n"));
}

#[test]
fn a_discipline_has_what_is_written_and_its_defaults() {
    let queue = |written: &str| read(&format!("queue = {written}"), "").unwrap().links[1].queue.clone();
    assert_eq!(queue("'droptail'"), None);
    assert_eq!(queue("{ discipline = 'droptail' }"), None);
    let Some(Queue::FqCodel(fq_codel)) = queue("'fq-codel'") else { panic!() };
    assert_eq!((fq_codel.quantum_bytes, fq_codel.queues, fq_codel.codel.ecn), (1514, None, true));
    assert_eq!((fq_codel.codel.target_ns, fq_codel.codel.interval_ns), (5_000_000, 100_000_000));
    let Some(Queue::Pie(pie)) = queue("{ discipline = 'pie', variant = 'linux' }") else { panic!() };
    assert_eq!((pie.variant, pie.update_ns), (QueueVariant::Linux, 20_000_000));
    let red =
        "{ discipline = 'red', min = '62500 bytes', max = '187500 bytes', burst = 69, variant = 'linux' }";
    let Some(Queue::Red(red)) = queue(red) else { panic!() };
    // What tc chose for these numbers.
    assert_eq!((red.in_bytes, red.weight, red.gentle), (true, 1.0 / 32.0, false));
}

#[test]
fn a_reverse_link_is_as_the_bottleneck_unless_given() {
    let scenario = read("reverse = { buffer = 50 }\naccess = { delay = '1 ms' }", "").unwrap();
    let reverse = &scenario.links[2];
    assert_eq!(
        (reverse.name.as_str(), reverse.rate_bps, reverse.delay_ns),
        ("reverse", 50_000_000, 20_000_000)
    );
    assert_eq!(reverse.buffer_pkts, Some(50));
    let flow = &scenario.flows[0];
    assert_eq!((flow.path.as_slice(), flow.reverse_path.as_slice()), (&[0, 1, 3][..], &[2][..]));
    // The access links' delays, and a millionth of a second each for 66 bytes at 500 Mbps.
    assert_eq!(flow.return_delay_ns, 2 * (1_000_000 + 1056));
    let constant = read("access = { delay = '1 ms' }", "").unwrap();
    assert_eq!(scenario.rtt_ns(0), constant.rtt_ns(0));
    let up = read("reverse = {}", "direction = 'up'").unwrap();
    assert_eq!(
        (up.flows[0].path.as_slice(), up.flows[0].reverse_path.as_slice()),
        (&[0, 2, 3][..], &[1][..])
    );
}
