//! A policer: a token bucket before the queue.

use cwnd_scenario::Policer as Parameters;

const NS_PER_S: u128 = 1_000_000_000;

/// Lets a packet in if there are tokens for all of it, and takes them.
pub struct Policer {
    rate_bps: u128,
    /// In bits times nanoseconds per second, as the tokens.
    full: u128,
    tokens: u128,
    /// When the tokens were counted last.
    at_ns: u64,
    pub marks: bool,
}

impl Policer {
    pub fn new(parameters: &Parameters) -> Policer {
        let full = u128::from(parameters.burst_bytes) * 8 * NS_PER_S;
        let rate_bps = parameters.rate_bps.into();
        Policer { rate_bps, full, tokens: full, at_ns: 0, marks: parameters.mark }
    }

    /// Returns true if a packet of `bytes` that arrives at `now_ns` conforms.
    pub fn passes(&mut self, now_ns: u64, bytes: u32) -> bool {
        let gained = self.rate_bps * u128::from(now_ns - self.at_ns);
        self.tokens = self.full.min(self.tokens + gained);
        self.at_ns = now_ns;
        let wanted = u128::from(bytes) * 8 * NS_PER_S;
        let conforms = self.tokens >= wanted;
        if conforms {
            self.tokens -= wanted;
        }
        conforms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_drop_comes_when_the_burst_is_used_up_and_then_exactly_the_rate_passes() {
        let parameters = Parameters { rate_bps: 10_000_000, burst_bytes: 150_000, mark: false };
        let mut policer = Policer::new(&parameters);
        // 1500 bytes each 0.3 ms are 40 Mbps: the burst lasts 1.2 Mbit / (40 - 10 Mbps) = 40 ms.
        let passes: Vec<bool> = (0..10_000).map(|k| policer.passes(300_000 * k, 1500)).collect();
        assert_eq!(passes.iter().position(|passes| !passes), Some(133), "39.9 ms");
        for four in passes[133..].chunks_exact(4) {
            assert_eq!(four.iter().filter(|passes| **passes).count(), 1);
        }
    }
}
