//! A direction of a connection: its data, and the ACKs that come back.

use crate::run::Run;
pub(crate) use crate::run::{Kind, Loss};
use crate::segment::{ACK, ECE, FIN, PSH, SYN, Segment};
use crate::slots::{Slots, State};
use std::collections::VecDeque;

/// Segments in flight that are followed, at most: a window of 90 MB. A hostile capture may have more.
const MOST_RUNS: usize = 1 << 16;
/// Losses and stalls that are kept one by one, at most.
const MOST_EVENTS: usize = 4096;
/// Linux's least RTO is 200 ms; RFC 6298 has 1 s. A margin of a tenth is for late timers and captures.
const LEAST_RTO_NS: u64 = 180_000_000;
/// Sequence numbers begin here, so that those before the first have room.
const ORIGIN: u64 = 1 << 40;
/// Segments above a hole that make it a loss (RFC 6675: DupThresh).
const DUP_THRESH: u64 = 3;

/// A direction.
#[derive(Clone, Debug)]
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
    /// Nothing was seen.
    pub const fn new() -> Self {
        Half {
            bytes: 0,
            packets: 0,
            resent_bytes: 0,
            fast: 0,
            timeouts: 0,
            probes: 0,
            spurious: 0,
            reordered: 0,
            unseen_bytes: 0,
            marks: 0,
            largest: 0,
            mss: None,
            scale: None,
            sack: false,
            timestamps: false,
            syn_ns: None,
            first_data_ns: None,
            last_data_ns: 0,
            finished: false,
            window_field: 0,
            zero_windows: 0,
            rtt_min_us: u32::MAX,
            release_min_us: u32::MAX,
            rtts: 0,
            losses: Vec::new(),
            stalls: Vec::new(),
            recoveries: Vec::new(),
            needed_scale: 0,
            slots: Slots::new(),
            runs: VecDeque::new(),
            known: false,
            next: ORIGIN,
            una: ORIGIN,
            flight: 0,
            highest_sack: 0,
            lost_up_to: 0,
            dup_acks: 0,
            window: u64::MAX,
            last_ack_ns: 0,
            last_send_ns: 0,
            last_rtt_us: 0,
            recovery_point: None,
            recovery_since: 0,
            echo: None,
            first_clock: None,
            peaks: [0; 2],
            peak_since: 0,
        }
    }

    /// The sequence number near `near` whose lower bits are `seq`.
    fn unwrap(seq: u32, near: u64) -> u64 {
        let ahead = seq.wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(ahead))
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
        (u64::from(self.last_rtt_us) * 1500).max(LEAST_RTO_NS)
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
            self.next = self.next.max(Self::unwrap(seq, self.next) + 1);
            self.una = self.una.max(Self::unwrap(seq, self.next));
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
        let start = Self::unwrap(seq, self.next);
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
        let run = Run { start, end, sent_ns: now, resent: 0, sacked: false, lost: false, unseen: false };
        self.push(run);
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

    /// A segment of the other direction, with an ACK of this one. `scale` is of its window.
    pub fn acknowledge(&mut self, s: &Segment, now: u64, scale: Option<u8>, mss: u32) {
        if !s.has(ACK) {
            return;
        }
        if !self.known {
            self.begin(s.ack);
        }
        let mut ack = Self::unwrap(s.ack, self.una);
        // A FIN takes a sequence number, and no byte.
        if self.finished && ack == self.next + 1 {
            ack = self.next;
        }
        if ack + (1 << 30) < self.una || ack > self.next.saturating_add(1 << 30) {
            return;
        }
        if !s.has(SYN) {
            self.window_field = self.window_field.max(s.window);
            self.zero_windows += u64::from(s.window == 0);
        }
        self.window = u64::from(s.window) << if s.has(SYN) { 0 } else { scale.unwrap_or(self.needed_scale) };
        if ack > self.next {
            self.unseen_bytes += ack - self.next;
            self.next = ack;
        }
        let (mut rtt, mut delivered) = (None, 0);
        let dsack = s.sack_count > 0 && {
            let (start, end) = (Self::unwrap(s.sacks[0].0, ack), Self::unwrap(s.sacks[0].1, ack));
            let second = s.sacks[1];
            let within = s.sack_count > 1
                && Self::unwrap(second.0, ack) <= start
                && end <= Self::unwrap(second.1, ack);
            end <= ack || within
        };
        self.spurious += u64::from(dsack);
        if ack > self.una {
            self.una = ack;
            self.dup_acks = 0;
            self.pop(ack, now, &mut rtt, &mut delivered);
        } else if s.len == 0 && self.flight > 0 {
            self.dup_acks = self.dup_acks.saturating_add(1);
        }
        for &(start, end) in s.sacks.iter().take(s.sack_count).skip(usize::from(dsack)) {
            self.mark(Self::unwrap(start, ack), Self::unwrap(end, ack), now, &mut rtt, &mut delivered);
        }
        self.find_lost(u64::from(mss));
        if self.recovery_point.is_some_and(|point| ack >= point) {
            self.recovery_point = None;
            if self.recoveries.len() < MOST_EVENTS {
                self.recoveries.push((self.recovery_since, now));
            }
        }
        if let (Some((value, _)), None) = (s.timestamps, self.echo) {
            self.echo = Some((value, now));
        } else if self.echo.is_some_and(|(_, seen)| now - seen > 2_000_000_000) {
            self.echo = None;
        }
        self.note(s, now, rtt, delivered);
        if delivered > 0 || self.dup_acks > 0 {
            self.last_ack_ns = now;
        }
        self.note_state(now, mss);
    }

    fn note(&mut self, s: &Segment, now: u64, rtt: Option<(u64, u64)>, delivered: u64) {
        let window = self.window.min(u64::from(u32::MAX)) as u32;
        let slot = self.slots.at(now);
        slot.delivered += delivered;
        slot.window = slot.window.max(window);
        slot.marks += u32::from(s.has(ECE) && !s.has(SYN));
        let Some((ns, sent)) = rtt else { return };
        let rtt = us(ns);
        slot.rtt_min = slot.rtt_min.min(rtt);
        slot.rtt_sum += u64::from(rtt);
        slot.rtt_count += 1;
        if let Some((value, _)) = s.timestamps {
            // The receiver's clock, in milliseconds on Linux.
            let first = *self.first_clock.get_or_insert(value);
            let base = i64::from(value.wrapping_sub(first) as i32) * 1000;
            let relative = |ns: u64| (ns / 1000) as i64;
            slot.forward = slot.forward.min(wrap(base - relative(sent)));
            slot.back = slot.back.min(wrap(relative(now) - base));
        }
        self.last_rtt_us = rtt;
        if now - self.peak_since > u64::from(rtt) * 500 {
            self.peaks = [0, self.peaks[0]];
            self.peak_since = now;
        }
        self.peaks[0] = self.peaks[0].max(rtt);
        self.rtt_min_us = self.rtt_min_us.min(rtt);
        self.rtts += 1;
    }

    fn pop(&mut self, ack: u64, now: u64, rtt: &mut Option<(u64, u64)>, delivered: &mut u64) {
        while let Some(run) = self.runs.front_mut() {
            if run.end > ack {
                if run.start < ack {
                    let part = ack - run.start;
                    if !run.sacked {
                        *delivered += part;
                    }
                    let before = run.in_flight();
                    run.start = ack;
                    self.flight = self.flight - before + run.in_flight();
                }
                break;
            }
            self.flight -= run.in_flight();
            if !run.sacked {
                *delivered += run.len();
                if run.unseen {
                    self.unseen_bytes += run.len();
                } else {
                    // Of a segment that was sent twice no one knows which is acknowledged (Karn).
                    *rtt = (run.resent == 0).then(|| (now.saturating_sub(run.sent_ns), run.sent_ns));
                }
            }
            self.runs.pop_front();
        }
    }

    fn mark(&mut self, start: u64, end: u64, now: u64, rtt: &mut Option<(u64, u64)>, delivered: &mut u64) {
        if end <= start || end > self.next {
            return;
        }
        // From the end: a block grows there, and the rest of it is marked already.
        let (first, mut at) = (self.find(start), self.runs.partition_point(|run| run.end <= end));
        let mut known = 0;
        while at > first && known < 2 {
            at -= 1;
            let run = &mut self.runs[at];
            if run.start < start {
                break;
            }
            if run.sacked {
                known += 1;
                continue;
            }
            known = 0;
            self.flight -= run.in_flight();
            run.sacked = true;
            run.lost = false;
            *delivered += run.len();
            if run.resent == 0 && !run.unseen && rtt.is_none() {
                *rtt = Some((now.saturating_sub(run.sent_ns), run.sent_ns));
            }
        }
        self.highest_sack = self.highest_sack.max(end);
    }

    /// Takes for lost what has three segments SACKed above it (RFC 6675).
    fn find_lost(&mut self, mss: u64) {
        let limit = self.highest_sack.saturating_sub(DUP_THRESH * mss);
        if limit <= self.lost_up_to || limit <= self.una {
            return;
        }
        let first = self.find(self.lost_up_to.max(self.una));
        for run in self.runs.range_mut(first..) {
            if run.end > limit {
                break;
            }
            if !run.sacked && run.resent == 0 && !run.lost {
                self.flight -= run.in_flight();
                run.lost = true;
            }
        }
        self.lost_up_to = limit;
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
    }
}

fn us(ns: u64) -> u32 {
    (ns / 1000).min(u64::from(u32::MAX - 1)) as u32
}

fn wrap(us: i64) -> i32 {
    us.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
