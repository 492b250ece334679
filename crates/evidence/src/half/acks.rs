//! ACKs: what arrived, what is lost, RTTs.

use super::{Half, MOST_EVENTS, us};
use crate::segment::{ACK, ECE, SYN, Segment};
use crate::sequence::{DUP_THRESH, is_duplicate, unwrap};

impl Half {
    /// A segment of the other direction, with an ACK of this one. `scale` is of its window.
    pub fn acknowledge(&mut self, s: &Segment, now: u64, scale: Option<u8>, mss: u32) {
        if !s.has(ACK) {
            return;
        }
        if !self.known {
            self.begin(s.ack);
        }
        let mut ack = unwrap(s.ack, self.una);
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
        let dsack = is_duplicate(&s.sacks[..s.sack_count], ack);
        self.spurious += u64::from(dsack);
        if ack > self.una {
            self.una = ack;
            self.dup_acks = 0;
            self.pop(ack, now, &mut rtt, &mut delivered);
            let below = self.sacked.partition_point(|range| range.1 <= ack);
            if 2 * below > self.sacked.len() {
                self.sacked.drain(..below);
            }
        } else if s.len == 0 && self.flight > 0 {
            self.dup_acks = self.dup_acks.saturating_add(1);
        }
        for &(start, end) in s.sacks.iter().take(s.sack_count).skip(usize::from(dsack)) {
            self.mark(unwrap(start, ack), unwrap(end, ack), now, &mut rtt, &mut delivered);
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

    /// Marks what a SACK block reports for the first time.
    fn mark(&mut self, start: u64, end: u64, now: u64, rtt: &mut Option<(u64, u64)>, delivered: &mut u64) {
        let start = start.max(self.una);
        if end <= start || end > self.next {
            return;
        }
        let first = self.sacked.partition_point(|range| range.1 < start);
        let behind = self.sacked.partition_point(|range| range.0 <= end);
        let (mut from, mut whole) = (start, (start, end));
        for at in first..behind {
            let known = self.sacked[at];
            self.mark_new(from, known.0.min(end), now, rtt, delivered);
            from = from.max(known.1);
            whole = (whole.0.min(known.0), whole.1.max(known.1));
        }
        self.mark_new(from, end, now, rtt, delivered);
        self.sacked.splice(first..behind, [whole]);
        self.highest_sack = self.highest_sack.max(end);
    }

    fn mark_new(
        &mut self,
        start: u64,
        end: u64,
        now: u64,
        rtt: &mut Option<(u64, u64)>,
        delivered: &mut u64,
    ) {
        let first = self.find(start);
        for run in self.runs.range_mut(first..) {
            if run.end > end {
                break;
            }
            if run.start < start || run.sacked {
                continue;
            }
            self.flight -= run.in_flight();
            run.sacked = true;
            run.lost = false;
            *delivered += run.len();
            if run.resent == 0 && !run.unseen {
                *rtt = Some((now.saturating_sub(run.sent_ns), run.sent_ns));
            }
        }
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
}

fn wrap(us: i64) -> i32 {
    us.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
