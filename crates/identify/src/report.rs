//! The answer.

use crate::candidates::{Candidate, candidates};
use crate::replay::{Start, replay};
use crate::rounds::rounds;
use crate::score::{Block, difference, errors, mean};
use crate::sender::{Event, events};
use cwnd_evidence::{CaptureFacts, Cause, Error, Place, Recorded, record};
use serde::Serialize;
use std::io::Read;

/// Packets of a capture that are kept, at most: 56 bytes each.
const MOST_PACKETS: usize = 4_000_000;
/// Rounds that are compared, at least: below, all that is seen is a slow start.
const FEWEST_ROUNDS: usize = 12;
/// The largest mean error of the right algorithm: of simulated flows with a known one, 95 % are below.
const MOST_ERROR: f64 = 0.1;
/// Candidates are equal within this mean error, or within two standard errors of their paired difference.
const EQUAL: f64 = 0.002;
const DEVIATIONS: f64 = 2.0;
/// A class of more algorithms says nothing.
const LARGEST_CLASS: usize = 10;
/// Nearest algorithms that are reported.
const NEAREST: usize = 5;

/// An algorithm with its error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidacy {
    /// Name of the algorithm.
    pub name: String,
    /// Parameters of the best fit that are not the defaults, with their values.
    pub params: Vec<(&'static str, &'static str)>,
    /// Mean difference between the window that it would have had and the flight that was seen, as a share of that.
    pub error: f64,
}

/// A connection's algorithm.
#[derive(Clone, Debug, Serialize)]
pub struct Identified {
    /// Number of the connection, by its first packet.
    pub number: usize,
    /// Address and port of the end that sent more, and of the other one.
    pub sender: String,
    /// The other end.
    pub receiver: String,
    /// Bytes that the sender sent.
    pub bytes: u64,
    /// From the first packet to the last.
    pub duration_s: f64,
    /// Where the capture was taken.
    pub place: Place,
    /// Algorithms that cannot be distinguished here, the best fit first; empty: unknown.
    #[serde(rename = "candidates")]
    pub class: Vec<Candidacy>,
    /// Share by which the nearest algorithm outside the class fits worse than the best: 0 to 1; 0 without a class.
    pub confidence: f64,
    /// Reason for which the algorithm is unknown.
    pub why: Option<String>,
    /// Best fits, one for each algorithm, whether or not they are in the class.
    pub nearest: Vec<Candidacy>,
    /// Round trips that were seen.
    pub rounds: usize,
    /// Those in which the congestion window was the limit, by which the candidates were compared.
    pub compared: usize,
    /// Losses, marks and timeouts between these, plus one.
    pub epochs: usize,
}

/// The answer about a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Identification {
    /// Counts of the capture.
    pub capture: CaptureFacts,
    /// Drops, damage, parts that were left out.
    pub notes: Vec<String>,
    /// Connections in the capture.
    pub connection_count: usize,
    /// Connections by bytes.
    pub connections: Vec<Identified>,
}

/// Reads a capture to its end and identifies the algorithm of each connection.
///
/// # Errors
/// The input is no capture.
pub fn identify(reader: Box<dyn Read>) -> Result<Identification, Error> {
    let (explanation, recorded) = record(reader, MOST_PACKETS)?;
    let candidates = candidates();
    let mut notes = explanation.notes;
    if recorded.iter().any(|one| one.is_cut) {
        notes.push("of long connections the first packets were taken".into());
    }
    Ok(Identification {
        capture: explanation.capture,
        notes,
        connection_count: explanation.connection_count,
        connections: recorded.iter().map(|one| identify_one(one, &candidates)).collect(),
    })
}

fn identify_one(recorded: &Recorded, candidates: &[Candidate]) -> Identified {
    let report = &recorded.report;
    let mut found = Identified {
        number: report.number,
        sender: report.sender.clone(),
        receiver: report.receiver.clone(),
        bytes: report.bytes,
        duration_s: report.duration_s,
        place: report.place,
        class: Vec::new(),
        confidence: 0.0,
        why: None,
        nearest: Vec::new(),
        rounds: 0,
        compared: 0,
        epochs: 0,
    };
    let Some(events) = events(recorded) else {
        found.why = Some(
            "taken at the receiver, of a connection without timestamps: what the sender had in flight is not known"
                .into(),
        );
        return found;
    };
    let rounds = rounds(&events, report);
    found.rounds = rounds.count;
    found.compared = rounds.rounds.len();
    found.epochs = rounds.rounds.last().map_or(0, |round| round.epoch + 1);
    if found.compared < FEWEST_ROUNDS {
        found.why = Some(too_few(&found, recorded));
        return found;
    }
    let first = events.iter().find_map(|event| match event {
        Event::Ack(ack) => Some(ack.flight),
        _ => None,
    });
    let start = Start {
        mss: report.handshake.segment_bytes.max(1),
        flight: first.filter(|_| !report.handshake.seen),
    };
    let score = |candidate| errors(&rounds.rounds, &replay(candidate, &events, &rounds, start));
    let mut scored: Vec<(&Candidate, Vec<Block>)> =
        candidates.iter().map(|candidate| (candidate, score(candidate))).collect();
    scored.sort_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    judge(&mut found, &scored);
    found
}

/// Finds the candidates that fit as well as the best; `scored` is in the order of their errors.
fn judge(found: &mut Identified, scored: &[(&Candidate, Vec<Block>)]) {
    let Some((_, best)) = scored.first() else { return };
    let least = mean(best);
    let mut outside = None;
    let mut seen: Vec<&str> = Vec::new();
    for (candidate, blocks) in scored {
        if seen.contains(&candidate.algorithm.name.as_str()) {
            continue;
        }
        seen.push(&candidate.algorithm.name);
        let error = mean(blocks);
        let one = Candidacy { name: candidate.algorithm.name.clone(), params: candidate.set.clone(), error };
        let (apart, deviation) = difference(blocks, best);
        if apart <= (DEVIATIONS * deviation).max(EQUAL) {
            found.class.push(one.clone());
        } else if outside.is_none() {
            outside = Some(error);
        }
        if found.nearest.len() < NEAREST {
            found.nearest.push(one);
        }
    }
    if least > MOST_ERROR {
        found.why =
            Some(format!("no algorithm of the registry fits: the nearest is off by {:.0}%", least * 100.0));
        found.class.clear();
    } else if found.class.len() > LARGEST_CLASS {
        found.why =
            Some(format!("{} algorithms fit alike: the window did too little here", found.class.len()));
        found.class.clear();
    } else {
        found.confidence = outside.map_or(1.0, |error| 1.0 - least / error);
    }
}

fn too_few(found: &Identified, recorded: &Recorded) -> String {
    let limits =
        |cause| matches!(cause, Cause::Receiver | Cause::Application | Cause::SenderBuffer | Cause::Timeout);
    let main = recorded.report.causes.iter().find(|share| limits(share.cause) && share.share > 0.3);
    let limit = match main.map(|share| share.cause) {
        Some(Cause::Receiver) => ": the receiver's window was the limit",
        Some(Cause::Application) => ": the application was the limit",
        Some(Cause::SenderBuffer) => ": the sender's buffer was the limit",
        Some(Cause::Timeout) => ": the sender waited for timeouts",
        _ => "",
    };
    format!(
        "the congestion window shows in {} round trips, and {FEWEST_ROUNDS} are needed{limit}",
        found.compared
    )
}
