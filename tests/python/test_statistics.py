"""The intervals: what they cover, and what pairing does to them."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import cwnd
from cwnd._analysis.gate import interval, t_quantile, t_tail

#: A run of 1 ms whose throughput varies by a third from seed to seed.
NOISY: dict[str, Any] = {
    "rate": "10 Mbps",
    "delay": "20 ms",
    "buffer": 50,
    "per": 1e-2,
    "duration": "2 s",
    "samples": "off",
}


@pytest.mark.parametrize(
    ("p", "df", "t"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.975, 4, 2.7764),
        (0.975, 9, 2.2622),
        (0.975, 29, 2.0452),
        (0.975, 120, 1.9799),
        (0.95, 10, 1.8125),
        (0.995, 5, 4.0321),
        (0.9995, 3, 12.9240),
        (0.975, 1_000_000, 1.9600),
    ],
)
def test_the_quantiles_of_student_t_are_those_of_printed_tables(p: float, df: int, t: float) -> None:
    assert t_quantile(p, df) == pytest.approx(t, abs=5.1e-5)


@pytest.mark.parametrize("t", [-30.0, -1.5, 0.0, 1e-6, 0.3, 1.0, 1.5, 4.0, 100.0, 1e6])
def test_the_tails_of_student_t_are_the_closed_forms_of_one_two_and_four_degrees(t: float) -> None:
    assert t_tail(t, 1) == pytest.approx(math.atan2(1, t) / math.pi, rel=1e-9)
    s = t / math.sqrt(2 + t * t)
    assert t_tail(t, 2) == pytest.approx((1 - s) / 2, rel=1e-9, abs=1e-15)
    s = t / math.sqrt(4 + t * t)
    assert t_tail(t, 4) == pytest.approx((2 - 3 * s + s**3) / 4, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n", [2, 5, 10, 30])
def test_of_1000_intervals_over_normal_values_93_to_97_percent_cover_the_truth(n: int) -> None:
    draws = random.Random(n)
    covered = 0
    for _ in range(1000):
        _, low, high = interval([draws.gauss(100.0, 7.0) for _ in range(n)])
        covered += low <= 100.0 <= high
    assert 930 <= covered <= 970


@pytest.mark.parametrize("repeat", [2, 5, 12])
def test_the_summarys_intervals_are_the_same_as_the_gates(repeat: int) -> None:
    results = cwnd.run(cwnd.dumbbell("cubic", repeat=repeat, **NOISY))
    reported = results.summary.filter(metric="throughput_mbps").row(0, named=True)
    mean, low, high = interval(results.flows["throughput_mbps"].to_list())
    assert reported["mean"] == pytest.approx(mean, rel=1e-12)
    assert reported["ci95_high"] - reported["ci95_low"] == pytest.approx(high - low, rel=1e-4)


@pytest.mark.slow
def test_the_summarys_intervals_over_real_runs_cover_the_mean_of_all_runs() -> None:
    groups, seeds = 1000, 5
    results = cwnd.run(
        [
            cwnd.dumbbell("cubic", name=str(group), seed=1 + seeds * group, repeat=seeds, **NOISY)
            for group in range(groups)
        ]
    )
    throughput = results.summary.filter(metric="throughput_mbps")
    truth = throughput["mean"].mean()
    covered = ((throughput["ci95_low"] <= truth) & (throughput["ci95_high"] >= truth)).sum() / groups
    assert 0.93 <= covered <= 0.97  # docs/statistics.md; one standard error is 0.007


@pytest.mark.parametrize(
    ("other", "times"), [({"cca": "reno"}, 2.5), ({"buffer": 60}, 6.0)], ids=["algorithm", "buffer"]
)
def test_paired_differences_are_narrower_than_unpaired_ones(other: dict[str, Any], times: float) -> None:
    seeds = 30
    path = {"cca": "cubic", **NOISY, "per": 1e-3, "duration": "20 s", "repeat": seeds}
    results = cwnd.run([cwnd.dumbbell(name="a", **path), cwnd.dumbbell(name="b", **{**path, **other})])
    a, b = (results.flows.filter(scenario=name)["throughput_mbps"].to_list() for name in "ab")

    def half(values: list[float]) -> float:
        mean, _, high = interval(values)
        return high - mean

    paired = half([y - x for x, y in zip(a, b, strict=True)])
    unpaired = math.hypot(half(a), half(b))  # the t quantile's 29 degrees of freedom against 58: 2 % wider
    assert times * paired < unpaired
