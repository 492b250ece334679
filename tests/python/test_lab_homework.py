"""Homework in the lab: the scenarios, the file and the numbers are those of the command."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
import urllib.parse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import Command
from cwnd import Error
from cwnd._homework.assignment import assignments, file_stem, find, normalise
from cwnd._homework.handout import homework_files
from lab_page import Lab
from test_lab_lessons import saved, scenario

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

NAMES = [
    "Ada Lovelace",
    " zoë\u00a0ØST ",
    "İstanbul ΟΔΟΣ",
    "美玲 王",
    "Ǆura O'Brien-Straße",
    "नेहा",
    "ＡＢＣ ﬁ",
]


def begin(page: Page, assignment: str, name: str) -> None:
    page.fill("#student", name)
    page.select_option("#assignment", assignment)
    page.get_by_role("button", name="Show my homework").click()


def address(assignment: str, name: str) -> str:
    return f"homework/{assignment}/{urllib.parse.quote(name, safe='')}"


def test_page_and_command_draw_the_same_scenarios_and_give_the_same_file(lab: Lab) -> None:
    page = lab.open()
    page.click("#homework-button")
    for assignment, name in [("random-loss", name) for name in NAMES] + [
        (each, NAMES[0]) for each in assignments()
    ]:
        lab.status_after(partial(begin, page, assignment, name))
        expected = homework_files(find(assignment), name)
        given = saved(page, "Download the file to hand in")
        assert [given.suggested_filename, Path(given.path()).read_text(encoding="utf-8")] == list(
            next(iter(expected.items()))
        )
        scenarios = [text for file, text in expected.items() if file.endswith(".toml")]
        assert [scenario(lab, pane) for pane in "ab"[: len(scenarios)]] == scenarios


def test_the_rule_of_names_is_the_same_over_random_ones(lab: Lab) -> None:
    """Letters of all planes that Python knows; those that it does not know may be newer in the browser."""
    drawn = random.Random(46)
    known = [
        chr(code)
        for code in range(sys.maxunicode)
        if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
    ]
    names = ["".join(drawn.choices(known, k=drawn.randint(1, 30))) for _ in range(400)]
    names += ["", " ", "\u200b\t", "x" * 100, "x" * 101, "a\u0301" * 100, "\ufdfa" * 6]
    page = lab.open()
    found = page.evaluate("names => names.map(name => cwnd.homework('random-loss', name))", names)
    for name, ours in zip(names, found, strict=True):
        try:
            expected = [
                normalise(name),
                file_stem("random-loss", name),
                find("random-loss").panes(name)["b"]["seed"],
            ]
        except Error:
            expected = None
        assert ours == expected, ascii(name)


def test_a_student_answers_in_the_page_and_the_checker_finds_every_answer_right(
    lab: Lab, tmp_path: Path, cwnd_here: Command
) -> None:
    """Read off the page as a student reads it, three digits each."""
    page = lab.open(address("rtt-unfairness", "Ada Lovelace"))
    rows = [
        page.eval_on_selector_all(
            f".results:nth-child({pane}) tbody tr",
            "all => all.map(row => [...row.cells].map(cell => +cell.textContent))",
        )
        for pane in (1, 2)
    ]
    (near, far), (near_cubic, far_cubic) = rows
    given = [
        near[1],
        far[1],
        100 * far[1] / (near[1] + far[1]),
        100 * far_cubic[1] / (near_cubic[1] + far_cubic[1]),
        far[2] / near[2],
    ]
    for question, value in zip(find("rtt-unfairness").questions, given, strict=True):
        page.fill(f"#answer-{question.key}", f"{value:.4g}")
    download = saved(page, "Download the file to hand in")
    path = tmp_path / download.suggested_filename
    download.save_as(path)
    [one] = json.loads(cwnd_here("homework", "check", "--json", str(path)).stdout)["files"]
    assert one["points"] == one["of"] == 5, one


def test_an_answer_that_is_no_number_and_a_name_that_is_none_are_refused_in_the_page(lab: Lab) -> None:
    page = lab.open(address("sawtooth", "Ada Lovelace"))
    page.fill("#answer-goodput_mbps", "9,52")
    page.get_by_role("button", name="Download the file to hand in").click()
    assert page.evaluate("document.activeElement.id") == "answer-goodput_mbps"
    assert "with a point" in page.evaluate("document.activeElement.validationMessage")
    page.fill("#student", " \u200b")
    page.get_by_role("button", name="Show my homework").click()
    assert "1 to 100 characters" in page.evaluate("document.activeElement.validationMessage")


def test_reset_brings_the_students_scenario_back_and_a_zero_of_timeouts_is_shown(lab: Lab) -> None:
    page = lab.open(address("random-loss", "Ada Lovelace"))
    before = scenario(lab, "a")
    lab.status_after(lambda: page.get_by_label("Rate of the bottleneck").nth(1).fill("7"))
    assert scenario(lab, "a") != before
    lab.status_after(lambda: page.click("#reset"))
    assert scenario(lab, "a") == before
    assert page.get_by_role("columnheader", name="timeouts").count() == 2
