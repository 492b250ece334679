//! The engine's source keeps the shape that ARCHITECTURE.md describes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each room may import from those before it. What stands beside the rooms comes first, but for `lib.rs`, the public face.
const ROOMS: [&str; 3] = ["tcp/", "net/", "fast/"];

/// Every file of the engine's source, as `net/link/wire.rs`, and its text without comments and tests.
fn sources() -> BTreeMap<String, String> {
    fn collect(folder: &Path, root: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, files);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            files.insert(name, code.join("\n"));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    collect(&root, &root, &mut files);
    files
}

/// The files that `text` names with `crate::`.
fn imports(text: &str, files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let text = text.replace("pub(in crate::", "pub(in ");
    let paths = text.split("crate::").skip(1);
    let file = |path: &str| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
        let parts: Vec<&str> = path[..end].split("::").filter(|part| !part.is_empty()).collect();
        let longest = (1..=parts.len()).rev().map(|n| parts[..n].join("/"));
        let names = longest.flat_map(|path| [format!("{path}.rs"), format!("{path}/mod.rs")]);
        names.into_iter().find(|name| files.contains_key(name))
    };
    paths.filter_map(file).collect()
}

fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let files = sources();
    let graph: BTreeMap<_, _> =
        files.iter().map(|(name, text)| (name.clone(), imports(text, &files))).collect();
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 200, "imports are found: {graph:?}");
    graph
}

#[test]
fn no_file_imports_one_that_imports_it() {
    let graph = graph();
    for start in graph.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(file) = next.pop() {
            for import in &graph[file] {
                assert!(import != start, "{start} imports itself over {file}");
                if seen.insert(import) {
                    next.push(import);
                }
            }
        }
    }
}

#[test]
fn no_room_imports_from_one_that_comes_later() {
    let room = |file: &str| match ROOMS.iter().position(|room| file.starts_with(room)) {
        Some(place) => place + 1,
        None if file == "lib.rs" => ROOMS.len() + 1,
        None => 0,
    };
    for (file, imports) in graph() {
        for import in imports {
            assert!(room(&import) <= room(&file), "{file} imports {import}");
        }
    }
}

#[test]
fn only_the_scoreboard_the_timer_and_the_choice_of_a_clock_import_what_is_ns2s() {
    let outside = |(file, imports): (String, BTreeSet<String>)| {
        let names_it = imports.iter().any(|import| import.contains("ns2/"));
        (names_it && !file.contains("ns2/")).then_some(file)
    };
    let outside: Vec<String> = graph().into_iter().filter_map(outside).collect();
    assert_eq!(outside, ["fast/mod.rs", "tcp/rtt.rs", "tcp/scoreboard.rs"]);
}

#[test]
fn files_are_short_enough_to_be_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for name in sources().keys() {
        let lines = fs::read_to_string(root.join(name)).unwrap().lines().count();
        assert!(lines <= 600, "{name} has {lines} lines");
    }
}
