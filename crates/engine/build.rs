//! A fingerprint of this crate's source: results of another engine have another.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src");
    let mut files = Vec::new();
    collect_files(Path::new("src"), &mut files);
    files.sort();
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    let mut hash = Sha256::new_with_prefix(version);
    for file in files {
        let text = fs::read(&file).expect("src has readable files");
        let parts: Vec<_> = file.iter().map(|part| part.to_str().expect("names are UTF-8")).collect();
        hash.update(parts.join("/"));
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let fingerprint: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=CWND_ENGINE_FINGERPRINT={fingerprint}");
}

/// Every file in `folder` and in the folders in it.
fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("src is part of this crate") {
        let path = entry.expect("src is readable").path();
        if path.is_dir() {
            collect_files(&path, files);
        } else {
            files.push(path);
        }
    }
}
