//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation), for algorithms with `cong_control`, and the losses
//! since a segment was sent.

use crate::memory::ring::Ring;

/// The connection as it was when a segment was sent.
#[derive(Clone, Copy, Default)]
struct Sent {
    sent_ns: u64,
    /// When the newest segment was sent that had been delivered: the sample's sending began then.
    first_sent_ns: u64,
    delivered: u64,
    delivered_ns: u64,
    /// Segments marked lost until then, modulo 2^32.
    lost: u32,
    /// With it.
    in_flight: u32,
    app_limited: bool,
}

/// A segment that is marked lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When it was sent, with it.
    pub in_flight: u32,
    /// Segments marked lost since then, with it.
    pub lost: u32,
    pub app_limited: bool,
}

/// A sample of the rate at which segments arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Segments delivered when the newest segment acknowledged was sent.
    pub prior_delivered: u64,
    pub delivered: u64,
    /// 0: no sample.
    pub interval_ns: u64,
    /// When the newest segment acknowledged was sent, with it.
    pub in_flight: u32,
    /// Segments marked lost since then.
    pub lost: u32,
    pub app_limited: bool,
}

pub struct RateSampler {
    /// From `una` on, one per segment sent.
    sent: Ring<Sent>,
    first_sent_ns: u64,
    delivered_ns: u64,
    /// The application limited how much was in flight until this many segments are delivered; 0: it did not.
    app_limited_until: u64,
    newest: Option<Sent>,
    /// Segments marked lost so far, modulo 2^32.
    lost: u32,
    /// Segments marked lost of which the algorithm has yet to be told.
    losses: Vec<Loss>,
}

impl RateSampler {
    pub fn new() -> RateSampler {
        RateSampler {
            sent: Ring::new(),
            first_sent_ns: 0,
            delivered_ns: 0,
            app_limited_until: 0,
            newest: None,
            lost: 0,
            losses: Vec::new(),
        }
    }

    /// Segment `seq` is sent; `una..nxt` are outstanding already, and `in_flight` with it are in flight.
    pub fn on_send(&mut self, now: u64, seq: u64, [una, nxt]: [u64; 2], delivered: u64, in_flight: u64) {
        if una == nxt {
            self.first_sent_ns = now;
            self.delivered_ns = now;
        }
        let sent = Sent {
            sent_ns: now,
            first_sent_ns: self.first_sent_ns,
            delivered,
            delivered_ns: self.delivered_ns,
            lost: self.lost,
            in_flight: in_flight as u32,
            app_limited: self.app_limited_until > 0,
        };
        match self.sent.get_mut((seq - una) as usize) {
            Some(slot) => *slot = sent,
            None => self.sent.push_back(sent),
        }
    }

    /// The application had nothing more to send.
    pub fn on_app_limited(&mut self, delivered: u64, in_flight: u64) {
        self.app_limited_until = (delivered + in_flight).max(1);
    }

    /// An ACK reports that the segment `index` beyond `una` has arrived.
    pub fn on_delivered(&mut self, index: u64) {
        let Some(&sent) = self.sent.get(index as usize) else { return };
        if self.newest.is_none_or(|newest| sent.sent_ns >= newest.sent_ns) {
            self.newest = Some(sent);
        }
    }

    /// The segment `index` beyond `una` is marked lost.
    pub fn on_lost(&mut self, index: u64) {
        self.lost = self.lost.wrapping_add(1);
        let Some(sent) = self.sent.get(index as usize) else { return };
        let lost = self.lost.wrapping_sub(sent.lost);
        self.losses.push(Loss { in_flight: sent.in_flight, lost, app_limited: sent.app_limited });
    }

    /// The segments that were marked lost since this was asked last.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.losses)
    }

    /// The first `count` segments are acknowledged.
    pub fn forget(&mut self, count: u64) {
        (0..count).for_each(|_| _ = self.sent.pop_front());
    }

    /// The sample of an ACK, with which `delivered` segments are delivered.
    pub fn sample(&mut self, now: u64, delivered: u64, min_rtt_ns: u64) -> Sample {
        if self.app_limited_until > 0 && delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let Some(newest) = self.newest.take() else { return Sample::default() };
        self.first_sent_ns = newest.sent_ns;
        self.delivered_ns = now;
        let sending_ns = newest.sent_ns - newest.first_sent_ns;
        let acking_ns = now - newest.delivered_ns;
        let interval_ns = sending_ns.max(acking_ns);
        Sample {
            prior_delivered: newest.delivered,
            // A sender may have forgotten SACKed segments since.
            delivered: delivered.saturating_sub(newest.delivered),
            // Less than an RTT: ACKs were compressed.
            interval_ns: if interval_ns < min_rtt_ns { 0 } else { interval_ns },
            in_flight: newest.in_flight,
            lost: self.lost.wrapping_sub(newest.lost),
            app_limited: newest.app_limited,
        }
    }
}
