//! Parts that the tests of all stacks share.
#![allow(dead_code)] // each test is a crate, and uses a part

use std::time::Duration;

/// Bytes that a server sends to each client.
pub const BYTES: usize = 100_000;
pub const LOCALHOST: &str = "127.0.0.1:0";
/// All transfers of a stack, on a slow and busy machine.
pub const LONGEST: Duration = Duration::from_secs(60);

/// A certificate for localhost, and its key, in DER.
pub fn make_certificate() -> (Vec<u8>, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (made.cert.der().to_vec(), made.signing_key.serialize_der())
}

/// Runs `transfers` on one thread.
pub fn run(transfers: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(LONGEST, transfers).await.expect("the transfers end in time")
    });
}

/// Numbers that look random (xorshift), the same every time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// How many random events each stack's trait gets: `CWND_EVENTS`, or few.
pub fn count_events() -> u64 {
    std::env::var("CWND_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}
