"""Tries the algorithms of QUIC stacks, and writes the table of docs/conformance.md.

    python tools/stack_conformance.py           needs the QUIC worlds; some minutes
    python tools/stack_conformance.py quinn     the stacks named alone, as a table on standard output

Verdicts are kept in target/conformance, so that it goes on where it stopped.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cwnd
from cwnd._conform.subjects import OF_STACKS
from cwnd._conform.verdicts import DEVIATES, WARN, Conformance, Tried
from cwnd._expect.judge import FAIL, PASS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"
KEPT = ROOT / "target" / "conformance"
BEGIN, END = "<!-- STACKS -->\n", "<!-- end -->\n"
SEEN = (PASS, FAIL, WARN, DEVIATES)


def try_stacks(stacks: list[str]) -> list[Conformance]:
    """The verdicts on each algorithm that cases are about."""
    made = []
    for name in OF_STACKS:
        stack = name.partition(":")[0]
        if not stacks or stack in stacks:
            made.append(cwnd.conform(name, world=stack, out=KEPT))
    return made


def table(made: list[Conformance]) -> str:
    """A row for each case that some stack shows, a column for each algorithm; counts below."""
    verdicts = [{f"{one.case.suite}/{one.case.name}": one for one in every.tried} for every in made]
    shown = sorted({name for column in verdicts for name, one in column.items() if one.verdict in SEEN})
    lines = [
        "| case | " + " | ".join(every.algorithm for every in made) + " |",
        "|---" * (len(made) + 1) + "|",
    ]
    for name in shown:
        lines.append(f"| `{name}` | " + " | ".join(_cell(column.get(name)) for column in verdicts) + " |")
    unseen = [len(every.tried) - sum(map(every.count, SEEN)) for every in made]
    lines.append("| cannot be seen | " + " | ".join(map(str, unseen)) + " |")
    return "\n".join(lines) + "\n"


def _cell(one: Tried | None) -> str:
    if one is None or one.verdict not in SEEN:
        return "-"
    value = one.found.rpartition(": ")[2] if one.verdict != PASS else one.found
    return f"{one.verdict}: {value}"


def main() -> None:
    made = try_stacks(sys.argv[1:])
    if sys.argv[1:]:
        print(table(made), end="")
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + "\n" + table(made) + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
