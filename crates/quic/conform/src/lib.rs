//! Clauses of RFCs and drafts about congestion control, tried on a controller of the caller's on a QUIC stack in virtual time.
//!
//! ```
//! use cwnd_conform::{Own, conform, quinn_proto::congestion::NewRenoConfig};
//! use std::sync::Arc;
//!
//! let own = Own::quinn("newreno", Arc::new(NewRenoConfig::default()));
//! let report = conform(&own, "reno", &["rfc5681"])?;
//! assert!(report.ok(), "{report}");
//! # Ok::<(), cwnd_conform::Error>(())
//! ```

mod case;

pub use case::{Case, Level};
use cwnd_quic_world::{Outcome, Scenario, run_own, verdicts};
pub use cwnd_quic_world::{Own, Stack, noq_proto, quinn_proto, s2n_quic};
use std::fmt;

/// Why cases could not be tried. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No suite has this name.
    NoSuite {
        /// The name that was asked for.
        name: String,
        /// Names of all suites.
        suites: Vec<String>,
    },
    /// No case is about this algorithm in the suites that were asked for.
    NoCase {
        /// The name that was asked for.
        algorithm: String,
    },
    /// The stack could not carry a case to its end.
    Run(cwnd_quic_world::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoSuite { name, suites } => {
                write!(f, "suite: '{name}' is not a suite; there are {}", suites.join(", "))
            }
            Error::NoCase { algorithm } => {
                write!(f, "algorithm: no case is about '{algorithm}'; try reno, cubic, bbr or bbr3")
            }
            Error::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Run(error) => Some(error),
            _ => None,
        }
    }
}

/// The verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The clause holds.
    Pass,
    /// A clause with MUST does not hold.
    Fail,
    /// A clause with SHOULD, or a number of this project, does not hold.
    Warn,
    /// The stack does not show what decides.
    Unseen,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answer::Pass => "pass",
            Answer::Fail => "fail",
            Answer::Warn => "warn",
            Answer::Unseen => "cannot be seen",
        })
    }
}

/// A case, its verdict, and the values that decided or why there are none.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tried {
    /// The clause, and how it is tried.
    pub case: Case,
    /// How it ended.
    pub answer: Answer,
    /// Values in the order of the case's expectations, or the first that failed with what was expected.
    pub found: String,
}

/// The verdicts on all cases that were tried, by suite and name. Displays as one line for each.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Whose it is: `quinn:newreno` of the caller's.
    pub label: String,
    /// One for each case.
    pub tried: Vec<Tried>,
}

impl Report {
    /// Returns true if no clause with MUST fails.
    pub fn ok(&self) -> bool {
        self.count(Answer::Fail) == 0
    }

    /// How many cases have this verdict.
    pub fn count(&self, answer: Answer) -> usize {
        self.tried.iter().filter(|tried| tried.answer == answer).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Tried { case, answer, found } in &self.tried {
            writeln!(f, "{}/{}: {answer}: {found} ({}, {})", case.suite, case.name, case.clause, case.level)?;
        }
        let counts = [Answer::Pass, Answer::Fail, Answer::Warn, Answer::Unseen]
            .map(|answer| format!("{} {answer}", self.count(answer)));
        write!(f, "{}: {} cases: {}", self.label, self.tried.len(), counts.join(", "))
    }
}

/// Tries the cases about `algorithm`, the name of the text's algorithm such as `cubic`, on a controller of the caller's; of `suites`
/// alone if there are any.
///
/// # Errors
///
/// If there is no such suite, no case is about the algorithm, or the stack gives up a connection.
pub fn conform(own: &Own, algorithm: &str, suites: &[&str]) -> Result<Report, Error> {
    let mut all = case::all();
    if let Some(name) = suites.iter().find(|name| all.iter().all(|case| case.suite != **name)) {
        let mut suites: Vec<String> = all.into_iter().map(|case| case.suite).collect();
        suites.dedup();
        return Err(Error::NoSuite { name: (*name).to_owned(), suites });
    }
    all.retain(|case| case.concerns(algorithm) && (suites.is_empty() || suites.contains(&&*case.suite)));
    if all.is_empty() {
        return Err(Error::NoCase { algorithm: algorithm.to_owned() });
    }
    let tried = all.into_iter().map(|case| try_case(own, case)).collect::<Result<_, _>>()?;
    Ok(Report { label: own.algorithm().to_owned(), tried })
}

fn try_case(own: &Own, case: Case) -> Result<Tried, Error> {
    let unseen = |case, found| Ok(Tried { case, answer: Answer::Unseen, found });
    if !case.params.is_empty() {
        return unseen(case, "a controller of one's own has no parameter".to_owned());
    }
    let Some(text) = case.scenario_of(own.algorithm()) else {
        return unseen(case, "the stack does not let hooks be called".to_owned());
    };
    let scenario = match Scenario::from_toml(&text, &case.name, &[]) {
        Ok(scenario) => scenario,
        Err(error) => return unseen(case, error.to_string()),
    };
    let run = match run_own(own, &scenario, scenario.seed) {
        Ok(run) => run,
        Err(cwnd_quic_world::Error::Unsupported(line)) => return unseen(case, line),
        Err(error) => return Err(Error::Run(error)),
    };
    let all = verdicts(&scenario, &run);
    let worst = |outcome| all.iter().find(|verdict| verdict.outcome == outcome);
    let (answer, found) = match worst(Outcome::Fail).or_else(|| worst(Outcome::Unseen)) {
        None => (Answer::Pass, all.iter().map(|verdict| &*verdict.found).collect::<Vec<_>>().join(", ")),
        Some(worst) => {
            let answer = match (worst.outcome, case.level) {
                (Outcome::Unseen, _) => Answer::Unseen,
                (_, Level::Must) => Answer::Fail,
                (_, Level::Should) => Answer::Warn,
            };
            (answer, format!("{}: {}", worst.expected, worst.found))
        }
    };
    Ok(Tried { case, answer, found })
}
