//! Numbers that look random, the same each time.

/// xorshift64*
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// 0 to `below` - 1.
    pub fn below(&mut self, below: u64) -> u64 {
        self.next() % below.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Every order of magnitude alike.
    pub fn magnitude(&mut self, least: f64, most: f64) -> f64 {
        let x = self.next() as f64 / (1_u64 << 53) as f64;
        least * (most / least).powf(x)
    }
}
