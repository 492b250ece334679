//! Every algorithm, with any parameters, on any stream of events.

#![no_main]

#[path = "../../algorithms/tests/all/sender/mod.rs"]
mod sender;
#[path = "../../algorithms/tests/all/stream/mod.rs"]
mod stream;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let stream = stream::Stream::new(bytes);
    for algorithm in cwnd_algorithms::all() {
        let windows = stream::run(&algorithm, &stream).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(Ok(windows), stream::run(&algorithm, &stream), "{}", algorithm.name);
    }
});
