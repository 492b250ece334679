//! Totals that a link counts.

/// Totals of a link at the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Packets that the queue refused or dropped.
    pub dropped: u64,
    /// Packets lost on the wire.
    pub corrupted: u64,
    /// Amount that the link has sent, and the most that it could have sent, in one unit: ticks at a fixed rate, else data.
    pub sent: u128,
    pub offered: u128,
    /// The time integral of the packets held, the one being sent included.
    pub held_ns: f64,
    /// The most packets held at one time since the warmup.
    pub max_queue: u64,
    /// How long at most 95 % of the packets waited that began to be sent since the warmup; None: no packet was looked at.
    pub p95_wait_ns: Option<f64>,
}

impl Totals {
    /// The share that the link has sent of what it could have sent since `before`.
    pub fn utilization_since(&self, before: &Totals) -> f64 {
        let offered = self.offered - before.offered;
        // Where links add up seconds, a packet may be rounded to take longer than from one departure to the next.
        let sent = self.sent.saturating_sub(before.sent).min(offered);
        if offered == 0 { 0.0 } else { sent as f64 / offered as f64 }
    }
}
