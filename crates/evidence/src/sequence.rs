//! Rules of TCP's sequence numbers and of lost segments, for all that follow what a sender has in flight.

/// Sequence numbers begin here, so that those before the first have room.
pub const ORIGIN: u64 = 1 << 40;
/// Duplicate ACKs, or segments above a hole, that make it a loss (RFC 6675: DupThresh).
pub const DUP_THRESH: u64 = 3;
/// Linux's least RTO is 200 ms; RFC 6298 has 1 s. A margin of a tenth is for late timers and captures.
pub const LEAST_RTO_US: u64 = 180_000;
/// Segments in flight that are followed, at most: a window of 90 MB. A hostile capture may have more.
pub const MOST_RUNS: usize = 1 << 16;
/// Segments of one captured packet, at most: BIG TCP has 512 KB.
pub const MOST_PIECES: u64 = 512;

/// The sequence number near `near` whose lower bits are `seq`.
pub fn unwrap(seq: u32, near: u64) -> u64 {
    near.saturating_add_signed(i64::from(seq.wrapping_sub(near as u32) as i32))
}

/// Returns true if the first of an ACK's SACK blocks reports data that had arrived before (RFC 2883).
pub fn is_duplicate(blocks: &[(u32, u32)], ack: u64) -> bool {
    let block = |at: usize| blocks.get(at).map(|&(start, end)| (unwrap(start, ack), unwrap(end, ack)));
    block(0).is_some_and(|(start, end)| {
        end <= ack || block(1).is_some_and(|(from, to)| from <= start && end <= to)
    })
}
