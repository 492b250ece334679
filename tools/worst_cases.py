"""Attacks every algorithm of the registry, and writes docs/worst-cases.md.

Repeat the command to continue.
BUDGET is the number of paths for each algorithm; the directory OUT keeps the searches.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import cwnd
from cwnd._attack.attack import Attack

PAGE = Path(__file__).parent.parent / "docs" / "worst-cases.md"
OUT = Path(os.environ.get("OUT", "target/worst-cases"))
BUDGET = int(os.environ.get("BUDGET", "2400"))
INTRO = """# Worst cases of every algorithm

Each algorithm was attacked with the same budget ([attack.md](attack.md)).
A cell has what a path needs for a failure of the column's kind, beside what a plain path has.
A dash: this budget found none, which proves nothing.
`make worst-cases` makes the page anew.
"""
GOALS = ("stall", "pinned", "underuse", "bloat", "loss", "oscillate", "starve", "harm")


def row(found: Attack) -> str:
    """The kinds of each goal: how many, and what the first of them takes."""
    cells = []
    for goal in GOALS:
        of_goal = [one for one in found.findings if one.goal == goal]
        shown = "; ".join(", ".join(one.ingredients) or "a plain path" for one in of_goal[:2])
        more = f" (+{len(of_goal) - 2})" if len(of_goal) > 2 else ""
        cells.append(shown + more or "-")
    return f"| {found.subject} | {len(found.findings)} | " + " | ".join(cells) + " |"


def page(attacks: list[Attack]) -> str:
    kinds = sum(len(found.findings) for found in attacks)
    lines = [
        f"{kinds} kinds of failure of {len(attacks)} algorithms, in {BUDGET} paths each within `reasonable`.",
        "",
        "| algorithm | kinds | " + " | ".join(GOALS) + " |",
        "|---|---|" + "---|" * len(GOALS),
        *map(row, attacks),
        "",
        "The worst case of each algorithm, by the margin of its failure:",
        "",
    ]
    for found in attacks:
        worst = max(found.findings, key=lambda one: (one.score, one.name), default=None)
        lines.append(f"- **{found.subject}**: {'nothing found.' if worst is None else worst.sentence}")
    return "\n".join(lines) + "\n"


def main() -> None:
    attacks = []
    for algorithm in cwnd.algorithms():
        begin = time.monotonic()
        name = algorithm["name"]
        found = cwnd.attack(name, budget=BUDGET, out=OUT / name)
        print(f"{name}: {len(found.findings)} kinds, {time.monotonic() - begin:.0f} s", flush=True)
        attacks.append(found)
    PAGE.write_text(f"{INTRO}\n{page(attacks)}")


if __name__ == "__main__":
    main()
