#!/usr/bin/env bash
# Runs the same scenarios with a base revision and with the working tree, and gates the second against the first.
#
# The steps of the Action cwnd gate, from a checkout of git. Settings are environment variables:
#   GATE_SCENARIOS   scenario files, relative to the root of the checkout
#   GATE_BASE        the revision to compare with            [origin/main]
#   GATE_PREPARE     a command that builds in either tree     [none]
#   GATE_CWND        the command cwnd, run in either tree     [cwnd]
#   GATE_FLAGS       more flags of 'cwnd run', such as --on quinn
#   GATE_SEEDS       runs of each scenario                    [10]
#   GATE_THRESHOLDS  a file with the margins                  [none: throughput, 2 %]
#   GATE_OUT         a folder for both results, gate.json, gate.xml (JUnit) and gate.md (a summary)  [gate]
# Scenario files are those of the working tree for both; classes that they name (FILE.py:CLASS) are each tree's own.
# Exit status: 0 passed, 1 not passed, 2 a setting or a step failed.
set -euo pipefail

fail() {
	echo "gate: $1" >&2
	exit 2
}

scenarios=${GATE_SCENARIOS:?a list of scenario files is needed}
base=${GATE_BASE:-origin/main}
cwnd=${GATE_CWND:-cwnd}
seeds=${GATE_SEEDS:-10}
head=$(git rev-parse --show-toplevel)
export GATE_HEAD=$head # for the command that builds
mkdir -p "${GATE_OUT:-gate}"
out=$(cd "${GATE_OUT:-gate}" && pwd)
rm -f "$out"/gate.json "$out"/gate.xml "$out"/gate.md
revision=$(git rev-parse --quiet --verify "$base^{commit}") ||
	fail "$base is not a revision of this checkout; actions/checkout needs fetch-depth: 0"

work=$(mktemp -d)
cleanup() {
	git -C "$head" worktree remove --force "$work/base" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
git -C "$head" worktree add --quiet --detach "$work/base" "$revision"
for scenario in $scenarios; do
	[ -f "$head/$scenario" ] || fail "$scenario is not a file of this checkout"
	mkdir -p "$(dirname "$work/base/$scenario")"
	cp "$head/$scenario" "$work/base/$scenario"
done

# run_tree FOLDER NAME: prepares a tree and runs the scenarios in it, in its own shell.
run_tree() {
	echo "::group::$2: $(git -C "$1" log -1 --format='%h %s')"
	# The scenarios and flags are lists of words.
	# shellcheck disable=SC2086
	(cd "$1" && bash -euo pipefail -c "${GATE_PREPARE:-:}" &&
		$cwnd run $scenarios ${GATE_FLAGS:-} --repeat "$seeds" --out "$out/$2") ||
		fail "the $2 tree could not be run"
	echo "::endgroup::"
}
run_tree "$work/base" base
run_tree "$head" candidate

thresholds=()
if [ -n "${GATE_THRESHOLDS:-}" ]; then
	thresholds=(--thresholds "$head/$GATE_THRESHOLDS")
fi
status=0
# shellcheck disable=SC2086
(cd "$head" && $cwnd gate "$out/base" "$out/candidate" "${thresholds[@]}" \
	--json --junit "$out/gate.xml" --markdown "$out/gate.md" >"$out/gate.json") || status=$?
if [ -f "$out/gate.md" ]; then
	tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}" <"$out/gate.md"
fi
exit "$status"
