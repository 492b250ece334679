//! Properties of every algorithm, with any parameters, on any stream of events.

use crate::stream::{Stream, run};
use cwnd_algorithms::all;
use proptest::prelude::*;

fn any_stream() -> impl Strategy<Value = Stream> {
    prop::collection::vec(any::<u8>(), 0..800).prop_map(|bytes| Stream::new(&bytes))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_within_bounds_and_never_outgrow_slow_start(stream in any_stream()) {
        for algorithm in all() {
            run(&algorithm, &stream).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn the_same_stream_gives_the_same_windows(stream in any_stream()) {
        for algorithm in all() {
            prop_assert_eq!(run(&algorithm, &stream), run(&algorithm, &stream));
        }
    }
}

#[test]
fn every_state_fits_into_the_kernels_private_area() {
    for algorithm in all() {
        assert!(algorithm.state_bytes <= 104, "{}: {} bytes", algorithm.name, algorithm.state_bytes);
    }
}

#[test]
fn every_parameter_has_a_default_within_its_bounds_and_says_where_it_comes_from() {
    for algorithm in all() {
        for p in &algorithm.params {
            let name = format!("{} {}", algorithm.name, p.name);
            assert!(p.min <= p.default && p.default <= p.max && p.one > 0, "{name}: {p:?}");
            assert!(p.is_number() || (p.min, p.max + 1) == (0, p.choices.len() as u32), "{name}: {p:?}");
            let (meaning, source) = p.doc.rsplit_once("; ").unwrap_or_else(|| panic!("{name}: no source"));
            assert!(!meaning.is_empty() && !source.is_empty() && !p.doc.ends_with('.'), "{name}: {}", p.doc);
        }
    }
}
