//! The one error of this crate.

use std::fmt;

/// Why bytes are no run of this version. Displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// They have another form than a run.
    Form(Box<dyn std::error::Error + Send + Sync>),
    /// They have a number of slow starts that is not that of the flows.
    SlowStarts {
        /// Rows of flows.
        flows: usize,
        /// Entries of `slow_start_s`.
        slow_starts: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Form(cause) => cause.fmt(f),
            Error::SlowStarts { flows, slow_starts } => write!(f, "{flows} flows, {slow_starts} slow starts"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Form(cause) => Some(&**cause),
            Error::SlowStarts { .. } => None,
        }
    }
}
