//! Compiles the headers named by registry.h into one table, and lists their texts.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=.");
    let registry = fs::read_to_string("registry.h").expect("registry.h is part of this crate");
    let names: Vec<&str> =
        registry.lines().filter_map(|line| line.trim().strip_prefix("CC(")?.split(',').next()).collect();
    let includes: String = names.iter().map(|name| format!("#include \"{name}.h\"\n")).collect();
    let texts: String = names
        .iter()
        .map(|name| format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{name}.h\")),\n"))
        .collect();
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("headers.h"), includes).expect("OUT_DIR is writable");
    fs::write(Path::new(&out).join("texts.rs"), format!("[\n{texts}]\n")).expect("OUT_DIR is writable");
    cc::Build::new()
        .file("src/table.c")
        .include(".")
        .include(&out)
        .std("gnu11")
        .opt_level(2)
        .flags(["-Wall", "-Wextra", "-Wconversion", "-Werror"])
        .compile("cwnd_algorithms");
}
