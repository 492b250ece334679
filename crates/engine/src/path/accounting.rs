//! What a link counts.

/// Totals of a link at the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Packets that the queue refused or dropped.
    pub dropped: u64,
    /// Packets lost on the wire.
    pub corrupted: u64,
    /// How long the link has been sending; of a link whose rate varies, the share that it has sent of all that it could
    /// have, of the whole time.
    pub busy_ns: f64,
    /// The time integral of the packets held, the one being sent included.
    pub held_ns: f64,
    /// The most packets held at one time since the warmup.
    pub max_queue: u64,
    /// How long at most 95 % of the packets waited that came since the warmup; None: no packet was looked at.
    pub p95_wait_ns: Option<f64>,
}
