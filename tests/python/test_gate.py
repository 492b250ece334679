"""The gate: what passes, what does not, how often it errs."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pytest

import cwnd
from cwnd._analysis.gate import Pair, gate, judge, seeds_needed

METRICS = ("throughput", "goodput", "loss", "rtt", "jain", "utilization")
SUMMARY = {
    "throughput": "throughput_mbps",
    "goodput": "goodput_mbps",
    "loss": "loss_ratio",
    "rtt": "mean_rtt_ms",
    "jain": "jain_fairness",
    "utilization": "utilization",
}
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


def synthetic(draws: random.Random, points: int, seeds: int, noise: float, loss: float = 0.0) -> list[Pair]:
    """Normal values around 100, drawn anew for the candidate; its first point loses `loss`."""

    def values(mean: float) -> list[float]:
        return [draws.gauss(mean, 100 * noise) for _ in range(seeds)]

    return [(values(100), values(100 * (1 - loss * (point == 0)))) for point in range(points)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("repeat", [1, 10])
def test_an_unchanged_algorithm_passes_with_every_metric_and_margin(metric: str, repeat: int) -> None:
    before, after = table(repeat=repeat), table(repeat=repeat)
    for margin in (0, 0.02, 1.0):
        verdicts = gate(before, after, metric, margin)
        assert len(verdicts) == 4
        assert all(verdict.ok for verdict in verdicts)


@pytest.mark.parametrize("metric", METRICS)
def test_the_values_are_those_of_the_summary(baseline: cwnd.Results, metric: str) -> None:
    means = baseline.summary.filter(metric=SUMMARY[metric]).select("scenario", "mean").rows()
    verdicts = gate(baseline, baseline, metric)
    assert [verdict.point for verdict in verdicts] == [point for point, _ in means]
    for verdict, (_, mean) in zip(verdicts, means, strict=True):
        reported = float(verdict.line.split("] of ")[1].split(",")[0].split()[0])
        assert reported == pytest.approx(mean, rel=6e-3)


def test_a_planted_loss_of_5_percent_is_caught_at_every_point(baseline: cwnd.Results) -> None:
    verdicts = gate(baseline, table(rate="9.5 Mbps"))
    assert [verdict.line.split()[0] for verdict in verdicts] == ["worse"] * 4
    assert not any(verdict.ok for verdict in verdicts)


def test_a_loss_within_the_margin_and_a_gain_pass(baseline: cwnd.Results) -> None:
    assert all(verdict.ok for verdict in gate(baseline, table(rate="9.9 Mbps")))
    assert all(verdict.ok for verdict in gate(baseline, table(rate="9.5 Mbps"), margin=0.07))
    assert all(verdict.ok for verdict in gate(baseline, table(rate="10.5 Mbps")))


def test_of_loss_and_rtt_less_is_better(baseline: cwnd.Results) -> None:
    longer, shorter = table(delay="24 ms"), table(delay="16 ms")
    assert not any(verdict.ok for verdict in gate(baseline, longer, "rtt"))
    assert all(verdict.ok for verdict in gate(baseline, shorter, "rtt"))
    # Reno backs off further: fewer losses. HyStart would leave slow start before its one great loss.
    cubic, reno = table(params={"slow_start": "standard"}), table(ccas="reno")
    assert all(verdict.ok for verdict in gate(cubic, reno, "loss"))
    assert not any(verdict.ok for verdict in gate(reno, cubic, "loss"))


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
    verdicts = gate(table(repeat=1), table(repeat=1, ccas="reno"))
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
    lines = [verdict.line for verdict in gate(baseline, table(rate="9.7 Mbps"))]
    assert (
        lines[0] == "worse buffer 20, PER 0:     throughput  -3.0 % [-3.0, -3.0] of 9.92 Mbit/s, margin 2 %"
    )
    assert len({line.index("throughput") for line in lines}) == 1
    noisy = gate(table(pers=(1e-2,)), table(pers=(1e-2,), rate="9.5 Mbps"))
    numbers = r"-\d\.\d % \[-\d\.\d, \+\d\.\d\]"
    assert re.match(rf"undecided buffer 50, PER 0\.01: throughput  {numbers} of ", noisy[1].line)
    assert " margin 2 %; needs about " in noisy[1].line
    assert noisy[1].line.endswith(" more seeds")
    assert not any("\n" in line for line in lines)


def test_a_line_says_when_more_seeds_are_no_remedy(baseline: cwnd.Results) -> None:
    near = gate(baseline, table(rate="9.8 Mbps"))
    assert near[1].line.endswith(
        "; its seeds would suffice for an equal point, so a loss near the margin is likely"
    )
    never = gate(table(pers=(1e-2,)), table(pers=(1e-2,), rate="9.8 Mbps"), margin=0)
    assert never[1].line.endswith("; too noisy for this margin, even with 100000 seeds")


def test_the_order_of_the_scenarios_does_not_matter(baseline: cwnd.Results) -> None:
    other = table(buffers=(50, 20), rate="9.5 Mbps")
    straight = gate(baseline, table(rate="9.5 Mbps"))
    assert gate(baseline, other) == straight


@pytest.mark.parametrize(
    ("candidate", "options", "line"),
    [
        ({"buffers": (20,)}, {}, "candidate: has no point 'buffer 50, PER 0' (and 1 more); the other has"),
        (
            {"buffers": (20, 50, 90), "pers": (0.0,)},
            {},
            "baseline: has no point 'buffer 90, PER 0'; the other has",
        ),
        (
            {"seed": 2},
            {},
            "buffer 20, PER 0: seeds differ (1 to 10 in the baseline, 2 to 11 in the candidate); "
            "both need the same",
        ),
        (
            {"repeat": 1},
            {},
            "buffer 20, PER 0: seeds differ (1 to 10 in the baseline, 1 in the candidate); "
            "both need the same",
        ),
        (
            {},
            {"metric": "speed\n"},
            "metric: 'speed\\n' is not a metric; there are throughput, goodput, loss, rtt, jain, utilization",
        ),
        ({}, {"margin": 2}, "margin: 2 is not a fraction from 0 to 1"),
        ({}, {"margin": -0.01}, "margin: -0.01 is not a fraction from 0 to 1"),
        ({}, {"margin": math.nan}, "margin: nan is not a fraction from 0 to 1"),
        ({}, {"margin": "2%"}, "margin: '2%' is not a fraction from 0 to 1"),
        ({}, {"margin": True}, "margin: True is not a fraction from 0 to 1"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    baseline: cwnd.Results, candidate: dict[str, Any], options: dict[str, Any], line: str
) -> None:
    other = table(**candidate) if candidate else baseline
    with pytest.raises(cwnd.Error) as refused:
        gate(baseline, other, **options)
    assert str(refused.value) == line


def test_results_without_runs_do_not_pass() -> None:
    with pytest.raises(cwnd.Error, match=r"^baseline: has no runs$"):
        gate(cwnd.run([]), cwnd.run([]))
