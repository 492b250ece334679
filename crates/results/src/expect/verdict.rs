//! Verdicts and how they are shown.

use std::fmt;

/// How an expectation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was seen to hold.
    Pass,
    /// It was seen not to hold.
    Fail,
    /// The run does not show the quantity. That is no pass.
    Unseen,
}

/// A verdict on one expectation of one run. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The expectation in words.
    pub expected: String,
    /// How it ends.
    pub outcome: Outcome,
    /// The value that decides, with its time where it has one; or why there is none.
    pub found: String,
    /// Reason that the scenario gives for the expectation.
    pub why: Option<String>,
}

impl Outcome {
    /// "pass", "fail" or "cannot be seen".
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Unseen => "cannot be seen",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Verdict {
    /// Returns true if the expectation was seen to hold.
    pub fn ok(&self) -> bool {
        self.outcome == Outcome::Pass
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.expected, self.outcome, self.found)?;
        match &self.why {
            Some(why) if !self.ok() => write!(f, "; {why}"),
            _ => Ok(()),
        }
    }
}
