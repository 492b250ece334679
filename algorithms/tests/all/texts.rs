//! What the key of a run hashes of an algorithm.

use crate::compiler::{assert_success, headers, host, scratch};
use cwnd_algorithms::all;

#[test]
fn the_texts_of_an_algorithm_have_every_header_that_the_compiler_reads_for_it() {
    for algorithm in all() {
        let name = algorithm.name.replace('-', "_");
        let (header, rule) = (headers().join(format!("{name}.h")), scratch(&format!("{name}.d")));
        assert_success(host().arg("-MM").arg("-MF").arg(&rule).arg("-I").arg(headers()).arg(header));
        let rule = std::fs::read_to_string(rule).unwrap();
        let paths: Vec<&str> = rule.split_whitespace().filter(|word| word.ends_with(".h")).collect();
        assert!(paths.len() > 1, "{rule}");
        for path in paths {
            let text = std::fs::read_to_string(path).unwrap();
            assert!(algorithm.texts().any(|one| one == text), "{}: {path}", algorithm.name);
        }
    }
}

#[test]
fn an_essay_has_those_of_the_variants_in_headers_of_their_own() {
    let essay = cwnd_algorithms::find("cubic").unwrap().essay();
    let parts =
        ["CUBIC: after a loss", "variant = linux is", "variant = ns2 is"].map(|text| essay.find(text));
    assert!(parts.is_sorted() && parts.iter().all(Option::is_some), "{essay}");
}
