//! The choice of an algorithm and its parameters, and what a stack has to have for it.

use crate::Bridge;
use cwnd_algorithms::{Algorithm, Params};
use std::fmt;

/// The choice of a parameter that asks for one-way delays.
const ONE_WAY: &str = "one-way";

/// A QUIC stack, and what an algorithm can get from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stack {
    /// quinn, by its congestion controller.
    Quinn,
    /// noq, by its congestion controller.
    Noq,
    /// s2n-quic, by its congestion controller.
    S2nQuic,
    /// aioquic, by the bridge in Python.
    Aioquic,
}

impl Stack {
    /// Returns the name in worlds and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Stack::Quinn => "quinn",
            Stack::Noq => "noq",
            Stack::S2nQuic => "s2n-quic",
            Stack::Aioquic => "aioquic",
        }
    }

    /// Returns true if it sends at the rate that an algorithm sets.
    pub fn paces(self) -> bool {
        matches!(self, Stack::Noq | Stack::S2nQuic)
    }

    /// Returns true if it reports how many packets are marked (RFC 3168, CE); others report that some are, or nothing.
    pub fn counts_marks(self) -> bool {
        self == Stack::S2nQuic
    }

    /// The largest window that it can hold.
    pub(crate) fn most_window_bytes(self) -> u64 {
        match self {
            Stack::S2nQuic => u64::from(u32::MAX),
            Stack::Quinn | Stack::Noq | Stack::Aioquic => u64::MAX,
        }
    }

    /// The algorithms that run on it with their defaults.
    pub fn algorithms(self) -> Vec<Algorithm> {
        cwnd_algorithms::all().into_iter().filter(|a| self.check(a, &a.defaults()).is_ok()).collect()
    }

    fn check(self, algorithm: &Algorithm, params: &Params) -> Result<(), Error> {
        let name = || algorithm.name.clone();
        if algorithm.controls_window() && !self.paces() {
            return Err(Error::NeedsPacing { algorithm: name(), stack: self });
        }
        if algorithm.kind == "l4s" {
            return Err(Error::NeedsL4s { algorithm: name(), stack: self });
        }
        if algorithm.kind == "ecn" && !self.counts_marks() {
            return Err(Error::NeedsMarks { algorithm: name(), stack: self });
        }
        if let Some((param, _)) = algorithm.show(params).into_iter().find(|(_, value)| value == ONE_WAY) {
            return Err(Error::NeedsOneWayDelays { algorithm: name(), param });
        }
        Ok(())
    }
}

/// Why an algorithm does not run on a stack. Displays as one line that says what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The name or a parameter is unknown, or a value is out of range.
    Choice(cwnd_algorithms::Error),
    /// The algorithm sets the rate at which packets leave, and the stack has its own.
    NeedsPacing {
        /// Name of the algorithm.
        algorithm: String,
        /// The stack.
        stack: Stack,
    },
    /// The algorithm has to know how many packets are marked.
    NeedsMarks {
        /// Name of the algorithm.
        algorithm: String,
        /// The stack.
        stack: Stack,
    },
    /// Its packets have to carry ECT(1) (RFC 9331), and those of the stack carry ECT(0) or nothing.
    NeedsL4s {
        /// Name of the algorithm.
        algorithm: String,
        /// The stack.
        stack: Stack,
    },
    /// The parameter makes the algorithm measure one-way delays, which QUIC does not report.
    NeedsOneWayDelays {
        /// Name of the algorithm.
        algorithm: String,
        /// Name of the parameter.
        param: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (algorithm, stack, need) = match self {
            Error::Choice(error) => return error.fmt(f),
            Error::NeedsOneWayDelays { algorithm, param } => {
                let rest = "measures one-way delays, which QUIC does not report; accepted";
                return write!(f, "'{algorithm}' {rest}: {param} = rtt");
            }
            Error::NeedsPacing { algorithm, stack } => (algorithm, stack, "set the pacing rate"),
            Error::NeedsL4s { algorithm, stack } => (algorithm, stack, "send ECT(1)"),
            Error::NeedsMarks { algorithm, stack } => (algorithm, stack, "count ECN marks"),
        };
        let names: Vec<String> = stack.algorithms().into_iter().map(|algorithm| algorithm.name).collect();
        let (stack, names) = (stack.name(), names.join(", "));
        write!(f, "'{algorithm}' has to {need}, which {stack} does not support; {stack} runs {names}")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Choice(error) => Some(error),
            _ => None,
        }
    }
}

impl From<cwnd_algorithms::Error> for Error {
    fn from(error: cwnd_algorithms::Error) -> Error {
        Error::Choice(error)
    }
}

/// An algorithm with its parameters, checked for a stack. Each connection gets a [`Bridge`] of it.
#[derive(Clone, Debug)]
pub struct Setup {
    algorithm: Algorithm,
    params: Params,
    stack: Stack,
}

impl Setup {
    /// The algorithm called `name`, as `cwnd algorithms` writes it, with `params` as a person writes them. The others have
    /// their defaults: the paper's or the RFC's, not Linux's.
    pub fn new(stack: Stack, name: &str, params: &[(&str, &str)]) -> Result<Setup, Error> {
        let algorithm = cwnd_algorithms::find(name)?;
        let mut chosen = algorithm.defaults();
        for (param, value) in params {
            algorithm.set(&mut chosen, param, value)?;
        }
        stack.check(&algorithm, &chosen)?;
        Ok(Setup { algorithm, params: chosen, stack })
    }

    /// A connection, or a new path of one, begins, with packets of `mtu_bytes` at most.
    pub fn start(&self, mtu_bytes: u16) -> Bridge {
        Bridge::new(self.algorithm.build(&self.params), mtu_bytes, self.stack.most_window_bytes())
    }
}
