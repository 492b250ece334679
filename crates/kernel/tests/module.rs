//! The modules are made of every algorithm, as DKMS makes them.

use cwnd_algorithms::all;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Runs `make source` into a folder of the test's own.
fn source(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    let mut make = Command::new("make");
    make.args(["-s", "-C", "module", "source"]).arg(format!("SOURCE={}", folder.display()));
    output_of(make);
    folder
}

fn output_of(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}:\n{}{}", text[0], text[1]);
    text.concat()
}

/// The build folder of a kernel that can be compiled for: installed, or left by `make guest-test`.
fn headers() -> Option<PathBuf> {
    let folders = |parent: &Path| -> io::Result<Vec<PathBuf>> {
        fs::read_dir(parent)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let guests = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../guest");
    let parents = folders(&guests).unwrap_or_default().into_iter().map(|guest| guest.join("usr/src"));
    let sources = parents.chain(["/usr/src".into()]);
    let installed = folders(Path::new("/lib/modules")).unwrap_or_default();
    installed
        .into_iter()
        .map(|release| release.join("build"))
        .chain(sources.flat_map(|parent| folders(&parent).unwrap_or_default()))
        .find(|build| build.join("include/generated/autoconf.h").exists())
}

#[test]
fn dkms_gets_the_version_and_a_module_of_every_algorithm() {
    let folder = source("dkms");
    let mut bash = Command::new("bash");
    let read = ". \"$0\"; echo $PACKAGE_VERSION; printf '%s\\n' ${BUILT_MODULE_NAME[@]}";
    bash.args(["-ec", read]).arg(folder.join("dkms.conf")).env("kernel_source_dir", "/nowhere");
    let output = output_of(bash);
    let mut lines = output.lines();
    assert_eq!(lines.next(), Some(env!("CARGO_PKG_VERSION")));
    let names: Vec<String> =
        all().iter().map(|algorithm| format!("cwnd_{}", algorithm.name.replace('-', "_"))).collect();
    assert_eq!(lines.collect::<Vec<_>>(), names);
}

#[test]
fn a_module_with_either_kind_of_control_compiles_without_a_warning() {
    let Some(headers) = headers() else {
        eprintln!("SKIPPED: no headers of a kernel; 'make guest-test' compiles all modules");
        return;
    };
    let module = source("compiled").join("crates/kernel/module");
    let mut make = Command::new("make");
    make.arg("-s").arg("-C").arg(headers).arg(format!("M={}", module.display()));
    let output = output_of({
        make.args(["cwnd_elastic.o", "cwnd_bbr.o"]);
        make
    });
    assert!(!output.contains("warning:"), "{output}");
    assert!(module.join("cwnd_elastic.o").exists() && module.join("cwnd_bbr.o").exists());
}
