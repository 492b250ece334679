//! Any text is read as scenarios or refused in one line; what is read runs.

#![no_main]

#[path = "../../crates/engine/tests/all/small/mod.rs"]
mod small;
#[path = "../../crates/scenario/tests/all/text/mod.rs"]
mod text;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let sweep = text::read(text, "a.toml").unwrap_or_else(|why| panic!("{why}"));
    for point in sweep.iter().flat_map(|sweep| sweep.points.iter().take(3)) {
        small::try_run(&point.scenario).unwrap_or_else(|why| panic!("{why}"));
    }
});
