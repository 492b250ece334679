//! A fingerprint of this crate's source, so that results of another engine are told apart.

use sha2::{Digest, Sha256};
use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=src");
    let entries = fs::read_dir("src").expect("src is part of this crate");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("src is readable").path()).collect();
    files.sort();
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    let mut hash = Sha256::new_with_prefix(version);
    for file in files {
        let text = fs::read(&file).expect("src has readable files and no folders");
        hash.update(file.file_name().expect("a file has a name").as_encoded_bytes());
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let fingerprint: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=CWND_ENGINE_FINGERPRINT={fingerprint}");
}
