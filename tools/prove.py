"""Runs `cwnd prove` on every algorithm of the registry, and writes the table of docs/proofs.md."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cwnd
from cwnd._prove.decide import PROPERTIES, PROVED, REFUTED, UNDECIDED, Cell
from cwnd._prove.prove import Proof, registered

PAGE = Path(__file__).parent.parent / "docs" / "proofs.md"
BEGIN, END = "<!-- table: make prove -->\n", "<!-- end of the table -->\n"
MARKS = {PROVED: "proved", REFUTED: "**refuted**", UNDECIDED: "open"}


def prove_one(name: str) -> Proof:
    return cwnd.prove(name, events=int(os.environ.get("EVENTS", "2000")))


def shown(cell: Cell | None) -> str:
    """A verdict; `events` is proved, but not on the object that is loaded."""
    if cell is None:
        return "-"
    if cell.verdict == PROVED and cell.loaded == UNDECIDED:
        return "events"
    return MARKS[cell.verdict]


def rows(proof: Proof) -> list[str]:
    """A row for each hook: the verdict on each property, and the seconds that these took."""
    lines = []
    for hook in dict.fromkeys(cell.hook for cell in proof.cells):
        cells = {cell.property: cell for cell in proof.cells if cell.hook == hook}
        seconds = sum(cell.seconds for cell in cells.values())
        verdicts = " | ".join(shown(cells.get(name)) for name in PROPERTIES)
        lines.append(f"| {proof.name} | {hook} | {verdicts} | {seconds:.1f} |")
    return lines


def page(proofs: list[Proof]) -> str:
    cells = [cell for proof in proofs for cell in proof.cells]
    counts = {verdict: sum(cell.verdict == verdict for cell in cells) for verdict in MARKS}
    loaded = sum(cell.loaded == PROVED for cell in cells)
    asked = sum(bool(cell.loaded) for cell in cells)
    lines = [
        f"{len(cells)} cells of {len(proofs)} headers (a property of a hook): "
        f"{counts[PROVED]} proved, {counts[REFUTED]} refuted, {counts[UNDECIDED]} open. "
        f"On the objects that `cwnd kernel load` loads: {loaded} of {asked} proved.",
        "",
        "| header | hook | " + " | ".join(PROPERTIES) + " | s |",
        "|---|---|" + "---|" * (len(PROPERTIES) + 1),
        *(line for proof in proofs for line in rows(proof)),
        "",
        "Open and refuted, with the first reason:",
        "",
        *(
            f"- {proof.name}, {cell.hook}, {cell.property}: {MARKS[cell.verdict]}; `{cell.reason[:200]}`"
            for proof in proofs
            for cell in proof.cells
            if cell.verdict != PROVED
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    began = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        proofs = []
        for proof in pool.map(prove_one, registered()):
            print(str(proof).splitlines()[-1], flush=True)
            proofs.append(proof)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + page(proofs) + END + after, encoding="utf-8")
    print(f"{time.perf_counter() - began:.0f} s")
    return 1 if any(proof.differing for proof in proofs) else 0


if __name__ == "__main__":
    sys.exit(main())
