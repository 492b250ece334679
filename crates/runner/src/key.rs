//! Keys of runs: hashes of everything that a run depends on.

use cwnd_scenario::Scenario;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The keys of one scenario's runs: their common part is hashed once. A key is 32 hex digits, a hash of the scenario
/// without its name, labels, seeds and expectations, the seed, the code of its algorithms and what the world's results depend on.
/// Comments and white space change none.
#[derive(Clone)]
pub struct JobKeys(Sha256);

impl JobKeys {
    /// `essence` is what results of another world depend on, the engine's version included where the engine has its network. None
    /// is that of the simulator: the version of the engine's results.
    /// `extra` is whatever else the runs depend on, such as the source of custom algorithms.
    pub fn new(scenario: &Scenario, essence: Option<&[u8]>, extra: &[u8]) -> Self {
        let question = scenario.clone().with(|question| {
            (question.name, question.seed, question.repeat) = (String::new(), 0, 1);
            question.expect.clear();
            question.label = None;
            question.flows.iter_mut().for_each(|flow| flow.label = None);
        });
        let json = serde_json::to_vec(&question).expect("a scenario has no map with odd keys");
        let names: BTreeSet<&str> = scenario.flows.iter().map(|flow| flow.cca.algorithm.as_str()).collect();
        // The code of custom algorithms is in `extra`.
        let found = names.into_iter().filter_map(|name| cwnd_algorithms::find(name).ok());
        let codes: Vec<&str> = found.map(|algorithm| algorithm.code()).collect();
        let simulator = cwnd_engine::RESULTS_VERSION.to_le_bytes();
        JobKeys(common(essence.unwrap_or(&simulator), &json, &codes, extra))
    }

    pub fn key(&self, seed: u64) -> String {
        let digest = self.0.clone().chain_update(seed.to_le_bytes()).finalize();
        digest[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The hash of everything but the seed. Lengths keep neighbours apart.
fn common(essence: &[u8], scenario: &[u8], codes: &[&str], extra: &[u8]) -> Sha256 {
    let codes = codes.iter().map(|code| code.as_bytes());
    let parts = [essence, scenario, extra].into_iter().chain(codes);
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
        let codes: Vec<String> = texts.iter().map(|text| cwnd_algorithms::c_tokens(text)).collect();
        let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
        JobKeys(common(b"1", b"{}", &codes, b"")).key(1)
    }

    #[test]
    fn a_changed_text_changes_the_keys_of_the_scenarios_that_use_it_and_no_others() {
        let (old, new, other, shared) = ("old elastic.h", "new elastic.h", "cubic.h", "cc.h");
        assert_ne!(key(&[old, shared]), key(&[new, shared]));
        assert_ne!(key(&[other, old, shared]), key(&[other, new, shared]));
        assert_eq!(key(&[other, shared]), key(&[other, shared]));
    }

    #[test]
    fn a_changed_comment_of_a_header_leaves_its_keys_and_a_changed_constant_does_not() {
        let reno = include_str!("../../../algorithms/reno.h");
        let edit = |from: &str, to: &str| {
            let edited = reno.replacen(from, to, 1);
            assert_ne!(edited, reno, "{from}");
            key(&[&edited])
        };
        assert_eq!(edit(" * Reno:", " * Reno (RFC 5681):"), key(&[reno]));
        assert_eq!(edit("\n{\n", " {\n\t/* begins */\n"), key(&[reno]));
        assert_ne!(edit("w->cwnd / 2", "w->cwnd / 3"), key(&[reno]));
    }

    #[test]
    fn every_part_counts_and_none_runs_into_the_next() {
        let keys = [
            common(b"1", b"{}", &[], b""),
            common(b"2", b"{}", &[], b""),
            common(b"1", b"{ }", &[], b""),
            common(b"1", b"{}", &[], b"extra"),
            common(b"1", b"{}", &["extra"], b""),
            common(b"1", b"{}", &["ex", "tra"], b""),
            common(b"1", b"", &[], b"{}"),
        ]
        .map(|common| JobKeys(common).key(1));
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }
}
