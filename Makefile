# The verbs of the project. Each sets up what it needs in .venv and target.

PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml Cargo.toml Cargo.lock \
	$(shell find algorithms crates -name '*.rs' -o -name '*.[ch]' -o -name Cargo.toml)

.PHONY: demo test lint bench docs format clean

# Re-runs the single-flow experiment of the Elastic-TCP paper; figures in demo/.
demo: .venv/package
	$(BIN)/python papers/elastic-tcp/single_flow.py --out demo

test: .venv/dev
	cargo test --workspace --exclude cwnd-python
	$(BIN)/python -m pytest

lint: .venv/dev
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests/python papers docs/algorithms/generate.py
	$(BIN)/ruff format --check python tests/python papers docs/algorithms/generate.py
	$(BIN)/mypy

# What a packet costs: packets/s, ns/packet, peak memory.
bench:
	cargo run --quiet --release -p cwnd-bench

# The pages of the algorithms, from their headers.
docs: .venv/package
	$(BIN)/python docs/algorithms/generate.py

format: .venv/dev
	cargo fmt
	$(BIN)/ruff check --fix python tests/python papers docs/algorithms/generate.py
	$(BIN)/ruff format python tests/python papers docs/algorithms/generate.py

clean:
	rm -rf target .venv demo

$(BIN)/maturin:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'

.venv/package: $(BIN)/maturin $(SOURCES)
	$(BIN)/maturin develop --quiet --release
	touch $@

.venv/dev: .venv/package
	$(BIN)/maturin develop --quiet --release --extras dev
	touch $@
