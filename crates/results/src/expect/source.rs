//! One run as expectations see it.

use cwnd_scenario::Expectation;
use std::fmt;

/// A run with the quantities that expectations name.
pub trait Source {
    /// The metric of the run, or the column of a flow's or a link's row.
    ///
    /// # Errors
    ///
    /// If the run has none.
    fn metric(&self, expectation: &Expectation) -> Result<f64, Unseen>;

    /// The values over time, at least one.
    ///
    /// # Errors
    ///
    /// If the run does not show them.
    fn series(&self, expectation: &Expectation) -> Result<Series, Unseen>;

    /// The events of that kind in the order of time.
    ///
    /// # Errors
    ///
    /// If the run does not show them.
    fn events(&self, flow: u32, kind: &str) -> Result<Vec<Moment>, Unseen>;
}

/// Reason why a run does not show a quantity, as a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen(pub String);

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Values over time. Between two rows the value is that of the earlier one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time of each row from the start of the run, in order.
    pub time_s: Vec<f64>,
    /// A value for each time.
    pub values: Vec<f64>,
    /// Rows of the record of an algorithm's calls that these are; None: they are samples.
    pub calls: Option<Vec<u64>>,
}

/// An event of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// From the start of the run.
    pub time_s: f64,
    /// The smoothed RTT then; 0: there was none.
    pub round_s: f64,
    /// Row of the record of calls at which it is seen; 0 where samples show it.
    pub call: u64,
}
