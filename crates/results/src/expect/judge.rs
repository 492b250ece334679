//! Verdict on one expectation over one run.

use crate::expect::source::{Moment, Series, Source, Unseen};
use crate::expect::verdict::{Outcome, Verdict};
use crate::expect::words::{digits, words};
use cwnd_scenario::{Direction, Expectation, Kind};

/// The part of a run in which a quantity is expected, ends included.
#[derive(Clone, Copy)]
struct Span {
    from_s: f64,
    to_s: f64,
    /// The event with which it begins.
    event: Option<Moment>,
}

/// Reason why there is no value to compare.
enum Missing {
    /// The run does not show the quantity.
    Unseen(Unseen),
    /// The run lacks what the expectation is about: it fails.
    Nothing(String),
}

impl From<Unseen> for Missing {
    fn from(unseen: Unseen) -> Missing {
        Missing::Unseen(unseen)
    }
}

fn unseen<T>(reason: &str) -> Result<T, Missing> {
    Err(Missing::Unseen(Unseen(reason.to_owned())))
}

type Decided = Result<(Outcome, String), Missing>;

/// Decides an expectation on one run.
pub fn judge(expectation: &Expectation, source: &impl Source) -> Verdict {
    let decided = match expectation.kind {
        Kind::Metric => metric(expectation, source),
        Kind::Event => events(expectation, source),
        Kind::Series => series(expectation, source),
    };
    let (outcome, found) = decided.unwrap_or_else(|missing| match missing {
        Missing::Unseen(Unseen(reason)) => (Outcome::Unseen, reason),
        Missing::Nothing(reason) => (Outcome::Fail, reason),
    });
    Verdict { expected: words(expectation), outcome, found, why: expectation.why.clone() }
}

/// The outcome of a value; `place` says where it is.
fn bounded(expectation: &Expectation, value: f64, place: &str) -> (Outcome, String) {
    let is_low = expectation.at_least.is_some_and(|low| value < low);
    let is_high = expectation.at_most.is_some_and(|high| value > high);
    let outcome = if is_low || is_high { Outcome::Fail } else { Outcome::Pass };
    (outcome, digits(value) + place)
}

fn metric(expectation: &Expectation, source: &impl Source) -> Decided {
    Ok(bounded(expectation, source.metric(expectation)?, ""))
}

fn events(expectation: &Expectation, source: &impl Source) -> Decided {
    let (flow, kind) = (flow(expectation)?, &expectation.name);
    let span = span(expectation, source)?;
    let mut events = source.events(flow, kind)?;
    events.retain(|event| span.from_s <= event.time_s && event.time_s <= span.to_s);
    if expectation.statistic.as_deref() == Some("time_s") {
        let number = if expectation.after.is_some() { None } else { expectation.number };
        return Ok(bounded(expectation, nth(&events, number, kind)?.time_s, ""));
    }
    let times: Vec<String> =
        events.iter().take(3).map(|event| format!("{} s", digits(event.time_s))).collect();
    let more = if events.len() > 3 { ", ..." } else { "" };
    let place = if events.is_empty() { String::new() } else { format!(" ({}{more})", times.join(", ")) };
    Ok(bounded(expectation, events.len() as f64, &place))
}

fn flow(expectation: &Expectation) -> Result<u32, Missing> {
    match expectation.flow {
        Some(flow) => Ok(flow),
        None => unseen("events are of a flow, and this expectation is of a link"),
    }
}

/// The event with that number, from 1; the first without one.
fn nth(events: &[Moment], number: Option<u64>, kind: &str) -> Result<Moment, Missing> {
    let number = number.unwrap_or(1);
    let place = number.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    place
        .and_then(|place| events.get(place))
        .copied()
        .ok_or_else(|| Missing::Nothing(format!("{} of {number} events '{kind}'", events.len())))
}

fn span(expectation: &Expectation, source: &impl Source) -> Result<Span, Missing> {
    let to_s = expectation.to_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
    let Some(kind) = &expectation.after else {
        return Ok(Span { from_s: expectation.from_ns.unwrap_or(0) as f64 / 1e9, to_s, event: None });
    };
    let event = nth(&source.events(flow(expectation)?, kind)?, expectation.number, kind)?;
    let to_s = expectation.rounds.map_or(to_s, |rounds| event.time_s + rounds * event.round_s);
    Ok(Span { from_s: event.time_s, to_s, event: Some(event) })
}

fn series(expectation: &Expectation, source: &impl Source) -> Decided {
    let series = source.series(expectation)?;
    if let Some(at_ns) = expectation.at_ns {
        let at_s = at_ns as f64 / 1e9;
        let (_, values) = within(&series, &Span { from_s: at_s, to_s: at_s, event: None })?;
        return Ok(bounded(expectation, values[values.len() - 1], &format!(" at {} s", digits(at_s))));
    }
    let span = span(expectation, source)?;
    let (times, values) = within(&series, &span)?;
    if let Some(never) = expectation.never {
        return Ok(direction(never, times, values));
    }
    match expectation.statistic.as_deref() {
        None | Some("every") => Ok(every(expectation, times, values)),
        Some(name) => Ok(bounded(expectation, statistic(name, times, values, &span)?, "")),
    }
}

/// The rows of a span, at least one; the value at its beginning is that of the last row before.
fn within<'a>(series: &'a Series, span: &Span) -> Result<(&'a [f64], &'a [f64]), Missing> {
    let times = &series.time_s;
    let mut first = times.partition_point(|&time_s| time_s < span.from_s);
    let last = times.partition_point(|&time_s| time_s <= span.to_s);
    if let (Some(calls), Some(event)) = (&series.calls, span.event) {
        first = calls.partition_point(|&call| call <= event.call).saturating_sub(1);
    } else if times.get(first).is_none_or(|&time_s| time_s > span.from_s) {
        first = first.saturating_sub(1);
    }
    if last <= first {
        return Err(Missing::Nothing("no value in that span".to_owned()));
    }
    Ok((&times[first..last], &series.values[first..last]))
}

fn every(expectation: &Expectation, times: &[f64], values: &[f64]) -> (Outcome, String) {
    let (low, high) = extremes(values);
    for place in [low, high] {
        let made = bounded(expectation, values[place], &format!(" at {} s", digits(times[place])));
        if made.0 == Outcome::Fail {
            return made;
        }
    }
    (Outcome::Pass, format!("{} to {}", digits(values[low]), digits(values[high])))
}

/// Places of the least and of the greatest value, the first ones of equal values.
fn extremes(values: &[f64]) -> (usize, usize) {
    let (mut low, mut high) = (0, 0);
    for (place, &value) in values.iter().enumerate() {
        low = if value < values[low] { place } else { low };
        high = if value > values[high] { place } else { high };
    }
    (low, high)
}

fn direction(never: Direction, times: &[f64], values: &[f64]) -> (Outcome, String) {
    let is_wrong = |step: &[f64]| match never {
        Direction::Falls => step[1] < step[0],
        Direction::Rises => step[1] > step[0],
    };
    let change = |from: usize, to: usize| format!("{} to {}", digits(values[from]), digits(values[to]));
    match values.windows(2).position(is_wrong) {
        Some(place) => {
            let found = format!("{} at {} s", change(place, place + 1), digits(times[place + 1]));
            (Outcome::Fail, found)
        }
        None => (Outcome::Pass, change(0, values.len() - 1)),
    }
}

fn statistic(name: &str, times: &[f64], values: &[f64], span: &Span) -> Result<f64, Missing> {
    let (first, last) = (values[0], values[values.len() - 1]);
    let (low, high) = extremes(values);
    match name {
        "mean" => Ok(mean(times, values, span)),
        "min" => Ok(values[low]),
        "max" => Ok(values[high]),
        "first" => Ok(first),
        "last" => Ok(last),
        "ratio" if first == 0.0 => {
            Err(Missing::Nothing("the first value is 0: there is no ratio".to_owned()))
        }
        "ratio" => Ok(last / first),
        "largest_rise" => Ok(values.windows(2).map(|step| step[1] - step[0]).reduce(f64::max).unwrap_or(0.0)),
        "rise_per_round" => match span.event {
            Some(event) if event.round_s > 0.0 => {
                let elapsed_s = times[times.len() - 1] - span.from_s;
                Ok(if elapsed_s > 0.0 { (last - first) / (elapsed_s / event.round_s) } else { 0.0 })
            }
            _ => unseen("a round is a smoothed RTT at an event: give 'after', too"),
        },
        _ => unseen(&format!("there is no statistic '{name}'")),
    }
}

/// The mean over time: each value lasts until the next row, the last until the end of the span.
fn mean(times: &[f64], values: &[f64], span: &Span) -> f64 {
    let end_s = if span.to_s.is_finite() { span.to_s } else { times[times.len() - 1] };
    let edges = times.iter().map(|time_s| time_s.max(span.from_s)).chain([end_s]).collect::<Vec<_>>();
    let lasts = edges.windows(2).map(|edge| edge[1] - edge[0]);
    let (sum, weight) = values
        .iter()
        .zip(lasts)
        .fold((0.0, 0.0), |(sum, weight), (value, last_s)| (sum + value * last_s, weight + last_s));
    if weight > 0.0 { sum / weight } else { values.iter().sum::<f64>() / values.len() as f64 }
}
