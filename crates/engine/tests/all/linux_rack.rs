//! RACK against Linux's: bulk flows and transfers over small buffers, with random losses. `tests/linux/rack.py` makes the table.

#![allow(clippy::disallowed_methods, reason = "nothing here is compared to the last bit")]

use crate::common::answer_scenario;
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use rayon::prelude::*;

const SCENARIOS: [(&str, &str); 3] = [
    ("3KB", include_str!("../linux/rack-3KB.toml")),
    ("20KB", include_str!("../linux/rack-20KB.toml")),
    ("bulk", include_str!("../linux/rack-bulk.toml")),
];
const LINKS: usize = 12;
const SEEDS: u64 = 20;

/// Linux's values over a link of each buffer and loss, one for each seed.
struct Link {
    name: String,
    values: Vec<f64>,
}

fn linux(size: &str) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for line in include_str!("linux-rack.csv").lines().skip(1) {
        let [of, buffer, loss, _, value] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
        if of != size {
            continue;
        }
        let (name, value) = (format!("{size}, buffer {buffer}, loss {loss} %"), value.parse().unwrap());
        match links.iter_mut().find(|link| link.name == name) {
            Some(link) => link.values.push(value),
            None => links.push(Link { name, values: vec![value] }),
        }
    }
    assert_eq!(links.len(), LINKS);
    links
}

/// The goodput of the bulk flow of each link, or the geometric mean of its transfers' completion times.
fn of_links(run: &Run) -> Vec<f64> {
    let value = |flow: &cwnd_results::FlowResult| flow.fct_ms.unwrap_or(flow.goodput_mbps);
    let groups = run.flows.chunks(run.flows.len() / LINKS);
    groups
        .map(|flows| (flows.iter().map(|flow| value(flow).ln()).sum::<f64>() / flows.len() as f64).exp())
        .collect()
}

/// Results with several seeds.
#[derive(Debug)]
struct Seeds {
    least: f64,
    mean: f64,
    most: f64,
}

impl Seeds {
    fn of(values: impl Iterator<Item = f64>) -> Seeds {
        let values: Vec<f64> = values.collect();
        let [least, most] = [f64::min, f64::max].map(|of| values.iter().copied().reduce(of).unwrap());
        Seeds { least, mean: values.iter().sum::<f64>() / values.len() as f64, most }
    }

    fn band(&self) -> std::ops::RangeInclusive<f64> {
        self.least..=self.most
    }
}

/// Within 10 %, or one's mean within the band of the other's seeds.
#[test]
fn losses_in_short_and_long_transfers_cost_what_they_cost_in_linux() {
    let mut wrong = Vec::new();
    for (size, text) in SCENARIOS {
        let scenario = Scenario::from_toml(text, "rack.toml", &[]).unwrap();
        let runs: Vec<_> = (1..=SEEDS)
            .into_par_iter()
            .map(|seed| of_links(&answer_scenario(&scenario.clone().with(|scenario| scenario.seed = seed))))
            .collect();
        for (place, link) in linux(size).iter().enumerate() {
            let ours = Seeds::of(runs.iter().map(|run| run[place]));
            let theirs = Seeds::of(link.values.iter().copied());
            println!("{}: {ours:.4?}, Linux {theirs:.4?}", link.name);
            let near = (ours.mean / theirs.mean - 1.0).abs() <= 0.1;
            if !near && !ours.band().contains(&theirs.mean) && !theirs.band().contains(&ours.mean) {
                wrong.push(link.name.clone());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
