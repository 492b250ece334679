//! Randomness: each user draws from a stream of its own.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// The random stream of what is called `name`: another link or flow more or less changes none of its draws.
pub fn random_stream(seed: u64, name: &str) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(hash(name));
    rng
}

/// The one number of what is called `name`, which costs less than a stream.
pub fn random_number(seed: u64, name: &str) -> u64 {
    // The output function of SplitMix64.
    let mut bits = hash(name) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A draw from 0 to below 1, in steps of 2⁻⁵³.
pub fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2_f64.powi(-53)
}

/// A draw from the exponential distribution, in whole nanoseconds of at least 1.
pub fn exponential_ns(rng: &mut ChaCha8Rng, mean_ns: f64) -> u64 {
    ((-mean_ns * libm::log1p(-uniform(rng))).round() as u64).max(1)
}
