//! A direction of a connection: its data (here), and the ACKs that come back (`acks.rs`).

mod acks;

use crate::segment::{FIN, PSH, SYN, Segment};
use crate::sequence::{DUP_THRESH, LEAST_RTO_US, MOST_PIECES, MOST_RUNS, ORIGIN, unwrap};
use crate::slots::{Slots, State};
use std::collections::VecDeque;

/// Losses and stalls that are kept one by one, at most.
const MOST_EVENTS: usize = 4096;

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    end: u64,
    sent_ns: u64,
    resent: u8,
    sacked: bool,
    /// Counted out of the flight until it is sent again.
    lost: bool,
    /// Never seen: lost before the capture, or not captured.
    unseen: bool,
}

impl Run {
    fn len(&self) -> u64 {
        self.end - self.start
    }

    fn in_flight(&self) -> u64 {
        if self.sacked || self.lost || self.unseen { 0 } else { self.len() }
    }
}

/// A kind of retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fast,
    Timeout,
    Probe,
}

/// A retransmission that is no probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pub at_ns: u64,
    /// The last RTT before it; 0 if there is none.
    pub rtt_us: u32,
    /// The largest RTT of the last RTT: of the segments that left beside the lost one.
    pub peak_us: u32,
    /// When the lost segment was first sent.
    pub sent_ns: u64,
}

/// Facts of a direction, as far as the capture shows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Half {
    pub bytes: u64,
    pub packets: u64,
    pub resent_bytes: u64,
    pub fast: u64,
    pub timeouts: u64,
    pub probes: u64,
    pub spurious: u64,
    pub reordered: u64,
    /// Bytes that were acknowledged and never seen.
    pub unseen_bytes: u64,
    pub marks: u64,
    pub largest: u32,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
    pub syn_ns: Option<u64>,
    pub first_data_ns: Option<u64>,
    pub last_data_ns: u64,
    pub finished: bool,
    /// The largest window field that the other end advertised, and the flight's largest excess over it.
    pub window_field: u16,
    pub zero_windows: u64,
    pub rtt_min_us: u32,
    pub release_min_us: u32,
    pub rtts: u64,
    pub losses: Vec<Loss>,
    pub stalls: Vec<(u64, u64)>,
    /// From the first retransmission of an episode to the ACK of what was sent by then.
    pub recoveries: Vec<(u64, u64)>,
    /// Ratio of the flight to the window field, at most: what the scale has to be.
    pub needed_scale: u8,
    pub slots: Slots,
    runs: VecDeque<Run>,
    /// SACKed ranges, in order and apart; those below the ACK are dropped when they are the half.
    sacked: Vec<(u64, u64)>,
    known: bool,
    next: u64,
    una: u64,
    flight: u64,
    highest_sack: u64,
    lost_up_to: u64,
    dup_acks: u32,
    window: u64,
    last_ack_ns: u64,
    last_send_ns: u64,
    last_rtt_us: u32,
    recovery_point: Option<u64>,
    recovery_since: u64,
    echo: Option<(u32, u64)>,
    /// The first timestamp of the receiver.
    first_clock: Option<u32>,
    /// Largest RTTs of this half of an RTT and the one before, and when this one began.
    peaks: [u32; 2],
    peak_since: u64,
}

impl Half {
    /// A direction before its first packet.
    pub fn new() -> Self {
        Half {
            rtt_min_us: u32::MAX,
            release_min_us: u32::MAX,
            next: ORIGIN,
            una: ORIGIN,
            window: u64::MAX,
            ..Half::default()
        }
    }

    fn begin(&mut self, seq: u32) {
        if !self.known {
            self.known = true;
            self.next = ORIGIN | u64::from(seq);
            self.una = self.next;
        }
    }

    /// Bytes of a full segment, as far as it is known.
    pub fn segment(&self, other: Option<u16>) -> u32 {
        let option = if self.timestamps { 12 } else { 0 };
        match self.mss.into_iter().chain(other).min() {
            Some(mss) if mss > 100 => u32::from(mss) - option,
            _ => self.largest.clamp(1, 1448),
        }
    }

    fn rto_ns(&self) -> u64 {
        (u64::from(self.last_rtt_us) * 1500).max(LEAST_RTO_US * 1000)
    }

    /// A segment of this direction, with data or without.
    pub fn send(&mut self, s: &Segment, now: u64, mss: u32) {
        self.packets += 1;
        let mut seq = s.seq;
        if s.has(SYN) {
            self.begin(seq);
            self.syn_ns.get_or_insert(now);
            (self.mss, self.scale, self.sack, self.timestamps) =
                (s.mss, s.scale, s.sack_permitted, s.timestamps.is_some());
            self.next = self.next.max(unwrap(seq, self.next) + 1);
            self.una = self.una.max(unwrap(seq, self.next));
            seq = seq.wrapping_add(1);
        }
        self.finished |= s.has(FIN);
        if s.marked {
            self.marks += 1;
        }
        if s.len == 0 {
            return;
        }
        self.begin(seq);
        self.timestamps |= s.timestamps.is_some();
        if let (Some((value, seen)), Some((_, echo))) = (self.echo, s.timestamps)
            && echo == value
        {
            let us = us(now - seen);
            self.release_min_us = self.release_min_us.min(us);
            let slot = self.slots.at(now);
            slot.release_min = slot.release_min.min(us);
            self.echo = None;
        }
        self.largest = self.largest.max(s.len);
        self.first_data_ns.get_or_insert(now);
        let start = unwrap(seq, self.next);
        let end = start + u64::from(s.len);
        if start > self.next.saturating_add(1 << 30) || end + (1 << 30) < self.una {
            return; // far from the window: another connection's or damage
        }
        self.last_data_ns = now;
        if start >= self.next {
            self.send_new(s, now, start, end, mss);
        } else {
            if end > self.next {
                let next = self.next;
                self.send_new(s, now, next, end, mss);
            }
            self.send_again(now, start, end.min(self.next), mss);
        }
        self.last_send_ns = now;
        self.note_state(now, mss);
    }

    fn push(&mut self, run: Run) {
        if self.runs.len() >= MOST_RUNS
            && let Some(old) = self.runs.pop_front()
        {
            self.flight -= old.in_flight();
        }
        self.flight += run.in_flight();
        self.runs.push_back(run);
    }

    fn send_new(&mut self, s: &Segment, now: u64, start: u64, end: u64, mss: u32) {
        if start > self.next {
            let hole = Run {
                start: self.next,
                end: start,
                sent_ns: now,
                resent: 0,
                sacked: false,
                lost: false,
                unseen: true,
            };
            self.push(hole);
        }
        // A large segment that an offload cuts is as many runs as it becomes, since SACKs may cover a part.
        let piece = u64::from(mss.max(1)).max((end - start).div_ceil(MOST_PIECES));
        let mut at = start;
        while at < end {
            let to = end.min(at + piece);
            self.push(Run {
                start: at,
                end: to,
                sent_ns: now,
                resent: 0,
                sacked: false,
                lost: false,
                unseen: false,
            });
            at = to;
        }
        self.next = end;
        self.bytes += end - start;
        let after_ack = now.saturating_sub(self.last_ack_ns);
        let flight = self.flight.min(u64::from(u32::MAX)) as u32;
        let slot = self.slots.at(now);
        slot.sent += end - start;
        // Offloads cut a large segment: it counts as the segments that it becomes.
        slot.segments += s.len.div_ceil(mss.max(1));
        if !s.len.is_multiple_of(mss.max(1)) && s.has(PSH) {
            slot.short += 1;
        }
        // An ACK releases data at once; a millisecond is for a busy machine and a paced train.
        if after_ack > 1_000_000 {
            slot.unclocked += end - start;
        }
        slot.flight = slot.flight.max(flight);
        slot.marks += u32::from(s.marked);
    }

    fn send_again(&mut self, now: u64, start: u64, end: u64, mss: u32) {
        if end <= self.una {
            return self.resend_of_acknowledged(now, end - start);
        }
        let first = self.find(start.max(self.una));
        let quiet = now.saturating_sub(self.last_ack_ns.max(self.last_send_ns));
        let rto = self.rto_ns();
        let (mut bytes, mut seen_before, mut lost, mut sent_ns) = (0, false, false, now);
        for at in first..self.runs.len() {
            let run = &mut self.runs[at];
            if run.start >= end {
                break;
            }
            if run.unseen {
                // A hole that is filled soon was reordered before the capture.
                let late = now.saturating_sub(run.sent_ns);
                if late < 3_000_000.max(u64::from(self.last_rtt_us) * 250) {
                    self.reordered += 1;
                } else {
                    seen_before = true;
                    lost = true;
                    sent_ns = sent_ns.min(run.sent_ns);
                    run.resent = 1;
                }
                run.unseen = false;
                self.flight += run.in_flight();
                bytes += run.len();
                continue;
            }
            seen_before = true;
            lost |= run.lost;
            sent_ns = sent_ns.min(run.sent_ns);
            self.flight -= run.in_flight();
            run.lost = false;
            run.resent = run.resent.saturating_add(1);
            self.flight += run.in_flight();
            bytes += run.len().min(end - start);
            run.sent_ns = now;
        }
        self.bytes += if seen_before { 0 } else { bytes };
        if !seen_before {
            return;
        }
        self.resent_bytes += bytes;
        let kind = if lost || u64::from(self.dup_acks) >= DUP_THRESH {
            Kind::Fast
        } else if quiet >= rto && start <= self.una {
            Kind::Timeout
        } else if end == self.next && quiet > u64::from(self.last_rtt_us) * 1000 {
            Kind::Probe
        } else {
            Kind::Fast
        };
        self.count(now, kind, sent_ns);
        if kind == Kind::Timeout {
            let since = self.last_ack_ns.max(self.last_send_ns);
            if self.stalls.len() < MOST_EVENTS {
                self.stalls.push((since, now));
            }
            self.lose_all_but(start, end);
        }
        if self.recovery_point.is_none() && kind != Kind::Probe {
            self.recovery_point = Some(self.next);
            self.recovery_since = now;
        }
        let slot = self.slots.at(now);
        slot.resent += bytes;
        slot.segments += (bytes as u32).div_ceil(mss.max(1));
        slot.losses += u32::from(kind != Kind::Probe);
    }

    fn resend_of_acknowledged(&mut self, now: u64, bytes: u64) {
        // Data that had arrived: a spurious retransmission, or a keepalive of a byte.
        if bytes > 1 {
            self.resent_bytes += bytes;
            self.spurious += 1;
            self.slots.at(now).resent += bytes;
        }
    }

    fn count(&mut self, now: u64, kind: Kind, sent_ns: u64) {
        match kind {
            Kind::Fast => self.fast += 1,
            Kind::Timeout => self.timeouts += 1,
            Kind::Probe => self.probes += 1,
        }
        if kind != Kind::Probe && self.losses.len() < MOST_EVENTS {
            self.losses.push(Loss {
                at_ns: now,
                rtt_us: self.last_rtt_us,
                peak_us: self.peaks[0].max(self.peaks[1]),
                sent_ns,
            });
        }
    }

    /// After a timeout all is taken for lost but what is sent now.
    fn lose_all_but(&mut self, start: u64, end: u64) {
        for run in &mut self.runs {
            if run.start < start || run.start >= end {
                self.flight -= run.in_flight();
                run.lost = !run.sacked;
            }
        }
    }

    /// The first run that ends behind `seq`.
    fn find(&self, seq: u64) -> usize {
        self.runs.partition_point(|run| run.end <= seq)
    }

    fn note_state(&mut self, now: u64, mss: u32) {
        let ahead = self.next - self.una;
        if self.window < u64::MAX && self.window > 0 && ahead > self.window && self.scale.is_none() {
            while self.needed_scale < 14 && ahead > self.window {
                self.needed_scale += 1;
                self.window *= 2;
            }
        }
        let state = if self.window == 0 {
            State::Closed
        } else if ahead.saturating_add(u64::from(mss)) > self.window {
            State::Blocked
        } else if self.next == self.una {
            State::Idle
        } else {
            State::Flying
        };
        self.slots.turn(now, state);
    }

    /// Ends what is open, and frees what only packets need.
    pub fn close(&mut self, now: u64) {
        self.slots.turn(now, State::Idle);
        if self.recovery_point.take().is_some() {
            self.recoveries.push((self.recovery_since, now));
        }
        self.runs = VecDeque::new();
        self.sacked = Vec::new();
    }
}

fn us(ns: u64) -> u32 {
    (ns / 1000).min(u64::from(u32::MAX - 1)) as u32
}
