"""The crates for other projects, as a registry would have them, built outside the repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("cwnd-algorithms", "cwnd-quic")
MAIN = """
fn main() -> Result<(), cwnd_quic::Error> {
    let mut transport = quinn_proto::TransportConfig::default();
    transport.congestion_controller_factory(cwnd_quic::quinn::factory("elastic", &[])?);
    cwnd_quic::noq::factory("bbr3", &[])?;
    cwnd_quic::s2n::endpoint("bbr3", &[])?;
    println!("all three");
    Ok(())
}
"""


def _run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.builds
def test_a_project_elsewhere_builds_with_the_packaged_crates_and_the_oldest_rust(tmp_path: Path) -> None:
    found = dict(re.findall(r'^(rust-version|version) = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M))
    rust, version = found["rust-version"], found["version"]
    has_rustup = shutil.which("rustup") is not None
    if not has_rustup or f"{rust}-" not in _run("rustup", "toolchain", "list", folder=ROOT):
        pytest.skip(f"needs rustup toolchain install {rust} --profile minimal")
    named = [argument for name in PACKAGES for argument in ("-p", name)]
    target = ("--target-dir", str(tmp_path / "target"))
    _run("cargo", "package", *named, "--no-verify", "--allow-dirty", *target, folder=ROOT)
    for name in PACKAGES:
        with tarfile.open(tmp_path / "target" / "package" / f"{name}-{version}.crate") as crate:
            crate.extractall(tmp_path, filter="data")
    user = tmp_path / "user"
    (user / "src").mkdir(parents=True)
    (user / "src" / "main.rs").write_text(MAIN)
    patches = "".join(f'{name} = {{ path = "../{name}-{version}" }}\n' for name in PACKAGES)
    (user / "Cargo.toml").write_text(
        f"""
[package]
name = "user"
version = "0.1.0"
edition = "2024"
rust-version = "{rust}"
[dependencies]
cwnd-quic = {{ version = "{version}", features = ["quinn", "noq", "s2n-quic"] }}
quinn-proto = {{ version = "0.11", default-features = false }}
[patch.crates-io]
{patches}
[workspace]
resolver = "3"
"""
    )
    assert _run("cargo", f"+{rust}", "run", "--quiet", *target, folder=user) == "all three\n"
