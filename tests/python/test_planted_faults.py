"""Faults that the tools plant in headers and in the fast engine to judge tests, proofs and attacks."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def planted() -> list[tuple[str, str, str]]:
    """The file, the text that a fault replaces, and the fault."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        names = ("mutants", "attack_mutants", "proof_faults", "engine_mutants")
        cases, attacks, proofs, engine = map(importlib.import_module, names)
    finally:
        sys.path.remove(str(ROOT / "tools"))
    faults = [*cases.MUTANTS, *(fault for fault, _ in proofs.HISTORY)]
    found = [(f"algorithms/{fault.file}", fault.before, fault.fault) for fault in faults]
    own = ((f"algorithms/{fault.algorithm.replace('-', '_')}.h", fault) for fault in attacks.MUTANTS)
    found += [(file, fault.before, fault.fault) for file, fault in own]
    return found + [(f"crates/engine/src/{fault.file}", fault.before, fault.fault) for fault in engine.FAULTS]


def test_every_planted_fault_has_its_place_once(planted: list[tuple[str, str, str]]) -> None:
    assert len(planted) > 140
    lost = [(file, fault) for file, before, fault in planted if (ROOT / file).read_text().count(before) != 1]
    assert lost == []
