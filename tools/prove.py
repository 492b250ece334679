"""Runs `cwnd prove` on every algorithm of the registry, and writes the table of docs/proofs.md."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cwnd
from cwnd._prove.decide import PROPERTIES, PROVED, REFUTED, UNDECIDED
from cwnd._prove.prove import Proof, registered

PAGE = Path(__file__).parent.parent / "docs" / "proofs.md"
BEGIN, END = "<!-- table: make prove -->\n", "<!-- end of the table -->\n"
MARKS = {PROVED: "proved", REFUTED: "**refuted**", UNDECIDED: "open"}


def prove_one(name: str) -> Proof:
    return cwnd.prove(name, events=int(os.environ.get("EVENTS", "2000")))


def row(proof: Proof) -> str:
    """The verdict on each property: the hooks that are not proved, or `proved`."""
    columns = []
    for name in PROPERTIES:
        cells = [cell for cell in proof.cells if cell.property == name]
        other = [f"{MARKS[cell.verdict]}: {cell.hook}" for cell in cells if cell.verdict != PROVED]
        columns.append(", ".join(other) or ("proved" if cells else "-"))
    return f"| {proof.name} | " + " | ".join(columns) + " |"


def page(proofs: list[Proof]) -> str:
    cells = [cell for proof in proofs for cell in proof.cells]
    counts = {verdict: sum(cell.verdict == verdict for cell in cells) for verdict in MARKS}
    lines = [
        f"{len(cells)} cells of {len(proofs)} headers (a property of a hook): "
        f"{counts[PROVED]} proved, {counts[REFUTED]} refuted, {counts[UNDECIDED]} open.",
        "",
        "| header | " + " | ".join(PROPERTIES) + " |",
        "|---|" + "---|" * len(PROPERTIES),
        *map(row, proofs),
        "",
        "Open and refuted, with the first reason:",
        "",
        *(
            f"- {proof.name}, {cell.hook}, {cell.property}: {MARKS[cell.verdict]}; `{cell.reason}`"
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
