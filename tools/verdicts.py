"""Writes the numbers that prose repeats from papers/*/verdicts.md: `make docs`.

A page has a number between `<!-- PAPER: WHAT -->` and `<!-- end -->`. WHAT is

- a count, `numbers`, `agree`, `differ`, `explained`, `unexplained`, `claims`, `hold` or `fail`: of the paper,
  or of the items whose names begin with the words behind it: `agree fig10 table4`
- the count of a reading: `reading exact agree`, or `if read so` in place of `agree`
- a measured value: `ours Table 3: throughput | Scalable | buffer 5000`
- the first number that was measured of the claim that begins so: `measured Sequential flows: up to 40`
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "docs" / "papers.md", *sorted(ROOT.glob("papers/*/README.md"))]

_BLOCK = re.compile(r"(<!-- ([a-z0-9-]+): ([^<>]*?) -->).*?(<!-- end -->)")
_COUNTS = ("numbers", "agree", "differ", "explained")
_CLAIMS = ("claims", "hold", "fail")


class Verdicts(NamedTuple):
    """A verdicts.md, cut into cells."""

    #: Counts of the whole paper.
    whole: dict[str, int]
    #: Counts of each item that has numbers.
    items: dict[str, dict[str, int]]
    #: The last six cells of each reading: numbers, agree, if read so; claims, hold, if read so.
    readings: dict[str, list[int]]
    #: The measured text of each claim, by its sentence.
    claims: dict[str, str]
    #: Tables of numbers by their headings: rows by name, cells by column.
    tables: dict[str, dict[str, dict[str, str]]]


def main() -> None:
    for page in PAGES:
        page.write_text(written(page.read_text()))


def written(text: str) -> str:
    """The text with its numbers made anew."""
    return _BLOCK.sub(lambda found: f"{found[1]}{value(found[2], found[3])}{found[4]}", text)


def value(paper: str, what: str) -> str:
    verdicts = read(paper)
    word, _, rest = what.partition(" ")
    if word == "reading":
        name, _, column = rest.partition(" ")
        return str(verdicts.readings[name][("numbers", "agree", "if read so").index(column)])
    if word == "ours":
        table, row, column = (part.strip() for part in rest.split("|"))
        return verdicts.tables[table][row][column].partition(" / ")[2].split()[0]
    if word == "measured":
        (measured,) = (shown for claim, shown in verdicts.claims.items() if claim.startswith(rest))
        return measured.split()[0]
    if word == "unexplained":
        return str(_count(verdicts, "differ", rest.split()) - _count(verdicts, "explained", rest.split()))
    return str(_count(verdicts, word, rest.split()))


def _count(verdicts: Verdicts, word: str, items: list[str]) -> int:
    if not items:
        return verdicts.whole[word]
    for part in items:
        if not any(name.startswith(part) for name in verdicts.items):
            raise KeyError(part)
    return sum(
        counts[word]
        for name, counts in verdicts.items.items()
        if any(name.startswith(part) for part in items)
    )


def read(paper: str) -> Verdicts:
    text = (ROOT / "papers" / paper / "verdicts.md").read_text()
    counts = [int(one) for one in re.findall(r"\d+", text.split("\n")[2])]
    whole = dict(zip((*_COUNTS, *_CLAIMS), counts, strict=True))
    items: dict[str, dict[str, int]] = {}
    readings: dict[str, list[int]] = {}
    claims: dict[str, str] = {}
    tables: dict[str, dict[str, dict[str, str]]] = {}
    heading, columns = "", []
    for line in text.split("\n"):
        if line.startswith("## "):
            heading = line[3:]
        if not line.startswith("| ") or line.startswith("|---"):
            columns = [] if not line.startswith("|") else columns
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not columns:
            columns = cells
        elif heading == "":
            items[cells[0]] = dict(zip(_COUNTS, map(int, cells[2:]), strict=True))
        elif heading == "Other readings":
            readings[cells[0]] = [int(cell) for cell in cells[2:]]
        elif heading == "Claims":
            claims[cells[1]] = cells[3]
        else:
            tables.setdefault(heading, {})[cells[0]] = dict(zip(columns[1:], cells[1:], strict=True))
    return Verdicts(whole, items, readings, claims, tables)


if __name__ == "__main__":
    main()
