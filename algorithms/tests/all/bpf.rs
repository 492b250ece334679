//! Every header compiles for the BPF target, and what comes out stands alone.

use crate::compiler::{assert_success, headers, scratch};
use cwnd_algorithms::all;
use std::process::{Command, Stdio};

#[test]
fn every_header_compiles_for_bpf_without_calls_into_a_runtime() {
    let Some(compiler) = bpf_compiler() else {
        assert!(
            std::env::var_os("CI").is_none(),
            "no compiler for BPF: clang, or the Python package ziglang"
        );
        eprintln!("SKIPPED: no compiler for BPF: clang, or the Python package ziglang");
        return;
    };
    for algorithm in all() {
        let name = algorithm.name.replace('-', "_");
        let object = scratch(&format!("{name}.bpf.o"));
        assert_success(
            Command::new(&compiler[0])
                .args(&compiler[1..])
                .args(["-std=gnu11", "-O2", "-g", "-c", "-Wall", "-Wextra", "-Wconversion", "-Werror"])
                .arg(format!("-DHEADER=\"{name}.h\""))
                .arg(format!("-DNAME={name}"))
                .arg(format!("-DHOOKS={name}_HOOKS"))
                .arg(format!("-DDEFAULTS={name}_defaults"))
                .arg("-I")
                .arg(headers())
                .arg(headers().join("tests/bpf.c"))
                .arg("-o")
                .arg(&object),
        );
        let symbols = symbols(&std::fs::read(&object).unwrap());
        let hooks = symbols.iter().filter(|s| s.name.ends_with("_hook")).count();
        assert!(hooks >= 2, "{name}: cong_avoid and ssthresh are mandatory");
        // Floating point and 128-bit arithmetic would be calls too.
        let calls: Vec<&str> = symbols.iter().filter(|s| !s.defined).map(|s| s.name.as_str()).collect();
        assert!(calls.is_empty(), "{name} calls {calls:?}");
    }
}

/// The first of these that runs: clang, clang-N, the clang inside ziglang.
fn bpf_compiler() -> Option<Vec<String>> {
    let clang = |name: String| vec![name, "-target".into(), "bpf".into()];
    let zig = |python: String| {
        vec![
            python,
            "-m".into(),
            "ziglang".into(),
            "cc".into(),
            "-target".into(),
            "bpfel-freestanding".into(),
        ]
    };
    let environment = headers().join("../.venv/bin/python").display().to_string();
    std::iter::once(clang("clang".into()))
        .chain((10..40).rev().map(|version| clang(format!("clang-{version}"))))
        .chain([zig("python3".into()), zig(environment)])
        .find(|command| compiles(command))
}

fn compiles(command: &[String]) -> bool {
    let source = scratch("empty.c");
    std::fs::write(&source, "int nothing;\n").unwrap();
    Command::new(&command[0])
        .args(&command[1..])
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(scratch("empty.o"))
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

struct Symbol {
    name: String,
    defined: bool,
}

/// The named symbols of a little-endian 64-bit ELF file.
fn symbols(elf: &[u8]) -> Vec<Symbol> {
    const SYMBOL_TABLE: u64 = 2;
    let number = |at: usize, bytes: usize| {
        elf[at..at + bytes].iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte))
    };
    let at = |at: usize| number(at, 8) as usize;
    let section = |index: usize| at(0x28) + index * number(0x3a, 2) as usize;
    let count = number(0x3c, 2) as usize;
    let table = (0..count).map(section).find(|&s| number(s + 4, 4) == SYMBOL_TABLE).expect("a symbol table");
    let names = at(section(number(table + 0x28, 4) as usize) + 0x18);
    let (start, size) = (at(table + 0x18), at(table + 0x20));
    (start..start + size)
        .step_by(24)
        .map(|symbol| {
            let name = elf[names + number(symbol, 4) as usize..].split(|&b| b == 0).next().unwrap();
            Symbol { name: String::from_utf8_lossy(name).into_owned(), defined: number(symbol + 6, 2) != 0 }
        })
        .filter(|symbol| !symbol.name.is_empty())
        .collect()
}
