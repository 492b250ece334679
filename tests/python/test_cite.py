"""BibTeX: every algorithm has an entry that agrees with the registry."""

from __future__ import annotations

import re

import pytest

import cwnd
from cwnd._scenario.cite import references


def test_every_algorithm_has_an_entry_with_the_authors_and_the_year_of_the_registry() -> None:
    listed = cwnd.algorithms()
    assert set(references()) == {one["name"] for one in listed}
    for one in listed:
        entry, paper = references()[one["name"]], one["paper"]
        assert entry.count("{") == entry.count("}") and "  title = {" in entry
        plain = entry.replace(r"{\c{s}}", "s")
        if number := re.fullmatch(r"RFC (\d+)", paper):
            assert f"  number = {{{number[1]}}}" in entry and "type = {RFC}" in entry
            continue
        for family in re.findall(
            r"\b[A-Z][a-z]+\b", paper.partition(" 1")[0].partition(" 2")[0].split(", PhD")[0]
        ):
            if f"{family}," in f"{paper}," and family not in ("Queue", "Journal", "Evaluation", "Systems"):
                assert family in plain, f"{one['name']}: {family}"
        if "draft-" in paper:
            assert re.search(r"draft-[\w-]+", paper)[0] in entry  # type: ignore[index]
        else:
            assert f"  year = {{{re.findall(r'(?:19|20)[0-9]{2}', paper)[-1]}}}" in entry


def test_a_preset_cites_its_algorithm_and_each_is_cited_once() -> None:
    text = cwnd.cite(["tahoe", "reno", "cubic"])
    assert re.findall(r"@\w+\{([\w-]+),", text) == ["cwnd", "cwnd-reno", "cwnd-cubic"]
    assert f"note = {{Version {cwnd.__version__}}}" in text


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(cwnd.Error, match="cubic"):
        cwnd.cite(["qubic"])
