//! Compiles the headers named by registry.h into one table, and lists their texts, each with
//! those of the headers it includes.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=.");
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "msvc") {
        println!("cargo::error=the headers need GCC or clang; on Windows compile for x86_64-pc-windows-gnu");
        return;
    }
    let registry = fs::read_to_string("registry.h").expect("registry.h is part of this crate");
    let names: Vec<&str> =
        registry.lines().filter_map(|line| line.trim().strip_prefix("CC(")?.split(',').next()).collect();
    // For build scripts of crates that depend on this one: DEP_CWND_ALGORITHMS_NAMES.
    println!("cargo::metadata=names={}", names.join(" "));
    let includes: String = names
        .iter()
        .map(|name| {
            let none = format!("{name}_INVARIANTS");
            format!("#include \"{name}.h\"\n#ifndef {none}\n#define {none}(I)\n#endif\n")
        })
        .collect();
    let texts: String = names
        .iter()
        .map(|name| {
            let mut headers = vec![format!("{name}.h")];
            included(&mut headers, 0);
            let texts: String = headers
                .iter()
                .map(|header| {
                    format!(
                        "({header:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{header}\"))), "
                    )
                })
                .collect();
            format!("&[{texts}],\n")
        })
        .collect();
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("headers.h"), includes).expect("OUT_DIR is writable");
    fs::write(Path::new(&out).join("texts.rs"), format!("[\n{texts}]\n")).expect("OUT_DIR is writable");
    let mut build = cc::Build::new();
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build.define("CC_CHECK_INVARIANTS", None);
    }
    build
        .file("src/table.c")
        .include(".")
        .include(&out)
        .std("gnu11")
        .opt_level(2)
        .force_frame_pointer(false)
        .flags(["-Wall", "-Wextra", "-Wconversion", "-Werror"])
        // A function of its own for the work that few ACKs need leaves a hook's registers to the work that all need. Clang has no
        // such flag, and warns of it.
        .flag_if_supported("-Wno-ignored-optimization-argument")
        .flag_if_supported("-fno-inline-functions-called-once")
        .compile("cwnd_algorithms");
}

/// Adds the headers that those from `from` on include, but for the one that all share.
fn included(headers: &mut Vec<String>, from: usize) {
    let Some(header) = headers.get(from) else { return };
    let text = fs::read_to_string(header).unwrap_or_else(|e| panic!("{header}: {e}"));
    for line in text.lines() {
        let Some(other) = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) else {
            continue;
        };
        if other != "cc.h" && !headers.iter().any(|known| known == other) {
            headers.push(other.to_owned());
        }
    }
    included(headers, from + 1);
}
