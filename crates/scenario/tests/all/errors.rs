//! Error messages for a person who wrote something wrong: one line that says where, what and how it should be.

use cwnd_scenario::Scenario;

const DURATION: &str = r#"duration = "100 s""#;
const RATE: &str = r#"rate = "1 Gbps""#;
const DELAY: &str = r#"delay = "100 ms""#;
const BUFFER: &str = r#"buffer = "6400 packets""#;
const CCA: &str = r#"cca = "reno""#;
const COUNT: &str = "count = 4";
const LINKS: &str = "[dumbbell]\nrate = \"1 Gbps\"\ndelay = \"100 ms\"\nbuffer = \"6400 packets\"\n";
const FLOWS: &str = "[[flows]]\ncca = \"reno\"\ncount = 4\n";

/// A part of a valid text, its replacement, and the error after `bad.toml:`.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &str)] = &[
    (RATE, "rate = 1 Gbps", "4: not valid TOML; string values must be quoted, expected literal string"),
    (RATE, r#"rate = "1 Gbps"#, r#"4: not valid TOML; invalid basic string, expected `"`"#),
    (RATE, "rate = \"1 Gbps\"\nrate = \"2 Gbps\"", "5: not valid TOML; duplicate key"),
    ("[dumbbell]", "[dumbbell", "3: not valid TOML; unclosed table, expected `]`"),
    (DURATION, "= 5", "1: not valid TOML; unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"),
    (DURATION, "a = [[[[", "4: not valid TOML; missing comma between array elements, expected `,`"),
    (DURATION, r#"name = "\u0000""#, r#"1: name: '\0' is not a name; 1 to 100 printable characters"#),
    (DELAY, r#"dealy = "100 ms""#, "5: dumbbell.dealy: unknown key; did you mean 'delay'?"),
    (DELAY, "delay = \"100 ms\"\nlatency = \"1 ms\"", "6: dumbbell.latency: unknown key; there are rate, rtt, queue, delay, buffer, per, ecn_threshold, loss, jitter, reorder, duplicate, policer, losses, marks, suspension, aggregation, access, exit, reverse"),
    (DURATION, r#"duraton = "1 s""#, "1: duraton: unknown key; did you mean 'duration'?"),
    (DURATION, r#""a\nb\u2028" = 1"#, r#"1: a\nb\u{2028}: unknown key; there are name, label, duration, warmup, seed, repeat, samples, samples_by, clock, end, stack, dumbbell, chain, parking_lot, links, flows, expect"#),
    (COUNT, "cout = 4", "10: flows[0].cout: unknown key; did you mean 'count'?"),
    (COUNT, r#"stack = { profile = "ns2", min_rtt = "1 s" }"#, "10: flows[0].stack.min_rtt: unknown key; did you mean 'min_rto'?"),
    (BUFFER, "buffer = \"6400 packets\"\naccess = { per = 0.1 }", "7: dumbbell.access.per: unknown key; there are rate, delay, buffer"),
    (RATE, "", r#"3: dumbbell.rate: missing; give it like rate = "1 Gbps""#),
    (DELAY, "", r#"3: dumbbell.delay: missing; give it like delay = "100 ms", one way"#),
    (BUFFER, "", r#"3: dumbbell.buffer: missing; give it like buffer = "1 BDP" or "6400 packets""#),
    (CCA, "", r#"8: flows[0].cca: missing; give it like cca = "reno""#),
    (CCA, "cca = { beta = 0.5 }", r#"9: flows[0].cca.name: missing; give it like name = "reno""#),
    ("[dumbbell]", "dumbbell = 5\n[dumbell]", "4: dumbell: unknown key; did you mean 'dumbbell'?"),
    ("[dumbbell]\n", "[[dumbbell]]\n", "3: dumbbell: a list is not a table; write key = value pairs"),
    ("[[flows]]", "[flows]", "8: flows: a table is not a list of tables; write [[flows]], once for each"),
    (FLOWS, "", "1: flows: missing; give them as [[flows]]"),
    (LINKS, "", "1: dumbbell: missing; give the links as [dumbbell], [[chain]], [parking_lot] or [[links]]"),
    (LINKS, "[[chain]]\nrate = \"1 Gbps\"\ndelay = \"100 ms\"\nbuffer = \"6400 packets\"\n[[chain]]\n", r#"7: chain[1].rate: missing; give it like rate = "1 Gbps""#),
    (LINKS, "[dumbbell]\nrate = \"1 Gbps\"\ndelay = \"100 ms\"\nbuffer = \"6400 packets\"\n[[chain]]\nrate = \"1 Gbps\"\ndelay = \"100 ms\"\nbuffer = \"6400 packets\"\n", "7: chain: both [dumbbell] and [[chain]]; give one of them"),
    (LINKS, "chain = []\n", "3: chain: an empty list; write [[chain]], once for each"),
    (RATE, "rate = 1000000000", "4: dumbbell.rate: 1000000000 has no unit; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "1000000000""#, "4: dumbbell.rate: '1000000000' has no unit; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "1 GBps""#, "4: dumbbell.rate: '1 GBps' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "0 Gbps""#, "4: dumbbell.rate: '0 Gbps' is out of range; '1 bps' to '100 Tbps'"),
    (RATE, r#"rate = "101 Tbps""#, "4: dumbbell.rate: '101 Tbps' is out of range; '1 bps' to '100 Tbps'"),
    (RATE, r#"rate = "-1 Gbps""#, "4: dumbbell.rate: '-1 Gbps' is out of range; '1 bps' to '100 Tbps'"),
    (RATE, r#"rate = "fast""#, "4: dumbbell.rate: 'fast' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "1e999999999999 Gbps""#, "4: dumbbell.rate: '1e999999999999 Gbps' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "1e300 Gbps""#, "4: dumbbell.rate: '1e300 Gbps' is out of range; '1 bps' to '100 Tbps'"),
    (RATE, "rate = 2024-01-01", "4: dumbbell.rate: 2024-01-01 is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, "rate = true", "4: dumbbell.rate: true is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, "rate = []", "4: dumbbell.rate: a list is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, "rate = { }", "4: dumbbell.rate: a table is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = """#, "4: dumbbell.rate: '' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "1,5 Gbps""#, "4: dumbbell.rate: '1,5 Gbps' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx""#, "4: dumbbell.rate: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (RATE, r#"rate = "1\n2""#, r#"4: dumbbell.rate: '1\n2' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"#),
    (DELAY, r#"delay = "100 furlongs""#, "5: dumbbell.delay: '100 furlongs' is not a time; write it like '100 ms' (ns, us, ms, s, min)"),
    (DELAY, "delay = 100", "5: dumbbell.delay: 100 has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    (DELAY, "delay = 0.1", "5: dumbbell.delay: 0.1 has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    (DELAY, r#"delay = "61 min""#, "5: dumbbell.delay: '61 min' is out of range; '0 s' to '60 min'"),
    (DELAY, r#"delay = "-1 ms""#, "5: dumbbell.delay: '-1 ms' is out of range; '0 s' to '60 min'"),
    (DELAY, "delay = inf", "5: dumbbell.delay: inf is not a time; write it like '100 ms' (ns, us, ms, s, min)"),
    (DURATION, r#"duration = "0 s""#, "1: duration: '0 s' is out of range; more than 0, at most 10 days ('14400 min')"),
    (DURATION, r#"duration = "0.4 ns""#, "1: duration: '0.4 ns' is out of range; more than 0, at most 10 days ('14400 min')"),
    (DURATION, r#"duration = "14401 min""#, "1: duration: '14401 min' is out of range; more than 0, at most 10 days ('14400 min')"),
    (DURATION, r#"duration = "2 h""#, "1: duration: '2 h' is not a time; write it like '100 ms' (ns, us, ms, s, min)"),
    (BUFFER, "buffer = 0", "6: dumbbell.buffer: 0 is out of range; 1 to 2147483647 packets, or 'unlimited'"),
    (BUFFER, "buffer = -5", "6: dumbbell.buffer: -5 is out of range; 1 to 2147483647 packets, or 'unlimited'"),
    (BUFFER, "buffer = 2147483648", "6: dumbbell.buffer: 2147483648 is out of range; 1 to 2147483647 packets, or 'unlimited'"),
    (BUFFER, r#"buffer = "1 litre""#, "6: dumbbell.buffer: '1 litre' is not a buffer; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    (BUFFER, r#"buffer = "1.5 packets""#, "6: dumbbell.buffer: '1.5 packets' is not a whole number; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    (BUFFER, "buffer = 1.5", "6: dumbbell.buffer: 1.5 is not a whole number; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    (BUFFER, r#"buffer = "0 BDP""#, "6: dumbbell.buffer: '0 BDP' is out of range; 1 to 2147483647 packets, or 'unlimited'"),
    (BUFFER, r#"buffer = "1e-9 BDP""#, "6: dumbbell.buffer: less than one packet on this path; 1 to 2147483647 packets, or 'unlimited'"),
    (BUFFER, r#"buffer = "1e9 BDP""#, "6: dumbbell.buffer: more packets than a buffer can have; 1 to 2147483647 packets, or 'unlimited'"),
    (BUFFER, r#"buffer = "infinite""#, "6: dumbbell.buffer: 'infinite' is not a buffer; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    (BUFFER, r#"buffer = "BDP""#, "6: dumbbell.buffer: 'BDP' is not a buffer; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    (BUFFER, "buffer = \"6400 packets\"\nper = 1", "7: dumbbell.per: with 1 nothing would arrive; write a number from 0 to less than 1, like 1e-5 or '0.001%'"),
    (BUFFER, "buffer = \"6400 packets\"\nper = 1.0", "7: dumbbell.per: with 1.0 nothing would arrive; write a number from 0 to less than 1, like 1e-5 or '0.001%'"),
    (BUFFER, "buffer = \"6400 packets\"\nper = 1.5", "7: dumbbell.per: 1.5 is not a probability; write a number from 0 to less than 1, like 1e-5 or '0.001%'"),
    (BUFFER, "buffer = \"6400 packets\"\nper = nan", "7: dumbbell.per: nan is not a probability; write a number from 0 to less than 1, like 1e-5 or '0.001%'"),
    (BUFFER, "buffer = \"6400 packets\"\nper = inf", "7: dumbbell.per: inf is not a probability; write a number from 0 to less than 1, like 1e-5 or '0.001%'"),
    (BUFFER, "buffer = \"6400 packets\"\nper = -0.1", "7: dumbbell.per: -0.1 is not a probability; write a number from 0 to less than 1, like 1e-5 or '0.001%'"),
    (BUFFER, "buffer = \"6400 packets\"\nper = \"1e-5\"", "7: dumbbell.per: '1e-5' is not a number; write a number from 0 to less than 1, like 1e-5 or '0.001%'"),
    (COUNT, "count = 0", "10: flows[0].count: 0 is out of range; 1 to 4000000"),
    (COUNT, "count = 4000001", "10: flows[0].count: 4000001 is out of range; 1 to 4000000"),
    (COUNT, "count = 4.0", "10: flows[0].count: 4.0 is not a whole number; 1 to 4000000"),
    (COUNT, "count = -1", "10: flows[0].count: -1 is out of range; 1 to 4000000"),
    (COUNT, "count = 2_000_001\n[[flows]]\ncca = \"reno\"\ncount = 2_000_000\n", "13: flows[1].count: more than 4000000 flows in all; fewer: a run takes some 3 kB of memory for each"),
    (COUNT, r#"packet = "1 KB""#, "10: flows[0].packet: '1 KB' is not a size in bytes; write it in bytes, like 1448 or '1448 bytes'"),
    (COUNT, "packet = 0", "10: flows[0].packet: 0 is out of range; 1 to 65000 bytes"),
    (COUNT, "packet = 65001", "10: flows[0].packet: 65001 is out of range; 1 to 65000 bytes"),
    (COUNT, r#"packet = "1000 packets""#, "10: flows[0].packet: '1000 packets' is not a size in bytes; write it in bytes, like 1448 or '1448 bytes'"),
    (COUNT, r#"start = "100 s""#, "10: flows[0].start: would start at 100 s and stop at 100 s; each flow starts before it stops"),
    (COUNT, r#"start = "101 s""#, "10: flows[0].start: '101 s' is out of range; '0 s' to the duration, '100 s'"),
    (COUNT, r#"stop = "101 s""#, "10: flows[0].stop: '101 s' is out of range; '0 s' to the duration, '100 s'"),
    (COUNT, "start = \"5 s\"\nstop = \"5 s\"", "11: flows[0].stop: would start at 5 s and stop at 5 s; each flow starts before it stops"),
    (COUNT, "count = 3\nstagger = \"50 s\"", "11: flows[0].stagger: flow 3 of 3 would start at 100 s and stop at 100 s; each flow starts before it stops"),
    (COUNT, "count = 11\nstagger = \"5 s\"\nstop_stagger = \"5 s\"", "11: flows[0].stagger: flow 11 of 11 would start at 50 s and stop at 50 s; each flow starts before it stops"),
    (COUNT, "start = \"60 s\"\nstart_jitter = \"50 s\"", "11: flows[0].start_jitter: would start at 110 s and stop at 100 s; each flow starts before it stops"),
    (COUNT, "count = 100000\nstagger = \"100 s\"", "11: flows[0].stagger: flow 100000 of 100000 would start at 9999900 s and stop at 100 s; each flow starts before it stops"),
    (COUNT, "start = 5", "10: flows[0].start: 5 has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    ("[dumbbell]\nrate = \"1 Gbps\"\ndelay = \"100 ms\"\nbuffer = \"6400 packets\"\n\n[[flows]]\ncca = \"reno\"\ncount = 4\n", "[[chain]]\nrate = \"1 Gbps\"\ndelay = \"100 ms\"\nbuffer = \"6400 packets\"\n\n[[flows]]\ncca = \"reno\"\ncount = 4\naccess_delay = \"1 ms\"\n", "11: flows[0].access_delay: a [[chain]] has no access links; use a [dumbbell], or leave it out"),
    (CCA, r#"cca = "renno""#, "9: flows[0].cca: unknown algorithm 'renno'; did you mean 'reno'?"),
    (CCA, r#"cca = "tcp:renno""#, "9: flows[0].cca: unknown algorithm 'tcp:renno'; did you mean 'tcp:reno'?"),
    (CCA, "cca = 5", r#"9: flows[0].cca: 5 is not an algorithm; give it like cca = "reno""#),
    (CCA, "cca = { name = 5 }", r#"9: flows[0].cca.name: 5 is not an algorithm; give it like cca = "reno""#),
    (CCA, r#"cca = { name = "mind" }"#, "9: flows[0].cca.name: unknown algorithm 'mind'; did you mean 'mine'?"),
    (CCA, r#"cca = { name = "reno", bta = 0.5 }"#, "9: flows[0].cca.bta: unknown parameter; there are variant, slow_start"),
    (CCA, r#"cca = { name = "reno", beta = 5 }"#, "9: flows[0].cca.beta: unknown parameter; there are variant, slow_start"),
    (CCA, r#"cca = { name = "reno", variant = "paper3" }"#, "9: flows[0].cca.variant: 'paper3' is not accepted; spec, ns2, ns2-agent, ns2-no-module"),
    (CCA, r#"cca = { name = "reno", beta = "a\nb" }"#, "9: flows[0].cca.beta: unknown parameter; there are variant, slow_start"),
    (CCA, r#"cca = { name = "reno", beta = [] }"#, "9: flows[0].cca.beta: a list is not a parameter's value; a number or a text"),
    (CCA, r#"cca = { name = "mine", x = {} }"#, "9: flows[0].cca.x: a table is not a parameter's value; a number or a text"),
    (CCA, r#"cca = { name = "mine", "x\ny" = 1979-05-27 }"#, r#"9: flows[0].cca.x\ny: 1979-05-27 is not a parameter's value; a number or a text"#),
    (DURATION, r#"stack = "windows""#, "1: stack: 'windows' is not a stack profile; there are 'linux' and 'ns2'"),
    (DURATION, "stack = 5", "1: stack: 5 is not a stack; write a profile like 'ns2', or key = value pairs"),
    (DURATION, r#"stack = { profile = "freebsd" }"#, "1: stack.profile: 'freebsd' is not a stack profile; there are 'linux' and 'ns2'"),
    (DURATION, r#"stack.recovery = "cubic""#, "1: stack.recovery: 'cubic' is not a recovery; there are tahoe, reno, newreno, vegas, sack, fack, prr, rate-halving"),
    (DURATION, r#"stack.recovery = "srack""#, "1: stack.recovery: 'srack' is not a recovery; did you mean 'sack'?"),
    (DURATION, "stack.initial_window = 0", "1: stack.initial_window: 0 is out of range; 1 to 1000 packets"),
    (DURATION, r#"stack.initial_window = "2 bytes""#, "1: stack.initial_window: '2 bytes' is not a number of packets; write it like 10 or '10 packets'"),
    (DURATION, "stack.header = 0", "1: stack.header: 0 is out of range; 1 to 1000 bytes"),
    (DURATION, "stack.ack_every = 0", "1: stack.ack_every: 0 is out of range; 1 to 1000"),
    (DURATION, r#"stack.timestamps = "yes""#, "1: stack.timestamps: 'yes' is not true or false; write true or false"),
    (DURATION, r#"stack.min_rto = "121 s""#, "1: stack.min_rto: min_rto would be above max_rto; min_rto and initial_rto are at most max_rto (120 s)"),
    (DURATION, r#"stack.max_rto = "500 ms""#, "1: stack.max_rto: initial_rto would be above max_rto; min_rto and initial_rto are at most max_rto (500 ms)"),
    (COUNT, r#"stack.initial_rto = "10 us""#, "10: flows[0].stack.initial_rto: '10 us' is out of range; '1 ms' to '60 min'"),
    (DURATION, r#"stack.receive_window = "64 ms""#, "1: stack.receive_window: '64 ms' is not a number of packets; write it like 50, '50 packets' or 'unlimited'"),
    (DURATION, "seed = -1", "1: seed: -1 is out of range; 0 to 9223372036854775807"),
    (DURATION, "seed = 9223372036854775808", "1: seed: 9223372036854775808 is out of range; 0 to 9223372036854775807"),
    (DURATION, r#"seed = "one""#, "1: seed: 'one' is not a whole number; 0 to 9223372036854775807"),
    (DURATION, "repeat = 0", "1: repeat: 0 is out of range; 1 to 1000000"),
    (DURATION, "repeat = 1000001", "1: repeat: 1000001 is out of range; 1 to 1000000"),
    (DURATION, r#"name = """#, "1: name: '' is not a name; 1 to 100 printable characters"),
    (DURATION, "name = 5", "1: name: 5 is not a text; 1 to 100 printable characters"),
    (DURATION, r#"name = "two\nlines""#, r#"1: name: 'two\nlines' is not a name; 1 to 100 printable characters"#),
    (DURATION, r#"clock = "ntp""#, "1: clock: 'ntp' is not a clock; 'nanoseconds' or 'ns2'"),
    (DURATION, r#"end = "never""#, "1: end: 'never' is not an end; 'duration' or 'last-arrival'"),
    (DURATION, "samples = 0", "1: samples: 0 is out of range; 1 to 1000000"),
    (DURATION, r#"samples = "every""#, "1: samples: 'every' is not a choice of samples; a number of intervals like 100, an interval like '100 ms', 'change' or 'off'"),
    (DURATION, r#"samples = "1 ns""#, "1: samples: '1 ns' is out of range; '1 us' to '14400 min'"),
    (DURATION, r#"samples = "100""#, "1: samples: '100' has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    (DURATION, "samples = true", "1: samples: true is not a choice of samples; a number of intervals like 100, an interval like '100 ms', 'change' or 'off'"),
    (DURATION, r#"samples = "10 us""#, "1: samples: 10000000 intervals; at most 1000000"),
    (DURATION, "duration = \"50 us\"\nsamples = 51", "2: samples: too many intervals for this duration; at most 50: an interval is at least 1 us"),
    (COUNT, "count = 4_000_000\n[[flows]]\ncca = \"reno\"", "8: flows: more than 4000000 flows in all; fewer: a run takes some 3 kB of memory for each"),
    (DURATION, "duration = \"50 us\"\nsamples = 100", "2: samples: too many intervals for this duration; at most 50: an interval is at least 1 us"),
    (DELAY, r#"bandwidth = "1 Gbps""#, "5: dumbbell.bandwidth: unknown key; there are rate, rtt, queue, delay, buffer, per, ecn_threshold, loss, jitter, reorder, duplicate, policer, losses, marks, suspension, aggregation, access, exit, reverse"),
    (DURATION, r#"samples = "100 h""#, "1: samples: '100 h' is not a time; write it like '100 ms' (ns, us, ms, s, min)"),
    (BUFFER, r#"buffer = "1e300 BDP""#, "6: dumbbell.buffer: more packets than a buffer can have; 1 to 2147483647 packets, or 'unlimited'"),
    (BUFFER, "buffer = \"6400 packets\"\naccess = \"fast\"", "7: dumbbell.access: 'fast' is not a table; write key = value pairs"),
    (BUFFER, "buffer = \"6400 packets\"\naccess = { buffer = \"2 XB\" }", "7: dumbbell.access.buffer: '2 XB' is not a buffer; write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'"),
    (COUNT, "access_delay = 5", "10: flows[0].access_delay: 5 has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    (COUNT, "stack = [1]", "10: flows[0].stack: a list is not a stack; write a profile like 'ns2', or key = value pairs"),
    (COUNT, r#"packet = "1448.5 bytes""#, "10: flows[0].packet: '1448.5 bytes' is not a whole number; write it in bytes, like 1448 or '1448 bytes'"),
    (DURATION, r#"samples_by = "link""#, "1: samples_by: 'link' is not a choice; 'flow' or 'group'"),
    (DURATION, "samples_by = 2", "1: samples_by: 2 is not a choice; 'flow' or 'group'"),
    (DURATION, "samples = \"change\"\nsamples_by = \"group\"", "2: samples_by: 'group' with samples by change; 'flow', or samples at intervals"),
    (DURATION, "samples = 1000001", "1: samples: 1000001 is out of range; 1 to 1000000"),
    (LINKS, "[chain]\nrate = \"1 Gbps\"\ndelay = \"100 ms\"\nbuffer = \"6400 packets\"\n", "3: chain: a table is not a list of tables; write [[chain]], once for each"),
    (FLOWS, "flows = 5\n", "8: dumbbell.flows: unknown key; there are rate, rtt, queue, delay, buffer, per, ecn_threshold, loss, jitter, reorder, duplicate, policer, losses, marks, suspension, aggregation, access, exit, reverse"),
    (DURATION, "flows = []\n\n", "10: not valid TOML; duplicate key"),
    (DURATION, r#""" = 1"#, "1: unknown key; there are name, label, duration, warmup, seed, repeat, samples, samples_by, clock, end, stack, dumbbell, chain, parking_lot, links, flows, expect"),
    (DURATION, r#"dumbbell.rate = "1 Gbps""#, "3: not valid TOML; duplicate key"),
    (COUNT, r#"on = "1 s""#, "10: flows[0].on: 'on' and 'off' belong together; give both, or neither"),
    (COUNT, r#"off = "1 s""#, "10: flows[0].off: 'on' and 'off' belong together; give both, or neither"),
    (COUNT, "on = \"0 s\"\noff = \"1 s\"", "10: flows[0].on: '0 s' is out of range; '1 us' to '1440 min'"),
    (COUNT, "on = \"1 s\"\noff = 5", "11: flows[0].off: 5 has no unit; write it like '100 ms' (ns, us, ms, s, min)"),
    (COUNT, "app_rate = 10", "10: flows[0].app_rate: 10 has no unit; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (COUNT, r#"app_rate = "10 MB""#, "10: flows[0].app_rate: '10 MB' is not a rate; write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)"),
    (BUFFER, "buffer = 10\necn_threshold = \"1 BDP\"", "7: dumbbell.ecn_threshold: '1 BDP' is not a number of packets; write it like 50, '50 packets' or 'unlimited'"),
    (BUFFER, "buffer = 10\naccess = { ecn_threshold = 5 }", "7: dumbbell.access.ecn_threshold: unknown key; there are rate, delay, buffer"),
    (DURATION, r#"stack.ecn = "on""#, "1: stack.ecn: 'on' is not a kind of ECN; there are off, classic, dctcp, accurate, l4s"),
    (DURATION, "stack.receive_window = '1 KB'", "1: stack.receive_window: '1 KB', less than one packet of 1448 bytes; room for one packet at least"),
    (DURATION, "stack.rate_limited = true", "1: stack.rate_limited: true is not a rule for a window that is not used; 'own' or 'draft'"),
    (DURATION, "stack.idle_restart = 1", "1: stack.idle_restart: 1 is not true or false; write true or false"),
    (DURATION, r#"stack.initial_ssthresh = "10 KB""#, "1: stack.initial_ssthresh: '10 KB' is not a number of packets; write it like 50, '50 packets' or 'unlimited'"),
    (DURATION, r#"stack.recovery = "newrno""#, "1: stack.recovery: 'newrno' is not a recovery; did you mean 'newreno'?"),
    (CCA, r#"cca = "taho""#, "9: flows[0].cca: unknown algorithm 'taho'; did you mean 'tahoe'?"),
    (CCA, r#"cca = { name = "tahoe", beta = 0.5 }"#, "9: flows[0].cca.beta: unknown parameter; there are variant, slow_start"),
];

fn valid() -> String {
    format!("{DURATION}\n\n{LINKS}\n{FLOWS}")
}

fn refusal(text: &str) -> String {
    match Scenario::from_toml(text, "bad.toml", &["mine"]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_clock_of_ns2_is_refused_where_its_doubles_cannot_tell_packets_apart() {
    let text = |rate: &str, duration: &str| {
        let link = format!("[[chain]]\nrate = '{rate}'\ndelay = '0 s'\nbuffer = 9\n");
        format!("clock = 'ns2'\nduration = '{duration}'\n{link}[[flows]]\ncca = 'reno'\n")
    };
    assert_eq!(
        refusal(&text("10 Tbps", "100 min")),
        "bad.toml:1: clock: a packet takes 1.2e-9 s, and doubles are rounded by 1.3e-12 s; \
         'nanoseconds', a lower rate or a shorter duration"
    );
    for (rate, duration) in [("10 Tbps", "100 s"), ("100 Gbps", "100 min"), ("10 Gbps", "14400 min")] {
        Scenario::from_toml(&text(rate, duration), "good.toml", &[]).unwrap();
    }
}

#[test]
fn the_text_that_the_table_spoils_is_valid() {
    Scenario::from_toml(&valid(), "good.toml", &[]).unwrap();
}

#[test]
fn every_fault_gets_the_line_of_the_table() {
    let wrong: Vec<String> = TABLE
        .iter()
        .filter_map(|(old, new, expected)| {
            assert!(valid().contains(old), "{old}");
            let found = refusal(&valid().replacen(old, new, 1));
            (found != format!("bad.toml:{expected}")).then(|| format!("{new}\n  {found}\n  {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "written, found, expected:\n{}", wrong.join("\n"));
}

#[test]
fn an_algorithm_like_no_other_gets_the_list_of_all() {
    let line = refusal(&valid().replace("reno", "quux"));
    assert!(
        line.starts_with("bad.toml:9: flows[0].cca: unknown algorithm 'quux'; there are mine, reno"),
        "{line}"
    );
}

#[test]
fn a_parameter_out_of_range_gets_its_range() {
    let line = refusal(&valid().replace(CCA, "cca = { name = 'cubic', beta = 5 }"));
    assert!(line.starts_with("bad.toml:9: flows[0].cca.beta: '5' is not accepted; 0.5 to "), "{line}");
    let line = refusal(&valid().replace(CCA, "cca = { name = 'cubic', bta = 0.5 }"));
    assert_eq!(line, "bad.toml:9: flows[0].cca.bta: unknown parameter; did you mean 'beta'?");
}

#[test]
fn a_file_name_cannot_break_the_line() {
    let error = Scenario::from_toml("", "a\nb\u{2028}.toml", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a\\nb\\u{2028}.toml:1: dumbbell: missing; give the links as [dumbbell], [[chain]], [parking_lot] or [[links]]"
    );
}
