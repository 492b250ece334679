//! The results of `golden.csv` are what they were, to the byte: a rebuilt world gives the same answers.
//!
//! The file has the version of the results, then a hash of each run's, time series included, and some totals that show what
//! differs. `CWND_GOLDEN=write` replaces it; where results are meant to move, RESULTS_VERSION is raised before. The stacks'
//! own algorithms are those that need no cube root, whose last digit is the C library's.

#[path = "../../../../../tests/golden/rule.rs"]
mod rule;

use cwnd_quic_world::{Crypto, RESULTS_VERSION, Stack, run_with};
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use sha2::{Digest, Sha256};
use std::path::Path;

const HOME: &str = "crates/quic/world/src/lib.rs";
const HEAD: &str = "run,sha256,sent_pkts,delivered_pkts,lost_pkts,marked_pkts,goodput_mbps\n";

const PATH: &str = "rate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40";

/// The questions to each stack: a name, keys of the link, and flows. OWN stands for an algorithm of the stack.
const QUESTIONS: [(&str, &str, &str); 6] = [
    ("own", "per = 0.001", "[[flows]]\ncca = 'OWN'\ncount = 2"),
    ("cubic", "per = 0.001", "[[flows]]\ncca = 'cubic'\n[[flows]]\ncca = 'elastic'\nstart_jitter = '300 ms'"),
    (
        "transfer",
        "",
        "[[flows]]\ncca = 'reno'\nsize = '500 KB'\n[[flows]]\ncca = 'reno'\nstart = '1 s'\nstop = '2 s'",
    ),
    ("marks", "ecn_threshold = 20", "[[flows]]\ncca = 'OWN'\nstack = { ecn = 'classic' }"),
    ("reverse", "reverse = { rate = '1 Mbps', buffer = 50 }", "[[flows]]\ncca = 'vegas'"),
    ("tcp", "", "[[flows]]\ncca = 'cubic'\n[[flows]]\ncca = 'tcp:cubic'"),
];

fn answer(stack: Stack, crypto: Crypto, link: &str, flows: &str) -> Run {
    let own = if stack == Stack::S2nQuic { "bbr" } else { "newreno" };
    let flows = flows.replace("OWN", &format!("{}:{own}", stack.name()));
    let top = "duration = '3 s'\nwarmup = '500 ms'\nsamples = '10 ms'";
    let text = format!("{top}\n[dumbbell]\n{PATH}\n{link}\n{flows}");
    let scenario = Scenario::from_toml(&text, "golden.toml", &[]).unwrap();
    run_with(stack, crypto.into(), &scenario, 1, &|_| true).unwrap().unwrap()
}

/// Everything that a run answers.
fn text(run: &Run) -> String {
    let tables = serde_json::to_string(run).unwrap();
    let flows = &run.flow_samples;
    let flows = (
        (&flows.time_s, &flows.flow, &flows.cwnd_pkts, &flows.ssthresh_pkts),
        (&flows.in_flight_pkts, &flows.rtt_ms, &flows.throughput_mbps),
    );
    let links = (&run.link_samples.time_s, &run.link_samples.link, &run.link_samples.queue_pkts);
    let transfers = (&run.transfers.flow, &run.transfers.start_s, &run.transfers.fct_ms);
    format!("{tables}\n{flows:?}\n{links:?}\n{transfers:?}\n{:?}\n", run.notes)
}

fn row(name: &str, run: &Run) -> String {
    let digest = Sha256::digest(text(run));
    let hash = digest[..8].iter().fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
    let mut totals = [0; 4];
    for flow in &run.flows {
        let counts = [flow.sent_pkts, flow.delivered_pkts, flow.lost_pkts, flow.marked_pkts];
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    let [sent, delivered, lost, marked] = totals;
    let goodput_mbps: f64 = run.flows.iter().map(|flow| flow.goodput_mbps).sum();
    format!("{name},{hash},{sent},{delivered},{lost},{marked},{goodput_mbps:.6}\n")
}

#[test]
fn results_are_what_they_were() {
    let worlds = ["quinn", "quinn-tls", "noq", "noq-tls", "s2n-quic"];
    let mut rows = HEAD.to_owned();
    for world in worlds {
        let (stack, crypto) = Stack::in_world(world).unwrap();
        for (question, link, flows) in QUESTIONS {
            let name = format!("{world} {} {question}", stack.version());
            rows += &row(&name, &answer(stack, crypto, link, flows));
        }
    }
    let now = rule::with_version(RESULTS_VERSION, &rows);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/golden.csv");
    let before = std::fs::read_to_string(&file).unwrap();
    if std::env::var("CWND_GOLDEN").as_deref() == Ok("write") {
        rule::check_replacement(&before, &now, HOME).unwrap_or_else(|line| panic!("{line}"));
        std::fs::write(&file, &now).unwrap();
        return;
    }
    rule::compare(&before, &now, HOME).unwrap_or_else(|line| panic!("{line}"));
}
