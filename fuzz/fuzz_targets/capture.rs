//! Any bytes are a capture, explained as far as they go, or refused in one line.

#![no_main]

#[path = "../../crates/evidence/tests/all/any/mod.rs"]
mod any;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    any::explain(bytes).unwrap_or_else(|why| panic!("{why}"));
});
