//! The one error of this crate.

use std::error::Error as StdError;
use std::fmt;

/// Why there is no answer. Displays as the line that the page shows.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The request has another form.
    Request(serde_json::Error),
    /// The scenario was refused: `scenario:LINE: KEY: ...`.
    Scenario(cwnd_scenario::Error),
    /// The run cannot go on.
    Unfinished(cwnd_engine::Unfinished),
    /// No scenario was read, or its run has ended.
    NoScenario,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source() {
            Some(cause) => write!(f, "{cause}"),
            None => f.write_str("no scenario; call begin first"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Request(cause) => Some(cause),
            Error::Scenario(cause) => Some(cause),
            Error::Unfinished(cause) => Some(cause),
            Error::NoScenario => None,
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(cause: serde_json::Error) -> Error {
        Error::Request(cause)
    }
}

impl From<cwnd_scenario::Error> for Error {
    fn from(cause: cwnd_scenario::Error) -> Error {
        Error::Scenario(cause)
    }
}

impl From<cwnd_engine::Unfinished> for Error {
    fn from(cause: cwnd_engine::Unfinished) -> Error {
        Error::Unfinished(cause)
    }
}
