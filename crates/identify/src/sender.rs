//! The sender of a connection, rebuilt from its packets: what each ACK reported, and how much was in flight then.
//!
//! ACKs of a capture away from the sender are taken a part of the RTT later than they were seen: the time that they, and
//! the data that they release, need between the sender and the capture. Segments count as the stack counts them.

use cwnd_algorithms::{Ack, ECE, bound_rtt_us};
use cwnd_evidence::sequence::{
    DUP_THRESH, LEAST_RTO_US, MOST_PIECES, MOST_RUNS, ORIGIN, is_duplicate, unwrap,
};
use cwnd_evidence::{Packet, Place, Recorded};
use std::collections::VecDeque;

/// An ACK as the algorithm sees it, and the flight that it led to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSeen {
    /// The algorithm's input, without `mss`, `state` and what limited the sender.
    pub ack: Ack,
    /// It moves the left edge.
    pub is_forward: bool,
    /// Segments in flight just before the next ACK.
    pub flight: u32,
    /// It begins a round trip: what was in flight when the last one began is acknowledged.
    pub begins_round: bool,
}

/// An event at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Ack(AckSeen),
    /// The first retransmission of an episode.
    Loss,
    /// The first ACK of a window that echoes congestion.
    Mark,
    /// All that was in flight at the loss, the timeout or the mark is acknowledged.
    Recovered,
    /// The retransmission timer.
    Timeout {
        lost: u32,
    },
    /// The first segment while nothing was in flight, after this time.
    Restart {
        idle_us: u64,
    },
    /// A retransmission was needless (DSACK).
    Needless,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    end: u64,
    sent_us: u64,
    resent: bool,
    sacked: bool,
    lost: bool,
    /// Not seen yet: lost or reordered before the capture.
    unseen: bool,
    first_tx_us: u64,
    delivered_us: u64,
    delivered: u64,
    in_flight: u32,
    lost_total: u64,
}

impl Run {
    fn flies(&self) -> bool {
        !(self.sacked || self.lost)
    }
}

#[derive(Default)]
struct Rate {
    prior_delivered: u64,
    prior_us: u64,
    send_us: u64,
    in_flight: u32,
    lost_total: u64,
    any: bool,
}

/// The sender between two packets.
pub(crate) struct Sender {
    events: Vec<Event>,
    mss: u64,
    /// Place of the last ACK in `events`.
    last_ack: Option<usize>,
    runs: VecDeque<Run>,
    known: bool,
    next: u64,
    una: u64,
    flight: u32,
    highest_sack: u64,
    lost_up_to: u64,
    dup_acks: u32,
    /// Segments that duplicate ACKs report, of a receiver without SACK.
    unnamed: u32,
    has_sack: bool,
    delivered: u64,
    delivered_us: u64,
    first_tx_us: u64,
    lost_total: u64,
    newly_lost: u32,
    last_rtt_us: u64,
    min_rtt_us: u64,
    srtt_us: f64,
    /// Segments reported as marked.
    marked: u64,
    chance: u32,
    last_ack_us: u64,
    last_send_us: u64,
    recovery_point: Option<u64>,
    /// The recovery is that of a mark.
    is_marked: bool,
    round_end: u64,
    window_shift: u8,
}

/// The events of a connection's sender; `None` if its view cannot be rebuilt from the place of the capture.
pub(crate) fn events(recorded: &Recorded) -> Option<Vec<Event>> {
    let handshake = &recorded.report.handshake;
    let mut sender = Sender::new(u64::from(handshake.segment_bytes.max(1)), handshake.window_scale);
    match recorded.report.place {
        Place::Sender | Place::Unknown => sender.replay_shifted(recorded, 0),
        Place::Middle | Place::Receiver => match tick_us(&recorded.packets) {
            Some(tick_us) => sender.replay_by_echoes(recorded, tick_us),
            None if recorded.report.place == Place::Middle => {
                sender.replay_shifted(recorded, u64::from(recorded.release_us));
            }
            None => return None,
        },
    }
    sender.note_flight();
    Some(sender.events)
}

/// The tick of the sender's timestamps; `None` if it has none.
fn tick_us(packets: &[Packet]) -> Option<f64> {
    let stamped = |packet: &Packet| Some((packet.time_ns, packet.timestamps?.0));
    let forward = || packets.iter().filter(|packet| packet.is_forward && packet.len > 0);
    let first = forward().find_map(stamped)?;
    let last = forward().rev().find_map(stamped)?;
    let ticks = last.1.wrapping_sub(first.1) as i32;
    if ticks < 100 {
        return None;
    }
    let tick_us = (last.0 - first.0) as f64 / 1000.0 / f64::from(ticks);
    // Linux counts milliseconds; a capture's ends are not the same distance from the sender.
    Some(if (0.9..1.1).contains(&(tick_us / 1000.0)) { 1000.0 } else { tick_us })
}

impl Sender {
    fn new(mss: u64, window_shift: u8) -> Self {
        Sender {
            events: Vec::new(),
            mss,
            last_ack: None,
            runs: VecDeque::new(),
            known: false,
            next: ORIGIN,
            una: ORIGIN,
            flight: 0,
            highest_sack: 0,
            lost_up_to: 0,
            dup_acks: 0,
            unnamed: 0,
            has_sack: false,
            delivered: 0,
            delivered_us: 0,
            first_tx_us: 0,
            lost_total: 0,
            newly_lost: 0,
            last_rtt_us: 0,
            min_rtt_us: u64::MAX,
            srtt_us: 0.0,
            marked: 0,
            chance: 1,
            last_ack_us: 0,
            last_send_us: 0,
            recovery_point: None,
            is_marked: false,
            round_end: 0,
            window_shift,
        }
    }

    /// ACKs reach the sender `shift_us` after the capture.
    fn replay_shifted(&mut self, recorded: &Recorded, shift_us: u64) {
        let mut waiting: VecDeque<&Packet> = VecDeque::new();
        for packet in &recorded.packets {
            let now_us = packet.time_ns / 1000;
            while let Some(ack) = waiting.front()
                && ack.time_ns / 1000 + shift_us <= now_us
            {
                self.acknowledge(ack, recorded.sacks(ack), ack.time_ns / 1000 + shift_us);
                waiting.pop_front();
            }
            if packet.is_forward {
                self.send(packet, now_us);
            } else {
                waiting.push_back(packet);
            }
        }
        for ack in waiting {
            self.acknowledge(ack, recorded.sacks(ack), ack.time_ns / 1000 + shift_us);
        }
    }

    /// Data tell when they were sent, and by their echoes which ACKs the sender had then.
    fn replay_by_echoes(&mut self, recorded: &Recorded, tick_us: f64) {
        let mut waiting: VecDeque<&Packet> = VecDeque::new();
        let mut first = None;
        let mut now_us = 0;
        for packet in &recorded.packets {
            if !packet.is_forward {
                waiting.push_back(packet);
                continue;
            }
            let Some((value, echo)) = packet.timestamps else { continue };
            let first = *first.get_or_insert((value, packet.time_ns / 1000));
            let since = f64::from(value.wrapping_sub(first.0) as i32) * tick_us;
            now_us = now_us.max(first.1.saturating_add_signed(since as i64));
            while let Some(ack) = waiting.front()
                && ack.timestamps.is_none_or(|(value, _)| echo.wrapping_sub(value) as i32 >= 0)
            {
                self.acknowledge(ack, recorded.sacks(ack), now_us);
                waiting.pop_front();
            }
            self.send(packet, now_us);
        }
    }

    fn in_flight(&self) -> u32 {
        self.flight.saturating_sub(self.unnamed)
    }

    fn note_flight(&mut self) {
        let flight = self.in_flight();
        if let Some(Event::Ack(ack)) = self.last_ack.map(|at| &mut self.events[at]) {
            ack.flight = flight;
        }
    }

    fn send(&mut self, packet: &Packet, now: u64) {
        let seq = packet.seq.wrapping_add(u32::from(packet.syn));
        if !self.known && (packet.syn || packet.len > 0) {
            self.known = true;
            self.next = ORIGIN | u64::from(seq);
            (self.una, self.round_end) = (self.next, self.next);
        }
        if packet.len == 0 {
            return;
        }
        let start = unwrap(seq, self.next);
        let end = start + u64::from(packet.len);
        if start > self.next + (1 << 30) || end + (1 << 30) < self.una {
            return;
        }
        let known = self.next;
        if start < known && end.min(known) > self.una {
            self.send_again(start, end.min(known), now);
        }
        if end > known {
            self.send_new(start.max(known), end, now);
        }
        self.last_send_us = now;
    }

    fn send_new(&mut self, start: u64, end: u64, now: u64) {
        // What was lost before the capture was in flight, too.
        let hole = start > self.next && self.next > 0;
        let hole_end = start;
        let start = if hole { self.next } else { start };
        let idle = self.runs.is_empty();
        if idle {
            if self.last_send_us > 0 {
                self.events.push(Event::Restart {
                    idle_us: now.saturating_sub(self.last_send_us.max(self.last_ack_us)),
                });
            }
            (self.first_tx_us, self.delivered_us) = (now, now);
        }
        let piece = self.mss.max((end - start).div_ceil(MOST_PIECES));
        let mut at = start;
        while at < end {
            let unseen = at < hole_end;
            at = (if unseen { hole_end } else { end }).min(at + piece);
            if self.runs.len() >= MOST_RUNS
                && let Some(old) = self.runs.pop_front()
            {
                self.flight -= u32::from(old.flies());
            }
            self.flight += 1;
            self.runs.push_back(Run {
                end: at,
                sent_us: now,
                resent: false,
                sacked: false,
                lost: false,
                unseen,
                first_tx_us: self.first_tx_us,
                delivered_us: self.delivered_us,
                delivered: self.delivered,
                in_flight: self.flight,
                lost_total: self.lost_total,
            });
        }
        self.next = end;
    }

    fn send_again(&mut self, start: u64, end: u64, now: u64) {
        let first = self.find(start.max(self.una));
        let quiet = now.saturating_sub(self.last_ack_us.max(self.last_send_us));
        let rto = (self.last_rtt_us * 3 / 2).max(LEAST_RTO_US);
        let Some(run) = self.runs.get_mut(first) else { return };
        if run.unseen && !run.lost && now.saturating_sub(run.sent_us) < 3_000.max(self.last_rtt_us / 4) {
            run.unseen = false; // reordered
            return;
        }
        let known_lost = run.lost || u64::from(self.dup_acks) >= DUP_THRESH;
        if !known_lost && quiet >= rto && start <= self.una {
            let mut lost = 0;
            for run in &mut self.runs {
                lost += u32::from(run.flies());
                run.lost = !run.sacked;
            }
            self.flight = 0;
            self.unnamed = 0;
            self.lost_total += u64::from(lost);
            self.recovery_point = Some(self.next);
            self.events.push(Event::Timeout { lost });
        } else if !known_lost && end >= self.next && quiet > self.last_rtt_us {
            // A probe of the tail.
        } else if self.recovery_point.is_none() || self.is_marked {
            self.recovery_point = Some(self.next);
            self.is_marked = false;
            self.events.push(Event::Loss);
        }
        let (delivered, delivered_us, first_tx_us) = (self.delivered, self.delivered_us, self.first_tx_us);
        let lost_total = self.lost_total;
        for run in self.runs.range_mut(first..) {
            if run.end > end {
                break;
            }
            if run.sacked {
                continue;
            }
            if !run.lost && !run.resent {
                self.newly_lost += 1;
                self.lost_total += 1;
            }
            self.flight += u32::from(run.lost);
            (run.lost, run.resent, run.unseen, run.sent_us) = (false, true, false, now);
            (run.delivered, run.delivered_us, run.first_tx_us) = (delivered, delivered_us, first_tx_us);
            (run.in_flight, run.lost_total) = (self.flight, lost_total);
        }
    }

    fn find(&self, seq: u64) -> usize {
        self.runs.partition_point(|run| run.end <= seq)
    }

    fn acknowledge(&mut self, packet: &Packet, sacks: &[(u32, u32)], now: u64) {
        if !self.known || packet.syn {
            return;
        }
        self.note_flight();
        let ack = unwrap(packet.ack, self.una);
        // A FIN takes a number and no byte.
        let ack = if ack == self.next + 1 { self.next } else { ack };
        if ack > self.next || ack + (1 << 30) < self.una {
            return;
        }
        let prior = self.in_flight();
        let delivered_before = self.delivered;
        let mut rate = Rate::default();
        let mut sent = None;
        let dsack = is_duplicate(sacks, ack);
        self.has_sack |= !sacks.is_empty();
        let is_forward = ack > self.una;
        let mut count = 0;
        if is_forward {
            self.una = ack;
            self.dup_acks = 0;
            while let Some(run) = self.runs.front().copied()
                && run.end <= ack
            {
                self.runs.pop_front();
                count += 1;
                if !run.sacked {
                    self.deliver(run, now, &mut rate, &mut sent);
                }
                self.flight -= u32::from(run.flies());
            }
            if self.unnamed > 0 {
                let again = self.unnamed.min(count.max(1) - 1);
                self.unnamed -= again;
                self.delivered = self.delivered.saturating_sub(u64::from(again)).max(delivered_before);
                if self.recovery_point.is_none_or(|point| ack >= point) {
                    self.unnamed = 0;
                }
            }
        } else if packet.len == 0 && !self.runs.is_empty() {
            self.dup_acks += 1;
            if !self.has_sack && self.unnamed + 1 < self.runs.len() as u32 {
                self.unnamed += 1;
                self.delivered += 1;
                self.delivered_us = now;
            }
        }
        for &(start, end) in sacks.iter().skip(usize::from(dsack)) {
            let (start, end) = (unwrap(start, ack).max(self.una), unwrap(end, ack));
            if end <= start || end > self.next {
                continue;
            }
            let first = self.find(start);
            for at in first..self.runs.len() {
                let run = self.runs[at];
                if run.end > end {
                    break;
                }
                if !run.sacked {
                    self.flight -= u32::from(run.flies());
                    self.deliver(run, now, &mut rate, &mut sent);
                    self.runs[at].sacked = true;
                }
            }
            self.highest_sack = self.highest_sack.max(end);
        }
        self.find_lost();
        if dsack {
            self.events.push(Event::Needless);
        }
        // A mark's reduction lasts until something beyond it is acknowledged: echoes stop with the first segment after it.
        let least = u64::from(self.is_marked);
        if self.recovery_point.is_some_and(|point| ack >= point + least) {
            self.recovery_point = None;
            self.is_marked = false;
            self.events.push(Event::Recovered);
            // What was lost since then is the next episode, though it may have been sent again in this one.
            if self.runs.iter().any(|run| (run.lost || run.resent) && !run.sacked) {
                self.recovery_point = Some(self.next);
                self.events.push(Event::Loss);
            }
        }
        if packet.ece && self.recovery_point.is_none() {
            self.recovery_point = Some(self.next);
            self.is_marked = true;
            self.events.push(Event::Mark);
        }
        let acked = (self.delivered - delivered_before) as u32;
        if acked > 0 || self.dup_acks > 0 {
            self.last_ack_us = now;
        }
        let begins_round = ack >= self.round_end && is_forward;
        if begins_round {
            self.round_end = self.next;
        }
        let ce = if packet.ece { acked } else { 0 };
        self.marked += u64::from(ce);
        self.chance = self.chance.wrapping_add(acked);
        let window = (u64::from(packet.window) << self.window_shift) / self.mss;
        let mut seen = Ack {
            now_us: now,
            acked,
            delivered: self.delivered,
            prior_in_flight: prior,
            in_flight: self.in_flight(),
            lost: std::mem::take(&mut self.newly_lost),
            lost_total: self.lost_total,
            ce,
            delivered_ce: self.marked,
            snd_wnd: window.min(u64::from(u32::MAX)) as u32,
            chance: self.chance,
            flags: if packet.ece { ECE } else { 0 },
            ..Ack::default()
        };
        if let Some(sent) = sent {
            let rtt = now.saturating_sub(sent).max(1);
            self.last_rtt_us = rtt;
            self.min_rtt_us = self.min_rtt_us.min(rtt);
            seen.rtt_us = bound_rtt_us(rtt);
            let sample = f64::from(seen.rtt_us);
            self.srtt_us =
                if self.srtt_us > 0.0 { self.srtt_us + (sample - self.srtt_us) / 8.0 } else { sample };
        }
        (seen.owd_us, seen.srtt_us) = (seen.rtt_us, self.srtt_us as u32);
        if self.min_rtt_us < u64::MAX {
            seen.min_rtt_us = bound_rtt_us(self.min_rtt_us);
        }
        if rate.any {
            let interval = rate.send_us.max(now.saturating_sub(rate.prior_us));
            seen.rate_prior_delivered = rate.prior_delivered;
            seen.rate_delivered = (self.delivered - rate.prior_delivered) as u32;
            seen.rate_in_flight = rate.in_flight;
            seen.rate_lost = (self.lost_total - rate.lost_total) as u32;
            if interval >= self.min_rtt_us.min(interval + 1) {
                seen.rate_interval_us = interval.min(u64::from(u32::MAX)) as u32;
            }
        }
        self.last_ack = Some(self.events.len());
        self.events.push(Event::Ack(AckSeen { ack: seen, is_forward, begins_round, flight: 0 }));
        self.note_flight();
    }

    fn deliver(&mut self, run: Run, now: u64, rate: &mut Rate, sent: &mut Option<u64>) {
        self.delivered += 1;
        self.delivered_us = now;
        if !run.resent && !run.unseen {
            *sent = Some(sent.map_or(run.sent_us, |before| before.max(run.sent_us)));
        }
        if !rate.any || run.delivered >= rate.prior_delivered {
            *rate = Rate {
                prior_delivered: run.delivered,
                prior_us: run.delivered_us,
                send_us: run.sent_us.saturating_sub(run.first_tx_us),
                in_flight: run.in_flight,
                lost_total: run.lost_total,
                any: true,
            };
            self.first_tx_us = run.sent_us;
        }
    }

    fn find_lost(&mut self) {
        let limit = self.highest_sack.saturating_sub(DUP_THRESH * self.mss);
        if limit <= self.lost_up_to || limit <= self.una {
            return;
        }
        let first = self.find(self.lost_up_to.max(self.una));
        for run in self.runs.range_mut(first..) {
            if run.end > limit {
                break;
            }
            if !run.sacked && !run.resent && !run.lost {
                self.flight -= 1;
                self.newly_lost += 1;
                self.lost_total += 1;
                run.lost = true;
            }
        }
        self.lost_up_to = limit;
    }
}
