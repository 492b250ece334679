//! Keys of runs: hashes of everything that a run depends on.

use cwnd_scenario::Scenario;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The keys of one scenario's runs: their common part is hashed once. A key is 32 hex digits, a hash of the scenario
/// without its name and seeds, the seed, the text of its algorithms and the engine.
#[derive(Clone)]
pub struct JobKeys(Sha256);

impl JobKeys {
    /// `extra` is whatever else the runs depend on, such as the source of custom algorithms.
    pub fn new(scenario: &Scenario, extra: &[u8]) -> Self {
        let question = Scenario { name: String::new(), seed: 0, repeat: 1, ..scenario.clone() };
        let json = serde_json::to_vec(&question).expect("a scenario has no map with odd keys");
        let names: BTreeSet<&str> = scenario.flows.iter().map(|flow| flow.cca.algorithm.as_str()).collect();
        // The text of custom algorithms is in `extra`.
        let found = names.into_iter().filter_map(|name| cwnd_algorithms::find(name).ok());
        let texts: Vec<&str> = found.flat_map(|algorithm| algorithm.texts()).collect();
        JobKeys(common(cwnd_engine::FINGERPRINT, &json, &texts, extra))
    }

    pub fn key(&self, seed: u64) -> String {
        let digest = self.0.clone().chain_update(seed.to_le_bytes()).finalize();
        digest[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The hash of everything but the seed. Lengths keep neighbours apart.
fn common(engine: &str, scenario: &[u8], texts: &[&str], extra: &[u8]) -> Sha256 {
    let texts = texts.iter().map(|text| text.as_bytes());
    let parts = [engine.as_bytes(), scenario, extra].into_iter().chain(texts);
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(texts: &[&str]) -> String {
        JobKeys(common("engine", b"{}", texts, b"")).key(1)
    }

    #[test]
    fn a_changed_text_changes_the_keys_of_the_scenarios_that_use_it_and_no_others() {
        let (old, new, other, shared) = ("old elastic.h", "new elastic.h", "cubic.h", "cc.h");
        assert_ne!(key(&[old, shared]), key(&[new, shared]));
        assert_ne!(key(&[other, old, shared]), key(&[other, new, shared]));
        assert_eq!(key(&[other, shared]), key(&[other, shared]));
    }

    #[test]
    fn every_part_counts_and_none_runs_into_the_next() {
        let keys = [
            common("engine", b"{}", &[], b""),
            common("engine2", b"{}", &[], b""),
            common("engine", b"{ }", &[], b""),
            common("engine", b"{}", &[], b"extra"),
            common("engine", b"{}", &["extra"], b""),
            common("engine", b"{}", &["ex", "tra"], b""),
            common("engin", b"e{}", &[], b""),
        ]
        .map(|common| JobKeys(common).key(1));
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }
}
