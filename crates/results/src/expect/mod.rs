//! Expectations of a scenario, decided on its runs: [`verdicts`] on the rows of a run, [`judge`] on any [`Source`].

mod judge;
mod rows;
mod sampled;
mod source;
mod verdict;
mod words;

pub use judge::judge;
pub use rows::verdicts;
pub use sampled::{FlowSample, SHOWN, Sighting, sightings};
pub use source::{Moment, Series, Source, Unseen};
pub use verdict::{Outcome, Verdict};
