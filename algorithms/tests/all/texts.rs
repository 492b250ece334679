//! Text of an algorithm that the key of a run hashes.

use crate::compiler::{assert_success, headers, host, scratch};
use cwnd_algorithms::{all, c_tokens};
use std::fs;
use std::path::Path;

#[test]
fn the_texts_of_an_algorithm_have_every_header_that_the_compiler_reads_for_it() {
    for algorithm in all() {
        let name = algorithm.name.replace('-', "_");
        let (header, rule) = (headers().join(format!("{name}.h")), scratch(&format!("{name}.d")));
        assert_success(host().arg("-MM").arg("-MF").arg(&rule).arg("-I").arg(headers()).arg(header));
        let rule = fs::read_to_string(rule).unwrap();
        let paths: Vec<&str> = rule.split_whitespace().filter(|word| word.ends_with(".h")).collect();
        assert!(paths.len() > 1, "{rule}");
        for path in paths {
            let text = fs::read_to_string(path).unwrap();
            assert!(algorithm.texts().any(|one| one == text), "{}: {path}", algorithm.name);
        }
    }
}

#[test]
fn the_code_of_an_algorithm_has_the_tokens_of_its_texts_and_no_comment() {
    for algorithm in all() {
        let code = algorithm.code();
        for text in algorithm.texts() {
            assert!(text.contains("/*") && code.contains(&c_tokens(text)), "{}", algorithm.name);
        }
        // Strings of the headers have no quote in them.
        assert!(!code.contains("\\\""), "{}", algorithm.name);
        for outside in code.split('"').step_by(2) {
            let comment = ["/*", "*/", "//"].into_iter().find(|mark| outside.contains(mark));
            assert_eq!(comment, None, "{}: {outside}", algorithm.name);
        }
    }
}

#[test]
fn the_compiler_reads_the_same_in_the_tokens_of_the_headers() {
    let tokens = scratch("tokens");
    for folder in ["", "parts", "variants"] {
        fs::create_dir_all(tokens.join(folder)).unwrap();
        for file in fs::read_dir(headers().join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "h") {
                let text = c_tokens(&fs::read_to_string(&file).unwrap()) + "\n";
                fs::write(tokens.join(folder).join(file.file_name().unwrap()), text).unwrap();
            }
        }
    }
    let read = |folder: &Path, header: &str| {
        let output = assert_success(host().args(["-E", "-P", "-I"]).arg(folder).arg(folder.join(header)));
        String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<String>()
    };
    for algorithm in all() {
        let header = format!("{}.h", algorithm.name.replace('-', "_"));
        assert!(read(headers(), &header) == read(&tokens, &header), "{header}");
    }
}

#[test]
fn an_essay_has_those_of_the_variants_in_headers_of_their_own() {
    let essay = cwnd_algorithms::find("cubic").unwrap().essay();
    let parts =
        ["CUBIC: after a loss", "variant = linux is", "variant = ns2 is"].map(|text| essay.find(text));
    assert!(parts.is_sorted() && parts.iter().all(Option::is_some), "{essay}");
}

#[test]
fn an_essay_describes_the_parameter_slow_start_where_there_is_one() {
    for algorithm in all() {
        let has = algorithm.params.iter().any(|param| param.name == "slow_start");
        assert_eq!(algorithm.essay().contains("The parameter slow_start:"), has, "{}", algorithm.name);
    }
}
