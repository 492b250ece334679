//! Any text as a scenario or a sweep.

use cwnd_scenario::{Error, Scenario, Sweep, SweepPoint};

/// The sweep; None: it was refused. Says what did not hold.
pub fn read(text: &str, file: &str) -> Result<Option<Sweep>, String> {
    let custom = ["cubic", "elastic", "mine"];
    let refused = |error: &Error| {
        let Error::Text { line: line_number, found, accepted, .. } = error else {
            return Err(format!("a refusal without a place: {error}"));
        };
        let line = error.to_string();
        let breaks = |c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}';
        let holds = !line.contains(breaks)
            && line.chars().count() < 600 + file.len() * 10
            && (1..=1 + text.matches('\n').count()).contains(line_number)
            && !found.is_empty()
            && !accepted.is_empty();
        if holds { Ok(()) } else { Err(format!("a refusal: {line:?}")) }
    };
    // Every file that a text names is this trace.
    let files = |_: &str| Ok("0\n5\n5\n20\n".to_owned());
    let scenario = Scenario::from_toml_with_files(text, file, &custom, &files);
    if let Err(error) = &scenario {
        refused(error)?;
    }
    let sweep = match Sweep::from_toml_while(text, file, &custom, &files, &mut || true) {
        Ok(sweep) => sweep,
        Err(error) => {
            refused(&error)?;
            return if scenario.is_err() { Ok(None) } else { Err("a scenario, but no sweep".to_owned()) };
        }
    };
    if sweep.points.is_empty() {
        return Err("a sweep without a point".to_owned());
    }
    for SweepPoint { scenario, .. } in sweep.points.iter().take(100) {
        let flows = scenario.flows.len();
        let holds = scenario.describe().flows.iter().map(|f| f.count as usize).sum::<usize>() == flows
            && (0..flows).all(|flow| scenario.bdp_pkts(flow).is_finite() && scenario.rtt_ns(flow) > 0)
            && scenario.name.chars().count() <= 100;
        if !holds {
            return Err(format!("what was read: {scenario:?}"));
        }
    }
    Ok(Some(sweep))
}
