//! Fetches the kernel's modules and compiles them, with the shim around them, into one program.
//!
//! Everything lies in cargo's directory for the files of tests, and stays there.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

pub const MODULES: [&str; 13] = [
    "cubic",
    "bic",
    "htcp",
    "highspeed",
    "scalable",
    "hybla",
    "illinois",
    "vegas",
    "veno",
    "westwood",
    "yeah",
    "bbr",
    "dctcp",
];

/// Headers that the modules include and the shim has already.
const HEADERS: [&str; 12] = [
    "asm/div64.h",
    "linux/btf.h",
    "linux/btf_ids.h",
    "linux/inet.h",
    "linux/inet_diag.h",
    "linux/math64.h",
    "linux/mm.h",
    "linux/module.h",
    "linux/random.h",
    "linux/skbuff.h",
    "linux/types.h",
    "net/tcp.h",
];

const PACKAGE: &str = "linux-source-6.1";

/// Files taken out of the kernel's tree.
const TAKEN: [&str; 5] = [
    "net/ipv4/tcp_*.c",
    "net/ipv4/tcp_vegas.h",
    "net/ipv4/tcp_dctcp.h",
    "lib/win_minmax.c",
    "include/linux/win_minmax.h",
];

/// The program; where there is none, CI fails and others skip, which is said in one line.
pub fn program() -> Option<&'static Path> {
    static PROGRAM: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let built = build().map_err(|why| format!("no Linux to compare with: {}", why.replace('\n', "; ")));
        if let (Err(why), false) = (&built, in_ci()) {
            // Past the harness, which keeps to itself what a test that passes prints.
            let _ = writeln!(io::stderr(), "skipped: {why}");
        }
        built
    });
    match &*PROGRAM {
        Ok(program) => Some(program),
        Err(why) if in_ci() => panic!("{why}"),
        Err(_) => None,
    }
}

fn in_ci() -> bool {
    env::var_os("CI").is_some()
}

/// The program, or why there is none.
fn build() -> Result<PathBuf, String> {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linux");
    fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let cc = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    run(Command::new(&cc).arg("--version"), "a C compiler")?;
    let source = source(&work)?;
    Ok(compile(&cc, &source, &work))
}

/// The kernel's tree, or the part of it that is needed.
fn source(work: &Path) -> Result<PathBuf, String> {
    if let Some(given) = env::var_os("CWND_LINUX_SOURCE") {
        let given = PathBuf::from(given);
        if given.is_dir() {
            return Ok(given);
        }
        let tree = work.join("given");
        unpack(&given, &tree)?;
        return Ok(tree);
    }
    let tree = work.join(PACKAGE);
    if tree.join("net").is_dir() {
        return Ok(tree);
    }
    // Into a directory of its own: whatever version the package has, there is one file.
    let download = work.join("download");
    let _ = fs::remove_dir_all(&download);
    fs::create_dir_all(&download).map_err(|e| e.to_string())?;
    let fetch = || run(Command::new("apt-get").args(["download", PACKAGE]).current_dir(&download), PACKAGE);
    if let Err(why) = fetch() {
        if !in_ci() {
            return Err(why);
        }
        // A bare machine has no list of packages yet; without root this fails.
        run(Command::new("apt-get").arg("update"), "apt-get update")?;
        fetch()?;
    }
    let deb = fs::read_dir(&download)
        .map_err(|e| e.to_string())?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|e| e == "deb"))
        .ok_or("apt-get left no package")?;
    unpack(&deb, &tree)?;
    let _ = fs::remove_dir_all(&download);
    Ok(tree)
}

/// Unpacks the part of the package that is needed; all of it or nothing.
fn unpack(deb: &Path, tree: &Path) -> Result<(), String> {
    let partial = tree.with_extension("partial");
    let _ = fs::remove_dir_all(&partial);
    let _ = fs::remove_dir_all(tree);
    fs::create_dir_all(&partial).map_err(|e| e.to_string())?;
    let wanted: Vec<String> = TAKEN.iter().map(|file| format!("'{PACKAGE}/{file}'")).collect();
    let script = format!(
        "set -e; dpkg-deb --fsys-tarfile \"$0\" | tar -xO ./usr/src/{PACKAGE}.tar.xz | \
         tar -xJ --strip-components=1 --wildcards {}",
        wanted.join(" ")
    );
    run(Command::new("sh").args(["-c", &script]).arg(deb).current_dir(&partial), "unpacking the package")?;
    fs::rename(&partial, tree).map_err(|e| e.to_string())
}

/// From here on a failure is a bug: the sources and a compiler are there.
fn compile(cc: &str, source: &Path, work: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (shim, include) = (here.join("shim"), work.join("include"));
    for header in HEADERS {
        let path = include.join(header);
        fs::create_dir_all(path.parent().expect("headers have a directory")).expect("writable");
        fs::write(path, "").expect("writable");
    }
    fs::copy(source.join("include/linux/win_minmax.h"), include.join("linux/win_minmax.h"))
        .expect("part of the source");
    let program = work.join("driver");
    let mut objects = Vec::new();
    let mut compile = |file: &Path, name: &str, flags: &[&str]| {
        let object = work.join(format!("{name}.o"));
        let done = run(
            Command::new(cc)
                .args(["-std=gnu11", "-O2", "-fno-strict-aliasing", "-fwrapv"])
                .arg("-Werror=implicit-function-declaration")
                .args(flags)
                .arg("-I")
                .arg(&include)
                .arg("-I")
                .arg(&shim)
                .arg("-I")
                .arg(here.join("../../algorithms"))
                .arg("-include")
                .arg(shim.join("shim.h"))
                .arg("-c")
                .arg(file)
                .arg("-o")
                .arg(&object),
            name,
        );
        done.unwrap_or_else(|why| panic!("{why}"));
        objects.push(object);
    };
    for module in MODULES {
        let define = format!("-DSHIM_MODULE=\"{module}\"");
        compile(&source.join(format!("net/ipv4/tcp_{module}.c")), module, &["-w", &define]);
    }
    compile(&source.join("lib/win_minmax.c"), "win_minmax", &["-w"]);
    compile(&shim.join("driver.c"), "driver", &["-Wall", "-Wextra", "-Werror"]);
    run(Command::new(cc).args(&objects).arg("-o").arg(&program), "driver")
        .unwrap_or_else(|why| panic!("{why}"));
    program
}

/// Runs a command; a failure is its name and what it said.
fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{what}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{what}: {said}"))
}

/// Answers of the kernel's module to the events.
pub fn answers(program: &Path, module: &[&str], events: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(module)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the driver starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(events).expect("the driver reads"));
        let output = child.wait_with_output().expect("the driver ends");
        assert!(output.status.success(), "driver {module:?}: {}", output.status);
        output.stdout
    })
}
