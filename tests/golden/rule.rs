//! The rule of golden files: the rows of a scenario move only together with the version of the results.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A golden file of `version`: its first line, then `rows`, each of which begins with a name and a comma.
pub fn with_version(version: u32, rows: &str) -> String {
    format!("results_version,{version}\n{rows}")
}

/// Compares the golden file, `before`, with what this build gives, `now`. The error says what to do; `home` is the file that
/// has RESULTS_VERSION.
pub fn compare(before: &str, now: &str, home: &str) -> Result<(), String> {
    if before == now {
        return Ok(());
    }
    let (was, is) = (version(before), version(now));
    let mut line = if was != is {
        format!("RESULTS_VERSION in {home} is {is}, the golden file's is {was}: write the file anew")
    } else if moved(before, now).is_empty() {
        "the golden file has other scenarios, or another order: write it anew".to_owned()
    } else {
        format!(
            "results moved; if they are meant to, raise RESULTS_VERSION in {home} and write the golden file anew"
        )
    };
    line += " with CWND_GOLDEN=write";
    let (before, now) = (rows(before), rows(now));
    for name in before.keys().chain(now.keys().filter(|name| !before.contains_key(*name))) {
        let (was, is) = (before.get(name), now.get(name));
        if was != is {
            let row = |row: Option<&&str>| row.map_or("missing", |row| row).to_owned();
            write!(line, "\nwas {}\nis  {}", row(was), row(is)).expect("a String takes all");
        }
    }
    Err(line)
}

/// Refuses, in one line, that `now` takes the place of the golden file `before`: rows moved and the version did not.
pub fn check_replacement(before: &str, now: &str, home: &str) -> Result<(), String> {
    let (was, is) = (version(before), version(now));
    let moved = moved(before, now);
    if is < was {
        Err(format!(
            "RESULTS_VERSION in {home} is {is}, the golden file's is {was}: a version does not come back"
        ))
    } else if is == was && !moved.is_empty() {
        let first = moved[0];
        let count = moved.len();
        Err(format!(
            "results of version {is} moved ({first}; {count} in all): raise RESULTS_VERSION in {home} first"
        ))
    } else {
        Ok(())
    }
}

fn version(golden: &str) -> u32 {
    let version = golden.lines().next().and_then(|line| line.strip_prefix("results_version,"));
    version.and_then(|version| version.parse().ok()).expect("a golden file begins with results_version,N")
}

fn rows(golden: &str) -> BTreeMap<&str, &str> {
    golden.lines().skip(1).map(|row| (row.split(',').next().unwrap_or(row), row)).collect()
}

/// The names of the rows that both have, and that differ.
fn moved<'a>(before: &str, now: &'a str) -> Vec<&'a str> {
    let before = rows(before);
    let differs = |name: &str, row: &str| before.get(name).is_some_and(|before| *before != row);
    rows(now).into_iter().filter(|(name, row)| differs(name, row)).map(|(name, _)| name).collect()
}
