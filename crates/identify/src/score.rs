//! How far each candidate is from what was seen.

use crate::rounds::Round;

/// Half of a segment more or less is the grain of a flight.
const GRAIN: f64 = 0.5;
/// An error counts up to this: a candidate that is wrong by more is wrong.
const MOST: f64 = 1.0;

/// The mean error of a block of rounds, and its weight.
pub(crate) type Block = (f64, f64);

/// The error of each block.
pub(crate) fn errors(rounds: &[Round], flights: &[f64]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut last = None;
    for (round, flight) in rounds.iter().zip(flights) {
        let seen = f64::from(round.flight);
        let apart = ((flight - seen).abs() - GRAIN).max(0.0);
        let error = (apart / seen.min(*flight).max(1.0)).ln_1p().min(MOST);
        if last != Some(round.block) {
            blocks.push((0.0, 0.0));
            last = Some(round.block);
        }
        if let Some(block) = blocks.last_mut() {
            block.0 += error;
            block.1 += 1.0;
        }
    }
    for block in &mut blocks {
        block.0 /= block.1;
    }
    blocks
}

/// Weighted mean.
pub(crate) fn mean(blocks: &[Block]) -> f64 {
    let weight: f64 = blocks.iter().map(|block| block.1).sum();
    blocks.iter().map(|block| block.0 * block.1).sum::<f64>() / weight.max(1.0)
}

/// Mean of the paired differences of two candidates, and its standard error.
pub(crate) fn difference(one: &[Block], other: &[Block]) -> (f64, f64) {
    let weight: f64 = one.iter().map(|block| block.1).sum();
    let differences = one.iter().zip(other).map(|(a, b)| (a.0 - b.0, a.1));
    let mean = differences.clone().map(|(d, w)| d * w).sum::<f64>() / weight.max(1.0);
    let square: f64 = differences.map(|(d, w)| (w * (d - mean)).powi(2)).sum();
    (mean, square.sqrt() / weight.max(1.0))
}
