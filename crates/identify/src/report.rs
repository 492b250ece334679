//! The answer.

use crate::candidates::{Candidate, candidates};
use crate::replay::{Start, replay};
use crate::rounds::rounds;
use crate::score::{difference, errors, mean};
use crate::sender::{Event, events};
use cwnd_evidence::{Error, Recorded, record};
use serde::Serialize;
use std::io::Read;

/// Packets of a capture that are kept, at most: 56 bytes each.
const MOST_PACKETS: usize = 4_000_000;

/// A candidate with its error.
#[derive(Clone, Debug, Serialize)]
pub struct Candidacy {
    /// Name of the algorithm.
    pub name: String,
    /// Parameters that are not the defaults.
    pub params: Vec<(&'static str, &'static str)>,
    /// Mean difference between the window that it would have had and the flight, as a share.
    pub error: f64,
}

/// A connection's algorithm.
#[derive(Clone, Debug, Serialize)]
pub struct Identified {
    pub number: usize,
    pub rounds: usize,
    pub compared: usize,
    pub epochs: usize,
    /// Algorithms that cannot be told apart here, the best first; empty: unknown.
    pub class: Vec<Candidacy>,
    pub nearest: Vec<Candidacy>,
}

/// The answer about a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Identification {
    pub connections: Vec<Identified>,
}

/// Reads a capture and identifies the algorithm of each connection.
pub fn identify(reader: Box<dyn Read>) -> Result<Identification, Error> {
    let (_, recorded) = record(reader, MOST_PACKETS)?;
    let candidates = candidates();
    Ok(Identification { connections: recorded.iter().map(|one| identify_one(one, &candidates)).collect() })
}

fn identify_one(recorded: &Recorded, candidates: &[Candidate]) -> Identified {
    let events = events(recorded).unwrap_or_default();
    let rounds = rounds(&events, &recorded.report);
    let first = events.iter().find_map(|event| match event {
        Event::Ack(ack) => Some(ack.flight),
        _ => None,
    });
    let start = Start {
        mss: recorded.report.handshake.segment_bytes.max(1),
        flight: first.filter(|_| !recorded.report.handshake.seen),
    };
    let mut scored: Vec<(&Candidate, Vec<(f64, f64)>)> = candidates
        .iter()
        .map(|candidate| (candidate, errors(&rounds.rounds, &replay(candidate, &events, &rounds, start))))
        .collect();
    scored.sort_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    if std::env::var("EVENTS").is_ok() {
        let mut now = 0;
        for (index, event) in events.iter().enumerate() {
            match event {
                Event::Ack(ack) => now = ack.now_us,
                other => eprintln!("{now} {other:?} before={}", rounds.before[index]),
            }
        }
    }
    if std::env::var("DUMP").is_ok() {
        let names: Vec<String> = std::env::var("DUMP").unwrap_or_default().split(',').map(str::to_owned).collect();
        for name in names {
            let Some(c) = candidates.iter().find(|c| format!("{}{:?}", c.algorithm.name, c.set) == name || c.algorithm.name == name) else { continue };
            let flights = replay(c, &events, &rounds, start);
            for (round, flight) in rounds.rounds.iter().zip(flights) {
                let Event::Ack(ack) = events[round.at] else { continue };
                eprintln!("{name} t={} seen={} pred={flight:.1} epoch={} block={} rtt={}", ack.now_us, round.flight, round.epoch, round.block, ack.rtt_us);
            }
        }
    }
    let mut nearest: Vec<Candidacy> = Vec::new();
    let mut class = Vec::new();
    for (candidate, blocks) in &scored {
        if nearest.iter().any(|one| one.name == candidate.algorithm.name) {
            continue;
        }
        let one = Candidacy {
            name: candidate.algorithm.name.clone(),
            params: candidate.set.clone(),
            error: mean(blocks),
        };
        let (apart, deviation) = difference(blocks, &scored[0].1);
        if !blocks.is_empty() && apart <= (2.0 * deviation).max(0.002) {
            class.push(one.clone());
        }
        nearest.push(one);
    }
    Identified {
        number: recorded.report.number,
        rounds: rounds.count,
        compared: rounds.rounds.len(),
        epochs: rounds.rounds.last().map_or(0, |round| round.epoch + 1),
        class,
        nearest,
    }
}
