//! Candidates: each header with its defaults, and with the variants that run in the Internet.

use cwnd_algorithms::{Algorithm, Params, all};

/// Values of a parameter that make a candidate of their own. ns-2's variants run in no network.
const VARIED: [(&str, &[&str]); 4] = [
    ("variant", &["linux", "v3", "authors"]),
    ("slow_start", &["hystart", "hystartpp"]),
    ("competitive", &["off"]),
    ("delay", &["rtt"]),
];

/// An algorithm with its parameters.
pub(crate) struct Candidate {
    pub algorithm: Algorithm,
    pub params: Params,
    /// Parameters that are not the defaults.
    pub set: Vec<(&'static str, &'static str)>,
}

/// All candidates: every combination of the varied values.
pub(crate) fn candidates() -> Vec<Candidate> {
    let mut found = Vec::new();
    for algorithm in all() {
        let mut sets: Vec<Vec<(&'static str, &'static str)>> = vec![Vec::new()];
        for (name, values) in VARIED {
            let Some(param) = algorithm.params.iter().find(|param| param.name == name) else { continue };
            let with: Vec<_> = values
                .iter()
                .filter(|value| param.choices.contains(value))
                .flat_map(|&value| sets.iter().map(move |set| [set.clone(), vec![(name, value)]].concat()))
                .collect();
            sets.extend(with);
        }
        for set in sets {
            let mut params = algorithm.defaults();
            let all_set = set.iter().all(|(name, value)| algorithm.set(&mut params, name, value).is_ok());
            if all_set {
                found.push(Candidate { algorithm: algorithm.clone(), params, set });
            }
        }
    }
    found
}
