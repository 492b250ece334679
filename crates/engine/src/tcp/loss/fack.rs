//! Forward acknowledgement (Mathis, Mahdavi 1996): the highest SACKed segment shows what has left the network.

use crate::tcp::scoreboard::DUP_THRESH;

/// The edge below which every missing segment is lost: the highest SACKed one, once it is three above the first missing
/// one, `una`, or a recovery has begun.
pub fn lost_edge(highest_sacked: u64, una: u64, in_recovery: bool) -> u64 {
    if in_recovery || highest_sacked >= una + DUP_THRESH { highest_sacked } else { 0 }
}

/// The edge of lost segments in Linux 2.6: a segment is lost once the highest SACKed one is more than three above it.
pub fn lost_edge_by_distance(highest_sacked: u64) -> u64 {
    highest_sacked.saturating_sub(DUP_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments 10 to 12 are missing.
    #[test]
    fn the_first_loss_is_found_three_segments_later_and_the_others_with_it_or_one_by_one() {
        assert_eq!([12, 13, 14].map(|highest| lost_edge(highest, 10, false)), [0, 13, 14]);
        assert_eq!(lost_edge(12, 10, true), 12);
        assert_eq!([13, 14, 16].map(lost_edge_by_distance), [10, 11, 13]);
    }
}
