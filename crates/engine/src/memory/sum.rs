//! A sum of many 64-bit numbers.

/// Up to 2^96, in less memory than a `u128` takes.
#[derive(Default)]
#[repr(C, packed(4))]
pub struct Sum {
    low: u64,
    high: u32,
}

impl Sum {
    #[inline(always)]
    pub fn add(&mut self, value: u128) {
        let sum = self.get() + value;
        (self.low, self.high) = (sum as u64, (sum >> 64) as u32);
    }

    #[inline(always)]
    pub fn get(&self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}
