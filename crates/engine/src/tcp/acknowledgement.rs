//! The report on an ACK that the algorithm gets: segments delivered, RTT, delivery rate, echo of congestion.

use crate::tcp::packet::AckPacket;
use crate::tcp::sender::Sender;
use cwnd_algorithms::{CongestionControl, ECE, RATE_APP_LIMITED, bound_rtt_us};
use std::num::NonZeroU64;

impl<C: CongestionControl> Sender<'_, C> {
    /// An ACK at `now` delivered `delivered` segments.
    #[inline]
    pub(super) fn note_ack(&mut self, now: u64, delivered: u64, prior_in_flight: u64) {
        let in_flight = self.in_flight() as u32;
        let ack = &mut self.driver.ack;
        ack.now_us = now / 1000;
        ack.acked = delivered as u32;
        ack.prior_in_flight = prior_in_flight as u32;
        ack.in_flight = in_flight;
        ack.rtt_us = 0;
    }

    /// The marks that an ACK tells of, which delivered `delivered` segments: their number, or that all of these are marked.
    pub(super) fn note_marks(&mut self, ack: &AckPacket, delivered: u64) {
        let accurate = self.flow.stack.ecn.is_accurate();
        let seen = &mut self.driver.ack;
        seen.flags = seen.flags & !ECE | if ack.ece { ECE } else { 0 };
        let ce = if accurate { ack.marked_pkts } else { delivered as u32 };
        seen.ce = if ack.ece { ce } else { 0 };
        seen.delivered_ce += u64::from(seen.ce);
    }

    /// From when a segment was sent until its receiver sent the ACK that it caused.
    pub(super) fn note_one_way_delay(&mut self, ack: &AckPacket) {
        self.driver.ack.owd_us = to_us(ack.returned_ns - ack.sent_ns);
    }

    /// The marks that a receiver counts since the last ACK: the number itself with AccECN's option, else its last 3 bits
    /// (RFC 9768, 3.2.2), so that eight marks more look like none.
    pub(super) fn newly_marked(&mut self, marked_pkts: u32) -> u32 {
        // An ACK that was overtaken has nothing to add.
        let whole = marked_pkts.saturating_sub(self.marked_pkts);
        self.marked_pkts = self.marked_pkts.max(marked_pkts);
        if self.flow.stack.accecn_option { whole } else { whole & 7 }
    }

    /// A sample for the timer and for the algorithm.
    #[inline(always)]
    pub(super) fn sample_rtt(&mut self, now: u64, rtt_ns: u64) {
        self.note_rtt(now, rtt_ns);
        self.driver.on_rtt_sample();
    }

    /// A sample for the timer, and for what the algorithm sees.
    #[inline(always)]
    pub(super) fn note_rtt(&mut self, now: u64, rtt_ns: u64) {
        self.time_rtt(now, rtt_ns);
        self.see_rtt(rtt_ns);
    }

    /// A sample for what the algorithm sees.
    #[inline(always)]
    pub(super) fn see_rtt(&mut self, rtt_ns: u64) {
        let rtt_us = if self.rounds_rtt_down { bound_rtt_us(rtt_ns / 1000) } else { to_us(rtt_ns) };
        let ack = &mut self.driver.ack;
        ack.rtt_us = rtt_us;
        if ack.min_rtt_us == 0 || rtt_us < ack.min_rtt_us {
            ack.min_rtt_us = rtt_us;
        }
    }

    /// A sample for the timer.
    #[inline(always)]
    pub(super) fn time_rtt(&mut self, now: u64, rtt_ns: u64) {
        self.rto.sample(now, rtt_ns);
        self.count_rtt(rtt_ns);
    }

    /// The timer has a sample.
    #[inline(always)]
    pub(super) fn count_rtt(&mut self, rtt_ns: u64) {
        self.driver.ack.srtt_us = to_us(self.rto.srtt_ns());
        self.rtts.add(rtt_ns);
    }

    /// The algorithm gets the RTT of the segment that caused an ACK, the timer that of the first one that waited for it.
    #[inline]
    pub(super) fn note_segment_rtt(&mut self, rtt_ns: u64) {
        let ack = &mut self.driver.ack;
        ack.rtt_us = to_us(rtt_ns);
        ack.min_rtt_us = ack.min_rtt_us.min(ack.rtt_us);
    }

    /// Segments that an ACK reports to have arrived, for the delivery rate.
    pub(super) fn note_delivery_rate(&mut self, ack: &AckPacket) {
        let Some(rate) = &mut self.rate else { return };
        for seq in self.una..ack.next {
            if !self.scoreboard.is_sacked(seq) {
                rate.on_delivered(seq - self.una);
            }
        }
        if let Some(seq) = ack.sacked.map(NonZeroU64::get)
            && seq >= ack.next
            && !self.scoreboard.is_sacked(seq)
        {
            rate.on_delivered(seq - self.una);
        }
        rate.forget(ack.next - self.una);
    }

    /// `lost` segments were newly marked lost; 0: none.
    #[inline]
    pub(super) fn note_losses(&mut self, lost: u64) {
        let ack = &mut self.driver.ack;
        ack.lost = lost as u32;
        ack.lost_total += lost;
    }

    /// The algorithm learns of each segment that was marked lost since the last time.
    pub(super) fn report_losses(&mut self) {
        let losses = self.rate.as_mut().map(|rate| rate.take_losses());
        for loss in losses.into_iter().flatten() {
            self.driver.on_segment_lost(loss.in_flight, loss.lost, loss.app_limited);
        }
    }

    /// The last step of an ACK, with `cong_control`: the algorithm sets its window and its pacing.
    pub(super) fn control(&mut self, now: u64) {
        if let Some(rate) = &mut self.rate {
            let ack = &mut self.driver.ack;
            ack.chance = ack.chance.wrapping_add(ack.acked);
            // Up to half a microsecond more than the RTT that was rounded.
            let min_rtt_ns = (u64::from(ack.min_rtt_us) * 1000).saturating_sub(500);
            let sample = rate.sample(now, ack.delivered, min_rtt_ns);
            ack.rate_prior_delivered = sample.prior_delivered;
            ack.rate_delivered = sample.delivered as u32;
            ack.rate_interval_us = if sample.interval_ns == 0 { 0 } else { to_us(sample.interval_ns) };
            (ack.rate_in_flight, ack.rate_lost) = (sample.in_flight, sample.lost);
            ack.flags &= !RATE_APP_LIMITED;
            if sample.app_limited {
                ack.flags |= RATE_APP_LIMITED;
            }
        }
        self.driver.control();
        self.send_window = u64::from(self.cwnd());
    }
}

/// In microseconds, to the nearest that an algorithm may see.
#[inline(always)]
fn to_us(ns: u64) -> u32 {
    // Four seconds are rare, and 32 bits are divided faster.
    match u32::try_from(ns + 500) {
        Ok(ns) => ns / 1000 + u32::from(ns < 1000),
        Err(_) => bound_rtt_us((ns + 500) / 1000),
    }
}
