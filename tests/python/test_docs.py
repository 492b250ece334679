"""The pages that are made from the headers."""

from __future__ import annotations

import runpy
from pathlib import Path

import cwnd

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"


def test_the_pages_of_the_algorithms_are_up_to_date() -> None:
    made = runpy.run_path(str(PAGES / "generate.py"))["pages"]()
    assert set(made) == {path.name for path in PAGES.glob("*.md")}
    stale = [name for name, text in made.items() if (PAGES / name).read_text() != text]
    assert not stale, "stale: run 'make docs'"


def test_every_algorithm_has_a_page_with_its_equations_and_parameters() -> None:
    for algorithm in cwnd.algorithms():
        page = (PAGES / f"{algorithm['name']}.md").read_text()
        assert page.startswith(f"# {algorithm['title']}\n")
        assert all(f"| `{param['name']}` |" in page for param in algorithm["params"])
        assert page.count("```") % 2 == 0 and page.count("```") >= 2
