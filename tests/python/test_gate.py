"""The gate: what passes, what does not, how often it errs."""

from __future__ import annotations

import json
import math
import random
import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

import cwnd
from conftest import Command
from cwnd import gate
from cwnd._analysis.gate import Pair, judge, seeds_needed
from cwnd._common.metrics import METRICS

SUMMARY = (
    *("throughput_mbps", "goodput_mbps", "utilization", "loss_ratio", "mean_rtt_ms", "p95_rtt_ms"),
    *("jain_fairness", "rtt_fairness", "timeouts"),
)
OF_TRANSFERS = ("fct_p50_ms", "fct_p95_ms", "fct_p99_ms", "slowdown_p50", "slowdown_p99")
SMALL: dict[str, Any] = {"rate": "10 Mbps", "delay": "20 ms", "duration": "5 s", "samples": "off"}


def table(
    buffers: tuple[int, ...] = (20, 50),
    pers: tuple[float, ...] = (0.0, 1e-3),
    repeat: int = 10,
    seed: int = 1,
    **other: Any,
) -> cwnd.Results:
    path = {"ccas": "cubic", "flows": 2, **SMALL, **other}
    ccas = path.pop("ccas")
    return cwnd.run(
        [
            cwnd.dumbbell(ccas, name=f"buffer {b}, PER {p:g}", buffer=b, per=p, repeat=repeat, **path)
            for b in buffers
            for p in pers
        ],
        seed=seed,
    )


@pytest.fixture(scope="module")
def baseline() -> cwnd.Results:
    return table()


@cache
def run_twice(repeat: int) -> tuple[cwnd.Results, cwnd.Results]:
    return table(repeat=repeat), table(repeat=repeat)


def synthetic(draws: random.Random, points: int, seeds: int, noise: float, loss: float = 0.0) -> list[Pair]:
    """Normal values around 100, drawn anew for the candidate; its first point loses `loss`."""

    def values(mean: float) -> list[float]:
        return [draws.gauss(mean, 100 * noise) for _ in range(seeds)]

    return [(values(100), values(100 * (1 - loss * (point == 0)))) for point in range(points)]


@pytest.mark.parametrize("metric", SUMMARY)
@pytest.mark.parametrize("repeat", [1, 10])
def test_an_unchanged_algorithm_passes_with_every_metric_and_margin(metric: str, repeat: int) -> None:
    before, after = run_twice(repeat)
    for margin in (0, 0.02, 1.0):
        verdicts = gate(before, after, {metric: margin}).verdicts
        assert len(verdicts) == 4
        assert all(verdict.ok for verdict in verdicts)


@pytest.mark.parametrize("metric", SUMMARY)
def test_the_values_are_those_of_the_summary(baseline: cwnd.Results, metric: str) -> None:
    means = baseline.summary.filter(metric=metric).select("scenario", "mean").rows()
    verdicts = gate(baseline, baseline, {metric: "2%"}).verdicts
    assert [verdict.point for verdict in verdicts] == [point for point, _ in means]
    for verdict, (_, mean) in zip(verdicts, means, strict=True):
        assert verdict.baseline == pytest.approx(mean, rel=1e-12)
        reported = float(verdict.line.split("] of ")[1].split(",")[0].split()[0])
        assert reported == pytest.approx(mean, rel=6e-3)


def test_a_planted_loss_of_5_percent_is_caught_at_every_point(baseline: cwnd.Results) -> None:
    verdicts = gate(baseline, table(rate="9.5 Mbps")).verdicts
    assert [verdict.line.split()[0] for verdict in verdicts] == ["worse"] * 4
    assert not any(verdict.ok for verdict in verdicts)


def test_a_loss_within_the_margin_and_a_gain_pass(baseline: cwnd.Results) -> None:
    assert gate(baseline, table(rate="9.9 Mbps")).ok
    assert gate(baseline, table(rate="9.5 Mbps"), {"throughput_mbps": 0.07}).ok
    assert gate(baseline, table(rate="10.5 Mbps")).ok


def test_of_loss_and_rtt_less_is_better(baseline: cwnd.Results) -> None:
    longer, shorter = table(delay="24 ms"), table(delay="16 ms")
    assert not any(verdict.ok for verdict in gate(baseline, longer, {"mean_rtt_ms": "2%"}).verdicts)
    assert gate(baseline, shorter, {"mean_rtt_ms": "2%"}).ok
    # Reno backs off further: fewer losses. HyStart would leave slow start before its one great loss.
    cubic, reno = table(params={"slow_start": "standard"}), table(ccas="reno")
    assert gate(cubic, reno, {"loss_ratio": "2%"}).ok
    assert not any(verdict.ok for verdict in gate(reno, cubic, {"loss_ratio": "2%"}).verdicts)


def test_datagrams_hide_no_rtt_that_grew() -> None:
    def beside_datagrams(rate: str, buffer: int) -> cwnd.Results:
        text = (
            "duration = '10 s'\nsamples = 'off'\nrepeat = 5\n"
            f"[dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = {buffer}\n"
            f"[[flows]]\ncca = 'reno'\nstart_jitter = '50 ms'\n[[flows]]\ncca = 'udp'\napp_rate = '{rate}'\n"
        )
        return cwnd.run(cwnd.Scenario.parse(text))

    before, after = beside_datagrams("5 Mbps", 30), beside_datagrams("9 Mbps", 60)
    [rtt_ms] = before.summary.filter(metric="mean_rtt_ms")["mean"]
    # That of the flow of TCP, which is never below 40 ms.
    known = before.flows["mean_rtt_ms"].drop_nulls()
    assert len(known) == 5
    assert rtt_ms == pytest.approx(known.mean())
    assert rtt_ms > 40
    for metric in ("mean_rtt_ms", "p95_rtt_ms"):
        [verdict] = gate(before, after, {metric: "5%"}).verdicts
        assert verdict.line.split()[0] == "worse"
    text = "duration = '1 s'\n[dumbbell]\nrate = '10 Mbps'\ndelay = '20 ms'\nbuffer = 30\n"
    datagrams = cwnd.run(cwnd.Scenario.parse(f"{text}[[flows]]\ncca = 'udp'\napp_rate = '5 Mbps'\n"))
    assert "mean_rtt_ms" not in datagrams.summary["metric"]
    with pytest.raises(cwnd.Error, match=r"mean_rtt_ms: .*: the run has no such value"):
        gate(datagrams, datagrams, {"mean_rtt_ms": "5%"})


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.3])
def test_of_1000_tables_of_equal_candidates_at_most_5_percent_have_a_point_called_worse(noise: float) -> None:
    draws = random.Random(1)
    tables = [judge(synthetic(draws, 12, 10, noise), 0.02) for _ in range(1000)]
    assert sum(any(point.word == "worse" for point in table) for table in tables) <= 50


def test_of_1000_tables_of_equal_candidates_at_least_95_percent_pass_where_the_seeds_suffice() -> None:
    draws = random.Random(2)
    tables = [judge(synthetic(draws, 12, 10, 0.0075), 0.02) for _ in range(1000)]
    assert sum(all(point.word == "ok" for point in table) for table in tables) >= 950


def test_of_tables_of_equal_candidates_at_least_95_percent_pass_with_the_seeds_that_the_gate_asks_for() -> (
    None
):
    draws = random.Random(3)
    passed = 0
    for _ in range(400):
        pairs = synthetic(draws, 6, 8, 0.012)
        reported = [point for point in judge(pairs, 0.02) if point.word == "undecided"]
        more = max((seeds_needed(point.sd, 8, 6, 0.02) or 8 for point in reported), default=8) - 8
        longer = [
            ([*a, *c], [*b, *d])
            for (a, b), (c, d) in zip(pairs, synthetic(draws, 6, more, 0.012), strict=True)
        ]
        passed += all(point.word == "ok" for point in judge(longer, 0.02))
    assert passed >= 380


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("points", [1, 12])
def test_of_1000_tables_with_a_loss_of_5_percent_at_most_25_pass(points: int, noise: float) -> None:
    draws = random.Random(4)
    tables = [judge(synthetic(draws, points, 10, noise, loss=0.05), 0.02) for _ in range(1000)]
    assert sum(all(point.word == "ok" for point in table) for table in tables) <= 25


def test_looking_once_more_with_the_seeds_asked_for_lets_few_more_losses_of_the_margin_pass() -> None:
    draws = random.Random(7)
    passed = 0
    for _ in range(2000):
        ((a, b),) = synthetic(draws, 1, 10, 0.02, loss=0.02)
        (reported,) = judge([(a, b)], 0.02)
        more = (seeds_needed(reported.sd, 10, 1, 0.02) or 10) - 10
        if reported.word == "undecided" and more > 0:
            ((c, d),) = synthetic(draws, 1, more, 0.02, loss=0.02)
            (reported,) = judge([([*a, *c], [*b, *d])], 0.02)
        passed += reported.word == "ok"
    assert passed <= 120  # docs/statistics.md: 4.3 %


@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_of_2000_points_with_a_loss_of_just_the_margin_about_50_pass(noise: float) -> None:
    draws = random.Random(5)
    tables = [judge(synthetic(draws, 1, 10, noise, loss=0.02), 0.02) for _ in range(2000)]
    assert 25 <= sum(table[0].word == "ok" for table in tables) <= 75


def test_a_loss_of_5_percent_is_called_worse_where_the_noise_allows_it() -> None:
    draws = random.Random(6)
    tables = [judge(synthetic(draws, 12, 10, 0.01, loss=0.05), 0.02) for _ in range(1000)]
    assert sum(table[0].word == "worse" for table in tables) >= 950


def test_real_runs_with_all_draws_anew_are_not_called_worse() -> None:
    tables, seeds = 100, 10
    runs = table(pers=(1e-3, 1e-2), repeat=2 * tables * seeds, duration="2 s", delay="10 ms").flows
    totals = runs.select("scenario", "seed", "throughput_mbps").group_by("scenario", "seed").sum()
    points = [
        part["throughput_mbps"].to_list()
        for part in totals.sort("scenario", "seed").partition_by("scenario", maintain_order=True)
    ]
    judged = {
        margin: [
            [point.word for point in judge([(p[at : at + 10], p[at + 10 : at + 20]) for p in points], margin)]
            for at in range(0, 2 * tables * seeds, 2 * seeds)
        ]
        for margin in (0.0, 0.1)
    }
    assert sum("worse" in words for words in judged[0.0]) <= 5
    assert sum(words == ["ok"] * 4 for words in judged[0.1]) >= 95


def test_holms_correction_keeps_noise_among_many_points_from_being_called_worse() -> None:
    pair = ([100.0] * 4, [96.0, 97.0, 93.0, 95.0])  # p = 0.015
    equal = ([100.0] * 4, [100.0] * 4)
    assert [point.word for point in judge([pair], 0.02)] == ["worse"]
    assert [point.word for point in judge([pair, *[equal] * 9], 0.02)] == ["undecided"] + ["ok"] * 9
    clear = ([100.0] * 4, [95.0, 95.001, 95.0, 95.001])
    assert [point.word for point in judge([pair, clear], 0.02)] == ["worse", "worse"]


def test_what_one_seed_shows_is_undecided_unless_nothing_changed() -> None:
    verdicts = gate(table(repeat=1), table(repeat=1, ccas="reno")).verdicts
    # With a buffer of 50 both fill the link.
    assert [verdict.ok for verdict in verdicts] == [False, False, True, True]
    assert verdicts[0].line.endswith("; needs more than one seed")


def test_a_difference_without_scatter_is_certain() -> None:
    assert judge([([100.0] * 2, [98.5] * 2)], 0.02)[0].word == "ok"
    assert judge([([100.0] * 2, [97.5] * 2)], 0.02)[0].word == "worse"


def test_something_instead_of_nothing_is_beyond_every_margin() -> None:
    nothing, something = [0.0] * 3, [0.0, 0.0, 0.1]
    assert judge([(nothing, something)], 1.0, higher_is_better=False)[0].word == "worse"
    assert judge([(nothing, something)], 0.0, higher_is_better=True)[0].word == "ok"
    assert judge([(nothing, nothing)], 0.0, higher_is_better=False)[0].word == "ok"


def test_the_advice_on_seeds_is_the_least_number_that_suffices() -> None:
    assert seeds_needed(1e-9, 10, 1, 0.02) == 2
    assert seeds_needed(0.02, 10, 1, 0.01) == 59  # 2 * (2.0017 + 1.8331) = 7.670 < sqrt(59) = 7.681
    assert (seeds_needed(0.02, 10, 12, 0.01) or 0) > 59
    assert seeds_needed(1.0, 10, 1, 1e-4) is None


def test_there_is_a_line_per_point_in_columns(baseline: cwnd.Results) -> None:
    lines = gate(baseline, table(rate="9.7 Mbps")).lines
    change = "throughput_mbps -3.0 % [-3.0, -3.0] of 9.92 Mbit/s, margin 2 %"
    assert lines[0] == f"worse buffer 20, PER 0:     {change}"
    assert len({line.index("throughput_mbps") for line in lines}) == 1
    noisy = gate(table(pers=(1e-2,)), table(pers=(1e-2,), rate="9.5 Mbps")).lines
    numbers = r"-\d\.\d % \[-\d\.\d, \+\d\.\d\]"
    assert re.match(rf"undecided buffer 50, PER 0\.01: throughput_mbps {numbers} of ", noisy[1])
    assert " margin 2 %; needs about " in noisy[1]
    assert noisy[1].endswith(" more seeds")
    assert not any("\n" in line for line in lines)


def test_a_line_says_when_more_seeds_are_no_remedy(baseline: cwnd.Results) -> None:
    near = gate(baseline, table(rate="9.8 Mbps")).lines
    assert near[1].endswith(
        "; its seeds would suffice for an equal point, so a loss near the margin is likely"
    )
    never = gate(table(pers=(1e-2,)), table(pers=(1e-2,), rate="9.8 Mbps"), {"throughput_mbps": 0}).lines
    assert never[1].endswith("; too noisy for this margin, even with 100000 seeds")


def test_several_metrics_are_judged_together(baseline: cwnd.Results) -> None:
    # A path that is longer by 20 % has an RTT that is longer, and fills as well.
    margins = {"throughput_mbps": "2%", "mean_rtt_ms": "2%", "utilization": 0.02}
    outcome = gate(baseline, table(delay="24 ms"), margins)
    words = {
        metric: {verdict.word for verdict in outcome.verdicts if verdict.metric == metric}
        for metric in margins
    }
    assert words["mean_rtt_ms"] == {"worse"}
    assert "worse" not in words["throughput_mbps"] | words["utilization"]
    assert not outcome.ok and len(outcome.verdicts) == 12


def test_holms_correction_covers_points_and_metrics() -> None:
    # p = 0.015: worse among one comparison, not among two.
    values = {"throughput_mbps": [96.0, 97.0, 93.0, 95.0], "goodput_mbps": [100.0] * 4}

    class Runs(cwnd.Results):
        metrics_by_scenario: Any = None
        scenarios: Any = None
        values: Any = None

        def __init__(self, of: dict[str, list[float]]) -> None:
            self.metrics_by_scenario = {"one": pl.DataFrame({"seed": [1, 2, 3, 4], **of})}
            self.scenarios, self.values = [{"name": "one"}], [{}]

    before, after = Runs({"throughput_mbps": [100.0] * 4, "goodput_mbps": [100.0] * 4}), Runs(values)
    alone = gate(before, after, {"throughput_mbps": 0.02})  # type: ignore[arg-type]
    both = gate(before, after, {"throughput_mbps": 0.02, "goodput_mbps": 0.02})  # type: ignore[arg-type]
    assert [verdict.word for verdict in alone.verdicts] == ["worse"]
    assert [verdict.word for verdict in both.verdicts] == ["undecided", "ok"]
    assert both.verdicts[0].seeds_needed is not None


def test_completion_times_are_compared_where_there_are_transfers() -> None:
    def transfers(rate: str) -> cwnd.Results:
        path = {**SMALL, "rate": rate, "buffer": 50, "start_jitter": "100 ms"}
        return cwnd.run(cwnd.dumbbell("cubic", size="1 MB", flows=4, repeat=5, **path))

    fast, slow = transfers("10 Mbps"), transfers("9 Mbps")
    assert set(fast.summary["metric"]) == {*SUMMARY, *OF_TRANSFERS} == set(METRICS)
    for metric in OF_TRANSFERS:
        outcome = gate(fast, slow, {metric: 0.02})
        (mean,) = fast.summary.filter(metric=metric)["mean"]
        assert outcome.verdicts[0].baseline == pytest.approx(mean)
        # A slowdown is relative to the rate.
        assert metric.startswith("slowdown") or (not outcome.ok and gate(slow, fast, {metric: 0.02}).ok)


def test_the_json_has_what_the_lines_have(baseline: cwnd.Results) -> None:
    outcome = gate(baseline, table(rate="9.5 Mbps"), {"throughput_mbps": "2%", "jain_fairness": "5%"})
    content = json.loads(outcome.to_json())
    assert content["ok"] is False and len(content["verdicts"]) == 8
    for written, verdict in zip(content["verdicts"], outcome.verdicts, strict=True):
        assert written["line"] == verdict.line and written["verdict"] == verdict.word
        assert written["change"] == verdict.change and written["seeds"] == 10
    single = gate(table(repeat=1), table(repeat=1, ccas="reno"))
    first = json.loads(single.to_json())["verdicts"][0]
    assert (first["ci95_low"], first["ci95_high"], first["verdict"]) == (None, None, "undecided")


def test_the_junit_file_has_a_suite_per_metric_and_a_failure_per_verdict_that_is_not_ok(
    baseline: cwnd.Results,
) -> None:
    outcome = gate(baseline, table(rate="9.5 Mbps"), {"throughput_mbps": "2%", "jain_fairness": "5%"})
    root = ElementTree.fromstring(outcome.to_junit())
    assert root.tag == "testsuites" and root.get("tests") == "8"
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["throughput_mbps", "jain_fairness"]
    failures = suites["throughput_mbps"].findall("testcase/failure")
    assert [failure.text for failure in failures] == [v.line for v in outcome.verdicts if not v.ok][:4]
    assert {case.get("classname") for case in suites["jain_fairness"]} == {"cwnd gate.jain_fairness"}


def test_the_summary_in_markdown_begins_with_what_failed() -> None:
    before = table(buffers=(20,), pers=(0.0,))
    passed, failed = (
        gate(before, before).to_markdown(),
        gate(before, table(buffers=(20,), pers=(0.0,), rate="9.5 Mbps")),
    )
    assert passed.startswith("## cwnd gate: passed\n\n1 ok, of 1 comparisons.") and "**worse**" not in passed
    text = failed.to_markdown()
    assert text.startswith("## cwnd gate: failed\n\n1 worse, of 1 comparisons.")
    assert (
        "| **worse** | buffer 20, PER 0 | throughput_mbps | -5.0 % | [-5.0, -5.0] | 9.92 Mbit/s | 2 % |  |"
        in text
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b", r"a\|b"),
        ("a\\|b", r"a\\\|b"),
        ("<img src=x>", r"\<img src=x\>"),
        ("[a](http://x)", r"\[a\](http://x)"),
        ("*a* _b_ `c` ~~d~~ &amp;", r"\*a\* \_b\_ \`c\` \~\~d\~\~ \&amp;"),
    ],
)
def test_a_name_is_no_markdown_in_the_summary(name: str, shown: str) -> None:
    named = cwnd.run(cwnd.dumbbell("reno", name=name, buffer=20, **SMALL))
    assert f"| ok | {shown} | throughput_mbps |" in gate(named, named).to_markdown()
    assert f"| {shown} | throughput_mbps |" in cwnd.compare(named, named).to_markdown()


def test_what_is_not_a_result_is_refused() -> None:
    results = table(buffers=(20,), pers=(0.0,))
    for given in ((results, "b"), ("a", results), ("a", "b")):
        with pytest.raises(
            cwnd.Error, match=r"^(baseline|candidate): '[ab]' is not a Results, which cwnd.run "
        ):
            cwnd.gate(*given)  # type: ignore[arg-type]
    with pytest.raises(cwnd.Error, match=r"^result 2: 'b' is not a Results, which"):
        cwnd.compare(results, "b")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def saved(baseline: cwnd.Results, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("saved")
    baseline.save(folder / "before")
    table(rate="9.93 Mbps").save(folder / "after")
    return str(folder / "before"), str(folder / "after")


def test_the_command_takes_thresholds_from_a_file_and_flags_replace_them(
    saved: tuple[str, str], tmp_path: Path, cwnd_here: Command
) -> None:
    file = tmp_path / "gate.toml"
    file.write_text('[margins]\nthroughput_mbps = "0.5%"\njain_fairness = 0.05\n')
    strict = cwnd_here("gate", *saved, "--thresholds", str(file))
    assert strict.returncode == 1 and strict.stdout.count("\n") == 8
    files = ["--junit", str(tmp_path / "gate.xml"), "--markdown", str(tmp_path / "gate.md")]
    loose = cwnd_here(
        "gate",
        *saved,
        "--thresholds",
        str(file),
        "--metric",
        "throughput_mbps=2%",
        "--metric",
        "p95_rtt_ms",
        "--json",
        *files,
    )
    assert loose.returncode == 0, loose.stdout + loose.stderr
    margins = {one["metric"]: one["margin"] for one in json.loads(loose.stdout)["verdicts"]}
    assert margins == {"throughput_mbps": 0.02, "jain_fairness": 0.05, "p95_rtt_ms": 0.02}
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "0"
    assert (tmp_path / "gate.md").read_text().startswith("## cwnd gate: passed")


@pytest.mark.parametrize(
    ("text", "flags", "line"),
    [
        ("[margins\n", [], "not TOML: "),
        ("goodput = 0.02\n", [], "'goodput' is unknown; accepted: a table [margins]"),
        ("margins = 3\n", [], "there is no table [margins]; accepted: a table [margins]"),
        ('[margins]\ngoodput_mbps = "much"\n', [], "margins.goodput_mbps: 'much' is not a share"),
        ("[margins]\nspeed = 1\n", [], "margins: 'speed' is not a metric"),
        ("[margins]\n", [], "margins: no metric"),
        (None, ["--metric", "speed=2%"], "--metric: 'speed' is not a metric"),
        (None, ["--metric", "mean_rtt_ms=200%"], "--metric mean_rtt_ms: '200%' is not a share"),
        (None, ["--thresholds", "none.toml"], "--thresholds: none.toml: no such file"),
    ],
)
def test_thresholds_that_cannot_be_read_are_refused_in_one_line(
    text: str | None,
    flags: list[str],
    line: str,
    saved: tuple[str, str],
    tmp_path: Path,
    cwnd_here: Command,
) -> None:
    if text is not None:
        (tmp_path / "gate.toml").write_text(text)
        flags = ["--thresholds", "gate.toml"]
        line = f"--thresholds: gate.toml: {line}"
    done = cwnd_here("gate", *saved, *flags, "--junit", "gate.xml", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"cwnd: error: {line}"), done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "gate.xml").exists()


def test_the_order_of_the_scenarios_does_not_matter(baseline: cwnd.Results) -> None:
    other = table(buffers=(50, 20), rate="9.5 Mbps")
    straight = gate(baseline, table(rate="9.5 Mbps"))
    assert gate(baseline, other).verdicts == straight.verdicts


@pytest.mark.parametrize(
    ("candidate", "margins", "line"),
    [
        ({"buffers": (20,)}, None, "candidate: has no point 'buffer 50, PER 0' (and 1 more); the other has"),
        (
            {"buffers": (20, 50, 90), "pers": (0.0,)},
            None,
            "baseline: has no point 'buffer 90, PER 0'; the other has",
        ),
        (
            {"seed": 2},
            None,
            "buffer 20, PER 0: seeds differ (1 to 10 in the baseline, 2 to 11 in the candidate); "
            "both need the same",
        ),
        (
            {"repeat": 1},
            None,
            "buffer 20, PER 0: seeds differ (1 to 10 in the baseline, 1 in the candidate); "
            "both need the same",
        ),
        (
            {},
            {"speed\n": 0.02},
            "margins: 'speed\\n' is not a metric; there are throughput_mbps, goodput_mbps, "
            "utilization, loss_ratio, mean_rtt_ms, p95_rtt_ms, jain_fairness, rtt_fairness, timeouts, "
            "fct_p50_ms, fct_p95_ms, fct_p99_ms, slowdown_p50, slowdown_p99",
        ),
        (
            {},
            {},
            "margins: no metric; there are throughput_mbps, goodput_mbps, utilization, loss_ratio, "
            "mean_rtt_ms, p95_rtt_ms, jain_fairness, rtt_fairness, timeouts, fct_p50_ms, fct_p95_ms, "
            "fct_p99_ms, slowdown_p50, slowdown_p99",
        ),
        ({}, {"fct_p50_ms": 0.02}, "fct_p50_ms: buffer 20, PER 0, seed 1: the run has no such value"),
        *(
            (
                {},
                {"mean_rtt_ms": bad},
                f"margins.mean_rtt_ms: {bad!r} is not a share from 0 to 1, such as '2%' or 0.02",
            )
            for bad in (2, -0.01, math.nan, "2 percent", "200%", "1.2.3%", True, None)
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    baseline: cwnd.Results, candidate: dict[str, Any], margins: dict[str, float | str] | None, line: str
) -> None:
    other = table(**candidate) if candidate else baseline
    with pytest.raises(cwnd.Error) as refused:
        gate(baseline, other, margins)
    assert str(refused.value) == line


def test_results_without_runs_do_not_pass() -> None:
    with pytest.raises(cwnd.Error, match=r"^baseline: has no runs$"):
        gate(cwnd.run([]), cwnd.run([]))
