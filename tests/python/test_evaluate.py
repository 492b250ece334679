"""Evaluations: criteria, rules, known verdicts, reports, and runs that go on where they stopped."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cwnd
from conftest import Command
from cwnd._analysis.harm import Estimate
from cwnd._cwnd import Ack, Window
from cwnd._evaluate import suite
from cwnd._evaluate.evidence import judge, verdict_of
from cwnd._evaluate.measure import algorithm_of
from cwnd._evaluate.scenarios import Measure, Rule
from sweeping import HASTY, count_shards, tables, until

if TYPE_CHECKING:
    from cwnd._evaluate.report import FindingJson

#: The sections of RFC 9743 that have a criterion.
SECTIONS = [
    *(f"5.1.{n}" for n in range(1, 6)),
    *("5.2", "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"),
    *("6 and 6.3", "6.1", "6.2", "6.4"),
    *(f"7.{n}" for n in range(1, 12)),
]
#: A criterion that runs in a second.
SHORT = ("data-center",)
REPORTS = ("report.html", "report.json", "report.md")


class Deaf(cwnd.CongestionControl):
    """Keeps its window whatever is lost."""

    window = 400

    def ssthresh(self, window: Window, ack: Ack) -> int:
        return self.window

    def cong_control(self, window: Window, ack: Ack) -> None:
        window.cwnd = self.window


class Broken(cwnd.CongestionControl):
    """Fails at its first loss."""

    def ssthresh(self, window: Window, ack: Ack) -> int:
        raise ValueError("lost")

    def cong_avoid(self, window: Window, ack: Ack) -> None:
        window.cwnd += ack.acked


def verdicts(evaluation: cwnd.Evaluation) -> dict[str, str]:
    return {one["id"]: one["verdict"] for one in evaluation.criteria}


def values_of(evaluation: cwnd.Evaluation, criterion: str) -> list[FindingJson]:
    (found,) = (one for one in evaluation.criteria if one["id"] == criterion)
    return found["metrics"]


@pytest.mark.parametrize("quick", [True, False])
def test_every_section_of_rfc_9743_has_a_criterion_that_runs_or_says_why_not(quick: bool) -> None:
    criteria = suite.criteria(quick)
    of_rfc = [one.section.removeprefix("RFC 9743, ") for one in criteria if "9743" in one.section]
    assert sorted(set(of_rfc)) == sorted(SECTIONS)
    assert len({one.id for one in criteria}) == len(criteria)
    for one in criteria:
        assert one.level in ("MUST", "SHOULD", "none")
        assert [bool(one.parts), one.author, bool(one.reason)].count(True) == 1
        assert bool(one.parts) == any(one.rules)


def test_the_whole_set_holds_the_scenarios_of_the_quick_one_by_criterion() -> None:
    quick, whole = suite.criteria(True), suite.criteria(False)
    assert [one.id for one in quick] == [one.id for one in whole]
    assert sum(len(one.cases) for one in quick) > 100
    assert all(len(a.cases) <= len(b.cases) for a, b in zip(quick, whole, strict=True))


@pytest.mark.parametrize(
    ("rule", "own", "verdict"),
    [
        # The baseline has 10, 11, 12: its mean is 11, and 10 % of it are 1.1.
        (Rule(share=0.1), [10, 11, 12], "pass"),
        (Rule(share=0.1), [12, 13.2, 14.4], "fail"),
        (Rule(share=0.1), [9, 12, 14], "undecided"),
        (Rule(share=0.1, amount=3), [12, 13.2, 14.4], "pass"),
        (Rule(amount=1), [10.9, 11.9, 12.9], "pass"),
        (Rule(amount=1), [11.1, 12.1, 13.1], "fail"),
        (Rule(amount=1, enough=16), [11.1, 12.1, 13.1], "pass"),
        (Rule(amount=1, enough=9), [11.1, 12.1, 13.1], "fail"),
        (Rule(limit=20), [10, 11, 12], "pass"),
        (Rule(limit=5), [10, 11, 12], "fail"),
        (Rule(limit=11), [10, 11, 12], "undecided"),
    ],
)
def test_a_value_is_judged_by_its_rule(rule: Rule, own: list[float], verdict: str) -> None:
    beside = [10.0, 11.0, 12.0]
    assert judge(own, beside, rule, more_is_better=False)[1] == verdict
    # Mirrors the values, where more is better. A share is that of another number then.
    if not rule.share:
        turned = rule._replace(
            limit=None if rule.limit is None else 100 - rule.limit,
            enough=None if rule.enough is None else 100 - rule.enough,
        )
        mirrored = [100 - x for x in own], [100 - x for x in beside]
        assert judge(*mirrored, turned, more_is_better=True)[1] == verdict


def test_a_rule_in_words_has_its_numbers() -> None:
    measure = Measure("loss", "%", lambda _: 0.0, Rule(share=0.25, amount=2))
    assert measure.rule is not None
    assert measure.rule.words(measure) == (
        "loss: above the baseline's by at most 25 % of it or 2 percentage points, whichever is more"
    )
    least = Measure("Jain's index", "", lambda _: 0.0, Rule(amount=0.05, enough=0.95), more_is_better=True)
    assert least.rule is not None
    assert least.rule.words(least) == (
        "Jain's index: below the baseline's by at most 0.05; at least 0.95 always passes"
    )
    limited = Measure("sent", "packets", lambda _: 0.0, Rule(limit=1))
    assert limited.rule is not None and limited.rule.words(limited) == "sent: at most 1 packet"


def test_an_interval_at_the_bound_is_undecided() -> None:
    assert verdict_of(Estimate(-1, -2, 0)) == "pass"
    assert verdict_of(Estimate(0, -1, 1)) == "undecided"
    assert verdict_of(Estimate(2, 0.1, 4)) == "fail"


def test_the_baseline_passes_beside_itself_with_the_same_values() -> None:
    evaluation = cwnd.evaluate("cubic", quick=True, only=["harm", *SHORT], seeds=2)
    assert set(verdicts(evaluation).values()) == {"pass"}
    for one in evaluation.criteria:
        assert all(value["value"] == value["baseline"] for value in one["metrics"])


def test_a_criterion_for_the_author_and_one_that_cannot_run_need_no_run(tmp_path: Path) -> None:
    evaluation = cwnd.evaluate("reno", quick=True, only=["tunnels", "misbehaving-nodes"], out=tmp_path / "e")
    assert verdicts(evaluation) == {"tunnels": "author", "misbehaving-nodes": "not run"}
    reasons = {one["id"]: one["reason"] for one in evaluation.criteria}
    assert reasons["tunnels"] is None and "honest" in reasons["misbehaving-nodes"]
    assert "prose/tunnels.md" in (tmp_path / "e" / "report.md").read_text()


def test_the_reports_hold_the_same_and_work_without_a_network(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "prose").mkdir(parents=True)
    (out / "prose" / "data-center.md").write_text("Written by the author: a < b & c.")
    evaluation = cwnd.evaluate("reno", params={"variant": "ns2"}, quick=True, only=SHORT, seeds=2, out=out)
    assert evaluation.algorithm == "reno (variant = ns2)"
    page, text = ((out / name).read_text() for name in ("report.html", "report.md"))
    assert json.loads((out / "report.json").read_text()) == json.loads(evaluation.to_json())
    (criterion,) = evaluation.criteria
    for report in (page, text):
        for part in (criterion["title"], criterion["section"], criterion["verdict"]):
            assert part in report
        assert all(one["case"] in report for one in criterion["metrics"])
    assert "a &lt; b &amp; c." in page and "a < b & c." in text
    assert not re.search(r"(src|href)=\"?(https?:)?//", page) and "<script" not in page
    assert "![Data centers](figures/data-center.svg)" in text
    assert (out / "figures" / "data-center.svg").is_file()


def test_a_run_that_fails_is_the_reason_why_a_criterion_is_not_run(tmp_path: Path) -> None:
    evaluation = cwnd.evaluate(Broken, quick=True, only=["tail-drop"], seeds=1, out=tmp_path / "out")
    (criterion,) = evaluation.criteria
    assert criterion["verdict"] == "not run" and "ValueError: lost" in criterion["reason"]
    assert len(evaluation.failures) == 3


def test_bad_input_is_one_line(cwnd_here: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for arguments, line in (
        (["nosuch"], "cwnd: error: CCA: unknown algorithm 'nosuch'"),
        (["nosuch.py:Mine"], "cwnd: error: CCA: nosuch.py: no such file"),
        (["reno", "--baseline", "nosuch"], "cwnd: error: --baseline: unknown algorithm 'nosuch'"),
        (["reno", "--param", "x=1"], "cwnd: error: --param x: unknown parameter"),
    ):
        done = cwnd_here("evaluate", *arguments, "--out", str(out))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(line) and done.stderr.count("\n") == 1
        assert not out.exists()


def test_an_unknown_criterion_and_no_seeds_are_refused() -> None:
    with pytest.raises(
        cwnd.Error, match=r"^only: 'nosuch' is not a criterion; there are congestion-collapse, "
    ):
        cwnd.evaluate("reno", only=["nosuch"])
    with pytest.raises(cwnd.Error, match=r"^seeds: 0 is out of range; 1 to "):
        cwnd.evaluate("reno", seeds=0)


@pytest.mark.slow
def test_killed_it_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    flags = ["cubic", "--quick", "--only", "high-loss", "--seeds", "20", "--jobs", "1"]

    def spawn(out: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", HASTY, "evaluate", *flags, "--out", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    running = spawn(killed)
    until(lambda: count_shards(killed / "runs") > 0)
    running.kill()
    running.communicate()
    assert not (killed / "report.json").exists()
    for out in (killed, whole):
        done = spawn(out)
        _, errors = done.communicate()
        assert (done.returncode, errors) == (0, "")
    assert tables(killed / "runs") == tables(whole / "runs")
    for name in (*REPORTS, "figures/high-loss.svg"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cca", "failed", "passed"),
    [
        ("reno", {"range"}, {"harm", "high-loss"}),
        ("scalable", {"harm", "starvation"}, set()),
    ],
)
def test_known_verdicts_come_out(cca: str, failed: set[str], passed: set[str]) -> None:
    found = verdicts(cwnd.evaluate(cca, quick=True, only=[*failed, *passed]))
    assert {name for name, word in found.items() if word == "fail"} == failed
    assert {name for name, word in found.items() if word == "pass"} == passed


@pytest.mark.slow
def test_bbr_passes_high_loss_where_the_buffer_is_above_1_5_bdp_and_nowhere_below() -> None:
    evaluation = cwnd.evaluate("bbr", quick=True, only=["high-loss"])
    for one in values_of(evaluation, "high-loss"):
        assert one["verdict"] == ("pass" if "2 BDP" in one["case"] else "fail")


@pytest.mark.slow
def test_vegas_is_the_one_that_starves_beside_cubic() -> None:
    starved = [
        one
        for one in values_of(cwnd.evaluate("vegas", quick=True, only=["starvation"]), "starvation")
        if one["verdict"] == "fail"
    ]
    assert any("cubic" in one["case"] for one in starved)
    assert {one["metric"] for one in starved} == {"least rate of its own, of an equal share"}


@pytest.mark.slow
def test_a_class_that_ignores_losses_fails_where_it_should() -> None:
    judged = ["congestion-collapse", "harm", "starvation"]
    assert verdicts(cwnd.evaluate(Deaf, quick=True, only=judged, seeds=2, jobs=1)) == dict.fromkeys(
        judged, "fail"
    )


def test_the_label_of_an_algorithm_has_its_parameters() -> None:
    assert algorithm_of("elastic").label == "elastic"
    assert algorithm_of("elastic", {"beta": 0.8}).label == "elastic (beta = 0.8)"
    assert algorithm_of(Deaf).label == "Deaf"


def test_the_table_of_the_docs_is_that_of_its_verdicts() -> None:
    pages = Path(__file__).parents[2] / "docs" / "evaluations"
    made = runpy.run_path(str(pages / "generate.py"))
    found = made["read_verdicts"]()
    assert (pages / "README.md").read_text() == made["index"](found), "stale: run 'make evaluations'"
    assert set(found) == {one["name"] for one in cwnd.algorithms()}
    assert set(found["cubic"].values()) == {"pass", "author", "not run"}
