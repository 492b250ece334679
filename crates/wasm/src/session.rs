//! One run under way, with the scenario that it answers.

use crate::Error;
use cwnd_engine::{Simulation, until_last_arrival};
use cwnd_results::{Estimate, FlowSamples, GroupSamples, LinkSamples, Metrics, Run};
use cwnd_scenario::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::mem;
use std::sync::Arc;

/// A scenario with the files that it names.
#[derive(Deserialize)]
struct Request {
    toml: String,
    #[serde(default)]
    files: HashMap<String, String>,
}

/// Results that the command prints for a scenario, and the time series by column.
#[derive(Serialize)]
pub struct Answer {
    scenario: Scenario,
    runs: [Run; 1],
    summary: Metrics<Estimate>,
    world: Cow<'static, str>,
    flow_samples: FlowSamples,
    #[serde(skip_serializing_if = "GroupSamples::is_empty")]
    group_samples: GroupSamples,
    link_samples: LinkSamples,
}

pub struct Session {
    simulation: Simulation,
    scenario: Arc<Scenario>,
}

impl Session {
    /// # Errors
    ///
    /// The reader's line, `scenario:LINE: KEY: ...`.
    pub fn begin(request: &[u8]) -> Result<Session, Error> {
        let Request { toml, files } = serde_json::from_slice(request)?;
        let read = |name: &str| {
            files.get(name).cloned().ok_or_else(|| io::Error::other("the page has no such file"))
        };
        let scenario = Arc::new(Scenario::from_toml_with_files(&toml, "scenario", &[], &read)?);
        Ok(Session { simulation: simulate(Arc::clone(&scenario)), scenario })
    }

    /// Describes the scenario: every default and unit resolved, and the quantities that follow from them.
    pub fn describe(&self) -> Value {
        json!({ "scenario": &*self.scenario, "description": self.scenario.describe() })
    }

    /// # Errors
    ///
    /// If the run cannot go on.
    pub fn advance(&mut self, until_ns: u64) -> Result<(), Error> {
        Ok(self.simulation.advance(until_ns)?)
    }

    pub fn observe(&mut self) -> Value {
        let seen = self.simulation.observe();
        json!({
            "now_ns": seen.now_ns,
            "flows": seen.flows.iter().map(|flow| json!({
                "cwnd_pkts": flow.cwnd_pkts,
                "in_flight_pkts": flow.in_flight_pkts,
                "sent_pkts": flow.sent_pkts,
                "delivered_pkts": flow.delivered_pkts,
            })).collect::<Value>(),
            "links": seen.links.iter().map(|link| json!({ "queue_pkts": link.queue_pkts })).collect::<Value>(),
        })
    }

    /// # Errors
    ///
    /// If the run cannot go on to its end.
    pub fn finish(self) -> Result<Answer, Error> {
        let Session { simulation, scenario } = self;
        let mut run = simulation.finish()?;
        if let Some(shorter) = until_last_arrival(&scenario, &run) {
            run = simulate(Arc::new(shorter)).finish()?;
        }
        let summary = Metrics::estimate(&[Metrics::of(&scenario, &run.flows, &run.links)]);
        Ok(Answer {
            summary,
            world: run.world.clone(),
            flow_samples: mem::take(&mut run.flow_samples),
            group_samples: mem::take(&mut run.group_samples),
            link_samples: mem::take(&mut run.link_samples),
            runs: [run],
            scenario: Arc::unwrap_or_clone(scenario),
        })
    }
}

fn simulate(scenario: Arc<Scenario>) -> Simulation {
    let seed = scenario.seed;
    Simulation::new(scenario, seed, |_| None, Arc::default())
}
