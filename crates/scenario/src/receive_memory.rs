//! How many segments Linux's receiver acknowledges one by one while its window opens, from its memory (`tcp_rmem`).
//!
//! The window begins at half of the memory. It opens to the share that payload has of a segment in memory, by about two
//! segments for each that arrives, and each of these is acknowledged at once. ACKs counted in guests with Linux 6.12 have the
//! constants: docs/worlds.md.

/// Memory of a segment besides its payload.
const BESIDE_PAYLOAD_BYTES: u32 = 896;
/// A share is kept in parts of this.
const PARTS: u32 = 256;
/// Segments by which the window opens for one that arrives: 23,830 bytes of memory for each of 1448 bytes.
const OPENED_PKTS: f64 = 23_830.0 * 30.0 / 256.0 / 1448.0;
/// At the start of a connection so many are acknowledged one by one in any case (TCP_MAX_QUICKACKS).
const LEAST_PKTS: u32 = 16;
/// 600 segments of 1448 bytes.
pub const DEFAULT_BYTES: u64 = 14_298_000;

/// Memory for each segment; infinite for small segments, which open no window.
fn for_one_bytes(payload_bytes: u32) -> f64 {
    let parts = u64::from(payload_bytes) * u64::from(PARTS) / u64::from(payload_bytes + BESIDE_PAYLOAD_BYTES);
    let opening = (parts as f64 / f64::from(PARTS) - 0.5).max(0.0);
    OPENED_PKTS * f64::from(payload_bytes) / opening
}

/// Segments that are acknowledged one by one by a receiver with so much memory.
pub fn quick_acks_pkts(memory_bytes: u64, payload_bytes: u32) -> u32 {
    ((memory_bytes as f64 / for_one_bytes(payload_bytes)).round() as u32).max(LEAST_PKTS)
}

/// The memory with which a receiver acknowledges so many one by one. 0 if it depends on no memory.
pub fn for_quick_acks_bytes(pkts: u32, payload_bytes: u32) -> u64 {
    let for_one_bytes = for_one_bytes(payload_bytes);
    if for_one_bytes.is_finite() { (f64::from(pkts) * for_one_bytes).round() as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_acknowledged_one_by_one_as_in_guests() {
        // Memory, payload, and ACKs counted.
        let counted = [
            (8_390_000, 1448, 352),
            (10_200_000, 1448, 427),
            (14_298_000, 1448, 589),
            (46_635_000, 1448, 1910),
            (46_710_000, 1300, 1638),
            (46_780_000, 1200, 1392),
            (46_950_000, 1000, 664),
            (47_040_000, 900, 14),
            (47_750_000, 536, 22),
        ];
        for (memory_bytes, payload_bytes, acks) in counted {
            let pkts = quick_acks_pkts(memory_bytes, payload_bytes);
            let bound = (acks / 40).max(6);
            assert!(pkts.abs_diff(acks) <= bound, "{memory_bytes} {payload_bytes}: {pkts} instead of {acks}");
        }
    }

    #[test]
    fn a_memory_for_some_is_one_that_gives_them() {
        assert_eq!(quick_acks_pkts(DEFAULT_BYTES, 1448), 600);
        for pkts in [100, 600, 5000] {
            assert_eq!(quick_acks_pkts(for_quick_acks_bytes(pkts, 1200), 1200), pkts);
        }
        assert_eq!(for_quick_acks_bytes(600, 536), 0);
    }
}
