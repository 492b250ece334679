"""Tries the algorithms of Linux and of QUIC stacks, and writes the tables of docs/conformance.md.

    python tools/stack_conformance.py           needs the kernel of guests and the QUIC worlds; an hour
    python tools/stack_conformance.py quinn     the stacks named alone, as a table on standard output

Verdicts are kept in target/conformance, so that it goes on where it stopped.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cwnd
from cwnd._conform.subjects import LINUX, OF_STACKS
from cwnd._conform.verdicts import DEVIATES, WARN, Conformance, Tried
from cwnd._expect.judge import FAIL, PASS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"
KEPT = ROOT / "target" / "conformance"
END = "<!-- end -->\n"
SEEN = (PASS, FAIL, WARN, DEVIATES)
#: The kernel's own algorithms that are tried.
OF_LINUX = ("reno", "cubic", "dctcp", "bbr")
#: Tables by the marker before them, and the algorithm and the world of each of their columns.
TABLES = {
    "LINUX": [(name, LINUX) for name in OF_LINUX],
    "STACKS": [(name, name.partition(":")[0]) for name in OF_STACKS],
}


def try_all(columns: list[tuple[str, str]]) -> list[Conformance]:
    """The verdicts on each algorithm that cases are about."""
    return [cwnd.conform(name, world=world, out=KEPT) for name, world in columns]


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
    if sys.argv[1:]:
        asked = [column for columns in TABLES.values() for column in columns if column[1] in sys.argv[1:]]
        print(table(try_all(asked)), end="")
        return
    text = PAGE.read_text(encoding="utf-8")
    for marker, columns in TABLES.items():
        before, begin, rest = text.partition(f"<!-- {marker} -->\n")
        text = before + begin + "\n" + table(try_all(columns)) + "\n" + END + rest.partition(END)[2]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
