"""Attacks every algorithm of the registry, and writes docs/worst-cases.md.

Repeat the command to continue. BUDGET is the number of paths for each algorithm, PACKETS how many a path
carries at most, the directory OUT keeps the searches. With NAMES those alone are searched; the page has all
that are done.
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
TOLD = Path(__file__).parent / "worst_cases.md"
OUT = Path(os.environ.get("OUT", "target/worst-cases"))
BUDGET = int(os.environ.get("BUDGET", "1200"))
PACKETS = int(os.environ.get("PACKETS", "20000"))


def bounds() -> Path:
    """The bounds `reasonable` with shorter runs."""
    text = (resources.files("cwnd._attack") / "bounds" / "reasonable.toml").read_text("utf-8")
    file = OUT / "reasonable.toml"
    OUT.mkdir(parents=True, exist_ok=True)
    file.write_text(re.sub(r"(?m)^packets = \d+", f"packets = {PACKETS}", text))
    return file


def readings() -> dict[str, str]:
    """Our reading of each algorithm's worst case: the text of the algorithm, or of the header."""
    lines = TOLD.read_text().splitlines() if TOLD.exists() else []
    rows = [line.split(": ", 1) for line in lines if line.startswith("- ")]
    return {name.removeprefix("- "): told for name, told in rows}


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
    told = readings()
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
        "| algorithm | what happens | within the bounds | reading |",
        "|---|---|---|---|",
    ]
    for name, findings in done.items():
        worst = worst_of(findings)
        if worst is None:
            lines.append(f"| {name} | nothing found | - | {told.get(name, '')} |")
        else:
            within = ", ".join(worst.within) or "none"
            lines.append(f"| {name} | {worst.sentence} | {within} | {told.get(name, '')} |")
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
    text = PAGE.read_text()
    begin, end = "<!-- worst cases -->\n", "<!-- end -->\n"
    head, rest = text.split(begin)
    PAGE.write_text(head + begin + "\n" + page(done) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main(sys.argv[1:])
