//! The engine's source keeps the shape that ARCHITECTURE.md describes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of the engine's source, as `path/link.rs`, and its text without comments and tests.
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
    let paths = text.split("crate::").skip(1);
    let file = |path: &str| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
        let parts: Vec<&str> = path[..end].split("::").filter(|part| !part.is_empty()).collect();
        let longest = (1..=parts.len()).rev().map(|n| parts[..n].join("/") + ".rs");
        longest.into_iter().find(|name| files.contains_key(name))
    };
    paths.filter_map(file).collect()
}

#[test]
fn no_file_imports_one_that_imports_it() {
    let files = sources();
    let graph: BTreeMap<_, _> = files.iter().map(|(name, text)| (name, imports(text, &files))).collect();
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 40, "imports are found: {graph:?}");
    for start in files.keys() {
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
fn only_its_own_folder_and_the_place_that_chooses_it_name_ns2() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let names_it = |name: &&String| {
        let text = fs::read_to_string(root.join(name)).unwrap().to_lowercase();
        ["ns2", "ns-2", "ns_2"].iter().any(|word| text.contains(word))
    };
    let files = sources();
    let outside: Vec<_> = files.keys().filter(names_it).filter(|name| !name.starts_with("ns2/")).collect();
    assert_eq!(outside, ["lib.rs", "variants.rs"], "lib.rs declares the folder, variants.rs is the door");
}

#[test]
fn files_are_short_enough_to_be_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for name in sources().keys() {
        let lines = fs::read_to_string(root.join(name)).unwrap().lines().count();
        assert!(lines <= 600, "{name} has {lines} lines");
    }
}
