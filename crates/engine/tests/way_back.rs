//! ACKs that cross links on their way back.

mod common;

use common::{answer_scenario, read};
use cwnd_results::Run;
use cwnd_scenario::{Clock, End, Link, Scenario, Sweep};
use std::path::Path;

/// The same scenario, with ACKs that cross a link back of its own for each shared link of their path: as fast, as long,
/// and without a limit.
fn with_links_back(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    let shared: Vec<u32> = (0..scenario.links.len() as u32)
        .filter(|link| scenario.flows.iter().filter(|flow| flow.path.contains(link)).count() > 1)
        .collect();
    let shared = if shared.is_empty() { scenario.flows[0].path.clone() } else { shared };
    let first_back = scenario.links.len() as u32;
    for &link in shared.iter().rev() {
        let forward = &scenario.links[link as usize];
        let name = format!("back-{link}");
        let (rate_bps, delay_ns) = (forward.rate_bps, forward.delay_ns);
        scenario.links.push(Link { name, rate_bps, delay_ns, ..Link::default() });
    }
    for flow in &mut scenario.flows {
        for (place, link) in (0..).zip(shared.iter().rev()).filter(|(_, link)| flow.path.contains(link)) {
            let link = &scenario.links[*link as usize];
            flow.return_delay_ns -= link.delay_ns + link.sending_ns(flow.stack.ack_bytes);
            flow.reverse_path.push(first_back + place);
        }
    }
    scenario.check().unwrap();
    scenario
}

/// All of the results but the links back.
fn without_links_back(mut run: Run) -> String {
    run.links.retain(|link| !link.link.starts_with("back-"));
    let links = run.links.len() as u32;
    let samples = &mut run.link_samples;
    let kept: Vec<usize> = (0..samples.link.len()).filter(|&row| samples.link[row] < links).collect();
    samples.time_s = kept.iter().map(|&row| samples.time_s[row]).collect();
    samples.queue_pkts = kept.iter().map(|&row| samples.queue_pkts[row]).collect();
    samples.link = kept.iter().map(|&row| samples.link[row]).collect();
    format!("{run:#?}")
}

const ONE_FLOW: &str = r#"
    duration = "20 s"
    samples = "change"
    [dumbbell]
    rate = "20 Mbps"
    delay = "15 ms"
    buffer = 40
    per = 1e-3
    [[flows]]
    cca = "CCA"
"#;

#[test]
fn an_empty_way_back_gives_what_the_constant_gives() {
    for cca in ["reno", "cubic", "bbr", "vegas", "elastic", "newreno"] {
        for duplex in [ONE_FLOW.to_owned(), format!("{ONE_FLOW}start = '1 s'\n[[flows]]\ncca = 'cubic'\n")] {
            let scenario = read(&duplex.replace("CCA", cca));
            let back = answer_scenario(&with_links_back(&scenario));
            let (back, constant) = (without_links_back(back), without_links_back(answer_scenario(&scenario)));
            let differ = back.lines().zip(constant.lines()).find(|(one, other)| one != other);
            assert_eq!(differ, None, "{cca}");
        }
    }
}

/// Whether ACKs waited for one another on a way back.
fn waited(run: &Run) -> bool {
    run.links.iter().any(|link| link.link.starts_with("back-") && link.max_queue_pkts > 1)
}

#[test]
fn so_it_does_for_golden_scenarios_unless_acks_wait_for_one_another() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut compared = 0;
    for file in ["algorithms", "applications", "chains", "habits", "random", "recoveries"] {
        let text = std::fs::read_to_string(folder.join(file).with_extension("toml")).unwrap();
        for point in Sweep::from_toml(&text, file, &[]).unwrap().points {
            let scenario = point.scenario;
            if scenario.clock == Clock::Ns2 || scenario.end != End::Duration {
                continue;
            }
            let back = answer_scenario(&with_links_back(&scenario));
            if waited(&back) {
                continue;
            }
            let (back, constant) = (without_links_back(back), without_links_back(answer_scenario(&scenario)));
            let differ = back.lines().zip(constant.lines()).find(|(one, other)| one != other);
            assert_eq!(differ, None, "{file} {:?}", point.values);
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared}");
}
