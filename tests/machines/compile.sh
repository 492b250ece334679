#!/usr/bin/env bash
# Compiles the crates of the simulator and of its Python package for systems without Linux, and links nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
	echo "check-systems: $1" >&2
	exit 1
}

command -v x86_64-w64-mingw32-gcc >/dev/null ||
	fail "needs x86_64-w64-mingw32-gcc: apt-get install gcc-mingw-w64-x86-64"
# Zig has the C headers of macOS.
export CC_aarch64_apple_darwin=$PWD/tests/machines/macos-cc AR_aarch64_apple_darwin=$PWD/lab/tools/ar SDKROOT=/
for target in aarch64-apple-darwin x86_64-pc-windows-gnu; do
	rustup target add "$target" 2>/dev/null || fail "needs Rust's target $target: rustup target add $target"
	cargo check --quiet --target "$target" \
		-p cwnd-scenario -p cwnd-results -p cwnd-engine -p cwnd-runner -p cwnd-python
	echo "$target: compiles"
done
