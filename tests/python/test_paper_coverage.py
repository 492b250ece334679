"""papers/coverage.md: every item of the documents has a place that exists, or a sentence why not."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

import pytest

import cwnd
from cwnd._reproduce import paper as paper_reader

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "papers"
PAGE = (PAPERS / "coverage.md").read_text(encoding="utf-8")

load = cache(paper_reader.load)


def rows() -> list[tuple[str, str, str, str]]:
    """Paper, item, places and note of each row of the page."""
    found = []
    paper = ""
    for line in PAGE.splitlines():
        if head := re.match(r"\[([a-z-]+)\]\(", line):
            paper = head[1]
        elif line.startswith("| ") and not line.startswith("| |"):
            item, _, place, note = (cell.strip() for cell in line[1:-1].split("|"))
            found.append((paper, item, place, note))
    return found


def named(text: str) -> list[tuple[str, str]]:
    """Kinds and names in backticks, such as `item fig7`."""
    return [(kind, name) for kind, name in re.findall(r"`([a-z]+) ([^`]+)`", text)]


def test_the_page_has_every_item_of_the_documents_once_and_in_order() -> None:
    with (PAPERS / "items.csv").open(encoding="utf-8", newline="") as file:
        items = [(row["paper"], row["item"]) for row in csv.DictReader(file)]
    assert [(paper, item) for paper, item, _, _ in rows()] == items
    assert len(set(items)) == len(items)


def test_every_paper_has_items() -> None:
    assert {paper for paper, *_ in rows()} == {path.parent.name for path in PAPERS.glob("*/paper.toml")}


@pytest.mark.parametrize(("paper", "item", "place", "note"), rows())
def test_an_item_has_a_place_or_a_sentence_why_not(paper: str, item: str, place: str, note: str) -> None:
    assert place or note.endswith("."), item


@pytest.mark.parametrize(("paper", "item", "place", "note"), [row for row in rows() if named(row[2])])
def test_the_names_of_a_place_exist(paper: str, item: str, place: str, note: str) -> None:
    found = load(paper)
    there = {
        "item": set(found.items),
        "trace": set(found.traces),
        "figure": set(found.figures),
        "reading": set(found.readings),
        "claim": {claim.name for claim in found.claims},
    }
    assert [name for kind, name in named(place) if name not in there[kind]] == []


def test_the_links_of_the_page_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE)
    assert len(links) > 50
    assert [link for link in links if not (PAPERS / link).resolve().is_file()] == []


def test_every_item_and_trace_of_a_paper_is_on_the_page() -> None:
    """An item that only a claim needs is behind the row of that claim."""
    shown = {(paper, kind, name) for paper, _, place, _ in rows() for kind, name in named(place)}
    for path in PAPERS.glob("*/paper.toml"):
        paper = load(path.parent.name)
        published = {item.name for item in paper.items.values() if item.published}
        missing = [name for name in published if (paper.name, "item", name) not in shown]
        numbered = [name for name in paper.traces if re.match(r"fig\d", name)]
        missing += [name for name in numbered if (paper.name, "trace", name) not in shown]
        assert missing == [], paper.name


def test_every_algorithm_of_the_tables_of_algorithms_is_one_here() -> None:
    """Table I of Elastic-TCP, of which Table 1 of the comparison is a part."""
    names = (
        *("newreno", "highspeed", "scalable", "fast", "htcp", "hybla", "bic", "africa", "newvegas"),
        *("adaptive-reno", "compound", "illinois", "fusion", "yeah", "cubic", "agile-sd", "bbr"),
    )
    assert len(names) == 17
    there = {algorithm["name"] for algorithm in cwnd.algorithms()}
    # NewReno is Reno with the recovery that the stack has.
    assert set(names) - {"newreno"} <= there and "reno" in there
