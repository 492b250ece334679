"""Attacks every algorithm of the registry, and writes docs/worst-cases.md.

Repeat the command to continue. BUDGET is the number of paths for each algorithm, PACKETS how many a path
carries at most, JOBS the number of threads; the directory OUT keeps the searches. With NAMES those alone are
searched; the page has all that are done.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from importlib import resources
from pathlib import Path

import cwnd
from cwnd._attack.finding import Finding, from_dict
from cwnd._attack.judge import FIXED_WINDOW, GOALS

PAGE = Path(__file__).parent.parent / "docs" / "worst-cases.md"
OUT = Path(os.environ.get("OUT", "target/worst-cases"))
BUDGET = int(os.environ.get("BUDGET", "1200"))
PACKETS = int(os.environ.get("PACKETS", "20000"))

INTRO = """# Worst cases of every algorithm

Each algorithm was attacked with the same budget ([attack.md](attack.md)).
A cell has what a path needs for a failure of the column's kind, beside what a plain path has.
A star: the reference is a window fixed at the BDP, which knows its path as no algorithm does.
Such a finding is weak.
A dash: this budget found none, which proves nothing.
`make worst-cases` makes the page anew.
"""


def bounds() -> Path:
    """The bounds `reasonable` with shorter runs."""
    text = (resources.files("cwnd._attack") / "bounds" / "reasonable.toml").read_text("utf-8")
    file = OUT / "reasonable.toml"
    OUT.mkdir(parents=True, exist_ok=True)
    file.write_text(re.sub(r"(?m)^packets = \d+", f"packets = {PACKETS}", text))
    return file


def kinds(findings: list[Finding], goal: str) -> str:
    """The kinds of a goal, last those whose only reference is the window that knows its path."""
    of_goal = sorted(
        (one for one in findings if one.goal == goal), key=lambda one: one.reference == FIXED_WINDOW
    )
    shown = [
        (", ".join(one.ingredients) or "a plain path") + "*" * (one.reference == FIXED_WINDOW)
        for one in of_goal[:2]
    ]
    more = f" (+{len(of_goal) - 2})" if len(of_goal) > 2 else ""
    return ("; ".join(shown) + more) or "-"


def worst_of(findings: list[Finding]) -> Finding | None:
    return max(
        findings,
        key=lambda one: (one.reference != FIXED_WINDOW, len(one.within), one.score, one.name),
        default=None,
    )


def page(done: dict[str, list[Finding]]) -> str:
    count = sum(len(findings) for findings in done.values())
    lines = [
        f"{count} kinds of failure of {len(done)} algorithms.",
        f"Budget: {BUDGET:,} paths for each within `reasonable`, of at most {PACKETS:,} packets a run.",
        "",
        "| algorithm | kinds | " + " | ".join(GOALS) + " |",
        "|---|---|" + "---|" * len(GOALS),
    ]
    for name, findings in done.items():
        cells = " | ".join(kinds(findings, goal) for goal in GOALS)
        lines.append(f"| {name} | {len(findings)} | {cells} |")
    lines += [
        "",
        "## The worst of each",
        "",
        "| algorithm | what happens | within the bounds |",
        "|---|---|---|",
    ]
    for name, findings in done.items():
        worst = worst_of(findings)
        if worst is None:
            lines.append(f"| {name} | nothing found | - |")
        else:
            within = ", ".join(worst.within) or "none"
            lines.append(f"| {name} | {worst.sentence} | {within} |")
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    file = bounds()
    known = [str(algorithm["name"]) for algorithm in cwnd.algorithms()]
    for name in names or known:
        begin = time.monotonic()
        found = cwnd.attack(
            name, budget=BUDGET, bounds=file, out=OUT / name, jobs=int(os.environ.get("JOBS", "0"))
        )
        print(f"{name}: {len(found.findings)} kinds, {time.monotonic() - begin:.0f} s", flush=True)
    done = {}
    for name in known:
        kept = OUT / name / "attack.json"
        if kept.exists():
            done[name] = [from_dict(one) for one in json.loads(kept.read_text())["findings"]]
    PAGE.write_text(f"{INTRO}\n{page(done)}")


if __name__ == "__main__":
    main(sys.argv[1:])
