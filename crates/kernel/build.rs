//! Compiles every algorithm of the registry to an object for the kernel: the hooks for struct
//! tcp_congestion_ops, and for tests the same hooks as functions of memory. Also compiles the program that traces
//! connections.
//!
//! `CWND_KERNEL_OBJECTS`: `none` compiles nothing, `all` fails where there is no compiler for BPF. Without it, a build
//! without that compiler has no objects.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

fn main() {
    let headers = Path::new("../../algorithms");
    for changed in ["shim", "ebpf", "build.rs"] {
        println!("cargo::rerun-if-changed={changed}");
    }
    for folder in ["", "parts", "variants"] {
        for header in fs::read_dir(headers.join(folder)).expect("the headers are there").flatten() {
            if header.path().extension().is_some_and(|extension| extension == "h") {
                println!("cargo::rerun-if-changed={}", header.path().display());
            }
        }
    }
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-env-changed=CWND_KERNEL_OBJECTS");
    let wanted = env::var("CWND_KERNEL_OBJECTS").unwrap_or_default();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let names = env::var("DEP_CWND_ALGORITHMS_NAMES").expect("the crate of the algorithms lists them");
    let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
    // The kernel's own algorithms, to compare their cost.
    let native = ["cubic", "bbr"].map(str::to_owned).to_vec();
    let trace = vec!["trace".to_owned()];
    let kinds = [("ops", &names), ("events", &names), ("native", &native), ("trace", &trace)];
    let jobs: Vec<(&str, &String)> =
        kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (*kind, name))).collect();
    let compiler = if wanted == "none" { None } else { compiler(&out) };
    assert!(
        wanted != "all" || compiler.is_some(),
        "no compiler for BPF (clang, or the Python package ziglang)"
    );
    if compiler.is_none() && wanted != "none" {
        println!(
            "cargo::warning=no compiler for BPF (clang, or the Python package ziglang): \
             'cwnd kernel' will have nothing to load"
        );
    }
    if let Some(compiler) = &compiler {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for part in jobs.chunks(jobs.len().div_ceil(threads)) {
                let (out, headers) = (&out, &headers);
                scope.spawn(move || {
                    part.iter().for_each(|(kind, name)| compile(compiler, headers, kind, name, out))
                });
            }
        });
    }
    for (kind, names) in kinds {
        let objects: String = names
            .iter()
            .filter(|_| compiler.is_some())
            .map(|name| {
                let path = out.join(format!("{name}.{kind}.o"));
                format!("    ({:?}, include_bytes!({path:?})),\n", name.replace('_', "-"))
            })
            .collect();
        fs::write(out.join(format!("{kind}.rs")), format!("&[\n{objects}]\n")).expect("OUT_DIR is writable");
    }
}

fn compile(compiler: &[String], headers: &Path, kind: &str, name: &str, out: &Path) {
    let mut command = Command::new(&compiler[0]);
    command
        .args(&compiler[1..])
        .args(["-mcpu=v3", "-std=gnu11", "-O2", "-g", "-c", "-Wall", "-Wextra", "-Werror"])
        .arg(format!("-DHEADER=\"{name}.h\""))
        .arg(format!("-DNAME={name}"))
        .arg(format!("-DFORWARD_{name}"))
        .arg("-I")
        .arg(headers)
        .arg(format!("ebpf/{kind}.c"))
        .arg("-o")
        .arg(out.join(format!("{name}.{kind}.o")));
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The first of these that runs: clang, clang-N, the clang inside the Python package ziglang.
fn compiler(out: &Path) -> Option<Vec<String>> {
    let clang = |name: String| vec![name, "-target".into(), "bpf".into()];
    let zig = |python: PathBuf| {
        let python = python.display().to_string();
        [&python, "-m", "ziglang", "cc", "-target", "bpfel-freestanding"].map(str::to_owned).to_vec()
    };
    // The Python of maturin and of a virtual environment.
    let pythons = [
        env::var_os("PYO3_PYTHON").map(PathBuf::from),
        env::var_os("VIRTUAL_ENV").map(|folder| Path::new(&folder).join("bin/python")),
        Some("../../.venv/bin/python".into()),
        Some("python3".into()),
    ];
    std::iter::once(clang("clang".into()))
        .chain((14..40).rev().map(|version| clang(format!("clang-{version}"))))
        .chain(pythons.into_iter().flatten().map(zig))
        .find(|command| compiles(command, out))
}

fn compiles(command: &[String], out: &Path) -> bool {
    let source = out.join("empty.c");
    fs::write(&source, "int nothing;\n").expect("OUT_DIR is writable");
    Command::new(&command[0])
        .args(&command[1..])
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(out.join("empty.o"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
