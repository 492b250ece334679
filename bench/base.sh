#!/usr/bin/env bash
# Builds the benchmarks of this tree with the engine of another revision: base.sh REVISION FOLDER makes FOLDER-program.
set -euo pipefail
revision=$1 folder=$(realpath -m "$2")
rm -rf "$folder"
mkdir -p "$folder"
git archive --output "$folder.tar" "$revision"
tar -xmf "$folder.tar" -C "$folder"
rm -rf "$folder/bench" "$folder/crates/heap"
cp -r bench Cargo.lock "$folder"
cp -r crates/heap "$folder/crates"
(cd "$folder" && cargo build --quiet --release -p cwnd-bench --features huge-pages --target-dir "$folder-target")
cp "$folder-target/release/cwnd-bench" "$folder-program"
