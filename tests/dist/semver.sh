#!/usr/bin/env bash
# Compares the crates for others with the last release; one line if there is none.
set -euo pipefail
cd "$(dirname "$0")/../.."
tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) ||
	{ echo "semver: there is no release to compare with"; exit 0; }
cargo semver-checks --version >/dev/null 2>&1 ||
	{ echo "make semver needs cargo-semver-checks: cargo install cargo-semver-checks" >&2; exit 1; }
cargo semver-checks --workspace --baseline-rev "$tag"
