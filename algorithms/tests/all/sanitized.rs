//! The most extreme streams through the headers, under the compiler's check for undefined behaviour.

use crate::compiler::{assert_success, headers, host, output, scratch};
use cwnd_algorithms::all;
use std::process::Command;

#[test]
fn no_stream_reaches_undefined_behaviour() {
    if !sanitizer_works() {
        assert!(std::env::var_os("CI").is_none(), "the C compiler has no -fsanitize=undefined");
        eprintln!("SKIPPED: the C compiler has no -fsanitize=undefined");
        return;
    }
    let includes = scratch("sanitized");
    std::fs::create_dir_all(&includes).unwrap();
    let text: String =
        all().iter().map(|a| format!("#include \"{}.h\"\n", a.name.replace('-', "_"))).collect();
    std::fs::write(includes.join("headers.h"), text).unwrap();
    let program = includes.join("driver");
    assert_success(
        host()
            .args(["-std=gnu11", "-O1", "-g", "-fsanitize=undefined", "-fno-sanitize-recover=all"])
            .args(["-Wall", "-Wextra", "-Wconversion", "-Werror", "-I"])
            .arg(headers())
            .arg("-I")
            .arg(&includes)
            .arg(headers().join("tests/sanitized.c"))
            .arg("-o")
            .arg(&program),
    );
    assert_success(&mut Command::new(program));
}

fn sanitizer_works() -> bool {
    let source = scratch("sanitizer.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let built = output(host().arg("-fsanitize=undefined").arg(&source).arg("-o").arg(scratch("sanitizer")));
    built.status.success()
}
