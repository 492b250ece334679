//! Links by name, parking lots and buffers in bytes and time, as they are written and refused.

use cwnd_scenario::Scenario;

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml(text, "bad.toml", &[]).map_err(|error| error.to_string())
}

fn names(scenario: &Scenario, path: &[u32]) -> Vec<String> {
    path.iter().map(|&link| scenario.links[link as usize].name.clone()).collect()
}

/// `exit` is written before what it follows.
const NETWORK: &str = r#"
[[links]]
name = "exit"
rate = "50 Mbps"
delay = "5 ms"
buffer = "2 BDP"
[[links]]
name = "core"
rate = "100 Mbps"
delay = "20 ms"
buffer = "50 ms"
queue = "codel"
[[links]]
name = "uplink"
rate = "1 Gbps"
delay = "1 ms"
buffer = "64 KiB"
[[links]]
name = "back"
rate = "1 Mbps"
delay = "30 ms"
buffer = 50
[[flows]]
cca = "cubic"
path = ["uplink", "core", "exit"]
reverse_path = ["back"]
[[flows]]
cca = "reno"
count = 2
path = ["core"]
"#;

#[test]
fn links_are_ordered_so_that_each_path_visits_them_in_it() {
    let scenario = read(NETWORK).unwrap();
    assert_eq!(names(&scenario, &[0, 1, 2, 3]), ["uplink", "core", "exit", "back"]);
    let [long, short, other] = &scenario.flows[..] else { panic!("three flows") };
    assert_eq!(names(&scenario, &long.path), ["uplink", "core", "exit"]);
    assert_eq!(names(&scenario, &long.reverse_path), ["back"]);
    // Packets of 1500 bytes take 12 us, 120 us and 240 us; ACKs of 66 bytes 528 us.
    assert_eq!(long.return_delay_ns, 0);
    assert_eq!(scenario.rtt_ns(0), 26_000_000 + 12_112 + 121_120 + 242_240 + 30_000_000 + 528_000);
    assert_eq!((&short.path, &short.reverse_path), (&other.path, &Vec::new()));
    // The delay again, and 66 bytes at 100 Mbps.
    assert_eq!(short.return_delay_ns, 20_000_000 + 5280);
    let buffer = |name: &str| {
        let link = scenario.links.iter().find(|link| link.name == name).unwrap();
        (link.buffer_pkts, link.buffer_bytes)
    };
    assert_eq!(buffer("uplink"), (None, Some(65_536)));
    assert_eq!(buffer("core"), (None, Some(625_000)), "what 100 Mbps send in 50 ms");
    // Two BDPs of 50 Mbps and the first flow's 56 ms, in packets of 1514 bytes.
    assert_eq!(buffer("exit"), (Some((2.0 * 50e6 * 0.056 / 8.0 / 1514.0_f64).round() as u32), None));
    assert_eq!(buffer("back"), (Some(50), None));
}

#[test]
fn a_link_carries_data_of_one_flow_and_acks_of_another() {
    let text = NETWORK.replace("path = [\"core\"]", "path = [\"back\"]\nreverse_path = [\"core\"]");
    let scenario = read(&text).unwrap();
    assert_eq!(names(&scenario, &scenario.flows[1].path), ["back"]);
    assert_eq!(names(&scenario, &scenario.flows[1].reverse_path), ["core"]);
}

const LOT: &str = r#"
[parking_lot]
hops = 3
rate = "10 Mbps"
delay = "10 ms"
buffer = "1 BDP"
access = { rate = "1 Gbps", delay = "1 ms" }
[[flows]]
cca = "reno"
[[flows]]
cca = "reno"
over = 2
access_delay = "11 ms"
"#;

#[test]
fn a_flow_of_a_parking_lot_crosses_all_hops_or_one() {
    let scenario = read(LOT).unwrap();
    assert_eq!(names(&scenario, &scenario.flows[0].path), ["access-0", "hop-1", "hop-2", "hop-3", "exit-0"]);
    assert_eq!(names(&scenario, &scenario.flows[1].path), ["access-1", "hop-2", "exit-1"]);
    assert_eq!(scenario.links[1].delay_ns, 11_000_000);
    let delays_ns = |flow: usize| -> u64 {
        scenario.flows[flow].path.iter().map(|&link| scenario.links[link as usize].delay_ns).sum()
    };
    assert_eq!([delays_ns(0), delays_ns(1)], [32_000_000; 2]);
    assert_eq!(scenario.links[2].buffer_pkts, Some((10e6 * 0.064 / 8.0 / 1514.0_f64).round() as u32));
    let without_exits =
        read(&LOT.replace("hops = 3", "hops = 1\nexit = false").replace("over = 2", "over = 1"));
    let without_exits = without_exits.unwrap();
    assert_eq!(names(&without_exits, &without_exits.flows[1].path), ["access-1", "hop-1"]);
}

#[test]
fn rates_may_be_in_bits_per_second_and_a_dumbbell_may_have_an_rtt() {
    let text = "[dumbbell]\nrate = '1.5 Gbit/s'\nrtt = '81 ms'\nbuffer = '1 MB'\n[[flows]]\ncca = 'reno'\n";
    let bottleneck = &read(text).unwrap().links[1];
    assert_eq!((bottleneck.rate_bps, bottleneck.delay_ns), (1_500_000_000, 40_500_000));
    assert_eq!((bottleneck.buffer_pkts, bottleneck.buffer_bytes), (None, Some(1_000_000)));
    let both = read(&text.replace("rtt =", "delay = '1 ms'\nrtt ="));
    assert_eq!(both.unwrap_err(), "bad.toml:4: dumbbell.rtt: both 'delay' and 'rtt'; give one of them");
}

/// Text that is replaced in `NETWORK`, what is written instead, and the error after `bad.toml:`.
#[rustfmt::skip]
const OF_NETWORK: &[(&str, &str, &str)] = &[
    ("name = \"core\"", "name = \"exit\"", "8: links[1].name: a second link 'exit'; another name"),
    ("name = \"core\"\n", "", "7: links[1].name: missing; give each link a name, like name = \"uplink\""),
    ("name = \"core\"", "name = \"\"", "8: links[1].name: '' is not a name; 1 to 100 printable characters"),
    ("name = \"core\"", "name = 5", "8: links[1].name: 5 is not a text; 1 to 100 printable characters"),
    ("delay = \"20 ms\"\n", "", "7: links[1].delay: missing; give it like delay = \"100 ms\", one way"),
    ("delay = \"20 ms\"", "delay = \"20 ms\"\naccess = {}", "11: links[1].access: unknown key; there are rate, queue, delay, buffer, per, ecn_threshold, loss, jitter, reorder, duplicate, policer, losses, marks, name"),
    ("path = [\"core\"]", "path = [\"cor\"]", "30: flows[1].path[0]: there is no link 'cor'; did you mean 'core'?"),
    ("path = [\"core\"]", "path = []", "30: flows[1].path: an empty list; a list of names of [[links]]"),
    ("path = [\"core\"]", "path = \"core\"", "30: flows[1].path: 'core' is not a list; a list of names of [[links]]"),
    ("path = [\"core\"]", "path = [1]", "30: flows[1].path[0]: 1 is not a name; a list of names of [[links]]"),
    ("path = [\"core\"]", "path = [\"core\", \"exit\", \"core\"]", "30: flows[1].path[2]: 'core' a second time; each link once in a path"),
    ("path = [\"core\"]\n", "", "27: flows[1].path: missing; give it like path = [\"uplink\", \"core\"]"),
    ("path = [\"core\"]", "path = [\"exit\", \"core\"]", "30: flows[1].path[1]: the paths make a circle: core, exit, core again; paths that visit the links in one order; a link carries packets in one direction"),
    ("reverse_path = [\"back\"]", "reverse_path = [\"back\", \"exit\", \"core\"]", "26: flows[0].reverse_path[2]: the paths make a circle: core, exit, core again; paths that visit the links in one order; a link carries packets in one direction"),
    ("reverse_path = [\"back\"]", "reverse_path = [\"back\", \"back\"]", "26: flows[0].reverse_path[1]: 'back' a second time; each link once in a path"),
    ("reverse_path = [\"back\"]", "reverse_path = []", "26: flows[0].reverse_path: an empty list; a list of names of [[links]]"),
    ("reverse_path = [\"back\"]\n", "", "19: links[3].name: no flow crosses 'back'; leave it out, or name it in the 'path' of [[flows]]"),
    ("path = [\"core\"]", "path = [\"core\"]\ndirection = \"up\"", "31: flows[1].direction: no link for this way; give [dumbbell] reverse = { ... }"),
    ("path = [\"core\"]", "path = [\"core\"]\naccess_delay = \"1 ms\"", "31: flows[1].access_delay: [[links]] have no access links; use a [dumbbell], or leave it out"),
    ("path = [\"core\"]", "path = [\"core\"]\nover = 1", "31: flows[1].over: 'over' without a [parking_lot]; use a [parking_lot], or leave it out"),
    ("[[flows]]", "[dumbbell]\nrate = \"1 Mbps\"\ndelay = \"1 ms\"\nbuffer = 5\n[[flows]]", "2: links: both [dumbbell] and [[links]]; give one of them"),
    ("buffer = \"64 KiB\"", "buffer = \"1 KiB\"", "17: links[2].buffer: 1024 bytes, less than one packet of 1514; room for one packet at least"),
    ("buffer = \"64 KiB\"", "buffer = \"1 us\"", "17: links[2].buffer: 125 bytes, less than one packet of 1514; room for one packet at least"),
    ("buffer = \"64 KiB\"", "buffer = \"64 kib\"", "17: links[2].buffer: '64 kib' is not a buffer; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    ("buffer = \"64 KiB\"", "buffer = \"-64 KiB\"", "17: links[2].buffer: '-64 KiB' is out of range; '1 byte' to '1000 GB'"),
    ("buffer = \"64 KiB\"", "buffer = \"2 h\"", "17: links[2].buffer: '2 h' is not a buffer; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    ("buffer = \"64 KiB\"", "buffer = \"61 min\"", "17: links[2].buffer: '61 min' is out of range; '1 ns' to '60 min'"),
    ("buffer = \"64 KiB\"", "buffer = \"64 KiB\"\necn_threshold = 20", "17: links[2].buffer: a buffer in bytes beside an ECN threshold of 20 packets; a buffer in packets"),
    ("\n[[links]]\nname = \"exit\"", "duration = \"10 s\"\nwarmup = \"10 s\"\n[[links]]\nname = \"exit\"", "2: warmup: '10 s' is out of range; '0 s' to less than the duration, '10 s'"),
    ("\n[[links]]\nname = \"exit\"", "warmup = 5\n[[links]]\nname = \"exit\"", "1: warmup: 5 has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    ("\n[[links]]\nname = \"exit\"", "warmup = \"5 s\"\nend = \"last-arrival\"\n[[links]]\nname = \"exit\"", "1: warmup: a warmup with end = \"last-arrival\"; leave one of them out"),
];

#[rustfmt::skip]
const OF_LOT: &[(&str, &str, &str)] = &[
    ("hops = 3\n", "", "2: parking_lot.hops: missing; give it like hops = 3"),
    ("hops = 3", "hops = 0", "3: parking_lot.hops: 0 is out of range; 1 to 100"),
    ("hops = 3", "hops = \"all\"", "3: parking_lot.hops: 'all' is not a whole number; 1 to 100"),
    ("hops = 3", "hops = 3\nreverse = {}", "4: parking_lot.reverse: unknown key; there are rate, queue, delay, buffer, per, ecn_threshold, loss, jitter, reorder, duplicate, policer, losses, marks, access, exit, hops"),
    ("over = 2", "over = 4", "12: flows[1].over: there is no hop 4; 'all', or a hop from 1 to 3"),
    ("over = 2", "over = 0", "12: flows[1].over: there is no hop 0; 'all', or a hop from 1 to 3"),
    ("over = 2", "over = \"some\"", "12: flows[1].over: 'some' is not a hop; 'all', or a hop from 1 to 3"),
    ("over = 2", "over = [1, 2]", "12: flows[1].over: a list is not a hop; 'all', or a hop from 1 to 3"),
    ("over = 2", "path = [\"hop-1\"]", "12: flows[1].path: 'path' without [[links]]; use [[links]], or leave it out"),
    ("over = 2", "reverse_path = [\"hop-1\"]", "12: flows[1].reverse_path: 'reverse_path' without [[links]]; use [[links]], or leave it out"),
    ("over = 2", "direction = \"up\"", "12: flows[1].direction: no link for this way; give [dumbbell] reverse = { ... }"),
    ("[[flows]]", "[[chain]]\nrate = \"1 Mbps\"\ndelay = \"1 ms\"\nbuffer = 5\n[[flows]]", "2: parking_lot: both [[chain]] and [parking_lot]; give one of them"),
];

#[test]
fn every_fault_gets_the_line_of_the_table() {
    let tables = [(NETWORK, OF_NETWORK), (LOT, OF_LOT)];
    let mut wrong = Vec::new();
    for (valid, table) in tables {
        for (old, new, expected) in table {
            assert!(valid.contains(old), "{old}");
            let found = read(&valid.replacen(old, new, 1)).expect_err(new);
            if found != format!("bad.toml:{expected}") {
                wrong.push(format!("{new}\n  {found}\n  {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "written, found, expected:\n{}", wrong.join("\n"));
}
