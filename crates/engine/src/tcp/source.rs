//! The application of a flow that has not all its data at once: transfers of a size, frames, random pauses.

use crate::random::{exponential_ns, random_stream, uniform};
use crate::tcp::application::Application;
use crate::time::NEVER;
use chacha20::ChaCha8Rng;
use cwnd_scenario::{Flow, Handshake, Requests, Size, Traffic};
use std::fmt::Display;

pub struct Source<'a> {
    flow: &'a Flow,
    /// Segments before the first with payload: 1 with a handshake.
    syn: u64,
    start_ns: u64,
    /// The transfer being sent, if what is sent has an end.
    transfer: Option<Transfer>,
    sizes: Option<Box<Sizes<'a>>>,
    requests: Requests,
    /// Without queueing; a request and its response take it.
    rtt_ns: u64,
    frames: Option<Frames>,
    pauses: Option<Box<Pauses>>,
    application: Option<Application>,
    /// Payload of finished transfers.
    finished_bytes: u64,
    pub finished_ns: Option<u64>,
    pub rows: Vec<TransferRow>,
    /// On the wire, at the receiver, until the flow stopped or had finished.
    pub arrived_bytes: u64,
    /// Packets that the hops had lost before the connection began.
    pub lost_before: u64,
}

/// A transfer, finished or not.
#[derive(Clone, Copy, Debug)]
pub struct TransferRow {
    /// When the transfer began.
    pub start_ns: u64,
    /// Payload of the transfer.
    pub bytes: u64,
    /// When its last byte was acknowledged.
    pub end_ns: Option<u64>,
    /// Segments of the transfer that were sent again.
    pub retransmitted_pkts: u64,
}

struct Transfer {
    first: u64,
    /// The first segment after it.
    end: u64,
    bytes: u64,
    written_ns: u64,
    /// Retransmissions of the connection before the transfer.
    retransmissions: u64,
}

/// Draws sizes.
pub struct Sizes<'a> {
    size: &'a Size,
    rng: ChaCha8Rng,
}

/// Frames of equal size, each written at once.
struct Frames {
    bytes: u64,
    interval_ns: f64,
}

/// The application writes and pauses for exponential times.
struct Pauses {
    rng: ChaCha8Rng,
    mean_ns: (f64, f64),
    /// How long one segment is being written; 0: not at all.
    segment_ns: f64,
    /// The present period of writing: its start, how long was written before, its length and that of the pause after it.
    start_ns: u64,
    written_ns: u64,
    on_ns: u64,
    off_ns: u64,
}

impl<'a> Sizes<'a> {
    pub fn new(flow: &'a Flow, id: u32, seed: u64) -> Option<Sizes<'a>> {
        Some(Sizes { size: flow.size()?, rng: random_stream(seed, &format!("size-{id}")) })
    }

    pub fn draw(&mut self) -> u64 {
        match self.size {
            Size::Fixed { bytes } => *bytes,
            size => size.quantile(uniform(&mut self.rng)),
        }
    }
}

impl<'a> Source<'a> {
    /// Creates the source of `flow`, which is called `name` in the names of random streams; None: the flow needs no source.
    pub fn new(
        flow: &'a Flow,
        name: impl Display,
        sizes: Option<Sizes<'a>>,
        start_ns: u64,
        rtt_ns: u64,
        seed: u64,
    ) -> Option<Source<'a>> {
        let Traffic { requests, mean_on_off_ns, frames_per_s, .. } = flow.traffic.as_deref()?;
        let bits = 8.0 * f64::from(flow.payload_bytes);
        let pauses = mean_on_off_ns.map(|(on, off)| {
            let segment_ns = flow.app_rate_bps.map_or(0.0, |rate| bits * 1e9 / rate as f64);
            let rng = random_stream(seed, &format!("on-off-{name}"));
            Box::new(Pauses::new(rng, (on as f64, off as f64), segment_ns, start_ns))
        });
        let frames = frames_per_s.zip(flow.app_rate_bps).map(|(per_s, rate_bps)| Frames {
            bytes: cwnd_scenario::frame_bytes(rate_bps, per_s),
            interval_ns: 1e9 / f64::from(per_s),
        });
        let syn = u64::from(flow.stack.handshake != Handshake::Off);
        let mut source = Source {
            flow,
            syn,
            start_ns,
            transfer: None,
            sizes: sizes.map(Box::new),
            requests: requests.unwrap_or(Requests::ONE),
            rtt_ns,
            frames,
            pauses,
            application: Application::new(flow, start_ns),
            finished_bytes: 0,
            finished_ns: None,
            rows: Vec::new(),
            arrived_bytes: 0,
            lost_before: 0,
        };
        if let Some(sizes) = &mut source.sizes {
            let bytes = sizes.draw();
            source.begin(syn, bytes, start_ns, 0);
        }
        Some(source)
    }

    /// As [`Source::new`], of one transfer of `bytes`.
    pub fn of_one(
        flow: &'a Flow,
        name: impl Display,
        bytes: u64,
        start_ns: u64,
        seed: u64,
    ) -> Option<Source<'a>> {
        let mut source = Source::new(flow, name, None, start_ns, 0, seed)?;
        source.begin(source.syn, bytes, start_ns, 0);
        Some(source)
    }

    fn begin(&mut self, first: u64, bytes: u64, written_ns: u64, retransmissions: u64) {
        let end = first + bytes.div_ceil(self.flow.payload_bytes.into());
        self.transfer = Some(Transfer { first, end, bytes, written_ns, retransmissions });
        self.requests.count -= 1;
    }

    fn has_end(&self) -> bool {
        self.transfer.is_some() || self.finished_ns.is_some()
    }

    /// The earliest time from `now` on at which segment `seq` can be sent, or NEVER. Segments are asked for in order.
    pub fn ready_at(&mut self, seq: u64, now: u64) -> u64 {
        let mut ready_at = now;
        match &self.transfer {
            Some(transfer) if seq < transfer.end => ready_at = now.max(transfer.written_ns),
            None if !self.has_end() => {}
            _ => return NEVER,
        }
        // A SYN is sent with the first segment.
        let segment = seq.saturating_sub(self.syn);
        if let Some(frames) = &self.frames {
            let frame = segment / frames.segments(self.flow);
            let written_ns = (frame as f64 * frames.interval_ns).round() as u64;
            ready_at.max(self.start_ns.saturating_add(written_ns))
        } else if let Some(pauses) = &mut self.pauses {
            ready_at.max(pauses.ready_at(segment, now))
        } else {
            let application = self.application.as_mut();
            ready_at.max(application.map_or(now, |application| application.ready_at(seq, now)))
        }
    }

    /// Returns the payload of segment `seq`, which has been sent.
    pub fn payload_bytes(&self, seq: u64) -> u32 {
        let full = u64::from(self.flow.payload_bytes);
        let short = match (&self.transfer, &self.frames) {
            (Some(transfer), _) if seq + 1 == transfer.end => transfer.bytes % full,
            (None, Some(frames)) if seq >= self.syn && self.ends_frame(frames, seq) => frames.bytes % full,
            _ => 0,
        };
        if short > 0 { short as u32 } else { full as u32 }
    }

    fn ends_frame(&self, frames: &Frames, seq: u64) -> bool {
        (seq + 1 - self.syn).is_multiple_of(frames.segments(self.flow))
    }

    /// Returns the payload of the segments before `next`, all of which have arrived.
    pub fn delivered_bytes(&self, next: u64) -> u64 {
        let full = u64::from(self.flow.payload_bytes);
        match (&self.transfer, &self.frames) {
            (Some(transfer), _) => {
                let pkts = next.saturating_sub(transfer.first);
                self.finished_bytes + pkts.saturating_mul(full).min(transfer.bytes)
            }
            (None, _) if self.finished_ns.is_some() => self.finished_bytes,
            (None, Some(frames)) => {
                let (per_frame, segments) = (frames.segments(self.flow), next.saturating_sub(self.syn));
                segments / per_frame * frames.bytes + segments % per_frame * full
            }
            (None, None) => next.saturating_sub(self.syn) * full,
        }
    }

    /// A packet of `bytes` is at the receiver, whose flow stops at `stop_ns`.
    #[inline(always)]
    pub fn note_arrival(&mut self, at_ns: u64, stop_ns: u64, bytes: u32) {
        if at_ns <= stop_ns.min(self.finished_ns.unwrap_or(NEVER)) {
            self.arrived_bytes += u64::from(bytes);
        }
    }

    /// Returns true if all of the transfer is acknowledged when the segments before `next` are.
    pub fn is_complete(&self, next: u64) -> bool {
        self.transfer.as_ref().is_some_and(|transfer| next >= transfer.end)
    }

    /// The transfer was acknowledged at `now`, with so many `retransmissions` of the connection; true: another follows.
    pub fn finish(&mut self, now: u64, retransmissions: u64) -> bool {
        let Some(transfer) = self.transfer.take() else { return false };
        self.finished_bytes += transfer.bytes;
        self.rows.push(transfer.row(Some(now), retransmissions));
        if let Some(sizes) = &mut self.sizes
            && self.requests.count > 0
        {
            let bytes = sizes.draw();
            let response_ns = self.requests.barrier.map_or_else(|| self.response_ns(now), |_| NEVER);
            self.begin(transfer.end, bytes, response_ns, retransmissions);
            return true;
        }
        self.finished_ns = Some(now);
        false
    }

    /// When the response to the next request is written, if what precedes the request ended at `now`.
    fn response_ns(&self, now: u64) -> u64 {
        now + self.requests.think_ns + self.rtt_ns
    }

    /// Returns true if the next request waits for the responses to other flows.
    pub fn waits_for_others(&self) -> bool {
        self.transfer.as_ref().is_some_and(|transfer| transfer.written_ns == NEVER)
    }

    /// The last response ended at `now`. Returns when that to the next request is written.
    pub fn pass_barrier(&mut self, now: u64) -> u64 {
        let response_ns = self.response_ns(now);
        self.transfer.iter_mut().for_each(|transfer| transfer.written_ns = response_ns);
        response_ns
    }

    /// All transfers that have begun by `end_ns`. What would be written when the flow has stopped never begins.
    pub fn all_rows(&self, end_ns: u64, retransmissions: u64) -> impl Iterator<Item = TransferRow> {
        let has_begun = |at_ns| at_ns <= end_ns && at_ns < self.flow.stop_ns;
        let begun = self.transfer.as_ref().filter(|transfer| has_begun(transfer.written_ns));
        let last = begun.map(|transfer| transfer.row(None, retransmissions));
        self.rows.iter().copied().chain(last)
    }
}

impl Transfer {
    fn row(&self, end_ns: Option<u64>, retransmissions: u64) -> TransferRow {
        let retransmitted_pkts = retransmissions - self.retransmissions;
        TransferRow { start_ns: self.written_ns, bytes: self.bytes, end_ns, retransmitted_pkts }
    }
}

impl Frames {
    fn segments(&self, flow: &Flow) -> u64 {
        self.bytes.div_ceil(flow.payload_bytes.into())
    }
}

impl Pauses {
    fn new(rng: ChaCha8Rng, mean_ns: (f64, f64), segment_ns: f64, start_ns: u64) -> Pauses {
        let mut pauses = Pauses { rng, mean_ns, segment_ns, start_ns, written_ns: 0, on_ns: 0, off_ns: 0 };
        pauses.draw();
        pauses
    }

    fn draw(&mut self) {
        self.on_ns = exponential_ns(&mut self.rng, self.mean_ns.0);
        self.off_ns = exponential_ns(&mut self.rng, self.mean_ns.1);
    }

    fn next(&mut self) {
        self.start_ns = self.start_ns.saturating_add(self.on_ns).saturating_add(self.off_ns);
        self.written_ns += self.on_ns;
        self.draw();
    }

    fn ready_at(&mut self, seq: u64, now: u64) -> u64 {
        if self.segment_ns > 0.0 {
            let written_ns = ((seq + 1) as f64 * self.segment_ns).ceil() as u64;
            while written_ns > self.written_ns + self.on_ns {
                self.next();
            }
            return now.max(self.start_ns.saturating_add(written_ns - self.written_ns));
        }
        while now >= self.start_ns.saturating_add(self.on_ns).saturating_add(self.off_ns) {
            self.next();
        }
        let pause_ns = self.start_ns + self.on_ns;
        if now < pause_ns { now.max(self.start_ns) } else { pause_ns + self.off_ns }
    }
}
