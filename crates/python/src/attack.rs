//! Evaluations of paths for the search of worst cases.

use crate::custom::{Failure, PythonControl};
use crate::library::Libraries;
use crate::results::Runs;
use crate::run::Running;
use crate::{Error, refuse};
use cwnd_algorithms::CongestionControl;
use cwnd_attack::{Fault, Goal, Measures, Question};
use cwnd_engine::Control;
use cwnd_scenario::{Cca, Scenario};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// A signal, or a path that cannot be read.
struct Refused(PyErr);

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        Refused(refuse(fault))
    }
}

/// Evaluates the paths in `texts`, each a scenario as TOML whose first flow is `@subject`, on `threads` threads (0: one per core):
/// a JSON list, in their order. Classes share the interpreter: with some that are no headers, one run goes at a time.
#[pyfunction]
#[pyo3(signature = (texts, subject, references, goals, threads, classes))]
pub fn attack_evaluate(
    py: Python,
    texts: Vec<String>,
    subject: &str,
    references: Vec<String>,
    goals: Vec<String>,
    threads: usize,
    classes: HashMap<String, Py<PyAny>>,
) -> PyResult<String> {
    let _running = Running::begin();
    let goals = goals.iter().map(|name| goal(name)).collect::<PyResult<Vec<Goal>>>()?;
    let references: Vec<&str> = references.iter().map(String::as_str).collect();
    let names: Vec<&str> = classes.keys().map(String::as_str).collect();
    let question = |text| Question { text, subject, custom: &names, references: &references, goals: &goals };
    let questions: Vec<Question> = texts.iter().map(|text| question(text.as_str())).collect();
    let libraries = Libraries::of(py, &classes)?;
    let control = Arc::new(Control::default());
    let failure = Arc::new(Failure::default());
    let custom = |scenario: &Scenario, cca: &Cca| -> Option<Box<dyn CongestionControl>> {
        if let Some(native) = libraries.instance(&cca.name) {
            return Some(Box::new(native));
        }
        let class = classes.get(&cca.name)?;
        let profile =
            scenario.flows.iter().find(|flow| *flow.cca == *cca).map_or("linux", |flow| &*flow.stack.profile);
        Some(Box::new(PythonControl::new(class, cca, (None, profile), scenario.seed, &control, &failure)))
    };
    let watch = || Python::attach(|py| py.check_signals()).map_err(Refused);
    let threads = if libraries.are_all(&classes) { threads } else { 1 };
    let answers = py.detach(|| cwnd_attack::evaluate_all(&questions, threads, &custom, &control, watch));
    if let Some(failed) = failure.take() {
        return Err(failed);
    }
    let answers = answers.map_err(|refused| refused.0)?;
    Ok(serde_json::to_string(&answers).expect("an answer has no map with odd keys"))
}

/// The measures of run `index` of `runs`, made in any world, of the path in which `name` is the subject: JSON.
#[pyfunction]
pub fn attack_measure(
    text: &str,
    name: &str,
    runs: &Runs,
    index: usize,
    custom: Vec<String>,
) -> PyResult<String> {
    let names: Vec<&str> = custom.iter().map(String::as_str).collect();
    let question = Question { text, subject: name, custom: &names, references: &[], goals: &[] };
    let measures = cwnd_attack::measure_run(&question, name, runs.run(index)?).map_err(refuse)?;
    Ok(serde_json::to_string(&measures).expect("measures have no map with odd keys"))
}

/// The score by a goal of measures beside those of a reference, each as JSON.
#[pyfunction]
pub fn attack_score(goal_name: &str, of: &str, beside: &str) -> PyResult<f64> {
    let goal = goal(goal_name)?;
    let read = |json: &str| serde_json::from_str::<Measures>(json).map_err(refuse);
    let (of, beside) = (read(of)?, read(beside)?);
    Ok(goal.alone(&of).min(goal.gap(&of, &beside)))
}

fn goal(name: &str) -> PyResult<Goal> {
    let known = Goal::ALL.into_iter().find(|goal| goal.name() == name);
    known.ok_or_else(|| Error::new_err(format!("goal: no goal '{name}'")))
}
