//! The source keeps the shape that ARCHITECTURE.md describes: no circles in any crate, and the order of the engine's rooms.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each room may import from those before it. What stands beside the rooms comes first, but for `lib.rs`, the public face.
const ROOMS: [&str; 3] = ["tcp/", "net/", "fast/"];

/// Every file of the source of the crate in `folder`, as `net/link/wire.rs`, and its text without comments and tests.
fn sources_of(folder: &Path) -> BTreeMap<String, String> {
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
    let mut files = BTreeMap::new();
    collect(&folder.join("src"), &folder.join("src"), &mut files);
    files
}

/// Sources of the engine.
fn sources() -> BTreeMap<String, String> {
    sources_of(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// The folders of the crates of this repository.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let within = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let folders = within("crates").into_iter().chain(within("crates/quic")).chain(within("."));
    folders.filter(|folder| folder.join("Cargo.toml").exists() && folder.join("src").exists()).collect()
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

fn graph_of(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    files.iter().map(|(name, text)| (name.clone(), imports(text, files))).collect()
}

fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let graph = graph_of(&sources());
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 200, "imports are found: {graph:?}");
    graph
}

#[test]
fn no_file_imports_one_that_imports_it() {
    let crates = crates();
    assert!(crates.len() > 12, "{crates:?}");
    for folder in crates {
        let graph = graph_of(&sources_of(&folder));
        for start in graph.keys() {
            let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
            while let Some(file) = next.pop() {
                for import in &graph[file] {
                    assert!(import != start, "{}: {start} imports itself over {file}", folder.display());
                    if seen.insert(import) {
                        next.push(import);
                    }
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
