"""`cwnd.prove`: what the hooks of a header can never do."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.text import aligned
from cwnd._prove.build import Built, build, registered
from cwnd._prove.decide import PROPERTIES, PROVED, REFUTED, UNDECIDED, Cell, Hooks
from cwnd._prove.elf import Object, read_object
from cwnd._prove.layout import HOOKS
from cwnd._prove.linear import load_z3
from cwnd._prove.memory import UntranslatableError
from cwnd._prove.model import differences, model

_EVENTS_MAX = 10_000_000
_CHECK_SEED = 1


class Proof(NamedTuple):
    """The verdicts on one algorithm, and the comparison of the translation with the native hooks."""

    name: str
    cells: list[Cell]
    compared: dict[str, int]
    differing: list[str]

    @property
    def ok(self) -> bool:
        """There is no counterexample, and no difference from the native hooks."""
        return not self.differing and all(cell.verdict != REFUTED for cell in self.cells)

    def count(self, verdict: str) -> int:
        return sum(cell.verdict == verdict for cell in self.cells)

    def to_json(self) -> str:
        """One JSON object; equal for equal headers, but for the seconds."""
        return json.dumps(
            {
                "name": self.name,
                "cells": [cell._asdict() for cell in self.cells],
                "compared": self.compared,
                "differing": self.differing,
            },
            indent=1,
        )

    def __str__(self) -> str:
        hooks = list(dict.fromkeys(cell.hook for cell in self.cells))
        names = [name for name in PROPERTIES if any(cell.property == name for cell in self.cells)]
        rows = [["hook", *names]]
        for hook in hooks:
            verdicts = {cell.property: cell.verdict for cell in self.cells if cell.hook == hook}
            rows.append([hook, *(verdicts.get(name, "-") for name in names)])
        lines = aligned(rows)
        for cell in self.cells:
            if cell.verdict != PROVED:
                lines.append(f"{cell.hook}, {cell.property}: {cell.verdict}: {cell.reason}")
                for event in cell.before:
                    lines.append("  " + " ".join(f"{key}={value}" for key, value in event.items()))
                if cell.event:
                    lines.append("  " + " ".join(f"{key}={value}" for key, value in cell.event.items()))
        lines += [f"translation differs from the native hook: {line}" for line in self.differing]
        seconds = sum(cell.seconds for cell in self.cells)
        lines.append(
            f"{self.name}: {self.count(PROVED)} proved, {self.count(REFUTED)} refuted, "
            f"{self.count(UNDECIDED)} undecided in {seconds:.1f} s; "
            f"{sum(self.compared.values())} events as the native hooks"
        )
        return "\n".join(lines)


def prove(
    algorithm: str | os.PathLike[str],
    *,
    properties: list[str] | None = None,
    events: int = 2000,
    out: str | os.PathLike[str] | None = None,
) -> Proof:
    """Decides the properties for every hook of a header, on the bytecode that a kernel loads.

    `algorithm` is a name of `algorithms()` or a header `FILE.h`. Parameters have their defaults. `events`
    random events check the translation of each hook beside the native one. `out`: a folder for `NAME.json`.

    Raises:
        Error: bad input; the solver or a compiler is missing; the compiler refuses the header.
    """
    asked = os.fspath(algorithm)
    wanted = list(PROPERTIES) if not properties else list(properties)
    for name in wanted:
        if name not in PROPERTIES:
            raise error("property", f"{one_line(name)} is not one of {', '.join(PROPERTIES)}")
    if not 0 <= events <= _EVENTS_MAX:
        raise error("events", f"{events} is not between 0 and {_EVENTS_MAX}")
    load_z3()
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        built = build(asked, Path(folder))
        code = read_object(built.object)
        cells = Hooks(code, read_object(built.ops), built).cells(wanted)
        compared, differing = _compare(code, built, events)
    proof = Proof(built.name.replace("_", "-"), cells, compared, differing)
    if out is not None:
        _write(Path(out), proof)
    return proof


def _compare(code: Object, built: Built, events: int) -> tuple[dict[str, int], list[str]]:
    compared: dict[str, int] = {}
    differing: list[str] = []
    for hook in HOOKS:
        if hook in code.hooks and events:
            try:
                compared[hook], found = differences(model(code, hook), built, events, _CHECK_SEED)
            except UntranslatableError:
                continue
            differing += [f"{hook}: {line}" for line in found]
    return compared, differing


def _write(out: Path, proof: Proof) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_file(out / f"{proof.name}.json", (proof.to_json() + "\n").encode())
    except OSError as failed:
        raise os_error(one_line(out), failed) from None


__all__ = ["Proof", "prove", "registered"]
