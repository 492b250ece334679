//! The algorithm of each flow in this kernel: its own, or ours under a temporary name.

use crate::Error;
use cwnd_kernel::Host;
use cwnd_scenario::Scenario;
use std::path::Path;
use std::process;

/// Prefix of names that end with the process that loaded them, and a number.
const PREFIX: &str = "live_";

pub struct Loaded {
    /// By flow: what its socket chooses.
    pub names: Vec<String>,
    ours: Vec<String>,
}

impl Loaded {
    pub fn new(scenario: &Scenario) -> Result<Loaded, Error> {
        let host = Host::this();
        remove_stale(&host);
        let available = host.available();
        let mut made = Loaded { names: Vec::new(), ours: Vec::new() };
        for (index, flow) in scenario.flows.iter().enumerate() {
            let before = scenario.flows[..index].iter().position(|other| other.cca == flow.cca);
            if let Some(before) = before {
                made.names.push(made.names[before].clone());
                continue;
            }
            let (algorithm, params) = flow.cca.resolve().map_err(|_| {
                Error::Unsupported(format!(
                    "flows.cca: '{}' is not supported --on live; choose one of 'cwnd algorithms'",
                    flow.cca.name
                ))
            })?;
            let name = if flow.cca.is_as_in_linux() && available.contains(&algorithm.name) {
                algorithm.name.clone()
            } else {
                let name = format!("{PREFIX}{}_{}", process::id(), made.ours.len());
                cwnd_kernel::load(&host, &algorithm, &params, &name, false, true)
                    .map_err(Error::of("flows.cca"))?;
                made.ours.push(name.clone());
                name
            };
            made.names.push(name);
        }
        Ok(made)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let host = Host::this();
        for name in &self.ours {
            // What stays is removed by the next run.
            let _ = cwnd_kernel::unload(&host, name);
        }
    }
}

/// Unloads what processes have left that were killed.
fn remove_stale(host: &Host) {
    for name in cwnd_kernel::loaded(host) {
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('_').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = cwnd_kernel::unload(host, &name);
        }
    }
}
