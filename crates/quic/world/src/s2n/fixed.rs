//! Replaces what s2n-quic draws at random elsewhere: numbers come from a seed, and connection IDs count up.

use s2n_quic::provider::{connection_id, random, stateless_reset_token};
use s2n_quic_core::connection::LocalId;
use s2n_quic_core::stateless_reset::Token;
use std::convert::Infallible;

/// Bytes of a connection ID.
const ID_BYTES: usize = 8;

/// Random numbers from a seed (SplitMix64; Steele et al., OOPSLA 2014).
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: &[u8]) -> Seeded {
        // FNV-1a: other seeds, other streams.
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Seeded(seed.iter().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl random::Generator for Seeded {
    fn public_random_fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }

    fn private_random_fill(&mut self, bytes: &mut [u8]) {
        self.public_random_fill(bytes);
    }
}

impl random::Provider for Seeded {
    type Generator = Seeded;
    type Error = Infallible;

    fn start(self) -> Result<Seeded, Infallible> {
        Ok(self)
    }
}

/// Connection IDs that count up.
pub struct CountedIds(pub u64);

impl connection_id::Generator for CountedIds {
    fn generate(&mut self, _: &connection_id::ConnectionInfo) -> LocalId {
        self.0 += 1;
        LocalId::try_from_bytes(&self.0.to_be_bytes()).expect("the length is one of a connection ID")
    }
}

impl connection_id::Validator for CountedIds {
    fn validate(&self, _: &connection_id::ConnectionInfo, buffer: &[u8]) -> Option<usize> {
        (buffer.len() >= ID_BYTES).then_some(ID_BYTES)
    }
}

/// Tokens of resets, which are not sent.
pub struct NoResets;

impl stateless_reset_token::Generator for NoResets {
    const ENABLED: bool = false;

    /// The connection ID, and what no packet ends with: their ends are zeros.
    fn generate(&mut self, id: &[u8]) -> Token {
        let mut token = [0xa5; 16];
        token.iter_mut().zip(id).for_each(|(byte, id)| *byte ^= id);
        token.into()
    }
}

impl stateless_reset_token::Provider for NoResets {
    type Generator = NoResets;
    type Error = Infallible;

    fn start(self) -> Result<NoResets, Infallible> {
        Ok(self)
    }
}
