#!/usr/bin/env bash
# The golden results and the tests of the crates that make them, on another machine: golden.sh arm|windows.
# ARM runs under qemu, Windows under Wine.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
	echo "golden-$machine: $1" >&2
	exit 1
}

needs() {
	command -v "$1" >/dev/null || fail "needs $1: apt-get install $2"
}

machine=$1
folder=${CARGO_TARGET_DIR:-$PWD/target}/machines
mkdir -p "$folder"
case $machine in
arm)
	target=aarch64-unknown-linux-gnu
	needs aarch64-linux-gnu-gcc "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
	needs qemu-aarch64 qemu-user
	export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
	export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
	;;
windows)
	target=x86_64-pc-windows-gnu
	needs x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
	wine=$(command -v wine64 || command -v /usr/lib/wine/wine64) || fail "needs wine64: apt-get install wine64"
	x86_64-w64-mingw32-gcc -O2 -Wall -Wextra -Werror -shared tests/machines/prng.c -ladvapi32 \
		-o "$folder/bcryptprimitives.dll"
	export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
	export WINEPREFIX=$folder/wine WINEPATH=Z:${folder//\//\\} WINEDEBUG=-all
	;;
esac
rustup target add "$target" 2>/dev/null || fail "needs Rust's target $target: rustup target add $target"

cargo test --quiet --target "$target" -p cwnd-scenario -p cwnd-results -p cwnd-runner
cargo test --quiet --target "$target" -p cwnd-engine --test all golden:: -- --nocapture
