//! One evaluation: a path, the subject on it and, where it fails by itself, references.

use crate::goal::{Goal, MARGIN_MAX};
use crate::measure::Measures;
use crate::window::{FIXED_WINDOW, FixedWindow};
use cwnd_algorithms::CongestionControl;
use cwnd_engine::{Control, Unfinished};
use cwnd_results::Run;
use cwnd_scenario::{Cca, Error, Scenario};
use serde::Serialize;

/// Text that stands for the algorithm's name in the text of a question.
pub const SUBJECT: &str = "@subject";

/// Makes instances of algorithms that are neither in the registry nor a [`FixedWindow`].
pub type Custom<'a> = &'a (dyn Fn(&Scenario, &Cca) -> Option<Box<dyn CongestionControl>> + Sync);

/// A path, and who is judged on it by which goals.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// A scenario as TOML, with samples at intervals, whose first flow is [`SUBJECT`].
    pub text: &'a str,
    /// The algorithm that is judged.
    pub subject: &'a str,
    /// Names of custom algorithms that the text may have.
    pub custom: &'a [&'a str],
    /// Algorithms to compare with, in the order in which they run; the subject itself is left out.
    pub references: &'a [&'a str],
    /// The goals to score.
    pub goals: &'a [Goal],
}

/// How near the subject is to a goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// The goal.
    pub goal: Goal,
    /// Above 0 the subject fails and a reference does not. Between -5 and 5, as logarithms of ratios.
    pub score: f64,
    /// The first reference that does not fail, or the one with the largest gap; None if the subject does not fail by itself.
    pub reference: Option<String>,
    /// The measures of that reference.
    pub beside: Option<Measures>,
}

/// Answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The subject's.
    pub measures: Option<Measures>,
    /// In the order of the goals; empty for a path that cannot be run.
    pub scores: Vec<Score>,
    /// Runs that the answer took.
    pub runs: u32,
    /// Packets of all of these runs.
    pub packets: u64,
}

/// Evaluates one question. A path on which a run cannot go on has no scores.
///
/// # Errors
///
/// If the text is no scenario, or the runs are stopped.
pub fn evaluate(question: &Question, custom: Custom, control: &Control) -> Result<Answer, Fault> {
    let mut answer = Answer { measures: None, scores: Vec::new(), runs: 0, packets: 0 };
    let Some(subject) = measure(question, question.subject, custom, control, &mut answer)? else {
        return Ok(answer);
    };
    let mut known: Vec<(&str, Option<Measures>)> = Vec::new();
    for &goal in question.goals {
        let alone = goal.alone(&subject);
        if alone <= 0.0 {
            answer.scores.push(Score { goal, score: alone, reference: None, beside: None });
            continue;
        }
        let mut best = Score { goal, score: -MARGIN_MAX, reference: None, beside: None };
        for &name in question.references.iter().filter(|name| **name != question.subject) {
            if !known.iter().any(|(done, _)| *done == name) {
                known.push((name, measure(question, name, custom, control, &mut answer)?));
            }
            let Some(beside) = known.iter().find(|(done, _)| *done == name).and_then(|(_, of)| of.as_ref())
            else {
                continue;
            };
            let score = alone.min(goal.gap(&subject, beside));
            if best.reference.is_none() || score > best.score {
                best = Score { goal, score, reference: Some(name.to_owned()), beside: Some(beside.clone()) };
            }
            if score > 0.0 {
                break;
            }
        }
        answer.scores.push(best);
    }
    answer.measures = Some(subject);
    Ok(answer)
}

/// Measures a run of the question's path, made in any world, in which `name` is the subject.
///
/// # Errors
///
/// If the text is no scenario.
pub fn measure_run(question: &Question, name: &str, run: &Run) -> Result<Measures, Fault> {
    let scenario = read(question, name)?;
    Ok(Measures::new(&scenario, run, is_beside_own_kind(question)))
}

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The text is no scenario.
    Text(Error),
    /// [`Control::stop`] was set.
    Stopped,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Fault::Text(error) => error.fmt(f),
            Fault::Stopped => write!(f, "stopped"),
        }
    }
}

impl std::error::Error for Fault {}

fn is_beside_own_kind(question: &Question) -> bool {
    question.text.matches(SUBJECT).count() > 1
}

fn read(question: &Question, name: &str) -> Result<Scenario, Fault> {
    let text = question.text.replace(SUBJECT, name);
    let mut custom = question.custom.to_vec();
    custom.push(FIXED_WINDOW);
    Scenario::from_toml(&text, "path", &custom).map_err(Fault::Text)
}

/// The measures of a run with `name` as the subject; None if it cannot go on.
fn measure(
    question: &Question,
    name: &str,
    custom: Custom,
    control: &Control,
    answer: &mut Answer,
) -> Result<Option<Measures>, Fault> {
    let scenario = read(question, name)?;
    let make = |cca: &Cca| -> Option<Box<dyn CongestionControl>> {
        match cca.name.as_str() {
            FIXED_WINDOW => Some(Box::new(FixedWindow::new(&scenario))),
            _ => custom(&scenario, cca),
        }
    };
    answer.runs += 1;
    match cwnd_engine::run(&scenario, scenario.seed, &make, control) {
        Ok(run) => {
            answer.packets += run.packets;
            Ok(Some(Measures::new(&scenario, &run, is_beside_own_kind(question))))
        }
        Err(Unfinished::Stopped) => Err(Fault::Stopped),
        Err(_) => Ok(None),
    }
}
