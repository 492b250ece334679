//! Between a QUIC stack, which counts bytes and packets, and [`Driver`], which counts segments.

use cwnd_algorithms::{
    APP_LIMITED, Ack, CWND_LIMITED, Driver, ECE, Instance, Lowering, RATE_APP_LIMITED, SSTHRESH_INFINITE,
    State, Window, bound_rtt_us,
};

/// RFC 9002, 7.2: ten packets, but not more than this many bytes, and the least window in packets.
const INITIAL_WINDOW_BYTES: u64 = 14_720;
const INITIAL_WINDOW_PKTS: u64 = 10;
const LEAST_WINDOW_PKTS: u32 = 2;

/// The connection as it was when a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// When the packet was sent.
    pub sent_ns: u64,
    /// When the newest packet was sent that had been delivered: the rate sample's sending began then.
    first_sent_ns: u64,
    delivered: u64,
    delivered_ns: u64,
    lost: u64,
    /// Segments, with it.
    in_flight: u32,
    app_limited: bool,
}

/// The time of what happens next; random numbers come from it, too.
fn set_time(ack: &mut Ack, now_ns: u64) {
    ack.now_us = now_ns / 1000;
    ack.chance = ack.now_us as u32;
}

/// Segments out of bytes, to the nearest: a packet counts that the rest of its datagram has made shorter.
#[derive(Clone, Copy, Debug)]
struct Remainder {
    bytes: u64,
}

impl Remainder {
    fn new(mtu_bytes: u64) -> Remainder {
        Remainder { bytes: mtu_bytes / 2 }
    }

    fn take_segments(&mut self, bytes: u64, mtu_bytes: u64) -> u64 {
        let bytes = self.bytes.saturating_add(bytes);
        self.bytes = bytes % mtu_bytes;
        bytes / mtu_bytes
    }
}

/// Packets acknowledged since the stack ended the last batch.
#[derive(Clone, Copy, Debug)]
struct Batch {
    bytes: u64,
    newest_sent_ns: u64,
    newest: Option<Sent>,
}

/// Values before a reduction, kept in case it turns out to be spurious.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    ssthresh: u32,
    recovery_start_ns: Option<u64>,
}

/// An algorithm at work on one connection of a QUIC stack.
///
/// The stack reports packets in bytes and times in nanoseconds of one clock; a segment is a packet of the path's MTU. Order
/// on an ACK: [`Bridge::ack_packet`] for each packet that it newly acknowledges, [`Bridge::end_acks`]. On losses:
/// [`Bridge::lose_packet`] for each packet, [`Bridge::on_loss`]. They may come before the packets that the same ACK
/// acknowledges, or after.
#[derive(Clone, Debug)]
pub struct Bridge {
    driver: Driver<Instance>,
    /// The algorithm begins with the first RTT sample, as that of a TCP connection does after its handshake.
    started: bool,
    mtu_bytes: u64,
    most_window_bytes: u64,
    in_flight_bytes: u64,
    delivered: Remainder,
    lost: Remainder,
    batch: Option<Batch>,
    newest_acked_ns: Option<u64>,
    srtt_ns: u64,
    /// Losses of packets sent until then belong to the last reduction.
    recovery_start_ns: Option<u64>,
    last_reduction: Option<Reduction>,
    /// cwnd limited the sender since the last ACK.
    was_cwnd_limited: bool,
    first_sent_ns: u64,
    delivered_ns: u64,
    /// The application limited how much was in flight until this many segments are delivered; 0: it did not.
    app_limited_until: u64,
}

impl Bridge {
    pub(crate) fn new(algorithm: Instance, mtu_bytes: u16, most_window_bytes: u64) -> Bridge {
        let mtu_bytes = u64::from(mtu_bytes.max(1));
        let ack = Ack { mss: mtu_bytes as u32, snd_wnd: SSTHRESH_INFINITE, ..Ack::default() };
        let mut bridge = Bridge {
            driver: Driver::new(algorithm, Window::new(initial_window_pkts(mtu_bytes)), ack),
            started: false,
            mtu_bytes,
            most_window_bytes,
            in_flight_bytes: 0,
            delivered: Remainder::new(mtu_bytes),
            lost: Remainder::new(mtu_bytes),
            batch: None,
            newest_acked_ns: None,
            srtt_ns: 0,
            recovery_start_ns: None,
            last_reduction: None,
            was_cwnd_limited: false,
            first_sent_ns: 0,
            delivered_ns: 0,
            app_limited_until: 0,
        };
        bridge.set_clamp();
        bridge
    }

    /// Returns the bytes that may be in flight: two packets at least.
    pub fn window_bytes(&self) -> u64 {
        let Window { cwnd, cwnd_clamp, .. } = self.driver.window;
        u64::from(cwnd.min(cwnd_clamp).max(LEAST_WINDOW_PKTS)) * self.mtu_bytes
    }

    /// As a connection begins.
    pub fn initial_window_bytes(&self) -> u64 {
        u64::from(initial_window_pkts(self.mtu_bytes)) * self.mtu_bytes
    }

    /// None before the first reduction.
    pub fn ssthresh_bytes(&self) -> Option<u64> {
        let ssthresh = self.driver.window.ssthresh;
        (ssthresh < SSTHRESH_INFINITE).then(|| u64::from(ssthresh) * self.mtu_bytes)
    }

    /// The rate that the algorithm sets, in bytes per second, if it does.
    pub fn pacing_rate(&self) -> Option<u64> {
        Some(self.driver.window.pacing_rate).filter(|rate| *rate > 0)
    }

    /// Returns the bytes in flight.
    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Smoothed (RFC 6298); 0: no sample yet.
    pub fn srtt_ns(&self) -> u64 {
        self.srtt_ns
    }

    /// Returns the most bytes of a packet.
    pub fn mtu_bytes(&self) -> u64 {
        self.mtu_bytes
    }

    /// Returns the sender's state, as the algorithm sees it.
    pub fn state(&self) -> State {
        self.driver.state()
    }

    /// Returns true if the algorithm uses what [`Bridge::send`] returns, and losses packet by packet.
    pub fn samples_rate(&self) -> bool {
        self.driver.controls_window()
    }

    /// A packet, or several at once, is sent; 0 bytes: a packet that congestion control does not count.
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> Sent {
        if self.in_flight_bytes == 0 && bytes > 0 {
            (self.first_sent_ns, self.delivered_ns) = (now_ns, now_ns);
            if self.started {
                set_time(&mut self.driver.ack, now_ns);
                self.driver.on_first_send();
            }
        }
        self.in_flight_bytes = self.in_flight_bytes.saturating_add(bytes);
        let ack = &self.driver.ack;
        Sent {
            sent_ns: now_ns,
            first_sent_ns: self.first_sent_ns,
            delivered: ack.delivered,
            delivered_ns: self.delivered_ns,
            lost: ack.lost_total,
            in_flight: self.segments(self.in_flight_bytes),
            app_limited: self.app_limited_until > 0,
        }
    }

    /// There was more to send than the window allowed.
    pub fn note_cwnd_limited(&mut self) {
        self.was_cwnd_limited = true;
    }

    /// The application had nothing more to send.
    pub fn note_app_limited(&mut self) {
        let in_flight = u64::from(self.segments(self.in_flight_bytes));
        self.app_limited_until = (self.driver.ack.delivered + in_flight).max(1);
    }

    /// A packet is acknowledged; `sent` is what [`Bridge::send`] returned for it, if the stack keeps that.
    pub fn ack_packet(&mut self, sent_ns: u64, bytes: u64, sent: Option<Sent>) {
        let batch = self.batch.get_or_insert(Batch { bytes: 0, newest_sent_ns: sent_ns, newest: None });
        batch.bytes = batch.bytes.saturating_add(bytes);
        if sent_ns >= batch.newest_sent_ns {
            (batch.newest_sent_ns, batch.newest) = (sent_ns, sent.or(batch.newest));
        }
    }

    /// All packets are reported that an ACK acknowledges. `in_flight_bytes` are so after it, for a stack that counts them.
    pub fn end_acks(&mut self, now_ns: u64, in_flight_bytes: Option<u64>, app_limited: bool) {
        let Some(batch) = self.batch.take() else { return };
        self.in_flight_bytes =
            in_flight_bytes.unwrap_or_else(|| self.in_flight_bytes.saturating_sub(batch.bytes));
        let acked = self.delivered.take_segments(batch.bytes, self.mtu_bytes);
        let in_flight = self.segments(self.in_flight_bytes);
        let cwnd_limited = if self.driver.controls_window() { self.was_cwnd_limited } else { !app_limited };
        self.was_cwnd_limited = false;
        let ack = &mut self.driver.ack;
        set_time(ack, now_ns);
        ack.acked = saturate(acked);
        ack.delivered = ack.delivered.saturating_add(acked);
        (ack.prior_in_flight, ack.in_flight) = (in_flight.saturating_add(ack.acked), in_flight);
        ack.flags &= !(CWND_LIMITED | APP_LIMITED);
        if cwnd_limited {
            ack.flags |= CWND_LIMITED;
        } else if app_limited {
            ack.flags |= APP_LIMITED;
        }
        self.note_rtt(now_ns, batch.newest_sent_ns);
        if self.driver.controls_window() {
            self.note_delivery_rate(now_ns, batch.newest);
        }
        if app_limited {
            self.note_app_limited();
        }
        self.start();
        if self.driver.ack.rtt_us > 0 {
            self.driver.on_rtt_sample();
        }
        let is_reduced = matches!(self.driver.state(), State::Cwr | State::Recovery | State::Loss);
        if is_reduced && self.recovery_start_ns.is_none_or(|start_ns| batch.newest_sent_ns > start_ns) {
            self.driver.on_recovered(self.driver.window.cwnd);
        }
        if self.driver.controls_window() {
            self.driver.control();
        } else if acked > 0 && !matches!(self.driver.state(), State::Cwr | State::Recovery) {
            self.driver.grow();
        }
        let ack = &mut self.driver.ack;
        (ack.lost, ack.ce) = (0, 0);
        ack.flags &= !ECE;
    }

    /// A packet is lost; `sent` is what [`Bridge::send`] returned for it, if the stack keeps that.
    pub fn lose_packet(&mut self, bytes: u64, sent: Option<Sent>) {
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(bytes);
        let lost = self.lost.take_segments(bytes, self.mtu_bytes);
        let ack = &mut self.driver.ack;
        ack.lost = ack.lost.saturating_add(saturate(lost));
        ack.lost_total = ack.lost_total.saturating_add(lost);
        if lost > 0
            && self.started
            && self.driver.controls_window()
            && let Some(sent) = sent
        {
            let lost_since = saturate(self.driver.ack.lost_total.saturating_sub(sent.lost));
            self.driver.on_segment_lost(sent.in_flight, lost_since, sent.app_limited);
        }
    }

    /// Packets are lost, the newest of them sent at `sent_ns`. The first loss of a window of data reduces the window; those of
    /// packets sent before the last reduction do not. Whether it reduces the window.
    pub fn on_loss(&mut self, now_ns: u64, sent_ns: u64, persistent_congestion: bool) -> bool {
        let reduces = self.is_new(sent_ns);
        if !reduces && (!persistent_congestion || self.driver.state() == State::Loss) {
            if self.started && self.driver.state() != State::Loss {
                self.driver.on_further_loss();
            }
            return false;
        }
        self.start();
        set_time(&mut self.driver.ack, now_ns);
        self.note_in_flight();
        if reduces {
            self.last_reduction = Some(Reduction {
                ssthresh: self.driver.window.ssthresh,
                recovery_start_ns: self.recovery_start_ns,
            });
        }
        if persistent_congestion {
            self.driver.on_timeout(reduces, self.driver.ack.lost);
        } else {
            self.driver.on_loss(Lowering::ToSsthresh);
        }
        self.recovery_start_ns = Some(now_ns);
        true
    }

    /// An ACK reports congestion experienced: `marked_pkts` packets, 0: some. The newest packet acknowledged was sent at
    /// `sent_ns`, or is that of the last batch.
    pub fn on_congestion(&mut self, now_ns: u64, sent_ns: Option<u64>, marked_pkts: u64) -> bool {
        self.start();
        self.note_in_flight();
        let ack = &mut self.driver.ack;
        set_time(ack, now_ns);
        ack.flags |= ECE;
        ack.ce = ack.ce.saturating_add(saturate(marked_pkts));
        ack.delivered_ce = ack.delivered_ce.saturating_add(marked_pkts);
        let sent_ns = sent_ns.or(self.newest_acked_ns).unwrap_or(now_ns);
        let reduces = self.is_new(sent_ns) && self.driver.on_congestion(Lowering::ToSsthresh, 0);
        if reduces {
            self.recovery_start_ns = Some(now_ns);
            self.last_reduction = None;
        }
        reduces
    }

    /// All packets of the last reduction have arrived after all: the window is what it was before.
    pub fn undo(&mut self) {
        if let Some(Reduction { ssthresh, recovery_start_ns }) = self.last_reduction.take() {
            self.driver.undo(ssthresh);
            self.recovery_start_ns = recovery_start_ns;
        }
    }

    /// A packet that is neither acknowledged nor lost is not in flight any more.
    pub fn discard(&mut self, bytes: u64) {
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(bytes);
    }

    /// The path's MTU changes. The window in bytes stays what it was, to the nearest segment.
    pub fn set_mtu(&mut self, mtu_bytes: u16) {
        let (before, after) = (self.mtu_bytes, u64::from(mtu_bytes.max(1)));
        self.mtu_bytes = after;
        self.driver.ack.mss = after as u32;
        let rescale = |segments: u32| saturate((u64::from(segments) * before + after / 2) / after);
        let window = &mut self.driver.window;
        window.cwnd = rescale(window.cwnd).max(1);
        window.cwnd_cnt = rescale(window.cwnd_cnt);
        window.prior_cwnd = rescale(window.prior_cwnd);
        if window.ssthresh < SSTHRESH_INFINITE {
            window.ssthresh = rescale(window.ssthresh).max(2);
        }
        if let Some(reduction) = &mut self.last_reduction
            && reduction.ssthresh < SSTHRESH_INFINITE
        {
            reduction.ssthresh = rescale(reduction.ssthresh).max(2);
        }
        self.set_clamp();
        let window = &mut self.driver.window;
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
        window.prior_cwnd = window.prior_cwnd.min(window.cwnd_clamp);
    }

    fn set_clamp(&mut self) {
        let most = saturate(self.most_window_bytes / self.mtu_bytes).min(SSTHRESH_INFINITE);
        self.driver.window.cwnd_clamp = most;
    }

    fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.driver.start();
        }
    }

    fn is_new(&self, sent_ns: u64) -> bool {
        self.recovery_start_ns.is_none_or(|start_ns| sent_ns > start_ns)
    }

    fn note_in_flight(&mut self) {
        self.driver.ack.in_flight = self.segments(self.in_flight_bytes);
    }

    /// A packet that was sent before another that is acknowledged already gives no sample (RFC 9002, 5.1).
    fn note_rtt(&mut self, now_ns: u64, sent_ns: u64) {
        self.driver.ack.rtt_us = 0;
        if self.newest_acked_ns.is_some_and(|newest_ns| sent_ns < newest_ns) || sent_ns > now_ns {
            return;
        }
        self.newest_acked_ns = Some(sent_ns);
        let rtt_ns = (now_ns - sent_ns).max(1);
        self.srtt_ns = if self.srtt_ns == 0 { rtt_ns } else { (7 * self.srtt_ns + rtt_ns) / 8 };
        let ack = &mut self.driver.ack;
        ack.rtt_us = to_us(rtt_ns);
        ack.srtt_us = to_us(self.srtt_ns);
        if ack.min_rtt_us == 0 || ack.rtt_us < ack.min_rtt_us {
            ack.min_rtt_us = ack.rtt_us;
        }
    }

    fn note_delivery_rate(&mut self, now_ns: u64, newest: Option<Sent>) {
        let ack = &mut self.driver.ack;
        if ack.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        ack.rate_interval_us = 0;
        ack.flags &= !RATE_APP_LIMITED;
        let Some(newest) = newest else { return };
        self.first_sent_ns = newest.sent_ns;
        self.delivered_ns = now_ns;
        let sending_ns = newest.sent_ns.saturating_sub(newest.first_sent_ns);
        let interval_ns = sending_ns.max(now_ns.saturating_sub(newest.delivered_ns));
        ack.rate_prior_delivered = newest.delivered;
        ack.rate_delivered = saturate(ack.delivered.saturating_sub(newest.delivered));
        ack.rate_in_flight = newest.in_flight;
        ack.rate_lost = saturate(ack.lost_total.saturating_sub(newest.lost));
        // Less than an RTT: ACKs were compressed.
        if to_us(interval_ns) >= ack.min_rtt_us {
            ack.rate_interval_us = to_us(interval_ns);
        }
        if newest.app_limited {
            ack.flags |= RATE_APP_LIMITED;
        }
    }

    /// How many more are delivered once `bytes` of packets in flight are.
    fn segments(&self, bytes: u64) -> u32 {
        saturate(self.delivered.bytes.saturating_add(bytes) / self.mtu_bytes)
    }
}

fn initial_window_pkts(mtu_bytes: u64) -> u32 {
    (INITIAL_WINDOW_BYTES / mtu_bytes).clamp(u64::from(LEAST_WINDOW_PKTS), INITIAL_WINDOW_PKTS) as u32
}

/// Most counts are of segments in flight, far below this.
fn saturate(segments: u64) -> u32 {
    segments.min(u64::from(SSTHRESH_INFINITE)) as u32
}

fn to_us(ns: u64) -> u32 {
    bound_rtt_us(ns.saturating_add(500) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// BBR, and five packets of 1200 bytes that are sent at once.
    fn start_with_five() -> (Bridge, Vec<Sent>) {
        let bbr = cwnd_algorithms::find("bbr").unwrap();
        let mut bridge = Bridge::new(bbr.build(&bbr.defaults()), 1200, u64::MAX);
        let sent = (0..5).map(|_| bridge.send(0, 1200)).collect();
        (bridge, sent)
    }

    fn ack(bridge: &mut Bridge, at_ms: u64, sent: Sent, app_limited: bool) -> Ack {
        bridge.ack_packet(sent.sent_ns, 1200, Some(sent));
        bridge.end_acks(at_ms * MS, None, app_limited);
        bridge.driver.ack
    }

    #[test]
    fn a_sample_has_what_was_in_flight_and_lost_and_the_time_in_which_packets_arrived() {
        let (mut bridge, sent) = start_with_five();
        let first = ack(&mut bridge, 100, sent[0], false);
        assert_eq!((first.rate_delivered, first.rate_interval_us, first.rate_in_flight), (1, 100_000, 1));
        assert_eq!((first.prior_in_flight, first.in_flight), (5, 4));
        bridge.lose_packet(1200, Some(sent[1]));
        assert_eq!((bridge.driver.ack.lost, bridge.driver.ack.lost_total), (1, 1));
        let third = ack(&mut bridge, 120, sent[2], false);
        // Two packets since the first was sent, at which none had arrived.
        assert_eq!(
            (third.rate_prior_delivered, third.rate_delivered, third.rate_interval_us),
            (0, 2, 120_000)
        );
        assert_eq!((third.rate_in_flight, third.rate_lost), (3, 1));
        assert_eq!((third.prior_in_flight, third.in_flight), (3, 2));
        assert_eq!((third.lost, third.lost_total), (0, 1));
    }

    /// `cc.h` allows RTTs below 2^31 us.
    #[test]
    fn of_an_rtt_of_an_hour_the_algorithm_sees_the_longest_that_there_is() {
        let (mut bridge, sent) = start_with_five();
        let Ack { rtt_us, srtt_us, min_rtt_us, .. } = ack(&mut bridge, 3_600_000, sent[0], false);
        assert_eq!([rtt_us, srtt_us, min_rtt_us], [0x7fff_ffff; 3]);
    }

    /// Sends a handshake: 1,100 bytes in a datagram with 100 that are never acknowledged.
    #[test]
    fn a_packet_that_is_a_little_shorter_counts_and_a_small_one_in_flight_does_not() {
        let reno = cwnd_algorithms::find("reno").unwrap();
        let mut bridge = Bridge::new(reno.build(&reno.defaults()), 1200, u64::MAX);
        for bytes in [100, 1100] {
            bridge.send(0, bytes);
        }
        (0..9).for_each(|_| _ = bridge.send(0, 1200));
        bridge.ack_packet(0, 1100, None);
        bridge.end_acks(100 * MS, None, false);
        let Ack { acked, delivered, prior_in_flight, in_flight, .. } = bridge.driver.ack;
        assert_eq!((acked, delivered, prior_in_flight, in_flight), (1, 1, 10, 9));
    }

    #[test]
    fn samples_are_limited_by_the_application_until_what_was_in_flight_then_is_delivered() {
        let (mut bridge, sent) = start_with_five();
        let limited = ack(&mut bridge, 100, sent[0], true);
        assert_eq!(limited.flags & (APP_LIMITED | CWND_LIMITED | RATE_APP_LIMITED), APP_LIMITED);
        let next = bridge.send(101 * MS, 1200);
        sent[1..].iter().for_each(|packet| _ = ack(&mut bridge, 110, *packet, false));
        assert_ne!(ack(&mut bridge, 201, next, false).flags & RATE_APP_LIMITED, 0);
        let free = bridge.send(202 * MS, 1200);
        assert_eq!(ack(&mut bridge, 302, free, false).flags & RATE_APP_LIMITED, 0);
    }

    #[test]
    fn losses_after_an_ack_are_those_of_the_next_one() {
        let (mut bridge, sent) = start_with_five();
        ack(&mut bridge, 100, sent[4], false);
        sent[..2].iter().for_each(|packet| bridge.lose_packet(1200, Some(*packet)));
        assert!(bridge.on_loss(100 * MS, 0, false));
        assert_eq!((bridge.driver.ack.lost, bridge.state()), (2, State::Recovery));
        ack(&mut bridge, 105, sent[3], false);
        assert_eq!((bridge.driver.ack.lost, bridge.driver.ack.lost_total), (0, 2));
    }

    #[test]
    fn an_algorithm_that_paces_is_limited_by_cwnd_only_where_the_stack_says_so() {
        let (mut bridge, sent) = start_with_five();
        assert_eq!(ack(&mut bridge, 100, sent[0], false).flags & (CWND_LIMITED | APP_LIMITED), 0);
        bridge.note_cwnd_limited();
        assert_eq!(ack(&mut bridge, 101, sent[1], false).flags & CWND_LIMITED, CWND_LIMITED);
        assert_eq!(ack(&mut bridge, 102, sent[2], false).flags & CWND_LIMITED, 0);
    }
}
