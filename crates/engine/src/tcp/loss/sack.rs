//! ACKs with SACK (RFC 2018, RFC 6675), and what a sender does about what they show.

use crate::tcp::loss::fack::{lost_edge, lost_edge_by_distance};
use crate::tcp::packet::{AckPacket, BLOCKS_MAX, Block};
use crate::tcp::receiver::SackBlocks;
use crate::tcp::rtt::rtt_by_timestamps_ns;
use crate::tcp::sender::Sender;
use crate::time::NEVER;
use cwnd_algorithms::{CongestionControl, State};
use cwnd_scenario::Detection;
use std::num::NonZeroU64;

impl<C: CongestionControl> Sender<'_, C> {
    #[inline(always)]
    pub(in crate::tcp) fn on_sack<const SLOW_PATH: bool>(
        &mut self,
        now: u64,
        ack: &AckPacket,
        blocks: SackBlocks,
    ) {
        if ack.next < self.una {
            return;
        }
        let quirks = &self.choices.quirks;
        let is_rack = self.choices.detection == Detection::Rack;
        let prior_in_flight = self.in_flight();
        let acked = ack.next - self.una;
        let mut delivered = acked;
        let (mut lost, mut late) = (0, false);
        let missed_nothing = self.scoreboard.is_clear();
        let (highest, lost_edge) = (self.scoreboard.highest_sacked(), self.scoreboard.lost_edge());
        if SLOW_PATH && self.rate.is_some() {
            self.note_delivery_rate(ack);
        }
        let mut repaired = ack.retransmission;
        if !missed_nothing {
            let repairs = self.scoreboard.retrans_out;
            delivered -= self.scoreboard.acknowledge(self.una, ack.next);
            repaired |= self.scoreboard.retrans_out < repairs;
        }
        let in_order = delivered;
        // The first of the segments that the ACK reports newly, if it was sent once.
        let mut first = if acked > 0 && !repaired { self.una } else { u64::MAX };
        self.una = ack.next;
        if let Some(seq) = ack.sacked.map(NonZeroU64::get)
            && self.scoreboard.sack(seq, self.una, self.nxt)
        {
            delivered += 1;
            first = first.min(seq);
        }
        if self.scoreboard.forgotten_until > 0 {
            let sacked = self.scoreboard.sacked_out;
            let (una, nxt, scoreboard) = (self.una, self.nxt, &mut self.scoreboard);
            match blocks {
                SackBlocks::All(receiver) => scoreboard.sack_all(receiver.blocks(), una, nxt, |_| {}),
                SackBlocks::Carried(blocks) => {
                    let blocks = blocks.iter().filter(|block| !block.is_empty());
                    scoreboard.sack_all(blocks.cloned(), una, nxt, |_| {});
                }
            }
            self.driver.ack.delivered += self.scoreboard.sacked_out - sacked;
        } else if let SackBlocks::Carried(blocks) = blocks {
            let mut sacked = u64::MAX;
            delivered += self.sack_carried(blocks, &mut sacked);
            late = (lost_edge..highest).contains(&sacked);
            first = first.min(sacked);
        }
        if quirks.duplicates_restart_timer && acked == 0 {
            self.time_duplicate(now, ack.sent_ns);
        }
        let repairing = quirks.processes_every_ack && !self.scoreboard.is_clear();
        let needless = is_rack && ack.duplicate && self.note_needless(ack);
        let has_news = delivered > 0 || repairing || needless || SLOW_PATH && ack.ece;
        if !has_news {
            return;
        }
        let mut undoes = needless;
        let missing = self.scoreboard.sacked_out | self.scoreboard.lost_out != 0;
        if is_rack && (missing || !missed_nothing) {
            if delivered > 0 {
                // RFC 8985, 6.2, step 3: a segment that was sent once arrives behind a later one. The echo of an ACK that
                // moves the left edge shows that it was the original.
                let is_original = ack.cause >= lost_edge || acked > 0 && self.timestamps;
                late |= ack.cause < highest && !ack.retransmission && is_original;
                self.note_rack_arrival(now, ack, late);
                undoes |= acked > 0 && self.shows_needless(now, ack);
            }
            if !self.holds_back(now) {
                lost = self.detect_overdue(now);
            }
        } else if missing {
            lost = self.detect_losses(ack);
        } else {
            self.reorder_at = NEVER;
        }

        self.driver.ack.delivered += delivered;
        self.note_losses(lost);
        self.note_ack(now, delivered, prior_in_flight);
        if SLOW_PATH {
            self.note_marks(ack, delivered);
        }
        let timeless = SLOW_PATH && self.is_timeless(ack);
        // RFC 7323, 4.1: an ACK that moves the left edge gives a sample, in Linux a SACK of an original does too;
        // RFC 6298, 3: without timestamps, one of a retransmission does not.
        let by_timestamps =
            self.choices.times_causing_segment && repaired && acked > 0 && delivered == in_order;
        if by_timestamps {
            if self.timestamps {
                self.sample_rtt(now, rtt_by_timestamps_ns(now, ack.echo_ns));
            }
        } else if delivered > 0 && !ack.retransmission || acked > 0 && self.timestamps {
            if self.choices.times_causing_segment {
                let first_sent_ns = self.first_reported_ns(ack, first, lost_edge);
                self.note_rtt(now, now - first_sent_ns);
                self.note_segment_rtt(now - ack.sent_ns);
                self.driver.on_rtt_sample();
            } else if SLOW_PATH && self.overlapped || acked > 0 && timeless {
                self.time_rtt(now, now - ack.echo_ns); // that of a SYN: not for the algorithm
            } else if acked > 0 && quirks.hides_rtt_in_recovery && self.driver.state() == State::Recovery {
                self.note_rtt(now, now - ack.echo_ns);
            } else if acked > 0 {
                self.sample_rtt(now, now - ack.echo_ns);
            }
        }
        if SLOW_PATH && lost > 0 {
            self.report_losses();
        }
        if quirks.reports_slow_acks
            && (acked == 0
                || timeless && !(SLOW_PATH && self.overlapped)
                || self.driver.state() != State::Open)
        {
            self.driver.on_slow_ack(acked as u32);
        }
        if acked > 0 {
            if self.probed != NEVER {
                self.end_probe(ack);
            }
            if self.nxt > self.una && !self.closed {
                self.set_timer(now);
            } else {
                self.rto_at = NEVER;
            }
        } else if is_rack
            && self.scoreboard.retrans_out > 0
            && delivered > 0
            && !ack.retransmission
            && !self.closed
        {
            // As in Linux: the RTT is longer than the time since the first segment was sent again, whose ACK is not late then.
            let sent_again_ns = self.scoreboard.sent_again_ns(self.una);
            if sent_again_ns.is_some_and(|sent_ns| sent_ns > ack.sent_ns) {
                self.set_timer(now);
            }
        }

        let controls = SLOW_PATH && self.driver.controls_window();
        if self.driver.state() == State::Open
            && self.scoreboard.sacked_out | self.scoreboard.lost_out == 0
            && !undoes
            && !(SLOW_PATH && (controls || ack.ece))
        {
            // An ACK without news counts neither in Linux nor in ns-2.
            if acked > 0 {
                self.driver.grow();
            }
            self.send_window = u64::from(self.cwnd());
        } else {
            self.repair(ack, acked, delivered, undoes);
            if controls {
                self.control(now);
            }
        }
    }

    /// When the first segment was sent that `ack` newly reports. ACKs before it may have been lost, or have waited: then it
    /// is not the one whose time the ACK echoes. Segments before `lost_edge` were sent again, and have the echo alone.
    #[inline]
    fn first_reported_ns(&self, ack: &AckPacket, first: u64, lost_edge: u64) -> u64 {
        if first == u64::MAX || first < lost_edge {
            ack.echo_ns
        } else if first == ack.cause {
            ack.sent_ns
        } else {
            self.sent_times.of(first)
        }
    }

    /// An ACK carries `blocks`; returns how many of their segments it newly reports, of which `first` becomes the first.
    #[inline(never)]
    fn sack_carried(&mut self, blocks: &[Block; BLOCKS_MAX], first: &mut u64) -> u64 {
        let (una, nxt, rate) = (self.una, self.nxt, &mut self.rate);
        let blocks = blocks.iter().filter(|block| block.end > una).cloned();
        let mut newly = 0;
        self.scoreboard.sack_all(blocks, una, nxt, |seq| {
            newly += 1;
            *first = seq.min(*first);
            if let Some(rate) = rate {
                rate.on_delivered(seq - una);
            }
        });
        newly
    }

    /// An ACK that does not move the left edge restarts the timer. It was caused by a segment sent at `sent_ns`.
    fn time_duplicate(&mut self, now: u64, sent_ns: u64) {
        if self.timestamps {
            self.rto.sample_duplicate(now, sent_ns);
        }
        if self.nxt > self.una && !self.closed {
            self.set_timer(now);
        }
    }

    /// Marks the segments as lost that the SACKs show to be so; returns how many.
    #[inline(never)]
    fn detect_losses(&mut self, ack: &AckPacket) -> u64 {
        let scoreboard = &self.scoreboard;
        let edge = match self.choices.detection {
            // RFC 6675, IsLost: three segments above it have arrived.
            Detection::Sack => scoreboard.third_highest_sacked(),
            Detection::Fack => {
                let in_recovery = self.driver.state() == State::Recovery;
                lost_edge(scoreboard.highest_sacked(), self.una, in_recovery)
            }
            Detection::FackDistance => lost_edge_by_distance(scoreboard.highest_sacked()),
            _ => 0,
        };
        // The path keeps the order: what was sent before the segment that has arrived is lost.
        self.mark_lost(edge) + self.mark_lost_retransmissions((ack.sent_ns, 0), u64::MAX)
    }

    /// Marks the retransmissions as lost that were sent before `newest`, a time and a segment of that time, and before
    /// `before_ns`; returns how many.
    pub(super) fn mark_lost_retransmissions(&mut self, newest: (u64, u64), before_ns: u64) -> u64 {
        let (una, rate) = (self.una, &mut self.rate);
        self.scoreboard.mark_lost_retransmissions(una, newest, before_ns, |seq| {
            if let Some(rate) = rate {
                rate.on_lost(seq - una);
            }
        })
    }

    /// Marks the missing segments before `edge` as lost; returns how many were not lost before.
    pub(super) fn mark_lost(&mut self, edge: u64) -> u64 {
        if let Some(rate) = &mut self.rate {
            let una = self.una;
            self.scoreboard.for_each_to_be_lost(una, edge, |seq| rate.on_lost(seq - una));
        }
        self.scoreboard.mark_lost(self.una, edge)
    }

    /// An ACK while a segment is missing, or the first one after that, or one that echoes congestion. `undoes`: it shows that
    /// the last reduction was needless.
    #[inline(never)]
    fn repair(&mut self, ack: &AckPacket, acked: u64, delivered: u64, undoes: bool) {
        let quirks = &self.choices.quirks;
        let controls = self.driver.controls_window();
        if undoes {
            self.undo();
        }
        let mut may_grow = acked > 0 && !controls;
        let state = self.driver.state();
        // The echo stops when the segment that reports the reduction has arrived, the first one from `recovery_end` on.
        let echo = state == State::Cwr && ack.ece && self.una == self.recovery_end;
        if matches!(state, State::Recovery | State::Loss | State::Cwr)
            && self.una >= self.recovery_end
            && !echo
        {
            if quirks.grows_before_state_changes {
                if state == State::Loss && may_grow {
                    self.driver.grow();
                }
                may_grow = false;
            }
            if quirks.forgets_sacks_after_recovery && state == State::Recovery {
                self.driver.ack.delivered -= self.scoreboard.sacked_out;
                self.driver.ack.in_flight += self.scoreboard.sacked_out as u32;
                self.scoreboard.forget_sacks(self.una, self.nxt);
            }
            self.end_recovery();
        }
        if self.driver.state() == State::Loss && acked > 0 && self.was_spurious(ack) {
            self.scoreboard.mark_none_lost(self.una, self.nxt);
            self.undo();
        }
        let begins = match self.driver.state() {
            State::Recovery => false,
            State::Loss => quirks.recovers_after_timeout && self.driver.ack.lost > 0,
            State::Open | State::Disorder | State::Cwr => true,
        };
        if self.scoreboard.lost_out > 0 && begins {
            may_grow &= quirks.grows_before_state_changes && self.driver.state() != State::Cwr;
            if may_grow {
                self.driver.grow();
            }
            self.begin_recovery(delivered);
        } else if ack.ece {
            self.answer_congestion(delivered, true);
        }
        match self.driver.state() {
            State::Recovery | State::Cwr => self.reduce(acked, delivered),
            state => {
                if state != State::Loss {
                    self.driver.on_disorder(self.scoreboard.sacked_out > 0);
                }
                if may_grow {
                    self.driver.grow();
                }
                self.send_window = u64::from(self.cwnd());
            }
        }
    }
}
