//! The error-free cells of the Discrete TCP paper, Tables 2 to 4: what ns-2.35 gives for every one of them.

mod common;

use common::answer;

/// The paper's name, and how it is run here.
const VARIANTS: [(&str, &str); 7] = [
    ("SACK", "cca = 'sack'"),
    ("Vegas", "cca = { name = 'vegas', arithmetic = 'agent' }
stack = { recovery = 'reno', handshake = true, restart_at_half_ssthresh = false }"),
    ("Linux", "cca = 'linux'"),
    ("FACK", "cca = 'fack'"),
    ("FS", "cca = 'fast-start'"),
    ("Reno", "cca = { name = 'reno', arithmetic = 'ns2' }\nstack = { recovery = 'reno', handshake = true }"),
    ("DTCP", "cca = { name = 'discrete', cut = 'raw' }"),
];

const TABLE_2: &str = "[[chain]]
rate = '100 Mbps'
delay = '50 ms'
buffer = 50
[[chain]]
rate = '100 Mbps'
delay = '50 ms'
buffer = 50
";
const TABLE_3: &str = "[dumbbell]
rate = '2 Mbps'
delay = '10 ms'
buffer = 50
access = { rate = '10 Mbps', delay = '1 ms', buffer = 50 }
exit = false
";
const TABLE_4: &str = "[dumbbell]
rate = '5 Mbps'
delay = '100 ms'
buffer = 50
access = { rate = '10 Mbps', delay = '1 ms', buffer = 50 }
";

/// The highest sequence number that each sender sent, as the paper counts.
fn sent(table: &str, flow: &str, count: u32) -> Vec<u64> {
    let linux = flow.contains("'linux'");
    let window = if linux { "initial_ssthresh = 50" } else { "receive_window = 50\ninitial_ssthresh = 50" };
    // Agent/TCP/Vegas sends 1500 bytes in all, without the 40 of the headers.
    let packet = if flow.contains("'vegas'") { 1460 } else { 1500 };
    let text = format!(
        "samples = 'off'
[stack]
profile = 'ns2'
timestamps = false
{window}
{table}
[[flows]]
packet = '{packet} bytes'
count = {count}
{flow}
"
    );
    answer(&text).flows.iter().map(|flow| flow.sent_pkts - flow.retransmitted_pkts - 1).collect()
}

#[test]
fn explore() {
    for (table, text, count) in [("2", TABLE_2, 1), ("3", TABLE_3, 2), ("4", TABLE_4, 2)] {
        for (name, flow) in VARIANTS {
            let sent = sent(text, flow, count);
            println!("table {table} {name}: {sent:?} {}", sent.iter().sum::<u64>());
        }
    }
}
