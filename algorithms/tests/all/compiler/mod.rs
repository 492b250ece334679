//! C compilers for the tests that need one at test time.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where the headers are.
pub fn headers() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file that only this test run uses.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The compiler for this machine.
#[allow(dead_code, reason = "bpf.rs has a compiler of its own")]
pub fn host() -> Command {
    Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

/// Runs a compiler or what it built.
pub fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

pub fn assert_success(command: &mut Command) -> Output {
    let output = output(command);
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    output
}
