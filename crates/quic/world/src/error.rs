//! The one error of this crate.

use cwnd_engine::Unfinished;
use std::fmt;

/// Why a scenario has no run on a stack. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The scenario or the settings ask for what this world does not support: what was found and what is accepted.
    Unsupported(String),
    /// The stack gave up a connection, or could not begin one.
    Stack(String),
    /// The run could not go on to its end.
    Unfinished(Unfinished),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported(line) | Error::Stack(line) => f.write_str(line),
            Error::Unfinished(cause) => cause.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Unfinished(cause) => Some(cause),
            _ => None,
        }
    }
}

impl From<cwnd_scenario::Error> for Error {
    fn from(error: cwnd_scenario::Error) -> Error {
        Error::Unsupported(error.to_string())
    }
}

impl From<Unfinished> for Error {
    fn from(cause: Unfinished) -> Error {
        Error::Unfinished(cause)
    }
}
