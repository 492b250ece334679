//! No text that is read as a scenario makes the engine panic. `fuzz/` looks for others.

#[path = "../../../scenario/tests/all/text/mod.rs"]
mod text;

use crate::small;
use proptest::prelude::*;
use std::fs;

const VALID: [&str; 5] = [
    include_str!("../../../../fuzz/seeds/chain.toml"),
    include_str!("../../../../fuzz/seeds/dumbbell.toml"),
    include_str!("../../../../fuzz/seeds/ns2.toml"),
    include_str!("../../../../fuzz/seeds/sweep.toml"),
    include_str!("../../../../fuzz/seeds/varying.toml"),
];

const VALUES: &str = "[0-9]{1,12}|[0-9].[0-9]{1,3}|0[.][0-9]{1,6}|\
    '[0-9]{1,6} (ns|us|ms|s|min|bps|kbps|Mbps|Gbps|Tbps|BDP|packets|bytes)'|'unlimited'|true|false|\
    'tahoe'|'reno'|'newreno'|'fack'|'rate-halving'|'compound'|'hybla'|'yeah'|'ns2'|'off'";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scenario_with_other_values_is_refused_or_runs(
        valid in prop::sample::select(&VALID[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), VALUES), 1..3),
    ) {
        let mut lines: Vec<String> = valid.lines().map(str::to_owned).collect();
        let keys: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains(" = ")).collect();
        for (line, value) in changes {
            let line = &mut lines[*line.get(&keys)];
            let key = line.split(" = ").next().expect("split gives one at least");
            *line = format!("{key} = {value}");
        }
        read_and_run(&lines.join("\n")).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn the_seeds_of_the_fuzzer_are_read_and_run() {
    for folder in ["../../fuzz/seeds", "../../scenarios"] {
        for file in fs::read_dir(folder).expect("a folder of scenarios") {
            let path = file.expect("an entry").path();
            if path.is_dir() {
                continue;
            }
            let text = fs::read_to_string(&path).expect("UTF-8");
            assert_eq!(read_and_run(&text), Ok(true), "{}", path.display());
        }
    }
}

/// Returns true if the text is accepted.
fn read_and_run(text: &str) -> Result<bool, String> {
    let Some(sweep) = text::read(text, "a.toml")? else { return Ok(false) };
    for point in sweep.points.iter().take(3) {
        small::try_run(&point.scenario)?;
    }
    Ok(true)
}
