//! The one error of this crate.

use std::error::Error as StdError;
use std::fmt;

/// Why a scenario has no run here. Displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The scenario asks for what this world does not support: the key, what was found and what is accepted.
    Unsupported(String),
    /// This machine cannot do what the scenario asks for: the line, and its cause where there is one.
    Machine(String, Option<Box<dyn StdError + Send + Sync>>),
}

impl Error {
    /// The error of `what` on this machine, with its cause in the line.
    pub(crate) fn of<E: Into<Box<dyn StdError + Send + Sync>>>(
        what: impl fmt::Display,
    ) -> impl FnOnce(E) -> Error {
        move |cause| {
            let cause = cause.into();
            Error::Machine(format!("{what}: {cause}"), Some(cause))
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported(line) | Error::Machine(line, _) => f.write_str(line),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Machine(_, Some(cause)) => Some(&**cause),
            _ => None,
        }
    }
}

impl From<cwnd_scenario::Error> for Error {
    fn from(error: cwnd_scenario::Error) -> Error {
        Error::Unsupported(error.to_string())
    }
}
