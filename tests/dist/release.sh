#!/usr/bin/env bash
# All that a release needs but the upload, a line for each step; what a step printed is in target/release-check.
# release.sh FOLDER: where the wheels and the source archives will be.
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$1
logs=${CARGO_TARGET_DIR:-target}/release-check
mkdir -p "$logs"
failed=0

step() {
	local name=$1 log=$logs/${1//[^a-z]/-}.log
	shift
	if "$@" >"$log" 2>&1; then
		echo "ok      $name$(sed -n 's/^semver: /: /p' "$log")"
	else
		echo "failed  $name: $log ends with '$(tail -n 1 "$log")'"
		failed=1
	fi
}

has_no_changes() {
	[ -z "$(git status --porcelain)" ] || { echo "the tree has changes that are not committed"; return 1; }
}

is_consistent() {
	make -s .venv/dev && .venv/bin/python -m pytest tests/python/test_release.py
}

is_accepted_by_pypi() {
	python3 -m venv "$logs/twine"
	"$logs/twine/bin/pip" install --quiet --disable-pip-version-check 'twine>=6,<7'
	"$logs/twine/bin/twine" check --strict "$dist"/*
}

rm -rf "$dist"
step "nothing is left to commit" has_no_changes
step "one version everywhere, the changelog dated, actions pinned, manual pages" is_consistent
step "slow tests" make test-slow
step "wheels for Linux with glibc, source archives" make dist
step "wheels for Linux with musl" make dist-musl
step "wheels for Windows" make dist-windows
step "twine accepts them" is_accepted_by_pypi
step "the wheel in a bare Debian" make dist-test
step "crates, as the registry would have them" cargo publish --workspace --dry-run
step "the crates' versions" make semver
step "the oldest Rust, the crates' docs" make check-rust
step "licences and faults of dependencies" make audit
step "the site" make site
exit $failed
