//! Compiles the only program of a guest: static, so that it needs nothing else there.
//!
//! `CWND_KERNEL_OBJECTS` is that of `crates/kernel`: `none` compiles nothing, `all` fails where the program cannot be
//! compiled.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=guest");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-env-changed=CWND_KERNEL_OBJECTS");
    let wanted = env::var("CWND_KERNEL_OBJECTS").unwrap_or_default();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let program = out.join("init");
    let of_target = env::var("TARGET").is_ok_and(|target| target.starts_with("x86_64-unknown-linux"));
    let found = (of_target && wanted != "none")
        .then(|| compilers().into_iter().find(|compiler| links(compiler, &out)))
        .flatten();
    match found {
        Some(compiler) => compile(&compiler, &program),
        None => {
            assert!(
                !of_target || wanted != "all",
                "no compiler for a static program (cc with libc.a, or ziglang)"
            );
            if wanted != "none" {
                println!(
                    "cargo::warning=no compiler for a static program of x86-64 Linux (cc with libc.a, or the Python \
                 package ziglang): 'cwnd run --on linux' will have no guest"
                );
            }
            fs::write(&program, []).expect("OUT_DIR is writable");
        }
    }
}

/// The system's compiler, then the one inside the Python package ziglang, which takes a minute for its first program.
fn compilers() -> Vec<Vec<String>> {
    let zig = |python: PathBuf| {
        let python = python.display().to_string();
        [&python, "-m", "ziglang", "cc", "-target", "x86_64-linux-musl"].map(str::to_owned).to_vec()
    };
    let pythons = [
        env::var_os("PYO3_PYTHON").map(PathBuf::from),
        env::var_os("VIRTUAL_ENV").map(|folder| Path::new(&folder).join("bin/python")),
        Some("../../.venv/bin/python".into()),
        Some("python3".into()),
    ];
    std::iter::once(vec!["cc".to_owned()]).chain(pythons.into_iter().flatten().map(zig)).collect()
}

fn links(compiler: &[String], out: &Path) -> bool {
    let source = out.join("empty.c");
    fs::write(&source, "#include <linux/pkt_sched.h>\nint main(void) { return 0; }\n")
        .expect("OUT_DIR is writable");
    Command::new(&compiler[0])
        .args(&compiler[1..])
        .arg("-static")
        .arg(source)
        .arg("-o")
        .arg(out.join("empty"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn compile(compiler: &[String], program: &Path) {
    let mut sources: Vec<PathBuf> =
        fs::read_dir("guest").expect("the sources are there").flatten().map(|entry| entry.path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    sources.sort();
    let mut command = Command::new(&compiler[0]);
    command
        .args(&compiler[1..])
        .args(["-static", "-O2", "-s", "-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .args(sources)
        .arg("-o")
        .arg(program);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}
