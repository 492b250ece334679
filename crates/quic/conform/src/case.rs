//! Cases: files of data, a folder for each suite, that the Python package has, too.

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

static FOLDER: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../../python/cwnd/_conform/cases");

/// A case for every algorithm whose window the stack lowers.
const ANY_WINDOW: &str = "any-window";

/// How strongly a text asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// MUST.
    Must,
    /// SHOULD, or a number of this project.
    Should,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Must => "MUST",
            Level::Should => "SHOULD",
        })
    }
}

/// A clause of a text, and how it is tried.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Case {
    /// The folder of its file, such as `rfc9438`.
    #[serde(skip)]
    pub suite: String,
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// The text and the section.
    pub clause: String,
    /// The requirement in one sentence.
    pub requires: String,
    /// How strongly the text asks.
    pub level: Level,
    /// Algorithms that the clause is about.
    pub algorithms: Vec<String>,
    /// Parameters that switch the mechanism on, where it has any.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// A scenario with `[[expect]]`, in which CCA stands for the algorithm. None: calls of hooks, without a network.
    scenario: Option<String>,
}

impl Case {
    /// Returns true if the clause is about this algorithm.
    pub fn concerns(&self, algorithm: &str) -> bool {
        let is_named = |name: &str| self.algorithms.iter().any(|one| one == name);
        let is_lowered = || cwnd_algorithms::find(algorithm).is_ok_and(|found| !found.controls_window());
        is_named(algorithm) || (is_named(ANY_WINDOW) && is_lowered())
    }

    /// The scenario with `cca` as its algorithm, and samples, by which windows are seen.
    pub(crate) fn scenario_of(&self, cca: &str) -> Option<String> {
        let text = self.scenario.as_ref()?;
        Some(text.replace("samples = \"off\"", "samples = \"1 ms\"").replace("CCA", &format!("\"{cca}\"")))
    }
}

/// All cases, by suite and name.
pub(crate) fn all() -> Vec<Case> {
    let files = FOLDER.dirs().flat_map(Dir::files);
    let mut all: Vec<Case> = files
        .map(|file| {
            let path = file.path().with_extension("").display().to_string().replace('\\', "/");
            let (suite, name) = path.split_once('/').expect("a suite is a folder of cases");
            let text = file.contents_utf8().expect("cases are UTF-8");
            let case: Case = toml::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            Case { suite: suite.to_owned(), name: name.to_owned(), ..case }
        })
        .collect();
    all.sort_by(|one, other| (&one.suite, &one.name).cmp(&(&other.suite, &other.name)));
    all
}
