"""Numbers that pages repeat from the verdicts on papers."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "verdicts.py"))


@pytest.mark.parametrize("page", TOOL["PAGES"], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_numbers_of_a_page_are_those_of_the_verdicts(page: Path) -> None:
    text = page.read_text()
    assert TOOL["written"](text) == text, "stale: run 'make docs'"


def test_the_page_of_the_live_testbed_is_that_of_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    tool = runpy.run_path(str(ROOT / "tools" / "live_cells.py"))
    assert tool["page"]() == tool["PAGE"].read_text(), "stale: run 'make docs'"


def test_every_count_of_the_table_of_papers_is_written_by_the_command() -> None:
    rows = re.findall(r"^\| (?:\[|&nbsp;).*$", (ROOT / "docs" / "papers.md").read_text(), re.MULTILINE)
    assert len(rows) == 6
    for row in rows:
        by_hand = re.sub(r"<!-- .*? -->\d+<!-- end -->", "", row)
        assert not re.search(r"\d", by_hand), row


@pytest.mark.parametrize(
    ("paper", "what", "number"),
    [
        # Counted by hand in the files.
        ("discrete-tcp", "numbers", "63"),
        ("discrete-tcp", "unexplained", "3"),
        ("discrete-tcp", "agree table2 table4", "39"),
        ("discrete-tcp", "reading shifted if read so", "19"),
        ("discrete-tcp", "ours Table 2: One flow, errors only | Vegas | PER 0.01", "8851"),
        ("discrete-tcp", "measured Without errors Linux TCP delivers almost", "5.908"),
    ],
)
def test_a_number_is_the_one_of_the_verdicts(paper: str, what: str, number: str) -> None:
    assert TOOL["value"](paper, what) == number


@pytest.mark.parametrize("what", ["agrees", "agree fig99", "reading nobody agree", "ours Table 9 | a | b"])
def test_a_name_that_no_verdict_has_is_an_error(what: str) -> None:
    with pytest.raises(KeyError):
        TOOL["value"]("discrete-tcp", what)
