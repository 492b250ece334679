//! The answer about a capture.

use crate::capture::Capture;
pub use crate::classify::Cause;
use crate::classify::{After, Judged, judge};
use crate::connection::Connection;
use crate::error::Error;
use crate::facts::Facts;
pub use crate::facts::Place;
use crate::policer::Bucket;
use crate::segment::{Content, End, read};
use crate::series::{Series, Wanted};
use crate::slots::{NONE, Slot};
use crate::table::Table;
use serde::Serialize;
use std::io::Read;

/// Connections with spans and numbers, at most, those with the most bytes first; all are counted.
const REPORTED: usize = 1000;

/// A capture explained.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The capture as a file.
    pub capture: CaptureFacts,
    /// Lines for the user: what could not be read.
    pub notes: Vec<String>,
    /// Connections that the capture has.
    pub connection_count: usize,
    /// The connections, those with the most bytes first.
    pub connections: Vec<ConnectionReport>,
}

/// Counts of a capture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CaptureFacts {
    /// pcap or pcapng.
    pub format: &'static str,
    /// Packets of any kind.
    pub packets: u64,
    /// TCP segments.
    pub segments: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// From the first packet to the last.
    pub duration_s: f64,
    /// Packets that the capturing machine says it dropped.
    pub dropped: u64,
}

/// The handshake, as far as it was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Handshake {
    /// SYN and SYN-ACK are in the capture.
    pub seen: bool,
    /// Bytes of a full segment.
    pub segment_bytes: u32,
    /// Scale of the receiver's window; inferred if the handshake was not seen.
    pub window_scale: u8,
    /// SACK was agreed on; `None` if the handshake was not seen.
    pub sack: Option<bool>,
    /// The segments have timestamps.
    pub timestamps: bool,
    /// RTT of the handshake.
    pub rtt_ms: Option<f64>,
}

/// Retransmissions by class.
#[derive(Clone, Debug, Serialize)]
pub struct Retransmissions {
    /// Bytes sent again.
    pub bytes: u64,
    /// Segments sent again by SACK, duplicate ACKs or by time.
    pub fast: u64,
    /// Segments sent again by the timer.
    pub timeouts: u64,
    /// Probable tail loss probes.
    pub probes: u64,
    /// Retransmissions of what had arrived, by DSACK or by the ACKs.
    pub spurious: u64,
    /// Segments that came late, without a loss.
    pub reordered: u64,
}

/// The numbers behind a span.
#[derive(Clone, Debug, Serialize)]
pub struct Numbers {
    /// Delivered bits a second, by the ACKs.
    pub rate_bps: f64,
    /// Largest flight.
    pub flight_bytes: u32,
    /// Largest advertised window.
    pub window_bytes: u32,
    /// Least RTT.
    pub rtt_min_ms: Option<f64>,
    /// Mean RTT.
    pub rtt_mean_ms: Option<f64>,
    /// Mean RTT above the connection's least.
    pub queue_ms: Option<f64>,
    /// Retransmissions, probes apart.
    pub losses: u32,
    /// Marks of ECN, or their echoes.
    pub marks: u32,
}

/// A span of one cause.
#[derive(Clone, Debug, Serialize)]
pub struct Span {
    /// Seconds since the connection's first packet.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// The cause.
    pub cause: Cause,
    /// The event that brought the congestion window down.
    pub after: Option<After>,
    /// The numbers behind it.
    pub numbers: Numbers,
}

/// A cause's share of a connection's time.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// The cause.
    pub cause: Cause,
    /// Share of the time; all add up to 1.
    pub share: f64,
    /// Its time.
    pub seconds: f64,
    /// Most frequent event that brought the window down, for `cwnd`.
    pub after: Option<After>,
    /// The numbers behind it.
    pub numbers: Numbers,
}

/// A connection explained.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Its place in the capture, from 1.
    pub number: usize,
    /// The end that sent more data.
    pub sender: String,
    /// The other end.
    pub receiver: String,
    /// Seconds since 1970 of its first packet.
    pub start_s: f64,
    /// Its duration.
    pub duration_s: f64,
    /// New bytes that the sender sent.
    pub bytes: u64,
    /// Bytes of the other direction.
    pub bytes_back: u64,
    /// Delivered bits a second over the time from the first data on.
    pub goodput_bps: f64,
    /// Where the capture was taken.
    pub place: Place,
    /// The handshake.
    pub handshake: Handshake,
    /// Least RTT.
    pub rtt_min_ms: Option<f64>,
    /// RTT samples.
    pub rtt_samples: u64,
    /// Retransmissions.
    pub retransmissions: Retransmissions,
    /// ACKs with a zero window.
    pub zero_windows: u64,
    /// Rate of the policer, if there is one.
    pub policer_bps: Option<f64>,
    /// Largest queue that the RTT showed, in bytes at the delivered rate.
    pub queue_bytes: Option<u64>,
    /// Causes, the largest share first.
    pub causes: Vec<Share>,
    /// Causes over time.
    pub spans: Vec<Span>,
    /// Limits of this capture: what is not known from it, and why.
    pub cannot: Vec<String>,
    /// Values over time, where they are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

/// Reads a capture to its end and explains its connections.
///
/// # Errors
/// The input is no capture. A capture that is damaged or cut off gives an answer about its beginning, with a note.
pub fn explain(reader: Box<dyn Read>) -> Result<Explanation, Error> {
    explain_with(reader, Wanted::Nothing)
}

/// As [`explain`], with time series of the connection that is wanted.
///
/// # Errors
/// Those of [`explain`].
pub fn explain_with(reader: Box<dyn Read>, series: Wanted) -> Result<Explanation, Error> {
    explain_into(reader, &mut Table::default(), series).map(|(explanation, _)| explanation)
}

/// As [`explain_with`]; `table` keeps the connections, and the answer has the index of each that is in the report.
pub(crate) fn explain_into(
    reader: Box<dyn Read>,
    table: &mut Table,
    series: Wanted,
) -> Result<(Explanation, Vec<usize>), Error> {
    let mut capture = Capture::open(reader)?;
    let mut facts = CaptureFacts { format: capture.format(), ..CaptureFacts::default() };
    let (mut fragments, mut cut, mut unknown_links) = (0u64, 0u64, Vec::new());
    let (mut first_ns, mut last_ns) = (u64::MAX, 0);
    capture.for_each(|raw| {
        facts.packets += 1;
        facts.bytes += u64::from(raw.wire);
        (first_ns, last_ns) = (first_ns.min(raw.time_ns), last_ns.max(raw.time_ns));
        match read(&raw) {
            Content::Tcp(segment) => {
                facts.segments += 1;
                table.take(&segment);
            }
            Content::Fragment => fragments += 1,
            Content::Cut => cut += 1,
            Content::UnknownLink(link) if !unknown_links.contains(&link) && unknown_links.len() < 8 => {
                unknown_links.push(link)
            }
            Content::UnknownLink(_) | Content::Other => {}
        }
    });
    facts.duration_s = seconds(last_ns.saturating_sub(first_ns));
    facts.dropped = capture.drops();
    let mut notes = Vec::new();
    let mut note = |count: u64, text: &str| {
        if count > 0 {
            notes.push(format!("{count} {text}"));
        }
    };
    note(facts.dropped, "packets were dropped by the capturing machine: what depends on them is missing");
    note(cut, "packets are cut off within their headers; a snap length of 128 bytes holds these");
    note(fragments, "IP fragments behind the first were left out");
    note(capture.untimed(), "packets have no time of their own");
    note(table.beyond, "segments are of connections beyond the 200,000th, which were left out");
    notes.extend(unknown_links.iter().map(|link| format!("link type {link} is not read")));
    notes.extend(capture.ended.take().map(|why| format!("{why}; the answer is about what stands before")));
    let connection_count = table.connections.len();
    let mut order: Vec<usize> = (0..connection_count).collect();
    let bytes = |at: &usize| table.connections[*at].halves.iter().map(|half| half.bytes).sum::<u64>();
    order.sort_by_key(|at| (std::cmp::Reverse(bytes(at)), *at));
    order.truncate(REPORTED);
    let first = order.first().map(|at| at + 1);
    let chosen = |number: usize| match series {
        Wanted::Nothing => false,
        Wanted::First => first == Some(number),
        Wanted::Number(one) => one == number,
    };
    let connections =
        order.iter().map(|&at| report(at + 1, &mut table.connections[at], chosen(at + 1))).collect();
    Ok((Explanation { capture: facts, notes, connection_count, connections }, order))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn shown(end: End) -> String {
    std::net::SocketAddr::new(end.address, end.port).to_string()
}

fn ms(us: u32) -> Option<f64> {
    (us != NONE).then(|| f64::from(us) / 1000.0)
}

fn report(number: usize, connection: &mut Connection, series: bool) -> ConnectionReport {
    for half in &mut connection.halves {
        half.close(connection.last_ns);
    }
    let connection = &*connection;
    let sender = connection.sender();
    let (half, other) = (&connection.halves[sender], &connection.halves[1 - sender]);
    let facts = Facts::of(connection);
    let seen = connection.scale_of(1 - sender).is_some();
    let handshake = connection.handshake_ns();
    let mut report = ConnectionReport {
        number,
        sender: shown(connection.ends[sender]),
        receiver: shown(connection.ends[1 - sender]),
        start_s: seconds(connection.start_ns),
        duration_s: seconds(connection.last_ns),
        bytes: half.bytes,
        bytes_back: other.bytes,
        goodput_bps: 0.0,
        place: facts.as_ref().map_or(Place::Unknown, |facts| facts.place),
        handshake: Handshake {
            seen,
            segment_bytes: connection.segment(sender),
            window_scale: connection.scale_of(1 - sender).unwrap_or(half.needed_scale),
            sack: seen.then_some(half.sack && other.sack),
            timestamps: half.timestamps,
            rtt_ms: handshake.0.zip(handshake.1).map(|(a, b)| seconds(a + b) * 1000.0),
        },
        rtt_min_ms: None,
        rtt_samples: half.rtts,
        retransmissions: Retransmissions {
            bytes: half.resent_bytes,
            fast: half.fast,
            timeouts: half.timeouts,
            probes: half.probes,
            spurious: half.spurious,
            reordered: half.reordered,
        },
        zero_windows: half.zero_windows,
        policer_bps: None,
        queue_bytes: None,
        causes: Vec::new(),
        spans: Vec::new(),
        cannot: Vec::new(),
        series: facts.as_ref().filter(|_| series).map(Series::of),
    };
    match facts {
        Some(facts) => explain_time(&mut report, &facts),
        None => {
            let sum = Slot::new(0, crate::slots::State::Idle);
            let to_ns = connection.last_ns;
            let all = Judged { from_ns: 0, to_ns, cause: Cause::Handshake, after: None, sum };
            divide(&mut report, &[all], NONE);
            report.cannot.push("no data: the connection was opened, or the capture has none of it".into());
        }
    }
    report
}

fn explain_time(report: &mut ConnectionReport, facts: &Facts<'_>) {
    let (mut judged, bucket) = judge(facts);
    if facts.begin_ns > 0 {
        let sum = Slot::new(0, crate::slots::State::Idle);
        judged.insert(
            0,
            Judged { from_ns: 0, to_ns: facts.begin_ns, cause: Cause::Handshake, after: None, sum },
        );
    }
    if judged.is_empty() {
        let (at, sum) = (facts.begin_ns, Slot::new(0, crate::slots::State::Idle));
        judged.push(Judged { from_ns: at, to_ns: at, cause: Cause::Unknown, after: None, sum });
        report.cannot.push("a single packet with data has no duration to divide".into());
    }
    let delivered: u64 = facts.slots.iter().map(|slot| slot.delivered).sum();
    let time = seconds(facts.end_ns - facts.begin_ns);
    report.goodput_bps = if time > 0.0 { delivered as f64 * 8.0 / time } else { 0.0 };
    report.rtt_min_ms = (facts.base_us > 0).then(|| f64::from(facts.base_us) / 1000.0);
    report.policer_bps = bucket.map(|bucket: Bucket| bucket.rate_bps);
    report.queue_bytes = queue_bytes(facts, &judged);
    divide(report, &judged, facts.base_us);
    cannot(report, facts);
}

/// The largest queue while the path was full, in bytes at the rate of that window.
fn queue_bytes(facts: &Facts<'_>, judged: &[Judged]) -> Option<u64> {
    let full = judged.iter().filter(|window| window.cause == Cause::FullPath);
    let queue = |window: &Judged| {
        let first = window.sum.at as usize;
        let last = (window.to_ns / facts.width_ns) as usize;
        let rtts = facts.rtts.get(first..last)?;
        let rtt = rtts.iter().copied().filter(|rtt| *rtt != NONE).max()?;
        let rate = window.sum.delivered as f64 / seconds(window.to_ns - window.from_ns);
        Some((f64::from(rtt.saturating_sub(facts.base_us)) / 1e6 * rate) as u64)
    };
    full.filter_map(queue).max()
}

fn numbers(sum: &Slot, ns: u64, base_us: u32) -> Numbers {
    let mean = (sum.rtt_count > 0).then(|| sum.rtt_sum as f64 / f64::from(sum.rtt_count) / 1000.0);
    Numbers {
        rate_bps: if ns > 0 { sum.delivered as f64 * 8.0 / seconds(ns) } else { 0.0 },
        flight_bytes: sum.flight,
        window_bytes: sum.window,
        rtt_min_ms: ms(sum.rtt_min),
        rtt_mean_ms: mean,
        queue_ms: mean.map(|mean| (mean - f64::from(base_us) / 1000.0).max(0.0)),
        losses: sum.losses,
        marks: sum.marks,
    }
}

/// Merges windows into spans, and spans into shares.
fn divide(report: &mut ConnectionReport, judged: &[Judged], base_us: u32) {
    let mut spans: Vec<Judged> = Vec::new();
    for window in judged {
        match spans.last_mut() {
            Some(last) if last.cause == window.cause && last.after == window.after => {
                last.to_ns = window.to_ns;
                last.sum.add(&window.sum);
            }
            _ => spans.push(window.clone()),
        }
    }
    let total: u64 = spans.iter().map(|span| span.to_ns - span.from_ns).sum();
    let mut shares: Vec<(u64, Judged)> = Vec::new();
    for span in &spans {
        let ns = span.to_ns - span.from_ns;
        match shares.iter_mut().find(|(_, share)| share.cause == span.cause) {
            Some((time, share)) => {
                *time += ns;
                share.sum.add(&span.sum);
                share.after = span.after.or(share.after);
            }
            None => shares.push((ns, span.clone())),
        }
    }
    shares.sort_by_key(|(ns, share)| (std::cmp::Reverse(*ns), share.cause));
    report.causes = shares
        .iter()
        .map(|(ns, share)| Share {
            cause: share.cause,
            share: if total > 0 { *ns as f64 / total as f64 } else { 1.0 / shares.len() as f64 },
            seconds: seconds(*ns),
            after: share.after,
            numbers: numbers(&share.sum, *ns, base_us),
        })
        .collect();
    report.spans = spans
        .iter()
        .map(|span| Span {
            start_s: seconds(span.from_ns),
            end_s: seconds(span.to_ns),
            cause: span.cause,
            after: span.after,
            numbers: numbers(&span.sum, span.to_ns - span.from_ns, base_us),
        })
        .collect();
}

fn cannot(report: &mut ConnectionReport, facts: &Facts<'_>) {
    let mut say = |line: &str| report.cannot.push(line.to_owned());
    if !facts.scale_known {
        say(
            "the handshake is not in the capture: the scale of the receiver's window is inferred, and whether that window limits is not known",
        );
    }
    match facts.place {
        Place::Receiver => say("taken at the receiver: the sender's flight is known one delay late"),
        Place::Middle => say("taken between the ends: each delay is a part of the RTT"),
        Place::Unknown => say("the place of the capture is not known: there are too few timestamps or ACKs"),
        Place::Sender => {}
    }
    if facts.half.rtts == 0 {
        say("no RTT: a queue cannot be distinguished from a long path");
    }
    if facts.half.unseen_bytes > 0 {
        let bytes = facts.half.unseen_bytes;
        report.cannot.push(format!("{bytes} bytes were acknowledged and are not in the capture, which dropped packets: losses and flight may be wrong"));
    }
}
